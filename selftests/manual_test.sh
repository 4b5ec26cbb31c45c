#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The manual: no page that mandoc complains about, a page for each function
# once installed, and nothing in it that the headers, the library and the
# module do not say too. KTAP out.
#
# usage: manual_test.sh [TOP]
# shellcheck disable=SC2317	# functions are called by name
set -u

top=${1:-$(cd "$(dirname "$0")/.." && pwd)}
man=$top/userspace/man
header=$top/userspace/include/librpma.h
uapi=$top/uapi/linux/rpma.h

tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

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

# ---- what there is: the headers, without comments ---------------------------

plain() { ${CC:-cc} -fpreprocessed -dD -E -P "$1"; }

squeeze() { sed -E 's/[[:space:]]+/ /g; s/ ?([*(),]) ?/\1/g; s/^ //; s/ $//' | sort; }

plain "$header" | grep -v '^#' | tr '\n' ' ' | tr ';{}' '[\n*]' |
	grep -E '^ *(int|const char \*) ?rpma_[a-z0-9_]+\(' | squeeze >"$tmp/prototypes"
sed -E 's/.*[ *](rpma_[a-z0-9_]+)\(.*/\1/' "$tmp/prototypes" | sort >"$tmp/functions"

# "function error" for each error that the comment above a function names;
# what is common to all requests counts for each that has an op_context.
awk '
	/^\/\*/ { comment = "" }
	/^\/\*/, /\*\// { comment = comment " " $0; next }
	/^#define RPMA_F_COMPLETION_ON_ERROR/ { common = comment }
	/^(int|const char \*)/ { text = "" }
	/^(int|const char \*)/, /;/ {
		text = text $0
		if ($0 !~ /;/)
			next
		name = text
		sub(/\(.*/, "", name)
		sub(/.*[ *]/, "", name)
		if (text ~ /op_context/)
			comment = comment common
		n = split(comment, words, /[^A-Z_]+/)
		for (i = 1; i <= n; i++)
			if (words[i] ~ /^(UNKNOWN|NOSUPP|PROVIDER|NOMEM|INVAL|NO_COMPLETION|NO_EVENT|AGAIN|SHARED_CHANNEL|NOT_SHARED_CHNL)$/)
				print name, "RPMA_E_" words[i]
	}
' "$header" | sort -u >"$tmp/header_errors"

# ---- what the pages say ------------------------------------------------------

pages() { find "$man" -name '*.[347]' | sort; }

section() { sed -n "/^\\.Sh $1\$/,/^\\.Sh /p" "$2"; }

# "function page" of all pages.
for page in "$man"/*.3; do
	section NAME "$page" | sed -nE "s|^\\.Nm (rpma_[a-z0-9_]+).*|\\1 $page|p"
done | sort >"$tmp/names"

page_prototypes() {
	cat "$man"/*.3 | awk '
		{ gsub(/"/, "") }
		/^\.Ft / { type = substr($0, 5) }
		/^\.Fo / { text = type " " $2 "("; comma = "" }
		/^\.Fa / && text { text = text comma substr($0, 5); comma = "," }
		/^\.Fc/ { print text ")"; text = "" }' | squeeze
}

page_errors() {
	while read -r function page; do
		section ERRORS "$page" | grep -oE 'RPMA_E_[A-Z_]+' | sed "s/^/$function /"
	done <"$tmp/names" | sort -u
}

unbold() { sed 's/.\x08//g'; }

lint() { pages | while read -r page; do mandoc -T lint -W warning "$page"; done; }

shown() {
	pages | while read -r page; do
		mman -l "$page" 2>&1 | unbold | grep -q '^NAME' || echo "$page is not shown"
	done
}

# By the name of each function, as make install leaves it.
found() {
	make -s -C "$top/userspace" install-man DESTDIR="$tmp/staging" prefix=/usr 2>&1
	while read -r name; do
		mman -M "$tmp/staging/usr/share/man" "$name" 2>&1 | unbold |
			sed -n '/^NAME/,/^LIB/p' | grep -qw "$name" || echo "no page for $name"
	done <"$tmp/functions"
	mman -M "$tmp/staging/usr/share/man" librpma 2>&1 | unbold | grep -q RPMA_DEVICE || echo 'no librpma(7)'
	mman -M "$tmp/staging/usr/share/man" 4 rpma 2>&1 | unbold | grep -q max_peers || echo 'no rpma(4)'
}

# A page of ours; of the tree; or, where the manual of libc is not installed,
# what libc has.
exists() { # NAME SECTION
	case $1 in
	rpma_*) grep -qx "$1 $man/.*\\.$2" "$tmp/names" ;;
	rpma | librpma) [ -e "$man/$1.$2" ] ;;
	epoll) [ "$2" = 7 ] ;;
	*)
		compgen -G "/usr/share/man/man$2/$1.$2*" >/dev/null ||
			{ [[ $2 = [23] ]] && grep -qx "$1" "$tmp/libc"; }
		;;
	esac
}

references() {
	nm -D --defined-only "$(${CC:-cc} -print-file-name=libc.so.6)" |
		sed -E 's/.* ([a-z0-9_]+)@.*/\1/' >"$tmp/libc"
	pages | while read -r page; do
		grep -oE '\bXr [a-z0-9_.]+ [0-9]' "$page" | sort -u | while read -r _ name section; do
			exists "$name" "$section" || echo "${page##*/}: no $name($section)"
		done
	done
}

# Each constant and function that a page names exists.
invented() {
	echo '#include <infiniband/verbs.h>' | ${CC:-cc} -E -P -dD - >"$tmp/verbs"
	{ plain "$header"; plain "$uapi"; cat "$tmp/verbs"; } |
		grep -oE '\b(RPMA|IBV)_[A-Z0-9_]+' | sort -u >"$tmp/constants"
	grep -ohE '"RPMA_[A-Z_]+"' "$top"/userspace/src/*.c | tr -d '"' >>"$tmp/constants"
	grep -hv '^\.Dt ' "$man"/* | grep -oE '\b(RPMA|IBV)_[A-Z0-9_]+' | sort -u |
		grep -vxFf "$tmp/constants"
	sed -nE 's/^\.(Fn|Fo) (rpma_[a-z0-9_]+).*/\2/p' "$man"/* | sort -u |
		comm -23 - "$tmp/functions"
}

# missing FILE: words of the input that FILE has not.
missing() {
	while read -r word; do
		grep -qw -- "$word" "$1" || echo "${1##*/} does not have $word"
	done
}

environment() {
	grep -ohE '"RPMA_[A-Z_]+"' "$top"/userspace/src/*.c | tr -d '"' | sort -u >"$tmp/env"
	[ -s "$tmp/env" ] || echo 'the library looks at no variable'
	missing "$man/librpma.7" <"$tmp/env"
	missing "$man/rpma.4" <"$tmp/env"
}

parameters() {
	sed -nE 's/^module_param(_named)?\(([a-z_]+),.*/\2/p' "$top"/kmod/*.c >"$tmp/parameters"
	[ -s "$tmp/parameters" ] || echo 'the module has no parameter'
	missing "$man/rpma.4" <"$tmp/parameters"
	missing "$top/README.md" <"$tmp/parameters"
	sed -nE 's/^\.It Cm (max_[a-z_]+|allow_[a-z_]+).*/\1/p' "$man/rpma.4" |
		grep -vxFf "$tmp/parameters" | sed 's/^/rpma.4 invents /'
}

echo 'TAP version 13'
echo '1..13'
report 'manual.mandoc_is_content' "$(lint 2>&1)"
report 'manual.every_page_is_shown' "$(shown)"
report 'manual.header_has_84_functions' "$(
	n=$(wc -l <"$tmp/functions")
	[ "$n" -eq 84 ] || echo "$n")"
report 'manual.every_function_is_found' "$(found)"
report 'manual.every_function_is_documented_once' "$(
	cut -d' ' -f1 "$tmp/names" | diff "$tmp/functions" - 2>&1)"
report 'manual.prototypes_are_those_of_the_header' "$(
	page_prototypes | diff "$tmp/prototypes" - 2>&1)"
report 'manual.header_names_errors' "$(
	n=$(cut -d' ' -f1 "$tmp/header_errors" | sort -u | wc -l)
	[ "$n" -ge 80 ] || echo "errors of $n functions only")"
report 'manual.errors_of_the_header_are_explained' "$(
	page_errors | comm -23 "$tmp/header_errors" - | sed 's/$/ is not under ERRORS/')"
report 'manual.references_lead_somewhere' "$(references)"
report 'manual.nothing_is_invented' "$(invented)"
report 'manual.every_variable_is_documented' "$(environment)"
report 'manual.every_parameter_is_documented' "$(parameters)"
report 'manual.every_command_is_documented' "$(
	sed -nE 's/^#define (RPMA_IOC_[A-Z0-9_]+) .*/\1/p' "$uapi" | grep -v '_TYPE$' |
		missing "$man/rpma.4")"
exit $failed
