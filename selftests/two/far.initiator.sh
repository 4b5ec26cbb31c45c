# shellcheck shell=bash
# Runs far_test against the other machine, which does not survive it.
setup_all eth0
cue wait ready
export PEER4 PEER6 RPMA_TEST_NETDEV=eth0
run_test far_test root 280
