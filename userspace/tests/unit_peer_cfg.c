// SPDX-License-Identifier: BSD-3-Clause
/* Peer configurations. */
#include "unit_test.h"

void test_peer_cfg(void)
{
	struct rpma_peer_cfg *cfg = NULL;
	uint8_t desc[2] = { 0xee, 0xee };
	size_t size = 0;
	bool direct;

	ok(rpma_peer_cfg_new(NULL) == RPMA_E_INVAL, "peer_cfg: no result");
	ok(!rpma_peer_cfg_new(&cfg) && cfg, "peer_cfg: made");
	direct = true;
	ok(!rpma_peer_cfg_get_direct_write_to_pmem(cfg, &direct) && !direct,
	   "peer_cfg: no direct write at first");
	ok(!rpma_peer_cfg_get_descriptor_size(cfg, &size) && size == 1, "peer_cfg: one byte");
	ok(!rpma_peer_cfg_get_descriptor(cfg, desc) && desc[0] == 0 && desc[1] == 0xee,
	   "peer_cfg: descriptor without direct write");
	ok(!rpma_peer_cfg_set_direct_write_to_pmem(cfg, true) &&
	   !rpma_peer_cfg_get_descriptor(cfg, desc) && desc[0] == 1 && desc[1] == 0xee,
	   "peer_cfg: descriptor with direct write");
	ok(rpma_peer_cfg_set_direct_write_to_pmem(NULL, true) == RPMA_E_INVAL &&
	   rpma_peer_cfg_get_direct_write_to_pmem(NULL, &direct) == RPMA_E_INVAL &&
	   rpma_peer_cfg_get_direct_write_to_pmem(cfg, NULL) == RPMA_E_INVAL &&
	   rpma_peer_cfg_get_descriptor(NULL, desc) == RPMA_E_INVAL &&
	   rpma_peer_cfg_get_descriptor(cfg, NULL) == RPMA_E_INVAL &&
	   rpma_peer_cfg_get_descriptor_size(NULL, &size) == RPMA_E_INVAL &&
	   rpma_peer_cfg_get_descriptor_size(cfg, NULL) == RPMA_E_INVAL, "peer_cfg: NULL");
	ok(!rpma_peer_cfg_delete(&cfg) && !cfg && !rpma_peer_cfg_delete(&cfg) &&
	   rpma_peer_cfg_delete(NULL) == RPMA_E_INVAL, "peer_cfg: delete, none, NULL");

	ok(rpma_peer_cfg_from_descriptor(NULL, 1, &cfg) == RPMA_E_INVAL &&
	   rpma_peer_cfg_from_descriptor(desc, 1, NULL) == RPMA_E_INVAL &&
	   rpma_peer_cfg_from_descriptor(desc, 0, &cfg) == RPMA_E_INVAL && !cfg,
	   "peer_cfg: bad descriptors");
	direct = false;
	ok(!rpma_peer_cfg_from_descriptor(desc, sizeof(desc), &cfg) &&
	   !rpma_peer_cfg_get_direct_write_to_pmem(cfg, &direct) && direct,
	   "peer_cfg: from a descriptor with bytes behind it");
	rpma_peer_cfg_delete(&cfg);
}
