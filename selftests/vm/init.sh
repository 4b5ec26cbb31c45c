#!/bin/bash
# Process 1 of a test machine: prepares the system, runs the script of this run
# and gives the verdict on the second serial port.

export PATH=/rpma/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C
mount -t devtmpfs dev /dev
mount -t proc proc /proc
mount -t sysfs sys /sys
mkdir -p /dev/pts /dev/shm
mount -t devpts devpts /dev/pts
mount -t tmpfs shm /dev/shm
mount -t tmpfs tmp /tmp
mount -t tmpfs run /run
mount -t debugfs debug /sys/kernel/debug 2>/dev/null
mount -t tracefs trace /sys/kernel/tracing 2>/dev/null
# finish() looks for leaks; a scan each ten minutes beside it is half a minute of
# a processor, or several where processors are short.
leaks=/sys/kernel/debug/kmemleak
if [ -e "$leaks" ]; then echo scan=off >"$leaks"; fi
chmod 1777 /tmp /dev/shm
ip link set lo up
hostname rpma 2>/dev/null
ln -sfn /proc/self/fd /dev/fd

stty -F /dev/ttyS1 raw -echo
exec 7<>/dev/ttyS1
. /rpma/vm/guest.sh

cd /rpma/job || exit
mapfile -t args <./args
mapfile -t environment <./env
script=$(cat ./script)

report start
env "${environment[@]}" BASH_ENV=/rpma/vm/guest.sh \
	bash -euo pipefail "/rpma/job/$script" "${args[@]}" 2>&1 |
	while IFS= read -r line; do report "out $line"; done
status=${PIPESTATUS[0]}

finish || status=1
report "verdict $status"
busybox poweroff -f
