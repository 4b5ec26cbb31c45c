# shellcheck shell=bash
# Offers its NVDIMM; after the power cut says what is in it.
setup_dax
if [ "$LIFE" = 1 ]; then
	setup_all eth0
	/rpma/tests/far_target -p /dev/dax0.0 "$ADDR4" |
		while read -r line; do cue set "$line"; done
else
	cue set sum "$(/rpma/tests/far_target -d /dev/dax0.0 1048576 | sha256sum | cut -d ' ' -f 1)"
fi
