// SPDX-License-Identifier: BSD-3-Clause
/* Peer configurations. On the wire: one byte, 1 for direct write, else 0. */
#include <errno.h>
#include <stdlib.h>

#include "log.h"
#include "peer_cfg.h"

#define PEER_CFG_DESC_SIZE 1

struct rpma_peer_cfg {
	atomic_bool direct_write;
};

bool peer_cfg_direct_write(const struct rpma_peer_cfg *pcfg)
{
	return atomic_load(&pcfg->direct_write);
}

static int create(bool direct_write, struct rpma_peer_cfg **pcfg_ptr)
{
	struct rpma_peer_cfg *pcfg = malloc(sizeof(*pcfg));

	if (!pcfg)
		return RPMA_E_NOMEM;
	atomic_init(&pcfg->direct_write, direct_write);
	*pcfg_ptr = pcfg;
	return 0;
}

int rpma_peer_cfg_new(struct rpma_peer_cfg **pcfg_ptr)
{
	if (!pcfg_ptr)
		return RPMA_E_INVAL;
	return create(false, pcfg_ptr);
}

int rpma_peer_cfg_delete(struct rpma_peer_cfg **pcfg_ptr)
{
	if (!pcfg_ptr)
		return RPMA_E_INVAL;
	free(*pcfg_ptr);
	*pcfg_ptr = NULL;
	return 0;
}

int rpma_peer_cfg_set_direct_write_to_pmem(struct rpma_peer_cfg *pcfg, bool supported)
{
	if (!pcfg)
		return RPMA_E_INVAL;
	atomic_store(&pcfg->direct_write, supported);
	return 0;
}

int rpma_peer_cfg_get_direct_write_to_pmem(const struct rpma_peer_cfg *pcfg, bool *supported)
{
	if (!pcfg || !supported)
		return RPMA_E_INVAL;
	*supported = peer_cfg_direct_write(pcfg);
	return 0;
}

int rpma_peer_cfg_get_descriptor(const struct rpma_peer_cfg *pcfg, void *desc)
{
	if (!pcfg || !desc)
		return RPMA_E_INVAL;
	*(uint8_t *)desc = peer_cfg_direct_write(pcfg);
	return 0;
}

int rpma_peer_cfg_get_descriptor_size(const struct rpma_peer_cfg *pcfg, size_t *desc_size)
{
	if (!pcfg || !desc_size)
		return RPMA_E_INVAL;
	*desc_size = PEER_CFG_DESC_SIZE;
	return 0;
}

int rpma_peer_cfg_from_descriptor(const void *desc, size_t desc_size,
				  struct rpma_peer_cfg **pcfg_ptr)
{
	if (!desc || !pcfg_ptr)
		return RPMA_E_INVAL;
	if (desc_size < PEER_CFG_DESC_SIZE) {
		log_error("%zu bytes are no peer configuration, at least %d are needed", desc_size,
			  PEER_CFG_DESC_SIZE);
		return RPMA_E_INVAL;
	}
	return create(*(const uint8_t *)desc != 0, pcfg_ptr);
}
