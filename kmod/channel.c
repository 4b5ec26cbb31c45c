// SPDX-License-Identifier: GPL-2.0
/*
 * Completion channels: one descriptor that waits for several queues.
 *
 * A queue has at most one event pending, as it would have on a channel of
 * verbs. Whoever sleeps arms every queue first, so the adapter need not be
 * asked while others poll.
 *
 * Of queues with an event those come first that joined first. Programs join
 * the queue of their sends before that of their RECVs, and expect to hear that
 * a message was sent before they hear of the answer, which the adapter may well
 * report the other way round.
 */

#include <linux/anon_inodes.h>
#include <linux/file.h>
#include <linux/module.h>
#include <linux/poll.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include <uapi/linux/rpma.h>

#include "channel.h"

/* Events delivered by one read(2). */
#define RPMA_CHANNEL_BATCH 8

/* How often in a row a queue may be passed over. */
#define RPMA_CHANNEL_PASSED_OVER_MAX 16

/*
 * struct rpma_channel - a completion channel
 *
 * @ctx: whose; its file is held
 * @ref: one of its descriptor, one of each member
 * @read_lock: one reads at a time
 * @lock: the members; never held while user memory is touched
 * @members: completion queues, in the order they joined
 * @wait: woken when a member has an event, or has left
 */
struct rpma_channel {
	struct rpma_ctx *ctx;
	struct kref ref;
	struct mutex read_lock; /* read(2) */
	struct mutex lock; /* members */
	struct list_head members;
	wait_queue_head_t wait;
};

static const struct file_operations rpma_channel_fops;
RPMA_CHILD_STARTS_WITH_CTX(rpma_channel);

static void rpma_channel_release_ref(struct kref *ref)
{
	struct rpma_channel *channel =
		container_of(ref, struct rpma_channel, ref);
	struct file *ctx_file = channel->ctx->file;

	rpma_ctx_uncharge(channel->ctx, RPMA_QUOTA_CQS, 1);
	kfree(channel);
	/* Taken in rpma_channel_create(). */
	fput(ctx_file);
}

static void rpma_channel_put(struct rpma_channel *channel)
{
	kref_put(&channel->ref, rpma_channel_release_ref);
}

/* ---- members ---- */

int rpma_channel_join(struct rpma_channel_member *member, struct rpma_ctx *ctx,
		      int fd, u64 cookie)
{
	struct file *file = rpma_ctx_fget(ctx, fd, &rpma_channel_fops);
	struct rpma_channel *channel;

	if (!file)
		return -EBADF;
	channel = file->private_data;
	kref_get(&channel->ref);
	fput(file);

	member->cookie = cookie;
	WRITE_ONCE(member->channel, channel);
	scoped_guard(mutex, &channel->lock)
		list_add_tail(&member->node, &channel->members);
	/* Who sleeps has not armed this one. */
	wake_up(&channel->wait);
	return 0;
}

void rpma_channel_leave(struct rpma_channel_member *member)
{
	struct rpma_channel *channel = member->channel;

	if (!channel)
		return;
	scoped_guard(mutex, &channel->lock)
		list_del(&member->node);
	wake_up(&channel->wait);
	rpma_channel_put(channel);
}

void rpma_channel_wake(struct rpma_channel_member *member)
{
	struct rpma_channel *channel = READ_ONCE(member->channel);

	if (channel && wq_has_sleeper(&channel->wait))
		wake_up(&channel->wait);
}

/* ---- events ---- */

static bool rpma_channel_has_event(struct rpma_channel *channel)
{
	struct rpma_channel_member *member;

	lockdep_assert_held(&channel->lock);
	list_for_each_entry(member, &channel->members, node)
		if (member->ops->has_event(member))
			return true;
	return false;
}

static void rpma_channel_arm(struct rpma_channel *channel)
{
	struct rpma_channel_member *member;

	lockdep_assert_held(&channel->lock);
	list_for_each_entry(member, &channel->members, node)
		member->ops->arm(member);
}

/* Nothing will ever come: members there are, but their device has left. */
static bool rpma_channel_is_gone(struct rpma_channel *channel)
{
	struct rpma_channel_member *member;

	lockdep_assert_held(&channel->lock);
	list_for_each_entry(member, &channel->members, node)
		if (!member->ops->is_gone(member))
			return false;
	return !list_empty(&channel->members);
}

struct rpma_channel_batch {
	u32 nr;
	struct rpma_channel_member *members[RPMA_CHANNEL_BATCH];
	struct rpma_channel_event events[RPMA_CHANNEL_BATCH];
};

static void rpma_channel_choose(struct rpma_channel_batch *batch,
				struct rpma_channel_member *member)
{
	batch->members[batch->nr] = member;
	batch->events[batch->nr] = (struct rpma_channel_event) {
		.cookie = member->cookie,
		.unread = member->ops->unread(member),
	};
	batch->nr++;
}

static bool rpma_channel_is_chosen(const struct rpma_channel_batch *batch,
				   const struct rpma_channel_member *member)
{
	u32 i;

	for (i = 0; i < batch->nr; i++)
		if (batch->members[i] == member)
			return true;
	return false;
}

/* The first one to join, unless one was passed over too often: that one. */
static struct rpma_channel_member *
rpma_channel_next(struct rpma_channel *channel,
		  const struct rpma_channel_batch *batch)
{
	struct rpma_channel_member *member, *next = NULL;

	list_for_each_entry(member, &channel->members, node) {
		if (rpma_channel_is_chosen(batch, member) ||
		    !member->ops->has_event(member))
			continue;
		if (!next || (member->passed_over > next->passed_over &&
			      member->passed_over >= RPMA_CHANNEL_PASSED_OVER_MAX))
			next = member;
	}
	return next;
}

/* Return: 0, also if there is none yet, or -ENODEV. */
static int rpma_channel_collect(struct rpma_channel *channel,
				struct rpma_channel_batch *batch, u32 want)
{
	struct rpma_channel_member *member;

	guard(mutex)(&channel->lock);
	rpma_channel_arm(channel);
	batch->nr = 0;
	while (batch->nr < want) {
		member = rpma_channel_next(channel, batch);
		if (!member)
			return !batch->nr && rpma_channel_is_gone(channel) ?
			       -ENODEV : 0;
		rpma_channel_choose(batch, member);
	}
	list_for_each_entry(member, &channel->members, node)
		if (!rpma_channel_is_chosen(batch, member) &&
		    member->ops->has_event(member))
			member->passed_over++;
	return 0;
}

/* They reached the user. Those that left meanwhile are not members any more. */
static void rpma_channel_consume(struct rpma_channel *channel,
				 const struct rpma_channel_batch *batch)
{
	struct rpma_channel_member *member;

	guard(mutex)(&channel->lock);
	list_for_each_entry(member, &channel->members, node) {
		if (!rpma_channel_is_chosen(batch, member))
			continue;
		member->passed_over = 0;
		member->ops->consume(member);
	}
}

/* Return: bytes delivered, 0 to sleep, or an errno. */
static ssize_t rpma_channel_try_read(struct rpma_channel *channel,
				     char __user *buf, u32 want)
{
	struct rpma_channel_batch batch;
	ssize_t ret;

	if (mutex_lock_interruptible(&channel->read_lock))
		return -ERESTARTSYS;
	ret = rpma_channel_collect(channel, &batch, want);
	if (!ret && batch.nr) {
		ret = batch.nr * sizeof(*batch.events);
		if (copy_to_user(buf, batch.events, ret))
			ret = -EFAULT;
		else
			rpma_channel_consume(channel, &batch);
	}
	mutex_unlock(&channel->read_lock);
	return ret;
}

static ssize_t rpma_channel_fops_read(struct file *file, char __user *buf,
				      size_t count, loff_t *ppos)
{
	struct rpma_channel *channel = file->private_data;
	u32 want = min_t(size_t, count / sizeof(struct rpma_channel_event),
			 RPMA_CHANNEL_BATCH);
	DEFINE_WAIT_FUNC(wait, woken_wake_function);
	ssize_t ret;

	if (!want)
		return -EINVAL;
	add_wait_queue(&channel->wait, &wait);
	for (;;) {
		ret = rpma_channel_try_read(channel, buf, want);
		if (ret)
			break;
		if (file->f_flags & O_NONBLOCK) {
			ret = -EAGAIN;
			break;
		}
		if (signal_pending(current)) {
			ret = -ERESTARTSYS;
			break;
		}
		wait_woken(&wait, TASK_INTERRUPTIBLE, MAX_SCHEDULE_TIMEOUT);
	}
	remove_wait_queue(&channel->wait, &wait);
	return ret;
}

static __poll_t rpma_channel_fops_poll(struct file *file, poll_table *table)
{
	struct rpma_channel *channel = file->private_data;
	__poll_t mask = 0;

	poll_wait(file, &channel->wait, table);
	guard(mutex)(&channel->lock);
	rpma_channel_arm(channel);
	if (rpma_channel_has_event(channel))
		mask |= EPOLLIN | EPOLLRDNORM;
	if (rpma_channel_is_gone(channel))
		mask |= EPOLLERR;
	return mask;
}

static int rpma_channel_fops_release(struct inode *inode, struct file *file)
{
	rpma_channel_put(file->private_data);
	return 0;
}

static const struct file_operations rpma_channel_fops = {
	.owner = THIS_MODULE,
	.read = rpma_channel_fops_read,
	.poll = rpma_channel_fops_poll,
	.release = rpma_channel_fops_release,
};

/* ---- birth ---- */

static struct rpma_channel *rpma_channel_create(struct rpma_ctx *ctx)
{
	struct rpma_channel *channel;
	int ret;

	ret = rpma_ctx_charge(ctx, RPMA_QUOTA_CQS, 1);
	if (ret)
		return ERR_PTR(ret);
	channel = kzalloc(sizeof(*channel), GFP_KERNEL_ACCOUNT);
	if (!channel) {
		rpma_ctx_uncharge(ctx, RPMA_QUOTA_CQS, 1);
		return ERR_PTR(-ENOMEM);
	}
	kref_init(&channel->ref);
	mutex_init(&channel->read_lock);
	mutex_init(&channel->lock);
	INIT_LIST_HEAD(&channel->members);
	init_waitqueue_head(&channel->wait);
	channel->ctx = ctx;
	get_file(ctx->file);
	return channel;
}

int rpma_channel_create_ioctl(struct rpma_ucmd *ucmd)
{
	struct rpma_ioc_channel_create *cmd = ucmd->cmd;
	struct rpma_channel *channel;
	struct file *file;
	int fd, ret;

	if (cmd->flags || cmd->__reserved)
		return -EOPNOTSUPP;
	channel = rpma_channel_create(ucmd->owner);
	if (IS_ERR(channel))
		return PTR_ERR(channel);
	fd = get_unused_fd_flags(O_CLOEXEC);
	if (fd < 0) {
		ret = fd;
		goto err_put_channel;
	}
	cmd->out_fd = fd;
	ret = rpma_ucmd_respond(ucmd);
	if (ret)
		goto err_put_fd;
	file = anon_inode_getfile("[rpma_channel]", &rpma_channel_fops, channel,
				  O_RDWR);
	if (IS_ERR(file)) {
		ret = PTR_ERR(file);
		goto err_put_fd;
	}
	fd_install(fd, file);
	return 0;

err_put_fd:
	put_unused_fd(fd);
err_put_channel:
	rpma_channel_put(channel);
	return ret;
}
