// SPDX-License-Identifier: GPL-2.0
/*
 * How a flush travels, chosen well against any server: every cell of the table
 * in methods.h. A connection serves cell after cell for as long as it is to live.
 */
#include <sys/mman.h>

#include "methods.h"

#define SIZE 8195
#define AT 4000
#define LEN 197		/* over the end of a page */

struct cell {
	const struct request *req;
	const struct answer *want;
	struct memory m;		/* the client's source, the server's target */
	struct rpma_mr_remote *target;
};

/* The connection, and whether the server's word about its memory was heard on it. */
static struct line line;
static bool declared;

/* What the server says of its region. */
struct word {
	int32_t ret;
	int32_t err;
	char desc[DESC_SIZE];
	char log[256];
};

/* ---- the table ---- */

static int number(const struct side *s)
{
	return s->scenario - methods_scenarios;
}

static int asker(const struct side *s)
{
	static const char *const methods[] = { "auto", "native", "read" };
	const char *method = getenv("RPMA_FLUSH_METHOD");

	if (!s->ours)
		return LIBRPMA;
	for (int i = 0; method && i < 3; i++)
		if (!strcmp(method, methods[i]))
			return (strcmp(s->rxe, "stock") ? PATCHED_AUTO : STOCK_AUTO) + i;
	return ASKERS;
}

static void look_up(struct side *s, struct cell *c)
{
	int column = asker(s);

	if (column < ASKERS)
		c->want = &answers[s->peer_kind][number(s)][column];
	if (!c->want || c->want->outcome == UNKNOWN)
		die(__FILE__, __LINE__, "nobody has said what to expect");
	s->why = c->want->why;
}

static bool wanted(const struct cell *c, enum outcome outcome)
{
	return c->want->outcome == outcome;
}

/* Only ours has to say what to do. */
static void logged(const struct side *s, const char *advice)
{
	const char *log = last_error();

	if (s->ours && !strstr(log, advice))
		die(__FILE__, __LINE__, "\"%s\" does not say %s", log, advice);
}

/* ---- connection and region ---- */

/* What the client does about the connection, so that the server does it too. */
enum step {
	KEEP,
	CONNECT,
	GIVE_UP,
};

static struct rpma_conn_req *request_one(struct side *s, const struct cell *c,
					 const struct rpma_conn_cfg *cfg)
{
	struct rpma_conn_req *req = NULL;
	bool cannot = wanted(c, NOT_CONNECTED);

	IS(cannot ? RPMA_E_NOSUPP : 0,
	   rpma_conn_req_new(s->peer, s->addr, s->port, cfg, &req));
	if (cannot)
		logged(s, "RPMA_FLUSH_METHOD=native");
	return req;
}

static bool connected(struct side *s, struct cell *c)
{
	struct rpma_conn_cfg *cfg = new_cfg();
	struct rpma_conn_req *req = NULL;
	char step = KEEP;

	if (s->server) {
		get(&step, 1);
	} else {
		if (!line.conn) {
			req = request_one(s, c, cfg);
			step = req ? CONNECT : GIVE_UP;
		}
		put(&step, 1);
	}
	if (step == CONNECT) {
		establish(s->server ? request(s, cfg) : req, NULL, &line);
		declared = false;
	}
	OK(rpma_conn_cfg_delete(&cfg));
	return step != GIVE_UP;
}

/* Behind a flush that was refused, and behind the last cell. */
static void part(struct side *s, bool at_end)
{
	char over = at_end;

	if (s->server)
		get(&over, 1);
	else
		put(&over, 1);
	if (over)
		close_line(s, &line);
}

/* Memory that others may write, and flush if the library lets them. */
static void offer_region(struct side *s, struct cell *c)
{
	struct word w = { 0 };

	if (c->req->dax) {
		c->m = dax_new(s, SIZE);
	} else {
		c->m.size = SIZE;
		c->m.ptr = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
				-1, 0);
		TRUE(c->m.ptr != MAP_FAILED);
	}
	last_error();
	errno = 0;
	w.ret = rpma_mr_reg(s->peer, c->m.ptr, c->m.size, c->req->usage, &c->m.mr);
	w.err = errno;
	snprintf(w.log, sizeof(w.log), "%s", last_error());
	if (!w.ret) {
		OK(rpma_mr_get_descriptor(c->m.mr, w.desc));
		IS(c->req->usage, (unsigned char)w.desc[DESC_SIZE - 1]);
	}
	put(&w, sizeof(w));
}

static void not_registered(const struct side *s, const struct word *w)
{
	IS(RPMA_E_PROVIDER, w->ret);
	if (!s->peer_ours)
		return;
	IS(EOPNOTSUPP, w->err);
	TRUE(strstr(w->log, "RPMA_PERSISTENT_BY_READ=1"));
}

static bool took_region(struct side *s, struct cell *c)
{
	struct word w;

	c->m = memory_new(s->peer, SIZE, RPMA_MR_USAGE_WRITE_SRC);
	get(&w, sizeof(w));
	if (wanted(c, NOT_REGISTERED)) {
		not_registered(s, &w);
		return false;
	}
	if (w.ret)
		die(__FILE__, __LINE__, "the server cannot register its region: %s", w.log);
	w.desc[DESC_SIZE - 1] |= c->req->claimed;
	OK(rpma_mr_remote_from_descriptor(w.desc, DESC_SIZE, &c->target));
	return true;
}

/* ---- the flush ---- */

static int flush(struct cell *c)
{
	return rpma_flush(line.conn, c->target, AT, LEN, c->req->type, ALWAYS, CONTEXT(2));
}

/* Without the server's word nothing is sent. */
static void undeclared(struct cell *c)
{
	if (declared || c->req->type != RPMA_FLUSH_TYPE_PERSISTENT)
		return;
	IS(RPMA_E_NOSUPP, flush(c));
	no_more(line.cq);
}

static void write_some(struct cell *c, unsigned int seed)
{
	fill(c->m.ptr, SIZE, seed);
	OK(rpma_write(line.conn, c->target, AT, c->m.mr, AT, LEN, ALWAYS, CONTEXT(1)));
}

static void completed(struct cell *c, unsigned int opcode)
{
	write_some(c, 1);
	OK(flush(c));
	EXPECT_WC(&line, line.cq, CONTEXT(1), IBV_WC_RDMA_WRITE);
	IS(LEN, EXPECT_WC(&line, line.cq, CONTEXT(2), opcode).byte_len);
}

/* It is as if nobody had asked, and writes arrive. */
static void not_sent(struct side *s, struct cell *c)
{
	last_error();
	IS(RPMA_E_NOSUPP, flush(c));
	logged(s, "RPMA_MR_USAGE_READ_SRC");
	no_more(line.cq);
	write_some(c, 1);
	EXPECT_WC(&line, line.cq, CONTEXT(1), IBV_WC_RDMA_WRITE);
}

static void lost(struct side *s, struct cell *c)
{
	int column = asker(s);
	bool read = column == PATCHED_READ || column == STOCK_READ || column == STOCK_AUTO;

	write_some(c, 1);
	last_error();
	OK(flush(c));
	EXPECT_WC(&line, line.cq, CONTEXT(1), IBV_WC_RDMA_WRITE);
	EXPECT_ERROR(&line, line.cq, CONTEXT(2), IBV_WC_REM_ACCESS_ERR);
	logged(s, read ? "RPMA_MR_USAGE_READ_SRC" : "RPMA_FLUSH_METHOD=read");
	write_some(c, 2);
	EXPECT_ERROR(&line, line.cq, CONTEXT(1), IBV_WC_WR_FLUSH_ERR);
}

static void ask(struct side *s, struct cell *c)
{
	switch (c->want->outcome) {
	case AS_FLUSH:
		return completed(c, IBV_WC_FLUSH);
	case AS_READ:
		return completed(c, IBV_WC_RDMA_READ);
	case NOT_SENT:
		return not_sent(s, c);
	case LOST:
		return lost(s, c);
	default:
		abort();
	}
}

/* In every outcome the first write is there, and nothing else. */
static void look_at_memory(const struct cell *c)
{
	static char image[SIZE], all[SIZE];

	fill(all, SIZE, 1);
	memcpy(image + AT, all + AT, LEN);
	SAME(image, c->m.ptr, SIZE);
}

static void declare(struct side *s, const struct cell *c)
{
	if (declared || c->req->type != RPMA_FLUSH_TYPE_PERSISTENT)
		return;
	exchange_peer_cfg(s, line.conn, true);
	declared = true;
}

static void serve_flush(struct side *s, struct cell *c)
{
	offer_region(s, c);
	declare(s, c);
	SYNC();
	if (c->m.mr)
		look_at_memory(c);
	part(s, false);
	OK(rpma_mr_dereg(&c->m.mr));
	IS(0, munmap(c->m.ptr, c->m.size));
}

static void use_flush(struct side *s, struct cell *c)
{
	bool possible = took_region(s, c);

	if (possible)
		undeclared(c);
	declare(s, c);
	if (possible) {
		ask(s, c);
		no_more(line.cq);
	}
	SYNC();
	part(s, wanted(c, LOST) || number(s) == REQUESTS - 1);
	OK(rpma_mr_remote_delete(&c->target));
	memory_free(&c->m);
}

static void one_cell(struct side *s)
{
	struct cell c = { .req = &requests[number(s)] };

	if (!s->server)
		look_up(s, &c);
	if (!connected(s, &c))
		return;
	if (s->server)
		serve_flush(s, &c);
	else
		use_flush(s, &c);
}

#define CELL(n, name, flags) [n] = { name, one_cell, METHODS | (flags) }

const struct scenario methods_scenarios[] = {
	CELL(VISIBLE_DRAM, "visible_dram", 0),
	CELL(VISIBLE_DRAM_R, "visible_dram_readable", 0),
	CELL(DURABLE_DRAM, "durable_dram", 0),
	CELL(DURABLE_DRAM_R, "durable_dram_readable", 0),
	CELL(VISIBLE_DAX, "visible_dax", NEEDS_DAX),
	CELL(VISIBLE_DAX_R, "visible_dax_readable", NEEDS_DAX),
	CELL(DURABLE_DAX, "durable_dax", NEEDS_DAX),
	CELL(DURABLE_DAX_R, "durable_dax_readable", NEEDS_DAX),
	CELL(NEVER_VISIBLE, "never_visible_dram", 0),
	CELL(NEVER_DURABLE, "never_durable_dax", NEEDS_DAX),
	{ 0 }
};
