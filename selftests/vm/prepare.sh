#!/usr/bin/env bash
# usage: prepare.sh KERNEL...
# Makes whatever is missing for running on these kernels: packages, Debian
# tree, disk, debug kernel. Done in no time when nothing is.
set -euo pipefail
. "$(dirname -- "${BASH_SOURCE[0]}")/lib.sh"

exec 9>"$(mkdir -p "$BUILD" && echo "$BUILD/prepare.lock")"
flock 9
"$VM/packages.sh"
"$VM/rootfs.sh"
"$VM/linux-source.sh"
"$VM/image.sh"
"$VM/fio-source.sh" || say "going on without fio"
for kernel in $(plain_kernels "$@"); do
	if [ "$kernel" = debug ]; then "$VM/debug-kernel.sh"; fi
	"$VM/kernel.sh" "$kernel"
done
