#!/usr/bin/env bash
# Prints the Debian mirror that apt of this host uses; asks apt to read its
# indexes first where it has none.
set -euo pipefail
. "$(dirname -- "${BASH_SOURCE[0]}")/lib.sh"

mirror_of_host() {
	apt-get indextargets --format '$(REPO_URI) $(CODENAME)' \
		'Created-By: Packages' 'Origin: Debian' 'Component: main' |
		awk '$2 !~ /-/ && !found { print $1; found = 1 }'
}

mirror=$(mirror_of_host)
if [ -z "$mirror" ]; then
	apt-get update -qq >&2
	mirror=$(mirror_of_host)
fi
[ -n "$mirror" ] || die "apt knows no Debian mirror"
echo "$mirror"
