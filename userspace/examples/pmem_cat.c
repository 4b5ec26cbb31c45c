// SPDX-License-Identifier: BSD-3-Clause
/*
 * Prints the first bytes of a /dev/dax device, which read(2) cannot read: to
 * see what is there after a restart. Needs no RDMA.
 */
#include "memory.h"

int main(int argc, char *argv[])
{
	size_t size = 0;
	void *ptr;

	if (argc == 3)
		size = parse_size(argv[2]);
	if (argc < 2 || argc > 3 || (argc == 3 && !size)) {
		fprintf(stderr, "usage: %s PATH [SIZE]\n", argv[0]);
		return EXIT_USAGE;
	}
	ptr = map_memory(argv[1], &size);
	if (fwrite(ptr, 1, size, stdout) != size || fflush(stdout))
		die("writing: %s", strerror(errno));
	return EXIT_SUCCESS;
}
