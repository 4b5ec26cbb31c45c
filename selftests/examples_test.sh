#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The pairs of userspace/examples, server and client on one machine: what both
# print, to the letter, their exit status, and what the server's file holds.
# KTAP out.
#
# usage: examples_test.sh [DIRECTORY [SIDES...]]
#
# DIRECTORY has the programs. SIDES are pairs of libraries, the server's and
# the client's: "ours:ours", or with "theirs" Debian's librpma.
# shellcheck disable=SC2317	# functions are called by name
set -u

bin=${1:-/rpma/bin}
shift || true
sides=("${@:-ours:ours}")
addr=${RPMA_TEST_ADDR4:?}
port=7500

# Files stand for persistent memory: the user's word for it, to our library.
export RPMA_PERSISTENT_BY_READ=1

tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

# ---- running -------------------------------------------------------------------

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

# as_side SIDE COMMAND...: with our library, or with Debian's.
as_side() {
	if [ "$1" = theirs ]; then
		env -u LD_LIBRARY_PATH "${@:2}"
	else
		"${@:2}"
	fi
}

# on SIDE PROGRAM ARGS...
on() { as_side "$1" timeout -k 2 60 "$bin/$2" "$addr" "$port" "${@:3}"; }

# server PROGRAM ARGS...: in the background, until it says that it is ready.
server() {
	port=$((port + 1))
	on "$server_side" "$@" >"$tmp/server" 2>&1 &
	server=$!
	while kill -0 "$server" 2>/dev/null && ! grep -q '^ready' "$tmp/server"; do
		sleep 0.05
	done
}

client() { # PROGRAM ARGS...
	local status=0
	on "$client_side" "$@" >"$tmp/client" 2>&1 || status=$?
	[ "$status" = 0 ] || echo "exit status $status" >>"$tmp/client"
}

# clients_at_once PROGRAM:ARGUMENT...: at a time, client.1, client.2 and so on.
clients_at_once() {
	local each pids=() i=0
	for each; do
		i=$((i + 1))
		# shellcheck disable=SC2086	# arguments are words
		on "$client_side" ${each//:/ } >"$tmp/client.$i" 2>&1 &
		pids+=($!)
	done
	for i in "${pids[@]}"; do
		wait "$i" || echo "a client's exit status is $?"
	done
}

# says server|client TEXT: no more and no less, after the "ready" of a server.
says() {
	diff <(printf '%s' "${2:+$2
}") <(grep -av '^ready' "$tmp/$1") |
		sed -n "s/^</$1 should say:/p; s/^>/$1 says:/p"
}

server_ends() {
	local status=0
	wait "$server" || status=$?
	[ "$status" = 0 ] || echo "the server's exit status is $status"
}

# The file that a server is given, of 4096 zeros.
new_file() {
	rm -f "$tmp/pmem"
	truncate -s 4096 "$tmp/pmem"
}

# file_holds TEXT [OFFSET]
file_holds() {
	local text
	printf '%b' "$1" >"$tmp/wanted"
	tail -c +$((${2:-0} + 1)) "$tmp/pmem" | head -c "$(stat -c %s "$tmp/wanted")" >"$tmp/found"
	text=$(cmp "$tmp/wanted" "$tmp/found" 2>&1) || echo "the file does not hold $1: $text"
}

# ---- the pairs -----------------------------------------------------------------

connection() {
	server connection_server
	client connection_client 'Good morning'
	server_ends
	says server 'a client says: Good morning
connected
the client has hung up'
	says client 'the server answers: You said: Good morning'
}

connection_rejected() {
	server connection_server
	client connection_client ''
	server_ends
	says server 'rejected a client that says nothing'
	says client 'Connection rejected
exit status 1'
}

read_to_volatile() {
	server read_server 'What everybody may know'
	client read_client
	server_ends
	says server ''
	says client 'read 24 bytes: What everybody may know'
}

read_to_persistent() {
	new_file
	server read_to_pmem_server "$tmp/pmem"
	client read_to_pmem_client 'Keep this for me'
	server_ends
	says server 'read 17 bytes: Keep this for me'
	says client 'the server has hung up'
	file_holds 'Keep this for me\0'
}

write_to_persistent() {
	new_file
	server write_to_pmem_server "$tmp/pmem"
	client write_to_pmem_client 'Keep this for me'
	server_ends
	says server 'the client wrote: Keep this for me'
	says client 'wrote 17 bytes, read back: Keep thi'
	file_holds 'Keep this for me\0'
}

flush_for_visibility() {
	server write_flush_server
	client write_flush_client 'Seen by all'
	server_ends
	says server 'the client wrote: Seen by all'
	says client '12 bytes are visible'
}

flush_to_persistent() {
	new_file
	server write_flush_server "$tmp/pmem"
	client write_flush_client 'Here to stay'
	server_ends
	says server 'the client wrote: Here to stay'
	says client '13 bytes are durable'
	file_holds 'Here to stay\0'
}

many_clients() {
	server many_clients_server 3
	clients_at_once many_clients_client:{Alice,Bob,Carol}
	server_ends
	sort -o "$tmp/server" "$tmp/server"
	says server 'hello, Alice
hello, Bob
hello, Carol'
	says client.1 'goodbye, Alice'
	says client.2 'goodbye, Bob'
	says client.3 'goodbye, Carol'
}

many_clients_rejects() {
	server many_clients_server 1
	client connection_client 'I have no memory'
	says client 'Connection rejected
exit status 1'
	client many_clients_client Dave
	says client 'goodbye, Dave'
	server_ends
	says server 'rejected a client
hello, Dave'
}

atomic_log() { # FILE...
	server atomic_log_server "$@"
	client atomic_log_client first second
	server_ends
	says server '13 bytes in the log
first
second'
	says client 'appended first
appended second'
}

atomic_log_persistent() {
	new_file
	atomic_log "$tmp/pmem"
	file_holds 'RPMALOG1\x0d\0\0\0\0\0\0\0first\nsecond\n\0'
	server atomic_log_server "$tmp/pmem"
	client atomic_log_client third
	server_ends
	says server '19 bytes in the log
first
second
third'
	file_holds 'RPMALOG1\x13\0\0\0\0\0\0\0first\nsecond\nthird\n\0'
}

# Clients and servers of one kind understand those of the others.
ping_pong() { # SERVER CLIENT
	server "$1"
	client "$2" 10 3
	server_ends
	says server '10 -> 11
11 -> 12
12 -> 13
goodbye'
	says client '11
12
13'
}

srq() {
	server srq_server 2
	clients_at_once messages_client:10:2 messages_client:100:2
	server_ends
	sort -no "$tmp/server" "$tmp/server"
	says server '10 -> 11
11 -> 12
100 -> 101
101 -> 102'
	says client.1 '11
12'
	says client.2 '101
102'
}

# More than there are receives, one behind the other on one queue.
srq_crowd() {
	local i
	server srq_server 6
	clients_at_once rcq_client:{1,2,3,4,5,6}:4
	server_ends
	for i in 1 2 3 4 5 6; do
		says "client.$i" "$(seq $((i + 1)) $((i + 4)))"
	done
}

gpspm() {
	new_file
	server gpspm_server "$tmp/pmem"
	client gpspm_client 'First line' 'Second line'
	server_ends
	says server 'durable: 11 bytes at 0
durable: 12 bytes at 11'
	says client '11 bytes are durable
12 bytes are durable'
	file_holds 'First line\nSecond line\n\0'
}

immediate() {
	server imm_server
	client imm_client 1234 Hello
	server_ends
	says server 'message of 5 bytes with immediate 1234: Hello
write of 5 bytes with immediate 1235: Hello'
	says client 'sent and wrote 5 bytes'
}

# Numbers with their top bit, and no bytes at all.
immediate_empty() {
	server imm_server
	client imm_client 0xfedcba98
	server_ends
	says server 'message of 0 bytes with immediate 4275878552: 
write of 0 bytes with immediate 4275878553: '
	says client 'sent and wrote 0 bytes'
}

# ---- all of them -----------------------------------------------------------------

# library_is SIDE PATTERN: what the dynamic linker finds for a program.
library_is() {
	local found
	found=$(as_side "$1" env LD_TRACE_LOADED_OBJECTS=1 "$bin/read_client" | grep librpma)
	# shellcheck disable=SC2053	# a pattern
	[[ $found = $2 ]] || echo "$1 is $found"
}

names=(connection connection_rejected read_to_volatile read_to_persistent write_to_persistent
	flush_for_visibility many_clients many_clients_rejects atomic_log srq gpspm immediate
	immediate_empty
	'ping_pong messages_server messages_client'
	'ping_pong rcq_server rcq_client'
	'ping_pong shared_channel_server shared_channel_client')
# A file is no persistent memory to their library.
ours_only=(flush_to_persistent atomic_log_persistent
	'ping_pong messages_server rcq_client'
	'ping_pong rcq_server shared_channel_client'
	'ping_pong shared_channel_server messages_client'
	srq_crowd)

run_all() { # SIDES NAME...
	local pair=$1 name
	shift
	server_side=${pair%:*} client_side=${pair#*:}
	for name; do
		# shellcheck disable=SC2086	# the name and its arguments
		report "examples.$pair.${name// /.}" "$($name 2>&1)"
		port=$((port + 5))
	done
}

echo 'TAP version 13'
mixed=''
plan=0
for pair in "${sides[@]}"; do
	plan=$((plan + ${#names[@]}))
	if [ "$pair" = ours:ours ]; then plan=$((plan + ${#ours_only[@]})); else mixed=yes; fi
done
echo "1..$((plan + ${mixed:+1} + 1))"

report examples.ours_is_ours "$(library_is ours '*=> /rpma/lib/librpma.so.0*')"
if [ -n "$mixed" ]; then
	report examples.theirs_is_theirs "$(library_is theirs '*=> *lib/*-linux-gnu/librpma.so.0*')"
fi
for pair in "${sides[@]}"; do
	run_all "$pair" "${names[@]}"
	if [ "$pair" = ours:ours ]; then run_all "$pair" "${ours_only[@]}"; fi
done
exit $failed
