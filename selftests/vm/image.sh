#!/usr/bin/env bash
# Makes build/vm/root.img, the disk every test machine starts from (nothing is
# ever written back to it). No kernel and no module is in it: see kernel.sh.
set -euo pipefail
. "$(dirname -- "${BASH_SOURCE[0]}")/lib.sh"

image=$BUILD/vm/root.img
stamp=$image.stamp
recipe=$(recipe_hash "${BASH_SOURCE[0]}" "$BUILD/rootfs.stamp")
if is_fresh "$stamp" "$recipe"; then exit 0; fi

say "making the disk of the test machines"
stage=$BUILD/vm/stage
rm -rf "$stage" "$image" "$stamp"
mkdir -p "$BUILD/vm"
trap 'rm -rf "$stage"' EXIT

# Hard links: files may be removed or replaced here, never written to.
cp -al "$TREE" "$stage"
rm -rf "${stage:?}"/{boot,usr/src,usr/lib/modules,var/cache/apt,var/lib/apt,rpma}
mkdir -p "$stage"/{rpma,pmem,usr/lib/modules}
chroot "$stage" groupadd --system rdma 2>/dev/null || true
chroot "$stage" useradd --create-home --groups rdma tester

size=$(du -sm "$stage" | cut -f 1)
mke2fs -q -t ext4 -O ^has_journal -E lazy_itable_init=1 -d "$stage" \
	"$image" "$((size * 5 / 4 + 200))M" >/dev/null
echo "$recipe" >"$stamp"
