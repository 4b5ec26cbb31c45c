/* SPDX-License-Identifier: GPL-2.0 */
/* From a request of the user to a work request of the adapter. */
#ifndef RPMA_WR_H
#define RPMA_WR_H

#include <rdma/ib_verbs.h>

#include "cq.h"
#include "mr.h"

struct rpma_queue;

/**
 * struct rpma_wr - a slot for one work request
 * @cqe: how its completion is found
 * @queue: whose slot; unused in a marker and in a shared receive queue
 * @pos: how many were posted to this queue before it; likewise
 * @context: the user's
 * @len: bytes asked for
 * @mr: its region, referenced while in flight, or NULL
 * @op: enum rpma_op
 * @method: enum rpma_flush_method, of FLUSH and ATOMIC_WRITE
 * @signaled: the user wants to hear of success
 * @value: 8 bytes of DMA memory, for ATOMIC_WRITE; NULL in a receive queue
 * @value_dma: its address
 * @sge: what @rdma, @flush or @recv point to
 * @send: for a send queue: what @rdma and @flush begin with
 * @rdma: all but FLUSH
 * @flush: FLUSH
 * @recv: for a receive queue
 *
 * Owned by the poster until posted, by the adapter until it completes.
 */
struct rpma_wr {
	struct ib_cqe cqe;
	struct rpma_queue *queue;
	u64 pos;
	u64 context;
	u64 len;
	struct rpma_mr *mr;
	u8 op;
	u8 method;
	bool signaled;
	u64 *value;
	u64 value_dma;
	struct ib_sge sge;
	union {
		struct ib_send_wr send;
		struct ib_rdma_wr rdma;
		union rpma_flush_wr flush;
		struct ib_recv_wr recv;
	};
};

/**
 * struct rpma_wr_env - what a request may use
 * @ctx: where its region's id is valid
 * @peer: whose region it must be
 * @method: how flushes travel
 * @no_reads: the remote side keeps nothing to answer READs and flushes with
 * @direct_write: the remote side declared direct write to persistent memory
 * @peer_readable: the remote side said that its regions can be read
 * @insist: flush whether or not the remote side is likely to allow it
 */
struct rpma_wr_env {
	struct rpma_ctx *ctx;
	struct rpma_peer *peer;
	const struct rpma_flush_ops *method;
	bool no_reads;
	bool direct_write;
	bool peer_readable;
	bool insist;
};

/* Does this request go to the receive queue? */
static inline bool rpma_request_is_recv(const struct rpma_request *req)
{
	return req->op == RPMA_OP_RECV;
}

/**
 * rpma_wr_build - check a request and fill a slot from it
 * @wr: the slot; cqe, queue and pos are the caller's
 * @req: a kernel copy of the request
 * @env: what it may use
 *
 * On success the slot holds a reference to its region, to be dropped with
 * rpma_wr_put(). On failure it holds nothing.
 *
 * Return: 0, or an errno as in struct rpma_request.
 */
int rpma_wr_build(struct rpma_wr *wr, const struct rpma_request *req,
		  const struct rpma_wr_env *env);
void rpma_wr_put(struct rpma_wr *wr);

/**
 * rpma_requests_copy - copy requests from user space
 * @reqs: room for @nr
 * @nr: how many
 * @from: the first of them
 * @size: the distance of two there, and their size as the caller knows it
 *
 * Return: how many were copied, or the errno of the first.
 */
int rpma_requests_copy(struct rpma_request *reqs, u32 nr,
		       const void __user *from, u32 size);

/**
 * rpma_wr_answer - the answer to a request that ended with this status
 * @wr: the request
 * @status: enum rpma_status
 * @qp_num: of its queue pair
 * @completion: filled in
 */
void rpma_wr_answer(const struct rpma_wr *wr, u32 status, u32 qp_num,
		    struct rpma_completion *completion);

/**
 * rpma_wr_answer_recv - the answer to a RECV, from the adapter's
 * @wr: the RECV
 * @wc: the adapter's
 * @qp_num: of the queue pair that the message came by
 * @completion: filled in
 */
void rpma_wr_answer_recv(const struct rpma_wr *wr, const struct ib_wc *wc,
			 u32 qp_num, struct rpma_completion *completion);

/* Bit (1 << RPMA_OP_x) for each op that can be built. */
u64 rpma_wr_ops(void);

#endif /* RPMA_WR_H */
