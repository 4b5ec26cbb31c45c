/* SPDX-License-Identifier: GPL-2.0 */
/* The slots of one send or receive queue: from posted to completed. */
#ifndef RPMA_QUEUE_H
#define RPMA_QUEUE_H

#include "wr.h"

/**
 * struct rpma_queue - the slots of one send or receive queue
 * @cq: where they complete; referenced
 * @qp_num: of the queue pair, for completions
 * @slots: a power of two of them
 * @mask: that power of two minus 1
 * @size: of these usable at a time
 * @tail: requests ever posted; one poster at a time
 * @head: of these completed; written under cq->lock
 *
 * One producer, the poster, and one consumer, the completion: they need no
 * lock in common.
 */
struct rpma_queue {
	struct rpma_cq *cq;
	u32 qp_num;
	struct rpma_wr *slots;
	u32 mask;
	u32 size;
	u64 tail;
	u64 head;
};

/**
 * rpma_queue_init - make the slots
 * @q: all zero
 * @cq: where they complete; the reference goes over to @q, also on failure
 * @size: how many requests it takes
 * @done: called when one of them completes
 *
 * Return: 0 or -ENOMEM; also then rpma_queue_exit() must follow.
 */
int rpma_queue_init(struct rpma_queue *q, struct rpma_cq *cq, u32 size,
		    void (*done)(struct ib_cq *ibcq, struct ib_wc *wc));
void rpma_queue_exit(struct rpma_queue *q);

/* The slot of the request that was the @pos-th to be posted. */
static inline struct rpma_wr *rpma_queue_slot(struct rpma_queue *q, u64 pos)
{
	return &q->slots[pos & q->mask];
}

/* Requests in flight; may be called by anybody. */
static inline u64 rpma_queue_in_flight(struct rpma_queue *q)
{
	/* Head first: it must not pass the tail that is read. */
	u64 head = READ_ONCE(q->head);

	return READ_ONCE(q->tail) - head;
}

/**
 * rpma_queue_push - check a request and give it the next slot
 * @q: the queue
 * @req: a kernel copy of the request
 * @env: what it may use
 *
 * Context: the poster.
 *
 * Return: 0, -EAGAIN without a slot or place, or as of rpma_wr_build().
 */
int rpma_queue_push(struct rpma_queue *q, const struct rpma_request *req,
		    const struct rpma_wr_env *env);

/**
 * rpma_queue_rewind - take back requests that were not handed over
 * @q: the queue
 * @pos: the first of them
 *
 * Context: the poster.
 */
void rpma_queue_rewind(struct rpma_queue *q, u64 pos);

/**
 * rpma_queue_complete - the oldest request in flight has completed
 * @q: the queue
 * @completion: the answer; the user gets it unless it wants no success
 *
 * Context: cq->lock held.
 */
void rpma_queue_complete(struct rpma_queue *q,
			 const struct rpma_completion *completion);

/**
 * rpma_queue_complete_until - all requests before one ended in the same way
 * @q: the queue
 * @pos: that one
 * @status: enum rpma_status
 *
 * Context: cq->lock held.
 */
void rpma_queue_complete_until(struct rpma_queue *q, u64 pos, u32 status);

/* Complete all that is in flight as ABORTED: the adapter never will. */
void rpma_queue_abort(struct rpma_queue *q);

#endif /* RPMA_QUEUE_H */
