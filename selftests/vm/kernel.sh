#!/usr/bin/env bash
# usage: kernel.sh KERNEL
# Prepares build/vm/KERNEL for booting: vmlinuz, an initrd with the modules of
# the disk, and modules.img, a small filesystem with the other modules the
# tests load (unpacked, which saves seconds of emulated processor).
set -euo pipefail
. "$(dirname -- "${BASH_SOURCE[0]}")/lib.sh"

kernel=$1
disk_modules=(virtio_pci virtio_blk ext4 crc32c crc32c_generic)
test_modules=(
	9p 9pnet_virtio crc32_generic dax_pmem device_dax dummy ib_core ib_uverbs
	nd_pmem nfit rdma_cm rdma_rxe rdma_ucm sch_netem siw veth virtio_net virtio_rng
)

case $kernel in
debug) source_stamp=$BUILD/linux-debug.stamp from=$BUILD/linux-debug.modules ;;
*) source_stamp=$BUILD/rootfs.stamp from=$TREE/usr ;;
esac
out=$BUILD/vm/$kernel
recipe=$(recipe_hash "${BASH_SOURCE[0]}" "$VM/initrd-init" "$source_stamp")
if is_fresh "$out/stamp" "$recipe"; then exit 0; fi

release=$(kernel_release "$kernel")
rm -rf "$out"
mkdir -p "$out/initrd/bin" "$out/initrd/modules" "$out/modules/$release"
trap 'rm -rf "$out/initrd" "$out/modules"' EXIT

# modules_of NAME...: the files of these modules and of what they need, in
# loading order. --ignore-install, since ndctl installs an install rule.
tree_of_modules=$out/lookup
mkdir -p "$tree_of_modules/lib"
ln -sfn "$from/lib/modules" "$tree_of_modules/lib/modules"
modules_of() {
	local name
	for name; do
		# What a kernel has built in, or not at all, is no file.
		modprobe -d "$tree_of_modules" -S "$release" --show-depends \
			--ignore-install "$name" 2>/dev/null || true
	done | awk '$1 == "insmod" && !seen[$2]++ { print $2 }'
}
unpacked() { # FILE DIRECTORY: prints the name it gets
	local name
	name=$(basename "${1%.xz}")
	case $1 in
	*.xz) xz -dc "$1" >"$2/$name" ;;
	*) cp "$1" "$2/$name" ;;
	esac
	echo "$name"
}

modules_of "${disk_modules[@]}" | while read -r file; do
	unpacked "$file" "$out/initrd/modules"
done >"$out/initrd/modules.list"
cp /bin/busybox "$out/initrd/bin/"
install -m 755 "$VM/initrd-init" "$out/initrd/init"
(cd "$out/initrd" && find . | cpio -o -H newc --quiet) >"$out/initrd.img"

modules_of "${disk_modules[@]}" "${test_modules[@]}" | while read -r file; do
	unpacked "$file" "$out/modules/$release"
done >/dev/null
cp "$from/lib/modules/$release"/modules.{builtin,builtin.modinfo,order} "$out/modules/$release/"
mkdir -p "$out/lookup.new/lib"
ln -sfn "$out/modules" "$out/lookup.new/lib/modules"
depmod -b "$out/lookup.new" "$release"
rm -rf "$out/lookup" "$out/lookup.new"
mke2fs -q -t ext4 -O ^has_journal -d "$out/modules" "$out/modules.img" 64M >/dev/null

case $kernel in
debug) cp "$BUILD/linux-debug/arch/x86/boot/bzImage" "$out/vmlinuz" ;;
*)
	for image in "$TREE/boot/vmlinuz-$release" "$from/lib/modules/$release/vmlinuz"; do
		if [ -e "$image" ]; then cp "$image" "$out/vmlinuz"; fi
	done ;;
esac
[ -s "$out/vmlinuz" ] || die "no kernel image for $release"
echo "$release" >"$out/release"
echo "$recipe" >"$out/stamp"
