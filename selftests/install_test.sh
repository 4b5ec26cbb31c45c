#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# make install beside Debian's librpma0 and librpma-dev: it meets no file of
# any package, changes nothing for a program until told to, and can be undone.
# Each program says itself which librpma.so.0 it has mapped. Runs inside the
# Debian tree as root, on an overlay, so that the tree stays as it is. KTAP out.
#
# usage: install_test.sh
# shellcheck disable=SC2317	# functions are called by name
set -u

top=$(cd "$(dirname "$0")/.." && pwd)
theirs=$(dpkg -L librpma0 2>/dev/null | grep '/librpma\.so\.0$')

# On the overlay /mnt shows what was changed, and /tmp is not part of it.
if [ "${1-}" = mount ]; then
	set -e
	mount -t tmpfs tmpfs /mnt
	mkdir /mnt/changed /mnt/work /mnt/tree
	mount -t overlay overlay -o lowerdir=/,upperdir=/mnt/changed,workdir=/mnt/work /mnt/tree
	mount -t tmpfs tmpfs /mnt/tree/tmp
	mount --rbind /proc /mnt/tree/proc
	mount --rbind /dev /mnt/tree/dev
	mkdir -p "/mnt/tree$top"
	mount --bind "$top" "/mnt/tree$top"
	mount --bind /mnt/changed /mnt/tree/mnt
	exec chroot /mnt/tree bash "$top/selftests/install_test.sh" inside
elif [ "${1-}" != inside ]; then
	echo 'TAP version 13'
	if [ -z "$theirs" ]; then
		echo '1..0 # SKIP librpma0 is not installed here'
		exit 4
	fi
	exec unshare --mount --propagation unchanged bash "$0" mount
fi

nr=0 failed=0
report() { # NAME COMPLAINTS
	nr=$((nr + 1))
	if [ -z "$2" ]; then
		echo "ok $nr $1"
	else
		printf '%s\n' "$2" | head -n 20 | sed 's/^/# /'
		echo "not ok $nr $1"
		failed=1
	fi
}

run_make() { make -s -C "$top" BUILD=/tmp/build "$@" >/tmp/make.log 2>&1 || cat /tmp/make.log; }

files_in() { (cd "$1" && find . ! -type d -printf '/%P\n' | sort); }

# What was changed since the test began, but for the linker's own cache.
changed() { files_in /mnt | grep -vxE '/etc/ld\.so\.cache|/var/cache/ldconfig/aux-cache'; }

# A file of ours is nobody's, compressed manuals or not.
overlap() { # MAKE-VARIABLES...
	rm -rf /tmp/staging
	run_make install DESTDIR=/tmp/staging "$@"
	run_make install-default DESTDIR=/tmp/staging "$@"
	files_in /tmp/staging >/tmp/files
	[ "$(wc -l </tmp/files)" -gt 84 ] || echo 'hardly anything was installed'
	{ cat /tmp/files; sed 's/$/.gz/' /tmp/files; } | sort |
		comm -12 - <(sort -u /var/lib/dpkg/info/*.list)
}

broken() { dpkg -V librpma0 librpma-dev | grep -v /usr/share/doc/; }

build() { # PROGRAM PACKAGE [PKG_CONFIG_PATH]
	# shellcheck disable=SC2046	# flags are words
	cc -o "/tmp/$1" /tmp/which.c $(PKG_CONFIG_PATH=${3-} pkg-config --cflags --libs "$2") 2>&1
}

# uses PROGRAM LIBRARY [ENVIRONMENT...]: the library that the program maps.
uses() {
	local program=$1 want got
	want=$(realpath -m "$2")
	shift 2
	got=$(env "$@" "/tmp/$program" 2>&1)
	[ "$got" = "$want" ] || echo "$program uses $got, not $want"
}

all_use() { # WHAT OLD PROGRAMS USE
	uses theirs "$1"
	uses ours /usr/local/lib/rpma-kmod/librpma.so.0
	uses unchanged /usr/local/lib/rpma-kmod/librpma.so.0
}

cat >/tmp/which.c <<'EOF'
#include <librpma.h>
#include <string.h>

int main(void)
{
	FILE *maps = fopen("/proc/self/maps", "r");
	char line[512];

	while (maps && fgets(line, sizeof(line), maps)) {
		if (strstr(line, "librpma")) {
			fputs(strchr(line, '/'), stdout);
			return !rpma_err_2str(0);
		}
	}
	return 1;
}
EOF

# A DESTDIR's programs are built with the files under it.
from_destdir() {
	run_make install DESTDIR=/tmp/staging prefix=/usr
	# shellcheck disable=SC2046
	cc -o /tmp/staged /tmp/which.c $(PKG_CONFIG_PATH=/tmp/staging/usr/lib/pkgconfig \
		PKG_CONFIG_SYSROOT_DIR=/tmp/staging pkg-config --cflags --libs librpma-kmod) 2>&1
	uses staged /tmp/staging/usr/lib/rpma-kmod/librpma.so.0 \
		LD_LIBRARY_PATH=/tmp/staging/usr/lib/rpma-kmod
	for file in include/linux/rpma.h lib/udev/rules.d/60-rpma.rules; do
		[ -s "/tmp/staging/usr/$file" ] || echo "no $file"
	done
}

echo "1..15"
multiarch=$(dirname "$theirs")
report 'install.meets_no_package_in_usr' "$(overlap prefix=/usr)"
report 'install.meets_no_package_in_multiarch' "$(overlap prefix=/usr "libdir=$multiarch")"
report 'install.meets_no_package_in_usr_local' "$(overlap prefix=/usr/local)"
rm -rf /tmp/staging
report 'install.destdir_serves_a_program' "$(from_destdir)"
report 'install.destdir_changes_nothing_else' "$(changed)"

report 'install.usr_leaves_packages_as_they_were' "$(
	broken
	run_make install prefix=/usr "libdir=$multiarch"
	broken
	[ -n "$(changed)" ] || echo 'nothing was installed')"
report 'install.usr_uninstall_leaves_nothing' "$(
	run_make uninstall prefix=/usr "libdir=$multiarch"
	changed)"

report 'install.usr_local' "$(run_make install prefix=/usr/local; PATH=$PATH:/sbin ldconfig 2>&1)"
report 'install.programs_build' "$(
	build theirs librpma
	build ours librpma-kmod
	build unchanged librpma /usr/local/lib/rpma-kmod/pkgconfig)"
report 'install.each_program_uses_its_own' "$(all_use "$theirs")"
report 'install.one_program_can_be_told' "$(
	uses theirs /usr/local/lib/rpma-kmod/librpma.so.0 \
		LD_LIBRARY_PATH=/usr/local/lib/rpma-kmod
	uses ours "$theirs" "LD_LIBRARY_PATH=$multiarch")"
report 'install.default_switches_all' "$(
	run_make install-default prefix=/usr/local
	all_use /usr/local/lib/rpma-kmod/librpma.so.0
	broken)"
report 'install.default_switches_back' "$(
	run_make uninstall-default prefix=/usr/local
	all_use "$theirs")"

# Programs of librpma run without it, once ours is the default.
report 'install.default_serves_alone' "$(
	rm "$theirs"
	run_make install-default prefix=/usr/local
	all_use /usr/local/lib/rpma-kmod/librpma.so.0)"
report 'install.uninstall_leaves_nothing' "$(
	run_make uninstall prefix=/usr/local
	changed | grep -vxF "$(realpath -m "$theirs")"
	/tmp/theirs >/dev/null 2>&1 && echo 'a program still finds a library')"
exit $failed
