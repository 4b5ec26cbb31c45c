#!/usr/bin/env bash
# usage: harness.sh [FAULT...]
# Proof that the harness fails a run when it should: a module with planted
# faults, and machines that hang, panic, leave early or say nothing. Adds to
# the tally (TALLY=); two machines at a time.
set -euo pipefail
. "$(dirname -- "${BASH_SOURCE[0]}")/lib.sh"
. "$VM/suites.sh"

# name, kernel, seconds, what the outcome, the console or the guest must say
cases='
good		6.12	60	^good$
silence		6.12	10	no verdict in 10 s
panic		6.12	60	Kernel panic
failing_script	6.12	60	guest script failed with status 3
early_poweroff	6.12	60	died without a verdict
warn		6.12	60	WARNING:
oops		6.12	60	BUG: kernel NULL pointer
stock_rxe	6.12+flush	60	rdma_rxe that is loaded is not the patched
no_patched_rxe	6.12+flush	60	no patched rdma_rxe.ko
use_after_free	debug	90	KASAN: slab-use-after-free
out_of_bounds	debug	90	KASAN: slab-out-of-bounds
lock_inversion	debug	90	possible circular locking
sleep_in_atomic	debug	90	scheduling while atomic|sleeping function called
shift		debug	90	UBSAN: shift-out-of-bounds
leak		debug	120	unreferenced object
'

# shellcheck disable=SC2086	# kernels are words
for kernel in $(plain_kernels $KERNELS); do
	[ "$kernel" != 7.3 ] || continue
	mkdir -p "$BUILD/planted/$kernel"
	cp "$VM"/planted/{Kbuild,planted.c} "$BUILD/planted/$kernel/"
	in_tree make -s -C "$(kernel_headers "$kernel")" M="/rpma/build/planted/$kernel" \
		modules >"$BUILD/planted/$kernel.log" 2>&1 || die "planted module: $BUILD/planted/$kernel.log"
done

run=$LOGS/harness.$(date +%H%M%S).$$
TALLY=${TALLY:-$run/tally}
mkdir -p "$run"

try() { # NAME KERNEL SECONDS PATTERN
	local name=$1 kernel=$2 seconds=$3 pattern=$4 status=0 expected=1 module
	module=$BUILD/planted/$(plain_kernel "$kernel")/planted.ko
	if [ "$name" = good ]; then expected=0; fi
	OUTPUT=$run/$name "$VM/run.sh" -k "$kernel" -t "$seconds" -f "$module" \
		"$VM/planted/guest.sh" "$name" >"$run/$name.log" 2>&1 || status=$?
	if [ "$status" = "$expected" ] &&
		grep -qaE -- "$pattern" "$run/$name/one"/{outcome,console,result}; then
		tally pass harness "$kernel" "$name"
		rm -rf "${run:?}/$name"
	else
		say "harness missed $name: status $status; see $run/$name"
		tally fail harness "$kernel" "$name"
	fi
}

while read -r name kernel seconds pattern; do
	[ -n "$name" ] || continue
	case " $* " in
	"  " | *" $name "*) ;;
	*) continue ;;
	esac
	case " $KERNELS " in
	*" $kernel "*) ;;
	*) continue ;;
	esac
	while [ "$(jobs -rp | wc -l)" -ge 2 ]; do wait -n || true; done
	try "$name" "$kernel" "$seconds" "$pattern" </dev/null &
done <<<"$cases"
wait

if [ "$TALLY" = "$run/tally" ]; then tally_report "$TALLY"; fi
! grep -q '^fail' "$TALLY"
