// SPDX-License-Identifier: GPL-2.0
/*
 * Shared receive queues: RECVs for whichever connection a message comes by.
 *
 * RECVs complete in any order and in the completion queue of the connection,
 * so a slot is not a position, and the place in the ring cannot be taken when
 * the RECV is posted. Each ring where they may complete keeps places for all of
 * them. What finds these unread nevertheless, because the RECV was posted again
 * meanwhile, is parked there and keeps its slot: then posting says EAGAIN, and
 * what is not read holds up messages, never memory.
 */

#include <linux/slab.h>
#include <linux/uaccess.h>

#include "srq.h"

/* Requests copied to the stack; more are posted in several goes. */
#define RPMA_SRQ_POST_ON_STACK 4

static struct rpma_srq *rpma_srq_of(struct rpma_object *obj)
{
	return container_of(obj, struct rpma_srq, obj);
}

/* ---- completion, under cq->lock ---- */

static void rpma_srq_return(struct rpma_srq_slot *slot)
{
	llist_add(&slot->free, &slot->srq->returned);
}

/* Put in rpma_srq_done(): after this the queue may be destroyed. */
static void rpma_srq_release_slot(struct rpma_cq_parked *parked)
{
	struct rpma_srq_slot *slot =
		container_of(parked, struct rpma_srq_slot, parked);
	struct rpma_srq *srq = slot->srq;

	rpma_srq_return(slot);
	rpma_srq_put(srq);
}

static u32 rpma_srq_qp_num(struct rpma_srq *srq, const struct ib_qp *ibqp)
{
	return xa_to_value(xa_load(&srq->qps, (unsigned long)ibqp));
}

static void rpma_srq_done(struct ib_cq *ibcq, struct ib_wc *wc)
{
	struct rpma_wr *wr = container_of(wc->wr_cqe, struct rpma_wr, cqe);
	struct rpma_srq_slot *slot = container_of(wr, struct rpma_srq_slot, wr);

	rpma_wr_answer_recv(wr, wc, rpma_srq_qp_num(slot->srq, wc->qp),
			    &slot->parked.completion);
	rpma_wr_put(wr);
	refcount_inc(&slot->srq->obj.users);
	rpma_cq_push_or_park(ibcq->cq_context, &slot->parked);
}

void rpma_srq_lock(struct rpma_srq *srq)
{
	mutex_lock(&srq->qps_lock);
}

void rpma_srq_unlock(struct rpma_srq *srq)
{
	mutex_unlock(&srq->qps_lock);
}

int rpma_srq_attach(struct rpma_srq *srq, const struct ib_qp *ibqp)
{
	lockdep_assert_held(&srq->qps_lock);
	return xa_err(xa_store(&srq->qps, (unsigned long)ibqp,
			       xa_mk_value(ibqp->qp_num), GFP_KERNEL_ACCOUNT));
}

void rpma_srq_detach(struct rpma_srq *srq, const struct ib_qp *ibqp)
{
	lockdep_assert_held(&srq->qps_lock);
	if (ibqp)
		xa_erase(&srq->qps, (unsigned long)ibqp);
}

/* ---- birth and death ---- */

static void rpma_srq_hw_revoke(struct rpma_hw *hw)
{
	struct rpma_srq *srq = container_of(hw, struct rpma_srq, hw);
	struct ib_srq *ibsrq;
	u32 i;

	spin_lock(&srq->lock);
	ibsrq = srq->ibsrq;
	srq->ibsrq = NULL;
	spin_unlock(&srq->lock);

	ib_destroy_srq(ibsrq);
	/* RECVs that no message took. */
	for (i = 0; i < srq->size; i++)
		rpma_wr_put(&srq->slots[i].wr);
}

static void rpma_srq_revoke(struct rpma_object *obj)
{
	rpma_hw_off(&rpma_srq_of(obj)->hw);
}

static void rpma_srq_free(struct rpma_object *obj)
{
	struct rpma_srq *srq = rpma_srq_of(obj);

	rpma_ctx_uncharge(obj->ctx, RPMA_QUOTA_SRQS, 1);
	rpma_peer_put(srq->peer);
	xa_destroy(&srq->qps);
	kvfree(srq->slots);
	kfree(srq);
}

static const struct rpma_object_ops rpma_srq_ops = {
	.revoke = rpma_srq_revoke,
	.free = rpma_srq_free,
};

struct rpma_srq *rpma_srq_get(struct rpma_ctx *ctx, u32 id)
{
	struct rpma_object *obj = rpma_object_get(ctx, id, &rpma_srq_ops);

	return obj ? rpma_srq_of(obj) : NULL;
}

void rpma_srq_put(struct rpma_srq *srq)
{
	rpma_object_put(&srq->obj);
}

static int rpma_srq_init_slots(struct rpma_srq *srq)
{
	u32 i;

	srq->slots = kvcalloc(srq->size, sizeof(*srq->slots),
			      GFP_KERNEL_ACCOUNT);
	if (!srq->slots)
		return -ENOMEM;
	for (i = srq->size; i--;) {
		srq->slots[i].srq = srq;
		srq->slots[i].wr.cqe.done = rpma_srq_done;
		srq->slots[i].parked.release = rpma_srq_release_slot;
		rpma_srq_return(&srq->slots[i]);
	}
	return 0;
}

static int rpma_srq_build(struct rpma_srq *srq)
{
	struct rpma_device *dev = srq->peer->dev;
	struct ib_srq_init_attr attr = {
		.attr = { .max_wr = srq->size, .max_sge = 1 },
		.srq_type = IB_SRQT_BASIC,
	};
	struct ib_srq *ibsrq;

	if (!rpma_device_begin(dev))
		return -ENODEV;
	if (!dev->ibdev->attrs.max_srq_wr)
		ibsrq = ERR_PTR(-EOPNOTSUPP);
	else if (srq->size > dev->ibdev->attrs.max_srq_wr)
		ibsrq = ERR_PTR(-EINVAL);
	else
		ibsrq = ib_create_srq(srq->peer->pd, &attr);
	if (!IS_ERR(ibsrq)) {
		srq->ibsrq = ibsrq;
		srq->hw.revoke = rpma_srq_hw_revoke;
		rpma_hw_on(&srq->hw, dev, RPMA_HW_SRQ);
	}
	rpma_device_end(dev);
	return PTR_ERR_OR_ZERO(ibsrq);
}

int rpma_srq_create_ioctl(struct rpma_ucmd *ucmd)
{
	struct rpma_ioc_srq_create *cmd = ucmd->cmd;
	struct rpma_ctx *ctx = ucmd->owner;
	struct rpma_srq *srq;
	int ret;

	if (cmd->flags || cmd->__reserved)
		return -EOPNOTSUPP;
	if (!cmd->entries || cmd->entries > rpma_max_queue_size())
		return -EINVAL;
	ret = rpma_ctx_charge(ctx, RPMA_QUOTA_SRQS, 1);
	if (ret)
		return ret;
	srq = kzalloc(sizeof(*srq), GFP_KERNEL_ACCOUNT);
	if (!srq) {
		ret = -ENOMEM;
		goto err_uncharge;
	}
	spin_lock_init(&srq->lock);
	mutex_init(&srq->qps_lock);
	xa_init_flags(&srq->qps, XA_FLAGS_ACCOUNT);
	srq->size = cmd->entries;
	srq->peer = rpma_peer_get(ctx, cmd->peer);
	if (!srq->peer) {
		ret = -ENOENT;
		goto err_free;
	}
	ret = rpma_srq_init_slots(srq);
	if (ret)
		goto err_put_peer;
	ret = rpma_object_reserve(ctx, &srq->obj, &rpma_srq_ops);
	if (ret)
		goto err_free_slots;
	ret = rpma_srq_build(srq);
	if (ret)
		goto err_abort;

	cmd->out_srq = srq->obj.id;
	ret = rpma_ucmd_respond(ucmd);
	if (ret)
		goto err_revoke;
	rpma_object_publish(&srq->obj);
	return 0;

err_revoke:
	rpma_hw_off(&srq->hw);
err_abort:
	rpma_object_abort(&srq->obj);
err_free_slots:
	kvfree(srq->slots);
err_put_peer:
	rpma_peer_put(srq->peer);
err_free:
	kfree(srq);
err_uncharge:
	rpma_ctx_uncharge(ctx, RPMA_QUOTA_SRQS, 1);
	return ret;
}

/* ---- posting ---- */

static struct rpma_srq_slot *rpma_srq_take_locked(struct rpma_srq *srq)
{
	struct llist_node *node;

	lockdep_assert_held(&srq->lock);
	if (!srq->free)
		srq->free = llist_del_all(&srq->returned);
	node = srq->free;
	if (!node)
		return NULL;
	srq->free = node->next;
	return llist_entry(node, struct rpma_srq_slot, free);
}

static int rpma_srq_post_one_locked(struct rpma_srq *srq,
				    const struct rpma_request *req)
{
	const struct rpma_wr_env env = {
		.ctx = srq->obj.ctx,
		.peer = srq->peer,
	};
	struct rpma_srq_slot *slot;
	int ret;

	if (!srq->ibsrq)
		return -ENODEV;
	slot = rpma_srq_take_locked(srq);
	if (!slot)
		return -EAGAIN;
	ret = rpma_wr_build(&slot->wr, req, &env);
	if (!ret) {
		ret = ib_post_srq_recv(srq->ibsrq, &slot->wr.recv, NULL);
		if (ret)
			rpma_wr_put(&slot->wr);
	}
	if (ret)
		rpma_srq_return(slot);
	return ret;
}

/* Return: how many were accepted, or the errno of the first. */
static int rpma_srq_post(struct rpma_srq *srq, const struct rpma_request *reqs,
			 u32 nr)
{
	int ret = 0;
	u32 i;

	spin_lock(&srq->lock);
	for (i = 0; i < nr; i++) {
		ret = rpma_request_is_recv(&reqs[i]) ?
			rpma_srq_post_one_locked(srq, &reqs[i]) : -EINVAL;
		if (ret)
			break;
	}
	spin_unlock(&srq->lock);
	return i ?: ret;
}

static int rpma_srq_post_from(struct rpma_srq *srq,
			      const struct rpma_ioc_srq_post *cmd)
{
	struct rpma_request reqs[RPMA_SRQ_POST_ON_STACK];
	const void __user *from = u64_to_user_ptr(cmd->requests);
	/* More are not posted at a time: a short count tells to go on. */
	u32 want = min(cmd->nr, srq->size);
	u32 posted = 0;
	int nr, ret;

	while (posted < want) {
		nr = rpma_requests_copy(reqs, min_t(u32, want - posted,
						    ARRAY_SIZE(reqs)),
					from + (size_t)posted * cmd->request_size,
					cmd->request_size);
		ret = nr < 0 ? nr : rpma_srq_post(srq, reqs, nr);
		if (ret < 0)
			return posted ?: ret;
		posted += ret;
		/* The next one would give an errno. */
		if (ret < nr)
			break;
	}
	return posted;
}

int rpma_srq_post_ioctl(struct rpma_ucmd *ucmd)
{
	const struct rpma_ioc_srq_post *cmd = ucmd->cmd;
	struct rpma_srq *srq;
	int ret;

	if (cmd->flags || cmd->__reserved)
		return -EOPNOTSUPP;
	if (!cmd->nr || cmd->request_size < sizeof(struct rpma_request))
		return -EINVAL;
	if (cmd->request_size > PAGE_SIZE)
		return -E2BIG;
	srq = rpma_srq_get(ucmd->owner, cmd->srq);
	if (!srq)
		return -ENOENT;
	ret = rpma_srq_post_from(srq, cmd);
	rpma_srq_put(srq);
	return ret;
}
