#!/usr/bin/env bash
# Builds the debug kernel in build/linux-debug from Debian's linux-source-6.12,
# inside the Debian tree (so with the compiler that later builds rpma.ko for
# it). The object tree stays: it is the KDIR of the module. About eight minutes
# on two cores, then cached until a fragment or the source changes.
set -euo pipefail
. "$(dirname -- "${BASH_SOURCE[0]}")/lib.sh"

out=$BUILD/linux-debug
stamp=$BUILD/linux-debug.stamp
version=$(in_tree dpkg-query -W -f '${Version}' linux-source-6.12)
recipe=$(recipe_hash "${BASH_SOURCE[0]}" "$VM/kernel.config" "$VM/debug.config" \
	-- "$version")
if is_fresh "$stamp" "$recipe"; then exit 0; fi

say "building the debug kernel (some eight minutes)"
rm -rf "$out" "$stamp"
mkdir -p "$out"
tar -C "$out" --strip-components=1 -xf "$TREE/usr/src/linux-source-6.12.tar.xz"

# shellcheck disable=SC2016	# expanded inside the tree
in_tree sh -euc '
	cd /rpma/build/linux-debug
	fragments="/rpma/selftests/vm/kernel.config /rpma/selftests/vm/debug.config"
	make -s tinyconfig
	scripts/kconfig/merge_config.sh -m .config $fragments >/dev/null
	make -s olddefconfig
	# A symbol that did not take would quietly weaken every debug run.
	for line in $(grep -h "^CONFIG_" $fragments); do
		grep -qx -- "$line" .config || { echo "not taken: $line" >&2; lost=1; }
	done
	[ -z "${lost-}" ]
	nice make -s -j"$1" bzImage modules
	rm -rf /rpma/build/linux-debug.modules
	make -s INSTALL_MOD_PATH=/rpma/build/linux-debug.modules modules_install
' sh "$JOBS" >"$BUILD/linux-debug.log" 2>&1 ||
	{ tail -n 20 "$BUILD/linux-debug.log" >&2; die "no debug kernel"; }

echo "$recipe" >"$stamp"
