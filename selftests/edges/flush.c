// SPDX-License-Identifier: GPL-2.0
/* Flush: types, flags, lengths, ends of regions, states of connections. */
#include "edges.h"

#include <limits.h>

static void flush(struct world *w, struct rpma_mr_remote *dst, size_t offset, size_t len,
		  int type, int flags)
{
	int ret = got(rpma_flush(w->c.conn, dst, offset, len, type, flags, CONTEXT(7)));

	outcome(ret, "%s", completion_but_opcode(w->c.conn, w->c.cq, ret));
}

static void arguments(struct world *w)
{
	struct rpma_conn *conn = w->c.conn;
	struct rpma_mr_remote *dst = w->c.remote;

	for (int type = -1; type <= 2; type++)
		for (int flags = 0; flags <= 3; flags += 3) {
			if (edge("rpma_flush", "conn=NULL type=%d flags=%d", type, flags))
				outcome(got(rpma_flush(NULL, dst, 0, 8, type, flags, NULL)), NULL);
			if (edge("rpma_flush", "dst=NULL type=%d flags=%d", type, flags))
				outcome(got(rpma_flush(conn, NULL, 0, 8, type, flags, NULL)), NULL);
			if (edge("rpma_flush", "both NULL type=%d flags=%d", type, flags))
				outcome(got(rpma_flush(NULL, NULL, 0, 0, type, flags, NULL)), NULL);
			if (!flags && edge("rpma_flush", "flags=0 type=%d", type))
				outcome(got(rpma_flush(conn, dst, 0, 8, type, 0, NULL)), NULL);
		}
}

/* type x usage x direct write; usage as the descriptor has it. */
static void gate(struct world *w)
{
	static const int usages[] = { 0, V, P, V | P };
	static const int types[] = { PERSISTENT, VISIBILITY, 2, -1 };

	for (int direct = -1; direct <= 1; direct++)
		for (size_t u = 0; u < ARRAY_SIZE(usages); u++)
			for (size_t t = 0; t < ARRAY_SIZE(types); t++) {
				if (!edge("rpma_flush", "type=%d usage=%s%s direct write=%s",
					  types[t], usages[u] & V ? "V" : "-",
					  usages[u] & P ? "P" : "-",
					  direct < 0 ? "not applied" : direct ? "yes" : "no"))
					continue;
				if (direct >= 0)
					apply_direct_write(w->c.conn, direct);
				flush(w, remote_of(w->s.mr, (USAGE_MOST & ~V) | usages[u]), 0, 8,
				      types[t], ALWAYS);
			}
}

/* Bit 1 asks for the completion of a success; without it the next one comes. */
static void flags(struct world *w)
{
	static const int values[] = { 1, 2, 3, 4, 5, 6, 7, 8, 0x100, INT_MIN, -1 };
	struct ibv_wc wc;
	int ret;

	for (size_t i = 0; i < ARRAY_SIZE(values); i++)
		if (edge("rpma_flush", "flags=%d", values[i])) {
			ret = got(rpma_flush(w->c.conn, w->c.remote, 0, 8, VISIBILITY, values[i],
					     CONTEXT(7)));
			must(rpma_flush(w->c.conn, w->c.remote, 0, 8, VISIBILITY, ALWAYS,
					CONTEXT(8)));
			wc = reap(w->c.cq);
			outcome(ret, "first completion wr=%llu", (unsigned long long)wc.wr_id);
			if (wc.wr_id == 7)
				reap(w->c.cq);
		}
}

static void lengths(struct world *w)
{
	static const size_t values[] = { 0, 1, 7, 8, 9, 4095, 4096, 4097, 1 << 20, BUF_SIZE };

	for (size_t i = 0; i < ARRAY_SIZE(values); i++)
		if (edge("rpma_flush", "len=%zu", values[i]))
			flush(w, w->c.remote, 0, values[i], VISIBILITY, ALWAYS);
	for (size_t offset = 0; offset <= 8; offset++)
		if (edge("rpma_flush", "offset=%zu len=1", offset))
			flush(w, w->c.remote, offset, 1, VISIBILITY, ALWAYS);
	if (edge("rpma_flush", "opcode of its completion")) {
		int ret = got(rpma_flush(w->c.conn, w->c.remote, 0, 8, VISIBILITY, ALWAYS,
					 CONTEXT(7)));

		outcome(ret, "%s", completion(w->c.conn, w->c.cq, ret));
	}
	if (edge("rpma_flush", "last byte of 2 MiB"))
		flush(w, w->c.remote, BUF_SIZE - 1, 1, VISIBILITY, ALWAYS);
	if (edge("rpma_flush", "len=0 at the end"))
		flush(w, w->c.remote, BUF_SIZE, 0, VISIBILITY, ALWAYS);
}

static void small_regions(struct world *w)
{
	static const size_t sizes[] = { 1, 4, 7, 8, 4096 };

	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		size_t size = sizes[i];
		struct rpma_mr_remote *dst;

		if (edge("rpma_flush", "all of a region of %zu", size)) {
			dst = remote_of(region(w, w->s.buf + 4096 - size, size, USAGE_MOST), -1);
			flush(w, dst, 0, size, VISIBILITY, ALWAYS);
		}
		if (edge("rpma_flush", "last byte of a region of %zu", size)) {
			dst = remote_of(region(w, w->s.buf + 4096 - size, size, USAGE_MOST), -1);
			flush(w, dst, size - 1, 1, VISIBILITY, ALWAYS);
		}
		if (edge("rpma_flush", "len=0 in a region of %zu", size)) {
			dst = remote_of(region(w, w->s.buf + 4096 - size, size, USAGE_MOST), -1);
			flush(w, dst, 0, 0, VISIBILITY, ALWAYS);
		}
	}
}

/* What a region of this usage alone lets others flush. */
static void usage_alone(struct world *w)
{
	if (edge("rpma_flush", "a region that has only FLUSH_TYPE_VISIBILITY"))
		flush(w, remote_of(region(w, w->s.buf, 4096, V), -1), 0, 4096, VISIBILITY, ALWAYS);
	if (edge("rpma_flush", "a region that has WRITE_DST and FLUSH_TYPE_VISIBILITY"))
		flush(w, remote_of(region(w, w->s.buf, 4096, V | RPMA_MR_USAGE_WRITE_DST), -1), 0,
		      4096, VISIBILITY, ALWAYS);
	if (edge("rpma_flush", "a region without it, a descriptor with it"))
		flush(w, remote_of(region(w, w->s.buf, 4096, RPMA_MR_USAGE_WRITE_DST),
				   V | RPMA_MR_USAGE_WRITE_DST), 0, 4096, VISIBILITY, ALWAYS);
	if (edge("rpma_flush", "a region deregistered meanwhile")) {
		struct rpma_mr_local *mr = region(w, w->s.buf, 4096, USAGE_MOST);
		struct rpma_mr_remote *dst = remote_of(mr, -1);

		must(rpma_mr_dereg(&mr));
		flush(w, dst, 0, 4096, VISIBILITY, ALWAYS);
	}
}

static const struct {
	const char *name;
	size_t offset;
	size_t len;
} outside[] = {
	{ "one byte too many", 0, BUF_SIZE + 1 },
	{ "one byte behind", BUF_SIZE, 1 },
	{ "len=0 behind the end", BUF_SIZE + 1, 0 },
	{ "len=2^31", 0, (size_t)1 << 31 },
	{ "len=2^32", 0, (size_t)1 << 32 },
	{ "len=2^32+8", 0, ((size_t)1 << 32) + 8 },
	{ "len=2^63", 0, (size_t)1 << 63 },
	{ "len=SIZE_MAX", 0, SIZE_MAX },
	{ "offset=1 len=SIZE_MAX", 1, SIZE_MAX },
	{ "offset=8 len=SIZE_MAX-7", 8, SIZE_MAX - 7 },
	{ "offset=2^32 len=8", (size_t)1 << 32, 8 },
	{ "offset=2^63 len=2^63", (size_t)1 << 63, (size_t)1 << 63 },
	{ "offset=SIZE_MAX len=1", SIZE_MAX, 1 },
	{ "offset=SIZE_MAX len=2", SIZE_MAX, 2 },
	{ "offset=SIZE_MAX len=0", SIZE_MAX, 0 },
	{ "offset=-8 len=16", -8, 16 },
};

static void off_the_end(struct world *w)
{
	for (size_t i = 0; i < ARRAY_SIZE(outside); i++)
		if (edge("rpma_flush", "%s", outside[i].name)) {
			int ret = got(rpma_flush(w->c.conn, w->c.remote, outside[i].offset,
						 outside[i].len, VISIBILITY, ALWAYS, CONTEXT(7)));
			const char *wc = completion_but_opcode(w->c.conn, w->c.cq, ret);

			outcome(ret, "%s, then %s", wc, alive(w));
		}
}

/* ---- not connected any more ---- */

static void closed(struct world *w)
{
	world_disconnect(w);
	if (edge("rpma_flush", "after CLOSED, passive side")) {
		int ret = got(rpma_flush(w->s.conn, w->s.remote, 0, 8, VISIBILITY, ALWAYS,
					 CONTEXT(7)));

		outcome(ret, "%s", completion_but_opcode(w->s.conn, w->s.cq, ret));
	}
}

/* A write to a region that is gone ends the connection on both sides. */
static void after_error(struct world *w)
{
	struct rpma_mr_local *mr = region(w, w->s.buf, 4096, USAGE_MOST);
	struct rpma_mr_remote *gone = remote_of(mr, -1);
	struct ibv_wc wc;
	int ret;

	must(rpma_mr_dereg(&mr));
	if (edge("rpma_flush", "behind a write that fails")) {
		must(rpma_write(w->c.conn, gone, 0, w->c.mr, 0, 8, ON_ERROR, CONTEXT(1)));
		ret = got(rpma_flush(w->c.conn, w->c.remote, 0, 8, VISIBILITY, ALWAYS,
				     CONTEXT(2)));
		wc = reap(w->c.cq);
		outcome(ret, "%s, %s", wc_text(w->c.conn, &wc),
			completion_but_opcode(w->c.conn, w->c.cq, ret));
	}
}

static void event_after_error(struct world *w)
{
	struct rpma_mr_local *mr = region(w, w->s.buf, 4096, USAGE_MOST);
	struct rpma_mr_remote *gone = remote_of(mr, -1);

	must(rpma_mr_dereg(&mr));
	if (edge("rpma_conn_next_event", "after an error")) {
		const char *here;

		must(rpma_write(w->c.conn, gone, 0, w->c.mr, 0, 8, ALWAYS, CONTEXT(1)));
		must(reap(w->c.cq).status != IBV_WC_REM_ACCESS_ERR);
		here = event_within(w->c.conn, 3000);
		outcome(0, "%s, there %s", here, event_within(w->s.conn, 3000));
	}
}

static void many(struct world *w)
{
	struct ibv_wc wc;
	int ret = 0;

	if (edge("rpma_flush", "1000 reported on error only, then one always")) {
		for (int i = 0; i < 1000 && !ret; i++) {
			ret = got(rpma_flush(w->c.conn, w->c.remote, i, 8, VISIBILITY, ON_ERROR,
					     CONTEXT(i)));
			/* Who has no room may say so: it comes back by itself. */
			for (int tries = 0; ret && tries < 5000; tries++) {
				usleep(1000);
				ret = got(rpma_flush(w->c.conn, w->c.remote, i, 8, VISIBILITY,
						     ON_ERROR, CONTEXT(i)));
			}
		}
		while (!ret && rpma_flush(w->c.conn, w->c.remote, 0, 8, VISIBILITY, ALWAYS,
					  CONTEXT(5000)))
			usleep(1000);
		wc = reap(w->c.cq);
		outcome(ret, "wr=%llu", (unsigned long long)wc.wr_id);
	}
}

const struct scene scenes_flush[] = {
	{ "flush_arguments", .run = arguments, .setup = world_connected },
	{ "flush_gate", .run = gate, .setup = world_connected, .apart = true },
	{ "flush_flags", .run = flags, .setup = world_connected },
	{ "flush_lengths", .run = lengths, .setup = world_connected },
	{ "flush_small_regions", .run = small_regions, .setup = world_connected, .apart = true },
	{ "flush_usage_alone", .run = usage_alone, .setup = world_connected, .apart = true },
	{ "flush_off_the_end", .run = off_the_end, .setup = world_connected, .apart = true },
	{ "flush_closed", .run = closed, .setup = world_connected },
	{ "flush_after_error", .run = after_error, .setup = world_connected },
	{ "flush_event", .run = event_after_error, .setup = world_connected },
	{ "flush_many", .run = many, .setup = world_connected },
	{ }
};
