// SPDX-License-Identifier: GPL-2.0
/* A connection: its descriptor, and the one way it ends. */

#include <linux/anon_inodes.h>
#include <linux/file.h>
#include <linux/module.h>
#include <linux/poll.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "conn.h"

#define RPMA_LINGER_MAX_MS 60000

/* Requests copied to the stack; more take an allocation. */
#define RPMA_POST_ON_STACK 4

static const struct file_operations rpma_conn_fops;
RPMA_CHILD_STARTS_WITH_CTX(rpma_conn);

/* ---- birth ---- */

static void rpma_conn_on_established(struct rpma_cm *cm)
{
	struct rpma_conn *conn = container_of(cm, struct rpma_conn, cm);

	WRITE_ONCE(conn->qp.env.peer_readable, cm->peer_readable);
	WRITE_ONCE(conn->qp.env.no_reads, !READ_ONCE(cm->read_depth));
	rpma_qp_start(&conn->qp);
}

static bool rpma_conn_on_disconnected(struct rpma_cm *cm)
{
	return rpma_watch_hang_up(&container_of(cm, struct rpma_conn, cm)->watch);
}

static const struct rpma_cm_ops rpma_conn_cm_ops = {
	.established = rpma_conn_on_established,
	.disconnected = rpma_conn_on_disconnected,
};

/* May be called in any context. Errors show in completions. */
static void rpma_conn_on_qp_event(struct ib_event *event, void *context)
{
	struct rpma_conn *conn = context;

	if (event->event == IB_EVENT_COMM_EST)
		rpma_cm_notify_established(&conn->cm);
	else if (event->event == IB_EVENT_QP_LAST_WQE_REACHED)
		rpma_qp_on_last_recv(&conn->qp);
}

struct rpma_conn *rpma_conn_alloc(struct rpma_ctx *ctx, struct rpma_peer *peer)
{
	struct rpma_conn *conn = kzalloc(sizeof(*conn), GFP_KERNEL_ACCOUNT);

	if (!conn) {
		rpma_peer_put(peer);
		return NULL;
	}
	conn->ctx = ctx;
	conn->peer = peer;
	INIT_LIST_HEAD(&conn->node);
	rpma_cm_init(&conn->cm, &rpma_conn_cm_ops);
	rpma_watch_init(&conn->watch, &conn->cm, &conn->qp);
	return conn;
}

/*
 * In this order: no request is posted any more and those in flight complete;
 * the queue pair goes, so that the adapter has nothing more to say; what it
 * did not say is completed for it.
 */
static void rpma_conn_destroy_qp(struct rpma_conn *conn)
{
	rpma_qp_stop(&conn->qp);
	rpma_qp_lock_srq(&conn->qp);
	rpma_cm_destroy_qp(&conn->cm);
	rpma_qp_kill(&conn->qp);
	rpma_qp_unlock_srq(&conn->qp);
}

static int rpma_conn_create_qp(struct rpma_conn *conn,
			       struct ib_qp_init_attr *attr)
{
	int ret;

	attr->event_handler = rpma_conn_on_qp_event;
	attr->qp_context = conn;
	rpma_qp_lock_srq(&conn->qp);
	ret = rpma_cm_create_qp(&conn->cm, conn->peer->pd, attr);
	if (!ret)
		ret = rpma_qp_attach(&conn->qp, conn->cm.id->qp);
	rpma_qp_unlock_srq(&conn->qp);
	return ret;
}

void rpma_conn_unbuild(struct rpma_conn *conn)
{
	rpma_conn_destroy_qp(conn);
	rpma_qp_exit(&conn->qp);
	memset(&conn->qp, 0, sizeof(conn->qp));
}

int rpma_conn_build(struct rpma_conn *conn,
		    const struct rpma_conn_queues *queues)
{
	struct ib_qp_init_attr attr;
	int ret;

	ret = rpma_watch_set_timeout(&conn->watch, queues->peer_timeout_ms);
	if (ret)
		return ret;
	ret = rpma_qp_init(&conn->qp, conn->ctx, conn->peer, queues);
	if (!ret)
		ret = rpma_qp_build(&conn->qp, &attr);
	if (!ret)
		ret = rpma_conn_create_qp(conn, &attr);
	if (ret)
		rpma_conn_unbuild(conn);
	return ret;
}

struct file *rpma_conn_getfile(struct rpma_conn *conn)
{
	struct file *file = anon_inode_getfile("[rpma_conn]", &rpma_conn_fops,
					       conn, O_RDWR);

	if (!IS_ERR(file)) {
		/* Put in rpma_conn_fops_release(). */
		get_file(conn->ctx->file);
	}
	return file;
}

/* ---- death ---- */

/* The handshake's side goes last: the queue pair hangs on its id. */
static void rpma_conn_revoke(struct rpma_hw *hw)
{
	struct rpma_conn *conn = container_of(hw, struct rpma_conn, hw);

	rpma_conn_destroy_qp(conn);
	rpma_cm_close(&conn->cm, conn->peer->dev->gone);
}

void rpma_conn_forget(struct rpma_conn *conn)
{
	rpma_peer_put(conn->peer);
	kfree(conn);
}

void rpma_conn_free(struct rpma_conn *conn)
{
	rpma_hw_off(&conn->hw);
	/* One that was never built has only this. */
	rpma_cm_close(&conn->cm, false);
	rpma_watch_exit(&conn->watch);
	rpma_qp_exit(&conn->qp);
	rpma_conn_forget(conn);
}

static int rpma_conn_fops_release(struct inode *inode, struct file *file)
{
	struct rpma_conn *conn = file->private_data;
	struct rpma_ctx *ctx = conn->ctx;

	rpma_conn_free(conn);
	rpma_ctx_uncharge(ctx, RPMA_QUOTA_CONNS, 1);
	/* Taken in rpma_conn_getfile(). */
	fput(ctx->file);
	return 0;
}

void rpma_conn_publish(struct rpma_conn *conn)
{
	conn->hw.revoke = rpma_conn_revoke;
	rpma_hw_on(&conn->hw, conn->peer->dev, RPMA_HW_CONN);
}

/* ---- commands on /dev/rpma ---- */

static int rpma_conn_build_on(struct rpma_conn *conn,
			      const struct rpma_conn_queues *queues,
			      struct file **file)
{
	struct rpma_device *dev = conn->peer->dev;
	int ret;

	if (!rpma_device_begin(dev))
		return -ENODEV;
	ret = rpma_cm_ibdev(&conn->cm) == dev->ibdev ?
		rpma_conn_build(conn, queues) : -EXDEV;
	if (ret)
		goto out_end;
	*file = rpma_conn_getfile(conn);
	if (IS_ERR(*file)) {
		ret = PTR_ERR(*file);
		rpma_conn_unbuild(conn);
		goto out_end;
	}
	rpma_conn_publish(conn);
out_end:
	rpma_device_end(dev);
	return ret;
}

/* On success the connection belongs to the file. */
static struct file *rpma_conn_create(struct rpma_ctx *ctx,
				     struct rpma_ioc_conn_create *cmd)
{
	const struct sockaddr *addr = rpma_addr_get(cmd->addr);
	struct rpma_conn *conn;
	struct rpma_peer *peer;
	struct file *file;
	int ret;

	if (IS_ERR(addr))
		return ERR_CAST(addr);
	peer = rpma_peer_get(ctx, cmd->peer);
	if (!peer)
		return ERR_PTR(-ENOENT);
	ret = rpma_ctx_charge(ctx, RPMA_QUOTA_CONNS, 1);
	if (ret) {
		rpma_peer_put(peer);
		return ERR_PTR(ret);
	}
	conn = rpma_conn_alloc(ctx, peer);
	if (!conn) {
		ret = -ENOMEM;
		goto err_uncharge;
	}
	ret = rpma_cm_resolve(&conn->cm, addr, cmd->timeout_ms, true);
	if (!ret)
		ret = rpma_conn_build_on(conn, &cmd->queues, &file);
	if (!ret)
		return file;

	rpma_conn_free(conn);
err_uncharge:
	rpma_ctx_uncharge(ctx, RPMA_QUOTA_CONNS, 1);
	return ERR_PTR(ret);
}

int rpma_conn_create_ioctl(struct rpma_ucmd *ucmd)
{
	struct rpma_ioc_conn_create *cmd = ucmd->cmd;
	struct file *file;
	int fd, ret;

	if (cmd->flags || cmd->__reserved)
		return -EOPNOTSUPP;
	fd = get_unused_fd_flags(O_CLOEXEC);
	if (fd < 0)
		return fd;
	file = rpma_conn_create(ucmd->owner, cmd);
	if (IS_ERR(file)) {
		put_unused_fd(fd);
		return PTR_ERR(file);
	}
	cmd->out_fd = fd;
	ret = rpma_ucmd_respond(ucmd);
	if (ret) {
		put_unused_fd(fd);
		fput(file);
		return ret;
	}
	fd_install(fd, file);
	return 0;
}

static int rpma_conn_handshake(struct rpma_ucmd *ucmd, u32 max_private_data,
			       int (*handshake)(struct rpma_cm *cm,
						const void *data, u8 len))
{
	struct rpma_ioc_conn_handshake *cmd = ucmd->cmd;
	struct file *file __free(fput) = NULL;
	struct rpma_conn *conn;

	if (cmd->flags)
		return -EOPNOTSUPP;
	if (cmd->private_data_len > max_private_data)
		return -EINVAL;
	file = rpma_ctx_fget(ucmd->owner, cmd->conn_fd, &rpma_conn_fops);
	if (!file)
		return -EBADF;
	conn = file->private_data;
	return handshake(&conn->cm, cmd->private_data, cmd->private_data_len);
}

int rpma_conn_connect_ioctl(struct rpma_ucmd *ucmd)
{
	return rpma_conn_handshake(ucmd, RPMA_PRIVATE_DATA_REQUEST_MAX,
				   rpma_cm_connect);
}

int rpma_conn_accept_ioctl(struct rpma_ucmd *ucmd)
{
	return rpma_conn_handshake(ucmd, RPMA_PRIVATE_DATA_REPLY_MAX,
				   rpma_cm_accept);
}

int rpma_conn_reject_ioctl(struct rpma_ucmd *ucmd)
{
	return rpma_conn_handshake(ucmd, RPMA_PRIVATE_DATA_REJECT_MAX,
				   rpma_cm_reject);
}

int rpma_conn_disconnect_ioctl(struct rpma_ucmd *ucmd)
{
	struct rpma_ioc_conn_disconnect *cmd = ucmd->cmd;
	struct file *file __free(fput) = NULL;
	struct rpma_conn *conn;

	if (cmd->flags)
		return -EOPNOTSUPP;
	if (cmd->linger_ms > RPMA_LINGER_MAX_MS)
		return -EINVAL;
	file = rpma_ctx_fget(ucmd->owner, cmd->conn_fd, &rpma_conn_fops);
	if (!file)
		return -EBADF;
	conn = file->private_data;
	if (cmd->linger_ms &&
	    rpma_qp_drain(&conn->qp, TASK_INTERRUPTIBLE,
			  msecs_to_jiffies(cmd->linger_ms)) == -ERESTARTSYS)
		return -ERESTARTSYS;
	return rpma_cm_disconnect(&conn->cm);
}

int rpma_conn_query_ioctl(struct rpma_ucmd *ucmd)
{
	struct rpma_ioc_conn_query *cmd = ucmd->cmd;
	struct file *file __free(fput) = NULL;
	struct rpma_conn *conn;
	struct rpma_qp *qp;

	if (cmd->flags || cmd->__reserved)
		return -EOPNOTSUPP;
	file = rpma_ctx_fget(ucmd->owner, cmd->conn_fd, &rpma_conn_fops);
	if (!file)
		return -EBADF;
	conn = file->private_data;
	qp = &conn->qp;
	cmd->out_qp_num = qp->sq.qp_num;
	cmd->out_flush_method = READ_ONCE(qp->env.method)->id;
	/* Completed first: it must not be more than posted. */
	cmd->out_completed = READ_ONCE(qp->sq.head) + READ_ONCE(qp->rq.head);
	cmd->out_posted = READ_ONCE(qp->sq.tail) + READ_ONCE(qp->rq.tail);
	cmd->out_flushes = READ_ONCE(qp->flushes);
	rpma_cm_query(&conn->cm, cmd);
	return rpma_ucmd_respond(ucmd);
}

static const struct rpma_flush_ops *
rpma_conn_flush_method(const struct rpma_conn *conn, u32 id)
{
	return id == RPMA_FLUSH_METHOD_NONE ?
	       conn->peer->method : rpma_flush_find(conn->peer->methods, id);
}

int rpma_conn_modify_ioctl(struct rpma_ucmd *ucmd)
{
	struct rpma_ioc_conn_modify *cmd = ucmd->cmd;
	struct file *file __free(fput) = NULL;
	struct rpma_conn *conn;
	int ret;

	if (cmd->flags || cmd->__reserved ||
	    cmd->mask & ~(RPMA_CONN_MODIFY_DIRECT_WRITE |
			  RPMA_CONN_MODIFY_PEER_TIMEOUT |
			  RPMA_CONN_MODIFY_FLUSH_METHOD))
		return -EOPNOTSUPP;
	if (cmd->direct_write > 1)
		return -EINVAL;
	file = rpma_ctx_fget(ucmd->owner, cmd->conn_fd, &rpma_conn_fops);
	if (!file)
		return -EBADF;
	conn = file->private_data;
	if (cmd->mask & RPMA_CONN_MODIFY_FLUSH_METHOD &&
	    !rpma_conn_flush_method(conn, cmd->flush_method))
		return -EOPNOTSUPP;
	if (cmd->mask & RPMA_CONN_MODIFY_PEER_TIMEOUT) {
		ret = rpma_watch_set_timeout(&conn->watch,
					     cmd->peer_timeout_ms);
		if (ret)
			return ret;
	}
	if (cmd->mask & RPMA_CONN_MODIFY_DIRECT_WRITE)
		WRITE_ONCE(conn->qp.env.direct_write, cmd->direct_write);
	if (cmd->mask & RPMA_CONN_MODIFY_FLUSH_METHOD)
		rpma_qp_set_method(&conn->qp,
				   rpma_conn_flush_method(conn,
							  cmd->flush_method),
				   cmd->flush_method != RPMA_FLUSH_METHOD_NONE);
	return 0;
}

/* ---- commands on the connection ---- */

static int rpma_conn_post_from(struct rpma_conn *conn,
			       const struct rpma_ioc_post *cmd,
			       struct rpma_request *reqs, u32 nr)
{
	int ret = rpma_requests_copy(reqs, nr, u64_to_user_ptr(cmd->requests),
				     cmd->request_size);

	if (ret < 0)
		return ret;
	ret = rpma_qp_post(&conn->qp, reqs, ret,
			   cmd->flags & RPMA_POST_F_WAIT);
	rpma_watch_posted(&conn->watch);
	return ret;
}

static int rpma_conn_post_ioctl(struct rpma_ucmd *ucmd)
{
	struct rpma_request on_stack[RPMA_POST_ON_STACK];
	const struct rpma_ioc_post *cmd = ucmd->cmd;
	struct rpma_conn *conn = ucmd->owner;
	struct rpma_request *reqs;
	u32 nr;
	int ret;

	if (cmd->flags & ~RPMA_POST_F_WAIT)
		return -EOPNOTSUPP;
	if (!cmd->nr || cmd->request_size < sizeof(*reqs))
		return -EINVAL;
	if (cmd->request_size > PAGE_SIZE)
		return -E2BIG;
	if (cmd->nr <= RPMA_POST_ON_STACK)
		return rpma_conn_post_from(conn, cmd, on_stack, cmd->nr);

	/* More cannot be in flight: a short count tells to post again. */
	nr = min(cmd->nr, conn->qp.sq.size + conn->qp.rq.size);
	reqs = kvmalloc_array(nr, sizeof(*reqs), GFP_KERNEL_ACCOUNT);
	if (!reqs)
		return -ENOMEM;
	ret = rpma_conn_post_from(conn, cmd, reqs, nr);
	kvfree(reqs);
	return ret;
}

static int rpma_conn_flush_ioctl(struct rpma_ucmd *ucmd)
{
	const struct rpma_ioc_flush *cmd = ucmd->cmd;
	struct rpma_conn *conn = ucmd->owner;
	const struct rpma_request req = {
		.context = cmd->context,
		.op = RPMA_OP_FLUSH,
		.flags = cmd->flags,
		.len = cmd->len,
		.remote_offset = cmd->offset,
		.remote = cmd->remote,
		.placement = cmd->placement,
	};
	int ret;

	if (cmd->post_flags & ~RPMA_POST_F_WAIT)
		return -EOPNOTSUPP;
	ret = rpma_qp_post(&conn->qp, &req, 1,
			   cmd->post_flags & RPMA_POST_F_WAIT);
	rpma_watch_posted(&conn->watch);
	return ret < 0 ? ret : 0;
}

static const struct rpma_ioctl_op rpma_conn_ioctls[] = {
	RPMA_IOCTL_OP(RPMA_IOC_FLUSH, rpma_conn_flush_ioctl, rpma_ioc_flush,
		      remote),
	RPMA_IOCTL_OP(RPMA_IOC_POST, rpma_conn_post_ioctl, rpma_ioc_post,
		      request_size),
};

static long rpma_conn_fops_ioctl(struct file *file, unsigned int number,
				 unsigned long arg)
{
	return rpma_ioctl_dispatch(rpma_conn_ioctls,
				   ARRAY_SIZE(rpma_conn_ioctls),
				   file->private_data, number, arg);
}

/* ---- events on the connection ---- */

/* read(2) has something to say, if only that nothing will come. */
static bool rpma_conn_is_readable(struct rpma_conn *conn)
{
	return rpma_cm_has_event(&conn->cm) || READ_ONCE(conn->cm.last.type);
}

static ssize_t rpma_conn_fops_read(struct file *file, char __user *buf,
				   size_t count, loff_t *ppos)
{
	struct rpma_conn *conn = file->private_data;
	struct rpma_event event;
	int ret;

	if (count < sizeof(event))
		return -EINVAL;
	while ((ret = rpma_cm_next_event(&conn->cm, &event)) == -EAGAIN) {
		if (file->f_flags & O_NONBLOCK)
			return -EAGAIN;
		ret = wait_event_interruptible(conn->cm.wait,
					       rpma_conn_is_readable(conn));
		if (ret)
			return ret;
	}
	if (ret <= 0)
		return ret;
	if (copy_to_user(buf, &event, sizeof(event))) {
		rpma_cm_return_event(&conn->cm, &event);
		return -EFAULT;
	}
	return sizeof(event);
}

static __poll_t rpma_conn_fops_poll(struct file *file, poll_table *table)
{
	struct rpma_conn *conn = file->private_data;
	struct rpma_cq *cq = conn->qp.sq.cq;
	__poll_t mask = 0;

	/* Both always: epoll registers once, whatever it is asked for later. */
	poll_wait(file, &conn->cm.wait, table);
	poll_wait(file, &cq->wait, table);
	/* Not after the last event: who keeps on polling would not sleep. */
	if (rpma_cm_has_event(&conn->cm))
		mask |= EPOLLIN | EPOLLRDNORM;
	if (poll_requested_events(table) & EPOLLOUT) {
		rpma_cq_arm(cq);
		if (READ_ONCE(conn->qp.sending) && rpma_qp_has_room(&conn->qp))
			mask |= EPOLLOUT | EPOLLWRNORM;
	}
	return mask;
}

static const struct file_operations rpma_conn_fops = {
	.owner = THIS_MODULE,
	.read = rpma_conn_fops_read,
	.poll = rpma_conn_fops_poll,
	.unlocked_ioctl = rpma_conn_fops_ioctl,
	.compat_ioctl = compat_ptr_ioctl,
	.release = rpma_conn_fops_release,
};
