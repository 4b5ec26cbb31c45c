/* SPDX-License-Identifier: GPL-2.0 */
/* The ring of completions that the user maps and reads. */
#ifndef RPMA_RING_H
#define RPMA_RING_H

#include <linux/atomic.h>
#include <linux/mm_types.h>
#include <linux/types.h>
#include <uapi/linux/rpma.h>

/**
 * struct rpma_ring - completions on their way to the user
 * @entries: a power of two
 * @bytes: size of the mapping
 * @shared: mapped read-only by the user
 * @slots: the entries in it
 * @tail: the kernel's own copy of shared->tail
 * @user_head: the page where the user says what it has read; not trusted
 * @head: the last value there that made sense
 * @held: places promised to requests that have not completed
 * @reserved: of these, places kept for RECVs of shared queues; changes, and is
 *	looked at, by one at a time
 *
 * Nothing is ever dropped, because a request takes a place before it is
 * posted and keeps it until its completion was read, or was silent:
 *
 *   held (in flight) + unread (tail - head) <= entries
 *
 * Where a RECV of a shared queue will complete is not known when it is posted.
 * Every ring that it may be keeps places, which bounds what the adapter's queue
 * must hold, and rpma_ring_push_shared() takes any place that is free.
 */
struct rpma_ring {
	u32 entries;
	u32 bytes;
	struct rpma_cq_ring *shared;
	struct rpma_completion *slots;
	u32 tail;
	u32 *user_head;
	u32 head;
	atomic_t held;
	u32 reserved;
};

/* Return: 0 or -ENOMEM; also then rpma_ring_exit() must follow. */
int rpma_ring_init(struct rpma_ring *ring, u32 entries);
void rpma_ring_exit(struct rpma_ring *ring);

/* How many completions the user has not read. */
u32 rpma_ring_unread(struct rpma_ring *ring);

/**
 * rpma_ring_hold - take a place for a request about to be posted
 * @ring: where it will complete
 *
 * Return: false if there is none: unread completions take them.
 */
bool rpma_ring_hold(struct rpma_ring *ring);

/* Would rpma_ring_hold() succeed now? */
bool rpma_ring_has_place(struct rpma_ring *ring);

/* Give a place back: not posted after all, or completed silently. */
void rpma_ring_unhold(struct rpma_ring *ring);

/**
 * rpma_ring_push - put a completion into its place
 * @ring: where it holds one
 * @completion: the completion
 *
 * Context: one at a time.
 */
void rpma_ring_push(struct rpma_ring *ring,
		    const struct rpma_completion *completion);

/**
 * rpma_ring_reserve - keep places for RECVs of a shared queue
 * @ring: where they may complete
 * @nr: how many places
 *
 * Context: where rpma_ring_push() is.
 *
 * Return: false if so many are not free now.
 */
bool rpma_ring_reserve(struct rpma_ring *ring, u32 nr);
void rpma_ring_unreserve(struct rpma_ring *ring, u32 nr);

/**
 * rpma_ring_push_shared - put in the completion of a RECV of a shared queue
 * @ring: where places are reserved
 * @completion: the completion
 *
 * Context: where rpma_ring_push() is.
 *
 * Return: false if every place not held by others is unread.
 */
bool rpma_ring_push_shared(struct rpma_ring *ring,
			   const struct rpma_completion *completion);

/**
 * rpma_ring_read - take completions for read(2)
 * @ring: the ring
 * @buf: where to
 * @want: how many at most
 *
 * Context: one at a time; may sleep.
 *
 * Return: bytes copied, 0 if there is none, or -EFAULT with none taken.
 */
ssize_t rpma_ring_read(struct rpma_ring *ring, char __user *buf, u32 want);

/* Nothing will be pushed any more. */
void rpma_ring_set_gone(struct rpma_ring *ring);
bool rpma_ring_is_gone(const struct rpma_ring *ring);

int rpma_ring_mmap(struct rpma_ring *ring, struct vm_area_struct *vma);

#endif /* RPMA_RING_H */
