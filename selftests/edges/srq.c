// SPDX-License-Identifier: GPL-2.0
/* Shared receive queues and their configurations. */
#include "edges.h"

#include <limits.h>

static struct rpma_srq_cfg *srq_cfg(uint32_t rq, uint32_t rcq)
{
	struct rpma_srq_cfg *cfg = NULL;

	must(rpma_srq_cfg_new(&cfg));
	must(rpma_srq_cfg_set_rq_size(cfg, rq));
	must(rpma_srq_cfg_set_rcq_size(cfg, rcq));
	return cfg;
}

/* ---- configurations ---- */

static const struct {
	const char *set_name;
	int (*set)(struct rpma_srq_cfg *cfg, uint32_t size);
	const char *get_name;
	int (*get)(const struct rpma_srq_cfg *cfg, uint32_t *size);
} sizes[] = {
	{ "rpma_srq_cfg_set_rq_size", rpma_srq_cfg_set_rq_size,
	  "rpma_srq_cfg_get_rq_size", rpma_srq_cfg_get_rq_size },
	{ "rpma_srq_cfg_set_rcq_size", rpma_srq_cfg_set_rcq_size,
	  "rpma_srq_cfg_get_rcq_size", rpma_srq_cfg_get_rcq_size },
};

static void cfg_sizes(struct world *w)
{
	static const uint32_t values[] = { 0, 1, 100, INT_MAX, 1U << 31, UINT32_MAX };

	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		struct rpma_srq_cfg *cfg = NULL;
		uint32_t size = 77;
		int ret;

		must(rpma_srq_cfg_new(&cfg));
		if (edge(sizes[i].get_name, "default")) {
			ret = got(sizes[i].get(cfg, &size));
			outcome(ret, "size=%u", size);
		}
		if (edge(sizes[i].set_name, "cfg=NULL"))
			outcome(got(sizes[i].set(NULL, 1)), NULL);
		if (edge(sizes[i].get_name, "cfg=NULL"))
			outcome(got(sizes[i].get(NULL, &size)), NULL);
		if (edge(sizes[i].get_name, "size=NULL"))
			outcome(got(sizes[i].get(cfg, NULL)), NULL);
		if (edge(sizes[i].get_name, "both NULL"))
			outcome(got(sizes[i].get(NULL, NULL)), NULL);
		for (size_t j = 0; j < ARRAY_SIZE(values); j++)
			if (edge(sizes[i].set_name, "%u", values[j])) {
				ret = got(sizes[i].set(cfg, values[j]));
				must(sizes[i].get(cfg, &size));
				outcome(ret, "then=%u", size);
			}
		must(rpma_srq_cfg_delete(&cfg));
	}
}

static void cfg_life(struct world *w)
{
	struct rpma_srq_cfg *cfg = POISON, *none = NULL;
	int ret;

	TRY(rpma_srq_cfg_new, "cfg_ptr=NULL", NULL);
	if (edge("rpma_srq_cfg_new", "ok")) {
		ret = got(rpma_srq_cfg_new(&cfg));
		outcome(ret, "cfg=%s", state_of(cfg));
	}
	TRY(rpma_srq_cfg_delete, "cfg_ptr=NULL", NULL);
	TRY(rpma_srq_cfg_delete, "*cfg_ptr=NULL", &none);
	must(rpma_srq_cfg_new(&cfg));
	if (edge("rpma_srq_cfg_delete", "ok")) {
		ret = got(rpma_srq_cfg_delete(&cfg));
		outcome(ret, "cfg=%s", state_of(cfg));
	}
	TRY(rpma_srq_cfg_delete, "twice", &cfg);
}

/* ---- queues ---- */

static void new_with(struct world *w, const char *name, struct rpma_srq_cfg *cfg)
{
	struct rpma_srq *srq = POISON;
	struct rpma_cq *rcq = POISON;
	int ret;

	if (!edge("rpma_srq_new", "%s", name))
		return;
	ret = got(rpma_srq_new(w->peer, cfg, &srq));
	if (!ret)
		must(rpma_srq_get_rcq(srq, &rcq));
	outcome(ret, "srq=%s rcq=%s", state_of(srq), state_of(rcq));
	if (!ret)
		must(rpma_srq_delete(&srq));
}

static void make(struct world *w)
{
	struct rpma_srq *srq = POISON;

	TRY(rpma_srq_new, "peer=NULL", NULL, NULL, &srq);
	TRY(rpma_srq_new, "srq_ptr=NULL", w->peer, NULL, NULL);
	TRY(rpma_srq_new, "all NULL", NULL, NULL, NULL);
	new_with(w, "cfg=NULL", NULL);
	new_with(w, "rq=1 rcq=1", srq_cfg(1, 1));
	new_with(w, "rq=10 rcq=0", srq_cfg(10, 0));
	new_with(w, "rq=0 rcq=10", srq_cfg(0, 10));
	new_with(w, "rq=0 rcq=0", srq_cfg(0, 0));
	new_with(w, "rq=100 rcq=1", srq_cfg(100, 1));
	new_with(w, "rq=2^31", srq_cfg(1U << 31, 10));
	new_with(w, "rq=2^32-1", srq_cfg(UINT32_MAX, 10));
	new_with(w, "rcq=2^31", srq_cfg(10, 1U << 31));
	new_with(w, "rcq=2^32-1", srq_cfg(10, UINT32_MAX));
}

static void arguments(struct world *w)
{
	struct rpma_srq *srq = NULL, *none = NULL;
	struct rpma_cq *rcq = POISON;
	int ret;

	must(rpma_srq_new(w->peer, NULL, &srq));
	TRY(rpma_srq_get_rcq, "srq=NULL", NULL, &rcq);
	TRY(rpma_srq_get_rcq, "rcq_ptr=NULL", srq, NULL);
	TRY(rpma_srq_get_rcq, "both NULL", NULL, NULL);
	TRY(rpma_srq_recv, "srq=NULL", NULL, w->c.mr, 0, 8, NULL);
	TRY(rpma_srq_recv, "dst=NULL len=8", srq, NULL, 0, 8, NULL);
	TRY(rpma_srq_recv, "dst=NULL offset=8", srq, NULL, 8, 0, NULL);
	TRY(rpma_srq_recv, "all NULL", NULL, NULL, 0, 0, NULL);
	TRY(rpma_srq_recv, "ok", srq, w->c.mr, 0, 8, NULL);
	TRY(rpma_srq_recv, "dst=NULL", srq, NULL, 0, 0, NULL);
	TRY(rpma_srq_recv, "len=0", srq, w->c.mr, 0, 0, NULL);
	TRY(rpma_srq_recv, "last byte", srq, w->c.mr, BUF_SIZE - 1, 1, NULL);
	TRY(rpma_srq_recv, "one byte too many", srq, w->c.mr, 0, BUF_SIZE + 1, NULL);
	TRY(rpma_srq_recv, "behind its end", srq, w->c.mr, BUF_SIZE, 1, NULL);
	TRY(rpma_srq_recv, "len=2^32", srq, w->c.mr, 0, (size_t)1 << 32, NULL);
	TRY(rpma_srq_recv, "len=SIZE_MAX", srq, w->c.mr, 0, SIZE_MAX, NULL);
	TRY(rpma_srq_recv, "offset=SIZE_MAX len=1", srq, w->c.mr, SIZE_MAX, 1, NULL);
	TRY(rpma_srq_delete, "srq_ptr=NULL", NULL);
	TRY(rpma_srq_delete, "*srq_ptr=NULL", &none);
	if (edge("rpma_srq_delete", "with RECVs posted")) {
		ret = got(rpma_srq_delete(&srq));
		outcome(ret, "srq=%s", state_of(srq));
	}
	TRY(rpma_srq_delete, "twice", &srq);
}

static void full(struct world *w)
{
	static const int rqs[] = { 1, 10, 16 };

	for (size_t i = 0; i < ARRAY_SIZE(rqs); i++)
		if (edge("rpma_srq_recv", "until a queue of %d is full", rqs[i])) {
			struct rpma_srq *srq = NULL;
			int nr = 0, ret = 0;

			must(rpma_srq_new(w->peer, srq_cfg(rqs[i], rqs[i]), &srq));
			while (nr < 1000 && !ret) {
				ret = got(rpma_srq_recv(srq, w->c.mr, 0, 8, CONTEXT(nr)));
				nr += !ret;
			}
			outcome(ret, "posted=%d", nr);
		}
}

/* ---- with connections ---- */

/* The server's receives come from @srq; its connection's RCQ has @rcq entries. */
static void connect_with(struct world *w, struct rpma_srq *srq, uint32_t rcq)
{
	struct rpma_conn_cfg *cfg = cfg_with(10, 0, 200, rcq);
	struct rpma_conn_req *req = NULL;

	must(rpma_conn_cfg_set_srq(cfg, srq));
	must(rpma_conn_req_new(w->peer, address(), port(), NULL, &req));
	must(rpma_conn_req_connect(&req, NULL, &w->c.conn));
	must(rpma_ep_next_conn_req(w->ep, cfg, &req));
	must(rpma_conn_req_connect(&req, NULL, &w->s.conn));
	must(next_event(w->c.conn) != RPMA_CONN_ESTABLISHED);
	must(next_event(w->s.conn) != RPMA_CONN_ESTABLISHED);
	must(rpma_conn_get_cq(w->c.conn, &w->c.cq));
	must(rpma_conn_get_cq(w->s.conn, &w->s.cq));
	must(rpma_conn_cfg_delete(&cfg));
}

static void message_to(struct world *w, uint32_t srq_rcq, uint32_t conn_rcq)
{
	struct rpma_cq *rcq = NULL, *own = NULL;
	struct rpma_srq *srq = NULL;
	struct ibv_wc wc;
	int ret;

	must(rpma_srq_new(w->peer, srq_cfg(10, srq_rcq), &srq));
	connect_with(w, srq, conn_rcq);
	ret = got(rpma_srq_recv(srq, w->s.mr, 0, 64, CONTEXT(3)));
	must(rpma_conn_get_rcq(w->s.conn, &rcq));
	must(rpma_srq_get_rcq(srq, &own));
	must(rpma_send_with_imm(w->c.conn, w->c.mr, 0, 5, ALWAYS, 0x77, CONTEXT(7)));
	wc = reap(own ? own : rcq ? rcq : w->s.cq);
	outcome(ret, "its rcq=%s conn's rcq=%s %s", state_of(own), state_of(rcq),
		wc_text(w->s.conn, &wc));
}

static void messages(struct world *w)
{
	if (edge("rpma_srq_recv", "a message to its own queue"))
		message_to(w, 10, 0);
	if (edge("rpma_srq_recv", "a message to its own queue, the connection has one"))
		message_to(w, 10, 10);
	if (edge("rpma_srq_recv", "a message to the connection's receive queue"))
		message_to(w, 0, 10);
	if (edge("rpma_srq_recv", "a message to the connection's main queue"))
		message_to(w, 0, 0);
}

static void in_use(struct world *w)
{
	struct rpma_srq *srq = NULL;
	struct rpma_cq *rcq = NULL;
	struct rpma_conn_cfg *cfg;
	struct rpma_conn_req *req = POISON;
	struct ibv_wc wc;
	int ret;

	must(rpma_srq_new(w->peer, srq_cfg(10, 10), &srq));
	if (edge("rpma_srq_delete", "with a connection")) {
		connect_with(w, srq, 0);
		ret = got(rpma_srq_delete(&srq));
		outcome(ret, "srq=%s", state_of(srq));
	}
	if (edge("rpma_srq_delete", "once its connection is deleted")) {
		connect_with(w, srq, 0);
		must(rpma_conn_delete(&w->s.conn));
		ret = got(rpma_srq_delete(&srq));
		outcome(ret, "srq=%s", state_of(srq));
	}
	if (edge("rpma_recv", "on a connection with a shared queue")) {
		connect_with(w, srq, 0);
		outcome(got(rpma_recv(w->s.conn, w->s.mr, 0, 8, NULL)), NULL);
	}
	if (edge("rpma_conn_req_new", "shared channel, shared queue with its own rcq")) {
		cfg = cfg_with(10, 0, 20, 0);
		must(rpma_conn_cfg_set_srq(cfg, srq));
		must(rpma_conn_cfg_set_compl_channel(cfg, true));
		ret = got(rpma_conn_req_new(w->peer, address(), port(), cfg, &req));
		outcome(ret, "req=%s", state_of(req));
	}
	if (edge("rpma_conn_req_new", "shared queue and rq=10")) {
		cfg = cfg_with(10, 10, 20, 0);
		must(rpma_conn_cfg_set_srq(cfg, srq));
		ret = got(rpma_conn_req_new(w->peer, address(), port(), cfg, &req));
		outcome(ret, "req=%s", state_of(req));
	}
	if (edge("rpma_srq_recv", "a message too long")) {
		must(rpma_srq_get_rcq(srq, &rcq));
		connect_with(w, srq, 0);
		ret = got(rpma_srq_recv(srq, w->s.mr, 0, 8, CONTEXT(3)));
		must(rpma_send(w->c.conn, w->c.mr, 0, 9, ALWAYS, CONTEXT(7)));
		wc = reap(rcq);
		outcome(ret, "%s", wc_text(w->s.conn, &wc));
	}
}

const struct scene scenes_srq[] = {
	{ "srq_cfg_life", .run = cfg_life },
	{ "srq_cfg_sizes", .run = cfg_sizes },
	{ "srq_make", .run = make, .setup = world_peer },
	{ "srq_arguments", .run = arguments, .setup = world_peer },
	{ "srq_full", .run = full, .setup = world_peer },
	{ "srq_messages", .run = messages, .setup = world_listening, .apart = true },
	{ "srq_in_use", .run = in_use, .setup = world_listening, .apart = true },
	{ }
};
