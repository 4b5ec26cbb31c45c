# shellcheck shell=bash
# The guest script of one.sh: every suite of the list, one after the other.
setup_all
case $KERNEL in *+flush) setup_dax ;; esac
while read -r name user seconds; do
	run_test "$name" "$user" "$seconds" || true
	restore_rdma
done <suites.list
