// SPDX-License-Identifier: GPL-2.0
/*
 * A queue pair: post, complete, drain, abort.
 *
 * Posting takes a slot, a place in the completion queue and a reference to the
 * region at once, or says EAGAIN. A slot comes back when its request completes;
 * an unsignaled one when a later one does. So that this happens in a stream
 * that never asks for a completion, every few requests are signaled on the wire
 * without the user hearing of it, and a marker, a WRITE of no bytes, fetches the
 * last ones when somebody must know.
 */

#include <linux/sched.h>
#include <linux/slab.h>

#include "qp.h"

/* The wire signals at least this often: a quarter of the queue, 16 at most. */
#define RPMA_QP_SIGNAL_MAX 16

/* How long to wait for room that needs a RECV of the other side. */
#define RPMA_QP_MESSAGE_TIMEOUT HZ

/* The other side writes back this much faster than the wire carries. */
#define RPMA_QP_WRITE_BACK_SPEED 32

/* How long an adapter may take to hand back the requests of a dead queue. */
#define RPMA_QP_STOP_TIMEOUT (2 * HZ)

/* ---- completion, under cq->lock ---- */

/* The one place where IB's "flushed" becomes our "aborted": same number. */
static_assert((int)RPMA_STATUS_ABORTED == (int)IB_WC_WR_FLUSH_ERR);

static void rpma_qp_send_done(struct ib_cq *ibcq, struct ib_wc *wc)
{
	struct rpma_wr *wr = container_of(wc->wr_cqe, struct rpma_wr, cqe);
	struct rpma_queue *sq = wr->queue;
	struct rpma_completion completion;

	/* Those before it had no signal and did not fail. */
	rpma_queue_complete_until(sq, wr->pos, RPMA_STATUS_SUCCESS);
	rpma_wr_answer(wr, wc->status, sq->qp_num, &completion);
	completion.vendor_err = wc->status ? wc->vendor_err : 0;
	rpma_queue_complete(sq, &completion);
}

static void rpma_qp_recv_done(struct ib_cq *ibcq, struct ib_wc *wc)
{
	struct rpma_wr *wr = container_of(wc->wr_cqe, struct rpma_wr, cqe);
	struct rpma_completion completion;

	rpma_wr_answer_recv(wr, wc, wr->queue->qp_num, &completion);
	rpma_queue_complete(wr->queue, &completion);
}

static void rpma_qp_marker_done(struct ib_cq *ibcq, struct ib_wc *wc)
{
	struct rpma_wr *wr = container_of(wc->wr_cqe, struct rpma_wr, cqe);
	struct rpma_qp *qp = container_of(wr, struct rpma_qp, marker);

	/*
	 * Also when the marker itself failed: a queue in error hands back
	 * every request it did not carry out, in order, signaled or not. What
	 * is left before the marker had succeeded silently.
	 */
	rpma_queue_complete_until(&qp->sq, wr->pos, RPMA_STATUS_SUCCESS);
	/* ORDER: done with the marker. Pairs with rpma_qp_mark_locked(). */
	smp_store_release(&qp->marker_busy, false);
}

/* ---- birth ---- */

/* Return: the completion queue, to be put by its queue, or ERR_PTR. */
static struct rpma_cq *rpma_qp_get_cq(struct rpma_qp *qp, int fd, u32 entries)
{
	struct rpma_cq *cq = rpma_cq_get(qp->env.ctx, fd);
	int ret = 0;

	if (!cq)
		return ERR_PTR(-EBADF);
	if (cq->peer != qp->env.peer)
		ret = -EXDEV;
	else if (entries > cq->ring.entries)
		ret = -ENOSPC;
	if (ret) {
		rpma_cq_put(cq);
		return ERR_PTR(ret);
	}
	return cq;
}

static int rpma_qp_init_sq(struct rpma_qp *qp,
			   const struct rpma_conn_queues *queues)
{
	struct rpma_cq *cq = rpma_qp_get_cq(qp, queues->send_cq_fd,
					    queues->sq_size);
	int ret;

	if (IS_ERR(cq))
		return PTR_ERR(cq);
	ret = rpma_cq_attach(cq);
	if (ret) {
		rpma_cq_put(cq);
		return ret;
	}
	qp->signal_every = clamp(queues->sq_size / 4, 1U, RPMA_QP_SIGNAL_MAX);
	qp->marker.cqe.done = rpma_qp_marker_done;
	return rpma_queue_init(&qp->sq, cq, queues->sq_size, rpma_qp_send_done);
}

/* Put in rpma_qp_exit(). */
static int rpma_qp_init_srq(struct rpma_qp *qp,
			    const struct rpma_conn_queues *queues)
{
	if (!queues->srq)
		return 0;
	if (queues->rq_size)
		return -EINVAL;
	qp->srq = rpma_srq_get(qp->env.ctx, queues->srq);
	if (!qp->srq)
		return -ENOENT;
	return qp->srq->peer == qp->env.peer ? 0 : -EXDEV;
}

static int rpma_qp_init_rq(struct rpma_qp *qp,
			   const struct rpma_conn_queues *queues)
{
	u32 size = qp->srq ? qp->srq->size : queues->rq_size;
	int fd = queues->recv_cq_fd == -1 ? queues->send_cq_fd :
					    queues->recv_cq_fd;
	struct rpma_cq *cq = rpma_qp_get_cq(qp, fd, size);
	int ret;

	if (IS_ERR(cq))
		return PTR_ERR(cq);
	/* One for both: RECVs must not leave the sends without a place. */
	if (cq == qp->sq.cq && size + queues->sq_size > cq->ring.entries) {
		rpma_cq_put(cq);
		return -ENOSPC;
	}
	ret = rpma_queue_init(&qp->rq, cq, queues->rq_size, rpma_qp_recv_done);
	if (!ret && qp->srq) {
		ret = rpma_cq_reserve(cq, qp->srq, size);
		qp->reserved = !ret;
	}
	return ret;
}

int rpma_qp_init(struct rpma_qp *qp, struct rpma_ctx *ctx,
		 struct rpma_peer *peer, const struct rpma_conn_queues *queues)
{
	u32 max = rpma_max_queue_size();
	int ret;

	spin_lock_init(&qp->lock);
	qp->env.ctx = ctx;
	qp->env.peer = peer;
	qp->env.method = peer->method;
	if (!queues->sq_size || queues->sq_size > max || queues->rq_size > max)
		return -EINVAL;
	ret = rpma_qp_init_sq(qp, queues);
	ret = ret ?: rpma_qp_init_srq(qp, queues);
	return ret ?: rpma_qp_init_rq(qp, queues);
}

void rpma_qp_exit(struct rpma_qp *qp)
{
	if (qp->sq.cq)
		rpma_cq_detach(qp->sq.cq);
	if (qp->reserved)
		rpma_cq_unreserve(qp->rq.cq, qp->srq);
	if (qp->srq)
		rpma_srq_put(qp->srq);
	rpma_queue_exit(&qp->sq);
	rpma_queue_exit(&qp->rq);
}

static size_t rpma_qp_values_size(const struct rpma_qp *qp)
{
	return (qp->sq.mask + 1) * sizeof(*qp->values);
}

int rpma_qp_build(struct rpma_qp *qp, struct ib_qp_init_attr *attr)
{
	struct ib_device *ibdev = qp->env.peer->dev->ibdev;
	size_t size = rpma_qp_values_size(qp);
	u32 i;

	qp->values = kzalloc(size, GFP_KERNEL_ACCOUNT | __GFP_NOWARN);
	if (!qp->values)
		return -ENOMEM;
	qp->values_dma = ib_dma_map_single(ibdev, qp->values, size,
					   DMA_TO_DEVICE);
	if (ib_dma_mapping_error(ibdev, qp->values_dma)) {
		kfree(qp->values);
		qp->values = NULL;
		return -ENOMEM;
	}
	for (i = 0; i <= qp->sq.mask; i++) {
		qp->sq.slots[i].value = &qp->values[i];
		qp->sq.slots[i].value_dma = qp->values_dma + i * sizeof(u64);
	}
	*attr = (struct ib_qp_init_attr) {
		.send_cq = qp->sq.cq->ibcq,
		.recv_cq = qp->rq.cq->ibcq,
		.srq = qp->srq ? qp->srq->ibsrq : NULL,
		.cap = {
			/* One more for the marker. */
			.max_send_wr = qp->sq.size + 1,
			.max_recv_wr = qp->srq ? 0 : max(qp->rq.size, 1U),
			.max_send_sge = 1,
			.max_recv_sge = qp->srq ? 0 : 1,
		},
		.sq_sig_type = IB_SIGNAL_REQ_WR,
		.qp_type = IB_QPT_RC,
	};
	return 0;
}

void rpma_qp_lock_srq(struct rpma_qp *qp)
{
	if (qp->srq)
		rpma_srq_lock(qp->srq);
}

void rpma_qp_unlock_srq(struct rpma_qp *qp)
{
	if (qp->srq)
		rpma_srq_unlock(qp->srq);
}

int rpma_qp_attach(struct rpma_qp *qp, struct ib_qp *ibqp)
{
	int ret;

	if (qp->srq) {
		ret = rpma_srq_attach(qp->srq, ibqp);
		if (ret)
			return ret;
		qp->srq_key = ibqp;
	}
	spin_lock(&qp->lock);
	qp->ibqp = ibqp;
	qp->sq.qp_num = ibqp->qp_num;
	qp->rq.qp_num = ibqp->qp_num;
	spin_unlock(&qp->lock);
	return 0;
}

void rpma_qp_start(struct rpma_qp *qp)
{
	spin_lock(&qp->lock);
	qp->sending = true;
	spin_unlock(&qp->lock);
}

/* ---- posting ---- */

void rpma_qp_set_method(struct rpma_qp *qp, const struct rpma_flush_ops *method,
			bool insist)
{
	spin_lock(&qp->lock);
	qp->env.method = method;
	qp->env.insist = insist;
	spin_unlock(&qp->lock);
}

bool rpma_qp_has_room(struct rpma_qp *qp)
{
	return rpma_queue_in_flight(&qp->sq) < qp->sq.size &&
	       rpma_ring_has_place(&qp->sq.cq->ring);
}

/* The wire's signal: because the user asked, or because it is about time. */
static void rpma_qp_choose_signal(struct rpma_qp *qp, struct rpma_wr *wr)
{
	if (wr->signaled || qp->unsignaled + 1 >= qp->signal_every) {
		wr->send.send_flags |= IB_SEND_SIGNALED;
		qp->unsignaled = 0;
	} else {
		qp->unsignaled++;
	}
}

static int rpma_qp_hand_over_sends(struct rpma_qp *qp, u64 first)
{
	struct rpma_wr *wr = rpma_queue_slot(&qp->sq, first);
	const struct ib_send_wr *bad = &wr->send;
	u64 pos;
	int ret;

	for (pos = first; pos + 1 != qp->sq.tail; pos++) {
		wr = rpma_queue_slot(&qp->sq, pos);
		wr->send.next = &rpma_queue_slot(&qp->sq, pos + 1)->send;
	}
	ret = ib_post_send(qp->ibqp, bad, &bad);
	if (ret) {
		wr = container_of(bad, struct rpma_wr, send);
		rpma_queue_rewind(&qp->sq, wr->pos);
		/* A signal may be among them: give one to the next. */
		qp->unsignaled = qp->signal_every;
	}
	return ret;
}

static int rpma_qp_hand_over_recvs(struct rpma_qp *qp, u64 first)
{
	struct rpma_wr *wr = rpma_queue_slot(&qp->rq, first);
	const struct ib_recv_wr *bad = &wr->recv;
	u64 pos;
	int ret;

	for (pos = first; pos + 1 != qp->rq.tail; pos++) {
		wr = rpma_queue_slot(&qp->rq, pos);
		wr->recv.next = &rpma_queue_slot(&qp->rq, pos + 1)->recv;
	}
	ret = ib_post_recv(qp->ibqp, bad, &bad);
	if (ret) {
		wr = container_of(bad, struct rpma_wr, recv);
		rpma_queue_rewind(&qp->rq, wr->pos);
	}
	return ret;
}

/* As many as belong to one queue and fit, in one chain. */
static int rpma_qp_post_run_locked(struct rpma_qp *qp,
				   const struct rpma_request *reqs, u32 nr)
{
	bool recv = rpma_request_is_recv(reqs);
	struct rpma_queue *q = recv ? &qp->rq : &qp->sq;
	u64 first = q->tail;
	int err = 0;
	u32 i;

	lockdep_assert_held(&qp->lock);
	if (!qp->ibqp || qp->stopped)
		return -ENODEV;
	if (!recv && !qp->sending)
		return -ENOTCONN;
	for (i = 0; i < nr && rpma_request_is_recv(&reqs[i]) == recv; i++) {
		err = rpma_queue_push(q, &reqs[i], &qp->env);
		if (err)
			break;
		if (!recv)
			rpma_qp_choose_signal(qp, rpma_queue_slot(q, first + i));
	}
	if (q->tail == first)
		return err;
	err = recv ? rpma_qp_hand_over_recvs(qp, first) :
		     rpma_qp_hand_over_sends(qp, first);
	if (q->tail == first)
		return err;
	for (i = 0; first + i != q->tail; i++)
		qp->flushes += reqs[i].op == RPMA_OP_FLUSH;
	return i;
}

static int rpma_qp_post_run(struct rpma_qp *qp, const struct rpma_request *reqs,
			    u32 nr)
{
	int ret;

	spin_lock(&qp->lock);
	ret = rpma_qp_post_run_locked(qp, reqs, nr);
	spin_unlock(&qp->lock);
	return ret;
}

/* Do requests in flight give a place back without the user reading? */
static bool rpma_qp_has_silent(struct rpma_qp *qp)
{
	bool silent = false;
	u64 pos;

	spin_lock(&qp->lock);
	for (pos = READ_ONCE(qp->sq.head); pos != qp->sq.tail; pos++)
		if (!rpma_queue_slot(&qp->sq, pos)->signaled)
			silent = true;
	spin_unlock(&qp->lock);
	return silent;
}

u64 rpma_qp_bytes_in_flight(struct rpma_qp *qp)
{
	const struct rpma_wr *wr;
	u64 bytes = 0;
	u64 pos;

	spin_lock(&qp->lock);
	for (pos = READ_ONCE(qp->sq.head); pos != qp->sq.tail; pos++) {
		wr = rpma_queue_slot(&qp->sq, pos);
		if (wr->op != RPMA_OP_FLUSH)
			bytes += wr->len;
		else if (wr->method == RPMA_FLUSH_METHOD_NATIVE)
			bytes += wr->len / RPMA_QP_WRITE_BACK_SPEED;
	}
	spin_unlock(&qp->lock);
	return bytes;
}

static bool rpma_wr_needs_recv(const struct rpma_wr *wr)
{
	return wr->op == RPMA_OP_SEND || wr->op == RPMA_OP_SEND_WITH_IMM ||
	       wr->op == RPMA_OP_WRITE_WITH_IMM;
}

/*
 * Does the next completion wait for a message, which waits for a RECV? The other
 * side may be waiting for us before it posts one.
 */
static bool rpma_qp_waits_for_recv(struct rpma_qp *qp)
{
	const struct rpma_wr *wr;
	bool waits = false;
	u64 pos;

	spin_lock(&qp->lock);
	for (pos = READ_ONCE(qp->sq.head); pos != qp->sq.tail; pos++) {
		wr = rpma_queue_slot(&qp->sq, pos);
		waits = waits || rpma_wr_needs_recv(wr);
		if (wr->send.send_flags & IB_SEND_SIGNALED)
			break;
	}
	spin_unlock(&qp->lock);
	return waits;
}

/* A large message takes its time also where a RECV waits for it. */
static long rpma_qp_message_timeout(struct rpma_qp *qp)
{
	u64 mib = min(rpma_qp_bytes_in_flight(qp) >> 20, 3600ULL);

	return RPMA_QP_MESSAGE_TIMEOUT + mib * HZ;
}

static bool rpma_qp_waits_in_vain(struct rpma_qp *qp)
{
	return rpma_queue_in_flight(&qp->sq) < qp->sq.size &&
	       !rpma_qp_has_silent(qp);
}

static bool rpma_qp_wait_is_over(void *arg)
{
	return rpma_qp_has_room(arg) || rpma_qp_waits_in_vain(arg);
}

/* Return: 0 to try again, -EAGAIN if only the user can make room. */
static int rpma_qp_wait_for_room(struct rpma_qp *qp)
{
	u64 head;
	int ret;

	do {
		rpma_qp_mark(qp);
		head = READ_ONCE(qp->sq.head);
		ret = rpma_cq_sleep(qp->sq.cq, rpma_qp_wait_is_over, qp,
				    TASK_INTERRUPTIBLE,
				    rpma_qp_message_timeout(qp));
		if (ret && ret != -ETIME)
			return ret;
	} while (ret && (head != READ_ONCE(qp->sq.head) ||
			 !rpma_qp_waits_for_recv(qp)));
	return !ret && rpma_qp_has_room(qp) ? 0 : -EAGAIN;
}

static int rpma_qp_post_some(struct rpma_qp *qp,
			     const struct rpma_request *reqs, u32 nr, bool wait)
{
	int ret = rpma_qp_post_run(qp, reqs, nr);

	if (ret != -EAGAIN)
		return ret;
	/* What has completed makes room once it is fetched. */
	rpma_cq_fetch(rpma_request_is_recv(reqs) ? qp->rq.cq : qp->sq.cq);
	ret = rpma_qp_post_run(qp, reqs, nr);
	while (ret == -EAGAIN && wait && !rpma_request_is_recv(reqs)) {
		ret = rpma_qp_wait_for_room(qp);
		if (ret)
			return ret;
		ret = rpma_qp_post_run(qp, reqs, nr);
	}
	return ret;
}

int rpma_qp_post(struct rpma_qp *qp, const struct rpma_request *reqs, u32 nr,
		 bool wait)
{
	u32 taken = 0;
	int ret;

	while (taken < nr) {
		ret = rpma_qp_post_some(qp, reqs + taken, nr - taken, wait);
		if (ret < 0)
			return taken ?: ret;
		taken += ret;
	}
	return taken;
}

static void rpma_qp_mark_locked(struct rpma_qp *qp)
{
	struct ib_rdma_wr *wr = &qp->marker.rdma;

	lockdep_assert_held(&qp->lock);
	if (!qp->ibqp || !qp->sending || !qp->unsignaled)
		return;
	/* ORDER: free, then use it again. Pairs with _marker_done(). */
	if (smp_load_acquire(&qp->marker_busy))
		return;
	qp->marker_busy = true;
	qp->marker.pos = qp->sq.tail;
	*wr = (struct ib_rdma_wr) {
		.wr = {
			.wr_cqe = &qp->marker.cqe,
			.opcode = IB_WR_RDMA_WRITE,
			.send_flags = IB_SEND_SIGNALED,
		},
	};
	if (ib_post_send(qp->ibqp, &wr->wr, NULL))
		qp->marker_busy = false;
	else
		qp->unsignaled = 0;
}

void rpma_qp_mark(struct rpma_qp *qp)
{
	spin_lock(&qp->lock);
	rpma_qp_mark_locked(qp);
	spin_unlock(&qp->lock);
}

/* ---- death ---- */

static bool rpma_qp_is_idle(void *arg)
{
	struct rpma_qp *qp = arg;

	/* Again, if others were posted behind the last marker. */
	rpma_qp_mark(qp);
	return !rpma_queue_in_flight(&qp->sq) && !READ_ONCE(qp->marker_busy);
}

void rpma_qp_on_last_recv(struct rpma_qp *qp)
{
	WRITE_ONCE(qp->last_recv, true);
	wake_up(&qp->rq.cq->wait);
}

/* RECVs of a shared queue complete before the adapter's last word. */
static bool rpma_qp_has_no_recvs(void *arg)
{
	struct rpma_qp *qp = arg;

	if (qp->srq)
		return READ_ONCE(qp->last_recv);
	return !rpma_queue_in_flight(&qp->rq);
}

int rpma_qp_drain(struct rpma_qp *qp, unsigned int state, long timeout)
{
	return rpma_cq_sleep(qp->sq.cq, rpma_qp_is_idle, qp, state, timeout);
}

void rpma_qp_stop(struct rpma_qp *qp)
{
	struct ib_qp_attr attr = { .qp_state = IB_QPS_ERR };
	struct ib_qp *ibqp;

	/* ORDER: no poster is inside after this; later ones see it stopped. */
	spin_lock(&qp->lock);
	ibqp = qp->ibqp;
	qp->stopped = true;
	spin_unlock(&qp->lock);
	if (!ibqp)
		return;

	/* Whatever rdma_cm does to it meanwhile fails: ERR is left by RESET. */
	ib_modify_qp(ibqp, &attr, IB_QP_STATE);
	rpma_cq_sleep(qp->sq.cq, rpma_qp_is_idle, qp, TASK_UNINTERRUPTIBLE,
		      RPMA_QP_STOP_TIMEOUT);
	rpma_cq_sleep(qp->rq.cq, rpma_qp_has_no_recvs, qp,
		      TASK_UNINTERRUPTIBLE, RPMA_QP_STOP_TIMEOUT);

	/* No marker either from here on. */
	spin_lock(&qp->lock);
	qp->ibqp = NULL;
	spin_unlock(&qp->lock);
}

void rpma_qp_kill(struct rpma_qp *qp)
{
	if (!qp->values)
		return;
	/* The last the adapter had to say; it points into our slots. */
	rpma_cq_fetch(qp->sq.cq);
	rpma_cq_fetch(qp->rq.cq);
	if (qp->srq)
		rpma_srq_detach(qp->srq, qp->srq_key);
	rpma_queue_abort(&qp->sq);
	rpma_queue_abort(&qp->rq);
	ib_dma_unmap_single(qp->env.peer->dev->ibdev, qp->values_dma,
			    rpma_qp_values_size(qp), DMA_TO_DEVICE);
	kfree(qp->values);
	qp->values = NULL;
}
