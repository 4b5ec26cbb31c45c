# shellcheck shell=bash
# The other machine: servers on both libraries.
setup_all eth0
/rpma/tests/interop_test.sh serve "$ADDR6" &
cue set ready
cue wait over
kill $!
