#!/usr/bin/env bash
# usage: mutants.sh [MUTANT...]
# Proof that the tests catch faults: each selftests/mutants/MUTANT.patch is
# applied to a copy of the sources, and the test its head names must fail (or
# the machine go down). The same test must pass without the patch. Heads:
#   # test: flush_test
#   # filter: every_length	(optional: one test of it by name, or words
#				 for the harness such as -v ipv6)
#   # kernel: 6.12+flush	(optional: where it runs; 6.12 is the default)
# Many mutants run in one machine; adds to the tally (TALLY=).
set -euo pipefail
. "$(dirname -- "${BASH_SOURCE[0]}")/lib.sh"
. "$VM/qemu.sh"
. "$VM/suites.sh"

kernel=6.12
mutants=("$@")
if [ $# = 0 ]; then
	for path in "$TOP"/selftests/mutants/*.patch; do
		[ -e "$path" ] || continue
		mutants+=("$(basename "$path" .patch)")
	done
fi

run_directory mutants
TALLY=${TALLY:-$RUN/tally}
copies=$BUILD/mutants
rm -rf "$copies"
mkdir -p "$copies/bin"

# head_of MUTANT WORD [DEFAULT]
head_of() {
	local value
	value=$(sed -n "s/^# $2: *//p" "$TOP/selftests/mutants/$1.patch" | head -n 1)
	printf '%s\n' "${value:-${3-}}"
}

# built: what the one copy of the sources gives. It stays in its place from
# mutant to mutant, so that only what a patch touches is built anew.
built() {
	in_tree make -C "$(kernel_headers "$kernel")" M=/rpma/build/mutants/work modules &&
		in_tree make -C /rpma/build/mutants/work/userspace \
			BUILD=/rpma/build/mutants/work/lib all
}

# mutate NAME: makes bin/NAME.ko and bin/NAME.lib from the patched copy.
mutate() {
	local name=$1 file=$TOP/selftests/mutants/$1.patch status=0
	patch -s -d "$copies/work" -p1 --dry-run <"$file" || return 1
	patch -s -d "$copies/work" -p1 <"$file"
	if built; then
		cp "$copies/work/kmod/rpma.ko" "$copies/bin/$name.ko"
		mkdir -p "$copies/bin/$name.lib"
		cp -P "$copies/work/lib"/librpma.so* "$copies/bin/$name.lib/"
	else
		status=1
	fi
	patch -s -R -d "$copies/work" -p1 <"$file"
	return "$status"
}

mkdir -p "$copies/work"
(cd "$TOP" && find Kbuild kmod uapi userspace \( -name '*.[ch]' -o -name Kbuild -o -path userspace/\* \) \
	-type f -print0 | cpio -0pdm --quiet "$copies/work")
built >"$RUN/original.log" 2>&1 || say 'the sources do not build unpatched'

left=()
for name in "${mutants[@]}"; do
	if mutate "$name" >"$RUN/$name.log" 2>&1; then
		left+=("$name")
	else
		tally fail mutants "$(head_of "$name" test)" "$name does not apply or build"
		tail -n 5 "$RUN/$name.log" >&2
	fi
done

# What a section of the result says: passed, failed, or nothing of both.
section() { # FILE NAME
	awk -v name="$2" '
		$1 == "mutant" { inside = $2 == name; if (inside) begun = 1; next }
		!inside { next }
		/^tap (not )?ok/ { results++ }
		/^tap not ok/ { failed = 1 }
		$1 == "end" { ended = 1; if ($3 != 0) failed = 1 }
		END {
			if (!begun) print "never"
			else if (!ended || failed) print "failed"
			else print results ? "passed" : "silent"
		}' "$1"
}

# in_machine LIST RESULT KERNEL: runs "NAME TEST USER SECONDS FILTER" lines; a machine
# that goes down, or whose module no longer unloads, is followed by another.
in_machine() {
	local list=$1 result=$2 on=$3 machine=0 dir count
	: >"$result"
	while [ -s "$list" ]; do
		machine=$((machine + 1))
		dir=$RUN/$(basename "$list").$machine
		mkdir -p "$dir"
		cp "$list" "$dir/mutants.list"
		VM_ARGS=() VM_ENV=("KERNEL=$on")
		vm_payload "$dir" "$on" "$VM/guest-mutants.sh" "$dir/mutants.list" "$copies/bin/."
		vm_run mutants "$dir" "$on" $((60 + $(wc -l <"$list") * 100)) \
			-object memory-backend-ram,id=nvdimm,size=4608M \
			-device nvdimm,memdev=nvdimm || true
		cat "$dir/result" >>"$result"
		count=$(grep -c '^mutant ' "$dir/result") || true
		if [ "$count" = 0 ]; then break; fi
		sed -i "1,${count}d" "$list"
	done
}

for name in "${left[@]}"; do
	test=$(head_of "$name" test) filter=$(head_of "$name" filter)
	on=$(head_of "$name" kernel "$kernel")
	read -r _ user _ <<<"$(suite_row "$test")"
	echo "$name $test $user 60 $filter" >>"$RUN/mutated.$on"
	echo "$test@${filter// /_} $test $user 90 $filter" >>"$RUN/originals.$on"
done
for path in "$RUN"/mutated.*; do
	[ -e "$path" ] || continue
	on=${path#"$RUN/mutated."}
	{ sort -u "$RUN/originals.$on"; cat "$path"; } >"$RUN/list.$on"
	in_machine "$RUN/list.$on" "$RUN/result.$on" "$on"
done
for name in "${left[@]}"; do
	test=$(head_of "$name" test) filter=$(head_of "$name" filter)
	result=$RUN/result.$(head_of "$name" kernel "$kernel")
	without=$(section "$result" "$test@${filter// /_}")
	with=$(section "$result" "$name")
	case $without,$with in
	passed,failed) tally pass mutants "$test" "$name is caught" ;;
	passed,*) tally fail mutants "$test" "$name is not caught: $with" ;;
	*) tally fail mutants "$test" "$name proves nothing: without it the test $without" ;;
	esac
done
tally time mutants all "$SECONDS"

if [ "$TALLY" = "$RUN/tally" ]; then tally_report "$TALLY"; fi
if grep -q '^fail' "$TALLY"; then run_leave 'mutants at large'; fi
run_leave good
