#!/usr/bin/env bash
# usage: failures.sh RESULT...
# Prints what the failed tests said, and the ends of programs that did not end.
set -euo pipefail
awk '
	/^begin / { name = $2; said = ""; next }
	/^end / { if ($3 != 0 && said != "") printf "== %s, at its end:\n%s", name, said; said = ""; next }
	/^tap ok / { said = ""; next }
	/^tap not ok / { printf "== %s\n%s%s\n", name, said, substr($0, 5); said = ""; next }
	/^tap / { if ($0 !~ /# (Totals|FAILED|PASSED)/) said = said substr($0, 5) "\n"; next }
	END { if (said != "") printf "== %s, when it was lost:\n%s", name, said }
' "$@"
