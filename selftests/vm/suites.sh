# shellcheck shell=bash
# Reads the table of suites and keeps the tally. Sourced.
#
# A tally is a file of tab-separated lines: pass, fail or skip; where it ran;
# suite; name of the test. "time" lines carry seconds instead of a name.

# suite_row NAME: prints "where user seconds kernels" of a suite.
suite_row() {
	local default
	case $1 in
	*.sh) default='host root 120 all' ;;
	*_test) default='one root 120 all' ;;
	*) default='two root 120 all' ;;
	esac
	awk -v name="$1" -v default="$default" '
		$1 == name { print $2, $3, $4, $5; found = 1 }
		END { if (!found) print default }' "$VM/suites"
}

# runs_on KERNELS KERNEL: "all" are those with the stock provider, "flush" those
# with the patched one.
runs_on() {
	local every=all
	if is_patched "$2"; then every=flush; fi
	case ,$1, in
	*,"$every",* | *,"$2",*) return 0 ;;
	*,"$2@long",*) [ -n "${LONG-}" ] ;;
	*) return 1 ;;
	esac
}

# suites_for WHERE KERNEL: the names of the suites that run there.
suites_for() {
	local path name row where kernels _
	for path in "$TOP"/selftests/*_test.c "$TOP"/selftests/*_test.sh \
		"$TOP"/selftests/two/*.target.sh; do
		[ -e "$path" ] || continue
		name=$(basename "$path")
		name=${name%.c} name=${name%.target.sh}
		row=$(suite_row "$name")
		read -r where _ _ kernels <<<"$row"
		[ "$where" = "$1" ] || continue
		if runs_on "$kernels" "$2"; then echo "$name"; fi
	done
}

# suite_seconds NAME KERNEL
suite_seconds() {
	local where user seconds kernels
	# shellcheck disable=SC2034	# only one column is wanted
	read -r where user seconds kernels <<<"$(suite_row "$1")"
	if [ "$(plain_kernel "$2")" = debug ]; then seconds=$((seconds * 3)); fi
	echo "$seconds"
}

# tally VERDICT PLACE SUITE NAME
tally() { printf '%s\t%s\t%s\t%s\n' "$@" >>"$TALLY"; }

# tally_result FILE PLACE NAME OUTCOME: adds what a guest wrote to its result
# port. NAME is the suite of results outside of any test program.
tally_result() {
	awk -v place="$2" -v suite="$3" -v outcome="$4" "$(cat "$VM/ktap.awk")" "$1" >>"$TALLY"
}

# tally_report FILE [PLACE]: a line for each suite, the failures named.
tally_report() {
	awk -F '\t' '
		$1 == "time" { seconds[$2 "\t" $3] += $4; next }
		{
			key = $2 "\t" $3
			if (!(key in seen)) { seen[key] = 1; order[++n] = key }
			count[key, $1]++
			if ($1 == "fail") failures[key] = failures[key] "    FAILED " $4 "\n"
		}
		END {
			for (i = 1; i <= n; i++) {
				key = order[i]; split(key, part, "\t")
				printf "%-8s %-24s %3d passed %3d failed %3d skipped", part[1], part[2],
					count[key, "pass"], count[key, "fail"], count[key, "skip"]
				if (key in seconds) printf "  %4d s", seconds[key]
				printf "\n%s", failures[key]
			}
		}' "$1"
}

# tally_summary FILE: the last line of every check; fails if a test did.
tally_summary() {
	awk -F '\t' '
		{ count[$1]++ }
		END {
			printf "%d passed, %d failed, %d skipped\n",
				count["pass"], count["fail"], count["skip"]
			exit count["fail"] > 0 || count["pass"] == 0
		}' "$1"
}
