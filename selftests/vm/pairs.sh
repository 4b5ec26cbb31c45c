#!/usr/bin/env bash
# usage: pairs.sh [-k KERNEL] two|powercut [SUITE...]
# Runs suites of two machines (selftests/two/SUITE.target.sh and
# SUITE.initiator.sh) and adds to the tally (TALLY=). Results come from either
# machine; that both end well is one more. V=1 shows all they print.
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
where=$1
shift
if [ $# -gt 0 ]; then
	suites=("$@")
else
	mapfile -t suites < <(suites_for "$where" "$kernel")
fi

run=$LOGS/$where-$kernel.$(date +%H%M%S).$$
mkdir -p "$run"
TALLY=${TALLY:-$run/tally}
for suite in "${suites[@]}"; do
	begin=$SECONDS
	verdict=pass outcome='both machines end well'
	OUTPUT=$run/$suite "$VM/$where.sh" -k "$kernel" -t "$(suite_seconds "$suite" "$kernel")" \
		"$TOP/selftests/two/$suite.target.sh" "$TOP/selftests/two/$suite.initiator.sh" \
		>"$run/$suite.log" 2>&1 || verdict=fail
	for dir in "$run/$suite"/{target,initiator}*/; do
		if [ -e "$dir/result" ]; then
			tally_result "$dir/result" "$kernel" "$suite" "$(cat "$dir/outcome" 2>/dev/null)"
		fi
	done
	if [ "$verdict" = fail ]; then outcome=$(tail -n 1 "$run/$suite.log"); fi
	tally "$verdict" "$kernel" "$suite" "$outcome"
	tally time "$kernel" "$suite" $((SECONDS - begin))
	if [ "$verdict" = fail ] || [ -n "${V-}" ]; then
		cat "$run/$suite.log"
		"$VM/failures.sh" "$run/$suite"/*/result
	else
		rm -rf "${run:?}/$suite"
	fi
done

if [ "$TALLY" = "$run/tally" ]; then tally_report "$TALLY"; fi
! grep -q '^fail' "$TALLY" 2>/dev/null
