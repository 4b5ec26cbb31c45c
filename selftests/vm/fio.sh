#!/usr/bin/env bash
# Builds fio against our header and library, as Debian has patched it and no
# further: build/fio/fio. The engines alone decide what is configured.
set -euo pipefail
. "$(dirname -- "${BASH_SOURCE[0]}")/lib.sh"

dir=$BUILD/fio
[ -e "$dir/source.stamp" ] || die "the source of fio was not fetched"
stamp=$dir/stamp
configured=$(recipe_hash "${BASH_SOURCE[0]}" "$dir/source.stamp" "$BUILD/rootfs.stamp")
# What is exported decides whether it links; all else is found out when it runs.
recipe=$(recipe_hash "$TOP/userspace/include/librpma.h" "$TOP/userspace/src/librpma.map" \
	-- "$configured")
if [ -e "$dir/fio" ] && is_fresh "$stamp" "$recipe"; then exit 0; fi
rm -f "$stamp" "$dir/fio"

if ! is_fresh "$dir/configure.stamp" "$configured"; then
	rm -rf "$dir/work" "$dir/configure.stamp"
	dpkg-source -q --no-check -x "$dir"/source/fio_*.dsc "$dir/work"
	in_tree sh -euc '
		cd /rpma/build/fio/work
		LDFLAGS="-L/rpma/build/userspace" ./configure --disable-native \
			--extra-cflags=-I/rpma/userspace/include >../configure.log
		grep -qx "#define CONFIG_LIBRPMA_APM" config-host.h
		grep -qx "#define CONFIG_LIBRPMA_GPSPM" config-host.h
	'
	echo "$configured" >"$dir/configure.stamp"
fi
rm -f "$dir/work/fio"	# its rule does not know the library
in_tree make -C /rpma/build/fio/work -j"$JOBS" fio
# Debian's header is installed too, and must not be the one.
grep -q /rpma/userspace/include/librpma.h "$dir/work/engines/librpma_fio.d"
in_tree strip -o /rpma/build/fio/fio /rpma/build/fio/work/fio
echo "$recipe" >"$stamp"
