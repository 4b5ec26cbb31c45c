// SPDX-License-Identifier: GPL-2.0
/* /dev/rpma: the whole interface on one screen, and module init and exit. */

#include <linux/in.h>
#include <linux/in6.h>
#include <linux/miscdevice.h>
#include <linux/module.h>

#include "ep.h"

#define RPMA_VERSION "0.1.0"

static int rpma_query_ioctl(struct rpma_ucmd *ucmd)
{
	struct rpma_ioc_query *cmd = ucmd->cmd;

	if (cmd->flags || cmd->__reserved)
		return -EOPNOTSUPP;
	cmd->out_abi_revision = RPMA_ABI_REVISION;
	cmd->out_nr_devices = rpma_device_count();
	cmd->out_max_peers = rpma_quota_limit(RPMA_QUOTA_PEERS, false);
	cmd->out_max_mrs = rpma_quota_limit(RPMA_QUOTA_MRS, false);
	cmd->out_max_cqs = rpma_quota_limit(RPMA_QUOTA_CQS, false);
	cmd->out_max_eps = rpma_quota_limit(RPMA_QUOTA_EPS, false);
	cmd->out_max_conns = rpma_quota_limit(RPMA_QUOTA_CONNS, false);
	cmd->out_max_user_conns = rpma_quota_limit(RPMA_QUOTA_CONNS, true);
	cmd->out_max_queue_size = rpma_max_queue_size();
	cmd->out_max_backlog = rpma_ep_max_backlog();
	cmd->out_max_pinned_bytes = rpma_quota_limit(RPMA_QUOTA_PINNED, false);
	cmd->out_max_user_pinned_bytes =
		rpma_quota_limit(RPMA_QUOTA_PINNED, true);
	cmd->out_max_srqs = rpma_quota_limit(RPMA_QUOTA_SRQS, false);
	cmd->out_ops = rpma_wr_ops();
	memset(cmd->out_module_version, 0, sizeof(cmd->out_module_version));
	strscpy(cmd->out_module_version, RPMA_VERSION,
		sizeof(cmd->out_module_version));
	return rpma_ucmd_respond(ucmd);
}

static int rpma_device_resolve_ioctl(struct rpma_ucmd *ucmd)
{
	struct rpma_ioc_device_resolve *cmd = ucmd->cmd;
	const struct sockaddr *addr = rpma_addr_get(cmd->addr);
	struct rpma_cm cm = {};
	int ret;

	if (cmd->flags & ~RPMA_DEVICE_RESOLVE_F_REMOTE)
		return -EOPNOTSUPP;
	if (IS_ERR(addr))
		return PTR_ERR(addr);
	/* The device is asked for, not the port, which may be taken. */
	static_assert(offsetof(struct sockaddr_in, sin_port) ==
		      offsetof(struct sockaddr_in6, sin6_port));
	((struct sockaddr_in *)cmd->addr)->sin_port = 0;
	rpma_cm_init(&cm, NULL);
	if (cmd->flags & RPMA_DEVICE_RESOLVE_F_REMOTE)
		ret = rpma_cm_resolve(&cm, addr, cmd->timeout_ms, false);
	else
		ret = rpma_cm_bind(&cm, addr);
	cmd->out_device = ret ? 0 : rpma_device_number(rpma_cm_ibdev(&cm));
	rpma_cm_close(&cm, false);
	if (ret)
		return ret == -EADDRNOTAVAIL ? -ENODEV : ret;
	return cmd->out_device ? rpma_ucmd_respond(ucmd) : -ENODEV;
}

static int rpma_destroy_ioctl(struct rpma_ucmd *ucmd)
{
	struct rpma_ioc_destroy *cmd = ucmd->cmd;

	if (cmd->flags & ~RPMA_DESTROY_F_FORCE || cmd->__reserved)
		return -EOPNOTSUPP;
	return rpma_object_destroy(ucmd->owner, cmd->id,
				   cmd->flags & RPMA_DESTROY_F_FORCE);
}

/* On a connection: RPMA_IOC_POST, RPMA_IOC_FLUSH. On a cq: _POLL, _WAIT. */
static const struct rpma_ioctl_op rpma_ioctls[] = {
	RPMA_IOCTL_OP(RPMA_IOC_QUERY, rpma_query_ioctl, rpma_ioc_query,
		      out_module_version),
	RPMA_IOCTL_OP(RPMA_IOC_DEVICE_QUERY, rpma_device_query_ioctl,
		      rpma_ioc_device_query, out_name),
	RPMA_IOCTL_OP(RPMA_IOC_DEVICE_RESOLVE, rpma_device_resolve_ioctl,
		      rpma_ioc_device_resolve, addr),
	RPMA_IOCTL_OP(RPMA_IOC_DESTROY, rpma_destroy_ioctl, rpma_ioc_destroy,
		      __reserved),
	RPMA_IOCTL_OP(RPMA_IOC_PEER_CREATE, rpma_peer_create_ioctl,
		      rpma_ioc_peer_create, __reserved),
	RPMA_IOCTL_OP(RPMA_IOC_MR_REG, rpma_mr_reg_ioctl, rpma_ioc_mr_reg,
		      out_persistent_methods),
	RPMA_IOCTL_OP(RPMA_IOC_CQ_CREATE, rpma_cq_create_ioctl,
		      rpma_ioc_cq_create, channel_fd),
	RPMA_IOCTL_OP(RPMA_IOC_CHANNEL_CREATE, rpma_channel_create_ioctl,
		      rpma_ioc_channel_create, __reserved),
	RPMA_IOCTL_OP(RPMA_IOC_EP_LISTEN, rpma_ep_listen_ioctl,
		      rpma_ioc_ep_listen, out_addr),
	RPMA_IOCTL_OP(RPMA_IOC_EP_TAKE, rpma_ep_take_ioctl, rpma_ioc_ep_take,
		      queues),
	RPMA_IOCTL_OP(RPMA_IOC_CONN_CREATE, rpma_conn_create_ioctl,
		      rpma_ioc_conn_create, addr),
	RPMA_IOCTL_OP(RPMA_IOC_CONN_CONNECT, rpma_conn_connect_ioctl,
		      rpma_ioc_conn_handshake, private_data),
	RPMA_IOCTL_OP(RPMA_IOC_CONN_ACCEPT, rpma_conn_accept_ioctl,
		      rpma_ioc_conn_handshake, private_data),
	RPMA_IOCTL_OP(RPMA_IOC_CONN_REJECT, rpma_conn_reject_ioctl,
		      rpma_ioc_conn_handshake, private_data),
	RPMA_IOCTL_OP(RPMA_IOC_CONN_DISCONNECT, rpma_conn_disconnect_ioctl,
		      rpma_ioc_conn_disconnect, linger_ms),
	RPMA_IOCTL_OP(RPMA_IOC_CONN_QUERY, rpma_conn_query_ioctl,
		      rpma_ioc_conn_query, out_private_data),
	RPMA_IOCTL_OP(RPMA_IOC_CONN_MODIFY, rpma_conn_modify_ioctl,
		      rpma_ioc_conn_modify, peer_timeout_ms),
	RPMA_IOCTL_OP(RPMA_IOC_SRQ_CREATE, rpma_srq_create_ioctl,
		      rpma_ioc_srq_create, __reserved),
	RPMA_IOCTL_OP(RPMA_IOC_SRQ_POST, rpma_srq_post_ioctl,
		      rpma_ioc_srq_post, __reserved),
};

static long rpma_fops_ioctl(struct file *file, unsigned int number,
			    unsigned long arg)
{
	return rpma_ioctl_dispatch(rpma_ioctls, ARRAY_SIZE(rpma_ioctls),
				   file->private_data, number, arg);
}

static const struct file_operations rpma_fops = {
	.owner = THIS_MODULE,
	.open = rpma_ctx_open,
	.unlocked_ioctl = rpma_fops_ioctl,
	.compat_ioctl = compat_ptr_ioctl,
	.release = rpma_ctx_release,
};

/* The udev rule makes it 0660, group rdma. */
static struct miscdevice rpma_misc = {
	.minor = MISC_DYNAMIC_MINOR,
	.name = "rpma",
	.fops = &rpma_fops,
	.mode = 0600,
};

static int __init rpma_init(void)
{
	int ret;

	ret = rpma_watch_module_init();
	if (ret)
		return ret;
	ret = rpma_device_init();
	if (ret)
		goto err_watch_exit;
	ret = misc_register(&rpma_misc);
	if (ret)
		goto err_device_exit;
	return 0;

err_device_exit:
	rpma_device_exit();
err_watch_exit:
	rpma_watch_module_exit();
	return ret;
}

static void __exit rpma_exit(void)
{
	misc_deregister(&rpma_misc);
	rpma_device_exit();
	rpma_watch_module_exit();
}

module_init(rpma_init);
module_exit(rpma_exit);

MODULE_DESCRIPTION("Remote persistent memory access: write and flush over RDMA");
MODULE_LICENSE("GPL");
MODULE_VERSION(RPMA_VERSION);
