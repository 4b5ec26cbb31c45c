/* SPDX-License-Identifier: GPL-2.0 */
/* A queue pair: post, complete, drain, abort. */
#ifndef RPMA_QP_H
#define RPMA_QP_H

#include <linux/spinlock.h>

#include "srq.h"

/**
 * struct rpma_qp - a queue pair, embedded in its connection
 * @env: what its requests may use
 * @ibqp: NULL before it is attached and after it is detached; under @lock
 * @lock: one posts at a time
 * @stopped: nothing is posted any more; under @lock
 * @sending: the send queue takes requests; set once, under @lock
 * @sq: the send queue
 * @rq: the receive queue; without slots if messages arrive in @srq
 * @srq: shared receive queue, referenced, or NULL
 * @srq_key: what @srq knows the queue pair by, or NULL
 * @last_recv: the adapter will take no more RECVs out of @srq for it
 * @reserved: places in the receive completion queue are kept for @srq
 * @unsignaled: requests at the end of the send queue without a signal
 * @signal_every: so many at most
 * @marker: a WRITE of no bytes that brings the signal for those
 * @marker_busy: it is in flight
 * @values: 8 bytes for each slot of the send queue
 * @values_dma: their DMA address
 * @flushes: flushes ever posted
 */
struct rpma_qp {
	struct rpma_wr_env env;
	struct ib_qp *ibqp;
	spinlock_t lock; /* posting */
	bool stopped;
	bool sending;
	struct rpma_queue sq;
	struct rpma_queue rq;
	struct rpma_srq *srq;
	const struct ib_qp *srq_key;
	bool last_recv;
	bool reserved;
	u32 unsignaled;
	u32 signal_every;
	struct rpma_wr marker;
	bool marker_busy;
	u64 *values;
	u64 values_dma;
	u64 flushes;
};

/**
 * rpma_qp_init - make the queues
 * @qp: all zero
 * @ctx: where regions are looked up
 * @peer: whose regions may be used; outlives @qp
 * @queues: sizes and completion queues, as the user gave them
 *
 * Return: 0, -EINVAL, -EOPNOTSUPP, -EBADF, -EXDEV, -ENOSPC or -ENOMEM. Also
 * on failure rpma_qp_exit() must follow.
 */
int rpma_qp_init(struct rpma_qp *qp, struct rpma_ctx *ctx,
		 struct rpma_peer *peer, const struct rpma_conn_queues *queues);
void rpma_qp_exit(struct rpma_qp *qp);

/**
 * rpma_qp_build - allocate what the device must reach, and say what to create
 * @qp: after rpma_qp_init()
 * @attr: filled in for creating the queue pair
 *
 * Undone by rpma_qp_kill(). Return: 0 or -ENOMEM.
 */
int rpma_qp_build(struct rpma_qp *qp, struct ib_qp_init_attr *attr);

/* The adapter's last word on RECVs of a shared queue. Any context. */
void rpma_qp_on_last_recv(struct rpma_qp *qp);

/*
 * Around creating and attaching a queue pair, or destroying and killing it, so
 * that a shared receive queue does not take one for the other.
 */
void rpma_qp_lock_srq(struct rpma_qp *qp);
void rpma_qp_unlock_srq(struct rpma_qp *qp);

/* The queue pair exists: RECVs may be posted. Return: 0 or -ENOMEM. */
int rpma_qp_attach(struct rpma_qp *qp, struct ib_qp *ibqp);

/* The connection is up: everything may be posted. */
void rpma_qp_start(struct rpma_qp *qp);

/**
 * rpma_qp_post - post requests in order
 * @qp: the queue pair
 * @reqs: kernel copies
 * @nr: how many, not 0
 * @wait: sleep for room that comes by itself instead of -EAGAIN
 *
 * Return: how many were accepted, or the errno of the first.
 */
int rpma_qp_post(struct rpma_qp *qp, const struct rpma_request *reqs, u32 nr,
		 bool wait);

/* How flushes posted from now on travel, and whether the user insists on it. */
void rpma_qp_set_method(struct rpma_qp *qp, const struct rpma_flush_ops *method,
			bool insist);

/* Could a request be posted to the send queue now? */
bool rpma_qp_has_room(struct rpma_qp *qp);

/**
 * rpma_qp_drain - wait until the send queue is empty
 * @qp: the queue pair
 * @state: how to sleep
 * @timeout: in jiffies
 *
 * Return: 0, -ETIME or -ERESTARTSYS.
 */
int rpma_qp_drain(struct rpma_qp *qp, unsigned int state, long timeout);

/* Make unsignaled requests at the end of the send queue complete. */
void rpma_qp_mark(struct rpma_qp *qp);

/*
 * Bytes that the requests in flight on the send queue transfer. What a native
 * flush has the other side write back counts, but less.
 */
u64 rpma_qp_bytes_in_flight(struct rpma_qp *qp);

/**
 * rpma_qp_stop - no more posting; complete what is in flight
 * @qp: the queue pair, attached or not
 *
 * Moves the queue pair to the error state and gives the adapter some time to
 * hand everything back. To be followed by destroying the queue pair and
 * rpma_qp_kill().
 */
void rpma_qp_stop(struct rpma_qp *qp);

/**
 * rpma_qp_kill - complete what the adapter did not hand back
 * @qp: stopped, its queue pair destroyed
 */
void rpma_qp_kill(struct rpma_qp *qp);

#endif /* RPMA_QP_H */
