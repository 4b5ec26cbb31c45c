/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What a flush comes to: who asks, whom, of which memory. The server's rxe has
 * no say in it, so a row holds for the stock and for the patched one.
 */
#ifndef _INTEROP_METHODS_H
#define _INTEROP_METHODS_H

#include "interop.h"

/* The columns: RPMA_FLUSH_METHOD of a client on ours, which rxe it is on. */
enum asker {
	LIBRPMA,		/* real: FLUSH from user space, whatever the rxe */
	PATCHED_AUTO,
	PATCHED_NATIVE,
	PATCHED_READ,
	STOCK_AUTO,
	STOCK_NATIVE,
	STOCK_READ,
	ASKERS,
};

enum outcome {
	UNKNOWN,		/* not in the table */
	AS_FLUSH,		/* the data are there; IBV_WC_FLUSH */
	AS_READ,		/* the data are there; IBV_WC_RDMA_READ */
	NOT_SENT,		/* RPMA_E_NOSUPP at once; the connection is as good as before */
	LOST,			/* IBV_WC_REM_ACCESS_ERR, and the connection is at its end */
	NOT_CONNECTED,		/* RPMA_E_NOSUPP to the request for a connection */
	NOT_REGISTERED,		/* the server cannot offer such a region */
};

struct answer {
	enum outcome outcome;
	const char *why;
};

#define BEST	{ AS_FLUSH, "best method" }
#define FLUSH_	{ AS_FLUSH, "asked for" }
#define READ__	{ AS_READ, "asked for" }
#define ONLY_R	{ AS_READ, "only method" }
#define WARY__	{ NOT_SENT, "unreadable perhaps" }
#define NO_OPS	{ NOT_CONNECTED, "kernel cannot" }
#define NO_MEM	{ NOT_REGISTERED, "not durable" }
#define INSIST	{ LOST, "user insists" }
#define BLIND_	{ LOST, "nobody knows" }
#define LIAR__	{ LOST, "descriptor lies" }
#define LIE_OK	{ AS_READ, "lie undetectable" }

/* A region of the server, and a flush of it. */
struct request {
	bool dax;
	enum rpma_flush_type type;
	int usage;
	int claimed;		/* by a descriptor that lies, beyond @usage */
};

#define VISIBLE_USAGE (RPMA_MR_USAGE_WRITE_DST | RPMA_MR_USAGE_FLUSH_TYPE_VISIBILITY)
#define DURABLE_USAGE (VISIBLE_USAGE | RPMA_MR_USAGE_FLUSH_TYPE_PERSISTENT)

enum {
	VISIBLE_DRAM, VISIBLE_DRAM_R, DURABLE_DRAM, DURABLE_DRAM_R,
	VISIBLE_DAX, VISIBLE_DAX_R, DURABLE_DAX, DURABLE_DAX_R,
	NEVER_VISIBLE, NEVER_DURABLE,
	REQUESTS,
};

#define VISIBILITY RPMA_FLUSH_TYPE_VISIBILITY
#define PERSISTENT RPMA_FLUSH_TYPE_PERSISTENT
#define READABLE RPMA_MR_USAGE_READ_SRC

static const struct request requests[REQUESTS] = {
	[VISIBLE_DRAM]	 = { false, VISIBILITY, VISIBLE_USAGE, 0 },
	[VISIBLE_DRAM_R] = { false, VISIBILITY, VISIBLE_USAGE | READABLE, 0 },
	[DURABLE_DRAM]	 = { false, PERSISTENT, DURABLE_USAGE, 0 },
	[DURABLE_DRAM_R] = { false, PERSISTENT, DURABLE_USAGE | READABLE, 0 },
	[VISIBLE_DAX]	 = { true, VISIBILITY, DURABLE_USAGE, 0 },
	[VISIBLE_DAX_R]	 = { true, VISIBILITY, DURABLE_USAGE | READABLE, 0 },
	[DURABLE_DAX]	 = { true, PERSISTENT, DURABLE_USAGE, 0 },
	[DURABLE_DAX_R]	 = { true, PERSISTENT, DURABLE_USAGE | READABLE, 0 },
	[NEVER_VISIBLE]	 = { false, VISIBILITY, RPMA_MR_USAGE_WRITE_DST,
			     RPMA_MR_USAGE_FLUSH_TYPE_VISIBILITY },
	[NEVER_DURABLE]	 = { true, PERSISTENT, VISIBLE_USAGE,
			     RPMA_MR_USAGE_FLUSH_TYPE_PERSISTENT },
};

/* on patched rxe: auto, native, read; on stock: the same. */
static const struct answer answers[NR_KINDS][REQUESTS][ASKERS] = {
	/* Grants READ and FLUSH, and says in the handshake that it does. */
	[OURS] = {
	[VISIBLE_DRAM]	 = { BEST,   BEST,   FLUSH_, READ__, ONLY_R, NO_OPS, READ__ },
	[VISIBLE_DRAM_R] = { BEST,   BEST,   FLUSH_, READ__, ONLY_R, NO_OPS, READ__ },
	[DURABLE_DRAM]	 = { NO_MEM, NO_MEM, NO_MEM, NO_MEM, NO_MEM, NO_OPS, NO_MEM },
	[DURABLE_DRAM_R] = { NO_MEM, NO_MEM, NO_MEM, NO_MEM, NO_MEM, NO_OPS, NO_MEM },
	[VISIBLE_DAX]	 = { BEST,   BEST,   FLUSH_, READ__, ONLY_R, NO_OPS, READ__ },
	[VISIBLE_DAX_R]	 = { BEST,   BEST,   FLUSH_, READ__, ONLY_R, NO_OPS, READ__ },
	[DURABLE_DAX]	 = { BEST,   BEST,   FLUSH_, READ__, ONLY_R, NO_OPS, READ__ },
	[DURABLE_DAX_R]	 = { BEST,   BEST,   FLUSH_, READ__, ONLY_R, NO_OPS, READ__ },
	[NEVER_VISIBLE]	 = { LIAR__, LIAR__, LIAR__, LIAR__, LIAR__, NO_OPS, LIAR__ },
	[NEVER_DURABLE]	 = { LIAR__, LIAR__, LIAR__, LIE_OK, LIE_OK, NO_OPS, LIE_OK },
	},
	/* DRAM can be flushed by READ only, which its descriptor does not say. */
	[BY_READ] = {
	[VISIBLE_DRAM]	 = { BEST,   BEST,   FLUSH_, READ__, ONLY_R, NO_OPS, READ__ },
	[VISIBLE_DRAM_R] = { BEST,   BEST,   FLUSH_, READ__, ONLY_R, NO_OPS, READ__ },
	[DURABLE_DRAM]	 = { BLIND_, BLIND_, BLIND_, READ__, ONLY_R, NO_OPS, READ__ },
	[DURABLE_DRAM_R] = { BLIND_, BLIND_, BLIND_, READ__, ONLY_R, NO_OPS, READ__ },
	[VISIBLE_DAX]	 = { BEST,   BEST,   FLUSH_, READ__, ONLY_R, NO_OPS, READ__ },
	[VISIBLE_DAX_R]	 = { BEST,   BEST,   FLUSH_, READ__, ONLY_R, NO_OPS, READ__ },
	[DURABLE_DAX]	 = { BEST,   BEST,   FLUSH_, READ__, ONLY_R, NO_OPS, READ__ },
	[DURABLE_DAX_R]	 = { BEST,   BEST,   FLUSH_, READ__, ONLY_R, NO_OPS, READ__ },
	[NEVER_VISIBLE]	 = { LIAR__, LIAR__, LIAR__, LIAR__, LIAR__, NO_OPS, LIAR__ },
	[NEVER_DURABLE]	 = { LIAR__, LIAR__, LIAR__, LIE_OK, LIE_OK, NO_OPS, LIE_OK },
	},
	/* Grants FLUSH; READ with READ_SRC alone. */
	[REAL] = {
	[VISIBLE_DRAM]	 = { BEST,   BEST,   FLUSH_, INSIST, WARY__, NO_OPS, INSIST },
	[VISIBLE_DRAM_R] = { BEST,   BEST,   FLUSH_, READ__, ONLY_R, NO_OPS, READ__ },
	[DURABLE_DRAM]	 = { NO_MEM, NO_MEM, NO_MEM, NO_MEM, NO_MEM, NO_OPS, NO_MEM },
	[DURABLE_DRAM_R] = { NO_MEM, NO_MEM, NO_MEM, NO_MEM, NO_MEM, NO_OPS, NO_MEM },
	[VISIBLE_DAX]	 = { BEST,   BEST,   FLUSH_, INSIST, WARY__, NO_OPS, INSIST },
	[VISIBLE_DAX_R]	 = { BEST,   BEST,   FLUSH_, READ__, ONLY_R, NO_OPS, READ__ },
	[DURABLE_DAX]	 = { BEST,   BEST,   FLUSH_, INSIST, WARY__, NO_OPS, INSIST },
	[DURABLE_DAX_R]	 = { BEST,   BEST,   FLUSH_, READ__, ONLY_R, NO_OPS, READ__ },
	[NEVER_VISIBLE]	 = { LIAR__, LIAR__, LIAR__, INSIST, WARY__, NO_OPS, INSIST },
	[NEVER_DURABLE]	 = { LIAR__, LIAR__, LIAR__, INSIST, WARY__, NO_OPS, INSIST },
	},
	/* Grants READ alone, to every memory, and says nothing of it. */
	[NO_FLUSH] = {
	[VISIBLE_DRAM]	 = { BLIND_, BLIND_, BLIND_, READ__, WARY__, NO_OPS, READ__ },
	[VISIBLE_DRAM_R] = { BLIND_, BLIND_, BLIND_, READ__, ONLY_R, NO_OPS, READ__ },
	[DURABLE_DRAM]	 = { BLIND_, BLIND_, BLIND_, READ__, WARY__, NO_OPS, READ__ },
	[DURABLE_DRAM_R] = { BLIND_, BLIND_, BLIND_, READ__, ONLY_R, NO_OPS, READ__ },
	[VISIBLE_DAX]	 = { BLIND_, BLIND_, BLIND_, READ__, WARY__, NO_OPS, READ__ },
	[VISIBLE_DAX_R]	 = { BLIND_, BLIND_, BLIND_, READ__, ONLY_R, NO_OPS, READ__ },
	[DURABLE_DAX]	 = { BLIND_, BLIND_, BLIND_, READ__, WARY__, NO_OPS, READ__ },
	[DURABLE_DAX_R]	 = { BLIND_, BLIND_, BLIND_, READ__, ONLY_R, NO_OPS, READ__ },
	[NEVER_VISIBLE]	 = { LIAR__, LIAR__, LIAR__, LIAR__, WARY__, NO_OPS, LIAR__ },
	[NEVER_DURABLE]	 = { LIAR__, LIAR__, LIAR__, LIE_OK, WARY__, NO_OPS, LIE_OK },
	},
};

#endif /* _INTEROP_METHODS_H */
