// SPDX-License-Identifier: GPL-2.0
/*
 * One RDMA device, and everything that must let go of it when it leaves.
 *
 * Removal of a device waits for revokes, not for descriptors to be closed:
 * structures stay until then, without hardware. It does wait for those who
 * build on the device just now, and so, as the core's own interface does, for
 * the pages of a region being registered.
 */

#include <linux/module.h>
#include <linux/nsproxy.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <net/net_namespace.h>

#include "device.h"
#include "flush.h"

static bool allow_untried_drivers;
module_param(allow_untried_drivers, bool, 0644);
MODULE_PARM_DESC(allow_untried_drivers,
		 "use RDMA drivers whose registration of user memory from the kernel was not checked");

static LIST_HEAD(rpma_devices);
static DEFINE_MUTEX(rpma_devices_lock);
static u32 rpma_device_last_number;

/*
 * ib_reg_user_mr() gives the provider no udata, and some follow that pointer.
 * rxe was run, the others read.
 */
static const enum rdma_driver_id rpma_tried_drivers[] = {
	RDMA_DRIVER_RXE,
	RDMA_DRIVER_MLX4,
	RDMA_DRIVER_MLX5,
	RDMA_DRIVER_BNXT_RE,
};

static bool rpma_driver_is_tried(const struct ib_device *ibdev)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(rpma_tried_drivers); i++)
		if (ibdev->ops.driver_id == rpma_tried_drivers[i])
			return true;
	return false;
}

bool rpma_device_is_tried(const struct rpma_device *dev)
{
	if (rpma_driver_is_tried(dev->ibdev))
		return true;
	if (!READ_ONCE(allow_untried_drivers))
		return false;
	dev_warn_once(&dev->ibdev->dev,
		      "rpma: driver not known to register user memory from the kernel\n");
	return true;
}

static bool rpma_device_is_visible(const struct rpma_device *dev)
{
	return rdma_dev_access_netns(dev->ibdev, current->nsproxy->net_ns);
}

static void rpma_device_free(struct kref *ref)
{
	struct rpma_device *dev = container_of(ref, struct rpma_device, ref);

	kfree(dev);
}

struct rpma_device *rpma_device_get(u32 number)
{
	struct rpma_device *dev;

	guard(mutex)(&rpma_devices_lock);
	list_for_each_entry(dev, &rpma_devices, node) {
		if (dev->number == number && rpma_device_is_visible(dev)) {
			kref_get(&dev->ref);
			return dev;
		}
	}
	return NULL;
}

void rpma_device_put(struct rpma_device *dev)
{
	kref_put(&dev->ref, rpma_device_free);
}

u32 rpma_device_number(const struct ib_device *ibdev)
{
	struct rpma_device *dev;

	guard(mutex)(&rpma_devices_lock);
	list_for_each_entry(dev, &rpma_devices, node)
		if (dev->ibdev == ibdev)
			return dev->number;
	return 0;
}

u32 rpma_device_count(void)
{
	struct rpma_device *dev;
	u32 nr = 0;

	guard(mutex)(&rpma_devices_lock);
	list_for_each_entry(dev, &rpma_devices, node)
		nr += rpma_device_is_visible(dev);
	return nr;
}

bool rpma_device_begin(struct rpma_device *dev)
{
	down_read(&dev->use);
	if (!dev->gone)
		return true;
	up_read(&dev->use);
	return false;
}

void rpma_device_end(struct rpma_device *dev)
{
	up_read(&dev->use);
}

void rpma_hw_on(struct rpma_hw *hw, struct rpma_device *dev,
		enum rpma_hw_kind kind)
{
	lockdep_assert_held_read(&dev->use);
	hw->dev = dev;
	hw->kind = kind;
	spin_lock(&dev->lock);
	hw->state = RPMA_HW_ON;
	list_add_tail(&hw->node, &dev->hw[kind]);
	dev->nr[kind]++;
	spin_unlock(&dev->lock);
}

/* Takes it off the list; the caller runs revoke and then rpma_hw_done(). */
static void rpma_hw_take_locked(struct rpma_hw *hw)
{
	lockdep_assert_held(&hw->dev->lock);
	list_del(&hw->node);
	hw->state = RPMA_HW_REVOKING;
}

/* Behind the unlock @hw may be freed by its owner. */
static void rpma_hw_done(struct rpma_device *dev, struct rpma_hw *hw)
{
	spin_lock(&dev->lock);
	hw->state = RPMA_HW_OFF;
	dev->nr[hw->kind]--;
	wake_up_all(&dev->wait);
	spin_unlock(&dev->lock);
}

static bool rpma_hw_is_off(struct rpma_device *dev, struct rpma_hw *hw)
{
	bool off;

	spin_lock(&dev->lock);
	off = hw->state == RPMA_HW_OFF;
	spin_unlock(&dev->lock);
	return off;
}

void rpma_hw_off(struct rpma_hw *hw)
{
	struct rpma_device *dev = hw->dev;
	bool ours = false;

	if (!dev)
		return;
	spin_lock(&dev->lock);
	if (hw->state == RPMA_HW_ON) {
		rpma_hw_take_locked(hw);
		ours = true;
	}
	spin_unlock(&dev->lock);

	if (ours) {
		hw->revoke(hw);
		rpma_hw_done(dev, hw);
	} else {
		wait_event(dev->wait, rpma_hw_is_off(dev, hw));
	}
}

static struct rpma_hw *rpma_device_take_hw(struct rpma_device *dev,
					   enum rpma_hw_kind kind)
{
	struct rpma_hw *hw;

	spin_lock(&dev->lock);
	hw = list_first_entry_or_null(&dev->hw[kind], struct rpma_hw, node);
	if (hw)
		rpma_hw_take_locked(hw);
	spin_unlock(&dev->lock);
	return hw;
}

static bool rpma_device_is_clear(struct rpma_device *dev,
				 enum rpma_hw_kind kind)
{
	unsigned int nr;

	spin_lock(&dev->lock);
	nr = dev->nr[kind];
	spin_unlock(&dev->lock);
	return !nr;
}

/* No lock is held across a revoke: a CM handler may want one. */
static void rpma_device_revoke(struct rpma_device *dev)
{
	enum rpma_hw_kind kind;
	struct rpma_hw *hw;

	for (kind = 0; kind < RPMA_HW_NR; kind++) {
		while ((hw = rpma_device_take_hw(dev, kind))) {
			hw->revoke(hw);
			rpma_hw_done(dev, hw);
		}
		/* Those whose owner was quicker. */
		wait_event(dev->wait, rpma_device_is_clear(dev, kind));
	}
}

static u32 rpma_device_max_msg_size(struct ib_device *ibdev)
{
	struct ib_port_attr attr;
	u32 size = S32_MAX;
	u32 port;

	rdma_for_each_port(ibdev, port)
		if (!ib_query_port(ibdev, port, &attr))
			size = min(size, attr.max_msg_sz);
	return size;
}

/*
 * rxe keeps 16 bytes for each page of a region in one allocation, and what is
 * larger than those can be makes the page allocator warn. Not so with our
 * patches, which are known by what they add.
 */
#define RPMA_RXE_MAX_MR_SIZE ((u64)KMALLOC_MAX_SIZE / 16 * PAGE_SIZE)

static u64 rpma_device_max_mr_size(const struct ib_device *ibdev)
{
	u64 size = ibdev->attrs.max_mr_size;

	if (ibdev->ops.driver_id == RDMA_DRIVER_RXE &&
	    !(ibdev->attrs.kernel_cap_flags & IBK_FLUSH))
		size = min(size, RPMA_RXE_MAX_MR_SIZE);
	return size;
}

static bool rpma_device_is_usable(struct ib_device *ibdev)
{
	u32 port;

	if (!ibdev->ops.reg_user_mr)
		return false;
	rdma_for_each_port(ibdev, port)
		if (rdma_cap_ib_cm(ibdev, port))
			return true;
	return false;
}

static struct ib_client rpma_ib_client;

static int rpma_device_add(struct ib_device *ibdev)
{
	struct rpma_device *dev;
	enum rpma_hw_kind kind;

	if (!rpma_device_is_usable(ibdev))
		return -EOPNOTSUPP;
	dev = kzalloc(sizeof(*dev), GFP_KERNEL);
	if (!dev)
		return -ENOMEM;
	kref_init(&dev->ref);
	init_rwsem(&dev->use);
	spin_lock_init(&dev->lock);
	init_waitqueue_head(&dev->wait);
	for (kind = 0; kind < RPMA_HW_NR; kind++)
		INIT_LIST_HEAD(&dev->hw[kind]);
	dev->ibdev = ibdev;
	dev->max_msg_size = rpma_device_max_msg_size(ibdev);
	dev->max_mr_size = rpma_device_max_mr_size(ibdev);
	ib_set_client_data(ibdev, &rpma_ib_client, dev);

	guard(mutex)(&rpma_devices_lock);
	dev->number = ++rpma_device_last_number;
	list_add_tail(&dev->node, &rpma_devices);
	return 0;
}

static void rpma_device_remove(struct ib_device *ibdev, void *client_data)
{
	struct rpma_device *dev = client_data;

	mutex_lock(&rpma_devices_lock);
	list_del(&dev->node);
	mutex_unlock(&rpma_devices_lock);

	/* ORDER: gone before revoke. A builder that saw it present is listed. */
	down_write(&dev->use);
	dev->gone = true;
	up_write(&dev->use);

	rpma_device_revoke(dev);
	rpma_device_put(dev);
}

static struct ib_client rpma_ib_client = {
	.name = "rpma",
	.add = rpma_device_add,
	.remove = rpma_device_remove,
};

int rpma_device_init(void)
{
	return ib_register_client(&rpma_ib_client);
}

void rpma_device_exit(void)
{
	ib_unregister_client(&rpma_ib_client);
}

static u32 rpma_device_flags(const struct rpma_device *dev)
{
	struct ib_port_attr attr;
	u32 flags = 0;
	u32 port;

	rdma_for_each_port(dev->ibdev, port)
		if (!ib_query_port(dev->ibdev, port, &attr) &&
		    attr.state == IB_PORT_ACTIVE)
			flags |= RPMA_DEVICE_F_UP;
	if (rpma_flush_is_claimed(dev->ibdev))
		flags |= RPMA_DEVICE_F_CLAIMS_FLUSH;
	if (!rpma_driver_is_tried(dev->ibdev))
		flags |= RPMA_DEVICE_F_UNTRIED;
	return flags;
}

/* On the list, so removal waits for the lock: the ib_device is there. */
static void rpma_device_describe(const struct rpma_device *dev,
				 struct rpma_ioc_device_query *cmd)
{
	const struct ib_device_attr *attrs = &dev->ibdev->attrs;

	lockdep_assert_held(&rpma_devices_lock);
	cmd->out_device = dev->number;
	cmd->out_flags = rpma_device_flags(dev);
	cmd->out_flush_methods = rpma_flush_methods(dev->ibdev);
	cmd->out_max_sq_size = attrs->max_qp_wr - 1;
	cmd->out_max_rq_size = attrs->max_qp_wr;
	cmd->out_max_cqe = attrs->max_cqe - RPMA_DEVICE_SPARE_CQE;
	cmd->out_max_srq_size = max(attrs->max_srq_wr, 0);
	cmd->out_max_read_depth = attrs->max_qp_init_rd_atom;
	cmd->out_max_msg_size = dev->max_msg_size;
	cmd->out_node_guid = be64_to_cpu(dev->ibdev->node_guid);
	memset(cmd->out_name, 0, sizeof(cmd->out_name));
	strscpy(cmd->out_name, dev_name(&dev->ibdev->dev),
		sizeof(cmd->out_name));
}

static int rpma_device_find(struct rpma_ioc_device_query *cmd)
{
	struct rpma_device *dev;
	u32 position = 0;

	guard(mutex)(&rpma_devices_lock);
	list_for_each_entry(dev, &rpma_devices, node) {
		if (rpma_device_is_visible(dev) &&
		    position++ == cmd->position) {
			rpma_device_describe(dev, cmd);
			return 0;
		}
	}
	return -ENOENT;
}

/* The answer is copied without the lock: the caller's page may never come. */
int rpma_device_query_ioctl(struct rpma_ucmd *ucmd)
{
	struct rpma_ioc_device_query *cmd = ucmd->cmd;
	int ret;

	if (cmd->flags || cmd->__reserved)
		return -EOPNOTSUPP;
	ret = rpma_device_find(cmd);
	return ret ?: rpma_ucmd_respond(ucmd);
}
