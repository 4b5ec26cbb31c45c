# shellcheck shell=bash
# The guest script of mutants.sh: each module of the list in turn, with the
# test that must notice. Leaves when a module cannot be unloaded any more.
setup_rdma
setup_dax
library=$LD_LIBRARY_PATH
while read -r name test user seconds filter; do
	report "mutant $name"
	LD_LIBRARY_PATH=$library
	if [ -d "$name.lib" ]; then LD_LIBRARY_PATH=/rpma/job/$name.lib; fi
	module=$name.ko
	if [ ! -e "$module" ]; then module=/rpma/rpma.ko; fi
	load_rpma "$module"
	case $filter in
	'' | -*) ;;
	*) filter="-t $filter" ;;
	esac
	# shellcheck disable=SC2086	# several words
	run_test "$test" "$user" "$seconds" $filter || true
	restore_rdma
	unload_rpma
done <mutants.list
