#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The shape of kmod/: includes point down, each outside API has one door, the
# word flush stays where it belongs. KTAP out; with -d the graph as DOT.
#
# usage: layers_test.sh [-d] [KMOD]
set -u

dot=
if [ "${1-}" = -d ]; then dot=1; shift; fi
cd "${1:-$(dirname "$0")/../kmod}" || exit 1

# From the bottom up; names on one line may not include each other.
layers='
compat
flush ioctl trace
ctx
device
peer
mr ring channel
cq
wr
queue
srq
qp
cm uring
watch
conn
ep
main
'

# What only one file may call.
doors='
ib_post_send qp
ib_post_recv qp
ib_post_srq_recv srq
ib_create_srq srq
ib_destroy_srq srq
ib_create_cq cq
ib_destroy_cq cq
ib_poll_cq cq
ib_req_notify_cq cq
remap_vmalloc_range ring
ib_reg_user_mr mr
ib_dereg_mr_user mr
ib_alloc_pd peer
ib_dealloc_pd peer
ib_register_client device
rdma_create_id cm
rdma_destroy_id cm
rdma_bind_addr cm
rdma_resolve_addr cm
rdma_resolve_route cm
rdma_listen cm
rdma_connect cm
rdma_accept cm
rdma_reject cm
rdma_disconnect cm
rdma_create_qp cm
rdma_destroy_qp cm
xa_alloc ctx
misc_register main
io_uring_cmd_done uring
'

# Method, op line, access line, choice, the translation of a status; and the
# commands and answers that are named after it.
flush_files='^(compat|flush|wr|mr|peer|queue|qp|conn|cm|device|main|Kbuild)(\.[ch])?$'

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

layer_of() {
	printf '%s' "$layers" | awk -v name="$1" '{
		for (i = 1; i <= NF; i++)
			if ($i == name) print NR
	}'
}

# "from to" for each include of one of our headers by another of our files.
edges() {
	grep -oE '^#include "[a-z_]+\.h"' ./*.c ./*.h |
		sed -E 's|^\./([a-z_]+)\.[ch]:#include "([a-z_]+)\.h"|\1 \2|' |
		awk '$1 != $2' | sort -u
}

if [ -n "$dot" ]; then
	echo 'digraph kmod {'
	edges | sed -E 's/(.*) (.*)/\t\1 -> \2;/'
	echo '}'
	exit 0
fi

includes_point_down() {
	edges | while read -r from to; do
		below=$(layer_of "$to") above=$(layer_of "$from")
		if [ -z "$below" ] || [ -z "$above" ] || [ "$below" -ge "$above" ]; then
			echo "$from includes $to"
		fi
	done
}

every_file_has_a_layer() {
	for file in *.c *.h; do
		[ -n "$(layer_of "${file%.*}")" ] || echo "$file"
	done
}

each_api_has_one_door() {
	printf '%s' "$doors" | while read -r api door; do
		[ -n "$api" ] || continue
		grep -E "(^|[^a-zA-Z_])$api\(" ./*.c | grep -vE '^[^:]*:\s*/?\*' | cut -d: -f1 |
			sort -u | while read -r file; do
				[ "$file" = "./$door.c" ] || echo "$api is called in $file"
			done
	done
}

# The build file is the layer diagram.
objects_stand_in_order() {
	last=0
	# shellcheck disable=SC2013	# one word each
	for object in $(grep -oE '[a-z_]+\.o' Kbuild | grep -v '^rpma\.o$'); do
		layer=$(layer_of "${object%.o}")
		[ "${layer:-0}" -ge "$last" ] || echo "$object stands too low"
		last=${layer:-0}
	done
}

words_are_reserved() {
	grep -il flush ./*.c ./*.h Kbuild | sed 's|^\./||' | grep -vE "$flush_files"
}

version_checks() {
	grep -nE 'LINUX_VERSION_CODE|KERNEL_VERSION' ./*.c ./*.h | grep -v '^\./compat\.h:'
}

# A requested flush travels by the method table only.
raw_flushes() {
	grep -nE 'IB_WR_(FLUSH|ATOMIC_WRITE)' ./*.c ./*.h | grep -vE '^\./flush\.[ch]:'
}

echo 'TAP version 13'
echo '1..7'
report 'layers.includes_point_down' "$(includes_point_down)"
report 'layers.every_file_has_a_layer' "$(every_file_has_a_layer)"
report 'layers.each_api_has_one_door' "$(each_api_has_one_door)"
report 'layers.objects_stand_in_order' "$(objects_stand_in_order)"
report 'layers.flush_is_said_where_it_belongs' "$(words_are_reserved)"
report 'layers.no_version_checks' "$(version_checks)"
report 'layers.native_flush_only_by_the_table' "$(raw_flushes)"
exit $failed
