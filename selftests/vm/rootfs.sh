#!/usr/bin/env bash
# Makes build/rootfs: a Debian trixie tree with both kernels, their headers and
# everything the tests need. Modules and programs are built inside it, and the
# disk of the test machines is made from it (image.sh).
set -euo pipefail
. "$(dirname -- "${BASH_SOURCE[0]}")/lib.sh"

packages=(
	bc bison cpio daxctl flex gcc ibverbs-providers ibverbs-utils iproute2
	iputils-ping kmod libc6-dev libelf-dev libibverbs-dev librdmacm-dev
	librdmacm1t64 librpma-dev librpma0 libssl-dev liburing-dev make mandoc
	ndctl patch perl pkgconf procps python3 rdma-core rdmacm-utils sparse
	strace tcpdump udev valgrind linux-source-6.12
	libpmem-dev libprotobuf-c-dev	# for fio
)
# Installed first from trixie, then again from backports: a newer metapackage
# leaves the older kernel in place.
kernels=(linux-image-amd64 linux-headers-amd64)

recipe=$(recipe_hash "${BASH_SOURCE[0]}")
stamp=$BUILD/rootfs.stamp
if is_fresh "$stamp" "$recipe"; then exit 0; fi

# The host's own mirror, proxies and patience are good enough for the tree.
mirror=$("$VM/mirror.sh")
options=$(mktemp)
trap 'rm -f "$options"' EXIT
apt-config dump | grep -iE '^Acquire::(https?|Check-[A-Za-z-]*|Retries)' >"$options" || true

mkdir -p "$BUILD"
rm -rf "$TREE.new"
say "making the Debian tree (some minutes)"
join() { local IFS=,; echo "$*"; }
# shellcheck disable=SC2016	# "$1" is the tree, expanded by the hooks
mmdebstrap --quiet --mode=root --variant=minbase --format=directory \
	--aptopt="$options" \
	--dpkgopt=force-unsafe-io \
	--dpkgopt='path-exclude=/usr/share/doc/*' \
	--dpkgopt='path-exclude=/usr/share/locale/*' \
	--include="$(join "${packages[@]}")" \
	--customize-hook="chroot \"\$1\" env INITRD=No DEBIAN_FRONTEND=noninteractive \
		apt-get install -y -qq --no-install-recommends ${kernels[*]}" \
	--customize-hook="chroot \"\$1\" env INITRD=No DEBIAN_FRONTEND=noninteractive \
		apt-get install -y -qq --no-install-recommends -t trixie-backports ${kernels[*]} linux-source-7.3" \
	trixie "$TREE.new" \
	"deb $mirror trixie main" "deb $mirror trixie-backports main" \
	>"$BUILD/rootfs.log" 2>&1 || { tail -n 20 "$BUILD/rootfs.log" >&2; die "no tree"; }

rm -rf "$TREE" "$stamp"
mv "$TREE.new" "$TREE"
echo "$recipe" >"$stamp"
