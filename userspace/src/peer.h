/* SPDX-License-Identifier: BSD-3-Clause */
/* A peer: a device in use, on a /dev/rpma file of its own. */
#ifndef RPMA_PEER_H
#define RPMA_PEER_H

#include <stdbool.h>
#include <stdint.h>

#include <linux/rpma.h>

struct rpma_peer {
	int fd;				/* its /dev/rpma file: limits count per peer */
	uint32_t id;
	uint32_t max_queue_size;
	bool persistent_by_read;	/* RPMA_PERSISTENT_BY_READ in the environment */
	uint32_t peer_timeout_ms;	/* RPMA_PEER_TIMEOUT_MS; 0: the kernel's default */
	enum rpma_flush_method flush_method;	/* RPMA_FLUSH_METHOD; NONE is auto */
};

/* Opens the device node; says in the log what to do when that fails. */
int peer_open_device(int *fd);

#endif /* RPMA_PEER_H */
