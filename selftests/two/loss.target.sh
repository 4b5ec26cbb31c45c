# shellcheck shell=bash
# The other machine: offers memory and loses packets until it is killed.
modprobe -q sch_netem || true
setup_all eth0
/rpma/tests/loss_target "$ADDR4" | while read -r line; do cue set "$line"; done
