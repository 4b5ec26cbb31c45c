/* SPDX-License-Identifier: GPL-2.0 */
/* What far_target offers to far_test: regions, described in its answer. */
#ifndef _TWO_FAR_H
#define _TWO_FAR_H

#include <stddef.h>
#include <stdint.h>

#define FAR_PORT "7300"
#define FAR_PORT_NR 7300
#define FAR_PORT_REJECTING "7301"
#define FAR_PORT_REJECTING_NR 7301

#define FAR_BIG (1UL << 20)

/* Each ends where its page ends; the last one is FAR_BIG. */
static const size_t far_sizes[] = { 1, 4, 7, 8, 9, 4096, FAR_BIG };

#define FAR_REGIONS (sizeof(far_sizes) / sizeof(far_sizes[0]))
#define FAR_DESC_SIZE 21
#define FAR_OFFER_SIZE (FAR_REGIONS * FAR_DESC_SIZE)

#endif /* _TWO_FAR_H */
