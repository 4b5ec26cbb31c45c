#!/usr/bin/env bash
# usage: provider.sh KERNEL
# Makes build/provider/KERNEL.ko, rxe with the patches of kmod/patches for a
# kernel by its plain name, inside the Debian tree and from Debian's source of
# that kernel. Done in no time when the patches did not change.
set -euo pipefail
. "$(dirname -- "${BASH_SOURCE[0]}")/lib.sh"

kernel=$1
out=$BUILD/provider
case $kernel in
debug) base=$BUILD/linux-debug.stamp source='' ;;	# its KDIR is its source
*) base=$BUILD/rootfs.stamp source=/usr/src/linux-source-$kernel.tar.xz ;;
esac

mkdir -p "$out"
exec 9>"$out/$kernel.lock"
flock 9
mapfile -t patches < <(find "$TOP/kmod/patches" -type f ! -name README.md | sort)
recipe=$(recipe_hash "${BASH_SOURCE[0]}" "$base" "${patches[@]}")
if [ -e "$out/$kernel.ko" ] && is_fresh "$out/$kernel.stamp" "$recipe"; then exit 0; fi

rm -f "$out/$kernel.ko" "$out/$kernel.stamp"
in_tree bash /rpma/kmod/patches/build.sh -o /rpma/build/provider/work \
	"$(kernel_headers "$kernel")" "$source" >/dev/null
# Debian's have no debugging information either, and a test machine reads slowly.
in_tree strip --strip-debug -o "/rpma/build/provider/$kernel.new" \
	"/rpma/build/provider/work/$(kernel_release "$kernel")/rdma_rxe.ko"
mv "$out/$kernel.new" "$out/$kernel.ko"
echo "$recipe" >"$out/$kernel.stamp"
