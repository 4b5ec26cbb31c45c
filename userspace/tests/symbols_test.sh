#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# symbols_test.sh LIBRARY HEADER: the library exports librpma's functions under
# its one version, nothing else, and needs nothing but the C library.
set -u

lib=$1
header=$2
nr=0
failed=0

ok() {
	nr=$((nr + 1))
	if [ -z "$1" ]; then
		echo "ok $nr $2"
	else
		echo "not ok $nr $2"
		echo "$1" | sed 's/^/# /'
		failed=1
	fi
}

declared=$(${CC:-cc} -E -P "$header" | tr '\n' ' ' | tr ';' '\n' |
	sed -nE 's/.*[ *](rpma_[a-z0-9_]+) ?\(.*\).*/\1/p' | grep -v '^rpma_log_function$' | sort -u)
exported=$(nm -D --defined-only "$lib" | awk '$2 == "T" { print $3 }' | sort)

tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
echo "$declared" >"$tmp/declared"
echo "$declared" | sed 's/$/@@LIBRPMA_1.0/' >"$tmp/wanted"
echo "$exported" >"$tmp/exported"

# librpma 1.3.0 has 84 functions.
n=$(wc -l <"$tmp/declared")
[ "$n" -eq 84 ] && diff= || diff="$n functions"
ok "$diff" "the header declares 84 functions"
ok "$(diff "$tmp/wanted" "$tmp/exported")" "they are exported as LIBRPMA_1.0, and no others"
ok "$(readelf -d "$lib" | grep SONAME | grep -v '\[librpma.so.0\]')" "SONAME is librpma.so.0"
ok "$(readelf -d "$lib" | grep NEEDED | grep -vE 'lib(c|pthread)\.so|ld-linux|lib[at]san|libubsan')" \
	"nothing but the C library is needed"
echo "1..$nr"
exit $failed
