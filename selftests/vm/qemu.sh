# shellcheck shell=bash
# Boots and judges one test machine. Sourced by the topologies (run.sh, two.sh).
#
# A machine has a directory: console (all the kernel said), port.in and
# port.out (the FIFOs behind its second serial port), result (what the guest
# wrote to that port), outcome ("good", "killed" or why it is not good).
# The guest ends with "verdict STATUS" on that port, so silence, a hang and a
# panic cannot pass; and a report of the kernel fails a machine whatever its
# verdict says (scan.sh).

BOOT_TIMEOUT=${BOOT_TIMEOUT:-150}

# KVM only where the processor has it and the device opens: a /dev/kvm alone
# proves nothing inside a virtual machine. Emulated, "rep movsb" goes byte by
# byte, and without ERMS and FSRM nobody takes it for the fast way to copy.
vm_accel() {
	if grep -qwE 'vmx|svm' /proc/cpuinfo && { : <>/dev/kvm; } 2>/dev/null; then
		echo '-accel kvm -cpu host'
	else
		echo '-accel tcg,thread=multi -cpu max,la57=off,erms=off,fsrm=off'
	fi
}

# vm_payload DIR KERNEL FILE...: the tar that becomes /rpma in the guest.
# job/ holds FILE..., the first of them the script to run; job/args its words.
# PROVIDER= is another provider than the patched one for a kernel named +flush.
vm_payload() {
	local dir=$1 kernel root=$1/payload lock provider=''
	kernel=$(plain_kernel "$2")
	if is_patched "$2"; then provider=${PROVIDER:-$BUILD/provider/$kernel.ko}; fi
	shift 2
	exec {lock}>"$BUILD/build.lock"
	flock -s "$lock"	# not while somebody builds
	mkdir -p "$root"/{vm,tests,lib,job,bin}
	cp "$VM"/init.sh "$VM"/guest.sh "$root/vm/"
	cp /bin/busybox "$root/bin/"	# a link would change under tar when another goes
	if [ -e "$BUILD/kmod/$kernel/kmod/rpma.ko" ]; then
		cp "$BUILD/kmod/$kernel/kmod/rpma.ko" "$root/"
	fi
	# Where it was not built, the guest says so.
	if [ -e "$provider" ]; then cp "$provider" "$root/rdma_rxe.ko"; fi
	if [ -d "$BUILD/userspace" ]; then
		find "$BUILD/userspace" -name 'librpma.so*' -exec cp -P {} "$root/lib/" \;
	fi
	# The disk has Debian's librpma: where ours was not built, nothing may
	# run on that one by mistake.
	[ -e "$root/lib/librpma.so.0" ] || : >"$root/lib/librpma.so.0"
	if [ -d "$BUILD/selftests" ]; then
		find "$BUILD/selftests" -maxdepth 1 -type f -executable -exec cp {} "$root/tests/" \;
	fi
	if [ -d "$BUILD/sanitize" ]; then
		(cd "$BUILD" && find sanitize -maxdepth 2 \( -name 'librpma.so.0' -o -name '*_test' \) \
			-print0 | cpio -0pdm --quiet "$root")
		cp "$TOP"/selftests/sanitize/{tools.sh,*.supp} "$root/sanitize/"
	fi
	cp "$TOP"/selftests/*_test.sh "$root/tests/"
	if [ -d "$BUILD/userspace/examples" ]; then
		find "$BUILD/userspace/examples" -maxdepth 1 -type f -executable -exec cp {} "$root/bin/" \;
	fi
	if [ -e "$BUILD/fio/fio" ]; then cp "$BUILD/fio/fio" "$root/bin/"; fi
	exec {lock}>&-
	cp -r "$@" "$root/job/"
	basename "$1" >"$root/job/script"
	printf '%s\n' "${VM_ARGS[@]}" >"$root/job/args"
	printf '%s\n' "${VM_ENV[@]}" >"$root/job/env"
	tar -C "$root" --owner=0 --group=0 -cf "$dir/payload.tar" .
	rm -rf "$root"
}

# Reads the result port until the machine is gone. A "cue" is a question to
# the host: on_cue (given by the topology) acts and prints the one-line answer.
vm_listen() {
	local vm=$1 dir=$2 line
	exec 8<>"$dir/port.in"
	while IFS= read -r line; do
		line=${line%$'\r'}
		case $line in
		'cue '*)
			# shellcheck disable=SC2086	# words are words
			on_cue "$vm" ${line#cue } >&8 ;;
		'out '*)
			printf '%s\n' "${VM_PREFIX-}${line#out }" ;;
		esac
		printf '%s\n' "$line" >>"$dir/result"
	done <"$dir/port.out"
}

on_cue() { echo "unknown cue"; }

# vm_start NAME DIR KERNEL [QEMU ARGUMENT...]
vm_start() {
	local vm=$1 dir=$2 kernel append
	kernel=$(plain_kernel "$3")
	shift 3
	append="console=ttyS0 loglevel=5 panic=-1 oops=panic panic_on_warn=1"
	append+=" no_timer_check printk.devkmsg=on mitigations=off net.ifnames=0"
	# Generous, as the host may be busy; still well below any test's timeout.
	append+=" rcupdate.rcu_cpu_stall_timeout=100 watchdog_thresh=50"
	append+=" sysctl.kernel.hung_task_timeout_secs=60"
	rm -f "$dir"/port.{in,out} "$dir"/{console,outcome}
	mkfifo "$dir/port.in" "$dir/port.out"
	: >"$dir/result"
	mkdir -p "$dir/out"
	# shellcheck disable=SC2046	# several words
	qemu-system-x86_64 -name "$vm" $(vm_accel) -smp "${SMP:-2}" \
		-machine q35,nvdimm=on -m "${MEM:-2G},slots=2,maxmem=8G" \
		-nodefaults -display none -monitor none -no-reboot \
		-kernel "$BUILD/vm/$kernel/vmlinuz" -initrd "$BUILD/vm/$kernel/initrd.img" \
		-append "$append ${APPEND-}" \
		-serial "file:$dir/console" \
		-chardev "pipe,id=port,path=$dir/port" -serial chardev:port \
		-drive "file=$BUILD/vm/root.img,if=virtio,format=raw,snapshot=on" \
		-drive "file=$BUILD/vm/$kernel/modules.img,if=virtio,format=raw,readonly=on" \
		-drive "file=$dir/payload.tar,if=virtio,format=raw,readonly=on" \
		-virtfs "local,path=$dir/out,mount_tag=out,security_model=none" \
		"$@" </dev/null >"$dir/qemu.log" 2>&1 &
	echo $! >"$dir/qemu.pid"
	disown $!	# no word from bash when it is killed
	vm_listen "$vm" "$dir" 8>&- &
	echo $! >"$dir/listen.pid"
}

vm_is_alive() { kill -0 "$(cat "$1/qemu.pid")" 2>/dev/null; }
vm_has_started() { grep -q '^start' "$1/result"; }

vm_kill() {
	kill -KILL "$(cat "$1/qemu.pid")" 2>/dev/null || true
	while vm_is_alive "$1"; do sleep 0.1; done
	# The listener ends with the pipe; it is only in doubt if QEMU never opened it.
	sleep 0.2
	kill "$(cat "$1/listen.pid")" 2>/dev/null || true
}

# vm_wait DIR SECONDS: until the machine is off, or too late. SECONDS count
# from the start of the guest script; the outcome says how it went.
vm_wait() {
	local dir=$1 seconds=$2 begin=$SECONDS started='' outcome=''
	while vm_is_alive "$dir"; do
		if [ -e "$dir/outcome" ]; then return 0; fi	# killed on a cue
		if [ -z "$started" ] && vm_has_started "$dir"; then
			started=yes begin=$SECONDS
		fi
		if [ -z "$started" ] && [ $((SECONDS - begin)) -gt "$BOOT_TIMEOUT" ]; then
			outcome="did not boot in $BOOT_TIMEOUT s"
		elif [ -n "$started" ] && [ $((SECONDS - begin)) -gt "$seconds" ]; then
			outcome="no verdict in $seconds s"
		fi
		if [ -n "$outcome" ]; then vm_kill "$dir"; break; fi
		sleep 0.1
	done
	# The listener ends with the pipe, once it has read all of it.
	for begin in {1..50}; do
		kill -0 "$(cat "$dir/listen.pid")" 2>/dev/null || break
		sleep 0.1
	done
	if [ -e "$dir/outcome" ]; then return 0; fi
	vm_judge "$dir" "$outcome"
}

# vm_judge DIR [OUTCOME]: writes DIR/outcome.
vm_judge() {
	local dir=$1 outcome=${2-} verdict report
	verdict=$(sed -n 's/^verdict //p' "$dir/result" | tail -n 1)
	if ! report=$("$VM/scan.sh" "$dir/console"); then
		outcome="kernel report: $(head -n 1 <<<"$report")"
	elif [ -n "$outcome" ]; then
		:
	elif ! vm_has_started "$dir"; then
		outcome="died before the guest script began"
	elif [ -z "$verdict" ]; then
		outcome="died without a verdict"
	elif [ "$verdict" != 0 ]; then
		outcome="guest script failed with status $verdict"
	fi
	echo "${outcome:-good}" >"$dir/outcome"
}

# vm_judge_killed DIR: the same for a machine that lost its power on a cue.
vm_judge_killed() {
	local report outcome=good
	if ! report=$("$VM/scan.sh" "$1/console"); then
		outcome="kernel report: $(head -n 1 <<<"$report")"
	fi
	echo "$outcome" >"$1/outcome"
}

# vm_run NAME DIR KERNEL SECONDS [QEMU ARGUMENT...]: start and wait, with a
# second try for a boot that never came to the guest script. Emulation with
# several threads now and then loses a kernel while it patches its own code.
vm_run() {
	local vm=$1 dir=$2 kernel=$3 seconds=$4 try
	shift 4
	for try in 1 2; do
		vm_start "$vm" "$dir" "$kernel" "$@"
		vm_wait "$dir" "$seconds"
		if vm_has_started "$dir" || [ "$try" = 2 ]; then break; fi
		mv "$dir/console" "$dir/console.first-try"
		say "$vm did not reach its script ($(cat "$dir/outcome")): one more try"
	done
	[ "$(cat "$dir/outcome")" = good ]
}

# Ends every machine this script started, whatever made it leave.
vm_cleanup() {
	local pidfile
	for pidfile in "$RUN"/*/qemu.pid "$RUN"/*/listen.pid; do
		if [ -e "$pidfile" ]; then kill -KILL "$(cat "$pidfile")" 2>/dev/null || true; fi
	done
}

# run_directory NAME: sets RUN, where the machines of this run live.
run_directory() {
	RUN=${OUTPUT:-$LOGS/$1.$(date +%H%M%S).$$}
	rm -rf "$RUN"
	mkdir -p "$RUN"
	trap vm_cleanup EXIT
}

# run_leave OUTCOME: says how it went; consoles stay when it went wrong.
run_leave() {
	if [ "$1" = good ]; then
		if [ -z "${KEEP-}" ] && [ -z "${OUTPUT-}" ]; then rm -rf "$RUN"; fi
		if [ -n "${KEEP-}" ]; then say "good; consoles in $RUN"; fi
		exit 0
	fi
	say "FAILED: $1; consoles in $RUN"
	exit 1
}
