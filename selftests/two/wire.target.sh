# shellcheck shell=bash
# The other machine: offers its NVDIMM, and traces what rxe does to it as a
# responder. To keep what was on the link, in the wire.pcap of each machine:
#
#	KEEP=1 selftests/vm/two.sh -c -p 256M -k 6.12 selftests/two/wire.{target,initiator}.sh
setup_dax
setup_all eth0

trace=/sys/kernel/tracing
{
	echo 'p:rpma/flush rxe_flush_pmem_iova iova=%si:x64 len=%dx:u32'
	echo 'p:rpma/piece arch_wb_cache_pmem addr=%di:x64 len=%si:u64'
} >"$trace/kprobe_events"
echo 1 >"$trace/events/rpma/enable"

mkfifo /tmp/said
/rpma/tests/wire_target /dev/dax0.0 "$ADDR4" >/tmp/said &
target=$!
read -r line </tmp/said
cue set "$line"
cue wait over
kill "$target"
wait "$target" || true
