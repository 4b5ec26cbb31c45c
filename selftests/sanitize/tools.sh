# shellcheck shell=bash
# How the tools are run on what was built for them in $built, and what their
# words mean. Sourced by the suites; $supp has the suppressions.
# shellcheck disable=SC2154,SC2034	# names of those who source this file

log=$(mktemp)
trap 'rm -f "$log"' EXIT
reports='ThreadSanitizer|AddressSanitizer|LeakSanitizer|runtime error:|^==[0-9]+==|^\*\*[0-9]+\*\*'

# ThreadSanitizer wants its memory where a randomized program may be.
thread() { with thread setarch -R env TSAN_OPTIONS='halt_on_error=1 exitcode=66' "$@"; }
address() {
	with address env ASAN_OPTIONS='detect_leaks=1 detect_stack_use_after_return=1' \
		UBSAN_OPTIONS=print_stacktrace=1 "$@"
}
# Without its fair scheduler a thread that polls may keep all others waiting.
valgrind_tool() { with valgrind valgrind -q --fair-sched=yes --error-exitcode=99 "$@"; }
helgrind() { valgrind_tool --tool=helgrind --suppressions="$supp/helgrind.supp" "$@"; }
memcheck() {
	valgrind_tool --tool=memcheck --leak-check=full --suppressions="$supp/memcheck.supp" "$@"
}

# with DIRECTORY COMMAND...: with the library made for the tool. Each test is a
# process group of its own, which timeout does not end: the session is.
with() {
	local dir=$1 status session
	shift
	LD_LIBRARY_PATH=$built/$dir setsid timeout -k 5 150 "$@" >"$log" 2>&1 </dev/null &
	session=$!
	wait "$session"
	status=$?
	if [ "$status" = 124 ] || [ "$status" = 137 ]; then
		pkill -KILL -s "$session"
		echo "ran out of time" >>"$log"
	fi
	return "$status"
}

# The directory of a tool's programs.
made_for() { case $1 in helgrind | memcheck) echo valgrind ;; *) echo "$1" ;; esac; }

nr=0 failed=0
result() { # NAME STATUS
	nr=$((nr + 1))
	if [ "$2" = 0 ]; then
		echo "ok $nr $1"
	else
		sed 's/^/# /' "$log"
		echo "not ok $nr $1"
		failed=1
	fi
}

# All tests that were planned passed, at least one, and the tool was silent.
all_passed() { # STATUS
	local planned
	planned=$(sed -n 's/^1\.\.//p' "$log" | head -n 1)
	[ "$1" = 0 ] && [ "${planned:-0}" -gt 0 ] &&
		[ "$(grep -c '^ok ' "$log")" = "$planned" ] && ! grep -q '# SKIP' "$log" &&
		! grep -qE "$reports" "$log"
}
