#!/usr/bin/env bash
# usage: harness.sh [FAULT...]
# Proof that the harness fails a run when it should: a module with planted
# faults, and machines that hang, panic, leave early or say nothing. Adds to
# the tally (TALLY=); two machines at a time, of one processor each: no fault
# needs two, and processors that spin for one another are most of a busy host.
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
sleep_in_atomic	debug	90	scheduling while atomic|sleeping function called
'

# What a debug kernel outlives is planted in one machine, one after the other,
# as its boot is dear; each must be reported where it was planted.
names=()
survived='
lock_inversion	possible circular locking
shift		UBSAN: shift-out-of-bounds
out_of_bounds	KASAN: slab-out-of-bounds
use_after_free	KASAN: slab-use-after-free
leak		unreferenced object
'
export SMP=1

asked_for() { # NAME FAULT...
	local name=$1
	shift
	case " $* " in
	"  " | *" $name "*) return 0 ;;
	*) return 1 ;;
	esac
}

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

# What the console says from the mark of one fault to the next.
section() { # FAULT CONSOLE
	tr -d '\r' <"$2" | awk -v name="$1" '
		BEGIN { last = "boot" }
		/rpma-test: fault / { last = $NF }
		last == name'
}

try_survived() { # FAULT...
	local run=$run/survived status=0 name pattern silent=yes
	OUTPUT=$run APPEND=kasan_multi_shot "$VM/run.sh" -k debug -t 240 \
		-f "$BUILD/planted/debug/planted.ko" "$VM/planted/guest.sh" survived "$@" \
		>"$run.log" 2>&1 || status=$?
	section boot "$run/one/console" >"$run/boot"
	if [ ! -s "$run/boot" ] || ! "$VM/scan.sh" "$run/boot"; then silent=''; fi
	while read -r name pattern; do
		asked_for "$name" "$@" || continue
		section "$name" "$run/one/console" >"$run/$name"
		if [ "$status$silent" = 1yes ] && ! "$VM/scan.sh" "$run/$name" >"$run/$name.report" &&
			grep -qE -- "$pattern" "$run/$name.report"; then
			tally pass harness debug "$name"
		else
			say "harness missed $name: status $status; see $run"
			tally fail harness debug "$name"
		fi
	done < <(sed '/^$/d' <<<"$survived")
	if ! grep -q '^fail' "$TALLY"; then rm -rf "$run"; fi
}

while read -r name _; do
	if [ -n "$name" ] && asked_for "$name" "$@"; then names+=("$name"); fi
done <<<"$survived"
case " $KERNELS " in
*' debug '*) if [ ${#names[@]} -gt 0 ]; then try_survived "${names[@]}" & fi ;;
esac

while read -r name kernel seconds pattern; do
	if [ -z "$name" ] || ! asked_for "$name" "$@"; then continue; fi
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
