#!/usr/bin/env bash
# usage: scan.sh CONSOLE...
# Prints what a kernel complained of on its console; fails if it did. The
# console must be taken at loglevel 5 or more: 4 hides warnings.
set -euo pipefail

reports=(
	'WARNING: '
	'BUG: '
	'kernel BUG at'
	'Oops'
	'general protection'
	'Kernel panic'
	'KASAN: '
	'UBSAN: '
	'INFO: task .* blocked for more than'
	'possible circular locking'
	'possible recursive locking'
	'possible irq lock inversion'
	'inconsistent lock state'
	'lock held when returning to user space'
	'held lock freed'
	'Invalid wait context'
	'suspicious RCU usage'
	'sleeping function called'
	'scheduling while atomic'
	'refcount_t: '
	'list_(add|del) corruption'
	'ODEBUG: '
	'unreferenced object'
	'(soft|hard) lockup'
	'detected (expedited )?stall'
	'self-detected stall'
	'Bad page'
	'bad page state'
	'Objects remaining in'
	'unregister_netdevice: waiting for'
	'Unable to handle kernel'
)
pattern=$(IFS='|'; echo "${reports[*]}")
if grep -aE -- "$pattern" "$@"; then exit 1; fi
