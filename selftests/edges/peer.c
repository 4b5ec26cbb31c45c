// SPDX-License-Identifier: GPL-2.0
/* Peers: making them, and ending them with things still on them. */
#include "edges.h"

static void make(struct world *w)
{
	static char zeros[4096];
	struct rpma_peer *peer, *other;
	int ret;

	TRY(rpma_peer_new, "context=NULL", NULL, &peer);
	TRY(rpma_peer_new, "peer_ptr=NULL", w->context, NULL);
	TRY(rpma_peer_new, "both NULL", NULL, NULL);
	if (edge("rpma_peer_new", "context of zeros")) {
		peer = POISON;
		ret = got(rpma_peer_new((struct ibv_context *)zeros, &peer));
		outcome(ret, "peer=%s", state_of(peer));
	}
	if (edge("rpma_peer_new", "two of one context")) {
		ret = got(rpma_peer_new(w->context, &peer) ||
			  rpma_peer_new(w->context, &other));
		outcome(ret, "%s", peer == other ? "same" : "different");
		rpma_peer_delete(&other);
		rpma_peer_delete(&peer);
	}
}

static void end(struct world *w)
{
	struct rpma_peer *none = NULL, *peer = NULL;
	int ret;

	TRY(rpma_peer_delete, "peer_ptr=NULL", NULL);
	TRY(rpma_peer_delete, "*peer_ptr=NULL", &none);
	must(rpma_peer_new(w->context, &peer));
	if (edge("rpma_peer_delete", "ok")) {
		ret = got(rpma_peer_delete(&peer));
		outcome(ret, "peer=%s", state_of(peer));
	}
	TRY(rpma_peer_delete, "twice", &peer);
}

static void drop_regions(struct world *w)
{
	must(rpma_mr_dereg(&w->c.mr));
	must(rpma_mr_dereg(&w->s.mr));
}

static void delete_it(struct world *w)
{
	int ret = got(rpma_peer_delete(&w->peer));

	outcome(ret, "peer=%s", state_of(w->peer));
}

static void in_use(struct world *w)
{
	struct rpma_conn_req *req = NULL;
	struct rpma_srq *srq = NULL;

	if (edge("rpma_peer_delete", "with regions"))
		delete_it(w);
	if (edge("rpma_peer_delete", "with an endpoint")) {
		drop_regions(w);
		delete_it(w);
	}
	if (edge("rpma_peer_delete", "with a request")) {
		drop_regions(w);
		must(rpma_conn_req_new(w->peer, address(), port(), NULL, &req));
		must(rpma_ep_shutdown(&w->ep));
		delete_it(w);
	}
	if (edge("rpma_peer_delete", "with connections")) {
		world_connect(w, NULL);
		drop_regions(w);
		must(rpma_ep_shutdown(&w->ep));
		delete_it(w);
	}
	if (edge("rpma_peer_delete", "with a shared receive queue")) {
		drop_regions(w);
		must(rpma_ep_shutdown(&w->ep));
		must(rpma_srq_new(w->peer, NULL, &srq));
		delete_it(w);
	}
	if (edge("rpma_peer_delete", "with nothing left")) {
		drop_regions(w);
		must(rpma_ep_shutdown(&w->ep));
		delete_it(w);
	}
}

const struct scene scenes_peer[] = {
	{ "peer_make", .run = make, .setup = world_peer },
	{ "peer_end", .run = end, .setup = world_peer },
	{ "peer_in_use", .run = in_use, .setup = world_listening, .apart = true },
	{ }
};
