/* SPDX-License-Identifier: GPL-2.0 */
/* Shared receive queues: RECVs for whichever connection a message comes by. */
#ifndef RPMA_SRQ_H
#define RPMA_SRQ_H

#include <linux/llist.h>
#include <linux/mutex.h>
#include <linux/xarray.h>

#include "queue.h"

struct rpma_srq;

/**
 * struct rpma_srq_slot - one RECV
 * @wr: the work request
 * @srq: whose slot
 * @free: on srq->returned, then on srq->free
 * @parked: its completion
 */
struct rpma_srq_slot {
	struct rpma_wr wr;
	struct rpma_srq *srq;
	struct llist_node free;
	struct rpma_cq_parked parked;
};

/**
 * struct rpma_srq - a shared receive queue
 * @obj: its id; users are connections, and completions without room
 * @hw: @ibsrq belongs to the device
 * @peer: put when freed
 * @lock: one posts at a time
 * @ibsrq: NULL once revoked; under @lock
 * @size: RECVs it holds
 * @slots: so many
 * @free: slots that can be posted; under @lock
 * @returned: slots that became free; no lock, completions come from all sides
 * @qps: qp_num by queue pair, as the adapter's completion names it. A key is
 *	never followed: the queue pair may be gone when a completion is fetched.
 * @qps_lock: held from creating a queue pair until it is in @qps, and from
 *	destroying it until it is out: its memory may be the next one's
 */
struct rpma_srq {
	struct rpma_object obj;
	struct rpma_hw hw;
	struct rpma_peer *peer;
	spinlock_t lock; /* posting */
	struct ib_srq *ibsrq;
	u32 size;
	struct rpma_srq_slot *slots;
	struct llist_node *free;
	struct llist_head returned;
	struct xarray qps;
	struct mutex qps_lock; /* queue pairs that come and go */
};

/**
 * rpma_srq_get - find a shared receive queue by id
 * @ctx: whose
 * @id: its id
 *
 * Return: the queue, to be given back with rpma_srq_put(), or NULL.
 */
struct rpma_srq *rpma_srq_get(struct rpma_ctx *ctx, u32 id);
/* Never the last one: DESTROY waits for nobody and drops that. */
void rpma_srq_put(struct rpma_srq *srq);

/* Around creating and attaching, or destroying and detaching. */
void rpma_srq_lock(struct rpma_srq *srq);
void rpma_srq_unlock(struct rpma_srq *srq);

/**
 * rpma_srq_attach - messages of a queue pair will arrive here
 * @srq: the queue
 * @ibqp: the queue pair
 *
 * Context: between rpma_srq_lock() and rpma_srq_unlock().
 *
 * Return: 0 or -ENOMEM.
 */
int rpma_srq_attach(struct rpma_srq *srq, const struct ib_qp *ibqp);

/**
 * rpma_srq_detach - undo rpma_srq_attach()
 * @srq: the queue
 * @ibqp: the queue pair, destroyed, and every completion of it fetched; or NULL
 *
 * Context: between rpma_srq_lock() and rpma_srq_unlock().
 */
void rpma_srq_detach(struct rpma_srq *srq, const struct ib_qp *ibqp);

int rpma_srq_create_ioctl(struct rpma_ucmd *ucmd);
int rpma_srq_post_ioctl(struct rpma_ucmd *ucmd);

#endif /* RPMA_SRQ_H */
