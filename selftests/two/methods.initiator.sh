# shellcheck shell=bash
# Every client against every server, with either rxe at either end. What only a
# server's library decides needs no second rxe under it.
every='ours by_read real no_flush'
failed=0

# use HERE THERE KIND...
use() {
	if [ "$1" != "${now-}" ]; then
		if [ -n "${now-}" ]; then take_away eth0; fi
		RXE=$1 setup_all eth0
		now=$1
	fi
	cue wait "on-$2"
	run_test interop_test.sh root 100 methods "$PEER6" "$1,$2" "${@:3}" || failed=1
}

# shellcheck disable=SC2086	# kinds are words
use patched patched $every
# shellcheck disable=SC2086
use stock patched $every
cue set off-patched
use stock stock ours
use patched stock ours
cue set off-stock
exit "$failed"
