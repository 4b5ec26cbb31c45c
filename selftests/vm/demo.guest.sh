# shellcheck shell=bash
# What the two machines of demo.sh share; sourced by their scripts.

# A line to the host that is there before anything said later: standard output
# takes a way of its own and may come behind a cue.
tell() { report "out $*"; }

# From here on nobody can open a verbs device, and nobody needs one.
take_verbs_away() {
	rm -rf /dev/infiniband
}

# check_process PROGRAM: it is an ordinary user's, and all it has opened and
# loaded for RDMA is /dev/rpma and our library.
check_process() {
	local pid user opened libraries
	pid=$(pgrep -f "^/rpma/bin/$1 ")
	user=$(ps -o user= -p "$pid")
	opened=$(find "/proc/$pid/fd" -name '[!012]*' -lname '/dev/*' -printf '%l\n' | sort -u | xargs)
	libraries=$(awk '$6 ~ /librpma|ibverbs|rdmacm/ { print $6 }' "/proc/$pid/maps" |
		sort -u | xargs)
	tell "$1 runs as $user, has opened $opened, uses $libraries"
	if [ "$user" != tester ] || [ "$opened" != /dev/rpma ] ||
		[ "$libraries" != /rpma/lib/librpma.so.0 ]; then
		tell "$1 should run as tester, open /dev/rpma and use /rpma/lib/librpma.so.0"
		return 1
	fi
}
