# shellcheck shell=bash
# The initiator of demo.sh: streams the file to the target and cuts its power
# behind the last flush; then has it switched on again. BREAK=early cuts it in
# the middle: the client must say so.
. ./demo.guest.sh
fault=$2
port=7471

setup_all eth0
take_verbs_away
mount_out
tell 'ready for the file'
cue wait file
cue wait ready

mkfifo /tmp/input /tmp/output
as_tester /rpma/bin/file_to_pmem_client --chunk 64k --batch 4 --hold \
	"$PEER4" "$port" /tmp/out/file </tmp/input >/tmp/output 2>&1 7>&- &
client=$!
exec 4>/tmp/input 3</tmp/output

cut_power() {
	local before=${EPOCHREALTIME/./}
	cue kill target
	tell "power cut after $(((${EPOCHREALTIME/./} - before) / 1000)) ms"
}

is_cut='' status=0
while IFS= read -r line <&3; do
	case $line in
	100%*)
		tell "client: $line"
		cut_power
		is_cut=yes
		check_process file_to_pmem_client || status=1
		exec 4>&- ;;
	' '[3-9]?%*)
		tell "client: $line"
		if [ "$fault" = early ] && [ -z "$is_cut" ]; then
			cut_power
			is_cut=yes
		fi ;;
	*)
		tell "client: $line" ;;
	esac
done

wait "$client" || status=$?
if [ "$status" != 0 ]; then exit "$status"; fi
tell 'ready for the restart'
cue wait restart
cue start target
cue wait found
