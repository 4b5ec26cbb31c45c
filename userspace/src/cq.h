/* SPDX-License-Identifier: BSD-3-Clause */
/* Completion queues. */
#ifndef RPMA_CQ_H
#define RPMA_CQ_H

#include <stdint.h>

#include "kernel.h"

struct rpma_cq;
struct rpma_peer;
struct splits;

/*
 * Makes a queue of at least @asked entries, and with a place for the completion
 * of each of @in_flight requests: so none is ever lost, whatever the application
 * asked for. With a @place on a channel waiting goes there. Returns RPMA_E_*, having logged why.
 */
int cq_new(const struct rpma_peer *peer, uint32_t asked, uint64_t in_flight,
	   struct kernel_channel_place place, struct rpma_cq **cq_ptr);

/* Ends a queue; NULL is none. */
void cq_delete(struct rpma_cq *cq);

/* The kernel's descriptor; -1 for NULL, which is how the kernel says "none". */
int cq_fd(const struct rpma_cq *cq);

/* Its split flushes, made when first asked for; NULL: no memory. */
struct splits *cq_splits(struct rpma_cq *cq);

#endif /* RPMA_CQ_H */
