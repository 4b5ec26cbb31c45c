#!/usr/bin/env bash
# Takes from Debian's linux-source-6.12 what no other package has: kselftest's
# headers to build/kselftest, checkpatch and its word lists to build/checkpatch.
set -euo pipefail
. "$(dirname -- "${BASH_SOURCE[0]}")/lib.sh"

stamp=$BUILD/linux-source.stamp
recipe=$(recipe_hash "${BASH_SOURCE[0]}" "$BUILD/rootfs.stamp")
if is_fresh "$stamp" "$recipe"; then exit 0; fi

kselftest=tools/testing/selftests
rm -rf "$BUILD/kselftest" "$BUILD/checkpatch"
mkdir -p "$BUILD/kselftest" "$BUILD/checkpatch"
part=$(mktemp -d)
trap 'rm -rf "$part"' EXIT
tar -C "$part" --strip-components=1 -xf "$TREE/usr/src/linux-source-6.12.tar.xz" \
	"linux-source-6.12/$kselftest/kselftest.h" \
	"linux-source-6.12/$kselftest/kselftest_harness.h" \
	linux-source-6.12/scripts/{checkpatch.pl,spelling.txt,const_structs.checkpatch}
cp "$part/$kselftest"/*.h "$BUILD/kselftest/"
cp "$part"/scripts/* "$BUILD/checkpatch/"
echo "$recipe" >"$stamp"
