// SPDX-License-Identifier: BSD-3-Clause
/* Connection configurations: numbers to be set and read from any thread. */
#include <errno.h>
#include <stdlib.h>

#include "conn_cfg.h"
#include "log.h"

struct rpma_conn_cfg {
	atomic_int timeout_ms;
	_Atomic(uint32_t) cq_size;
	_Atomic(uint32_t) rcq_size;
	_Atomic(uint32_t) sq_size;
	_Atomic(uint32_t) rq_size;
	atomic_bool shared_channel;
	_Atomic(struct rpma_srq *) srq;
};

static const struct conn_params defaults = {
	.timeout_ms = RPMA_DEFAULT_TIMEOUT_MS,
	.cq_size = 10,
	.rcq_size = 0,
	.sq_size = 10,
	.rq_size = 10,
	.shared_channel = false,
	.srq = NULL,
};

void conn_cfg_params(const struct rpma_conn_cfg *cfg, struct conn_params *params)
{
	if (!cfg) {
		*params = defaults;
		return;
	}
	params->timeout_ms = atomic_load(&cfg->timeout_ms);
	params->cq_size = atomic_load(&cfg->cq_size);
	params->rcq_size = atomic_load(&cfg->rcq_size);
	params->sq_size = atomic_load(&cfg->sq_size);
	params->rq_size = atomic_load(&cfg->rq_size);
	params->shared_channel = atomic_load(&cfg->shared_channel);
	params->srq = atomic_load(&cfg->srq);
}

int rpma_conn_cfg_new(struct rpma_conn_cfg **cfg_ptr)
{
	struct rpma_conn_cfg *cfg;

	if (!cfg_ptr)
		return RPMA_E_INVAL;
	cfg = malloc(sizeof(*cfg));
	if (!cfg)
		return RPMA_E_NOMEM;
	atomic_init(&cfg->timeout_ms, defaults.timeout_ms);
	atomic_init(&cfg->cq_size, defaults.cq_size);
	atomic_init(&cfg->rcq_size, defaults.rcq_size);
	atomic_init(&cfg->sq_size, defaults.sq_size);
	atomic_init(&cfg->rq_size, defaults.rq_size);
	atomic_init(&cfg->shared_channel, defaults.shared_channel);
	atomic_init(&cfg->srq, defaults.srq);
	*cfg_ptr = cfg;
	return 0;
}

int rpma_conn_cfg_delete(struct rpma_conn_cfg **cfg_ptr)
{
	if (!cfg_ptr)
		return RPMA_E_INVAL;
	free(*cfg_ptr);
	*cfg_ptr = NULL;
	return 0;
}

int rpma_conn_cfg_set_timeout(struct rpma_conn_cfg *cfg, int timeout_ms)
{
	if (!cfg || timeout_ms < 0)
		return RPMA_E_INVAL;
	atomic_store(&cfg->timeout_ms, timeout_ms);
	return 0;
}

int rpma_conn_cfg_get_timeout(const struct rpma_conn_cfg *cfg, int *timeout_ms)
{
	if (!cfg || !timeout_ms)
		return RPMA_E_INVAL;
	*timeout_ms = atomic_load(&cfg->timeout_ms);
	return 0;
}

static int set_size(_Atomic(uint32_t) *field, uint32_t size)
{
	atomic_store(field, size);
	return 0;
}

static int get_size(const _Atomic(uint32_t) *field, uint32_t *size)
{
	if (!size)
		return RPMA_E_INVAL;
	*size = atomic_load(field);
	return 0;
}

int rpma_conn_cfg_set_cq_size(struct rpma_conn_cfg *cfg, uint32_t cq_size)
{
	return cfg ? set_size(&cfg->cq_size, cq_size) : RPMA_E_INVAL;
}

int rpma_conn_cfg_get_cq_size(const struct rpma_conn_cfg *cfg, uint32_t *cq_size)
{
	return cfg ? get_size(&cfg->cq_size, cq_size) : RPMA_E_INVAL;
}

int rpma_conn_cfg_set_rcq_size(struct rpma_conn_cfg *cfg, uint32_t rcq_size)
{
	return cfg ? set_size(&cfg->rcq_size, rcq_size) : RPMA_E_INVAL;
}

int rpma_conn_cfg_get_rcq_size(const struct rpma_conn_cfg *cfg, uint32_t *rcq_size)
{
	return cfg ? get_size(&cfg->rcq_size, rcq_size) : RPMA_E_INVAL;
}

int rpma_conn_cfg_set_sq_size(struct rpma_conn_cfg *cfg, uint32_t sq_size)
{
	return cfg ? set_size(&cfg->sq_size, sq_size) : RPMA_E_INVAL;
}

int rpma_conn_cfg_get_sq_size(const struct rpma_conn_cfg *cfg, uint32_t *sq_size)
{
	return cfg ? get_size(&cfg->sq_size, sq_size) : RPMA_E_INVAL;
}

int rpma_conn_cfg_set_rq_size(struct rpma_conn_cfg *cfg, uint32_t rq_size)
{
	return cfg ? set_size(&cfg->rq_size, rq_size) : RPMA_E_INVAL;
}

int rpma_conn_cfg_get_rq_size(const struct rpma_conn_cfg *cfg, uint32_t *rq_size)
{
	return cfg ? get_size(&cfg->rq_size, rq_size) : RPMA_E_INVAL;
}

int rpma_conn_cfg_set_compl_channel(struct rpma_conn_cfg *cfg, bool shared)
{
	if (!cfg)
		return RPMA_E_INVAL;
	atomic_store(&cfg->shared_channel, shared);
	return 0;
}

int rpma_conn_cfg_get_compl_channel(const struct rpma_conn_cfg *cfg, bool *shared)
{
	if (!cfg || !shared)
		return RPMA_E_INVAL;
	*shared = atomic_load(&cfg->shared_channel);
	return 0;
}

int rpma_conn_cfg_set_srq(struct rpma_conn_cfg *cfg, struct rpma_srq *srq)
{
	if (!cfg || !srq)
		return RPMA_E_INVAL;
	atomic_store(&cfg->srq, srq);
	return 0;
}

int rpma_conn_cfg_get_srq(const struct rpma_conn_cfg *cfg, struct rpma_srq **srq_ptr)
{
	if (!cfg || !srq_ptr)
		return RPMA_E_INVAL;
	*srq_ptr = atomic_load(&cfg->srq);
	return 0;
}
