#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The library's unit tests, which need no /dev/rpma, under ThreadSanitizer,
# AddressSanitizer with UBSan, helgrind and memcheck: no report, no failed
# test. Runs inside the Debian tree, on what it builds there. KTAP out.
set -u

here=$(cd "$(dirname "$0")" && pwd)
supp=$here/sanitize
build=$(cd "$here/../build" && pwd)
built=$build/sanitize/unit
# shellcheck source=sanitize/tools.sh
. "$supp/tools.sh"

echo 'TAP version 13'
echo '1..5'
make -s -C "$supp" BUILD="$build" unit >"$log" 2>&1
result 'unit tests build' $?
for tool in thread address helgrind memcheck; do
	status=0
	"$tool" "$built/$(made_for "$tool")/tests/unit_test" || status=$?
	all_passed "$status"
	result "$tool.unit_test" $?
done
exit "$failed"
