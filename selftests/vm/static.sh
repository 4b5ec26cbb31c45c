#!/usr/bin/env bash
# Everything that needs no test machine: compilers and checkers over the
# sources, and the suites that run on the host or inside the Debian tree.
# Adds to the tally (TALLY=).
set -euo pipefail
. "$(dirname -- "${BASH_SOURCE[0]}")/lib.sh"
. "$VM/suites.sh"

run=$LOGS/static.$(date +%H%M%S).$$
mkdir -p "$run"
TALLY=${TALLY:-$run/tally}
cd "$TOP"

# case_of SUITE NAME COMMAND...: passes if COMMAND succeeds and prints nothing.
case_of() {
	local suite=$1 name=$2 log status=0
	shift 2
	log=$run/$suite.$(tr -c '[:alnum:]\n' _ <<<"$name")
	"$@" >"$log" 2>&1 || status=$?
	if [ "$status" = 0 ] && [ ! -s "$log" ]; then
		tally pass static "$suite" "$name"
	elif [ "$status" = 77 ]; then
		tally skip static "$suite" "$name # SKIP $(tail -n 1 "$log")"
	else
		tally fail static "$suite" "$name"
		head -n 40 "$log" >&2
	fi
}

# ktap_of SUITE COMMAND...: a program of this machine that prints KTAP.
ktap_of() {
	local suite=$1 status=0 begin=$SECONDS
	shift
	{
		echo "begin $suite"
		"$@" 2>&1 </dev/null | sed 's/^/tap /' || status=$?
		echo "end $suite $status $((SECONDS - begin))"
	} >"$run/$suite.result"
	tally_result "$run/$suite.result" static "$suite" 'did not run'
	if grep -q '^tap not ok' "$run/$suite.result" || [ "$status" != 0 ]; then
		sed -n 's/^tap //p' "$run/$suite.result" >&2
	fi
}

# Prints what compiler, sparse and modpost say beyond their progress.
compiled() { # DIR COMMAND...
	local dir=$1 status=0
	shift
	rm -rf "$dir"
	mkdir -p "$dir"
	find Kbuild kmod uapi \( -name '*.[ch]' -o -name Kbuild \) -print0 |
		cpio -0pdm --quiet "$dir"
	"$@" >"$dir.log" 2>&1 || status=$?
	grep -aE 'warning:|error:|WARNING|ERROR|\*\*\*' "$dir.log" || true
	[ -e "$dir/kmod/rpma.ko" ] || { tail -n 5 "$dir.log"; return 1; }
	return "$status"
}

strict() { # KERNEL [VARIABLE...]
	local kernel=$1
	shift
	compiled "$BUILD/static/$kernel" in_tree make -j"$JOBS" -C "$(kernel_headers "$kernel")" \
		M="/rpma/build/static/$kernel" W=1 "$@" modules
}

# Not on 7.3: its headers say __typeof_unqual__, which sparse cannot read. And
# kbuild goes on without sparse where it finds none, so its lines must be there.
sparse() {
	strict 6.12 C=2 CF=-D__CHECK_ENDIAN__
	grep -q '^  CHECK ' "$BUILD/static/6.12.log" || echo 'sparse did not run'
}

# Debian 12 has 6.12 too, with its own compiler.
host_headers() {
	local package
	# shellcheck source=/dev/null
	if ! (. /etc/os-release && [ "$ID$VERSION_ID" = debian12 ]); then
		echo 'the host is not Debian 12'
		return 77
	fi
	package=$(apt-cache pkgnames linux-headers-6.12 | grep -E '[0-9]-amd64$|deb12-amd64$' |
		sort -V | tail -n 1)
	[ -n "$package" ] || { echo 'no 6.12 headers'; return 1; }
	if ! dpkg -s "$package" >/dev/null 2>&1; then
		DEBIAN_FRONTEND=noninteractive apt-get install -y -qq \
			--no-install-recommends "$package" >"$run/apt.log" 2>&1
	fi
	compiled "$BUILD/static/host" make -j"$JOBS" \
		-C "/usr/src/${package}" M="$BUILD/static/host" W=1 modules
}

checkpatch() {
	perl "$BUILD/checkpatch/checkpatch.pl" --no-tree --strict --terse --no-summary \
		--max-line-length=100 -f "$1"
}

# As a patch, so with its description, which names commits that are not here. It
# takes a file that git knows for a source, so it gets none.
checkpatch_patch() {
	perl "$BUILD/checkpatch/checkpatch.pl" --no-tree --strict --terse --no-summary \
		--max-line-length=100 --ignore UNKNOWN_COMMIT_ID - <"$1"
}

scripts() {
	find selftests .ci kmod userspace -name '*.sh' -o -path '*/.ci/run' |
		sort | xargs shellcheck -x -P SCRIPTDIR -e SC1091,SC2016
}

# What a plain "make modules" gives, where a plain insmod looks for it.
plain_make() {
	local dir=$BUILD/static/plain
	rm -rf "$dir"
	mkdir -p "$dir"
	find Makefile Kbuild kmod uapi \( -name '*.[ch]' -o -name 'Kbuild' -o -name Makefile \) \
		-print0 | cpio -0pdm --quiet "$dir"
	in_tree make -s -C /rpma/build/static/plain modules \
		KDIR="$(kernel_headers 6.12)" >"$dir.log" 2>&1
	[ -e "$dir/kmod/rpma.ko" ]
}

# The client that README shows is a whole program.
readme_client() {
	mkdir -p "$BUILD/static"
	sed -n '/^```c$/,/^```$/p' README.md | sed '/^```/d' >"$BUILD/static/readme.c"
	in_tree cc -std=gnu11 -Wall -Wextra -Werror -I/rpma/userspace/include \
		-o /rpma/build/static/readme /rpma/build/static/readme.c \
		-L/rpma/build/userspace -lrpma
}

case_of build 'make modules leaves kmod/rpma.ko' plain_make
case_of build 'W=1 and sparse on 6.12' sparse
case_of build 'W=1 on 7.3' strict 7.3
case_of build 'W=1 on the headers of Debian 12' host_headers
case_of build 'the client of README compiles' readme_client
while read -r file; do
	case_of checkpatch "$file" checkpatch "$file"
done < <(find kmod uapi -name '*.[ch]' ! -name '*.mod.c' | sort)
for kernel in 6.12 7.3; do
	case_of patches "apply to $kernel without fuzz, build with W=1" "$VM/provider.sh" "$kernel"
done
while read -r file; do
	case_of patches "checkpatch ${file#kmod/patches/linux/}" checkpatch_patch "$TOP/$file"
done < <(find kmod/patches -name '*.patch' | sort)
case_of shellcheck 'all scripts' scripts

mapfile -t suites < <(suites_for host all)
for suite in "${suites[@]}"; do ktap_of "$suite" bash "selftests/$suite"; done
mapfile -t suites < <(suites_for tree all)
for suite in "${suites[@]}"; do ktap_of "$suite" in_tree bash "/rpma/selftests/$suite"; done

# The library's own tests, on a make-believe kernel.
case_of userspace 'its tests build' in_tree make -s -C /rpma/userspace \
	BUILD=/rpma/build/userspace tests
for program in unit_test api_test; do
	ktap_of "$program" in_tree "/rpma/build/userspace/tests/$program"
done
ktap_of symbols_test in_tree sh /rpma/userspace/tests/symbols_test.sh \
	/rpma/build/userspace/librpma.so.0 /rpma/userspace/include/librpma.h

if [ "$TALLY" = "$run/tally" ]; then tally_report "$TALLY"; fi
! grep -q '^fail' "$TALLY"
