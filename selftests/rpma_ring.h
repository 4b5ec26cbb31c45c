/* SPDX-License-Identifier: GPL-2.0 */
/* The mapped completion ring, as a program would use it. */
#ifndef _RPMA_RING_H
#define _RPMA_RING_H

#include <stdatomic.h>

#include "rpma_utils.h"

struct ring {
	const struct rpma_cq_ring *map;
	size_t bytes;
	_Atomic __u32 *head;
};

static inline void ring_map(struct __test_metadata *_metadata, struct ring *r, int cq, size_t bytes)
{
	void *map = mmap(NULL, bytes, PROT_READ, MAP_SHARED, cq, RPMA_CQ_OFF_RING);
	void *head = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, cq, RPMA_CQ_OFF_HEAD);

	ASSERT_NE(MAP_FAILED, map);
	ASSERT_NE(MAP_FAILED, head);
	r->map = map;
	r->bytes = bytes;
	r->head = head;
}

static inline void ring_unmap(struct ring *r)
{
	munmap((void *)r->map, r->bytes);
	munmap((void *)r->head, 4096);
}

static inline __u32 ring_unread(const struct ring *r)
{
	return __atomic_load_n(&r->map->tail, __ATOMIC_ACQUIRE) - *r->head;
}

static inline const struct rpma_completion *ring_entry(const struct ring *r, __u32 n)
{
	return (const void *)((const __u8 *)r->map + r->map->first_offset +
			      (n % r->map->entries) * r->map->entry_size);
}

static inline struct rpma_completion ring_take(struct __test_metadata *_metadata,
					       struct ring *r, int cq)
{
	long long end = now_ms() + WAIT_MS;
	struct rpma_completion c;
	__u32 head = *r->head;

	while (!ring_unread(r)) {
		ASSERT_LE(0, _ioc_cq_poll(cq));
		ASSERT_LT(now_ms(), end)
			TH_LOG("no completion came");
	}
	c = *ring_entry(r, head);
	atomic_store_explicit(r->head, head + 1, memory_order_release);
	return c;
}

#endif /* _RPMA_RING_H */
