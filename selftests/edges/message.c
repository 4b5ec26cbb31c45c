// SPDX-License-Identifier: GPL-2.0
/* Messages: send, send with immediate, receive. A RECV is always there first. */
#include "edges.h"

static int send_it(struct rpma_conn *conn, bool imm, struct rpma_mr_local *src, size_t offset,
		   size_t len, int flags)
{
	if (imm)
		return got(rpma_send_with_imm(conn, src, offset, len, flags, 0xcafe, CONTEXT(7)));
	return got(rpma_send(conn, src, offset, len, flags, CONTEXT(7)));
}

static const char *const functions[] = { "rpma_send", "rpma_send_with_imm" };

static void arguments(struct world *w)
{
	for (int imm = 0; imm < 2; imm++) {
		const char *f = functions[imm];

		if (edge(f, "conn=NULL"))
			outcome(send_it(NULL, imm, w->c.mr, 0, 8, ALWAYS), NULL);
		if (edge(f, "src=NULL len=8"))
			outcome(send_it(w->c.conn, imm, NULL, 0, 8, ALWAYS), NULL);
		if (edge(f, "src=NULL offset=8"))
			outcome(send_it(w->c.conn, imm, NULL, 8, 0, ALWAYS), NULL);
		if (edge(f, "src=NULL flags=0"))
			outcome(send_it(w->c.conn, imm, NULL, 0, 0, 0), NULL);
		if (edge(f, "flags=0"))
			outcome(send_it(w->c.conn, imm, w->c.mr, 0, 8, 0), NULL);
		if (edge(f, "all NULL"))
			outcome(send_it(NULL, imm, NULL, 0, 0, 0), NULL);
	}
	TRY(rpma_recv, "conn=NULL", NULL, w->c.mr, 0, 8, NULL);
	TRY(rpma_recv, "dst=NULL len=8", w->c.conn, NULL, 0, 8, NULL);
	TRY(rpma_recv, "dst=NULL offset=8", w->c.conn, NULL, 8, 0, NULL);
	TRY(rpma_recv, "all NULL", NULL, NULL, 0, 0, NULL);
}

/* One message into a RECV of @room bytes; both completions. */
static void message(struct world *w, bool imm, struct rpma_mr_local *src, size_t len,
		    struct rpma_mr_local *dst, size_t room)
{
	struct ibv_wc here, there;
	int ret;

	must(rpma_recv(w->s.conn, dst, 0, room, CONTEXT(3)));
	w->c.buf[0]++;
	ret = send_it(w->c.conn, imm, src, 0, len, ALWAYS);
	if (ret) {
		outcome(ret, "nothing posted");
		return;
	}
	here = reap(w->c.cq);
	there = reap(w->s.cq);
	outcome(ret, "%s, there %s", wc_text(w->c.conn, &here), wc_text(w->s.conn, &there));
}

static void lengths(struct world *w)
{
	static const size_t values[] = { 0, 1, 8, 4095, 4096, 4097, 1 << 20 };

	for (int imm = 0; imm < 2; imm++) {
		for (size_t i = 0; i < ARRAY_SIZE(values); i++)
			if (edge(functions[imm], "len=%zu", values[i]))
				message(w, imm, w->c.mr, values[i], w->s.mr, 1 << 20);
		if (edge(functions[imm], "src=NULL"))
			message(w, imm, NULL, 0, w->s.mr, 64);
		if (edge(functions[imm], "src=NULL to dst=NULL"))
			message(w, imm, NULL, 0, NULL, 0);
		if (edge(functions[imm], "as long as its RECV"))
			message(w, imm, w->c.mr, 64, w->s.mr, 64);
		if (edge(functions[imm], "src=NULL to a RECV of len=0"))
			message(w, imm, NULL, 0, w->s.mr, 0);
	}
}

static void too_long(struct world *w)
{
	const char *here;

	for (int imm = 0; imm < 2; imm++) {
		if (edge(functions[imm], "one byte longer than its RECV"))
			message(w, imm, w->c.mr, 65, w->s.mr, 64);
		if (edge(functions[imm], "one byte to a RECV of dst=NULL"))
			message(w, imm, w->c.mr, 1, NULL, 0);
		if (edge(functions[imm], "some packets longer than its RECV"))
			message(w, imm, w->c.mr, 20000, w->s.mr, 5000);
	}
	if (edge("rpma_conn_next_event", "a message too long for its RECV")) {
		must(rpma_recv(w->s.conn, w->s.mr, 0, 64, NULL));
		must(rpma_send(w->c.conn, w->c.mr, 0, 65, ON_ERROR, NULL));
		here = event_within(w->c.conn, 3000);
		outcome(0, "%s, there %s", here, event_within(w->s.conn, 3000));
	}
}

static void immediates(struct world *w)
{
	static const uint32_t values[] = { 0, 1, 0x12345678, 0x80000000, UINT32_MAX };
	struct ibv_wc wc;
	int ret;

	for (size_t i = 0; i < ARRAY_SIZE(values); i++)
		if (edge("rpma_send_with_imm", "imm=%u", values[i])) {
			must(rpma_recv(w->s.conn, w->s.mr, 0, 64, CONTEXT(3)));
			ret = got(rpma_send_with_imm(w->c.conn, w->c.mr, 0, 5, ALWAYS, values[i],
						     CONTEXT(7)));
			reap(w->c.cq);
			wc = reap(w->s.cq);
			outcome(ret, "there %s", wc_text(w->s.conn, &wc));
		}
}

static void flags(struct world *w)
{
	static const int values[] = { 1, 2, 3, 4, -1 };
	struct ibv_wc wc;
	int ret;

	for (size_t i = 0; i < ARRAY_SIZE(values); i++)
		if (edge("rpma_send", "flags=%d", values[i])) {
			must(rpma_recv(w->s.conn, w->s.mr, 0, 64, CONTEXT(3)));
			ret = send_it(w->c.conn, false, w->c.mr, 0, 5, values[i]);
			must(rpma_read(w->c.conn, w->c.mr, 0, w->c.remote, 0, 8, ALWAYS,
				       CONTEXT(8)));
			wc = reap(w->c.cq);
			outcome(ret, "first completion wr=%llu", (unsigned long long)wc.wr_id);
			if (wc.wr_id == 7)
				reap(w->c.cq);
			reap(w->s.cq);
		}
}

/* ---- ranges ---- */

static const struct {
	const char *name;
	size_t offset;
	size_t len;
} outside[] = {
	{ "one byte too many", BUF_SIZE - 7, 8 },
	{ "behind its end", BUF_SIZE, 8 },
	{ "len=0 behind its end", BUF_SIZE + 1, 0 },
	{ "offset=SIZE_MAX", SIZE_MAX, 8 },
	{ "offset=-8 len=16", -8, 16 },
	{ "len=2^32", 0, (size_t)1 << 32 },
	{ "len=2^32+8", 0, ((size_t)1 << 32) + 8 },
	{ "len=SIZE_MAX", 0, SIZE_MAX },
};

static void off_the_end(struct world *w)
{
	for (size_t i = 0; i < ARRAY_SIZE(outside); i++) {
		const char *wc;
		int ret;

		if (edge("rpma_send", "%s", outside[i].name)) {
			must(rpma_recv(w->s.conn, w->s.mr, 0, BUF_SIZE, CONTEXT(3)));
			ret = send_it(w->c.conn, false, w->c.mr, outside[i].offset, outside[i].len,
				      ALWAYS);
			wc = completion(w->c.conn, w->c.cq, ret);
			outcome(ret, "%s, then %s", wc, alive(w));
		}
	}
	/* A RECV shows that it is wrong when a message comes. */
	for (size_t i = 0; i < ARRAY_SIZE(outside); i++) {
		struct ibv_wc here, there;
		int ret;

		if (!edge("rpma_recv", "%s", outside[i].name))
			continue;
		ret = got(rpma_recv(w->s.conn, w->s.mr, outside[i].offset, outside[i].len,
				    CONTEXT(3)));
		if (ret) {
			outcome(ret, "nothing posted, then %s", alive(w));
			continue;
		}
		must(rpma_send(w->c.conn, w->c.mr, 0, 8, ALWAYS, CONTEXT(7)));
		here = reap(w->c.cq);
		there = reap(w->s.cq);
		outcome(ret, "%s, there %s", wc_text(w->s.conn, &there),
			wc_text(w->c.conn, &here));
	}
}

static void deregistered(struct world *w)
{
	struct rpma_mr_local *mr = region(w, w->c.buf, 4096, USAGE_MOST);
	struct ibv_wc wc;
	int ret;

	if (edge("rpma_mr_dereg", "with a RECV posted to it")) {
		must(rpma_recv(w->c.conn, mr, 0, 64, CONTEXT(3)));
		ret = got(rpma_mr_dereg(&mr));
		must(rpma_send(w->s.conn, w->s.mr, 0, 8, ALWAYS, CONTEXT(7)));
		wc = reap(w->c.cq);
		outcome(ret, "mr=%s %s", state_of(mr), wc_text(w->c.conn, &wc));
	}
}

const struct scene scenes_message[] = {
	{ "message_arguments", .run = arguments, .setup = world_connected },
	{ "message_lengths", .run = lengths, .setup = world_connected },
	{ "message_too_long", .run = too_long, .setup = world_connected, .apart = true },
	{ "message_immediates", .run = immediates, .setup = world_connected },
	{ "message_flags", .run = flags, .setup = world_connected },
	{ "message_off_the_end", .run = off_the_end, .setup = world_connected, .apart = true },
	{ "message_deregistered", .run = deregistered, .setup = world_connected },
	{ }
};
