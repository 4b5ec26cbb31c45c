/* SPDX-License-Identifier: BSD-3-Clause */
/* Shared receive queues, as the connections see them that take messages from one. */
#ifndef RPMA_SRQ_H
#define RPMA_SRQ_H

#include <stdbool.h>
#include <stdint.h>

struct rpma_cq;
struct rpma_peer;
struct rpma_srq;

/* Whether a peer's connections can use it. */
bool srq_is_of(const struct rpma_srq *srq, const struct rpma_peer *peer);

/* The kernel's number of a queue, and how many receives it holds. */
uint32_t srq_id(const struct rpma_srq *srq);
uint32_t srq_entries(const struct rpma_srq *srq);

/* Where its receives complete; NULL: where each connection's do. */
struct rpma_cq *srq_rcq(const struct rpma_srq *srq);

/*
 * A connection holds the queue that it uses. The last put ends the queue;
 * returns 0 then, else a negative errno, -EBUSY if others hold it still.
 */
void srq_get(struct rpma_srq *srq);
int srq_put(struct rpma_srq *srq);

#endif /* RPMA_SRQ_H */
