# shellcheck shell=bash
# What a flush is on the wire and at the target: by the ioctls, by our library,
# and by Debian's, which flushes natively from user space on every kernel.
setup_all eth0
cue wait ready
export PEER4 RPMA_TEST_NETDEV=eth0
failed=0
run_test wire_test root 120 || failed=1
run_test wire_librpma_test root 60 || failed=1
LD_LIBRARY_PATH='' WIRE_LIBRARY=debian run_test wire_librpma_test root 60 -v auto || failed=1
cue set over
exit "$failed"
