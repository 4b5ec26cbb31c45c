#!/usr/bin/env bash
# Fetches the source package of fio 3.33, the last of Debian's with the librpma
# engines that apt still serves (Debian 12), to build/fio/source. apt checks the
# signature and the sums; it works on lists of its own, so that the host may be
# another Debian and learns nothing of it.
set -euo pipefail
. "$(dirname -- "${BASH_SOURCE[0]}")/lib.sh"

dir=$BUILD/fio
stamp=$dir/source.stamp
recipe=$(recipe_hash "${BASH_SOURCE[0]}")
if is_fresh "$stamp" "$recipe"; then exit 0; fi

mirror=$("$VM/mirror.sh")
say "fetching the source of fio"
rm -rf "$dir"
mkdir -p "$dir"/apt/{lists,cache} "$dir/source"
keys=/usr/share/keyrings/debian-archive-keyring.gpg
echo "deb-src [signed-by=$keys] $mirror bookworm main" >"$dir/apt/sources.list"
options=(
	-o "Dir::Etc::SourceList=$dir/apt/sources.list" -o Dir::Etc::SourceParts=/dev/null
	-o "Dir::State::Lists=$dir/apt/lists" -o "Dir::Cache=$dir/apt/cache"
	-o APT::Sandbox::User=root
)
{
	apt-get "${options[@]}" update
	cd "$dir/source"
	apt-get "${options[@]}" source --only-source --download-only fio
} >"$dir/apt.log" 2>&1 || { tail -n 20 "$dir/apt.log" >&2; die "no source of fio"; }
compgen -G "$dir/source/fio_3.33-*.dsc" >/dev/null || die "not fio 3.33: $(ls "$dir/source")"

rm -rf "$dir/apt"
echo "$recipe" >"$stamp"
