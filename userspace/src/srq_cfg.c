// SPDX-License-Identifier: BSD-3-Clause
/* Configurations of shared receive queues, to be set and read from any thread. */
#include <errno.h>
#include <stdlib.h>

#include "log.h"
#include "srq_cfg.h"

/* What librpma says when asked; its manual says 100, see srq.c. */
#define DEFAULT_SIZE 20

struct rpma_srq_cfg {
	_Atomic(uint32_t) rq_size;
	_Atomic(uint32_t) rcq_size;
};

void srq_cfg_sizes(const struct rpma_srq_cfg *cfg, uint32_t *rq_size, uint32_t *rcq_size)
{
	*rq_size = cfg ? atomic_load(&cfg->rq_size) : DEFAULT_SIZE;
	*rcq_size = cfg ? atomic_load(&cfg->rcq_size) : DEFAULT_SIZE;
}

int rpma_srq_cfg_new(struct rpma_srq_cfg **cfg_ptr)
{
	struct rpma_srq_cfg *cfg;

	if (!cfg_ptr)
		return RPMA_E_INVAL;
	cfg = malloc(sizeof(*cfg));
	if (!cfg)
		return RPMA_E_NOMEM;
	atomic_init(&cfg->rq_size, DEFAULT_SIZE);
	atomic_init(&cfg->rcq_size, DEFAULT_SIZE);
	*cfg_ptr = cfg;
	return 0;
}

int rpma_srq_cfg_delete(struct rpma_srq_cfg **cfg_ptr)
{
	if (!cfg_ptr)
		return RPMA_E_INVAL;
	free(*cfg_ptr);
	*cfg_ptr = NULL;
	return 0;
}

int rpma_srq_cfg_set_rq_size(struct rpma_srq_cfg *cfg, uint32_t rq_size)
{
	if (!cfg)
		return RPMA_E_INVAL;
	atomic_store(&cfg->rq_size, rq_size);
	return 0;
}

int rpma_srq_cfg_get_rq_size(const struct rpma_srq_cfg *cfg, uint32_t *rq_size)
{
	if (!cfg || !rq_size)
		return RPMA_E_INVAL;
	*rq_size = atomic_load(&cfg->rq_size);
	return 0;
}

int rpma_srq_cfg_set_rcq_size(struct rpma_srq_cfg *cfg, uint32_t rcq_size)
{
	if (!cfg)
		return RPMA_E_INVAL;
	atomic_store(&cfg->rcq_size, rcq_size);
	return 0;
}

int rpma_srq_cfg_get_rcq_size(const struct rpma_srq_cfg *cfg, uint32_t *rcq_size)
{
	if (!cfg || !rcq_size)
		return RPMA_E_INVAL;
	*rcq_size = atomic_load(&cfg->rcq_size);
	return 0;
}
