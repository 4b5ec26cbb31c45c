#!/usr/bin/env bash
set -euo pipefail

usage() {
	cat <<'END'
usage: build.sh [-o DIR] [-w PATCH] KDIR LINUX_SOURCE

Builds rxe (Soft-RoCE, rdma_rxe.ko) with the patches of linux/series, out of
tree, for the kernel that KDIR belongs to. That kernel stays as it is, and so do
all its other modules. Where linux/<version>, such as linux/6.12, has a patch of
the same name, kernels of that version get that one.

  KDIR          what modules of that kernel are built against, such as
                /lib/modules/$(uname -r)/build
  LINUX_SOURCE  the source of the same kernel, a tarball or a tree; may be left
                out where KDIR is one. Only drivers/infiniband/sw/rxe and
                include/rdma/ib_verbs.h are taken from it.
  -o DIR        the result is DIR/<kernel release>/rdma_rxe.ko (default: build/rxe
                at the top of this repository)
  -w PATCH      without this patch of the series

A patch that applies with fuzz, and a warning of W=1, are failures.
END
}

die() { printf '%s: %s\n' "${0##*/}" "$*" >&2; exit 1; }

here=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd -P)
rxe=drivers/infiniband/sw/rxe
verbs=include/rdma/ib_verbs.h
output=$here/../../build/rxe without=''

while [ $# -gt 0 ]; do
	case $1 in
	-o) output=$2; shift ;;
	-w) without=$2; shift ;;
	-h | --help) usage; exit 0 ;;
	-*) usage >&2; exit 2 ;;
	*) break ;;
	esac
	shift
done
if [ $# -lt 1 ] || [ $# -gt 2 ]; then usage >&2; exit 2; fi
kdir=$1 linux_source=${2-}

mapfile -t series < <(sed 's/#.*//; s/[[:space:]]*$//; /^$/d' "$here/linux/series")
[ ${#series[@]} -gt 0 ] || die "no patches in $here/linux/series"
for tool in make patch tar; do
	command -v "$tool" >/dev/null || die "needs $tool, which is not installed"
done

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

# ask_kdir: sets release, headers (the tree whose include/ is used) and infiniband.
ask_kdir() {
	mkdir "$scratch/ask"
	# shellcheck disable=SC2016	# expanded by make
	printf '%s\n' '$(info :release $(KERNELRELEASE))' \
		'$(info :headers $(abspath $(srctree)))' \
		'$(info :infiniband $(CONFIG_INFINIBAND))' >"$scratch/ask/Kbuild"
	"${MAKE:-make}" -C "$kdir" M="$scratch/ask" modules >"$scratch/ask.log" 2>&1 || true
	answer() { sed -n "s/^:$1 //p" "$scratch/ask.log" | head -n 1; }
	release=$(answer release) headers=$(answer headers) infiniband=$(answer infiniband)
	[ -n "$release" ] || {
		tail -n 5 "$scratch/ask.log" >&2
		die "no module can be built against KDIR=$kdir; install the headers of that" \
			"kernel (Debian: linux-headers-<release>), or say KDIR=<their directory>"
	}
	[ -n "$infiniband" ] || die "the kernel of KDIR=$kdir has no RDMA (CONFIG_INFINIBAND)"
}

version() { sed -E 's/^([0-9]+\.[0-9]+).*/\1/' <<<"$release"; }

no_source() {
	die "$1. Needed is LINUX_SOURCE=<tarball or tree>, the source that $release was built" \
		"from. Debian: apt install linux-source-$(version), then" \
		"LINUX_SOURCE=/usr/src/linux-source-$(version).tar.xz"
}

# take_source: $dir/source gets the two parts of the source, once for a tarball.
take_source() {
	local from=$linux_source stamp=''
	if [ -z "$from" ]; then
		[ -e "$headers/$rxe/rxe.c" ] || no_source 'LINUX_SOURCE is not given'
		from=$headers
	fi
	[ -e "$from" ] || no_source "LINUX_SOURCE=$from does not exist"
	if [ ! -d "$from" ]; then
		stamp=$(stat -c '%n %s %Y' "$from")
		if [ "$stamp" = "$(cat "$dir/source.stamp" 2>/dev/null)" ]; then return; fi
		mkdir "$scratch/tar"
		tar -C "$scratch/tar" -xf "$from" --no-anchored "$rxe" "$verbs" 2>"$scratch/tar.log" ||
			no_source "LINUX_SOURCE=$from is no tarball with $rxe and $verbs"
		from=$(find "$scratch/tar" -path "*/$rxe/rxe.c")
		from=${from%"/$rxe/rxe.c"}
	fi
	if [ ! -e "$from/$rxe/rxe.c" ] || [ ! -e "$from/$verbs" ]; then
		no_source "LINUX_SOURCE=$from has no $rxe or no $verbs"
	fi
	rm -rf "$dir/source" "$dir/source.stamp"
	mkdir -p "$dir/source/$rxe" "$dir/source/${verbs%/*}"
	cp "$from/$rxe"/*.[ch] "$from/$rxe/Makefile" "$dir/source/$rxe/"
	cp "$from/$verbs" "$dir/source/$verbs"
	if [ -n "$stamp" ]; then echo "$stamp" >"$dir/source.stamp"; fi
}

# file_of PATCH: the one for this kernel.
file_of() {
	local own
	own=$here/linux/$(version)/$1
	if [ -e "$own" ]; then echo "$own"; else echo "$here/linux/$1"; fi
}

apply() { # PATCH [OPTION...]
	local file
	file=$(file_of "$1")
	shift
	patch -d "$scratch/patched" -p1 --fuzz=0 --forward --no-backup-if-mismatch \
		--reject-file=- "$@" <"$file" >"$scratch/patch.log" 2>&1
}

# apply_series [PATCH]: $scratch/patched is the source with the series, but PATCH.
apply_series() {
	local name
	rm -rf "$scratch/patched"
	cp -R "$dir/source" "$scratch/patched"
	for name in "${series[@]}"; do
		if [ "$name" = "${1-}" ]; then continue; fi
		[ -e "$(file_of "$name")" ] || die "linux/series names $name, which is not there"
		apply "$name" || {
			cat "$scratch/patch.log" >&2
			die "$name does not apply to the source of $release${1:+ without $1}"
		}
	done
}

# Where later patches stand on it, it cannot be left out but may be taken back;
# where they stand beside it, those of its hunks that can.
apply_without() {
	case " ${series[*]} " in
	*" $without "*) ;;
	*) die "no $without in linux/series" ;;
	esac
	apply_series
	if apply "$without" --reverse --dry-run; then
		apply "$without" --reverse
	elif (apply_series "$without") 2>/dev/null; then
		:
	else
		apply_series
		apply "$without" --reverse || true
		grep -q 'hunks\? FAILED' "$scratch/patch.log"
		echo "only in part without $without: later patches need the rest" >&2
	fi
}

# Objects stay, so what did not change keeps its time.
to_work() {
	local file
	mkdir -p "$work"
	while read -r file; do
		if ! cmp -s "$scratch/patched/$file" "$work/$file"; then
			mkdir -p "$work/$(dirname "$file")"
			cp "$scratch/patched/$file" "$work/$file"
		fi
	done < <(cd "$scratch/patched" && find . -type f)
	printf '%s\n' "LINUXINCLUDE := -I\$(src)/include \$(LINUXINCLUDE)" "obj-m := $rxe/" \
		>"$work/Kbuild"
}

compile() {
	local status=0 jobs=(-j"$(nproc)")
	case ${MAKEFLAGS-} in *--jobserver*) jobs=() ;; esac
	"${MAKE:-make}" "${jobs[@]}" -C "$kdir" M="$work" CONFIG_RDMA_RXE=m W=1 modules \
		>"$dir/build.log" 2>&1 || status=$?
	if grep -E ':[0-9]+: warning: |: error: |^WARNING: |^ERROR: |\*\*\*' "$dir/build.log" >&2 ||
		[ "$status" != 0 ] || [ ! -e "$work/$rxe/rdma_rxe.ko" ]; then
		rm -rf "$work"	# what warned must be compiled again
		die "rxe for $release does not build, or with warnings: see $dir/build.log"
	fi
}

ask_kdir
mkdir -p "$output"
dir=$(cd -- "$output" && pwd -P)/$release
work=$dir/work
mkdir -p "$dir"
exec 9>"$dir/lock"
flock 9
rm -f "$dir/rdma_rxe.ko"
take_source
if [ -e "$headers/$verbs" ] && ! cmp -s "$headers/$verbs" "$dir/source/$verbs"; then
	no_source "$verbs of LINUX_SOURCE=$linux_source is another than that of KDIR=$kdir"
fi
if [ -n "$without" ]; then apply_without; else apply_series; fi
to_work
compile
cp "$work/$rxe/rdma_rxe.ko" "$dir/rdma_rxe.ko"
echo "$dir/rdma_rxe.ko"
