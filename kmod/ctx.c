// SPDX-License-Identifier: GPL-2.0
/* One open /dev/rpma: its ids, and what it and its user may hold. */

#include <linux/cred.h>
#include <linux/file.h>
#include <linux/list.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/slab.h>
#include <linux/uidgid.h>

#include "ctx.h"

/*
 * struct rpma_user - what one user holds over all its files
 *
 * Owned by the ctxs of that user: the last release frees it. On rpma_users
 * while @ctxs is not 0; both change under rpma_users_lock.
 */
struct rpma_user {
	struct list_head node;
	kuid_t uid;
	unsigned int ctxs;
	atomic64_t used[RPMA_QUOTA_NR];
};

static LIST_HEAD(rpma_users);
static DEFINE_MUTEX(rpma_users_lock);

/* Limits that the administrator can change at any time. */
static struct {
	ulong ctx;
	ulong user;
	unsigned int shift;
} rpma_limits[RPMA_QUOTA_NR] = {
	[RPMA_QUOTA_PEERS] = { 64, 1024 },
	[RPMA_QUOTA_MRS] = { 16384, 65536 },
	[RPMA_QUOTA_CQS] = { 4096, 8192 },
	[RPMA_QUOTA_EPS] = { 64, 256 },
	[RPMA_QUOTA_CONNS] = { 2048, 4096 },
	[RPMA_QUOTA_SRQS] = { 256, 1024 },
	[RPMA_QUOTA_PINNED] = { 64UL << 20, 64UL << 20, 20 },
};

module_param_named(max_peers, rpma_limits[RPMA_QUOTA_PEERS].ctx, ulong, 0644);
MODULE_PARM_DESC(max_peers, "peers per open file");
module_param_named(max_mrs, rpma_limits[RPMA_QUOTA_MRS].ctx, ulong, 0644);
MODULE_PARM_DESC(max_mrs, "memory regions per open file");
module_param_named(max_cqs, rpma_limits[RPMA_QUOTA_CQS].ctx, ulong, 0644);
MODULE_PARM_DESC(max_cqs, "completion queues per open file");
module_param_named(max_eps, rpma_limits[RPMA_QUOTA_EPS].ctx, ulong, 0644);
MODULE_PARM_DESC(max_eps, "endpoints per open file");
module_param_named(max_conns, rpma_limits[RPMA_QUOTA_CONNS].ctx, ulong, 0644);
MODULE_PARM_DESC(max_conns, "connections per open file");
module_param_named(max_srqs, rpma_limits[RPMA_QUOTA_SRQS].ctx, ulong, 0644);
MODULE_PARM_DESC(max_srqs, "shared receive queues per open file");
module_param_named(max_pinned_mib, rpma_limits[RPMA_QUOTA_PINNED].ctx, ulong, 0644);
MODULE_PARM_DESC(max_pinned_mib, "MiB in memory regions per open file");

module_param_named(max_user_peers, rpma_limits[RPMA_QUOTA_PEERS].user, ulong, 0644);
MODULE_PARM_DESC(max_user_peers, "peers per user");
module_param_named(max_user_mrs, rpma_limits[RPMA_QUOTA_MRS].user, ulong, 0644);
MODULE_PARM_DESC(max_user_mrs, "memory regions per user");
module_param_named(max_user_cqs, rpma_limits[RPMA_QUOTA_CQS].user, ulong, 0644);
MODULE_PARM_DESC(max_user_cqs, "completion queues per user");
module_param_named(max_user_eps, rpma_limits[RPMA_QUOTA_EPS].user, ulong, 0644);
MODULE_PARM_DESC(max_user_eps, "endpoints per user");
module_param_named(max_user_conns, rpma_limits[RPMA_QUOTA_CONNS].user, ulong, 0644);
MODULE_PARM_DESC(max_user_conns, "connections per user");
module_param_named(max_user_srqs, rpma_limits[RPMA_QUOTA_SRQS].user, ulong, 0644);
MODULE_PARM_DESC(max_user_srqs, "shared receive queues per user");
module_param_named(max_user_pinned_mib, rpma_limits[RPMA_QUOTA_PINNED].user, ulong, 0644);
MODULE_PARM_DESC(max_user_pinned_mib, "MiB in memory regions per user");

static uint max_queue_size = 16384;
module_param(max_queue_size, uint, 0644);
MODULE_PARM_DESC(max_queue_size, "entries of a send, receive or completion queue");

u64 rpma_quota_limit(enum rpma_quota quota, bool per_user)
{
	const ulong *limit = per_user ? &rpma_limits[quota].user :
					&rpma_limits[quota].ctx;
	unsigned int shift = rpma_limits[quota].shift;

	return clamp_t(u64, READ_ONCE(*limit), 1, S64_MAX >> shift) << shift;
}

u32 rpma_max_queue_size(void)
{
	return clamp(READ_ONCE(max_queue_size), 1U, 1U << 18);
}

static bool rpma_charge(atomic64_t *used, u64 amount, u64 limit)
{
	s64 old = atomic64_read(used);

	do {
		if (amount > limit || old > limit - amount)
			return false;
	} while (!atomic64_try_cmpxchg(used, &old, old + amount));
	return true;
}

int rpma_ctx_charge(struct rpma_ctx *ctx, enum rpma_quota quota, u64 amount)
{
	if (!rpma_charge(&ctx->used[quota], amount,
			 rpma_quota_limit(quota, false)))
		return -EDQUOT;
	if (!rpma_charge(&ctx->user->used[quota], amount,
			 rpma_quota_limit(quota, true))) {
		atomic64_sub(amount, &ctx->used[quota]);
		return -EDQUOT;
	}
	return 0;
}

void rpma_ctx_uncharge(struct rpma_ctx *ctx, enum rpma_quota quota, u64 amount)
{
	atomic64_sub(amount, &ctx->used[quota]);
	atomic64_sub(amount, &ctx->user->used[quota]);
}

/* Put in rpma_ctx_release(). */
static struct rpma_user *rpma_user_get(kuid_t uid)
{
	struct rpma_user *user;

	guard(mutex)(&rpma_users_lock);
	list_for_each_entry(user, &rpma_users, node) {
		if (uid_eq(user->uid, uid)) {
			user->ctxs++;
			return user;
		}
	}
	user = kzalloc(sizeof(*user), GFP_KERNEL_ACCOUNT);
	if (!user)
		return NULL;
	user->uid = uid;
	user->ctxs = 1;
	list_add(&user->node, &rpma_users);
	return user;
}

static void rpma_user_put(struct rpma_user *user)
{
	guard(mutex)(&rpma_users_lock);
	if (--user->ctxs)
		return;
	list_del(&user->node);
	kfree(user);
}

int rpma_ctx_open(struct inode *inode, struct file *file)
{
	struct rpma_ctx *ctx = kzalloc(sizeof(*ctx), GFP_KERNEL_ACCOUNT);

	if (!ctx)
		return -ENOMEM;
	ctx->user = rpma_user_get(current_fsuid());
	if (!ctx->user) {
		kfree(ctx);
		return -ENOMEM;
	}
	ctx->file = file;
	xa_init_flags(&ctx->objects, XA_FLAGS_ALLOC1 | XA_FLAGS_ACCOUNT);
	file->private_data = ctx;
	return nonseekable_open(inode, file);
}

static void rpma_ctx_destroy_all(struct rpma_ctx *ctx, bool is_used)
{
	struct rpma_object *obj;
	unsigned long id;

	xa_for_each(&ctx->objects, id, obj)
		if (obj->ops->is_used == is_used)
			WARN_ON(rpma_object_destroy(ctx, id,
						    obj->ops->may_force));
}

/*
 * Every child descriptor holds this file, so only ids are left: regions, which
 * the RECVs of shared queues may use, these queues, and last the peers that
 * both of them use.
 */
int rpma_ctx_release(struct inode *inode, struct file *file)
{
	struct rpma_ctx *ctx = file->private_data;

	rpma_ctx_destroy_all(ctx, false);
	rpma_ctx_destroy_all(ctx, true);
	xa_destroy(&ctx->objects);
	rpma_user_put(ctx->user);
	kfree(ctx);
	return 0;
}

struct file *rpma_ctx_fget(struct rpma_ctx *ctx, int fd,
			   const struct file_operations *fops)
{
	struct file *file = fget(fd);
	struct rpma_ctx **owner;

	if (!file)
		return NULL;
	if (file->f_op == fops) {
		owner = file->private_data;
		if (*owner == ctx)
			return file;
	}
	fput(file);
	return NULL;
}

int rpma_object_reserve(struct rpma_ctx *ctx, struct rpma_object *obj,
			const struct rpma_object_ops *ops)
{
	obj->ctx = ctx;
	obj->ops = ops;
	refcount_set(&obj->users, 1);
	return xa_alloc(&ctx->objects, &obj->id, NULL, xa_limit_31b,
			GFP_KERNEL_ACCOUNT);
}

void rpma_object_publish(struct rpma_object *obj)
{
	void *old = xa_store(&obj->ctx->objects, obj->id, obj, GFP_KERNEL);

	/* The entry was reserved, so storing allocates nothing. */
	WARN_ON(old);
}

void rpma_object_abort(struct rpma_object *obj)
{
	xa_erase(&obj->ctx->objects, obj->id);
}

/*
 * The table's lock, not RCU: it makes "found" and "has a reference" one step,
 * so objects are freed without a grace period.
 */
struct rpma_object *rpma_object_get(struct rpma_ctx *ctx, u32 id,
				    const struct rpma_object_ops *ops)
{
	struct rpma_object *obj;

	xa_lock(&ctx->objects);
	obj = xa_load(&ctx->objects, id);
	if (obj && obj->ops == ops)
		refcount_inc(&obj->users);
	else
		obj = NULL;
	xa_unlock(&ctx->objects);
	return obj;
}

void rpma_object_put(struct rpma_object *obj)
{
	if (refcount_dec_and_test(&obj->users))
		obj->ops->free(obj);
}

int rpma_object_destroy(struct rpma_ctx *ctx, u32 id, bool force)
{
	struct rpma_object *obj;
	int ret = 0;

	xa_lock(&ctx->objects);
	obj = xa_load(&ctx->objects, id);
	if (!obj)
		ret = -ENOENT;
	else if (force && !obj->ops->may_force)
		ret = -EOPNOTSUPP;
	else if (!force && refcount_read(&obj->users) != 1)
		ret = -EBUSY;
	else
		__xa_erase(&ctx->objects, id);
	xa_unlock(&ctx->objects);
	if (ret)
		return ret;

	/* Hidden: nobody takes new references, and revoke needs none gone. */
	obj->ops->revoke(obj);
	rpma_object_put(obj);
	return 0;
}
