/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A log that one side keeps and the other appends to. What counts is what
 * @used says: bytes behind it are no part of the log, however many have
 * arrived. So an entry is written and flushed first, and then @used is
 * replaced, in one piece.
 */
#ifndef EXAMPLES_ATOMIC_LOG_H
#define EXAMPLES_ATOMIC_LOG_H

#include <endian.h>
#include <stddef.h>

#include "memory.h"
#include "offer.h"

#define LOG_SIGNATURE "RPMALOG1"

struct log {
	char signature[8];
	uint64_t used;		/* little endian; at a multiple of RPMA_ATOMIC_WRITE_ALIGNMENT */
	char data[4096 - 16];	/* entries, each ends with a newline */
};

#endif /* EXAMPLES_ATOMIC_LOG_H */
