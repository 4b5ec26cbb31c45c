/* SPDX-License-Identifier: GPL-2.0 */
/* Completion queues: the adapter's queue, and the ring the user reads. */
#ifndef RPMA_CQ_H
#define RPMA_CQ_H

#include <linux/atomic.h>
#include <linux/kref.h>
#include <linux/mutex.h>
#include <linux/wait.h>

#include "peer.h"

/* Completions fetched from the adapter at a time. */
#define RPMA_CQ_BATCH 8

/*
 * Connections that may send through one completion queue. Each may have a
 * marker in flight, for which the adapter's queue has spare entries.
 */
#define RPMA_CQ_MAX_SENDERS 64

/**
 * struct rpma_cq - a completion queue
 * @ref: one of its descriptor, one of each queue of a connection
 * @hw: @ibcq belongs to the device
 * @ctx: whose; its file is held
 * @peer: put when freed
 * @ibcq: NULL once revoked; under @lock
 * @lock: one fetches at a time, so completions stay in order
 * @wc: where they are fetched to; under @lock
 * @entries: size of the ring, a power of two
 * @ring: mapped read-only by the user; the tail is written under @lock
 * @slots: its entries
 * @ring_bytes: size of the mapping
 * @tail: the kernel's own copy of ring->tail; under @lock
 * @user_head: the page where the user says what it has read; not trusted
 * @head: the last value there that made sense
 * @held: places promised to requests that have not completed
 * @senders: connections whose send queues report here
 * @event_mark: @tail as of the last wait
 * @read_lock: one read(2) at a time
 * @wait: woken when something completed or the device is gone
 */
struct rpma_cq {
	struct kref ref;
	struct rpma_hw hw;
	struct rpma_ctx *ctx;
	struct rpma_peer *peer;

	spinlock_t lock; /* fetching */
	struct ib_cq *ibcq;
	struct ib_wc wc[RPMA_CQ_BATCH];

	u32 entries;
	u32 ring_bytes;
	struct rpma_cq_ring *ring;
	struct rpma_completion *slots;
	u32 tail;
	u32 *user_head;
	u32 head;
	atomic_t held;
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
 * rpma_cq_hold - take a place for a request about to be posted
 * @cq: where it will complete
 *
 * Return: false if there is none: unread completions take them.
 */
bool rpma_cq_hold(struct rpma_cq *cq);

/* Would rpma_cq_hold() succeed now? */
bool rpma_cq_has_place(struct rpma_cq *cq);

/* Give a place back: not posted after all, or completed silently. */
void rpma_cq_unhold(struct rpma_cq *cq);

/**
 * rpma_cq_push - a request completed: put it into the ring
 * @cq: where it holds a place
 * @completion: the answer
 *
 * Context: cq->lock held.
 */
void rpma_cq_push(struct rpma_cq *cq, const struct rpma_completion *completion);

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
