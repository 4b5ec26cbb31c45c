#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The library under ThreadSanitizer, AddressSanitizer with UBSan, helgrind and
# memcheck, against the real /dev/rpma: no report of any of them, and no test
# of the program may fail. Before, each tool finds what is planted. What the
# tools slow down too much is run in part. KTAP out.
set -u

here=$(cd "$(dirname "$0")" && pwd)
built=$(cd "$here/../sanitize" && pwd)
supp=$built	# in the machine all of it is in one place
# shellcheck source=sanitize/tools.sh
. "$built/tools.sh"

# finds TOOL FAULT PATTERN [FAULT PATTERN]...: it reports all, and fails.
finds() {
	local tool=$1 faults=() patterns=() pattern status=0
	shift
	while [ $# -gt 0 ]; do faults+=("$1") patterns+=("$2"); shift 2; done
	"$tool" "$built/$(made_for "$tool")/planted_test" "${faults[@]}" || status=$?
	for pattern in "${patterns[@]}"; do
		if ! grep -qE "$pattern" "$log"; then status=0; fi
	done
	[ "$status" != 0 ]
	result "$tool.finds_planted: ${faults[*]}" $?
}

# quiet TOOL PROGRAM [TEST...]
quiet() {
	local tool=$1 program=$2 test filter=() status=0
	shift 2
	for test; do filter+=(-t "$test"); done
	"$tool" "$built/$(made_for "$tool")/$program" "${filter[@]}" || status=$?
	all_passed "$status"
	result "$tool.$program" $?
}

echo 'TAP version 13'
echo '1..20'
finds thread race 'WARNING: ThreadSanitizer: data race'
finds address leak 'LeakSanitizer: detected memory leaks'
finds address overflow 'AddressSanitizer: heap-buffer-overflow'
finds address shift 'runtime error: shift exponent'
finds helgrind race 'Possible data race'
finds memcheck leak '1,234 bytes in 1 blocks are definitely lost' \
	overflow 'Invalid write of size' unset 'Uninitialised byte\(s\) found'

quiet thread librpma_test
quiet thread librpma_conn_test
quiet thread librpma_srq_test
quiet thread librpma_threads_test
quiet thread librpma_threads_conn_test
quiet address librpma_test
quiet address librpma_conn_test
quiet address librpma_srq_test
export RPMA_TEST_DIVIDE=4
quiet address librpma_threads_test
quiet address librpma_threads_conn_test
export RPMA_TEST_DIVIDE=10
quiet helgrind librpma_threads_test write_flush_read_on_one_connection
quiet helgrind librpma_threads_conn_test one_device_is_one_context connect_reject_and_forget
quiet memcheck librpma_test read_back_what_was_written messages_and_immediates
quiet memcheck librpma_threads_conn_test connect_reject_and_forget
exit "$failed"
