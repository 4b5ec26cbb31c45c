# shellcheck shell=bash
# The target of demo.sh: offers its persistent memory until its power is cut;
# in its second life says what it finds there.
. ./demo.guest.sh
size=$1
port=7471

setup_dax
if [ "$LIFE" != 1 ]; then
	sum=$(as_tester /rpma/bin/pmem_cat /dev/dax0.0 "$size" | sha256sum)
	tell "found ${sum%% *}"
	cue set found
	exit
fi

setup_all eth0
take_verbs_away
mkfifo /tmp/output
# All of the device is one region, and regions count as locked memory.
MEMLOCK=unlimited as_tester /rpma/bin/file_to_pmem_server "$ADDR4" "$port" /dev/dax0.0 \
	>/tmp/output 2>&1 7>&- &
server=$!
while IFS= read -r line; do
	tell "server: $line"
	case $line in
	ready:*)
		check_process file_to_pmem_server
		cue set ready ;;
	esac
done </tmp/output
wait "$server"
