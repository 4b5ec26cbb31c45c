/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The few bytes of private data by which one side describes to the other a
 * region and what its machine promises. How this is told is between the two
 * programs; librpma gives the bytes.
 */
#ifndef EXAMPLES_OFFER_H
#define EXAMPLES_OFFER_H

#include "common.h"

struct offer {
	uint8_t mr_size;
	uint8_t cfg_size;
	uint8_t bytes[48];
};

/* @direct_write: see rpma_peer_cfg_set_direct_write_to_pmem(). */
static inline void offer_make(struct offer *offer, const struct rpma_mr_local *mr,
			      bool direct_write)
{
	struct rpma_peer_cfg *cfg;
	size_t mr_size, cfg_size;

	check(rpma_peer_cfg_new(&cfg), "rpma_peer_cfg_new");
	check(rpma_peer_cfg_set_direct_write_to_pmem(cfg, direct_write), "rpma_peer_cfg_set");
	check(rpma_mr_get_descriptor_size(mr, &mr_size), "rpma_mr_get_descriptor_size");
	check(rpma_peer_cfg_get_descriptor_size(cfg, &cfg_size),
	      "rpma_peer_cfg_get_descriptor_size");
	if (mr_size + cfg_size > sizeof(offer->bytes))
		die("the region's description is larger than thought");

	memset(offer, 0, sizeof(*offer));
	offer->mr_size = mr_size;
	offer->cfg_size = cfg_size;
	check(rpma_mr_get_descriptor(mr, offer->bytes), "rpma_mr_get_descriptor");
	check(rpma_peer_cfg_get_descriptor(cfg, offer->bytes + mr_size),
	      "rpma_peer_cfg_get_descriptor");
	rpma_peer_cfg_delete(&cfg);
}

/* Whether private data is an offer. Others write it: never trust its numbers. */
static inline bool offer_read(const struct rpma_conn_private_data *pdata, struct offer *offer)
{
	if (!pdata->ptr || pdata->len < sizeof(*offer))
		return false;
	memcpy(offer, pdata->ptr, sizeof(*offer));
	return offer->mr_size + offer->cfg_size <= (int)sizeof(offer->bytes);
}

/*
 * Takes the offer that came with a connection, tells the connection what the
 * other machine promises, and returns the region. *@persistent: flushes to it
 * can be PERSISTENT.
 */
static inline struct rpma_mr_remote *offer_take(struct rpma_conn *conn, bool *persistent)
{
	struct rpma_conn_private_data pdata;
	struct rpma_mr_remote *mr;
	struct rpma_peer_cfg *cfg;
	struct offer offer;
	int flush_type;
	bool direct;

	check(rpma_conn_get_private_data(conn, &pdata), "rpma_conn_get_private_data");
	if (!offer_read(&pdata, &offer))
		die("the other side offers no memory: is it the program that belongs to this one?");

	check(rpma_mr_remote_from_descriptor(offer.bytes, offer.mr_size, &mr), "the remote region");
	check(rpma_peer_cfg_from_descriptor(offer.bytes + offer.mr_size, offer.cfg_size, &cfg),
	      "the remote machine's configuration");
	check(rpma_conn_apply_remote_peer_cfg(conn, cfg), "rpma_conn_apply_remote_peer_cfg");
	check(rpma_peer_cfg_get_direct_write_to_pmem(cfg, &direct), "rpma_peer_cfg_get");
	rpma_peer_cfg_delete(&cfg);

	check(rpma_mr_remote_get_flush_type(mr, &flush_type), "rpma_mr_remote_get_flush_type");
	*persistent = direct && (flush_type & RPMA_MR_USAGE_FLUSH_TYPE_PERSISTENT);
	return mr;
}

#endif /* EXAMPLES_OFFER_H */
