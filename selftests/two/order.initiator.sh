# shellcheck shell=bash
# Runs order_test against the other machine.
modprobe -q sch_netem || true
setup_all eth0
cue wait ready
export PEER4 KERNEL
run_test order_test root 280
cue kill target
