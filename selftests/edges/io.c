// SPDX-License-Identifier: GPL-2.0
/* Read, write, write with immediate, atomic write: arguments and ranges. */
#include "edges.h"

#include <limits.h>

enum op { READ, WRITE, WRITE_WITH_IMM, NR_OPS };

static const char *const functions[] = { "rpma_read", "rpma_write", "rpma_write_with_imm" };

/* A remote and a local region, whichever is the source. */
static int transfer(struct rpma_conn *conn, enum op op, struct rpma_mr_local *local,
		    size_t local_offset, struct rpma_mr_remote *remote, size_t remote_offset,
		    size_t len, int flags)
{
	const void *context = CONTEXT(7);

	switch (op) {
	case READ:
		return got(rpma_read(conn, local, local_offset, remote, remote_offset, len, flags,
				     context));
	case WRITE:
		return got(rpma_write(conn, remote, remote_offset, local, local_offset, len, flags,
				      context));
	default:
		return got(rpma_write_with_imm(conn, remote, remote_offset, local, local_offset,
					       len, flags, 0xcafe, context));
	}
}

static void recv_one(struct world *w, enum op op)
{
	if (op == WRITE_WITH_IMM)
		must(rpma_recv(w->s.conn, NULL, 0, 0, CONTEXT(20)));
}

static void arguments(struct world *w)
{
	for (enum op op = READ; op < NR_OPS; op++) {
		const char *f = functions[op];
		struct rpma_conn *c = w->c.conn;

		if (edge(f, "conn=NULL"))
			outcome(transfer(NULL, op, w->c.mr, 0, w->c.remote, 0, 8, ALWAYS), NULL);
		if (edge(f, "local=NULL"))
			outcome(transfer(c, op, NULL, 0, w->c.remote, 0, 8, ALWAYS), NULL);
		if (edge(f, "local=NULL len=0"))
			outcome(transfer(c, op, NULL, 0, w->c.remote, 0, 0, ALWAYS), NULL);
		if (edge(f, "remote=NULL"))
			outcome(transfer(c, op, w->c.mr, 0, NULL, 0, 8, ALWAYS), NULL);
		if (edge(f, "remote=NULL len=0"))
			outcome(transfer(c, op, w->c.mr, 0, NULL, 0, 0, ALWAYS), NULL);
		if (edge(f, "both NULL len=8"))
			outcome(transfer(c, op, NULL, 0, NULL, 0, 8, ALWAYS), NULL);
		if (edge(f, "both NULL local offset=1"))
			outcome(transfer(c, op, NULL, 1, NULL, 0, 0, ALWAYS), NULL);
		if (edge(f, "both NULL remote offset=1"))
			outcome(transfer(c, op, NULL, 0, NULL, 1, 0, ALWAYS), NULL);
		if (edge(f, "both NULL flags=0"))
			outcome(transfer(c, op, NULL, 0, NULL, 0, 0, 0), NULL);
		if (edge(f, "flags=0"))
			outcome(transfer(c, op, w->c.mr, 0, w->c.remote, 0, 8, 0), NULL);
		if (edge(f, "all NULL"))
			outcome(transfer(NULL, op, NULL, 0, NULL, 0, 0, ALWAYS), NULL);
	}
}

static void transfer_and_reap(struct world *w, enum op op, struct rpma_mr_local *local,
			      size_t local_offset, struct rpma_mr_remote *remote,
			      size_t remote_offset, size_t len)
{
	const char *there = "", *here;
	struct ibv_wc wc;
	int ret;

	ret = transfer(w->c.conn, op, local, local_offset, remote, remote_offset, len, ALWAYS);
	here = completion(w->c.conn, w->c.cq, ret);
	if (!ret && op == WRITE_WITH_IMM && strstr(here, "wc=SUCCESS")) {
		wc = reap(w->s.cq);
		there = wc_text(w->s.conn, &wc);
	}
	outcome(ret, "%s%s%s", here, *there ? ", there " : "", there);
}

static void nothing(struct world *w)
{
	for (enum op op = READ; op < NR_OPS; op++) {
		if (edge(functions[op], "nothing, regions NULL")) {
			recv_one(w, op);
			transfer_and_reap(w, op, NULL, 0, NULL, 0, 0);
		}
		if (edge(functions[op], "nothing, with regions")) {
			recv_one(w, op);
			transfer_and_reap(w, op, w->c.mr, 0, w->c.remote, 0, 0);
		}
		if (edge(functions[op], "nothing at the ends")) {
			recv_one(w, op);
			transfer_and_reap(w, op, w->c.mr, BUF_SIZE, w->c.remote, BUF_SIZE, 0);
		}
	}
}

static void lengths(struct world *w)
{
	static const size_t values[] = { 1, 7, 8, 9, 4095, 4096, 4097, 1 << 20, BUF_SIZE };

	for (enum op op = READ; op < NR_OPS; op++)
		for (size_t i = 0; i < ARRAY_SIZE(values); i++)
			if (edge(functions[op], "len=%zu", values[i])) {
				recv_one(w, op);
				transfer_and_reap(w, op, w->c.mr, 0, w->c.remote, 0, values[i]);
			}
}

/* The same immediates as the messages': in host order on both sides. */
static void immediates(struct world *w)
{
	static const uint32_t values[] = { 0, 1, 0x12345678, 0x80000000, UINT32_MAX };
	struct ibv_wc wc;
	int ret;

	for (size_t i = 0; i < ARRAY_SIZE(values); i++)
		if (edge("rpma_write_with_imm", "imm=%u", values[i])) {
			must(rpma_recv(w->s.conn, NULL, 0, 0, CONTEXT(20)));
			ret = got(rpma_write_with_imm(w->c.conn, w->c.remote, 0, w->c.mr, 0, 5,
						      ALWAYS, values[i], CONTEXT(7)));
			reap(w->c.cq);
			wc = reap(w->s.cq);
			outcome(ret, "there %s", wc_text(w->s.conn, &wc));
		}
}

static void flags(struct world *w)
{
	static const int values[] = { 1, 2, 3, 4, 8, 0x100, INT_MIN, -1 };
	struct ibv_wc wc;
	int ret;

	for (enum op op = READ; op <= WRITE; op++)
		for (size_t i = 0; i < ARRAY_SIZE(values); i++)
			if (edge(functions[op], "flags=%d", values[i])) {
				ret = transfer(w->c.conn, op, w->c.mr, 0, w->c.remote, 0, 8,
					       values[i]);
				must(rpma_read(w->c.conn, w->c.mr, 0, w->c.remote, 0, 8, ALWAYS,
					       CONTEXT(8)));
				wc = reap(w->c.cq);
				outcome(ret, "first completion wr=%llu",
					(unsigned long long)wc.wr_id);
				if (wc.wr_id == 7)
					reap(w->c.cq);
			}
}

/* ---- ranges ---- */

static const struct {
	const char *name;
	size_t local;
	size_t remote;
	size_t len;
} outside[] = {
	{ "local: one byte too many", BUF_SIZE - 7, 0, 8 },
	{ "local: behind its end", BUF_SIZE, 0, 8 },
	{ "local: offset=SIZE_MAX", SIZE_MAX, 0, 8 },
	{ "local: offset=-8 len=16", -8, 0, 16 },
	{ "remote: one byte too many", 0, BUF_SIZE - 7, 8 },
	{ "remote: behind its end", 0, BUF_SIZE, 8 },
	{ "remote: offset=2^32", 0, (size_t)1 << 32, 8 },
	{ "remote: offset=SIZE_MAX", 0, SIZE_MAX, 8 },
	{ "remote: offset=-8 len=16", 0, -8, 16 },
	{ "both: len one too many", 0, 0, BUF_SIZE + 1 },
	{ "both: len=2^31", 0, 0, (size_t)1 << 31 },
	{ "both: len=2^32", 0, 0, (size_t)1 << 32 },
	{ "both: len=2^32+8", 0, 0, ((size_t)1 << 32) + 8 },
	{ "both: len=2^63", 0, 0, (size_t)1 << 63 },
	{ "both: len=SIZE_MAX", 0, 0, SIZE_MAX },
	{ "both: offset=1 len=SIZE_MAX", 1, 1, SIZE_MAX },
	{ "len=0 behind both ends", BUF_SIZE + 1, BUF_SIZE + 1, 0 },
};

static void off_the_end(struct world *w)
{
	for (enum op op = READ; op <= WRITE; op++)
		for (size_t i = 0; i < ARRAY_SIZE(outside); i++)
			if (edge(functions[op], "%s", outside[i].name)) {
				int ret = transfer(w->c.conn, op, w->c.mr, outside[i].local,
						   w->c.remote, outside[i].remote, outside[i].len,
						   ALWAYS);
				const char *wc = completion(w->c.conn, w->c.cq, ret);

				outcome(ret, "%s, then %s", wc, alive(w));
			}
}

/* ---- atomic write ---- */

static int atomic_write(struct world *w, struct rpma_mr_remote *dst, size_t offset,
			const char *src, int f)
{
	return got(rpma_atomic_write(w->c.conn, dst, offset, src, f, CONTEXT(7)));
}

static void atomic_arguments(struct world *w)
{
	TRY(rpma_atomic_write, "conn=NULL", NULL, w->c.remote, 0, "12345678", ALWAYS, NULL);
	TRY(rpma_atomic_write, "dst=NULL", w->c.conn, NULL, 0, "12345678", ALWAYS, NULL);
	TRY(rpma_atomic_write, "src=NULL", w->c.conn, w->c.remote, 0, NULL, ALWAYS, NULL);
	TRY(rpma_atomic_write, "flags=0", w->c.conn, w->c.remote, 0, "12345678", 0, NULL);
	TRY(rpma_atomic_write, "all NULL", NULL, NULL, 0, NULL, 0, NULL);
	for (size_t offset = 0; offset <= 16; offset++)
		if (edge("rpma_atomic_write", "offset=%zu", offset)) {
			int ret = atomic_write(w, w->c.remote, offset, "12345678", ALWAYS);
			const char *wc = completion_but_opcode(w->c.conn, w->c.cq, ret);

			outcome(ret, "%s%s", wc, ret ? "" :
				memcmp(w->s.buf + offset, "12345678", 8) ? " not there" : " there");
			memset(w->s.buf, 0, 32);
		}
	if (edge("rpma_atomic_write", "opcode of its completion")) {
		int ret = atomic_write(w, w->c.remote, 0, "12345678", ALWAYS);

		outcome(ret, "%s", completion(w->c.conn, w->c.cq, ret));
	}
	if (edge("rpma_atomic_write", "last eight bytes")) {
		int ret = atomic_write(w, w->c.remote, BUF_SIZE - 8, "12345678", ALWAYS);

		outcome(ret, "%s", completion_but_opcode(w->c.conn, w->c.cq, ret));
	}
}

static void atomic_outside(struct world *w)
{
	static const size_t offsets[] = { BUF_SIZE, BUF_SIZE + 8, (size_t)1 << 32,
					  (size_t)1 << 63, SIZE_MAX - 7, SIZE_MAX };
	int ret;

	for (size_t i = 0; i < ARRAY_SIZE(offsets); i++)
		if (edge("rpma_atomic_write", "outside, offset=%zu", offsets[i])) {
			const char *wc;

			ret = atomic_write(w, w->c.remote, offsets[i], "12345678", ALWAYS);
			wc = completion_but_opcode(w->c.conn, w->c.cq, ret);
			outcome(ret, "%s, then %s", wc, alive(w));
		}
	if (edge("rpma_atomic_write", "a region of 4 bytes")) {
		ret = atomic_write(w, remote_of(region(w, w->s.buf, 4, USAGE_MOST), -1), 0,
				   "12345678", ALWAYS);
		outcome(ret, "%s", completion_but_opcode(w->c.conn, w->c.cq, ret));
	}
	if (edge("rpma_atomic_write", "an odd region, offset=0")) {
		ret = atomic_write(w, remote_of(region(w, w->s.buf + 1, 4095, USAGE_MOST), -1), 0,
				   "12345678", ALWAYS);
		outcome(ret, "%s", completion_but_opcode(w->c.conn, w->c.cq, ret));
	}
	if (edge("rpma_atomic_write", "flags=1, then a flush")) {
		struct ibv_wc wc;

		ret = atomic_write(w, w->c.remote, 0, "12345678", ON_ERROR);
		must(rpma_flush(w->c.conn, w->c.remote, 0, 8, VISIBILITY, ALWAYS, CONTEXT(8)));
		wc = reap(w->c.cq);
		outcome(ret, "first completion wr=%llu %s", (unsigned long long)wc.wr_id,
			memcmp(w->s.buf, "12345678", 8) ? "not there" : "there");
	}
}

const struct scene scenes_io[] = {
	{ "io_arguments", .run = arguments, .setup = world_connected },
	{ "io_nothing", .run = nothing, .setup = world_connected, .apart = true },
	{ "io_lengths", .run = lengths, .setup = world_connected },
	{ "io_immediates", .run = immediates, .setup = world_connected },
	{ "io_flags", .run = flags, .setup = world_connected },
	{ "io_off_the_end", .run = off_the_end, .setup = world_connected, .apart = true },
	{ "atomic_arguments", .run = atomic_arguments, .setup = world_connected },
	{ "atomic_outside", .run = atomic_outside, .setup = world_connected, .apart = true },
	{ }
};
