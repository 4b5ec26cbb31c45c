/* SPDX-License-Identifier: BSD-3-Clause */
/* Completion queues. */
#ifndef RPMA_CQ_H
#define RPMA_CQ_H

#include <stdint.h>

struct rpma_cq;
struct rpma_peer;

/* Makes a queue of at least @entries. Returns RPMA_E_*, having logged why. */
int cq_new(const struct rpma_peer *peer, uint32_t entries, struct rpma_cq **cq_ptr);

/* Ends a queue; NULL is none. */
void cq_delete(struct rpma_cq *cq);

/* Says that @channel_fd tells of this queue's events and waiting goes there. */
void cq_share(struct rpma_cq *cq, int channel_fd);

/* Consumes an event; as kernel_cq_wait(). */
int cq_consume(struct rpma_cq *cq);

/* The kernel's descriptor; -1 for NULL, which is how the kernel says "none". */
int cq_fd(const struct rpma_cq *cq);

#endif /* RPMA_CQ_H */
