#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Edge cases of every function, as edges/ records them: on ours, which must give
# expected.txt to the letter, and on Debian's librpma, from which ours may differ
# where differences.txt says so and why, and nowhere else. Both in this machine,
# as root, since librpma needs that. KTAP out, one result for each function.
#
# usage: edges_test.sh [SCENE...]	only these scenes, for a quick look
set -u

here=$(cd "$(dirname "$0")" && pwd)
edges=$here/edges
theirs=/usr/lib/x86_64-linux-gnu/librpma.so.0
release=$(uname -r)
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

echo 'TAP version 13'
if [ ! -c /dev/rpma ] || [ ! -e "$theirs" ]; then
	echo '1..0 # SKIP needs /dev/rpma and librpma0'
	exit 4
fi

# The texts, without what is for another kernel ("[7.3] line").
text() { # OPTION
	"$edges" "$1" | awk -v release="$release" '
		match($0, /^\[[0-9.]+\] /) {
			if (index(release, substr($0, 2, RLENGTH - 3)) != 1) next
			$0 = substr($0, RLENGTH + 1)
		}
		{ print }'
}
text -e >"$tmp/expected"
text -d >"$tmp/differences"

"$edges" "$@" >"$tmp/ours" 2>"$tmp/ours.err"
env -u LD_LIBRARY_PATH "$edges" "$@" >"$tmp/theirs" 2>"$tmp/theirs.err"
sed 's/^/# ours: /' "$tmp/ours.err"
sed 's/^/# librpma: /' "$tmp/theirs.err"
if [ $# -gt 0 ]; then
	# Only of the cases that ran.
	for text in expected differences; do
		awk -F ' -> ' 'FNR == NR { ran[$1]; next } $1 in ran || /^#/' \
			"$tmp/ours" "$tmp/$text" >"$tmp/part"
		mv "$tmp/part" "$tmp/$text"
	done
fi

# Functions that nobody called are failures too.
readelf -W --dyn-syms "$theirs" |
	awk '$7 != "UND" && $8 ~ /^rpma_.*@@/ { sub(/@@.*/, "", $8); print $8 }' |
	sort -u >"$tmp/functions"

awk -v dir="$tmp" '
	# The case is what stands before " -> ", its function the first word.
	function name(line) { sub(/ -> .*/, "", line); return line }
	function complain(line, text,	f) {
		f = name(line)
		sub(/ .*/, "", f)
		complaints[f] = complaints[f] "# " text "\n"
		bad[f]++
	}
	function load(file, into, order,	line, key, n) {
		while ((getline line < (dir "/" file)) > 0) {
			key = name(line)
			if (key in into) complain(line, file ": twice: " key)
			into[key] = line
			order[++n] = key
		}
		return n
	}
	function load_differences(	line, reason, key) {
		while ((getline line < (dir "/differences")) > 0) {
			if (line ~ /^#/) { reason = line; continue }
			if (line == "") { reason = ""; continue }
			key = name(line)
			if (reason == "") complain(line, "differs without a reason: " line)
			differs[key] = line
		}
	}
	function judge(key,	f) {
		f = key
		sub(/ .*/, "", f)
		cases[f]++
		if (!(key in expected))
			complain(key, "not in expected.txt: " ours[key])
		else if (ours[key] != expected[key])
			complain(key, "ours:     " ours[key] "\n# expected: " expected[key])
		if (!(key in theirs))
			complain(key, "librpma had no such case: " key)
		else if (key in differs && theirs[key] != differs[key])
			complain(key, "librpma: " theirs[key] "\n# listed:  " differs[key])
		else if (key in differs && theirs[key] == ours[key])
			complain(key, "listed, but there is no difference: " ours[key])
		else if (!(key in differs) && theirs[key] != ours[key])
			complain(key, "ours:    " ours[key] "\n# librpma: " theirs[key])
	}
	BEGIN {
		nr_expected = load("expected", expected, order_expected)
		nr_ours = load("ours", ours, order)
		load("theirs", theirs, order_theirs)
		load_differences()
		for (i = 1; i <= nr_ours; i++) judge(order[i])
		for (i = 1; i <= nr_expected; i++)
			if (!(order_expected[i] in ours))
				complain(order_expected[i], "did not run: " order_expected[i])
		for (key in differs)
			if (!(key in ours)) complain(key, "listed, but did not run: " key)
	}
	{ wanted[++n] = $1; known[$1] }
	END {
		for (f in bad) if (!(f in known)) { wanted[++n] = f; known[f] }
		print "1.." n
		for (i = 1; i <= n; i++) {
			f = wanted[i]
			if (!(f in cases) && !(f in bad)) complaints[f] = "# no case calls it\n"
			printf "%s", complaints[f]
			printf "%s %d %s\n", complaints[f] == "" ? "ok" : "not ok", i, f
			failed += complaints[f] != ""
		}
		printf "# %d cases, %d failing functions\n", nr_ours, failed
		exit failed > 0
	}' "$tmp/functions"
