#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Every program of userspace/examples is a program for librpma: it compiles
# without a warning against the header of Debian's librpma-dev, where that is
# installed, and links with its library. And each is run by some test. KTAP out.
#
# usage: examples_build_test.sh
set -u

here=$(cd "$(dirname "$0")" && pwd)
examples=$here/../userspace/examples
cc=${CC:-cc}

tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

echo 'TAP version 13'
if [ ! -e /usr/include/librpma.h ]; then
	echo '1..0 # SKIP librpma-dev is not installed here'
	exit 4
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

compiles() { # FILE
	$cc -std=gnu11 -O2 -Wall -Wextra -Werror -o "$tmp/program" "$1" -lrpma 2>&1 ||
		echo 'does not compile'
}

# By a pair of examples_test.sh or, with persistent memory, by the demo.
is_run() { # PROGRAM
	grep -qE "\b(server|client|clients_at_once|ping_pong( [a-z_]+)?) $1\b|/rpma/bin/$1\b" \
		"$here/examples_test.sh" "$here"/vm/demo.*.sh || echo 'no test runs it'
}

programs=("$examples"/*.c)
echo "1..$((2 * ${#programs[@]}))"
for file in "${programs[@]}"; do
	name=$(basename "$file" .c)
	report "examples.$name.compiles" "$(compiles "$file")"
	report "examples.$name.is_run" "$(is_run "$name")"
done
exit $failed
