#!/usr/bin/env bash
# usage: two.sh [-k KERNEL] [-t SECONDS] [-f FILE]... [-p SIZE] [-c] TARGET INITIATOR [ARG...]
# Two test machines on one virtual link, 10.7.7.1/fd07::1 the target and
# 10.7.7.2/fd07::2 the initiator, each running its script as root. In the
# scripts PEER4 and PEER6 are the other's addresses; "setup_all eth0" makes the
# rxe device; cues (guest.sh) let them wait for each other and let one cut the
# other's power and switch it on again, with LIFE counting from 1.
#   -p SIZE   the target has an NVDIMM of this size, kept over its lives
#             (setup_dax); it is RUN/nvdimm on the host
#   -c        capture the link in RUN/<machine>/wire.pcap
# A machine killed on a cue needs no verdict, but a clean console.
set -euo pipefail
. "$(dirname -- "${BASH_SOURCE[0]}")/lib.sh"
. "$VM/qemu.sh"

kernel=6.12 seconds=300 files=() nvdimm='' capture=''
while getopts k:t:f:p:c option; do
	case $option in
	k) kernel=$OPTARG ;;
	t) seconds=$OPTARG ;;
	f) files+=("$OPTARG") ;;
	p) nvdimm=$OPTARG ;;
	c) capture=yes ;;
	*) exit 2 ;;
	esac
done
shift $((OPTIND - 1))
declare -A script=([target]=$1 [initiator]=$2)
declare -A number=([target]=1 [initiator]=2)
shift 2
words=("$@")

run_directory "$(basename "${script[target]}" .target.sh)-$kernel"
keys=$RUN/keys
# Names of sockets are short by law.
link=$(mktemp -d)
trap 'vm_cleanup; rm -rf "$link"' EXIT
mkdir -p "$keys"
if [ -n "$nvdimm" ]; then truncate -s "$nvdimm" "$RUN/nvdimm"; fi

# machine NAME LIFE: starts one; its directory is RUN/NAME or RUN/NAME.LIFE.
machine() {
	local vm=$1 life=$2 other=initiator dir extra
	dir=$RUN/$vm
	if [ "$life" != 1 ]; then dir=$dir.$life; fi
	if [ "$vm" = initiator ]; then other=target; fi
	mkdir -p "$dir"
	VM_ARGS=("${words[@]}")
	VM_ENV=("KERNEL=$kernel" "LIFE=$life" "MACHINE=$vm"
		"ADDR4=10.7.7.${number[$vm]}" "ADDR6=fd07::${number[$vm]}"
		"PEER4=10.7.7.${number[$other]}" "PEER6=fd07::${number[$other]}")
	vm_payload "$dir" "$kernel" "${script[$vm]}" "${files[@]}"
	extra=(
		-netdev "dgram,id=link,local.type=unix,local.path=$link/$vm,remote.type=unix,remote.path=$link/$other"
		-device "virtio-net-pci,netdev=link,mac=52:54:00:00:00:0${number[$vm]}"
	)
	if [ -n "$capture" ]; then
		extra+=(-object "filter-dump,id=wire,netdev=link,file=$dir/wire.pcap")
	fi
	if [ "$vm" = target ] && [ -n "$nvdimm" ]; then
		extra+=(-object "memory-backend-file,id=nvdimm,share=on,mem-path=$RUN/nvdimm,size=$nvdimm"
			-device "nvdimm,id=nvdimm0,memdev=nvdimm")
	fi
	rm -f "$link/$vm"
	VM_PREFIX="$vm: " vm_start "$vm" "$dir" "$kernel" "${extra[@]}"
	echo "$dir" >"$RUN/$vm.now"
	echo "$life" >"$RUN/$vm.life"
}

on_cue() {
	local vm=$1 verb=$2 key=$3 dir
	case $verb in
	set)
		printf '%s\n' "${*:4}" >"$keys/.$key.$vm"
		mv "$keys/.$key.$vm" "$keys/$key"
		echo 'done' ;;
	wait)
		while [ ! -e "$keys/$key" ]; do sleep 0.05; done
		cat "$keys/$key" ;;
	kill)
		dir=$(cat "$RUN/$key.now")
		echo killed >"$dir/outcome"
		vm_kill "$dir"
		echo 'done' ;;
	start)
		touch "$keys/.start.$key"
		echo 'done' ;;
	*) echo "unknown cue" ;;
	esac
}

# lose OUTCOME: after which the other machine need not go on. Only the first
# loser counts; the other one died of it.
lose() {
	local dir
	if ! mkdir "$RUN/lost" 2>/dev/null; then exit 1; fi
	for dir in "$RUN"/{target,initiator}*/; do
		if vm_is_alive "$dir"; then vm_kill "$dir"; fi
	done
	run_leave "$1"
}

# A boot that never came to its script is tried once more, alone: the other
# machine waits for it in a cue.
await() { # NAME
	local vm=$1 dir tried=''
	while :; do
		dir=$(cat "$RUN/$vm.now")
		vm_wait "$dir" "$seconds"
		outcome=$(cat "$dir/outcome")
		if [ "$outcome" = killed ]; then
			vm_judge_killed "$dir"
			outcome=$(cat "$dir/outcome")
			if [ "$outcome" = good ]; then
				# Wait to be switched on again, unless nobody will.
				while [ ! -e "$keys/.start.$vm" ]; do
					vm_is_alive "$(cat "$RUN/initiator.now")" || return 0
					sleep 0.1
				done
				rm "$keys/.start.$vm"
				machine "$vm" $(($(cat "$RUN/$vm.life") + 1))
				continue
			fi
		elif ! vm_has_started "$dir" && [ -z "$tried" ]; then
			tried=yes
			mv "$dir/console" "$dir/console.first-try"
			machine "$vm" "$(cat "$RUN/$vm.life")"
			continue
		fi
		[ "$outcome" = good ] || lose "$vm: $outcome"
		return 0
	done
}

machine target 1
machine initiator 1
await target &
waiter=$!
await initiator
wait "$waiter"
run_leave good
