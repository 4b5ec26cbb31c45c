/* SPDX-License-Identifier: BSD-3-Clause */
/* Device contexts: the tokens that name RDMA devices to applications. */
#ifndef RPMA_UTILS_H
#define RPMA_UTILS_H

#include <stdint.h>

struct ibv_context;

/* The kernel's number of a context's device; 0 if it is not one of ours. */
uint32_t utils_context_device(const struct ibv_context *ibv_ctx);

#endif /* RPMA_UTILS_H */
