# shellcheck shell=bash
# Runs loss_test and loss_storm_test against the other machine.
modprobe -q sch_netem || true
setup_all eth0
cue wait ready
export PEER4 KERNEL
run_test loss_test root 200
run_test loss_storm_test root 200
cue kill target
