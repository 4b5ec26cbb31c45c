#!/usr/bin/env bash
# usage: patches.sh [-k KERNEL] [PATCH...]
# Proof that each patch of kmod/patches mends something: the provider is built
# without it, and the tests that the table "patches" names for it must fail,
# which pass with the whole series. A PATCH is named as in the table. Adds to the
# tally (TALLY=); two machines at a time.
set -euo pipefail
. "$(dirname -- "${BASH_SOURCE[0]}")/lib.sh"
. "$VM/suites.sh"

kernel=6.12
while getopts k: option; do
	case $option in
	k) kernel=$OPTARG ;;
	*) exit 2 ;;
	esac
done
shift $((OPTIND - 1))

run=$LOGS/patches-$kernel.$(date +%H%M%S).$$
mkdir -p "$run"
TALLY=${TALLY:-$run/tally}
place=patches-$kernel

# The series by the names that do not change when it grows: no number, no suffix.
short() { sed -E 's/#.*//; s/[[:space:]]*$//; /^$/d; s/^[0-9]+-//; s/\.patch$//'; }
mapfile -t series < <(short <"$TOP/kmod/patches/linux/series")
mapfile -t patches < <(if [ $# -gt 0 ]; then printf '%s\n' "$@"; else printf '%s\n' "${series[@]}"; fi)
rows() { sed 's/#.*//; /^[[:space:]]*$/d' "$VM/patches"; }

# rows_of PATCH: the "SUITE TEST" lines of a patch.
rows_of() { rows | awk -v patch="$1" '$1 == patch { print $2, $3 }'; }

# build PATCH: makes $run/PATCH.ko.
build() {
	local file release
	file=$(grep -E "^[0-9]+-$1\.patch" "$TOP/kmod/patches/linux/series")
	release=$(kernel_release "$kernel")
	in_tree bash /rpma/kmod/patches/build.sh -o /rpma/build/patches -w "$file" \
		"$(kernel_headers "$kernel")" "/rpma/build/provider/work/$release/source" \
		>"$run/$1.log" 2>&1 || return 1
	cp "$BUILD/patches/$release/rdma_rxe.ko" "$run/$1.ko"
	strip --strip-debug "$run/$1.ko"
}

# run_suite NAME PROVIDER SUITE: in the background; its tally is $run/NAME.SUITE.
run_suite() {
	local where tally=$run/$1.$3 command
	read -r where _ <<<"$(suite_row "$3")"
	case $where in
	one | own) command=("$VM/one.sh" -k "$kernel+flush" "$3") ;;
	*) command=("$VM/pairs.sh" -k "$kernel+flush" "$where" "$3") ;;
	esac
	while [ "$(jobs -rp | wc -l)" -ge 2 ]; do wait -n || true; done
	: >"$tally"
	PROVIDER=$2 TALLY=$tally OUTPUT=$tally.vm "${command[@]}" >"$tally.log" 2>&1 </dev/null &
}

# says TALLY SUITE TEST: how a test went; the programs of a pair are named
# after it. One that takes the machine down with a
# report of the kernel has failed.
says() {
	awk -F '\t' -v suite="$2" -v test="$3" '
		($3 == suite || index($3, suite "_") == 1) && ($4 == test || $4 ~ /^never ended: kernel report/) { said = $1 }
		END { print said ? said : "nothing" }' "$1"
}

judge() { # PATCH SUITE TEST
	local with without
	if [ "$2" = build ]; then
		if [ -e "$run/$1.ko" ]; then
			tally fail "$place" build "$1 is not needed to build"
		else
			tally pass "$place" build "$1 is needed to build"
		fi
		return
	fi
	if [ ! -e "$run/$1.ko" ]; then
		tail -n 5 "$run/$1.log" >&2
		tally fail "$place" "$2" "$1: does not build without it"
		return
	fi
	with=$(says "$run/all.$2" "$2" "$3") without=$(says "$run/$1.$2" "$2" "$3")
	case $with,$without in
	pass,fail) tally pass "$place" "$2" "$1: $3 fails without it" ;;
	pass,*) tally fail "$place" "$2" "$1: $3 says $without without it" ;;
	*) tally fail "$place" "$2" "$1: $3 says $with with all patches" ;;
	esac
}

"$VM/provider.sh" "$kernel"
for patch in "${patches[@]}"; do rows_of "$patch"; done | awk '$1 != "build" { print $1 }' |
	sort -u >"$run/suites"
# shellcheck disable=SC2094	# only read
while read -r suite; do run_suite all "$BUILD/provider/$kernel.ko" "$suite"; done <"$run/suites"
for patch in "${patches[@]}"; do
	[ -n "$(rows_of "$patch")" ] || continue
	build "$patch" || continue
	while read -r suite; do
		run_suite "$patch" "$run/$patch.ko" "$suite"
	done < <(rows_of "$patch" | awk '$1 != "build" { print $1 }' | sort -u)
done
wait

for patch in "${patches[@]}"; do
	if [ -z "$(rows_of "$patch")" ]; then
		tally fail "$place" series "$patch has no test that proves it"
	fi
	while read -r suite name; do judge "$patch" "$suite" "$name"; done < <(rows_of "$patch")
done
while read -r name _; do
	case " ${series[*]} " in
	*" $name "*) ;;
	*) tally fail "$place" series "$name is not in the series" ;;
	esac
done < <(rows)
tally time "$place" series "$SECONDS"

if [ "$TALLY" = "$run/tally" ]; then tally_report "$TALLY"; fi
if grep -q '^fail' "$TALLY"; then say "logs in $run"; exit 1; fi
rm -rf "$run"
