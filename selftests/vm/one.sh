#!/usr/bin/env bash
# usage: one.sh [-k KERNEL] [SUITE...]
# Runs test programs looped back in one machine and adds to the tally (TALLY=).
# A suite that takes the machine down has failed; the ones behind it get a new
# machine. V=1 shows all they print, KEEP=1 keeps the consoles of a good run.
set -euo pipefail
. "$(dirname -- "${BASH_SOURCE[0]}")/lib.sh"
. "$VM/qemu.sh"
. "$VM/suites.sh"

kernel=6.12
while getopts k: option; do
	case $option in
	k) kernel=$OPTARG ;;
	*) exit 2 ;;
	esac
done
shift $((OPTIND - 1))
if [ $# -gt 0 ]; then
	suites=("$@")
else
	mapfile -t suites < <(suites_for one "$kernel")
fi

# Every machine has an NVDIMM (setup_dax), empty at boot; where the provider is
# patched, one with room for more than 4 GiB, which take no memory until used.
case $kernel in
*+flush) nvdimm_size=4608M ;;
*) nvdimm_size=64M ;;
esac
nvdimm=(-object "memory-backend-ram,id=nvdimm,size=$nvdimm_size" -device 'nvdimm,memdev=nvdimm')

run_directory "one-$kernel"
TALLY=${TALLY:-$RUN/tally}
left=("${suites[@]}") machine=0 all=good
while [ ${#left[@]} -gt 0 ]; do
	machine=$((machine + 1))
	dir=$RUN/$machine
	mkdir -p "$dir"
	seconds=60
	for suite in "${left[@]}"; do
		read -r _ user _ <<<"$(suite_row "$suite")"
		echo "$suite $user $(suite_seconds "$suite" "$kernel")"
	done >"$dir/suites.list"
	while read -r _ _ limit; do seconds=$((seconds + limit + 10)); done <"$dir/suites.list"

	VM_ARGS=() VM_ENV=("KERNEL=$kernel")
	vm_payload "$dir" "$kernel" "$VM/guest-suites.sh" "$dir/suites.list"
	# shellcheck disable=SC2086	# QEMU_ARGS are words
	vm_run "one-$kernel" "$dir" "$kernel" "$seconds" "${nvdimm[@]}" ${QEMU_ARGS-} || true
	outcome=$(cat "$dir/outcome")
	tally_result "$dir/result" "$kernel" machine "$outcome"
	if [ "$outcome" = good ]; then break; fi

	all=$outcome
	begun=$(grep -c '^begin ' "$dir/result") || true
	ended=$(grep -c '^end ' "$dir/result") || true
	# A report that stopped nothing belongs to the suite it came in.
	if [ "$begun" = "$ended" ]; then
		tally fail "$kernel" "$("$VM/blame.sh" "$dir/console")" "$outcome"
	fi
	left=("${left[@]:$begun}")
	if [ "$begun" = 0 ]; then
		for suite in "${left[@]}"; do tally fail "$kernel" "$suite" "never ran"; done
		break
	fi
done

if [ -n "${V-}" ]; then
	sed -n 's/^begin /== /p; s/^tap //p' "$RUN"/*/result
else
	"$VM/failures.sh" "$RUN"/*/result
fi
if [ "$TALLY" = "$RUN/tally" ]; then tally_report "$TALLY"; fi
if [ "$all" = good ] && grep -q '^fail' "$TALLY"; then all='failed tests'; fi
run_leave "$all"
