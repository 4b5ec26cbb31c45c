/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What gpspm_client and gpspm_server say to each other: "make this range
 * durable", and "it is". An empty message says goodbye; the server, whose answers
 * have gone by then, hangs up.
 */
#ifndef EXAMPLES_GPSPM_H
#define EXAMPLES_GPSPM_H

#include <endian.h>
#include <stddef.h>

#include "memory.h"
#include "offer.h"

struct range {
	uint64_t offset, len;	/* big endian */
};

enum gpspm_status { GPSPM_DURABLE, GPSPM_NO_SUCH_RANGE };

/* Registered memory for the messages of either side. */
struct gpspm {
	struct range request;
	uint64_t answer;	/* enum gpspm_status, big endian */
};

#endif /* EXAMPLES_GPSPM_H */
