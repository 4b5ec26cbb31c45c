/* SPDX-License-Identifier: BSD-3-Clause */
/* RECVs, as connections and shared receive queues post them. */
#ifndef RPMA_REQUEST_H
#define RPMA_REQUEST_H

#include <stdbool.h>
#include <stddef.h>

#include <linux/rpma.h>

struct rpma_mr_local;

/* A region, or none and nothing to do. */
bool request_is_message(const struct rpma_mr_local *mr, size_t offset, size_t len);

/* A RECV into a region, which may be NULL. */
void request_recv(struct rpma_request *req, const struct rpma_mr_local *dst, size_t offset,
		  size_t len, const void *op_context);

#endif /* RPMA_REQUEST_H */
