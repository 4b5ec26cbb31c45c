/* SPDX-License-Identifier: GPL-2.0 */
/* What wire_target offers to the tests of the wire, and what it tells them. */
#ifndef _TWO_WIRE_H
#define _TWO_WIRE_H

#include <stdint.h>

#define WIRE_PORT "7310"
#define WIRE_PORT_NR 7310
/* TCP: any byte asks for a struct wire_report; the connection's end is the end of both. */
#define WIRE_REPORT_PORT 7311

/*
 * The region: it begins this far in the NVDIMM. Neither it nor its end lies at
 * the start of a page.
 */
#define WIRE_START (4096 + 64)
#define WIRE_LENGTH ((1UL << 20) + 4096 + 72)
#define WIRE_DESC_SIZE 21

#define WIRE_MAX_FLUSHES 8
#define WIRE_MAX_PIECES 512

struct wire_span {
	uint64_t start;
	uint64_t len;
};

/*
 * What the target's kernel did since the last report: the arguments of
 * rxe_flush_pmem_iova() and of arch_wb_cache_pmem(), these from the start of
 * the region.
 */
struct wire_report {
	uint32_t qp_num;	/* the target's */
	uint32_t strange;	/* lines of the trace that say anything else */
	uint32_t nr_flushes;
	uint32_t nr_pieces;
	struct wire_span flushes[WIRE_MAX_FLUSHES];
	struct wire_span pieces[WIRE_MAX_PIECES];
};

#endif /* _TWO_WIRE_H */
