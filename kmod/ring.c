// SPDX-License-Identifier: GPL-2.0
/* The ring of completions that the user maps and reads. */

#include <linux/log2.h>
#include <linux/mm.h>
#include <linux/uaccess.h>
#include <linux/vmalloc.h>

#include "ring.h"

int rpma_ring_init(struct rpma_ring *ring, u32 entries)
{
	ring->entries = roundup_pow_of_two(entries);
	ring->bytes = PAGE_ALIGN(sizeof(*ring->shared) +
				 ring->entries * sizeof(*ring->slots));
	ring->shared = vmalloc_user(ring->bytes);
	ring->user_head = vmalloc_user(PAGE_SIZE);
	if (!ring->shared || !ring->user_head)
		return -ENOMEM;
	ring->slots = (struct rpma_completion *)(ring->shared + 1);
	ring->shared->entries = ring->entries;
	ring->shared->entry_size = sizeof(*ring->slots);
	ring->shared->first_offset = sizeof(*ring->shared);
	return 0;
}

void rpma_ring_exit(struct rpma_ring *ring)
{
	vfree(ring->shared);
	vfree(ring->user_head);
}

/*
 * Return: how many completions the user has taken, and how many there were.
 * What it wrote may be anything: out of order counts as nothing read. @head
 * only moves forward, however many look at the same time.
 */
static u32 rpma_ring_head(struct rpma_ring *ring, u32 *tail)
{
	u32 head = READ_ONCE(ring->head);
	u32 claimed;

	do {
		claimed = READ_ONCE(*ring->user_head);
		/* ORDER: tail before entries. Pairs with _push(). */
		*tail = smp_load_acquire(&ring->tail);
		if (claimed - head > *tail - head)
			return head;
	} while (!try_cmpxchg(&ring->head, &head, claimed));
	return claimed;
}

u32 rpma_ring_unread(struct rpma_ring *ring)
{
	u32 tail;
	u32 head = rpma_ring_head(ring, &tail);

	return tail - head;
}

bool rpma_ring_hold(struct rpma_ring *ring)
{
	/* ORDER: take it, then look at the tail. Pairs with _push(). */
	u32 held = atomic_inc_return(&ring->held);

	if (held + rpma_ring_unread(ring) <= ring->entries)
		return true;
	atomic_dec(&ring->held);
	return false;
}

bool rpma_ring_has_place(struct rpma_ring *ring)
{
	return atomic_read(&ring->held) + rpma_ring_unread(ring) <
	       ring->entries;
}

void rpma_ring_unhold(struct rpma_ring *ring)
{
	atomic_dec(&ring->held);
}

void rpma_ring_push(struct rpma_ring *ring,
		    const struct rpma_completion *completion)
{
	ring->slots[ring->tail & (ring->entries - 1)] = *completion;
	/* ORDER: entry before tail. Pairs with rpma_ring_head(). */
	smp_store_release(&ring->tail, ring->tail + 1);
	/* ORDER: the same for the user. Pairs with its load-acquire. */
	smp_store_release(&ring->shared->tail, ring->tail);
	/* ORDER: tail before the place is free. Pairs with _hold(). */
	smp_mb__before_atomic();
	atomic_dec(&ring->held);
}

bool rpma_ring_reserve(struct rpma_ring *ring, u32 nr)
{
	u32 held;

	if (nr > ring->entries)
		return false;
	/* ORDER: take them, then look at the tail, as _hold() does. */
	held = atomic_add_return(nr, &ring->held);
	if (held + rpma_ring_unread(ring) > ring->entries) {
		atomic_sub(nr, &ring->held);
		return false;
	}
	ring->reserved += nr;
	return true;
}

void rpma_ring_unreserve(struct rpma_ring *ring, u32 nr)
{
	ring->reserved -= nr;
	atomic_sub(nr, &ring->held);
}

bool rpma_ring_push_shared(struct rpma_ring *ring,
			   const struct rpma_completion *completion)
{
	/* ORDER: take a place, then look at the tail, as _hold() does. */
	u32 held = atomic_inc_return(&ring->held) - ring->reserved;

	if (held + rpma_ring_unread(ring) > ring->entries) {
		atomic_dec(&ring->held);
		return false;
	}
	rpma_ring_push(ring, completion);
	return true;
}

ssize_t rpma_ring_read(struct rpma_ring *ring, char __user *buf, u32 want)
{
	u32 tail;
	u32 head = rpma_ring_head(ring, &tail);
	u32 nr = min(tail - head, want);
	u32 i;

	for (i = 0; i < nr; i++) {
		if (copy_to_user(buf + i * sizeof(*ring->slots),
				 &ring->slots[(head + i) & (ring->entries - 1)],
				 sizeof(*ring->slots)))
			break;
	}
	if (!i && nr)
		return -EFAULT;
	/* ORDER: entries before head. Pairs with _hold(). */
	smp_store_release(ring->user_head, head + i);
	return i * sizeof(*ring->slots);
}

void rpma_ring_set_gone(struct rpma_ring *ring)
{
	WRITE_ONCE(ring->shared->gone, 1);
}

bool rpma_ring_is_gone(const struct rpma_ring *ring)
{
	return READ_ONCE(ring->shared->gone);
}

int rpma_ring_mmap(struct rpma_ring *ring, struct vm_area_struct *vma)
{
	u64 offset = (u64)vma->vm_pgoff << PAGE_SHIFT;
	unsigned long size = vma->vm_end - vma->vm_start;

	if (!(vma->vm_flags & VM_SHARED))
		return -EINVAL;
	if (offset == RPMA_CQ_OFF_HEAD && size == PAGE_SIZE)
		return remap_vmalloc_range(vma, ring->user_head, 0);
	if (offset != RPMA_CQ_OFF_RING || size > ring->bytes)
		return -EINVAL;
	if (vma->vm_flags & VM_WRITE)
		return -EPERM;
	vm_flags_clear(vma, VM_MAYWRITE);
	return remap_vmalloc_range(vma, ring->shared, 0);
}
