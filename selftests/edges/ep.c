// SPDX-License-Identifier: GPL-2.0
/* Endpoints: where they may listen, and what arrives at them. */
#include "edges.h"

static void listen_at(struct world *w, const char *name, const char *addr, const char *service)
{
	struct rpma_ep *ep = POISON;
	int ret;

	if (!edge("rpma_ep_listen", "%s", name))
		return;
	ret = got(rpma_ep_listen(w->peer, addr, service, &ep));
	outcome(ret, "ep=%s", state_of(ep));
	if (!ret)
		must(rpma_ep_shutdown(&ep));
}

static void arguments(struct world *w)
{
	struct rpma_ep *ep = POISON;

	TRY(rpma_ep_listen, "peer=NULL", NULL, address(), port(), &ep);
	TRY(rpma_ep_listen, "addr=NULL", w->peer, NULL, port(), &ep);
	TRY(rpma_ep_listen, "port=NULL", w->peer, address(), NULL, &ep);
	TRY(rpma_ep_listen, "ep_ptr=NULL", w->peer, address(), port(), NULL);
	TRY(rpma_ep_listen, "all NULL", NULL, NULL, NULL, NULL);
	listen_at(w, "ok", address(), port());
	listen_at(w, "again on the same port", address(), port());
	listen_at(w, "own IPv6 address", getenv("RPMA_TEST_ADDR6") ?: "fd07::1", port());
	listen_at(w, "any address", "0.0.0.0", port());
	listen_at(w, "127.0.0.1", "127.0.0.1", port());
	listen_at(w, "a neighbour's address", "10.7.7.99", port());
	listen_at(w, "a foreign address", "192.0.2.1", port());
	listen_at(w, "addr empty", "", port());
	listen_at(w, "addr nonsense", "no-such-host", port());
	listen_at(w, "port empty", address(), "");
	listen_at(w, "port 0", address(), "0");
	listen_at(w, "port 65535", address(), "65535");
	listen_at(w, "port 65536", address(), "65536");
	listen_at(w, "port -1", address(), "-1");
	listen_at(w, "port 99999999999", address(), "99999999999");
	listen_at(w, "port no-such-service", address(), "no-such-service");
	listen_at(w, "port http", address(), "http");
	listen_at(w, "port with a blank", address(), " 7777");
	listen_at(w, "port 7777x", address(), "7777x");
}

static void in_use(struct world *w)
{
	listen_at(w, "port in use", address(), port());
	listen_at(w, "any address, port in use", "0.0.0.0", port());
}

static void waiting(struct world *w)
{
	struct rpma_conn_req *req = POISON;
	int fd = -1, ret;

	TRY(rpma_ep_get_fd, "ep=NULL", NULL, &fd);
	TRY(rpma_ep_get_fd, "fd=NULL", w->ep, NULL);
	TRY(rpma_ep_get_fd, "both NULL", NULL, NULL);
	if (edge("rpma_ep_get_fd", "ok")) {
		ret = got(rpma_ep_get_fd(w->ep, &fd));
		outcome(ret, "fd=%s", fd >= 0 ? "some" : "none");
	}
	must(rpma_ep_get_fd(w->ep, &fd));
	TRY(rpma_ep_next_conn_req, "ep=NULL", NULL, NULL, &req);
	TRY(rpma_ep_next_conn_req, "req_ptr=NULL", w->ep, NULL, NULL);
	TRY(rpma_ep_next_conn_req, "all NULL", NULL, NULL, NULL);
	if (edge("rpma_ep_get_fd", "poll, nothing there"))
		outcome(0, "readable=%d", readable(fd, 0));
	nonblock(fd);
	if (edge("rpma_ep_next_conn_req", "O_NONBLOCK, nothing there")) {
		ret = got(rpma_ep_next_conn_req(w->ep, NULL, &req));
		outcome(ret, "req=%s errno=%s", state_of(req),
			edge_errno == EAGAIN ? "EAGAIN" : "another");
	}
}

static void arriving(struct world *w)
{
	struct rpma_conn_req *req = NULL;
	int fd, ret;

	must(rpma_ep_get_fd(w->ep, &fd));
	nonblock(fd);
	must(rpma_conn_req_new(w->peer, address(), port(), NULL, &req));
	must(rpma_conn_req_connect(&req, NULL, &w->c.conn));
	if (edge("rpma_ep_get_fd", "poll, a request there"))
		outcome(0, "readable=%d", readable(fd, 10000));
	if (edge("rpma_ep_next_conn_req", "O_NONBLOCK, a request there")) {
		must(!readable(fd, 10000));
		req = POISON;
		ret = got(rpma_ep_next_conn_req(w->ep, NULL, &req));
		outcome(ret, "req=%s", state_of(req));
	}
	if (edge("rpma_ep_get_fd", "poll, the request taken"))
		outcome(0, "readable=%d", readable(fd, 0));
	if (edge("rpma_ep_next_conn_req", "O_NONBLOCK, the request taken")) {
		req = POISON;
		ret = got(rpma_ep_next_conn_req(w->ep, NULL, &req));
		outcome(ret, "req=%s", state_of(req));
	}
}

/* Queues that cannot be had: is the request lost, and does its sender hear? */
static void next_with(struct world *w, const char *name, struct rpma_conn_cfg *cfg)
{
	struct rpma_conn_req *req = NULL;
	int fd, ret;

	if (!edge("rpma_ep_next_conn_req", "%s", name))
		return;
	must(rpma_conn_req_new(w->peer, address(), port(), NULL, &req));
	must(rpma_conn_req_connect(&req, NULL, &w->c.conn));
	must(rpma_ep_get_fd(w->ep, &fd));
	must(!readable(fd, 10000));
	req = POISON;
	ret = got(rpma_ep_next_conn_req(w->ep, cfg, &req));
	outcome(ret, "req=%s then readable=%d", state_of(req), ret ? readable(fd, 0) : 0);
}

static void configurations(struct world *w)
{
	next_with(w, "cfg=NULL", NULL);
	next_with(w, "all queues 1", cfg_with(1, 1, 1, 1));
	next_with(w, "all queues 0", cfg_with(0, 0, 0, 0));
	next_with(w, "sq=0", cfg_with(0, 10, 10, 0));
	next_with(w, "rq=0", cfg_with(10, 0, 10, 0));
	next_with(w, "cq=0", cfg_with(10, 10, 0, 0));
	next_with(w, "sq=2^31", cfg_with(1U << 31, 10, 10, 0));
	next_with(w, "rq=2^31", cfg_with(10, 1U << 31, 10, 0));
	next_with(w, "cq=2^31", cfg_with(10, 10, 1U << 31, 0));
	next_with(w, "rcq=2^31", cfg_with(10, 10, 10, 1U << 31));
	next_with(w, "all queues 2^32-1",
		  cfg_with(UINT32_MAX, UINT32_MAX, UINT32_MAX, UINT32_MAX));
}

static void shutdown_it(struct world *w)
{
	struct rpma_conn_req *req = NULL;
	struct rpma_ep *none = NULL;
	int ret;

	TRY(rpma_ep_shutdown, "ep_ptr=NULL", NULL);
	TRY(rpma_ep_shutdown, "*ep_ptr=NULL", &none);
	if (edge("rpma_ep_shutdown", "ok")) {
		ret = got(rpma_ep_shutdown(&w->ep));
		outcome(ret, "ep=%s", state_of(w->ep));
		ret = rpma_ep_shutdown(&w->ep);
		must(ret);
	}
	if (edge("rpma_ep_shutdown", "twice")) {
		must(rpma_ep_shutdown(&w->ep));
		outcome(got(rpma_ep_shutdown(&w->ep)), NULL);
	}
	if (edge("rpma_ep_shutdown", "with a request not taken")) {
		must(rpma_conn_req_new(w->peer, address(), port(), NULL, &req));
		must(rpma_conn_req_connect(&req, NULL, &w->c.conn));
		must(rpma_ep_get_fd(w->ep, &ret));
		must(!readable(ret, 10000));
		ret = got(rpma_ep_shutdown(&w->ep));
		outcome(ret, "its sender hears %s", event_name(next_event(w->c.conn)));
	}
	if (edge("rpma_ep_shutdown", "with a connection made")) {
		world_connect(w, NULL);
		ret = got(rpma_ep_shutdown(&w->ep));
		outcome(ret, "connection %s", alive(w));
	}
	if (edge("rpma_ep_shutdown", "with a request taken")) {
		req = world_knock(w, NULL);
		ret = got(rpma_ep_shutdown(&w->ep));
		must(ret);
		ret = got(rpma_conn_req_connect(&req, NULL, &w->s.conn));
		outcome(ret, "connecting it, its sender hears %s",
			event_name(next_event(w->c.conn)));
	}
}

const struct scene scenes_ep[] = {
	{ "ep_arguments", .run = arguments, .setup = world_peer },
	{ "ep_in_use", .run = in_use, .setup = world_listening },
	{ "ep_waiting", .run = waiting, .setup = world_listening },
	{ "ep_arriving", .run = arriving, .setup = world_listening },
	{ "ep_configurations", .run = configurations, .setup = world_listening, .apart = true },
	{ "ep_shutdown", .run = shutdown_it, .setup = world_listening, .apart = true },
	{ }
};
