#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# librpma.so.0 against Debian's librpma 1.3.0, where that is installed: the
# same SONAME and version, no symbol that it has not, and a header whose
# functions, numbers and structures are the same. KTAP out.
#
# usage: abi_test.sh [LIBRARY [HEADER]]
# shellcheck disable=SC2317	# functions are called by name
set -u

here=$(cd "$(dirname "$0")" && pwd)
library=${1:-$here/../build/userspace/librpma.so.0}
header=${2:-$here/../userspace/include/librpma.h}
theirs=$(find /usr/lib -name 'librpma.so.0' 2>/dev/null | head -n 1)
their_header=/usr/include/librpma.h
cc=${CC:-cc}

tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

echo 'TAP version 13'
if [ -z "$theirs" ] || [ ! -e "$their_header" ]; then
	echo '1..0 # SKIP librpma-dev is not installed here'
	exit 4
fi
echo '1..6'

nr=0 failed=0
report() { # NAME COMPLAINTS
	nr=$((nr + 1))
	if [ -z "$2" ]; then
		echo "ok $nr $1"
	else
		printf '%s\n' "$2" | sed 's/^/# /'
		echo "not ok $nr $1"
		failed=1
	fi
}

symbols() { readelf -W --dyn-syms "$1" | awk '$7 != "UND" && $5 == "GLOBAL" { print $8 }' | sort -u; }
soname() { readelf -d "$1" | sed -n 's/.*(SONAME).*\[\(.*\)\]/\1/p'; }

# Each function as the compiler understood it.
prototypes() {
	printf '#include "%s"\n' "$1" >"$tmp/p.c"
	$cc -aux-info "$tmp/p.out" -fsyntax-only "$tmp/p.c" || echo 'does not compile'
	sed -n 's|^/\* .* \*/ extern \(.* rpma_.*\)|\1|p' "$tmp/p.out" | sort -u
}

# The value of each RPMA_ name that the other header defines as a number.
numbers() {
	{
		printf '#include "%s"\n#include <stdio.h>\nint main(void) {\n' "$1"
		grep -oE '\bRPMA_[A-Z0-9_]+\b' "$their_header" | sort -u | while read -r name; do
			printf '#include "%s"\nlong v = (long)(%s); char s[sizeof(v)];\n' \
				"$their_header" "$name" >"$tmp/n.c"
			if $cc -fsyntax-only "$tmp/n.c" 2>/dev/null; then
				printf 'printf("%s %%ld\\n", (long)(%s));\n' "$name" "$name"
			fi
		done
		printf 'return 0; }\n'
	} >"$tmp/numbers.c"
	$cc -o "$tmp/numbers" "$tmp/numbers.c" && "$tmp/numbers"
}

structures() {
	printf '#include "%s"\n#include <stddef.h>\n#include <stdio.h>\n%s\n' "$1" '
int main(void)
{
	printf("%zu %zu %zu %zu %zu %zu\n", sizeof(struct rpma_conn_private_data),
	       offsetof(struct rpma_conn_private_data, ptr),
	       offsetof(struct rpma_conn_private_data, len),
	       sizeof(enum rpma_conn_event), sizeof(enum rpma_flush_type),
	       sizeof(enum rpma_util_ibv_context_type));
	return 0;
}' >"$tmp/s.c"
	$cc -o "$tmp/s" "$tmp/s.c" && "$tmp/s"
}

# What both say by the same question, or a complaint: silence proves nothing.
same() { # QUESTION THEIRS OURS
	"$1" "$2" >"$tmp/said.theirs"
	"$1" "$3" >"$tmp/said.ours"
	[ -s "$tmp/said.theirs" ] || echo "no $1 found"
	diff "$tmp/said.theirs" "$tmp/said.ours"
}

symbols "$library" >"$tmp/ours"
symbols "$theirs" >"$tmp/theirs"
report 'abi.soname' "$(same soname "$theirs" "$library")"
report 'abi.symbols_are_a_subset' "$(comm -23 "$tmp/ours" "$tmp/theirs")"
report 'abi.flush_is_there' "$(grep -q '^rpma_flush@@LIBRPMA_1.0$' "$tmp/ours" || echo missing)"
report 'abi.functions' "$(same prototypes "$their_header" "$header")"
report 'abi.numbers' "$(same numbers "$their_header" "$header")"
report 'abi.structures' "$(same structures "$their_header" "$header")"
exit $failed
