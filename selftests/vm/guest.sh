# shellcheck shell=bash
# What a guest script can use; sourced before it. Port 7 is the second serial
# port: the host reads every line written to it, and answers cues.

ADDR4=${ADDR4:-10.7.7.1}
ADDR6=${ADDR6:-fd07::1}
export LD_LIBRARY_PATH=/rpma/lib RPMA_TEST_ADDR4=$ADDR4 RPMA_TEST_ADDR6=$ADDR6

# One line to the host, whole even when several processes write: a terminal
# takes one write() before the next. To run a program for this, such as flock,
# costs more than most tests.
report() {
	printf '%s\n' "$*" >&7
}

# cue WORD...: asks the host to act, and prints what it has to say.
#   cue set KEY [VALUE]   tell the others
#   cue wait KEY          until somebody set it; answers VALUE
#   cue kill MACHINE      cut its power
#   cue start MACHINE     switch it on again
cue() {
	local answer
	report "cue $*"
	IFS= read -r answer <&7
	case $answer in
	'' | 'done') ;;
	*) printf '%s\n' "$answer" ;;
	esac
}

# A line on the console, so that a kernel report can be told apart by place.
mark() { echo "<4>rpma-test: $*" >/dev/kmsg; }

# On a kernel named +flush the patched provider is what modprobe finds, whoever
# calls it; RXE=stock before setup_rdma keeps the stock one all the same.
wants_patched_rxe() {
	case ${KERNEL-} in
	*+flush) [ "${RXE-}" != stock ] ;;
	*) return 1 ;;
	esac
}

hide_stock_rxe() {
	local stock
	stock=$(modinfo -n rdma_rxe)
	cmp -s /rpma/rdma_rxe.ko "$stock" || mount --bind /rpma/rdma_rxe.ko "$stock"
}

# By its build id, so it does not matter who loaded it, and when.
is_patched_rxe() {
	perl -e '
		local $/;
		my ($id, $module) = map { open(my $file, "<:raw", $_) or exit 2; <$file> } @ARGV;
		exit(!length($id) || index($module, $id) < 0)
	' /sys/module/rdma_rxe/notes/.note.gnu.build-id /rpma/rdma_rxe.ko
}

# No test may pass on the stock provider by mistake, whatever its caller does
# with a status.
wrong_rxe() {
	report "out $*"
	exit 90
}

# setup_rdma [LINK]: an rxe device on LINK, default a dummy for loopback. The
# MTU gives rxe an active MTU of 4096.
setup_rdma() {
	local link=${1:-dummy0} module
	if wants_patched_rxe && ! hide_stock_rxe; then
		wrong_rxe 'there is no patched rdma_rxe.ko'
	fi
	for module in ib_core ib_uverbs rdma_cm rdma_ucm rdma_rxe crc32_generic; do
		modprobe -q "$module" || true
	done
	if wants_patched_rxe && ! is_patched_rxe; then
		wrong_rxe 'the rdma_rxe that is loaded is not the patched one'
	fi
	if [ "$link" = dummy0 ]; then
		# A kernel with dummy built in has made it already.
		ip link add dummy0 type dummy 2>/dev/null || ip -br link show dummy0 >/dev/null
	else
		modprobe -q virtio_net || true
	fi
	ip link set "$link" mtu 4200 up
	ip addr add "$ADDR4/24" dev "$link"
	ip addr add "$ADDR6/64" dev "$link" nodad
	rdma link add rxe0 type rxe netdev "$link"
}

# A suite that takes devices away may leave them away when it fails.
restore_rdma() {
	if rdma link show rxe0/1 2>/dev/null | grep -q 'state ACTIVE.*netdev dummy0' &&
		ip -br addr show dummy0 | grep -q "$ADDR4.*$ADDR6"; then
		return
	fi
	rdma link delete rxe0 2>/dev/null || true
	ip link delete dummy0 2>/dev/null || true
	setup_rdma
}

# The effect of our udev rule: the group rdma may use the device.
setup_node() {
	chgrp rdma /dev/rpma
	chmod 660 /dev/rpma
}

load_rpma() { # FILE
	insmod "$1"
	[ -c /dev/rpma ]
	setup_node
}

# Fails when something holds the module; one that hangs must not hang us.
unload_rpma() {
	rmmod rpma &
	for _ in {1..100}; do
		kill -0 $! 2>/dev/null || break
		sleep 0.2
	done
	! grep -q '^rpma ' /proc/modules
}

setup_all() {
	setup_rdma "$@"
	load_rpma /rpma/rpma.ko
}

# take_away LINK: what setup_all made, so that it can be made on the other rxe.
take_away() {
	local path
	unload_rpma
	rdma link delete rxe0
	rmmod rdma_rxe
	path=$(modinfo -n rdma_rxe)
	if mountpoint -q "$path"; then umount "$path"; fi
	ip addr del "$ADDR4/24" dev "$1"
	ip addr del "$ADDR6/64" dev "$1"
}

# as_tester COMMAND...: as an ordinary user of group rdma, who may lock MEMLOCK
# bytes (default: what most systems allow).
as_tester() {
	prlimit --memlock="${MEMLOCK:-8388608}" setpriv --reuid tester --regid tester --init-groups --reset-env \
		env PATH="$PATH" LD_LIBRARY_PATH="$LD_LIBRARY_PATH" \
		RPMA_TEST_ADDR4="$RPMA_TEST_ADDR4" RPMA_TEST_ADDR6="$RPMA_TEST_ADDR6" \
		KERNEL="${KERNEL-}" "$@"
}

# test_case NAME COMMAND...: one result of a guest script that tests by itself.
test_case() {
	local name=$1 verdict='not ok'
	shift
	if "$@"; then verdict=ok; fi
	test_cases=$((${test_cases:-0} + 1))
	report "tap $verdict $test_cases $name"
}

# run_test NAME [USER [SECONDS [ARG...]]]: a test program, its KTAP to the
# host. USER: root, tester, or tester-alone (an ordinary user on a machine
# without /dev/infiniband).
run_test() {
	local name=$1 user=${2:-root} seconds=${3:-120} status=0 command begin=$SECONDS
	shift; shift || true; shift || true
	case $user in
	root) command=() ;;
	*) command=(as_tester) ;;
	esac
	if [ "$user" = tester-alone ]; then mv /dev/infiniband /dev/.infiniband; fi
	mark "$name"
	report "begin $name"
	"${command[@]}" timeout -k 5 "$seconds" "/rpma/tests/$name" "$@" </dev/null 2>&1 |
		while IFS= read -r line; do report "tap $line"; done
	status=${PIPESTATUS[0]}
	report "end $name $status $((SECONDS - begin))"
	if [ "$user" = tester-alone ]; then mv /dev/.infiniband /dev/infiniband; fi
	return "$status"
}

# The NVDIMM of a powercut machine as /dev/dax0.0. The namespace is made once
# and found again after the power came back.
setup_dax() {
	local module
	for module in nfit nd_pmem dax_pmem device_dax; do
		modprobe -q "$module" 2>/dev/null || true
	done
	if ! [ -c /dev/dax0.0 ]; then
		ndctl create-namespace -f -e namespace0.0 -m devdax >/dev/null 2>&1
	fi
	[ -c /dev/dax0.0 ]
	chgrp rdma /dev/dax0.0
	chmod 660 /dev/dax0.0
}

# dax_read BYTES [OFFSET]: what /dev/dax0.0 holds, which can only be mapped.
dax_read() {
	python3 -c '
import mmap, os, sys
fd = os.open("/dev/dax0.0", os.O_RDONLY)
count, offset = int(sys.argv[1]), int(sys.argv[2])
unit = 2 << 20
length = -(-(offset + count) // unit) * unit
with mmap.mmap(fd, length, mmap.MAP_SHARED, mmap.PROT_READ) as dax:
    sys.stdout.buffer.write(dax[offset:offset + count])
' "$1" "${2:-0}"
}

# mount_out: /tmp/out is a directory of the host, DIR/out of this machine.
mount_out() {
	local module
	for module in 9p 9pnet_virtio; do modprobe -q "$module" || true; done
	mkdir -p /tmp/out
	mount -t 9p -o trans=virtio,version=9p2000.L out /tmp/out
}

# Called by init.sh after the script: on a kernel with kmemleak nothing may be
# left, also after the module has gone. Objects younger than five seconds are
# not looked at, and the first scan may see what the second one finds.
finish() {
	local leaks=/sys/kernel/debug/kmemleak
	if grep -q '^rpma ' /proc/modules && ! unload_rpma; then
		report 'out rpma.ko cannot be unloaded'
		return 1
	fi
	[ -e "$leaks" ] || return 0
	sleep 6
	echo scan >"$leaks"
	echo scan >"$leaks"
	! grep -a . "$leaks" >/dev/console
}
