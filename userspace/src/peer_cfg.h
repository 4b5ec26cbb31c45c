/* SPDX-License-Identifier: BSD-3-Clause */
/* What a machine promises to those who write to it. */
#ifndef RPMA_PEER_CFG_H
#define RPMA_PEER_CFG_H

#include <stdbool.h>

struct rpma_peer_cfg;

bool peer_cfg_direct_write(const struct rpma_peer_cfg *pcfg);

#endif /* RPMA_PEER_CFG_H */
