#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# librpma.so.0 and librpma.h against Debian's librpma 1.3.0, where that is
# installed: what a program finds in one it finds in the other. All that is
# compared is asked of the two libraries and the two headers, by the compiler;
# nothing is listed here. KTAP out.
#
# usage: abi_test.sh [LIBRARY [HEADER]]
# shellcheck disable=SC2317	# functions are called by name
set -u

here=$(cd "$(dirname "$0")" && pwd)
library=${1:-$here/../build/userspace/librpma.so.0}
header=$(realpath "${2:-$here/../userspace/include/librpma.h}")
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
echo '1..9'

nr=0 failed=0
report() { # NAME COMPLAINTS
	nr=$((nr + 1))
	if [ -z "$2" ]; then
		echo "ok $nr $1"
	else
		printf '%s\n' "$2" | head -n 40 | sed 's/^/# /'
		echo "not ok $nr $1"
		failed=1
	fi
}

# What both say by the same question, or a complaint: silence proves nothing.
same() { # QUESTION THEIRS OURS
	"$1" "$2" >"$tmp/said.theirs"
	"$1" "$3" >"$tmp/said.ours"
	[ -s "$tmp/said.theirs" ] || echo "no $1 found"
	diff "$tmp/said.theirs" "$tmp/said.ours"
}

# ---- libraries ----------------------------------------------------------------

soname() { readelf -d "$1" | sed -n 's/.*(SONAME).*\[\(.*\)\]/\1/p'; }

# Type, name and version: "T rpma_flush@@LIBRPMA_1.0", "A LIBRPMA_1.0".
symbols() { nm -D --defined-only "$1" | cut -d' ' -f2- | sort; }

versions() { readelf -W -V "$1" | sed -n 's/.*Rev: \([0-9]*\) .*Name: \(.*\)$/\1 \2/p'; }

# ---- headers -------------------------------------------------------------------

header_alone() { printf '#include "%s"\n' "$1"; }

# Each function as the compiler understood it.
prototypes() {
	header_alone "$1" >"$tmp/p.c"
	$cc -aux-info "$tmp/p.out" -fsyntax-only "$tmp/p.c" || echo 'does not compile'
	sed -n 's|^/\* .* \*/ extern \(.* rpma_.*\)|\1|p' "$tmp/p.out" | sort -u
}

# Pointers of the types that HEADER gives to functions take those of OTHER.
pointers_fit() { # HEADER OTHER
	{
		header_alone "$2"
		prototypes "$1" | sed -nE 's/(.* \*?)(rpma_[a-z0-9_]+) (\(.*\));/\1(*p_\2) \3 = \2;/p'
	} >"$tmp/pointers.c"
	[ "$(wc -l <"$tmp/pointers.c")" -gt 1 ] || echo 'no function'
	$cc -Wall -Wextra -Werror -fsyntax-only "$tmp/pointers.c" 2>&1
}

# "name value bytes" of each macro.
macros() {
	header_alone "$1" | $cc -dM -E - |
		sed -nE 's/^#define ((LIB)?RPMA_[A-Z0-9_]+) .+/\1/p' | sort >"$tmp/names"
	{
		header_alone "$1"
		echo '#include <stdio.h>'
		echo 'int main(void) {'
		while read -r name; do
			printf 'printf("%s %%ld %%zu\\n", (long)(%s), sizeof(%s));\n' \
				"$name" "$name" "$name"
		done <"$tmp/names"
		echo 'return 0; }'
	} >"$tmp/macros.c"
	$cc -o "$tmp/macros" "$tmp/macros.c" && "$tmp/macros"
}

# Structures with offsets, enumerations with values, types of functions: what
# the debugger is told of each type of ours.
types() {
	header_alone "$1" >"$tmp/t.c"
	$cc -g -fno-eliminate-unused-debug-types -c -o "$tmp/t.o" "$tmp/t.c" || return
	readelf --debug-dump=info "$tmp/t.o" | awk '
	function named(id,	s, i, n, list) {
		if (id == "")
			return "void"
		if (tag[id] ~ /pointer_type/)
			return named(type[id]) " *"
		if (tag[id] ~ /const_type/)
			return "const " named(type[id])
		if (tag[id] ~ /(structure|enumeration|union)_type/)
			return tag[id] " " name[id]
		if (tag[id] !~ /subroutine_type/)
			return name[id]
		s = named(type[id]) " ("
		n = split(children[id], list, " ")
		for (i = 1; i <= n; i++)
			s = s (tag[list[i]] ~ /unspecified/ ? "..." : named(type[list[i]])) ", "
		return s ")"
	}
	function show(id,	i, n, list, child) {
		print tag[id], name[id], size[id], declaration[id], tag[id] ~ /typedef/ ? named(type[id]) : ""
		n = split(children[id], list, " ")
		for (i = 1; i <= n; i++) {
			child = list[i]
			print "  " name[child], value[child] offset[child], type[child] ? named(type[child]) : ""
		}
	}
	/^ <[0-9a-f]+><[0-9a-f]+>: Abbrev Number: [1-9]/ {
		split($1, part, /[<>]+/)
		depth = part[2]
		id = part[3]
		tag[id] = $NF
		gsub(/[()]|DW_TAG_/, "", tag[id])
		at[depth] = id
		if (depth > 1)
			children[at[depth - 1]] = children[at[depth - 1]] " " id
		else
			order[++count] = id
		next
	}
	$2 == "DW_AT_name" { sub(/.*: /, ""); sub(/ +$/, ""); name[id] = $0 }
	$2 == "DW_AT_type" { sub(/.*<0x/, ""); sub(/>.*/, ""); type[id] = $0 }
	$2 == "DW_AT_byte_size" { size[id] = $NF }
	$2 ~ /^DW_AT_data_member_location/ { offset[id] = $NF }
	$2 == "DW_AT_const_value" { value[id] = $NF }
	$2 == "DW_AT_declaration" { declaration[id] = "incomplete" }
	END {
		for (i = 1; i <= count; i++) {
			split(children[order[i]], list, " ")
			if (name[order[i]] ~ /^rpma_/ || name[list[1]] ~ /^RPMA_/)
				show(order[i])
		}
	}' | awk '/^[^ ]/ { key = $1 " " $2 } { print key "\t" $0 }' | sort -s -t '	' -k1,1
}

# What a program gets besides without asking for it.
included() { header_alone "$1" | $cc -M -E - | grep -oE '/usr/[^ ]+' | grep -v librpma | sort -u; }

# Languages and warnings under which a program that includes only this builds.
dialects() {
	local dialect
	for dialect in c99 gnu99 c11 gnu11 c17 gnu17 gnu2x; do
		header_alone "$1" | $cc -std="$dialect" -Wall -Wextra -Wstrict-prototypes -Wc++-compat \
			-Werror -x c -fsyntax-only - 2>/dev/null && echo "$dialect"
	done
}

report 'abi.soname' "$(same soname "$theirs" "$library")"
report 'abi.symbols' "$(same symbols "$theirs" "$library")"
report 'abi.versions' "$(same versions "$theirs" "$library")"
report 'abi.functions' "$(same prototypes "$their_header" "$header")"
report 'abi.pointers_to_functions' "$(
	pointers_fit "$their_header" "$header"
	pointers_fit "$header" "$their_header")"
report 'abi.macros' "$(same macros "$their_header" "$header")"
report 'abi.types' "$(same types "$their_header" "$header")"
report 'abi.included_headers' "$(same included "$their_header" "$header" | grep '^[<n]')"
report 'abi.dialects' "$(same dialects "$their_header" "$header" | grep '^[<n]')"
exit $failed
