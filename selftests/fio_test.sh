#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The librpma engines of fio 3.33, built unmodified: servers and clients on our
# library, and each of them with the other end on Debian's librpma 1.3.0. What
# fio says is compared with what was asked, and the server's memory is read
# there, past librpma, and checked by fio as a file. KTAP out.
#
# usage: fio_test.sh [JOB...]	as root in a test machine, with guest.sh
# shellcheck disable=SC2317	# functions are called by name
set -u

# A job on each line: engine, the server's memory and options, the client's
# options, what the client verifies (verify_options), KiB that it reads and
# writes, block size for reading the server's memory as a file. A server of
# messages has room for twice those of its client: fio 3.33 writes past the end of
# its queue when that is full.
jobs='
write        | apm   | dram | | rw=write bs=4k iodepth=16 iodepth_batch=4 | own   | 1024 1024 | 4k
randwrite    | apm   | dram | | rw=randwrite bs=2k iodepth=64             | own   | 1024 1024 | 2k
read         | apm   | dram | | rw=read bs=16k iodepth=8                  | fresh | 1024 0 |
randread     | apm   | dram | | rw=randread bs=4k iodepth=32              | fresh | 1024 0 |
randmessages | gpspm | dram | iodepth=64 | rw=randwrite bs=4k iodepth=32 | -     | 0 1024 | 4k
pmem | apm | pmem | direct_write_to_pmem=1 | rw=write bs=4k iodepth=16 | own | 2048 2048 | 4k
pmem_read | apm | pmem | direct_write_to_pmem=1 | rw=randread bs=4k iodepth=16 | own | 2048 0 |
'
jobs_of_ours='
sync        | apm   | dram | | rw=write bs=64k sync=1                        | own | 1024 1024 | 64k
deep        | apm   | dram | | rw=randwrite bs=512 iodepth=2048              | own | 1024 1024 | 512
two_clients | apm   | dram | numjobs=2 | rw=write bs=8k iodepth=4 numjobs=2  | own | 2048 2048 |
waiting | gpspm | dram | iodepth=8 busy_wait_polling=0 | rw=write bs=4k iodepth=4 | - | 0 1024 | 4k
messages    | gpspm | pmem | iodepth=16 | rw=randwrite bs=8k iodepth=8       | -   | 0 2048 | 8k
'
declare -A size=([dram]=$((1 << 20)) [pmem]=$((2 << 20)))

tmp=$(mktemp -d)
chmod 755 "$tmp"
port=7300 nr=0 failed=0
trap 'stop; chmod 666 /dev/infiniband/*; rm -rf "$tmp"' EXIT

# ours COMMAND...: on our library, as one who has /dev/rpma and no verbs device.
ours() { as_tester "$@"; }

real() { env -u LD_LIBRARY_PATH "$@"; }

# fio_in LIBRARY DIRECTORY VARIABLE=VALUE OPTION...: fio makes files where it is.
fio_in() {
	local library=$1 dir=$tmp/$2 variable=$3
	shift 3
	[ -d "$dir" ] || mkdir -m 777 "$dir"
	# shellcheck disable=SC2016	# expanded by the shell that becomes fio
	"$library" env "$variable" sh -c 'cd "$0"; echo $$ >pid; exec fio "$@"' "$dir" \
		--output-format=terse "${@/#/--}" >"$dir/log" 2>&1 </dev/null
}

# On persistent memory the first two MiB are left to the buffers of a client, as
# if there were a job before; fio gives the second job the next port.
server() { # LIBRARY ENGINE MEMORY OPTION...
	local library=$1 engine=$2 memory=$3 first=() filename=malloc at=$port
	shift 3
	if [ "$memory" = pmem ]; then
		first=(name=nothing ioengine=null size=4k)
		filename=/dev/dax0.0 at=$((port - 1))
	fi
	if [ "$engine" = gpspm ]; then set -- "$@" time_based runtime=1h; fi
	# glibc fills fresh memory with 0x5a.
	fio_in "$library" server MALLOC_PERTURB_=165 "${first[@]}" name=server \
		ioengine="librpma_${engine}_server" thread create_serialize=0 \
		serverip="$ADDR4" port="$at" filename="$filename" size="${size[$memory]}" "$@"
}

# Blocks that name their offset, and their sum; or what fresh memory holds.
# Clients of messages write such blocks but cannot read.
verify_options() {
	case $1 in
	own) echo verify=crc32c ;;
	fresh) echo verify=pattern verify_pattern=0x5a ;;
	-) echo verify=crc32c do_verify=0 ;;
	esac
}

# The buffers of fio's clients are registered for PERSISTENT flush wherever they
# are. In DRAM, a device that knows FLUSH refuses that: we can be told that it is
# not meant, Debian's librpma cannot and gets persistent memory.
client() { # LIBRARY ENGINE OPTION...
	local library=$1 engine=$2
	shift 2
	if [ "$library" = real ]; then
		set -- "$@" iomem=mmaphuge:/dev/dax0.0 hugepage-size=2m
	fi
	fio_in "$library" client "RPMA_PERSISTENT_BY_READ=${declared-1}" name=client \
		ioengine="librpma_${engine}_client" thread create_serialize=0 \
		serverip="$ADDR4" port="$port" "$@"
}

stop() {
	local file
	for file in "$tmp"/*/pid; do
		if [ -e "$file" ]; then kill "$(cat "$file")" 2>/dev/null; fi
	done
}

listens() { rdma resource show cm_id | grep -q "state LISTEN .*src-addr $ADDR4:$port "; }

is_gone() { ! kill -0 "$1" 2>/dev/null; }

# until_true SECONDS COMMAND...
until_true() {
	local ends=$((SECONDS + $1))
	shift
	until "$@"; do
		[ $SECONDS -lt $ends ] || return 1
		sleep 0.05
	done
}

# ends_well WHO PROCESS: by itself, and fio is content.
ends_well() {
	until_true 90 is_gone "$2" || { echo "the $1 does not end"; stop; }
	wait "$2" || echo "the $1 ended with status $?"
}

# says WHO WANTED: of fio's terse lines, fields 5 (error), 6 and 47 (KiB read and
# written).
says() {
	local got
	got=$(awk -F ';' '
		/^3;/ { jobs++; errors += $5 != 0; read += $6; written += $47 }
		END { if (jobs) print errors " errors, " read " KiB read, " written " written" }
	' "$tmp/$1/log")
	# shellcheck disable=SC2053	# a pattern
	[[ $got == $2 ]] || echo "the $1: ${got:-nothing}; not $2"
}

runs_on() { # WHO LIBRARY
	local dir=/rpma/lib
	if [ "$2" = real ]; then dir=/usr/lib/x86_64-linux-gnu; fi
	grep -q " $dir/librpma.so.0" "/proc/$(cat "$tmp/$1/pid")/maps" ||
		echo "the $1 does not run on the library of $dir"
}

# The server's region in DRAM, found by the header of fio's first block.
read_dram() {
	perl -e '
		my ($pid, $size) = @ARGV;
		open(my $maps, "<", "/proc/$pid/maps") or die;
		open(my $mem, "<:raw", "/proc/$pid/mem") or die;
		sub at { sysseek($mem, $_[0], 0) && sysread($mem, $_[1], $_[2]) == $_[2] }
		while (<$maps>) {
			/^(\w+)-(\w+) rw/ or next;
			my ($start, $end) = (hex $1, hex $2);
			for (; $start + $size <= $end; $start += 4096) {
				at($start, my $head, 24) or last;
				my ($magic, $type, $len, $seed, $offset) = unpack "SSLQQ", $head;
				next if $magic != 0xacca || $offset;
				at($start, my $all, $size) or die;
				print $all;
				exit;
			}
		}
		die "no header of fio in the memory of the server\n";
	' "$(cat "$tmp/server/pid")" "${size[dram]}"
}

read_pmem() { dax_read "${size[pmem]}" $((2 << 20)); }

clear_pmem() {
	fio_in real cleared A=B name=cleared ioengine=dev-dax filename=/dev/dax0.0 \
		offset=2m size="${size[pmem]}" bs=64k rw=write zero_buffers ||
		cat "$tmp/cleared/log"
}

# Every block is what fio wrote and where it belongs.
check_memory() { # MEMORY BLOCK
	"read_$1" >"$tmp/memory" || { echo "the server's memory cannot be read"; return; }
	fio_in real file A=B name=file filename="$tmp/memory" ioengine=psync rw=read \
		bs="$2" size="${size[$1]}" verify=crc32c || cat "$tmp/file/log"
	says file "0 errors, $((size[$1] / 1024)) KiB read, 0 written"
}

# talk SERVER CLIENT: what goes wrong with the job of the variables engine,
# memory, server_options, client_options, verify, kib_read, kib_written and block.
talk() {
	local server_process client_process hold=() verifies
	port=$((port + 4))
	if [ "$memory" = pmem ] && [ -n "$block" ]; then clear_pmem; fi
	rm -rf "${tmp:?}"/{go,client,server,file,cleared}
	verifies=$(verify_options "$verify")
	if [ -n "$block" ]; then hold=(exec_postrun="$tmp/hold"); fi
	# shellcheck disable=SC2086	# options are words
	server "$1" "$engine" "$memory" $server_options &
	server_process=$!
	until_true 90 listens || echo 'the server does not listen'
	# shellcheck disable=SC2086
	client "$2" "$engine" $client_options $verifies "${hold[@]}" &
	client_process=$!
	if [ -n "$block" ]; then
		# The client is done and still connected.
		until_true 90 eval "[ -e $tmp/client/held ] || is_gone $client_process"
		runs_on server "$1"
		runs_on client "$2"
		check_memory "$memory" "$block"
		touch "$tmp/go"
	fi
	ends_well client "$client_process"
	ends_well server "$server_process"
	says client "0 errors, $kib_read KiB read, $kib_written written"
	says server '0 errors, *'
}

report() { # NAME COMPLAINTS
	nr=$((nr + 1))
	if [ -z "$2" ]; then
		echo "ok $nr $1"
		return
	fi
	{
		printf '%s\n' "$2"
		tail -v -n 20 "$tmp"/{client,server}/log 2>/dev/null
	} | sed 's/^/# /' | cut -c 1-160
	echo "not ok $nr $1"
	failed=1
}

# The wanted jobs of each pair server/client, a line each.
plan() {
	local pair lines name rest
	for pair in ours/ours ours/real real/ours; do
		lines=$jobs
		if [ $pair = ours/ours ]; then lines+=$jobs_of_ours; fi
		while IFS='|' read -r name rest; do
			read -r name <<<"$name"
			case " ${wanted:-$name} " in
			*" $name "*) echo "$pair|$name|$rest" ;;
			esac
		done < <(grep . <<<"$lines")
	done
}

# Both libraries, of the same name, fit under one fio.
engines() {
	local library found
	found=$(fio --enghelp | grep -c 'librpma_\(apm\|gpspm\)_\(client\|server\)')
	[ "$found" = 4 ] || echo "$found engines"
	for library in ours:/rpma/lib real:/lib; do
		"${library%:*}" env LD_TRACE_LOADED_OBJECTS=1 LD_BIND_NOW=1 LD_WARN=1 fio 2>&1 |
			grep -q "librpma.so.0 => ${library#*:}/" || echo "not on ${library#*:}"
	done
}

# What the user reads whose client does not declare anything.
undeclared() {
	local declared='' server_process
	rm -rf "${tmp:?}"/{client,server}
	port=$((port + 4))
	server ours apm dram &
	server_process=$!
	until_true 90 listens || echo 'the server does not listen'
	client ours apm rw=write bs=4k && echo 'the client did not fail'
	grep -q RPMA_PERSISTENT_BY_READ=1 "$tmp/client/log" || echo 'the way out is not named'
	ends_well server "$server_process"
}

# What a user without a verbs device has: nothing here may need one.
chmod 600 /dev/infiniband/*
(setup_dax) >/dev/null 2>&1 || true
printf '#!/bin/sh\ntouch held\nuntil [ -e %s/go ]; do sleep 0.05; done\n' "$tmp" >"$tmp/hold"
chmod 755 "$tmp/hold"
wanted=$*

mapfile -t planned < <(plan)
echo 'TAP version 13'
echo "1..$((${#planned[@]} + 2))"
if ! type -P fio >/dev/null; then
	echo '# fio was not built'
	exit 1
fi
report 'fio.engines_are_there' "$(engines)"
report 'fio.client_in_dram_is_told_the_way_out' "$(undeclared)"
for line in "${planned[@]}"; do
	IFS='|' read -r pair name engine memory server_options client_options verify kib block \
		<<<"$line"
	read -r engine memory verify kib_read kib_written block \
		<<<"$engine $memory $verify $kib $block"
	name="fio.${pair%/*}_server_${pair#*/}_client.$name"
	if ! [ -c /dev/dax0.0 ] && [ "$memory$pair" != "dram${pair/%real/}" ]; then
		nr=$((nr + 1))
		echo "ok $nr $name # SKIP no persistent memory"
		continue
	fi
	report "$name" "$(talk "${pair%/*}" "${pair#*/}" 2>&1)"
done
exit $failed
