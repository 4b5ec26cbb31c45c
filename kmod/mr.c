// SPDX-License-Identifier: GPL-2.0
/* Memory regions: the user's memory, registered with a peer's device. */

#include <linux/mm.h>
#include <linux/overflow.h>
#include <linux/slab.h>

#include "mr.h"

static void rpma_mr_hw_revoke(struct rpma_hw *hw)
{
	struct rpma_mr *mr = container_of(hw, struct rpma_mr, hw);

	ib_dereg_mr(mr->ibmr);
	mr->ibmr = NULL;
}

static void rpma_mr_revoke(struct rpma_object *obj)
{
	rpma_hw_off(&container_of(obj, struct rpma_mr, obj)->hw);
}

static void rpma_mr_uncharge(struct rpma_mr *mr, struct rpma_ctx *ctx)
{
	rpma_ctx_uncharge(ctx, RPMA_QUOTA_PINNED, mr->pinned);
	rpma_ctx_uncharge(ctx, RPMA_QUOTA_MRS, 1);
}

static void rpma_mr_free(struct rpma_object *obj)
{
	struct rpma_mr *mr = container_of(obj, struct rpma_mr, obj);

	rpma_mr_uncharge(mr, obj->ctx);
	rpma_peer_put(mr->peer);
	kfree(mr);
}

static const struct rpma_object_ops rpma_mr_ops = {
	.revoke = rpma_mr_revoke,
	.free = rpma_mr_free,
	.may_force = true,
};

struct rpma_mr *rpma_mr_get(struct rpma_ctx *ctx, u32 id)
{
	struct rpma_object *obj = rpma_object_get(ctx, id, &rpma_mr_ops);

	return obj ? container_of(obj, struct rpma_mr, obj) : NULL;
}

void rpma_mr_put(struct rpma_mr *mr)
{
	rpma_object_put(&mr->obj);
}

/* Never relaxed ordering: a flush by READ would not push such writes ahead. */
static int rpma_mr_ib_access(const struct ib_device *ibdev, u32 access)
{
	int ib_access = rpma_flush_mr_access(ibdev, access);

	if (access & RPMA_ACCESS_READ_SRC)
		ib_access |= IB_ACCESS_REMOTE_READ;
	if (access & (RPMA_ACCESS_READ_DST | RPMA_ACCESS_RECV))
		ib_access |= IB_ACCESS_LOCAL_WRITE;
	if (access & RPMA_ACCESS_WRITE_DST)
		ib_access |= IB_ACCESS_REMOTE_WRITE | IB_ACCESS_LOCAL_WRITE;
	return ib_access;
}

static struct ib_mr *rpma_mr_reg_as(struct rpma_mr *mr, int ib_access)
{
	int ret = ib_check_mr_access(mr->peer->dev->ibdev, ib_access);

	if (ret)
		return ERR_PTR(ret);
	return ib_reg_user_mr(mr->peer->pd, mr->addr, mr->length, mr->addr,
			      ib_access);
}

/*
 * The provider says EINVAL to FLUSH_PERSISTENT on memory that is not
 * persistent, and to other faults; without the bit only the others remain.
 * Then either the caller vouches for the memory, or it learns why not.
 */
static struct ib_mr *rpma_mr_reg(struct rpma_mr *mr, u32 flags, int *ib_access)
{
	struct ib_mr *ibmr = rpma_mr_reg_as(mr, *ib_access);

	if (!IS_ERR(ibmr) || PTR_ERR(ibmr) != -EINVAL ||
	    !(*ib_access & IB_ACCESS_FLUSH_PERSISTENT))
		return ibmr;

	*ib_access &= ~IB_ACCESS_FLUSH_PERSISTENT;
	ibmr = rpma_mr_reg_as(mr, *ib_access);
	if (IS_ERR(ibmr) || flags & RPMA_MR_REG_F_PERSISTENT_BY_READ)
		return ibmr;
	ib_dereg_mr(ibmr);
	return ERR_PTR(-EOPNOTSUPP);
}

static int rpma_mr_build(struct rpma_mr *mr, struct rpma_ioc_mr_reg *cmd)
{
	struct rpma_device *dev = mr->peer->dev;
	struct ib_mr *ibmr;
	int ib_access;

	if (!rpma_device_begin(dev))
		return -ENODEV;
	ib_access = rpma_mr_ib_access(dev->ibdev, mr->access);
	ibmr = rpma_mr_reg(mr, cmd->flags, &ib_access);
	if (IS_ERR(ibmr)) {
		rpma_device_end(dev);
		/* With RLIMIT_MEMLOCK 0 the core says EPERM, else ENOMEM. */
		return PTR_ERR(ibmr) == -EPERM ? -ENOMEM : PTR_ERR(ibmr);
	}
	mr->ibmr = ibmr;
	mr->lkey = ibmr->lkey;
	mr->hw.revoke = rpma_mr_hw_revoke;
	rpma_hw_on(&mr->hw, dev, RPMA_HW_MR);
	cmd->out_rkey = ibmr->rkey;
	rpma_device_end(dev);

	cmd->out_global_methods = mr->access & RPMA_ACCESS_FLUSH_GLOBAL ?
		rpma_flush_mr_methods(ib_access, RPMA_FLUSH_GLOBAL) : 0;
	cmd->out_persistent_methods = mr->access & RPMA_ACCESS_FLUSH_PERSISTENT ?
		rpma_flush_mr_methods(ib_access, RPMA_FLUSH_PERSISTENT) : 0;
	return 0;
}

static int rpma_mr_charge(struct rpma_mr *mr, struct rpma_ctx *ctx)
{
	int ret;

	mr->pinned = PAGE_ALIGN(mr->length + offset_in_page(mr->addr));
	if (mr->pinned > mr->peer->dev->max_mr_size)
		return -ENOMEM;
	ret = rpma_ctx_charge(ctx, RPMA_QUOTA_MRS, 1);
	if (ret)
		return ret;
	ret = rpma_ctx_charge(ctx, RPMA_QUOTA_PINNED, mr->pinned);
	if (ret)
		rpma_ctx_uncharge(ctx, RPMA_QUOTA_MRS, 1);
	return ret;
}

static int rpma_mr_reg_check(const struct rpma_ioc_mr_reg *cmd)
{
	u64 end;

	if (cmd->flags & ~RPMA_MR_REG_F_PERSISTENT_BY_READ ||
	    cmd->access & ~RPMA_ACCESS_ALL)
		return -EOPNOTSUPP;
	if (!cmd->access || !cmd->length ||
	    check_add_overflow(cmd->addr, cmd->length, &end) ||
	    end > U64_MAX - PAGE_SIZE)
		return -EINVAL;
	return 0;
}

int rpma_mr_reg_ioctl(struct rpma_ucmd *ucmd)
{
	struct rpma_ioc_mr_reg *cmd = ucmd->cmd;
	struct rpma_ctx *ctx = ucmd->owner;
	struct rpma_mr *mr;
	int ret;

	ret = rpma_mr_reg_check(cmd);
	if (ret)
		return ret;
	mr = kzalloc(sizeof(*mr), GFP_KERNEL_ACCOUNT);
	if (!mr)
		return -ENOMEM;
	mr->addr = cmd->addr;
	mr->length = cmd->length;
	mr->access = cmd->access;
	mr->peer = rpma_peer_get(ctx, cmd->peer);
	if (!mr->peer) {
		ret = -ENOENT;
		goto err_free;
	}
	ret = rpma_mr_charge(mr, ctx);
	if (ret)
		goto err_put_peer;
	ret = rpma_object_reserve(ctx, &mr->obj, &rpma_mr_ops);
	if (ret)
		goto err_uncharge;
	ret = rpma_mr_build(mr, cmd);
	if (ret)
		goto err_abort;

	cmd->out_mr = mr->obj.id;
	ret = rpma_ucmd_respond(ucmd);
	if (ret)
		goto err_revoke;
	rpma_object_publish(&mr->obj);
	return 0;

err_revoke:
	rpma_hw_off(&mr->hw);
err_abort:
	rpma_object_abort(&mr->obj);
err_uncharge:
	rpma_mr_uncharge(mr, ctx);
err_put_peer:
	rpma_peer_put(mr->peer);
err_free:
	kfree(mr);
	return ret;
}
