// SPDX-License-Identifier: GPL-2.0
/*
 * What librpma 1.3 does on an adapter without FLUSH, of which the tests have
 * none: it grants READ to flushes.
 */
#include <dlfcn.h>

#include "interop.h"

#define FLUSHES (1 << 8 | 1 << 9)	/* IBV_ACCESS_FLUSH_GLOBAL, _PERSISTENT */

#undef ibv_reg_mr

static bool hidden;

void hide_flush(void)
{
	hidden = true;
}

/* Debian's librpma finds this one before that of libibverbs. */
struct ibv_mr *ibv_reg_mr(struct ibv_pd *pd, void *addr, size_t length, int access)
{
	struct ibv_mr *(*reg)(struct ibv_pd *pd, void *addr, size_t length, int access) =
		dlsym(RTLD_NEXT, "ibv_reg_mr");

	if (hidden && access & FLUSHES)
		access = (access & ~FLUSHES) | IBV_ACCESS_REMOTE_READ;
	return reg(pd, addr, length, access);
}
