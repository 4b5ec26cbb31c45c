/* SPDX-License-Identifier: GPL-2.0 */
/* A protection domain on a device: what may work together. */
#ifndef RPMA_PEER_H
#define RPMA_PEER_H

#include <rdma/ib_verbs.h>

#include "ctx.h"
#include "device.h"
#include "flush.h"
#include "ioctl.h"

/**
 * struct rpma_peer - a protection domain on a device
 * @obj: its id; users are regions, queues, endpoints, connections
 * @hw: @pd and the sink belong to the device
 * @dev: put when freed
 * @pd: NULL once revoked
 * @method: how its connections flush if nobody says otherwise
 * @methods: how they can, from rpma_flush_methods()
 * @sink: where READs of read_after_write put their bytes; never read
 * @sink_dma: its DMA address, key is pd->local_dma_lkey
 */
struct rpma_peer {
	struct rpma_object obj;
	struct rpma_hw hw;
	struct rpma_device *dev;
	struct ib_pd *pd;
	const struct rpma_flush_ops *method;
	u32 methods;
	void *sink;
	u64 sink_dma;
};

/**
 * rpma_peer_get - find a peer by id
 * @ctx: whose
 * @id: its id
 *
 * Return: the peer, to be given back with rpma_peer_put(), or NULL.
 */
struct rpma_peer *rpma_peer_get(struct rpma_ctx *ctx, u32 id);
/* One more reference, by one who has one. */
void rpma_peer_hold(struct rpma_peer *peer);
void rpma_peer_put(struct rpma_peer *peer);

int rpma_peer_create_ioctl(struct rpma_ucmd *ucmd);

#endif /* RPMA_PEER_H */
