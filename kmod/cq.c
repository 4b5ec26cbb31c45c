// SPDX-License-Identifier: GPL-2.0
/*
 * Completion queues: the adapter's queue, and the ring the user reads.
 *
 * Who wants completions fetches them: whoever polls, reads, waits, or finds
 * no room to post. The adapter is asked for an interrupt only by one who goes
 * to sleep, and the interrupt only wakes: some providers raise it with their
 * queue locked, so fetching there would deadlock.
 *
 * Places in the ring bound what is in flight, so the adapter's queue, which has
 * as many entries, cannot overflow either.
 */

#include <linux/anon_inodes.h>
#include <linux/file.h>
#include <linux/module.h>
#include <linux/poll.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>

#include "cq.h"

static const struct file_operations rpma_cq_fops;
RPMA_CHILD_STARTS_WITH_CTX(rpma_cq);

void rpma_cq_wake(struct rpma_cq *cq)
{
	if (wq_has_sleeper(&cq->wait))
		wake_up(&cq->wait);
	rpma_channel_wake(&cq->member);
}

/* Some provider calls this under its own lock: it may only wake. */
static void rpma_cq_interrupt(struct ib_cq *ibcq, void *context)
{
	rpma_cq_wake(context);
}

static void rpma_cq_async_event(struct ib_event *event, void *context)
{
	struct rpma_cq *cq = context;

	/* Cannot happen while places are counted right. */
	pr_err_ratelimited("rpma: completion queue %d: %s\n",
			   event->element.cq->cqe, ib_event_msg(event->event));
	rpma_cq_wake(cq);
}

/* ---- who may send through it ---- */

static u32 rpma_cq_max_senders(const struct rpma_cq *cq)
{
	return min(cq->ring.entries, RPMA_CQ_MAX_SENDERS);
}

int rpma_cq_attach(struct rpma_cq *cq)
{
	if (atomic_inc_return(&cq->senders) <= rpma_cq_max_senders(cq))
		return 0;
	atomic_dec(&cq->senders);
	return -ENOSPC;
}

void rpma_cq_detach(struct rpma_cq *cq)
{
	atomic_dec(&cq->senders);
}

/* ---- RECVs of shared queues ---- */

/* Places kept for one shared queue, whatever connections on it report here. */
struct rpma_cq_share {
	struct list_head node;
	const void *who;
	u32 entries;
	unsigned int users;
};

static struct rpma_cq_share *rpma_cq_find_share(struct rpma_cq *cq,
						const void *who)
{
	struct rpma_cq_share *share;

	lockdep_assert_held(&cq->share_lock);
	list_for_each_entry(share, &cq->shares, node)
		if (share->who == who)
			return share;
	return NULL;
}

/* Put in rpma_cq_unreserve(). */
int rpma_cq_reserve(struct rpma_cq *cq, const void *who, u32 entries)
{
	struct rpma_cq_share *share;
	bool reserved;

	guard(mutex)(&cq->share_lock);
	share = rpma_cq_find_share(cq, who);
	if (share) {
		share->users++;
		return 0;
	}
	share = kzalloc(sizeof(*share), GFP_KERNEL_ACCOUNT);
	if (!share)
		return -ENOMEM;
	/* One place at least is left for those who send through it. */
	spin_lock(&cq->lock);
	reserved = cq->ring.reserved + entries + !!atomic_read(&cq->senders) <=
			   cq->ring.entries &&
		   rpma_ring_reserve(&cq->ring, entries);
	spin_unlock(&cq->lock);
	if (!reserved) {
		kfree(share);
		return -ENOSPC;
	}
	share->who = who;
	share->entries = entries;
	share->users = 1;
	list_add(&share->node, &cq->shares);
	return 0;
}

void rpma_cq_unreserve(struct rpma_cq *cq, const void *who)
{
	struct rpma_cq_share *share;

	guard(mutex)(&cq->share_lock);
	share = rpma_cq_find_share(cq, who);
	if (--share->users)
		return;
	spin_lock(&cq->lock);
	rpma_ring_unreserve(&cq->ring, share->entries);
	spin_unlock(&cq->lock);
	rpma_cq_wake(cq);
	list_del(&share->node);
	kfree(share);
}

void rpma_cq_push_or_park(struct rpma_cq *cq, struct rpma_cq_parked *parked)
{
	lockdep_assert_held(&cq->lock);
	if (list_empty(&cq->parked) &&
	    rpma_ring_push_shared(&cq->ring, &parked->completion))
		parked->release(parked);
	else
		list_add_tail(&parked->node, &cq->parked);
}

/* Return: how many found room. */
static int rpma_cq_unpark_locked(struct rpma_cq *cq)
{
	struct rpma_cq_parked *parked, *next;
	int nr = 0;

	list_for_each_entry_safe(parked, next, &cq->parked, node) {
		if (!rpma_ring_push_shared(&cq->ring, &parked->completion))
			break;
		list_del(&parked->node);
		parked->release(parked);
		nr++;
	}
	return nr;
}

/* Nobody can read them any more. */
static void rpma_cq_drop_parked(struct rpma_cq *cq)
{
	struct rpma_cq_parked *parked, *next;

	list_for_each_entry_safe(parked, next, &cq->parked, node)
		parked->release(parked);
}

/* ---- fetching and waiting ---- */

/*
 * No more than the adapter's queue holds: all that was there at the start, but
 * not for ever while others post. Return: whether there may be more.
 */
static bool rpma_cq_fetch_locked(struct rpma_cq *cq)
{
	int most = cq->ring.entries + RPMA_CQ_MAX_SENDERS;
	int unparked, fetched = 0, i, nr = 0;

	lockdep_assert_held(&cq->lock);
	unparked = rpma_cq_unpark_locked(cq);
	while (cq->ibcq) {
		nr = ib_poll_cq(cq->ibcq, RPMA_CQ_BATCH, cq->wc);
		for (i = 0; i < nr; i++)
			cq->wc[i].wr_cqe->done(cq->ibcq, &cq->wc[i]);
		fetched += max(nr, 0);
		if (nr < RPMA_CQ_BATCH || fetched >= most)
			break;
	}

	if (cq->revoked && list_empty(&cq->parked))
		rpma_ring_set_gone(&cq->ring);
	if (fetched || unparked)
		rpma_cq_wake(cq);
	return nr == RPMA_CQ_BATCH;
}

void rpma_cq_fetch(struct rpma_cq *cq)
{
	spin_lock(&cq->lock);
	rpma_cq_fetch_locked(cq);
	spin_unlock(&cq->lock);
}

bool rpma_cq_arm(struct rpma_cq *cq)
{
	bool more;

	spin_lock(&cq->lock);
	/* ORDER: arm, then fetch: what comes later raises an interrupt. */
	if (cq->ibcq)
		ib_req_notify_cq(cq->ibcq, IB_CQ_NEXT_COMP);
	more = rpma_cq_fetch_locked(cq);
	spin_unlock(&cq->lock);
	return more;
}

int rpma_cq_sleep(struct rpma_cq *cq, bool (*cond)(void *arg), void *arg,
		  unsigned int state, long timeout)
{
	bool bounded = timeout != MAX_SCHEDULE_TIMEOUT;
	unsigned long end = jiffies + timeout;
	DEFINE_WAIT(wait);
	int ret = 0;
	bool more;

	for (;;) {
		prepare_to_wait(&cq->wait, &wait, state);
		more = rpma_cq_arm(cq);
		if (cond(arg))
			break;
		if (signal_pending_state(state, current)) {
			ret = -ERESTARTSYS;
			break;
		}
		if (bounded && time_after_eq(jiffies, end)) {
			ret = -ETIME;
			break;
		}
		if (more) {
			__set_current_state(TASK_RUNNING);
			cond_resched();
		} else {
			schedule_timeout(bounded ? (long)(end - jiffies) :
						   timeout);
		}
	}
	finish_wait(&cq->wait, &wait);
	return ret;
}

/* As a completion channel would have it: some came since the last wait. */
static bool rpma_cq_has_event(struct rpma_cq *cq)
{
	return READ_ONCE(cq->ring.tail) != READ_ONCE(cq->event_mark) ||
	       rpma_ring_unread(&cq->ring);
}

static bool rpma_cq_has_event_or_gone(void *arg)
{
	struct rpma_cq *cq = arg;

	return rpma_cq_has_event(cq) || rpma_ring_is_gone(&cq->ring);
}

static bool rpma_cq_has_unread_or_gone(void *arg)
{
	struct rpma_cq *cq = arg;

	return rpma_ring_unread(&cq->ring) || rpma_ring_is_gone(&cq->ring);
}

/* ---- its channel ---- */

static struct rpma_cq *rpma_cq_of(struct rpma_channel_member *member)
{
	return container_of(member, struct rpma_cq, member);
}

static void rpma_cq_member_arm(struct rpma_channel_member *member)
{
	struct rpma_cq *cq = rpma_cq_of(member);

	/* If fetching stopped early there is an event now. */
	if (!rpma_cq_has_event(cq))
		rpma_cq_arm(cq);
}

static bool rpma_cq_member_has_event(struct rpma_channel_member *member)
{
	return rpma_cq_has_event(rpma_cq_of(member));
}

static void rpma_cq_consume_event(struct rpma_cq *cq)
{
	WRITE_ONCE(cq->event_mark, READ_ONCE(cq->ring.tail));
}

static void rpma_cq_member_consume(struct rpma_channel_member *member)
{
	rpma_cq_consume_event(rpma_cq_of(member));
}

static u32 rpma_cq_member_unread(struct rpma_channel_member *member)
{
	return rpma_ring_unread(&rpma_cq_of(member)->ring);
}

static bool rpma_cq_member_is_gone(struct rpma_channel_member *member)
{
	return rpma_ring_is_gone(&rpma_cq_of(member)->ring);
}

static const struct rpma_channel_ops rpma_cq_channel_ops = {
	.arm = rpma_cq_member_arm,
	.has_event = rpma_cq_member_has_event,
	.consume = rpma_cq_member_consume,
	.unread = rpma_cq_member_unread,
	.is_gone = rpma_cq_member_is_gone,
};

/* ---- birth and death ---- */

static void rpma_cq_hw_revoke(struct rpma_hw *hw)
{
	struct rpma_cq *cq = container_of(hw, struct rpma_cq, hw);
	struct ib_cq *ibcq;

	spin_lock(&cq->lock);
	rpma_cq_fetch_locked(cq);
	ibcq = cq->ibcq;
	cq->ibcq = NULL;
	spin_unlock(&cq->lock);

	ib_destroy_cq(ibcq);
	spin_lock(&cq->lock);
	cq->revoked = true;
	rpma_cq_fetch_locked(cq);
	spin_unlock(&cq->lock);
	rpma_cq_wake(cq);
}

static void rpma_cq_release_ref(struct kref *ref)
{
	struct rpma_cq *cq = container_of(ref, struct rpma_cq, ref);
	struct file *ctx_file = cq->ctx->file;

	rpma_hw_off(&cq->hw);
	rpma_channel_leave(&cq->member);
	rpma_cq_drop_parked(cq);
	rpma_ring_exit(&cq->ring);
	rpma_peer_put(cq->peer);
	rpma_ctx_uncharge(cq->ctx, RPMA_QUOTA_CQS, 1);
	kfree(cq);
	/* Taken in rpma_cq_create_ioctl(). */
	fput(ctx_file);
}

void rpma_cq_put(struct rpma_cq *cq)
{
	kref_put(&cq->ref, rpma_cq_release_ref);
}

struct rpma_cq *rpma_cq_get(struct rpma_ctx *ctx, int fd)
{
	struct file *file = rpma_ctx_fget(ctx, fd, &rpma_cq_fops);
	struct rpma_cq *cq;

	if (!file)
		return NULL;
	cq = file->private_data;
	kref_get(&cq->ref);
	fput(file);
	return cq;
}

static int rpma_cq_build(struct rpma_cq *cq)
{
	struct rpma_device *dev = cq->peer->dev;
	struct ib_cq_init_attr attr = {
		.cqe = cq->ring.entries + rpma_cq_max_senders(cq),
	};
	struct ib_cq *ibcq;

	if (!rpma_device_begin(dev))
		return -ENODEV;
	if (attr.cqe > dev->ibdev->attrs.max_cqe)
		ibcq = ERR_PTR(-EINVAL);
	else
		ibcq = ib_create_cq(dev->ibdev, rpma_cq_interrupt,
				    rpma_cq_async_event, cq, &attr);
	if (!IS_ERR(ibcq)) {
		cq->ibcq = ibcq;
		cq->hw.revoke = rpma_cq_hw_revoke;
		rpma_hw_on(&cq->hw, dev, RPMA_HW_CQ);
	}
	rpma_device_end(dev);
	return PTR_ERR_OR_ZERO(ibcq);
}

static struct rpma_cq *rpma_cq_create(struct rpma_ctx *ctx,
				      const struct rpma_ioc_cq_create *cmd)
{
	struct rpma_cq *cq;
	int ret;

	ret = rpma_ctx_charge(ctx, RPMA_QUOTA_CQS, 1);
	if (ret)
		return ERR_PTR(ret);
	cq = kzalloc(sizeof(*cq), GFP_KERNEL_ACCOUNT);
	if (!cq) {
		ret = -ENOMEM;
		goto err_uncharge;
	}
	cq->peer = rpma_peer_get(ctx, cmd->peer);
	if (!cq->peer) {
		ret = -ENOENT;
		goto err_free;
	}
	kref_init(&cq->ref);
	spin_lock_init(&cq->lock);
	INIT_LIST_HEAD(&cq->parked);
	INIT_LIST_HEAD(&cq->shares);
	mutex_init(&cq->share_lock);
	mutex_init(&cq->read_lock);
	init_waitqueue_head(&cq->wait);
	cq->member.ops = &rpma_cq_channel_ops;
	cq->ctx = ctx;
	get_file(ctx->file);

	/* From here on the last put undoes what was done. */
	ret = rpma_ring_init(&cq->ring, cmd->entries);
	if (!ret)
		ret = rpma_cq_build(cq);
	if (!ret && cmd->flags & RPMA_CQ_CREATE_F_CHANNEL)
		ret = rpma_channel_join(&cq->member, ctx, cmd->channel_fd,
					cmd->cookie);
	if (ret) {
		rpma_cq_put(cq);
		return ERR_PTR(ret);
	}
	return cq;

err_free:
	kfree(cq);
err_uncharge:
	rpma_ctx_uncharge(ctx, RPMA_QUOTA_CQS, 1);
	return ERR_PTR(ret);
}

int rpma_cq_create_ioctl(struct rpma_ucmd *ucmd)
{
	struct rpma_ioc_cq_create *cmd = ucmd->cmd;
	struct rpma_ctx *ctx = ucmd->owner;
	struct rpma_cq *cq;
	struct file *file;
	int fd, ret;

	if (cmd->flags & ~RPMA_CQ_CREATE_F_CHANNEL)
		return -EOPNOTSUPP;
	if (!(cmd->flags & RPMA_CQ_CREATE_F_CHANNEL) &&
	    (cmd->channel_fd || cmd->cookie))
		return -EOPNOTSUPP;
	if (!cmd->entries || cmd->entries > rpma_max_queue_size())
		return -EINVAL;
	cq = rpma_cq_create(ctx, cmd);
	if (IS_ERR(cq))
		return PTR_ERR(cq);

	fd = get_unused_fd_flags(O_CLOEXEC);
	if (fd < 0) {
		ret = fd;
		goto err_put_cq;
	}
	cmd->out_fd = fd;
	cmd->out_entries = cq->ring.entries;
	cmd->out_ring_bytes = cq->ring.bytes;
	ret = rpma_ucmd_respond(ucmd);
	if (ret)
		goto err_put_fd;
	file = anon_inode_getfile("[rpma_cq]", &rpma_cq_fops, cq, O_RDWR);
	if (IS_ERR(file)) {
		ret = PTR_ERR(file);
		goto err_put_fd;
	}
	fd_install(fd, file);
	return 0;

err_put_fd:
	put_unused_fd(fd);
err_put_cq:
	rpma_cq_put(cq);
	return ret;
}

/* ---- the descriptor ---- */

static int rpma_cq_poll_ioctl(struct rpma_ucmd *ucmd)
{
	struct rpma_cq *cq = ucmd->owner;

	rpma_cq_fetch(cq);
	return rpma_ring_unread(&cq->ring);
}

static int rpma_cq_wait(struct rpma_cq *cq, bool nonblock)
{
	bool gone;
	int ret;

	rpma_cq_fetch(cq);
	for (;;) {
		gone = rpma_ring_is_gone(&cq->ring);
		/* Another thread may have taken what woke this one. */
		if (rpma_cq_has_event(cq))
			break;
		if (gone)
			return -ENODEV;
		if (nonblock)
			return -EAGAIN;
		ret = rpma_cq_sleep(cq, rpma_cq_has_event_or_gone, cq,
				    TASK_INTERRUPTIBLE, MAX_SCHEDULE_TIMEOUT);
		if (ret)
			return ret;
	}
	rpma_cq_consume_event(cq);
	return rpma_ring_unread(&cq->ring);
}

static const struct rpma_ioctl_op rpma_cq_ioctls[] = {
	{ .number = RPMA_IOC_CQ_POLL, .execute = rpma_cq_poll_ioctl },
};

static long rpma_cq_fops_ioctl(struct file *file, unsigned int number,
			       unsigned long arg)
{
	/* Needs the file: only it knows O_NONBLOCK. */
	if (number == RPMA_IOC_CQ_WAIT)
		return arg ? -EINVAL : rpma_cq_wait(file->private_data,
						    file->f_flags & O_NONBLOCK);
	return rpma_ioctl_dispatch(rpma_cq_ioctls, ARRAY_SIZE(rpma_cq_ioctls),
				   file->private_data, number, arg);
}

static ssize_t rpma_cq_fops_read(struct file *file, char __user *buf,
				 size_t count, loff_t *ppos)
{
	struct rpma_cq *cq = file->private_data;
	u32 want = min_t(size_t, count / sizeof(struct rpma_completion), cq->ring.entries);
	ssize_t ret;

	if (!want)
		return -EINVAL;
	rpma_cq_fetch(cq);
	for (;;) {
		if (mutex_lock_interruptible(&cq->read_lock))
			return -ERESTARTSYS;
		ret = rpma_ring_read(&cq->ring, buf, want);
		mutex_unlock(&cq->read_lock);
		/* What was read makes room for those who wait to post. */
		if (ret > 0 && wq_has_sleeper(&cq->wait))
			wake_up(&cq->wait);
		if (ret)
			return ret;
		if (rpma_ring_is_gone(&cq->ring))
			return -ENODEV;
		if (file->f_flags & O_NONBLOCK)
			return -EAGAIN;
		ret = rpma_cq_sleep(cq, rpma_cq_has_unread_or_gone, cq,
				    TASK_INTERRUPTIBLE, MAX_SCHEDULE_TIMEOUT);
		if (ret)
			return ret;
	}
}

static __poll_t rpma_cq_fops_poll(struct file *file, poll_table *table)
{
	struct rpma_cq *cq = file->private_data;
	__poll_t mask = 0;

	poll_wait(file, &cq->wait, table);
	rpma_cq_arm(cq);
	if (rpma_cq_has_event(cq))
		mask |= EPOLLIN | EPOLLRDNORM;
	if (rpma_ring_is_gone(&cq->ring))
		mask |= EPOLLERR;
	return mask;
}

static int rpma_cq_fops_mmap(struct file *file, struct vm_area_struct *vma)
{
	struct rpma_cq *cq = file->private_data;

	return rpma_ring_mmap(&cq->ring, vma);
}

static int rpma_cq_fops_release(struct inode *inode, struct file *file)
{
	rpma_cq_put(file->private_data);
	return 0;
}

static const struct file_operations rpma_cq_fops = {
	.owner = THIS_MODULE,
	.read = rpma_cq_fops_read,
	.poll = rpma_cq_fops_poll,
	.mmap = rpma_cq_fops_mmap,
	.unlocked_ioctl = rpma_cq_fops_ioctl,
	.compat_ioctl = compat_ptr_ioctl,
	.release = rpma_cq_fops_release,
};
