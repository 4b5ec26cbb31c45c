#!/usr/bin/env bash
# usage: build.sh KERNEL...
# Builds, inside the Debian tree, rpma.ko for each kernel (build/kmod/KERNEL),
# the patched provider for those named +flush (build/provider), the library (build/userspace) and the test programs (build/selftests), and
# both again for sanitizers and valgrind (build/sanitize).
# Sources are copied for the module: before 6.13 kbuild writes objects beside
# them. A part that does not build is left out and named in build/unbuilt;
# whoever needs it fails.
set -euo pipefail
. "$(dirname -- "${BASH_SOURCE[0]}")/lib.sh"

exec 9>"$BUILD/build.lock"
flock 9

# module_copy DIR: the sources of the module, touching only what is newer.
module_copy() {
	mkdir -p "$1"
	(cd "$TOP" && find Kbuild kmod uapi \( -name '*.[ch]' -o -name Kbuild \) -print0 |
		cpio -0pdm --quiet "$1" 2>/dev/null)
}

part() { # NAME COMMAND...
	local name=$1
	shift
	if ! "$@" >"$BUILD/$name.log" 2>&1; then
		say "$name does not build:"
		grep -vE '^(make|  [A-Z]+ )' "$BUILD/$name.log" | head -n 25 >&2 || true
		echo "$name" >>"$BUILD/unbuilt"
		return 1
	fi
}

: >"$BUILD/unbuilt"
for kernel in $(plain_kernels "$@"); do
	module_copy "$BUILD/kmod/$kernel"
	part "module-$kernel" in_tree make -j"$JOBS" -C "$(kernel_headers "$kernel")" \
		M="/rpma/build/kmod/$kernel" modules ||
		rm -f "$BUILD/kmod/$kernel/kmod/rpma.ko"
done
for kernel; do
	is_patched "$kernel" || continue
	kernel=$(plain_kernel "$kernel")
	part "provider-$kernel" "$VM/provider.sh" "$kernel" || rm -f "$BUILD/provider/$kernel.ko"
done
part userspace in_tree make -j"$JOBS" -C /rpma/userspace BUILD=/rpma/build/userspace \
	all examples || rm -f "$BUILD"/userspace/librpma.so*
part fio "$VM/fio.sh" || rm -f "$BUILD/fio/fio"
part selftests in_tree make -k -j"$JOBS" -C /rpma/selftests BUILD=/rpma/build || true
part sanitize in_tree make -s -k -j"$JOBS" -C /rpma/selftests/sanitize BUILD=/rpma/build ||
	rm -f "$BUILD"/sanitize/*/librpma.so*
[ ! -s "$BUILD/unbuilt" ]
