/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Included before everything else, this tells valgrind what it cannot see.
 *
 * helgrind knows locks, but no atomic operations: they order what is around
 * them exactly as strongly as each says, and do not race with one another.
 *
 * memcheck knows no ioctl of ours: all that the kernel reads must have a value.
 */
#ifndef _SANITIZE_VALGRIND_H
#define _SANITIZE_VALGRIND_H

/* As the sources define it, which come later. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/ioctl.h>
#include <valgrind/helgrind.h>
#include <valgrind/memcheck.h>

#include <linux/rpma.h>

#define HG_BEFORE(p, order)						\
	do {								\
		VALGRIND_HG_DISABLE_CHECKING(p, sizeof(*(p)));		\
		if ((order) != __ATOMIC_RELAXED && (order) != __ATOMIC_ACQUIRE) \
			ANNOTATE_HAPPENS_BEFORE(p);			\
	} while (0)

#define HG_AFTER(p, order)						\
	do {								\
		if ((order) != __ATOMIC_RELAXED && (order) != __ATOMIC_RELEASE) \
			ANNOTATE_HAPPENS_AFTER(p);			\
	} while (0)

/* <stdatomic.h> is made of these. */
#define __atomic_load(p, to, order)					\
	({								\
		HG_BEFORE(p, __ATOMIC_RELAXED);				\
		__atomic_load(p, to, order);				\
		HG_AFTER(p, order);					\
	})

#define __atomic_load_n(p, order)					\
	({								\
		HG_BEFORE(p, __ATOMIC_RELAXED);				\
		__auto_type hg_value = __atomic_load_n(p, order);	\
		HG_AFTER(p, order);					\
		hg_value;						\
	})

#define __atomic_store(p, from, order)					\
	({								\
		HG_BEFORE(p, order);					\
		__atomic_store(p, from, order);				\
	})

#define __atomic_store_n(p, value, order)				\
	({								\
		HG_BEFORE(p, order);					\
		__atomic_store_n(p, value, order);			\
	})

#define __atomic_exchange(p, from, to, order)				\
	({								\
		HG_BEFORE(p, order);					\
		__atomic_exchange(p, from, to, order);			\
		HG_AFTER(p, order);					\
	})

#define HG_CHANGE(operation, p, value, order)				\
	({								\
		HG_BEFORE(p, order);					\
		__auto_type hg_value = operation(p, value, order);	\
		HG_AFTER(p, order);					\
		hg_value;						\
	})

#define __atomic_fetch_add(p, value, order) HG_CHANGE(__atomic_fetch_add, p, value, order)
#define __atomic_add_fetch(p, value, order) HG_CHANGE(__atomic_add_fetch, p, value, order)
#define __atomic_sub_fetch(p, value, order) HG_CHANGE(__atomic_sub_fetch, p, value, order)

#define __atomic_compare_exchange(p, expected, desired, weak, success, failure) \
	({								\
		HG_BEFORE(p, success);					\
		_Bool hg_done = __atomic_compare_exchange(p, expected, desired, weak, \
							  success, failure); \
		HG_AFTER(p, hg_done ? success : failure);		\
		hg_done;						\
	})

/* Each command begins with its size. */
static inline int checked_ioctl(int fd, unsigned long number, void *arg)
{
	const struct rpma_ioc_post *post = arg;

	if (_IOC_TYPE(number) == RPMA_IOC_TYPE && arg) {
		VALGRIND_CHECK_MEM_IS_DEFINED(arg, *(uint32_t *)arg);
		if (number == RPMA_IOC_POST)
			VALGRIND_CHECK_MEM_IS_DEFINED((void *)(uintptr_t)post->requests,
						      (size_t)post->nr * post->request_size);
	}
	return ioctl(fd, number, arg);
}

#define ioctl(fd, number, arg) checked_ioctl(fd, number, (void *)(uintptr_t)(arg))

#endif /* _SANITIZE_VALGRIND_H */
