// SPDX-License-Identifier: GPL-2.0
/* Endpoints: listening, and the connections that wait to be taken. */

#include <linux/anon_inodes.h>
#include <linux/file.h>
#include <linux/module.h>
#include <linux/poll.h>
#include <linux/slab.h>

#include "ep.h"

static uint max_backlog = 128;
module_param(max_backlog, uint, 0644);
MODULE_PARM_DESC(max_backlog, "incoming connections an endpoint holds");

static const struct file_operations rpma_ep_fops;
RPMA_CHILD_STARTS_WITH_CTX(rpma_ep);

u32 rpma_ep_max_backlog(void)
{
	return clamp(READ_ONCE(max_backlog), 1U, 65536U);
}

/* ---- the backlog ---- */

static bool rpma_ep_push(struct rpma_ep *ep, struct rpma_conn *conn)
{
	bool room;

	spin_lock(&ep->lock);
	room = ep->waiting < ep->max_waiting;
	if (room) {
		list_add_tail(&conn->node, &ep->backlog);
		ep->waiting++;
		wake_up(&ep->wait);
	}
	spin_unlock(&ep->lock);
	return room;
}

static struct rpma_conn *rpma_ep_pop(struct rpma_ep *ep)
{
	struct rpma_conn *conn;

	spin_lock(&ep->lock);
	conn = list_first_entry_or_null(&ep->backlog, struct rpma_conn, node);
	if (conn) {
		list_del_init(&conn->node);
		ep->waiting--;
	}
	spin_unlock(&ep->lock);
	return conn;
}

/* It was popped and could not be used: the next one to take. */
static void rpma_ep_unpop(struct rpma_ep *ep, struct rpma_conn *conn)
{
	spin_lock(&ep->lock);
	list_add(&conn->node, &ep->backlog);
	ep->waiting++;
	wake_up(&ep->wait);
	spin_unlock(&ep->lock);
}

static bool rpma_ep_is_readable(struct rpma_ep *ep)
{
	return READ_ONCE(ep->waiting) || READ_ONCE(ep->gone);
}

/* rdma_cm rejects what we refuse, and what arrives over another device. */
static int rpma_ep_on_request(struct rpma_cm *cm, struct rdma_cm_id *id,
			      const struct rdma_conn_param *param)
{
	struct rpma_ep *ep = container_of(cm, struct rpma_ep, cm);
	struct rpma_conn *conn;

	if (id->device != ep->peer->dev->ibdev)
		return -EXDEV;
	rpma_peer_hold(ep->peer);
	conn = rpma_conn_alloc(ep->ctx, ep->peer);
	if (!conn)
		return -ENOMEM;
	rpma_cm_adopt(&conn->cm, id, param);
	if (rpma_ep_push(ep, conn))
		return 0;
	rpma_conn_forget(conn);
	return -ECONNREFUSED;
}

static const struct rpma_cm_ops rpma_ep_cm_ops = {
	.request = rpma_ep_on_request,
};

/* ---- birth and death ---- */

/* The listener first: then nothing arrives while the backlog is emptied. */
static void rpma_ep_revoke(struct rpma_hw *hw)
{
	struct rpma_ep *ep = container_of(hw, struct rpma_ep, hw);
	struct rpma_conn *conn;

	rpma_cm_close(&ep->cm, false);
	while ((conn = rpma_ep_pop(ep)))
		rpma_conn_free(conn);
	WRITE_ONCE(ep->gone, true);
	wake_up_all(&ep->wait);
}

static void rpma_ep_free(struct rpma_ep *ep)
{
	struct file *ctx_file = ep->ctx->file;

	rpma_hw_off(&ep->hw);
	rpma_cm_close(&ep->cm, false);
	rpma_ctx_uncharge(ep->ctx, RPMA_QUOTA_EPS, 1);
	rpma_peer_put(ep->peer);
	kfree(ep);
	/* Taken in rpma_ep_alloc(). */
	fput(ctx_file);
}

static struct rpma_ep *rpma_ep_alloc(struct rpma_ctx *ctx, u32 peer_id)
{
	struct rpma_ep *ep;
	int ret = rpma_ctx_charge(ctx, RPMA_QUOTA_EPS, 1);

	if (ret)
		return ERR_PTR(ret);
	ep = kzalloc(sizeof(*ep), GFP_KERNEL_ACCOUNT);
	if (!ep) {
		ret = -ENOMEM;
		goto err_uncharge;
	}
	ep->peer = rpma_peer_get(ctx, peer_id);
	if (!ep->peer) {
		ret = -ENOENT;
		goto err_free;
	}
	ep->ctx = ctx;
	get_file(ctx->file);
	spin_lock_init(&ep->lock);
	INIT_LIST_HEAD(&ep->backlog);
	init_waitqueue_head(&ep->wait);
	rpma_cm_init(&ep->cm, &rpma_ep_cm_ops);
	return ep;

err_free:
	kfree(ep);
err_uncharge:
	rpma_ctx_uncharge(ctx, RPMA_QUOTA_EPS, 1);
	return ERR_PTR(ret);
}

static int rpma_ep_listen(struct rpma_ep *ep, struct rpma_ioc_ep_listen *cmd)
{
	const struct sockaddr *addr = rpma_addr_get(cmd->addr);
	struct rpma_device *dev = ep->peer->dev;
	u32 max = rpma_ep_max_backlog();
	int ret;

	if (IS_ERR(addr))
		return PTR_ERR(addr);
	ep->max_waiting = cmd->backlog ? min(cmd->backlog, max) : max;
	if (!rpma_device_begin(dev))
		return -ENODEV;
	ret = rpma_cm_bind(&ep->cm, addr);
	if (!ret && rpma_cm_ibdev(&ep->cm) &&
	    rpma_cm_ibdev(&ep->cm) != dev->ibdev)
		ret = -EXDEV;
	if (!ret)
		ret = rpma_cm_listen(&ep->cm, ep->max_waiting, cmd->out_addr);
	if (!ret) {
		ep->hw.revoke = rpma_ep_revoke;
		rpma_hw_on(&ep->hw, dev, RPMA_HW_EP);
	}
	rpma_device_end(dev);
	return ret;
}

int rpma_ep_listen_ioctl(struct rpma_ucmd *ucmd)
{
	struct rpma_ioc_ep_listen *cmd = ucmd->cmd;
	struct rpma_ep *ep;
	struct file *file;
	int fd, ret;

	if (cmd->flags || cmd->__reserved)
		return -EOPNOTSUPP;
	ep = rpma_ep_alloc(ucmd->owner, cmd->peer);
	if (IS_ERR(ep))
		return PTR_ERR(ep);
	ret = rpma_ep_listen(ep, cmd);
	if (ret)
		goto err_free;
	fd = get_unused_fd_flags(O_CLOEXEC);
	if (fd < 0) {
		ret = fd;
		goto err_free;
	}
	cmd->out_fd = fd;
	ret = rpma_ucmd_respond(ucmd);
	if (ret)
		goto err_put_fd;
	file = anon_inode_getfile("[rpma_ep]", &rpma_ep_fops, ep, O_RDWR);
	if (IS_ERR(file)) {
		ret = PTR_ERR(file);
		goto err_put_fd;
	}
	fd_install(fd, file);
	return 0;

err_put_fd:
	put_unused_fd(fd);
err_free:
	rpma_ep_free(ep);
	return ret;
}

/* ---- taking ---- */

/*
 * Return: the next connection, built, NULL if none waits, or ERR_PTR; then the
 * connection waits on. Of those whose other side gave up nothing can be made.
 */
static struct rpma_conn *rpma_ep_pop_built(struct rpma_ep *ep,
					   const struct rpma_conn_queues *queues)
{
	struct rpma_conn *conn;
	int ret;

	while ((conn = rpma_ep_pop(ep))) {
		ret = rpma_cm_has_ended(&conn->cm) ?
			-ENOTCONN : rpma_conn_build(conn, queues);
		if (!ret)
			break;
		if (!rpma_cm_has_ended(&conn->cm)) {
			rpma_ep_unpop(ep, conn);
			return ERR_PTR(ret);
		}
		rpma_conn_free(conn);
	}
	return conn;
}

/* Return: its file, or as above. Removal of the device cannot come between. */
static struct file *rpma_ep_take_one(struct rpma_ep *ep,
				     const struct rpma_conn_queues *queues)
{
	struct rpma_device *dev = ep->peer->dev;
	struct file *file = NULL;
	struct rpma_conn *conn;

	if (!rpma_device_begin(dev))
		return ERR_PTR(-ENODEV);
	conn = rpma_ep_pop_built(ep, queues);
	if (IS_ERR_OR_NULL(conn)) {
		file = ERR_CAST(conn);
		goto out_end;
	}
	file = rpma_conn_getfile(conn);
	if (IS_ERR(file)) {
		rpma_conn_unbuild(conn);
		rpma_ep_unpop(ep, conn);
	} else {
		rpma_conn_publish(conn);
	}
out_end:
	rpma_device_end(dev);
	return file;
}

static struct file *rpma_ep_take(struct rpma_ep *ep, bool nonblock,
				 const struct rpma_conn_queues *queues)
{
	struct file *file;
	int ret;

	while (!(file = rpma_ep_take_one(ep, queues))) {
		if (nonblock)
			return ERR_PTR(-EAGAIN);
		ret = wait_event_interruptible(ep->wait,
					       rpma_ep_is_readable(ep));
		if (ret)
			return ERR_PTR(ret);
	}
	return file;
}

int rpma_ep_take_ioctl(struct rpma_ucmd *ucmd)
{
	struct rpma_ioc_ep_take *cmd = ucmd->cmd;
	struct rpma_ctx *ctx = ucmd->owner;
	struct file *ep_file, *file;
	int fd, ret;

	if (cmd->flags)
		return -EOPNOTSUPP;
	ep_file = rpma_ctx_fget(ctx, cmd->ep_fd, &rpma_ep_fops);
	if (!ep_file)
		return -EBADF;
	ret = rpma_ctx_charge(ctx, RPMA_QUOTA_CONNS, 1);
	if (ret)
		goto out_put_ep;
	fd = get_unused_fd_flags(O_CLOEXEC);
	if (fd < 0) {
		ret = fd;
		goto err_uncharge;
	}
	/* Answer first: a connection that was taken cannot be put back. */
	cmd->out_fd = fd;
	ret = rpma_ucmd_respond(ucmd);
	if (ret)
		goto err_put_fd;
	file = rpma_ep_take(ep_file->private_data,
			    ep_file->f_flags & O_NONBLOCK, &cmd->queues);
	if (IS_ERR(file)) {
		ret = PTR_ERR(file);
		goto err_put_fd;
	}
	fd_install(fd, file);
	goto out_put_ep;

err_put_fd:
	put_unused_fd(fd);
err_uncharge:
	rpma_ctx_uncharge(ctx, RPMA_QUOTA_CONNS, 1);
out_put_ep:
	fput(ep_file);
	return ret;
}

/* ---- the descriptor ---- */

static __poll_t rpma_ep_fops_poll(struct file *file, poll_table *table)
{
	struct rpma_ep *ep = file->private_data;
	__poll_t mask = 0;

	poll_wait(file, &ep->wait, table);
	if (READ_ONCE(ep->waiting))
		mask |= EPOLLIN | EPOLLRDNORM;
	if (READ_ONCE(ep->gone))
		mask |= EPOLLERR;
	return mask;
}

static int rpma_ep_fops_release(struct inode *inode, struct file *file)
{
	rpma_ep_free(file->private_data);
	return 0;
}

static const struct file_operations rpma_ep_fops = {
	.owner = THIS_MODULE,
	.poll = rpma_ep_fops_poll,
	.release = rpma_ep_fops_release,
};
