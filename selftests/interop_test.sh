#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Programs on our library and programs on Debian's librpma 1.3.0 talk to each
# other: the same binary at both ends, every scenario from ours to real, from
# real to ours, from ours to ours, and from real to real, which shows that the
# scenario itself is sound. KTAP out.
#
# usage: interop_test.sh			both ends here
#        interop_test.sh serve ADDRESS		the servers only, until killed
#        interop_test.sh use ADDRESS [SCENARIO...]	the clients only
set -u

interop=$(dirname "$0")/interop
port_ours=8100 port_real=8300
addr=${RPMA_TEST_ADDR4:-10.7.7.1}
dead=${RPMA_TEST_DEAD4:-10.7.7.222}

# with ours|real COMMAND...: becomes it, on that library. The machines of the
# tests have ours on LD_LIBRARY_PATH and Debian's where the linker looks anyway.
with() {
	if [ "$1" = real ]; then unset LD_LIBRARY_PATH; fi
	shift
	exec "$@"
}

serve() { # ADDRESS
	with ours "$interop" server "$1" $port_ours ours &
	servers=$!
	with real "$interop" server "$1" $port_real real &
	servers+=" $!"
}

# client FROM TO [ARG...]: in the background.
client() {
	local from=$1 to=$2 port=port_$2
	shift 2
	with "$from" "$interop" client "$addr" "${!port}" "$from" "$to" "$@" 2>&1 </dev/null &
	clients+=" $!"
}

# One numbering and one plan of all that the clients print, a line at a time.
merge() {
	awk '
		BEGIN { print "TAP version 13" }
		/^TAP version/ { next }
		/^1\.\.[0-9]+$/ { plan += substr($0, 4); next }
		/^(not )?ok [0-9]+ / { sub(/ok [0-9]+/, "ok " ++n) }
		{ print; fflush() }
		END { print "1.." plan + 0 }'
}

# The NVDIMM's first pages are divided among the clients.
talk() { # [SCENARIO...]
	local pid status=0
	client real real -d $((0 << 21)) "$@"
	client ours ours -d $((1 << 21)) "$@"
	client ours real -d $((2 << 21)) "$@"
	client real ours -d $((3 << 21)) "$@"
	for pid in $clients; do wait "$pid" || status=1; done
	return $status
}

there() { # SCENARIO...
	client ours ours -u "$dead" host_is_off
	client real real -u "$dead" host_is_off
	talk "$@"
}

here() {
	# Nobody answers for a minute: meanwhile the others.
	client ours ours -u "$dead" unreachable
	client real real -u "$dead" unreachable
	talk
}

servers='' clients=''
# shellcheck disable=SC2086	# process ids
trap 'kill $servers 2>/dev/null' EXIT

case ${1-} in
serve)
	serve "$2"
	wait ;;
use)
	addr=$2
	there "${@:3}" | merge
	exit "${PIPESTATUS[0]}" ;;
*)
	# Without an NVDIMM its scenarios are skipped, and say so.
	if declare -F setup_dax >/dev/null; then (setup_dax) >/dev/null 2>&1; fi
	serve "$addr"
	here | merge
	exit "${PIPESTATUS[0]}" ;;
esac
