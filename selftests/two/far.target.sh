# shellcheck shell=bash
# The other machine: offers memory until it is killed.
setup_all eth0
/rpma/tests/far_target "$ADDR4" "$ADDR6" | while read -r line; do cue set "$line"; done
