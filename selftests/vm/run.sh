#!/usr/bin/env bash
# usage: run.sh [-k KERNEL] [-t SECONDS] [-f FILE]... SCRIPT [ARG...]
# Boots one test machine, runs SCRIPT in it as root (with guest.sh sourced and
# every FILE beside it) and gives the verdict. KERNEL: 6.12, 7.3, debug, or
# one of these with +flush behind it, for the patched provider.
# KEEP=1 keeps the console of a good run, OUTPUT=DIR says where, QEMU_ARGS adds
# words for QEMU, APPEND words for the kernel.
set -euo pipefail
. "$(dirname -- "${BASH_SOURCE[0]}")/lib.sh"
. "$VM/qemu.sh"

kernel=6.12 seconds=300 files=()
while getopts k:t:f: option; do
	case $option in
	k) kernel=$OPTARG ;;
	t) seconds=$OPTARG ;;
	f) files+=("$OPTARG") ;;
	*) exit 2 ;;
	esac
done
shift $((OPTIND - 1))
script=$1
shift

run_directory "$(basename "$script" .sh)-$kernel"
mkdir -p "$RUN/one"
VM_ARGS=("$@") VM_ENV=("KERNEL=$kernel")
vm_payload "$RUN/one" "$kernel" "$script" "${files[@]}"
# shellcheck disable=SC2086	# QEMU_ARGS are words
vm_run one "$RUN/one" "$kernel" "$seconds" ${QEMU_ARGS-} || true
run_leave "$(cat "$RUN/one/outcome")"
