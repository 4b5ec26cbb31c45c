# shellcheck shell=bash
# Runs persist_test against the other machine, and cuts its power.
setup_all eth0
cue wait ready
export PEER4 PEER6
run_test persist_test root 280
