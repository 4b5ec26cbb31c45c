# Turns the result of a guest ("begin SUITE", "tap LINE", "end SUITE STATUS
# SECONDS") into tally lines. Never takes silence for success: a program that
# printed fewer results than planned, or failed without saying what, or never
# ended, has failed.
# Variables: place, suite (for results outside a program), outcome.

function line(verdict, name) {
	printf "%s\t%s\t%s\t%s\n", verdict, place, suite, name
	printed[verdict]++
}

function open(name) { suite = name; plan = -1; results = failed = skipped = 0 }

function close_program(status, seconds) {
	if (status == 124 || status == 137)
		line("fail", "ran out of time after " seconds " s")
	else if (plan < 0 && results == 0)
		line("fail", "printed no results, exit status " status)
	else if (plan >= 0 && results < plan)
		line("fail", "printed " results " of " plan " results, exit status " status)
	else if (status != 0 && failed == 0 && !(status == 4 && skipped == results))
		line("fail", "exit status " status " without a failed result")
	printf "time\t%s\t%s\t%s\n", place, suite, seconds
}

BEGIN { open(suite); outer = suite }

/^begin / { open($2); inside = 1; next }
/^end / { close_program($3, $4); inside = 0; open(outer); next }

!/^tap / { next }
{ sub(/^tap /, "") }

/^1\.\.[0-9]+/ {
	plan = substr($1, 4) + 0
	if (plan == 0) { skipped++; results++; plan = 1; line("skip", "all of it") }
	next
}

/^(not )?ok [0-9]+/ {
	bad = /^not /
	name = $0
	sub(/^(not )?ok [0-9]+ *(- *)?/, "", name)
	results++
	if (name ~ /# *SKIP/) { skipped++; line("skip", name) }
	else if (bad) { failed++; line("fail", name) }
	else line("pass", name)
}

END { if (inside) line("fail", "never ended: " outcome) }
