#!/usr/bin/env bash
# usage: demo.sh [FILE]
# The main job for people to see, on a fresh Debian 12 or 13 as root: an
# ordinary user streams FILE to the persistent memory of another machine and
# flushes it there piece by piece; behind the last flush that machine loses its
# power; it is switched on again, and must hold every byte.
#
# Both machines are emulated, and the persistent memory is a file of ours. The
# demo believes nobody: the sum of FILE is taken here, the sum of what is left
# in the restarted machine. KERNEL=7.3 takes another kernel, KEEP=1 keeps the
# consoles. BREAK=byte changes one byte while the power is off, BREAK=early
# cuts the power in the middle: either must fail (demo-test.sh).
set -euo pipefail
. "$(dirname -- "${BASH_SOURCE[0]}")/lib.sh"

kernel=${KERNEL:-6.12}
fault=${BREAK-}
max_mib=1024
mib=1048576
begin=$SECONDS

# ---- what the person gave us ----

[ "$(id -u)" = 0 ] || die "needs root, to install packages and build a Debian tree: sudo make demo"
command -v apt-get >/dev/null || die "needs Debian 12 or 13: it installs with apt"

check_file() {
	[ -e "$1" ] || die "FILE=$1: there is no such file"
	[ -f "$1" ] || die "FILE=$1: not a regular file; name one of 1 byte to $max_mib MiB"
	head -c 1 -- "$1" >/dev/null 2>&1 || die "FILE=$1: cannot be read"
	[ -s "$1" ] || die "FILE=$1: is empty; name one of 1 byte to $max_mib MiB"
	[ "$(stat -Lc %s -- "$1")" -le $((max_mib * mib)) ] ||
		die "FILE=$1: has more than $max_mib MiB; name a smaller one"
}

file=${1-}
if [ -n "$file" ]; then check_file "$file"; fi

# ---- preparing ----

# working COMMAND...: says now and then that it is still at it.
working() {
	local status=0 never ticker start=$SECONDS
	exec {never}<> <(:)
	while ! read -r -t 20 -u "$never"; do
		say "still at it, $((SECONDS - start)) s"
	done &
	ticker=$!
	"$@" || status=$?
	kill "$ticker"
	wait "$ticker" 2>/dev/null || true
	exec {never}>&-
	return "$status"
}

free_mib=$(mkdir -p "$BUILD" && df -m --output=avail "$BUILD" | tail -n 1)
if [ ! -e "$BUILD/rootfs.stamp" ]; then
	[ "$free_mib" -ge 8000 ] ||
		die "needs 8 GB of disk for $BUILD, there are $((free_mib / 1000))"
	say "the first run makes a Debian tree and a disk for the machines: about five minutes, once"
fi
working "$VM/prepare.sh" "$kernel" || die "preparing failed; is there a way to a Debian mirror?"
# Whether the tests build is no matter here.
say "building the module and the library"
working "$VM/build.sh" "$kernel" || true
if grep -qE "^(module-$kernel|userspace)\$" "$BUILD/unbuilt"; then
	die "does not build; see $BUILD/module-$kernel.log and $BUILD/userspace.log"
fi

# Some tens of MiB that every host has by now.
if [ -z "$file" ]; then
	file=$(readlink -f "$(command -v qemu-system-x86_64)")
	check_file "$file"
fi
size=$(stat -Lc %s -- "$file")
sum=$(sha256sum -- "$file")
sum=${sum%% *}
sum=${sum#\\}

# Besides the bytes the device holds its page map; it comes in pieces of 128 MiB.
nvdimm_mib=$(((size * 33 / 32 / mib + 24) / 128 * 128 + 128))
seconds=$((240 + size / 200000))

# ---- the run ----

run=$LOGS/demo.$(date +%H%M%S).$$
mkdir -p "$LOGS"
declare -A got=() seen=()
problems=()

# On a terminal the bar of progress is the last line; what is shown meanwhile
# takes its place.
show() {
	[ ! -t 1 ] || printf '\r\e[K'
	printf '   %s\n' "$*"
}

progress() { # "45%  8.3 of 18.4 MB"
	local percent=${1%%%*} bar
	percent=${percent// /}
	[ -t 1 ] || { show "$1"; return; }
	printf -v bar '%*s' $((percent / 4)) ''
	printf '\r   [%-25s] %s' "${bar// /#}" "$1"
	if [ "$percent" = 100 ]; then echo; fi
}

key() { # KEY: what a machine waits for
	echo >"$run/keys/.$1.demo"
	mv "$run/keys/.$1.demo" "$run/keys/$1"
}

# The device is the end of the NVDIMM, behind the page map.
data_start() { echo $((nvdimm_mib * mib - got[offered])); }

change_a_byte() {
	local at=$(($(data_start) + size / 2)) old
	old=$(od -An -tu1 -j "$at" -N 1 "$run/nvdimm")
	printf '%b' "\\x$(printf %x $((old ^ 1)))" |
		dd of="$run/nvdimm" bs=1 seek="$at" conv=notrunc status=none
	show "BREAK=byte: changed byte $((size / 2)) while the power is off"
}

hear() { # a line of two.sh
	local text=$1
	case $text in
	'initiator: ready for the file')
		seen[initiator]=yes
		cp --reflink=auto -L -- "$file" "$run/initiator/out/file"
		chmod 644 "$run/initiator/out/file"
		key file ;;
	'target: server: ready: '*)
		text=${text#target: server: ready: }
		got[offered]=${text%% bytes*}
		show "target: a server offers $((${text%% bytes*} / mib)) MiB of /dev/dax0.0" ;;
	'target: file_to_pmem_server runs as '* | 'initiator: file_to_pmem_client runs as '*)
		seen[${text%%:*} checked]=yes
		show "$text" ;;
	'initiator: client: '*'% '*' of '*' MB')
		progress "${text#initiator: client: }" ;;
	'initiator: client: '*'  '*)
		text=${text#initiator: client: }
		got[${text%% *}]=$(sed -E 's/^[^ ]+ +//' <<<"$text") ;;
	'initiator: power cut after '*)
		got[cut]=${text#initiator: power cut after }
		show "the target has lost its power" ;;
	'initiator: ready for the restart')
		if [ "$fault" = byte ]; then change_a_byte; fi
		show "the target is switched on again, on the same NVDIMM"
		key restart ;;
	'target: found '*)
		got[found]=${text#target: found } ;;
	'initiator: client: /'*' MB in chunks of '* | 'target: server: client connected') ;;
	'initiator: '* | 'target: '* | '== '*)
		# Words of an error, most likely.
		show "$text" ;;
	esac
}

say "$file, $size bytes, to the persistent memory of another machine (Linux $(cat "$BUILD/vm/$kernel/release"))"
show "two machines boot"
exec {lines}< <(
	MEM=${MEM:-1G} OUTPUT=$run NVDIMM=${nvdimm_mib}M "$VM/powercut.sh" -k "$kernel" \
		-t "$seconds" -f "$VM/demo.guest.sh" "$VM/demo.target.sh" \
		"$VM/demo.initiator.sh" "$size" "$fault" 2>&1
)
machines=$!
trap 'kill "$machines" 2>/dev/null || true' EXIT
while :; do
	status=0
	IFS= read -r -t 20 -u "$lines" line || status=$?
	if [ "$status" = 0 ]; then
		hear "$line"
	elif [ "$status" -gt 128 ]; then
		show "still at it, $((SECONDS - begin)) s"
	else
		break
	fi
done
wait "$machines" || problems+=("a machine did not end well")
trap - EXIT

# ---- the verdict ----

expect() { # WHAT VALUE WANTED
	[ "$2" = "$3" ] || problems+=("$1: ${2:-none}, not $3")
}

expect "bytes flushed" "${got[bytes]-}" "$size"
case ${got[flushes]-} in
*' PERSISTENT') ;;
*) problems+=("flushes: ${got[flushes]:-none}, not PERSISTENT") ;;
esac
[ -n "${got[cut]-}" ] || problems+=("the power was never cut")
expect "client on /dev/rpma alone" "${seen[initiator checked]-no}" yes
expect "server on /dev/rpma alone" "${seen[target checked]-no}" yes
expect "bytes after the restart" "${got[found]-}" "$sum"
if [ -n "${got[found]-}" ] && [ "${got[found]}" != "$sum" ]; then
	problems+=("$(cmp -- <(tail -c +$(($(data_start) + 1)) "$run/nvdimm" | head -c "$size") \
		"$file" 2>&1 | sed 's|^/dev/fd/[0-9]*|the NVDIMM and|' || true)")
fi

found=${got[found]-nothing heard}
verdict="DURABLE: every byte is there after the power cut"
if [ ${#problems[@]} -gt 0 ]; then verdict=FAILED; fi
cat <<END

file        $file
bytes       ${got[bytes]:--}
flushes     ${got[flushes]:--}
method      ${got[method]:--}
latency     ${got[latency]:--} (a flush behind up to 256 KiB of writes, emulated machines)
user        tester on both machines, with /dev/rpma and without /dev/infiniband
power cut   the target's, within ${got[cut]:--} of the last flush's completion
sha256      ${sum:0:32}... here
            ${found:0:32}... in the restarted target
time        $((SECONDS - begin)) s
verdict     $verdict
END

if [ ${#problems[@]} -gt 0 ]; then
	printf '            %s\n' "${problems[@]}"
	say "consoles of the machines: $run/*/console"
	exit 1
fi
if [ -n "${KEEP-}" ]; then
	say "consoles of the machines: $run/*/console"
else
	rm -rf "$run"
fi
