// SPDX-License-Identifier: BSD-3-Clause
/* Shared receive queues, their configurations, and the connections on them. */
#include <errno.h>
#include <string.h>

#include "unit_test.h"

void test_srq_cfg(void)
{
	struct rpma_srq_cfg *cfg = NULL;
	uint32_t size = 0;

	ok(rpma_srq_cfg_new(NULL) == RPMA_E_INVAL, "srq_cfg: no result");
	ok(!rpma_srq_cfg_new(&cfg) && cfg, "srq_cfg: made");
	ok(!rpma_srq_cfg_get_rq_size(cfg, &size) && size == 20, "srq_cfg: rq at first");
	size = 0;
	ok(!rpma_srq_cfg_get_rcq_size(cfg, &size) && size == 20, "srq_cfg: rcq at first");
	ok(!rpma_srq_cfg_set_rq_size(cfg, UINT32_MAX) && !rpma_srq_cfg_set_rcq_size(cfg, 0) &&
	   !rpma_srq_cfg_get_rq_size(cfg, &size) && size == UINT32_MAX &&
	   !rpma_srq_cfg_get_rcq_size(cfg, &size) && size == 0, "srq_cfg: set");
	size = 77;
	ok(rpma_srq_cfg_set_rq_size(NULL, 1) == RPMA_E_INVAL &&
	   rpma_srq_cfg_set_rcq_size(NULL, 1) == RPMA_E_INVAL &&
	   rpma_srq_cfg_get_rq_size(NULL, &size) == RPMA_E_INVAL &&
	   rpma_srq_cfg_get_rcq_size(NULL, &size) == RPMA_E_INVAL &&
	   rpma_srq_cfg_get_rq_size(cfg, NULL) == RPMA_E_INVAL &&
	   rpma_srq_cfg_get_rcq_size(cfg, NULL) == RPMA_E_INVAL && size == 77, "srq_cfg: NULL");
	ok(!rpma_srq_cfg_delete(&cfg) && !cfg && !rpma_srq_cfg_delete(&cfg) &&
	   rpma_srq_cfg_delete(NULL) == RPMA_E_INVAL, "srq_cfg: delete, none, NULL");
}

/* A queue of these sizes. */
static struct rpma_srq *make_srq(struct rpma_peer *peer, uint32_t rq_size, uint32_t rcq_size)
{
	struct rpma_srq *srq = NULL;
	struct rpma_srq_cfg *cfg;

	rpma_srq_cfg_new(&cfg);
	rpma_srq_cfg_set_rq_size(cfg, rq_size);
	rpma_srq_cfg_set_rcq_size(cfg, rcq_size);
	if (rpma_srq_new(peer, cfg, &srq))
		srq = NULL;
	rpma_srq_cfg_delete(&cfg);
	return srq;
}

static void srq_new(struct rpma_peer *peer)
{
	int fds = fake.fds, srqs = fake.srqs;
	struct rpma_srq *srq = NULL;
	struct rpma_cq *rcq = NULL;

	ok(rpma_srq_new(NULL, NULL, &srq) == RPMA_E_INVAL &&
	   rpma_srq_new(peer, NULL, NULL) == RPMA_E_INVAL && !srq, "srq: NULL");
	fake.srq_create_ret = -EDQUOT;
	ok(rpma_srq_new(peer, NULL, &srq) == RPMA_E_PROVIDER && errno == EDQUOT && !srq &&
	   strstr(logged, "parameters"), "srq: over a limit, and what to do");
	fake.srq_create_ret = -ENOMEM;
	ok(rpma_srq_new(peer, NULL, &srq) == RPMA_E_NOMEM && !srq, "srq: out of memory");
	fake.srq_create_ret = 0;
	fake.cq_create_ret = -EINVAL;
	ok(rpma_srq_new(peer, NULL, &srq) == RPMA_E_PROVIDER && errno == EINVAL && !srq &&
	   fake.srqs == srqs && fake.fds == fds, "srq: no completion queue of that size");
	fake.cq_create_ret = 0;

	ok(!rpma_srq_new(peer, NULL, &srq) && fake.srq_entries == 100 && fake.cq_entries[0] == 100,
	   "srq: as many by default as the manual says");
	ok(!rpma_srq_get_rcq(srq, &rcq) && rcq, "srq: with a completion queue of its own");
	ok(rpma_srq_get_rcq(NULL, &rcq) == RPMA_E_INVAL &&
	   rpma_srq_get_rcq(srq, NULL) == RPMA_E_INVAL, "srq: completion queue of NULL");
	ok(!rpma_srq_delete(&srq) && !srq && fake.srqs == srqs && fake.fds == fds, "srq: deleted");
	ok(!rpma_srq_delete(&srq) && rpma_srq_delete(NULL) == RPMA_E_INVAL,
	   "srq: delete none, NULL");

	srq = make_srq(peer, 1000, 3);
	ok(fake.srq_entries == 1000 && fake.cq_entries[0] == 1000,
	   "srq: its completion queue holds all receives");
	fake.srq_destroy_ret = -ENODEV;
	ok(!rpma_srq_delete(&srq) && !srq, "srq: went with its device");
	fake.srq_destroy_ret = 0;
	fake.srqs--;
	srq = make_srq(peer, 0, 0);
	ok(fake.srq_entries == 0, "srq: the kernel says that none is too few");
	rpma_srq_delete(&srq);
	rcq = (void *)1;
	srq = make_srq(peer, UINT32_MAX, 0);
	ok(fake.srq_entries == UINT32_MAX && fake.fds == fds &&
	   !rpma_srq_get_rcq(srq, &rcq) && !rcq, "srq: without a completion queue");
	rpma_srq_delete(&srq);
}

static void srq_recv(struct rpma_peer *peer)
{
	struct rpma_mr_local *mr = make_local(peer, RPMA_MR_USAGE_RECV), *foreign;
	struct rpma_srq *srq = make_srq(peer, 10, 0);
	struct rpma_peer *other = make_peer();
	int posts = fake.posts;

	foreign = make_local(other, RPMA_MR_USAGE_RECV);
	ok(rpma_srq_recv(NULL, mr, 0, 8, NULL) == RPMA_E_INVAL &&
	   rpma_srq_recv(srq, NULL, 1, 0, NULL) == RPMA_E_INVAL &&
	   rpma_srq_recv(srq, NULL, 0, 1, NULL) == RPMA_E_INVAL, "srq: receive, bad arguments");
	ok(rpma_srq_recv(srq, foreign, 0, 8, NULL) == RPMA_E_PROVIDER && errno == EXDEV,
	   "srq: receive, another peer's region");
	ok(fake.posts == posts, "srq: bad receives never reach the kernel");
	ok(!rpma_srq_recv(srq, mr, 16, 8, CONTEXT) && fake.srq_posted_to == FAKE_SRQ &&
	   fake.request.op == RPMA_OP_RECV && fake.request.mr == 21 &&
	   fake.request.mr_offset == 16 && fake.request.len == 8 && !fake.request.flags &&
	   fake.request.context == (uintptr_t)CONTEXT, "srq: receive");
	ok(!rpma_srq_recv(srq, NULL, 0, 0, CONTEXT) && !fake.request.mr && !fake.request.len,
	   "srq: receive nothing");
	fake.post_ret = -EAGAIN;
	ok(rpma_srq_recv(srq, mr, 0, 8, NULL) == RPMA_E_PROVIDER && errno == EAGAIN,
	   "srq: receive, the queue is full");
	fake.post_ret = -EINVAL;
	ok(rpma_srq_recv(srq, mr, 4096, 8, NULL) == RPMA_E_INVAL, "srq: receive past the end");
	fake.post_ret = 0;
	rpma_mr_dereg(&mr);
	rpma_mr_dereg(&foreign);
	rpma_peer_delete(&other);
	rpma_srq_delete(&srq);
}

/* What a connection of @cfg asks of the kernel; its queues are in @fake. */
static struct rpma_conn_req *request(struct rpma_peer *peer, const struct rpma_conn_cfg *cfg)
{
	struct rpma_conn_req *req = NULL;

	if (rpma_conn_req_new(peer, "127.0.0.1", "1", cfg, &req))
		return NULL;
	return req;
}

static void srq_conn_queues(struct rpma_peer *peer)
{
	struct rpma_srq *plain = make_srq(peer, 200, 0), *own = make_srq(peer, 200, 5);
	struct rpma_cq *cq, *rcq = (void *)1;
	struct rpma_conn_req *req;
	struct rpma_conn_cfg *cfg;
	struct rpma_conn *conn;
	int own_fd = -1, fd = -1;

	rpma_conn_cfg_new(&cfg);
	rpma_conn_cfg_set_srq(cfg, plain);
	req = request(peer, cfg);
	ok(fake.queues.srq == FAKE_SRQ && fake.queues.rq_size == 0 && fake.queues.sq_size == 10 &&
	   fake.queues.recv_cq_fd == -1 && fake.cq_entries[0] == 210,
	   "srq: the main completion queue holds the shared receives too");
	rpma_conn_req_delete(&req);
	rpma_conn_cfg_set_rcq_size(cfg, 4);
	req = request(peer, cfg);
	ok(fake.queues.recv_cq_fd > 0 && fake.cq_entries[1] == 10 && fake.cq_entries[0] == 200,
	   "srq: the connection's receive completion queue does");
	rpma_conn_req_delete(&req);

	rpma_conn_cfg_set_srq(cfg, own);
	rpma_srq_get_rcq(own, &cq);
	rpma_cq_get_fd(cq, &own_fd);
	conn = make_conn(peer, cfg);
	ok(fake.queues.recv_cq_fd == own_fd && own_fd > 0 && fake.cq_entries[0] == 10,
	   "srq: its own completion queue does");
	ok(!rpma_conn_get_rcq(conn, &rcq) && !rcq, "srq: which is not the connection's");
	ok(!rpma_conn_get_cq(conn, &cq) && !rpma_cq_get_fd(cq, &fd) && fd != own_fd,
	   "srq: the connection has a main one all the same");
	rpma_conn_delete(&conn);
	rpma_conn_cfg_delete(&cfg);
	ok(!rpma_srq_delete(&plain) && !rpma_srq_delete(&own), "srq: deleted after its connections");
}

static void srq_conn_errors(struct rpma_peer *peer)
{
	struct rpma_srq *plain = make_srq(peer, 5, 0), *own = make_srq(peer, 5, 5), *got = NULL;
	struct rpma_mr_local *mr = make_local(peer, RPMA_MR_USAGE_RECV);
	struct rpma_peer *other = make_peer();
	struct rpma_conn_req *req = NULL;
	struct rpma_conn_cfg *cfg;
	struct rpma_conn *conn;
	int fds = fake.fds, posts;

	rpma_conn_cfg_new(&cfg);
	ok(!rpma_conn_cfg_get_srq(cfg, &got) && !got, "srq: none in a configuration at first");
	ok(rpma_conn_cfg_set_srq(NULL, own) == RPMA_E_INVAL &&
	   rpma_conn_cfg_set_srq(cfg, NULL) == RPMA_E_INVAL &&
	   rpma_conn_cfg_get_srq(NULL, &got) == RPMA_E_INVAL &&
	   rpma_conn_cfg_get_srq(cfg, NULL) == RPMA_E_INVAL, "srq: configuration of NULL");
	ok(!rpma_conn_cfg_set_srq(cfg, own) && !rpma_conn_cfg_get_srq(cfg, &got) && got == own,
	   "srq: in a configuration");

	rpma_conn_cfg_set_compl_channel(cfg, true);
	ok(rpma_conn_req_new(peer, "127.0.0.1", "1", cfg, &req) == RPMA_E_INVAL && !req &&
	   fake.fds == fds, "srq: its own completion queue and a shared channel");
	ok(rpma_conn_req_new(peer, "not an address", "1", cfg, &req) == RPMA_E_PROVIDER,
	   "srq: the address comes first");
	rpma_conn_cfg_set_srq(cfg, plain);
	req = request(peer, cfg);
	ok(req, "srq: without one, a shared channel");
	posts = fake.posts;
	ok(rpma_conn_req_recv(req, mr, 0, 8, NULL) == RPMA_E_PROVIDER && errno == EINVAL &&
	   strstr(logged, "rpma_srq_recv"), "srq: no receive on a request, and what to do");
	rpma_conn_req_connect(&req, NULL, &conn);
	ok(rpma_recv(conn, mr, 0, 8, NULL) == RPMA_E_PROVIDER && errno == EINVAL &&
	   rpma_recv(conn, NULL, 0, 0, NULL) == RPMA_E_PROVIDER &&
	   rpma_recv(conn, NULL, 0, 8, NULL) == RPMA_E_INVAL && fake.posts == posts,
	   "srq: no receive on a connection");
	rpma_conn_delete(&conn);
	ok(rpma_conn_req_new(other, "127.0.0.1", "1", cfg, &req) == RPMA_E_PROVIDER &&
	   errno == EXDEV && !req && fake.fds == fds, "srq: another peer's");

	rpma_conn_cfg_delete(&cfg);
	rpma_mr_dereg(&mr);
	rpma_srq_delete(&plain);
	rpma_srq_delete(&own);
	rpma_peer_delete(&other);
}

static void srq_deleted_early(struct rpma_peer *peer)
{
	int fds = fake.fds, srqs = fake.srqs;
	struct rpma_srq *srq = make_srq(peer, 5, 5);
	struct rpma_conn *a, *b;
	struct rpma_conn_cfg *cfg;
	struct ibv_wc wc;
	struct rpma_cq *rcq;

	rpma_conn_cfg_new(&cfg);
	rpma_conn_cfg_set_srq(cfg, srq);
	rpma_srq_get_rcq(srq, &rcq);
	a = make_conn(peer, cfg);
	b = make_conn(peer, cfg);
	rpma_conn_cfg_delete(&cfg);
	ok(rpma_srq_delete(&srq) == RPMA_E_PROVIDER && errno == EBUSY && !srq,
	   "srq: deleted while connections use it");
	ok(fake.srqs == srqs + 1 && rpma_cq_get_wc(rcq, 1, &wc, NULL) == RPMA_E_NO_COMPLETION,
	   "srq: they can go on");
	rpma_conn_delete(&a);
	ok(fake.srqs == srqs + 1, "srq: one still does");
	rpma_conn_delete(&b);
	ok(fake.srqs == srqs && fake.fds == fds, "srq: goes with the last");

	srq = make_srq(peer, 5, 5);
	fake.srq_destroy_ret = -EBUSY;
	ok(rpma_srq_delete(&srq) == RPMA_E_PROVIDER && errno == EBUSY && !srq && fake.fds == fds,
	   "srq: another process uses it");
	fake.srq_destroy_ret = 0;
	fake.srqs--;
}

void test_srq(struct rpma_peer *peer)
{
	srq_new(peer);
	srq_recv(peer);
	srq_conn_queues(peer);
	srq_conn_errors(peer);
	srq_deleted_early(peer);
}
