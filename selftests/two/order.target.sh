# shellcheck shell=bash
# The other machine: offers DRAM and its NVDIMM and watches them until it is killed.
modprobe -q sch_netem || true
setup_dax
setup_all eth0
/rpma/tests/loss_target "$ADDR4" /dev/dax0.0 | while read -r line; do cue set "$line"; done
