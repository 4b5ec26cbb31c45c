# shellcheck shell=bash
# Paths and small helpers shared by the host-side scripts. Sourced, never run.

# shellcheck disable=SC2034	# the names are for those who source this file
{
	VM=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd -P)
	TOP=$(cd -- "$VM/../.." && pwd -P)
	BUILD=${BUILD:-$TOP/build}
	TREE=$BUILD/rootfs
	LOGS=$BUILD/logs
	KERNELS=${KERNELS:-6.12 7.3 debug 6.12+flush 7.3+flush debug+flush}
	JOBS=${JOBS:-$(nproc)}
}

die() { printf '%s: %s\n' "${0##*/}" "$*" >&2; exit 1; }
say() { printf '== %s\n' "$*" >&2; }

# One hash over the named files and the words after --.
recipe_hash() {
	local files=()
	while [ $# -gt 0 ] && [ "$1" != -- ]; do files+=("$1"); shift; done
	{ cat -- "${files[@]}"; printf '%s\n' "$@"; } | sha256sum | cut -c1-32
}

is_fresh() { [ -f "$1" ] && [ "$(cat "$1")" = "$2" ]; }

# Runs a command inside the Debian tree, with the repository on /rpma. The
# mounts live in a namespace of their own, so nothing is left behind and
# removing build/ can never reach the repository through one.
in_tree() {
	mkdir -p "$TREE/rpma"
	# shellcheck disable=SC2016	# expanded by the inner shell
	unshare --mount --propagation private bash -euc '
		mount --bind "$1" "$2/rpma"
		mount -t proc proc "$2/proc"
		mount --rbind /dev "$2/dev"
		tree=$2; shift 2
		exec chroot "$tree" env -i HOME=/root LC_ALL=C.UTF-8 \
			PATH=/usr/sbin:/usr/bin:/sbin:/bin "$@"
	' in_tree "$TOP" "$TREE" "$@"
}

# A name that ends in +flush is the kernel before the +, on whose machines the
# patched provider (kmod/patches) is loaded instead of the stock one.
is_patched() { [ "$1" != "${1%+flush}" ]; }
plain_kernel() { echo "${1%+flush}"; }
plain_kernels() { # KERNEL...
	[ $# = 0 ] || printf '%s\n' "${@%+flush}" | sort -u
}

# The release string of a kernel known by its short name.
kernel_release() {
	local found
	case $1 in
	debug) cat "$BUILD/linux-debug/include/config/kernel.release" ;;
	*)
		found=$(find "$TREE/usr/lib/modules" -mindepth 1 -maxdepth 1 \
			-name "$1*-amd64" -printf '%f\n' | sort -V | tail -n 1)
		[ -n "$found" ] || die "no kernel $1 in $TREE"
		printf '%s\n' "$found" ;;
	esac
}

# Where rpma.ko is built against, as seen from inside the tree.
kernel_headers() {
	case $1 in
	debug) echo /rpma/build/linux-debug ;;
	*) echo "/usr/lib/modules/$(kernel_release "$1")/build" ;;
	esac
}
