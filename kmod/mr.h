/* SPDX-License-Identifier: GPL-2.0 */
/* Memory regions: the user's memory, registered with a peer's device. */
#ifndef RPMA_MR_H
#define RPMA_MR_H

#include "peer.h"

#define RPMA_ACCESS_ALL (RPMA_ACCESS_READ_SRC | RPMA_ACCESS_READ_DST |	 \
			 RPMA_ACCESS_WRITE_SRC | RPMA_ACCESS_WRITE_DST | \
			 RPMA_ACCESS_FLUSH_GLOBAL |			 \
			 RPMA_ACCESS_FLUSH_PERSISTENT |			 \
			 RPMA_ACCESS_SEND | RPMA_ACCESS_RECV)

/**
 * struct rpma_mr - a registered piece of user memory
 * @obj: its id; users are work requests in flight
 * @hw: @ibmr belongs to the device
 * @peer: put when freed
 * @ibmr: the registration; used by revoke only
 * @addr: where it starts in the address space that registered it
 * @length: its bytes
 * @access: enum rpma_access
 * @lkey: for work requests; outlives @ibmr, then names nothing
 * @pinned: bytes charged
 */
struct rpma_mr {
	struct rpma_object obj;
	struct rpma_hw hw;
	struct rpma_peer *peer;
	struct ib_mr *ibmr;
	u64 addr;
	u64 length;
	u32 access;
	u32 lkey;
	u64 pinned;
};

/**
 * rpma_mr_get - find a region by id
 * @ctx: whose
 * @id: its id
 *
 * Return: the region, to be given back with rpma_mr_put(), or NULL.
 */
struct rpma_mr *rpma_mr_get(struct rpma_ctx *ctx, u32 id);
/* May be called under spinlocks. */
void rpma_mr_put(struct rpma_mr *mr);

int rpma_mr_reg_ioctl(struct rpma_ucmd *ucmd);

#endif /* RPMA_MR_H */
