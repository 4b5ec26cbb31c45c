# shellcheck shell=bash
# Servers of every kind, on the patched rxe and then on the stock one.
setup_dax
for rxe in patched stock; do
	RXE=$rxe setup_all eth0
	/rpma/tests/interop_test.sh serve "$ADDR6" &
	cue set "on-$rxe"
	cue wait "off-$rxe"
	kill $!
	wait $! || true
	take_away eth0
done
