#!/usr/bin/env bash
# usage: check.sh [static] [suites] [pairs] [harness] [mutants] [patches]
# Prepares, builds and runs these parts on every kernel of KERNELS (default: all
# parts but patches, on 6.12, 7.3 and the debug kernel, each with the stock
# provider and with the patched one). A few jobs at a time, since many wait more
# than they work; the debug kernel is built beside the first ones. TESTS= narrows
# the suites. LONG=1 runs what takes long on the debug kernel.
# The last line is the sum: "N passed, N failed, N skipped".
set -euo pipefail
. "$(dirname -- "${BASH_SOURCE[0]}")/lib.sh"
. "$VM/suites.sh"

parts=" ${*:-static suites pairs harness mutants} "
wants() { case $parts in *" $1 "*) return 0 ;; *) return 1 ;; esac; }

mkdir -p "$LOGS"
run=$LOGS/check.$(date +%H%M%S).$$
mkdir -p "$run"
read -ra tests <<<"${TESTS-}"

# job NAME COMMAND...: in the background, with a tally and a log of its own.
job() {
	local name=$1
	shift
	while [ "$(jobs -rp | wc -l)" -ge "$limit" ]; do wait -n || true; done
	job_body "$name" "$@" &
}
# worked FILE: the seconds of processor that the children of a job have taken.
worked() {
	tail -n 1 "$1" | tr 'ms' '  ' | awk '{ printf "%d", $1 * 60 + $2 + $3 * 60 + $4 }'
}
job_body() {
	local name=$1 begin=$SECONDS status=0
	shift
	TALLY=$run/$name.tally "$@" >"$run/$name.log" 2>&1 </dev/null || status=$?
	touch "$run/$name.tally"
	if ! grep -qE '^(pass|fail|skip)' "$run/$name.tally" && [ "$status" != 0 ]; then
		TALLY=$run/$name.tally tally fail "$name" run "nothing ran, exit status $status"
	fi
	times >"$run/$name.times"	# here, as a subshell counts from nothing
	# One write, so that two jobs do not mix their lines.
	printf '%s\n' "$(
		echo "== $name, $((SECONDS - begin)) s, $(worked "$run/$name.times") s of processor"
		if [ "$status" != 0 ] || [ -n "${V-}" ]; then cat "$run/$name.log"; fi
		tally_report "$run/$name.tally"
	)"
}

limit=$((JOBS + 1))
stock=() debug=()
for kernel in $KERNELS; do
	if [ "$(plain_kernel "$kernel")" = debug ]; then
		debug+=("$kernel")
	else
		stock+=("$kernel")
	fi
done

"$VM/prepare.sh" "${stock[@]}"
if [ ${#debug[@]} -gt 0 ]; then
	{ nice "$VM/prepare.sh" debug >"$run/debug-kernel.log" 2>&1 &&
		touch "$run/debug-kernel.ready"; } &
	debug_kernel=$!
fi
"$VM/build.sh" "${stock[@]}" || say 'going on with what was built'

# suites_of KERNEL: in one machine, or in two at once, which pays where a boot is
# cheap (for the impatient, SPLIT=1), or dear beside all that runs then (debug).
suites_of() {
	local all first=() second=() i
	mapfile -t all < <(suites_for one "$1")
	if [ ${#tests[@]} -gt 0 ]; then all=("${tests[@]}"); fi
	if [ ${#all[@]} -eq 0 ]; then return; fi
	if [ ${#all[@]} -lt 4 ] || { [ -z "${SPLIT-}" ] && [ "$1" != debug ]; }; then
		job "one-$1" "$VM/one.sh" -k "$1" "${all[@]}"
		return
	fi
	for ((i = 0; i < ${#all[@]}; i += 2)); do
		first+=("${all[@]:i:1}")
		second+=("${all[@]:i+1:1}")
	done
	job "one-$1-first" "$VM/one.sh" -k "$1" "${first[@]}"
	job "one-$1-second" "$VM/one.sh" -k "$1" "${second[@]}"
}

# A second processor costs a third more and is for races: not for what compares.
smp_of() { # SUITE
	case $1 in
	edges_test.sh | fio_test.sh | interop_test.sh) echo 1 ;;
	*) echo "${SMP:-2}" ;;
	esac
}

jobs_for() { # KERNEL
	local suite where
	if wants suites; then
		if [ ${#tests[@]} -eq 0 ]; then
			for suite in $(suites_for own "$1"); do
				SMP=$(smp_of "$suite") job "${suite%_test.sh}-$1" \
					"$VM/one.sh" -k "$1" "$suite"
			done
		fi
		suites_of "$1"
	fi
	if wants pairs && { [ "$(plain_kernel "$1")" != debug ] || [ -n "${LONG-}" ]; }; then
		for where in two powercut; do
			if [ -z "$(suites_for "$where" "$1")" ]; then continue; fi
			job "$where-$1" "$VM/pairs.sh" -k "$1" "$where"
		done
	fi
}

if wants static; then job static "$VM/static.sh"; fi
for kernel in "${stock[@]}"; do jobs_for "$kernel"; done
if wants mutants; then job mutants "$VM/mutants.sh"; fi
if wants patches; then job patches "$VM/patches.sh"; fi
if [ ${#debug[@]} -gt 0 ]; then
	# What depends on the debug kernel waits for it; the others go on.
	while kill -0 "$debug_kernel" 2>/dev/null; do wait -n || true; done
	if [ -e "$run/debug-kernel.ready" ]; then
		"$VM/build.sh" "${debug[@]}" || say 'going on with what was built'
		for kernel in "${debug[@]}"; do jobs_for "$kernel"; done
	else
		cat "$run/debug-kernel.log"
		TALLY=$run/debug.tally tally fail debug kernel 'is built'
	fi
fi
if wants harness; then job harness "$VM/harness.sh"; fi
wait

cat "$run"/*.tally >"$run/tally"
printf '\n'
if grep -q '^fail' "$run/tally"; then
	awk -F '\t' '$1 == "fail" { print "FAILED " $2 " " $3 ": " $4 }' "$run/tally"
	say "logs in $run"
fi
tally_summary "$run/tally"
