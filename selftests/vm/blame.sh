#!/usr/bin/env bash
# usage: blame.sh CONSOLE
# Prints the suite that ran when the console got its first report.
set -euo pipefail
. "$(dirname -- "${BASH_SOURCE[0]}")/lib.sh"

suite=machine
report=$("$VM/scan.sh" "$1" | head -n 1) || true
while IFS= read -r line; do
	case $line in
	*rpma-test:*) suite=${line##*rpma-test: } ;;
	esac
	if [ "$line" = "$report" ]; then break; fi
done < <(tr -d '\r' <"$1")
echo "$suite"
