/* SPDX-License-Identifier: GPL-2.0 */
/* One open /dev/rpma: its ids, and what it and its user may hold. */
#ifndef RPMA_CTX_H
#define RPMA_CTX_H

#include <linux/fs.h>
#include <linux/refcount.h>
#include <linux/xarray.h>

/**
 * DOC: who frees what, and in which order locks are taken
 *
 * ::
 *
 *   WHO FREES IT                            WHO KEEPS IT ALIVE
 *
 *   fd /dev/rpma -- ctx -+- peer (id)       every other fd    --file--> ctx
 *                        +- mr   (id)       mr, cq, ep, conn  --users-> peer
 *                        `- srq  (id)       srq               --users-> peer
 *   fd ep -- ep -- backlog: conn, conn...   peer              --kref--> device
 *   fd conn -- conn -- qp -- wr[]           conn (send, recv) --kref--> cq
 *   fd cq -- cq  (with its conns: kref)     wr in flight      --users-> mr
 *   fd channel -- channel                   cq                --kref--> channel
 *   ib_client -- device                     conn, and a message that waits
 *                                           for room in a cq  --users-> srq
 *
 * Left is a forest: one parent each; cq, the one shared child, has the kref.
 * Right has no cycle. The device removes hardware under everybody (revoke);
 * it never waits for user space.
 *
 * Lock order, outermost first::
 *
 *   device.use (rwsem: build hardware | device goes away)
 *   channel.lock (mutex: who waits for any of its queues)
 *   srq.qps_lock (mutex: queue pairs that come and go)
 *   cm.mutex (one caller at a time in rdma_cm; held while a conn is revoked)
 *   rdma_cm's handler mutex
 *   ep.lock, cm.lock (spin)
 *   qp.lock, srq.lock (spin: posting)
 *   cq.lock (spin: fetching completions; runs their done functions)
 *
 * device.lock (spin) guards only the lists of hardware and the table's lock
 * of a ctx only lookups; nothing else is taken under them. Nothing sleeps
 * under the spinlocks. A completion interrupt takes none of them: some
 * providers raise it under their own queue lock.
 */

struct rpma_object;
struct rpma_user;

/* What is counted, per ctx and per user. */
enum rpma_quota {
	RPMA_QUOTA_PEERS,
	RPMA_QUOTA_MRS,
	RPMA_QUOTA_CQS,
	RPMA_QUOTA_EPS,
	RPMA_QUOTA_CONNS,
	RPMA_QUOTA_SRQS,
	RPMA_QUOTA_PINNED,
	RPMA_QUOTA_NR,
};

/**
 * struct rpma_ctx - one open /dev/rpma
 * @file: that file; it owns the ctx, child descriptors hold the file
 * @objects: peers and memory regions by id
 * @user: whom to charge; held until release
 * @used: charged so far, by enum rpma_quota
 */
struct rpma_ctx {
	struct file *file;
	struct xarray objects;
	struct rpma_user *user;
	atomic64_t used[RPMA_QUOTA_NR];
};

/**
 * struct rpma_object_ops - one kind of object that has an id
 * @revoke: give back what belongs to the device; may sleep; idempotent
 * @free: the last reference is gone and @revoke was called; may not sleep
 *	where a reference is put under spinlocks
 * @may_force: destroy also while others use it
 * @is_used: by objects of other kinds; destroyed after them
 */
struct rpma_object_ops {
	void (*revoke)(struct rpma_object *obj);
	void (*free)(struct rpma_object *obj);
	bool may_force;
	bool is_used;
};

/**
 * struct rpma_object - what an id names
 * @ops: its kind
 * @ctx: whose table it is in
 * @id: its id there
 * @users: 1 for the table, 1 for each edge of the graph that ends here.
 *	Destroy says EBUSY unless only the first is left.
 */
struct rpma_object {
	const struct rpma_object_ops *ops;
	struct rpma_ctx *ctx;
	u32 id;
	refcount_t users;
};

int rpma_ctx_open(struct inode *inode, struct file *file);
int rpma_ctx_release(struct inode *inode, struct file *file);

/**
 * rpma_ctx_charge - count something against the ctx and its user
 * @ctx: the ctx
 * @quota: what
 * @amount: how much
 *
 * Return: 0, or -EDQUOT with nothing charged.
 */
int rpma_ctx_charge(struct rpma_ctx *ctx, enum rpma_quota quota, u64 amount);

/**
 * rpma_ctx_uncharge - undo rpma_ctx_charge()
 * @ctx: the ctx
 * @quota: what
 * @amount: how much
 */
void rpma_ctx_uncharge(struct rpma_ctx *ctx, enum rpma_quota quota, u64 amount);

/**
 * rpma_quota_limit - a limit as the module parameters have it
 * @quota: what
 * @per_user: of a user over all its files; else of one file
 *
 * Return: the limit, never 0.
 */
u64 rpma_quota_limit(enum rpma_quota quota, bool per_user);

/**
 * rpma_ctx_fget - find a child of a ctx by descriptor
 * @ctx: whose it must be
 * @fd: the descriptor
 * @fops: the kind it must be of; its private data starts with a pointer to
 *	its ctx, see RPMA_CHILD_STARTS_WITH_CTX()
 *
 * Return: the file, to be given back with fput(), or NULL.
 */
struct file *rpma_ctx_fget(struct rpma_ctx *ctx, int fd,
			   const struct file_operations *fops);

#define RPMA_CHILD_STARTS_WITH_CTX(type) \
	static_assert(offsetof(struct type, ctx) == 0)

/* Largest send, receive or completion queue; a module parameter. */
u32 rpma_max_queue_size(void);

/**
 * rpma_object_reserve - take an id that nobody can find yet
 * @ctx: whose table
 * @obj: the object, to be published or aborted
 * @ops: its kind
 *
 * Return: 0, -ENOMEM, or -EBUSY when all ids are taken.
 */
int rpma_object_reserve(struct rpma_ctx *ctx, struct rpma_object *obj,
			const struct rpma_object_ops *ops);

/* Let the id be found. Cannot fail. */
void rpma_object_publish(struct rpma_object *obj);

/* Give a reserved id back. The object stays the caller's. */
void rpma_object_abort(struct rpma_object *obj);

/**
 * rpma_object_get - find an object and take a reference
 * @ctx: whose table
 * @id: its id
 * @ops: the kind it must be of
 *
 * Return: the object, to be given back with rpma_object_put(), or NULL.
 */
struct rpma_object *rpma_object_get(struct rpma_ctx *ctx, u32 id,
				    const struct rpma_object_ops *ops);

/* Give a reference back. May be called under spinlocks. */
void rpma_object_put(struct rpma_object *obj);

/**
 * rpma_object_destroy - hide the id, revoke, drop the table's reference
 * @ctx: whose table
 * @id: the id
 * @force: also while others use it
 *
 * Return: 0, -ENOENT, -EBUSY, or -EOPNOTSUPP if its kind cannot be forced.
 */
int rpma_object_destroy(struct rpma_ctx *ctx, u32 id, bool force);

#endif /* RPMA_CTX_H */
