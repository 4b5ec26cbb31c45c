// SPDX-License-Identifier: GPL-2.0
/* A protection domain on a device: what may work together. */

#include <linux/slab.h>

#include "peer.h"

static void rpma_peer_hw_revoke(struct rpma_hw *hw)
{
	struct rpma_peer *peer = container_of(hw, struct rpma_peer, hw);

	ib_dma_unmap_single(peer->pd->device, peer->sink_dma,
			    RPMA_FLUSH_SINK_SIZE, DMA_FROM_DEVICE);
	ib_dealloc_pd(peer->pd);
	peer->pd = NULL;
}

static void rpma_peer_revoke(struct rpma_object *obj)
{
	rpma_hw_off(&container_of(obj, struct rpma_peer, obj)->hw);
}

static void rpma_peer_free(struct rpma_object *obj)
{
	struct rpma_peer *peer = container_of(obj, struct rpma_peer, obj);

	rpma_ctx_uncharge(obj->ctx, RPMA_QUOTA_PEERS, 1);
	rpma_device_put(peer->dev);
	kfree(peer->sink);
	kfree(peer);
}

static const struct rpma_object_ops rpma_peer_ops = {
	.revoke = rpma_peer_revoke,
	.free = rpma_peer_free,
	.is_used = true,
};

struct rpma_peer *rpma_peer_get(struct rpma_ctx *ctx, u32 id)
{
	struct rpma_object *obj = rpma_object_get(ctx, id, &rpma_peer_ops);

	return obj ? container_of(obj, struct rpma_peer, obj) : NULL;
}

void rpma_peer_hold(struct rpma_peer *peer)
{
	refcount_inc(&peer->obj.users);
}

void rpma_peer_put(struct rpma_peer *peer)
{
	rpma_object_put(&peer->obj);
}

/* Between rpma_device_begin() and rpma_device_end(). */
static int rpma_peer_build(struct rpma_peer *peer)
{
	struct ib_device *ibdev = peer->dev->ibdev;
	struct ib_pd *pd;

	peer->sink = kzalloc(RPMA_FLUSH_SINK_SIZE, GFP_KERNEL_ACCOUNT);
	if (!peer->sink)
		return -ENOMEM;
	pd = ib_alloc_pd(ibdev, 0);
	if (IS_ERR(pd))
		return PTR_ERR(pd);
	peer->sink_dma = ib_dma_map_single(ibdev, peer->sink,
					   RPMA_FLUSH_SINK_SIZE,
					   DMA_FROM_DEVICE);
	if (ib_dma_mapping_error(ibdev, peer->sink_dma)) {
		ib_dealloc_pd(pd);
		return -ENOMEM;
	}
	peer->pd = pd;
	peer->method = rpma_flush_choose(ibdev);
	peer->methods = rpma_flush_methods(ibdev);
	peer->hw.revoke = rpma_peer_hw_revoke;
	rpma_hw_on(&peer->hw, peer->dev, RPMA_HW_PEER);
	return 0;
}

static int rpma_peer_build_on(struct rpma_peer *peer, u32 number)
{
	int ret;

	peer->dev = rpma_device_get(number);
	if (!peer->dev)
		return -ENODEV;
	if (!rpma_device_begin(peer->dev))
		return -ENODEV;
	ret = rpma_device_is_tried(peer->dev) ? rpma_peer_build(peer) :
						-EOPNOTSUPP;
	rpma_device_end(peer->dev);
	return ret;
}

int rpma_peer_create_ioctl(struct rpma_ucmd *ucmd)
{
	struct rpma_ioc_peer_create *cmd = ucmd->cmd;
	struct rpma_ctx *ctx = ucmd->owner;
	struct rpma_peer *peer;
	int ret;

	if (cmd->flags || cmd->__reserved)
		return -EOPNOTSUPP;
	ret = rpma_ctx_charge(ctx, RPMA_QUOTA_PEERS, 1);
	if (ret)
		return ret;
	peer = kzalloc(sizeof(*peer), GFP_KERNEL_ACCOUNT);
	if (!peer) {
		ret = -ENOMEM;
		goto err_uncharge;
	}
	ret = rpma_object_reserve(ctx, &peer->obj, &rpma_peer_ops);
	if (ret)
		goto err_free;
	ret = rpma_peer_build_on(peer, cmd->device);
	if (ret)
		goto err_abort;

	cmd->out_peer = peer->obj.id;
	cmd->out_flush_method = peer->method->id;
	ret = rpma_ucmd_respond(ucmd);
	if (ret)
		goto err_revoke;
	rpma_object_publish(&peer->obj);
	return 0;

err_revoke:
	rpma_hw_off(&peer->hw);
err_abort:
	rpma_object_abort(&peer->obj);
	if (peer->dev)
		rpma_device_put(peer->dev);
	kfree(peer->sink);
err_free:
	kfree(peer);
err_uncharge:
	rpma_ctx_uncharge(ctx, RPMA_QUOTA_PEERS, 1);
	return ret;
}
