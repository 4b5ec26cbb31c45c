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
#        interop_test.sh methods ADDRESS HERE,THERE KIND...	how flushes travel, by
#				the rxe of the two machines and the kind of server
set -u

interop=$(dirname "$0")/interop
declare -A port=([ours]=8100 [real]=8300 [by_read]=8500 [no_flush]=8700)
addr=${RPMA_TEST_ADDR4:-10.7.7.1}
dead=${RPMA_TEST_DEAD4:-10.7.7.222}

# with KIND COMMAND...: becomes it, on the library of that kind. The machines of
# the tests have ours on LD_LIBRARY_PATH and Debian's where the linker looks anyway.
with() {
	case $1 in
	real | no_flush) unset LD_LIBRARY_PATH ;;
	esac
	shift
	exec "$@"
}

serve() { # ADDRESS KIND...
	local kind
	for kind in "${@:2}"; do
		with "$kind" "$interop" server "$1" "${port[$kind]}" "$kind" &
		servers+=" $!"
	done
}

# client FROM TO [ARG...]: in the background.
client() {
	local from=$1 to=$2
	shift 2
	with "$from" "$interop" client "$addr" "${port[$to]}" "$from" "$to" "$@" 2>&1 </dev/null &
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

# Every way to flush. The rxe here is nothing to a real client: on one of each is
# enough. What is refused before there is a connection is asked for once.
methods() { # HERE,THERE KIND...
	local rxe=$1 kind method pid cells offset=0 status=0
	for kind in "${@:2}"; do
		if [ "${rxe%,*}" = "${rxe#*,}" ]; then
			client real "$kind" -d $((offset++ << 21)) -r "$rxe"
		fi
		for method in auto native read; do
			cells=''
			if [ "$method,${rxe%,*}" = native,stock ]; then cells=visible_dram; fi
			# shellcheck disable=SC2086	# none, or one
			RPMA_FLUSH_METHOD=$method \
				client ours "$kind" -d $((offset++ << 21)) -r "$rxe" $cells
		done
	done
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
	serve "$2" ours real by_read no_flush
	wait ;;
methods)
	addr=$2
	methods "${@:3}" | merge
	exit "${PIPESTATUS[0]}" ;;
use)
	addr=$2
	there "${@:3}" | merge
	exit "${PIPESTATUS[0]}" ;;
*)
	# Without an NVDIMM its scenarios are skipped, and say so.
	if declare -F setup_dax >/dev/null; then (setup_dax) >/dev/null 2>&1; fi
	serve "$addr" ours real
	here | merge
	exit "${PIPESTATUS[0]}" ;;
esac
