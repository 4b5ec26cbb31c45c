/* SPDX-License-Identifier: BSD-3-Clause */
/* Memory regions: ours by id, the other machine's by description. */
#ifndef RPMA_MR_H
#define RPMA_MR_H

#include <stddef.h>
#include <stdint.h>

#include "kernel.h"

struct rpma_mr_local {
	int fd;			/* its peer's /dev/rpma file */
	uint32_t id;
	uint32_t rkey;
	int usage;
	void *ptr;
	size_t size;
};

struct rpma_mr_remote {
	struct rpma_remote remote;
};

#endif /* RPMA_MR_H */
