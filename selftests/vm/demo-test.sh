#!/usr/bin/env bash
# Proof that the demo says DURABLE when it is so and at no other time: a byte
# changed while the power is off, the power cut in the middle, and files that
# are none. KTAP; the demos' own words are in build/logs/demo-test.*.
set -euo pipefail
. "$(dirname -- "${BASH_SOURCE[0]}")/lib.sh"

run=$LOGS/demo-test.$(date +%H%M%S).$$
mkdir -p "$run"
head -c 3000001 /dev/urandom >"$run/file"
printf x >"$run/one byte"
: >"$run/empty"
truncate -s 1025M "$run/large"
trap 'rm -f "$run/large"' EXIT
count=0 failed=0

# try NAME STATUS PATTERN FAULT FILE
try() {
	local name=$1 wanted=$2 pattern=$3 status=0 log
	count=$((count + 1))
	log=$run/$count.log
	BREAK=$4 "$VM/demo.sh" "$5" >"$log" 2>&1 </dev/null || status=$?
	if [ "$status" = "$wanted" ] && grep -qE -- "$pattern" "$log"; then
		echo "ok $count $name"
	else
		failed=$((failed + 1))
		sed 's/^/# /' "$log"
		echo "not ok $count $name"
	fi
}

echo 'TAP version 13'
echo '1..8'
try 'no such file is said' 1 'there is no such file' '' "$run/none"
try 'a directory is said' 1 'not a regular file' '' "$run"
try 'an empty file is said' 1 'is empty' '' "$run/empty"
try 'a file too large is said' 1 'more than 1024 MiB' '' "$run/large"
try 'a whole file is durable' 0 'verdict +DURABLE' '' "$run/file"
try 'a file of one byte is durable' 0 'verdict +DURABLE' '' "$run/one byte"
try 'one changed byte fails' 1 'differ: (byte|char) 1500001' byte "$run/file"
try 'a power cut in the middle fails' 1 'after [0-9]+ durable bytes a ' early "$run/file"
if [ "$failed" = 0 ]; then rm -rf "$run"; fi
exit "$failed"
