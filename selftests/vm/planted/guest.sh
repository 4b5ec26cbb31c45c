# shellcheck shell=bash
# The guest script of harness.sh: does the one bad thing it is told to, or
# several that a kernel survives.
case $1 in
good) ;;
silence) sleep 1000 ;;
panic) echo c >/proc/sysrq-trigger ;;
failing_script) exit 3 ;;
early_poweroff) busybox poweroff -f; sleep 10 ;;
stock_rxe) modprobe rdma_rxe; setup_rdma || true ;;
no_patched_rxe) rm /rpma/rdma_rxe.ko; setup_rdma || true ;;
survived)
	shift
	echo 0 >/proc/sys/kernel/panic_on_warn
	for fault; do
		mark "fault $fault"
		insmod planted.ko "fault=$fault"
		rmmod planted
	done ;;
*) insmod planted.ko "fault=$1" ;;
esac
