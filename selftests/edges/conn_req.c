// SPDX-License-Identifier: GPL-2.0
/* Requests to connect: whom, with which queues, with what in their hands. */
#include "edges.h"

#include <stdio.h>

#define CLOSED_PORT "19999"

static void new_to(struct world *w, const char *name, const char *addr, const char *service,
		   struct rpma_conn_cfg *cfg)
{
	struct rpma_conn_req *req = POISON;
	int ret;

	if (!edge("rpma_conn_req_new", "%s", name))
		return;
	ret = got(rpma_conn_req_new(w->peer, addr, service, cfg, &req));
	outcome(ret, "req=%s", state_of(req));
	if (!ret)
		must(rpma_conn_req_delete(&req));
}

static void arguments(struct world *w)
{
	struct rpma_conn_req *req = POISON;

	TRY(rpma_conn_req_new, "peer=NULL", NULL, address(), port(), NULL, &req);
	TRY(rpma_conn_req_new, "addr=NULL", w->peer, NULL, port(), NULL, &req);
	TRY(rpma_conn_req_new, "port=NULL", w->peer, address(), NULL, NULL, &req);
	TRY(rpma_conn_req_new, "req_ptr=NULL", w->peer, address(), port(), NULL, NULL);
	TRY(rpma_conn_req_new, "all NULL", NULL, NULL, NULL, NULL, NULL);
	new_to(w, "ok", address(), port(), NULL);
	new_to(w, "nobody listens", address(), CLOSED_PORT, NULL);
	new_to(w, "own IPv6 address", getenv("RPMA_TEST_ADDR6") ?: "fd07::1", port(), NULL);
	new_to(w, "a neighbour's address", "10.7.7.99", port(), NULL);
	new_to(w, "no route", "192.0.2.1", port(), NULL);
	new_to(w, "127.0.0.1", "127.0.0.1", port(), NULL);
	new_to(w, "any address", "0.0.0.0", port(), NULL);
	new_to(w, "addr empty", "", port(), NULL);
	new_to(w, "addr nonsense", "no-such-host", port(), NULL);
	new_to(w, "port empty", address(), "", NULL);
	new_to(w, "port 0", address(), "0", NULL);
	new_to(w, "port 65535", address(), "65535", NULL);
	new_to(w, "port 65536", address(), "65536", NULL);
	new_to(w, "port -1", address(), "-1", NULL);
	new_to(w, "port no-such-service", address(), "no-such-service", NULL);
	new_to(w, "port 7777x", address(), "7777x", NULL);
}

static void queues(struct world *w)
{
	static const uint32_t values[] = { 0, 1, 1U << 31, UINT32_MAX };
	static const char *const names[] = { "sq", "rq", "cq", "rcq" };
	char name[64];

	for (int i = 0; i < 4; i++)
		for (size_t j = 0; j < ARRAY_SIZE(values); j++) {
			uint32_t q[] = { 10, 10, 10, 10 };

			q[i] = values[j];
			snprintf(name, sizeof(name), "%s=%u", names[i], values[j]);
			new_to(w, name, address(), port(), cfg_with(q[0], q[1], q[2], q[3]));
		}
	new_to(w, "all queues 0", address(), port(), cfg_with(0, 0, 0, 0));
	new_to(w, "all queues 1", address(), port(), cfg_with(1, 1, 1, 1));
	new_to(w, "all queues 2^32-1", address(), port(),
	       cfg_with(UINT32_MAX, UINT32_MAX, UINT32_MAX, UINT32_MAX));
}

static void timeouts(struct world *w)
{
	static const int values[] = { 1000, 10000 };
	char name[32];

	for (size_t i = 0; i < ARRAY_SIZE(values); i++) {
		struct rpma_conn_cfg *cfg = cfg_with(10, 10, 10, 0);

		must(rpma_conn_cfg_set_timeout(cfg, values[i]));
		snprintf(name, sizeof(name), "timeout=%d", values[i]);
		new_to(w, name, address(), port(), cfg);
	}
}

static void delete_it(struct world *w)
{
	struct rpma_conn_req *none = NULL, *req = NULL;
	int ret;

	TRY(rpma_conn_req_delete, "req_ptr=NULL", NULL);
	TRY(rpma_conn_req_delete, "*req_ptr=NULL", &none);
	if (edge("rpma_conn_req_delete", "active")) {
		must(rpma_conn_req_new(w->peer, address(), port(), NULL, &req));
		ret = got(rpma_conn_req_delete(&req));
		outcome(ret, "req=%s", state_of(req));
	}
	TRY(rpma_conn_req_delete, "twice", &req);
	if (edge("rpma_conn_req_delete", "passive")) {
		req = world_knock(w, NULL);
		ret = got(rpma_conn_req_delete(&req));
		outcome(ret, "req=%s its sender hears %s", state_of(req),
			event_name(next_event(w->c.conn)));
	}
}

/* ---- connecting: the request is gone in every outcome ---- */

static void connect_null(struct world *w)
{
	struct rpma_conn *conn = POISON;
	struct rpma_conn_req *req = NULL;
	int ret;

	TRY(rpma_conn_req_connect, "req_ptr=NULL", NULL, NULL, &conn);
	TRY(rpma_conn_req_connect, "*req_ptr=NULL", &req, NULL, &conn);
	TRY(rpma_conn_req_connect, "all NULL", NULL, NULL, NULL);
	if (edge("rpma_conn_req_connect", "active conn_ptr=NULL")) {
		must(rpma_conn_req_new(w->peer, address(), port(), NULL, &req));
		ret = got(rpma_conn_req_connect(&req, NULL, NULL));
		outcome(ret, "req=%s", state_of(req));
	}
	if (edge("rpma_conn_req_connect", "passive conn_ptr=NULL")) {
		req = world_knock(w, NULL);
		ret = got(rpma_conn_req_connect(&req, NULL, NULL));
		outcome(ret, "req=%s its sender hears %s", state_of(req),
			event_name(next_event(w->c.conn)));
	}
}

static uint8_t bytes[256];

static const struct {
	const char *name;
	void *ptr;
	uint8_t len;
} pdatas[] = {
	{ "pdata empty", NULL, 0 },
	{ "pdata ptr=NULL len=5", NULL, 5 },
	{ "pdata len=0", bytes, 0 },
	{ "pdata len=1", bytes, 1 },
	{ "pdata len=55", bytes, 55 },
	{ "pdata len=56", bytes, 56 },
	{ "pdata len=57", bytes, 57 },
	{ "pdata len=196", bytes, 196 },
	{ "pdata len=197", bytes, 197 },
	{ "pdata len=255", bytes, 255 },
};

/* How many of the bytes sent arrived, and what the length says. */
static const char *arrived(const struct rpma_conn_private_data *pdata, size_t sent)
{
	static char text[64];
	size_t same = 0;

	while (pdata->ptr && same < sent && same < pdata->len &&
	       ((uint8_t *)pdata->ptr)[same] == bytes[same])
		same++;
	snprintf(text, sizeof(text), "ptr=%s len=%u same=%zu", state_of(pdata->ptr), pdata->len,
		 same);
	return text;
}

static void connect_active(struct world *w)
{
	for (size_t i = 0; i < ARRAY_SIZE(pdatas); i++)
		if (edge("rpma_conn_req_connect", "active %s", pdatas[i].name)) {
			struct rpma_conn_private_data pdata = { pdatas[i].ptr, pdatas[i].len };
			struct rpma_conn_req *req = NULL;
			struct rpma_conn *conn = POISON;
			const char *there = "nothing sent";
			int ret;

			must(rpma_conn_req_new(w->peer, address(), port(), NULL, &req));
			ret = got(rpma_conn_req_connect(&req, &pdata, &conn));
			if (!ret) {
				struct rpma_conn_req *in = NULL;

				must(rpma_ep_next_conn_req(w->ep, NULL, &in));
				must(rpma_conn_req_get_private_data(in, &pdata));
				there = arrived(&pdata, pdatas[i].len);
			}
			outcome(ret, "req=%s conn=%s %s", state_of(req), state_of(conn), there);
		}
}

static void connect_passive(struct world *w)
{
	for (size_t i = 0; i < ARRAY_SIZE(pdatas); i++)
		if (edge("rpma_conn_req_connect", "passive %s", pdatas[i].name)) {
			struct rpma_conn_private_data pdata = { pdatas[i].ptr, pdatas[i].len };
			struct rpma_conn_req *req = world_knock(w, NULL);
			struct rpma_conn *conn = POISON;
			int ret = got(rpma_conn_req_connect(&req, &pdata, &conn));
			const char *event = event_name(next_event(w->c.conn));

			must(rpma_conn_get_private_data(w->c.conn, &pdata));
			outcome(ret, "req=%s conn=%s its sender hears %s %s", state_of(req),
				state_of(conn), event, arrived(&pdata, pdatas[i].len));
		}
}

static void private_data(struct world *w)
{
	struct rpma_conn_private_data pdata = { POISON, 77 };
	struct rpma_conn_req *req = NULL;
	int ret;

	must(rpma_conn_req_new(w->peer, address(), port(), NULL, &req));
	TRY(rpma_conn_req_get_private_data, "req=NULL", NULL, &pdata);
	TRY(rpma_conn_req_get_private_data, "pdata=NULL", req, NULL);
	TRY(rpma_conn_req_get_private_data, "both NULL", NULL, NULL);
	if (edge("rpma_conn_req_get_private_data", "active")) {
		ret = got(rpma_conn_req_get_private_data(req, &pdata));
		outcome(ret, "ptr=%s len=%u", state_of(pdata.ptr), pdata.len);
	}
	must(rpma_conn_req_delete(&req));
	if (edge("rpma_conn_req_get_private_data", "passive, none sent")) {
		req = world_knock(w, NULL);
		pdata.ptr = POISON;
		ret = got(rpma_conn_req_get_private_data(req, &pdata));
		outcome(ret, "%s", arrived(&pdata, 0));
	}
}

/* ---- receives posted before the connection ---- */

static const struct {
	const char *name;
	size_t offset;
	size_t len;
} ranges[] = {
	{ "ok", 0, 64 },
	{ "len=0", 0, 0 },
	{ "all of it", 0, BUF_SIZE },
	{ "last byte", BUF_SIZE - 1, 1 },
	{ "one byte too many", 0, BUF_SIZE + 1 },
	{ "behind its end", BUF_SIZE, 1 },
	{ "len=0 behind its end", BUF_SIZE + 1, 0 },
	{ "len=2^32", 0, (size_t)1 << 32 },
	{ "len=SIZE_MAX", 0, SIZE_MAX },
	{ "offset=SIZE_MAX len=1", SIZE_MAX, 1 },
};

static void recv_before(struct world *w)
{
	struct rpma_conn_req *req = NULL;
	int nr = 0;

	must(rpma_conn_req_new(w->peer, address(), port(), NULL, &req));
	TRY(rpma_conn_req_recv, "req=NULL", NULL, w->c.mr, 0, 64, NULL);
	TRY(rpma_conn_req_recv, "dst=NULL", req, NULL, 0, 64, NULL);
	TRY(rpma_conn_req_recv, "dst=NULL offset=0 len=0", req, NULL, 0, 0, NULL);
	TRY(rpma_conn_req_recv, "both NULL", NULL, NULL, 0, 0, NULL);
	for (size_t i = 0; i < ARRAY_SIZE(ranges); i++)
		TRY(rpma_conn_req_recv, ranges[i].name, req, w->c.mr, ranges[i].offset,
		    ranges[i].len, CONTEXT(i));
	must(rpma_conn_req_delete(&req));
	must(rpma_conn_req_new(w->peer, address(), port(), NULL, &req));
	if (edge("rpma_conn_req_recv", "until the queue of 10 is full")) {
		int ret = 0;

		while (nr < 1000 && !(ret = got(rpma_conn_req_recv(req, w->c.mr, 0, 64, NULL))))
			nr++;
		outcome(ret, "posted=%d", nr);
	}
	must(rpma_conn_req_delete(&req));
	must(rpma_conn_req_new(w->peer, address(), port(), cfg_with(10, 0, 10, 0), &req));
	TRY(rpma_conn_req_recv, "to a queue of none", req, w->c.mr, 0, 64, NULL);
}

static void recv_first(struct world *w)
{
	struct rpma_conn_req *req = NULL;
	struct ibv_wc wc;
	int ret;

	if (edge("rpma_conn_req_recv", "then a message at once")) {
		must(rpma_conn_req_new(w->peer, address(), port(), NULL, &req));
		ret = got(rpma_conn_req_recv(req, w->c.mr, 0, 64, CONTEXT(5)));
		must(rpma_conn_req_connect(&req, NULL, &w->c.conn));
		must(rpma_ep_next_conn_req(w->ep, NULL, &req));
		must(rpma_conn_req_connect(&req, NULL, &w->s.conn));
		must(next_event(w->c.conn) != RPMA_CONN_ESTABLISHED);
		must(next_event(w->s.conn) != RPMA_CONN_ESTABLISHED);
		must(rpma_send(w->s.conn, w->s.mr, 0, 7, ON_ERROR, NULL));
		must(rpma_conn_get_cq(w->c.conn, &w->c.cq));
		wc = reap(w->c.cq);
		outcome(ret, "%s", wc_text(w->c.conn, &wc));
	}
}

static void fill(struct world *w)
{
	world_listening(w);
	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = 255 - i;
}

const struct scene scenes_conn_req[] = {
	{ "conn_req_arguments", .run = arguments, .setup = world_peer },
	{ "conn_req_queues", .run = queues, .setup = world_peer },
	{ "conn_req_timeouts", .run = timeouts, .setup = world_peer },
	{ "conn_req_delete", .run = delete_it, .setup = world_listening },
	{ "conn_req_connect", .run = connect_null, .setup = world_listening },
	{ "conn_req_active", .run = connect_active, .setup = fill, .apart = true },
	{ "conn_req_passive", .run = connect_passive, .setup = fill, .apart = true },
	{ "conn_req_private_data", .run = private_data, .setup = fill },
	{ "conn_req_recv", .run = recv_before, .setup = world_listening },
	{ "conn_req_recv_first", .run = recv_first, .setup = world_listening },
	{ }
};
