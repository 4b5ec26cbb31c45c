// SPDX-License-Identifier: GPL-2.0
/* The slots of one send or receive queue: from posted to completed. */

#include <linux/log2.h>
#include <linux/slab.h>

#include "queue.h"

int rpma_queue_init(struct rpma_queue *q, struct rpma_cq *cq, u32 size,
		    void (*done)(struct ib_cq *ibcq, struct ib_wc *wc))
{
	u32 nr = roundup_pow_of_two(max(size, 1U));
	u32 i;

	q->cq = cq;
	q->size = size;
	q->mask = nr - 1;
	q->slots = kvcalloc(nr, sizeof(*q->slots), GFP_KERNEL_ACCOUNT);
	if (!q->slots)
		return -ENOMEM;
	for (i = 0; i < nr; i++) {
		q->slots[i].cqe.done = done;
		q->slots[i].queue = q;
	}
	return 0;
}

void rpma_queue_exit(struct rpma_queue *q)
{
	kvfree(q->slots);
	if (q->cq)
		rpma_cq_put(q->cq);
}

/* ---- the poster ---- */

static bool rpma_queue_is_full(struct rpma_queue *q)
{
	/* ORDER: head, then use the slot. Pairs with rpma_queue_complete(). */
	u64 head = smp_load_acquire(&q->head);

	return q->tail - head >= q->size;
}

int rpma_queue_push(struct rpma_queue *q, const struct rpma_request *req,
		    const struct rpma_wr_env *env)
{
	struct rpma_wr *wr = rpma_queue_slot(q, q->tail);
	int ret;

	if (!q->size)
		return -EINVAL;
	if (rpma_queue_is_full(q))
		return -EAGAIN;
	ret = rpma_wr_build(wr, req, env);
	if (ret)
		return ret;
	if (!rpma_ring_hold(&q->cq->ring)) {
		rpma_wr_put(wr);
		return -EAGAIN;
	}
	wr->pos = q->tail;
	/* Before it is handed over: it may complete at once. */
	WRITE_ONCE(q->tail, q->tail + 1);
	return 0;
}

void rpma_queue_rewind(struct rpma_queue *q, u64 pos)
{
	while (q->tail != pos) {
		WRITE_ONCE(q->tail, q->tail - 1);
		rpma_wr_put(rpma_queue_slot(q, q->tail));
		rpma_ring_unhold(&q->cq->ring);
	}
}

/* ---- completion ---- */

void rpma_queue_complete(struct rpma_queue *q,
			 const struct rpma_completion *completion)
{
	struct rpma_wr *wr = rpma_queue_slot(q, q->head);

	lockdep_assert_held(&q->cq->lock);
	rpma_wr_put(wr);
	if (completion->status != RPMA_STATUS_SUCCESS || wr->signaled)
		rpma_ring_push(&q->cq->ring, completion);
	else
		rpma_ring_unhold(&q->cq->ring);
	/* ORDER: done with the slot, then head. Pairs with _is_full(). */
	smp_store_release(&q->head, q->head + 1);
}

void rpma_queue_complete_until(struct rpma_queue *q, u64 pos, u32 status)
{
	struct rpma_completion completion;

	while (q->head != pos) {
		rpma_wr_answer(rpma_queue_slot(q, q->head), status, q->qp_num,
			       &completion);
		rpma_queue_complete(q, &completion);
	}
}

void rpma_queue_abort(struct rpma_queue *q)
{
	spin_lock(&q->cq->lock);
	rpma_queue_complete_until(q, q->tail, RPMA_STATUS_ABORTED);
	rpma_cq_wake(q->cq);
	spin_unlock(&q->cq->lock);
}
