/* SPDX-License-Identifier: GPL-2.0 */
/* Completion queues: the adapter's queue, and the ring the user reads. */
#ifndef RPMA_CQ_H
#define RPMA_CQ_H

#include <linux/kref.h>
#include <linux/mutex.h>
#include <linux/wait.h>

#include "channel.h"
#include "peer.h"
#include "ring.h"

/* Completions fetched from the adapter at a time. */
#define RPMA_CQ_BATCH 8

/*
 * Connections that may send through one completion queue. Each may have a
 * marker in flight, for which the adapter's queue has spare entries.
 */
#define RPMA_CQ_MAX_SENDERS RPMA_DEVICE_SPARE_CQE

/**
 * struct rpma_cq_parked - a completion of a shared RECV that finds no room
 * @node: on cq->parked
 * @completion: the completion
 * @release: it was put into the ring, or nobody will ever read it
 */
struct rpma_cq_parked {
	struct list_head node;
	struct rpma_completion completion;
	void (*release)(struct rpma_cq_parked *parked);
};

/**
 * struct rpma_cq - a completion queue
 * @ctx: whose; its file is held
 * @ref: one of its descriptor, one of each queue of a connection
 * @hw: @ibcq belongs to the device
 * @peer: put when freed
 * @ibcq: NULL once revoked; under @lock
 * @lock: one fetches at a time, so completions stay in order
 * @wc: where they are fetched to; under @lock
 * @revoked: the device is gone; under @lock
 * @ring: what the user reads; pushed to under @lock
 * @parked: completions that wait for room in it; under @lock
 * @shares: places kept in it for shared receive queues; under @share_lock
 * @share_lock: one reserves at a time
 * @member: its place in a completion channel, if it has one
 * @senders: connections whose send queues report here
 * @event_mark: the ring's tail as of the last wait
 * @read_lock: one read(2) at a time
 * @wait: woken when something completed or the device is gone
 */
struct rpma_cq {
	struct rpma_ctx *ctx;
	struct kref ref;
	struct rpma_hw hw;
	struct rpma_peer *peer;

	spinlock_t lock; /* fetching */
	struct ib_cq *ibcq;
	bool revoked;
	struct ib_wc wc[RPMA_CQ_BATCH];

	struct rpma_ring ring;
	struct list_head parked;
	struct list_head shares;
	struct mutex share_lock; /* shares */
	struct rpma_channel_member member;
	atomic_t senders;
	u32 event_mark;
	struct mutex read_lock; /* read(2) */
	wait_queue_head_t wait;
};

/**
 * rpma_cq_get - find a completion queue by descriptor
 * @ctx: whose it must be
 * @fd: the descriptor
 *
 * Return: the queue, to be given back with rpma_cq_put(), or NULL.
 */
struct rpma_cq *rpma_cq_get(struct rpma_ctx *ctx, int fd);

/* May sleep: the last put destroys. */
void rpma_cq_put(struct rpma_cq *cq);

/**
 * rpma_cq_attach - a connection's send queue will report here
 * @cq: the completion queue
 *
 * Return: 0 or -ENOSPC.
 */
int rpma_cq_attach(struct rpma_cq *cq);
void rpma_cq_detach(struct rpma_cq *cq);

/**
 * rpma_cq_reserve - RECVs of a shared queue may complete here from now on
 * @cq: the completion queue
 * @who: the shared queue; several connections on it need the places once
 * @entries: RECVs it holds
 *
 * Return: 0, -ENOSPC or -ENOMEM.
 */
int rpma_cq_reserve(struct rpma_cq *cq, const void *who, u32 entries);
void rpma_cq_unreserve(struct rpma_cq *cq, const void *who);

/**
 * rpma_cq_push_or_park - a RECV of a shared queue has completed
 * @cq: where
 * @parked: with its completion
 *
 * Calls @parked->release, now or later, under @cq->lock or as @cq dies.
 *
 * Context: @cq->lock held.
 */
void rpma_cq_push_or_park(struct rpma_cq *cq, struct rpma_cq_parked *parked);

/* Wake whoever waits for completions, or for room. Any context. */
void rpma_cq_wake(struct rpma_cq *cq);

/**
 * rpma_cq_fetch - fetch all completions that the adapter has
 * @cq: the queue
 */
void rpma_cq_fetch(struct rpma_cq *cq);

/**
 * rpma_cq_sleep - sleep until completions made something true
 * @cq: the queue, fetched from meanwhile
 * @cond: the condition; must not sleep
 * @arg: passed to @cond
 * @state: TASK_INTERRUPTIBLE, TASK_KILLABLE or TASK_UNINTERRUPTIBLE
 * @timeout: in jiffies
 *
 * Return: 0, -ERESTARTSYS, or -ETIME.
 */
int rpma_cq_sleep(struct rpma_cq *cq, bool (*cond)(void *arg), void *arg,
		  unsigned int state, long timeout);

/**
 * rpma_cq_arm - have the adapter wake cq->wait at the next completion
 * @cq: the queue, fetched from as well
 *
 * Return: true if so many came that fetching stopped early.
 */
bool rpma_cq_arm(struct rpma_cq *cq);

int rpma_cq_create_ioctl(struct rpma_ucmd *ucmd);

#endif /* RPMA_CQ_H */
