#!/usr/bin/env bash
# Installs what the host needs to build and boot the test machines: Debian 12
# or 13, as root. Quick when everything is there.
set -euo pipefail
. "$(dirname -- "${BASH_SOURCE[0]}")/lib.sh"

packages=(
	bc bison build-essential busybox-static ca-certificates cpio
	e2fsprogs flex kmod libelf-dev libssl-dev mmdebstrap patch
	perl qemu-system-x86 shellcheck util-linux xz-utils
)

missing=()
for package in "${packages[@]}"; do
	status=$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null) || true
	[ "$status" = installed ] || missing+=("$package")
done
[ ${#missing[@]} -gt 0 ] || exit 0

[ "$(id -u)" = 0 ] || die "needs root to install: ${missing[*]}"
say "installing ${missing[*]}"
export DEBIAN_FRONTEND=noninteractive
apt-get update -qq
apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
