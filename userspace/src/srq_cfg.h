/* SPDX-License-Identifier: BSD-3-Clause */
/* Configurations of shared receive queues, as those who make queues read them. */
#ifndef RPMA_SRQ_CFG_H
#define RPMA_SRQ_CFG_H

#include <stdint.h>

struct rpma_srq_cfg;

/* Reads a configuration; NULL is the defaults. */
void srq_cfg_sizes(const struct rpma_srq_cfg *cfg, uint32_t *rq_size, uint32_t *rcq_size);

#endif /* RPMA_SRQ_CFG_H */
