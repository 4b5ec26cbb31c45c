// SPDX-License-Identifier: GPL-2.0
/*
 * From a request of the user to a work request of the adapter. Posts nothing.
 *
 * User space names regions by id and offset. Keys, addresses and send flags
 * are chosen here: a kernel queue pair would take any address for its own.
 */

#include <linux/overflow.h>
#include <linux/string.h>
#include <linux/uaccess.h>

#include "wr.h"

/* What an op takes from the request; everything else must be zero. */
#define RPMA_NEEDS_LOCAL	BIT(0)
#define RPMA_NEEDS_REMOTE	BIT(1)
#define RPMA_NEEDS_IMM		BIT(2)
#define RPMA_NEEDS_PLACEMENT	BIT(3)
#define RPMA_NEEDS_VALUE	BIT(4)

/* Fenced: waits for the READs and FLUSHes before it. */
static const struct rpma_op_row {
	enum ib_wr_opcode opcode;
	u32 needs;
	u32 local_access;
	u32 remote_access;
	int send_flags;
} rpma_ops[] = {
	[RPMA_OP_WRITE] = {
		IB_WR_RDMA_WRITE, RPMA_NEEDS_LOCAL | RPMA_NEEDS_REMOTE,
		RPMA_ACCESS_WRITE_SRC, RPMA_ACCESS_WRITE_DST,
	},
	[RPMA_OP_WRITE_WITH_IMM] = {
		IB_WR_RDMA_WRITE_WITH_IMM,
		RPMA_NEEDS_LOCAL | RPMA_NEEDS_REMOTE | RPMA_NEEDS_IMM,
		RPMA_ACCESS_WRITE_SRC, RPMA_ACCESS_WRITE_DST,
	},
	[RPMA_OP_READ] = {
		IB_WR_RDMA_READ, RPMA_NEEDS_LOCAL | RPMA_NEEDS_REMOTE,
		RPMA_ACCESS_READ_DST, RPMA_ACCESS_READ_SRC,
	},
	[RPMA_OP_FLUSH] = {
		/* The method has the opcode, the placement the access. */
		.needs = RPMA_NEEDS_REMOTE | RPMA_NEEDS_PLACEMENT,
	},
	[RPMA_OP_SEND] = {
		IB_WR_SEND, RPMA_NEEDS_LOCAL, RPMA_ACCESS_SEND,
	},
	[RPMA_OP_SEND_WITH_IMM] = {
		IB_WR_SEND_WITH_IMM, RPMA_NEEDS_LOCAL | RPMA_NEEDS_IMM,
		RPMA_ACCESS_SEND,
	},
	[RPMA_OP_RECV] = {
		.needs = RPMA_NEEDS_LOCAL, .local_access = RPMA_ACCESS_RECV,
	},
	[RPMA_OP_ATOMIC_WRITE] = {
		/* Or RPMA_WR_ATOMIC_WRITE. */
		IB_WR_RDMA_WRITE, RPMA_NEEDS_REMOTE | RPMA_NEEDS_VALUE,
		.remote_access = RPMA_ACCESS_WRITE_DST,
		.send_flags = IB_SEND_FENCE,
	},
};

u64 rpma_wr_ops(void)
{
	u64 ops = 0;
	size_t op;

	for (op = 0; op < ARRAY_SIZE(rpma_ops); op++)
		if (rpma_ops[op].needs)
			ops |= 1ULL << op;
	return ops;
}

int rpma_requests_copy(struct rpma_request *reqs, u32 nr,
		       const void __user *from, u32 size)
{
	u32 i;
	int ret;

	for (i = 0; i < nr; i++, from += size) {
		ret = copy_struct_from_user(&reqs[i], sizeof(*reqs), from,
					    size);
		if (ret)
			return i ?: ret;
	}
	return nr;
}

static int rpma_request_check_fields(const struct rpma_request *req)
{
	u32 needs;

	if (req->flags & ~RPMA_REQ_F_SIGNALED || req->__reserved)
		return -EOPNOTSUPP;
	if (req->op >= ARRAY_SIZE(rpma_ops) || !rpma_ops[req->op].needs)
		return -EINVAL;
	needs = rpma_ops[req->op].needs;
	if (!(needs & RPMA_NEEDS_LOCAL) && (req->mr || req->mr_offset))
		return -EINVAL;
	if (!(needs & RPMA_NEEDS_REMOTE) &&
	    (req->remote_offset ||
	     memchr_inv(&req->remote, 0, sizeof(req->remote))))
		return -EINVAL;
	if (!(needs & RPMA_NEEDS_IMM) && req->imm_data)
		return -EINVAL;
	if (!(needs & RPMA_NEEDS_PLACEMENT) && req->placement)
		return -EINVAL;
	if (!(needs & RPMA_NEEDS_VALUE) && req->value)
		return -EINVAL;
	return 0;
}

static bool rpma_range_is_inside(u64 offset, u64 len, u64 size)
{
	return offset <= size && len <= size - offset;
}

static int rpma_request_check_remote(const struct rpma_request *req)
{
	const struct rpma_remote *remote = &req->remote;
	u32 access = rpma_ops[req->op].remote_access;
	u64 end;

	if (remote->access & ~RPMA_ACCESS_ALL)
		return -EOPNOTSUPP;
	if (check_add_overflow(remote->addr, remote->length, &end) ||
	    !rpma_range_is_inside(req->remote_offset, req->len, remote->length))
		return -EINVAL;
	/* A transfer of nothing may go nowhere. */
	if (req->len && (remote->access & access) != access)
		return -EACCES;
	return 0;
}

/* Consumes nothing on failure. Put in rpma_wr_put(). */
static int rpma_wr_build_local(struct rpma_wr *wr,
			       const struct rpma_request *req,
			       const struct rpma_wr_env *env)
{
	u32 access = rpma_ops[req->op].local_access;
	struct rpma_mr *mr;
	int ret = 0;

	if (!req->mr)
		return req->len || req->mr_offset ? -EINVAL : 0;
	mr = rpma_mr_get(env->ctx, req->mr);
	if (!mr)
		return -ENOENT;
	if (mr->peer != env->peer)
		ret = -EXDEV;
	else if ((mr->access & access) != access)
		ret = -EACCES;
	else if (!rpma_range_is_inside(req->mr_offset, req->len, mr->length))
		ret = -EINVAL;
	else if (req->len > env->peer->dev->max_msg_size)
		ret = -EMSGSIZE;
	if (ret) {
		rpma_mr_put(mr);
		return ret;
	}
	wr->mr = mr;
	wr->sge.addr = mr->addr + req->mr_offset;
	wr->sge.length = req->len;
	wr->sge.lkey = mr->lkey;
	return 0;
}

static int rpma_wr_build_flush(struct rpma_wr *wr,
			       const struct rpma_request *req,
			       const struct rpma_wr_env *env)
{
	const struct rpma_flush_ops *method = READ_ONCE(env->method);
	const struct rpma_flush flush = {
		.remote = &req->remote,
		.offset = req->remote_offset,
		.len = req->len,
		.placement = req->placement,
		.sink = env->peer->sink_dma,
		.sink_lkey = env->peer->pd->local_dma_lkey,
	};
	u32 access = 0;

	if (!req->placement || req->placement & ~RPMA_FLUSH_ALL ||
	    !req->remote.length)
		return -EINVAL;
	if (req->placement & RPMA_FLUSH_GLOBAL)
		access |= RPMA_ACCESS_FLUSH_GLOBAL;
	if (req->placement & RPMA_FLUSH_PERSISTENT)
		access |= RPMA_ACCESS_FLUSH_PERSISTENT;
	if ((req->remote.access & access) != access)
		return -EOPNOTSUPP;
	if (req->placement & RPMA_FLUSH_PERSISTENT &&
	    method->needs_direct_write && !env->direct_write)
		return -EOPNOTSUPP;
	if (req->len > method->max_len)
		return -EMSGSIZE;
	if (!env->insist &&
	    !rpma_flush_is_granted(method, env->peer->dev->ibdev,
				   req->remote.access, env->peer_readable))
		return -EOPNOTSUPP;

	wr->method = method->id;
	method->build(&flush, &wr->flush, &wr->sge);
	return 0;
}

static int rpma_wr_build_atomic_write(struct rpma_wr *wr,
				      const struct rpma_request *req,
				      const struct rpma_wr_env *env)
{
	const struct rpma_flush_ops *method = READ_ONCE(env->method);

	if (req->len != sizeof(*wr->value) ||
	    !IS_ALIGNED(wr->rdma.remote_addr, sizeof(*wr->value)))
		return -EINVAL;
	if (!READ_ONCE(env->no_reads) &&
	    rpma_flush_has_atomic_write(method, env->peer->dev->ibdev)) {
		wr->send.opcode = RPMA_WR_ATOMIC_WRITE;
		wr->method = method->id;
	}
	*wr->value = req->value;
	ib_dma_sync_single_for_device(env->peer->dev->ibdev, wr->value_dma,
				      sizeof(*wr->value), DMA_TO_DEVICE);
	wr->sge.addr = wr->value_dma;
	wr->sge.length = sizeof(*wr->value);
	wr->sge.lkey = env->peer->pd->local_dma_lkey;
	return 0;
}

/* Takes one of what the sides agreed on to have in flight. */
static bool rpma_wr_is_answered(u32 op)
{
	return op == RPMA_OP_READ || op == RPMA_OP_FLUSH;
}

static int rpma_wr_build_send(struct rpma_wr *wr,
			      const struct rpma_request *req,
			      const struct rpma_wr_env *env)
{
	const struct rpma_op_row *op = &rpma_ops[req->op];
	int ret;

	if (op->needs & RPMA_NEEDS_REMOTE) {
		ret = rpma_request_check_remote(req);
		if (ret)
			return ret;
	}
	if (READ_ONCE(env->no_reads) && rpma_wr_is_answered(req->op))
		return -EOPNOTSUPP;
	memset(&wr->flush, 0, sizeof(wr->flush));
	wr->send.wr_cqe = &wr->cqe;
	wr->send.opcode = op->opcode;
	wr->send.send_flags = op->send_flags;
	if (op->needs & RPMA_NEEDS_PLACEMENT)
		return rpma_wr_build_flush(wr, req, env);

	wr->rdma.remote_addr = req->remote.addr + req->remote_offset;
	wr->rdma.rkey = req->remote.rkey;
	if (op->needs & RPMA_NEEDS_VALUE)
		ret = rpma_wr_build_atomic_write(wr, req, env);
	else
		ret = rpma_wr_build_local(wr, req, env);
	if (op->needs & RPMA_NEEDS_IMM)
		wr->send.ex.imm_data = (__force __be32)req->imm_data;
	if (req->len) {
		wr->send.sg_list = &wr->sge;
		wr->send.num_sge = 1;
	}
	return ret;
}

static int rpma_wr_build_recv(struct rpma_wr *wr,
			      const struct rpma_request *req,
			      const struct rpma_wr_env *env)
{
	memset(&wr->recv, 0, sizeof(wr->recv));
	wr->recv.wr_cqe = &wr->cqe;
	if (req->len) {
		wr->recv.sg_list = &wr->sge;
		wr->recv.num_sge = 1;
	}
	return rpma_wr_build_local(wr, req, env);
}

int rpma_wr_build(struct rpma_wr *wr, const struct rpma_request *req,
		  const struct rpma_wr_env *env)
{
	int ret = rpma_request_check_fields(req);

	if (ret)
		return ret;
	wr->op = req->op;
	wr->method = RPMA_FLUSH_METHOD_NONE;
	wr->context = req->context;
	wr->len = req->len;
	wr->mr = NULL;
	wr->signaled = rpma_request_is_recv(req) ||
		       req->flags & RPMA_REQ_F_SIGNALED;
	return rpma_request_is_recv(req) ? rpma_wr_build_recv(wr, req, env) :
					   rpma_wr_build_send(wr, req, env);
}

void rpma_wr_put(struct rpma_wr *wr)
{
	if (wr->mr)
		rpma_mr_put(wr->mr);
	wr->mr = NULL;
}

void rpma_wr_answer(const struct rpma_wr *wr, u32 status, u32 qp_num,
		    struct rpma_completion *completion)
{
	*completion = (struct rpma_completion) {
		.context = wr->context,
		.len = status == RPMA_STATUS_SUCCESS ? wr->len : 0,
		.status = status,
		.op = wr->op,
		.method = wr->method,
		.qp_num = qp_num,
	};
}

void rpma_wr_answer_recv(const struct rpma_wr *wr, const struct ib_wc *wc,
			 u32 qp_num, struct rpma_completion *completion)
{
	rpma_wr_answer(wr, wc->status, qp_num, completion);
	if (wc->status != IB_WC_SUCCESS) {
		completion->vendor_err = wc->vendor_err;
		return;
	}
	completion->len = wc->byte_len;
	if (wc->wc_flags & IB_WC_WITH_IMM) {
		completion->flags |= RPMA_COMPLETION_F_IMM;
		completion->imm_data = (__force u32)wc->ex.imm_data;
	}
	if (wc->opcode == IB_WC_RECV_RDMA_WITH_IMM)
		completion->flags |= RPMA_COMPLETION_F_RDMA;
}
