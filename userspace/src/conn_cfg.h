/* SPDX-License-Identifier: BSD-3-Clause */
/* Connection configurations, as those who make connections read them. */
#ifndef RPMA_CONN_CFG_H
#define RPMA_CONN_CFG_H

#include <stdbool.h>
#include <stdint.h>

struct rpma_conn_cfg;
struct rpma_srq;

/* What one connection is made with: a snapshot of a configuration. */
struct conn_params {
	uint32_t timeout_ms;
	uint32_t cq_size;
	uint32_t rcq_size;
	uint32_t sq_size;
	uint32_t rq_size;
	bool shared_channel;
	struct rpma_srq *srq;
};

/* Reads a configuration; NULL is the defaults. */
void conn_cfg_params(const struct rpma_conn_cfg *cfg, struct conn_params *params);

#endif /* RPMA_CONN_CFG_H */
