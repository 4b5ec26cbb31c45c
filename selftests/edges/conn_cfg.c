// SPDX-License-Identifier: GPL-2.0
/* Connection configurations: what they hold. What that does is conn_req.c's. */
#include "edges.h"

#include <limits.h>

static void life(struct world *w)
{
	struct rpma_conn_cfg *cfg = POISON, *none = NULL;
	int ret;

	TRY(rpma_conn_cfg_new, "cfg_ptr=NULL", NULL);
	if (edge("rpma_conn_cfg_new", "ok")) {
		ret = got(rpma_conn_cfg_new(&cfg));
		outcome(ret, "cfg=%s", state_of(cfg));
	}
	TRY(rpma_conn_cfg_delete, "cfg_ptr=NULL", NULL);
	TRY(rpma_conn_cfg_delete, "*cfg_ptr=NULL", &none);
	must(rpma_conn_cfg_new(&cfg));
	if (edge("rpma_conn_cfg_delete", "ok")) {
		ret = got(rpma_conn_cfg_delete(&cfg));
		outcome(ret, "cfg=%s", state_of(cfg));
	}
	TRY(rpma_conn_cfg_delete, "twice", &cfg);
}

/* ---- the four sizes ---- */

static const struct {
	const char *set_name;
	int (*set)(struct rpma_conn_cfg *cfg, uint32_t size);
	const char *get_name;
	int (*get)(const struct rpma_conn_cfg *cfg, uint32_t *size);
} sizes[] = {
#define SIZE(what)								\
	{ "rpma_conn_cfg_set_" #what, rpma_conn_cfg_set_##what,			\
	  "rpma_conn_cfg_get_" #what, rpma_conn_cfg_get_##what }
	SIZE(cq_size),
	SIZE(rcq_size),
	SIZE(sq_size),
	SIZE(rq_size),
};

static void queue_size(int i)
{
	static const uint32_t values[] = { 0, 1, 10, INT_MAX, 1U << 31, UINT32_MAX };
	struct rpma_conn_cfg *cfg = NULL;
	uint32_t size = 77;
	int ret;

	must(rpma_conn_cfg_new(&cfg));
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
	must(rpma_conn_cfg_delete(&cfg));
}

static void queue_sizes(struct world *w)
{
	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++)
		queue_size(i);
}

/* ---- the others ---- */

static void timeout(struct world *w)
{
	static const int values[] = { INT_MIN, -1, 0, 1, 1000, INT_MAX };
	struct rpma_conn_cfg *cfg = NULL;
	int ret, ms = 77;

	must(rpma_conn_cfg_new(&cfg));
	if (edge("rpma_conn_cfg_get_timeout", "default")) {
		ret = got(rpma_conn_cfg_get_timeout(cfg, &ms));
		outcome(ret, "ms=%d", ms);
	}
	TRY(rpma_conn_cfg_set_timeout, "cfg=NULL", NULL, 1);
	TRY(rpma_conn_cfg_get_timeout, "cfg=NULL", NULL, &ms);
	TRY(rpma_conn_cfg_get_timeout, "timeout=NULL", cfg, NULL);
	TRY(rpma_conn_cfg_get_timeout, "both NULL", NULL, NULL);
	for (size_t i = 0; i < ARRAY_SIZE(values); i++)
		if (edge("rpma_conn_cfg_set_timeout", "%d", values[i])) {
			must(rpma_conn_cfg_set_timeout(cfg, 55));
			ret = got(rpma_conn_cfg_set_timeout(cfg, values[i]));
			must(rpma_conn_cfg_get_timeout(cfg, &ms));
			outcome(ret, "then=%d", ms);
		}
}

static void channel(struct world *w)
{
	struct rpma_conn_cfg *cfg = NULL;
	bool shared = true;
	int ret;

	must(rpma_conn_cfg_new(&cfg));
	if (edge("rpma_conn_cfg_get_compl_channel", "default")) {
		ret = got(rpma_conn_cfg_get_compl_channel(cfg, &shared));
		outcome(ret, "shared=%d", shared);
	}
	TRY(rpma_conn_cfg_set_compl_channel, "cfg=NULL", NULL, true);
	TRY(rpma_conn_cfg_get_compl_channel, "cfg=NULL", NULL, &shared);
	TRY(rpma_conn_cfg_get_compl_channel, "shared=NULL", cfg, NULL);
	TRY(rpma_conn_cfg_get_compl_channel, "both NULL", NULL, NULL);
	for (int i = 1; i >= 0; i--)
		if (edge("rpma_conn_cfg_set_compl_channel", "%d", i)) {
			ret = got(rpma_conn_cfg_set_compl_channel(cfg, i));
			must(rpma_conn_cfg_get_compl_channel(cfg, &shared));
			outcome(ret, "then=%d", shared);
		}
}

static void shared_queue(struct world *w)
{
	struct rpma_srq *srq = NULL, *found = POISON;
	struct rpma_conn_cfg *cfg = NULL;
	int ret;

	must(rpma_conn_cfg_new(&cfg));
	must(rpma_srq_new(w->peer, NULL, &srq));
	if (edge("rpma_conn_cfg_get_srq", "default")) {
		ret = got(rpma_conn_cfg_get_srq(cfg, &found));
		outcome(ret, "srq=%s", state_of(found));
	}
	TRY(rpma_conn_cfg_set_srq, "cfg=NULL", NULL, srq);
	TRY(rpma_conn_cfg_set_srq, "srq=NULL", cfg, NULL);
	TRY(rpma_conn_cfg_set_srq, "both NULL", NULL, NULL);
	TRY(rpma_conn_cfg_get_srq, "cfg=NULL", NULL, &found);
	TRY(rpma_conn_cfg_get_srq, "srq_ptr=NULL", cfg, NULL);
	TRY(rpma_conn_cfg_get_srq, "both NULL", NULL, NULL);
	if (edge("rpma_conn_cfg_set_srq", "ok")) {
		ret = got(rpma_conn_cfg_set_srq(cfg, srq));
		must(rpma_conn_cfg_get_srq(cfg, &found));
		outcome(ret, "then=%s", found == srq ? "it" : state_of(found));
	}
	if (edge("rpma_conn_cfg_set_srq", "NULL once it was set")) {
		ret = got(rpma_conn_cfg_set_srq(cfg, NULL));
		must(rpma_conn_cfg_get_srq(cfg, &found));
		outcome(ret, "then=%s", found == srq ? "it" : state_of(found));
	}
}

const struct scene scenes_conn_cfg[] = {
	{ "conn_cfg_life", .run = life },
	{ "conn_cfg_sizes", .run = queue_sizes },
	{ "conn_cfg_timeout", .run = timeout },
	{ "conn_cfg_channel", .run = channel },
	{ "conn_cfg_srq", .run = shared_queue, .setup = world_peer },
	{ }
};
