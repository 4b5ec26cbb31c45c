// SPDX-License-Identifier: BSD-3-Clause
/* Requests to connect. */
#include <errno.h>
#include <limits.h>
#include <string.h>

#include "unit_test.h"

void test_conn_req(struct rpma_peer *peer)
{
	struct rpma_conn_private_data pdata = { .ptr = "hello", .len = 6 }, none = { 0 };
	struct rpma_conn_req *req = NULL;
	struct rpma_conn *conn = NULL;
	struct rpma_mr_local *mr;
	int fds = fake.fds;

	ok(rpma_conn_req_new(NULL, "127.0.0.1", "1", NULL, &req) == RPMA_E_INVAL &&
	   rpma_conn_req_new(peer, NULL, "1", NULL, &req) == RPMA_E_INVAL &&
	   rpma_conn_req_new(peer, "127.0.0.1", NULL, NULL, &req) == RPMA_E_INVAL &&
	   rpma_conn_req_new(peer, "127.0.0.1", "1", NULL, NULL) == RPMA_E_INVAL && !req,
	   "conn_req: NULL");
	ok(rpma_conn_req_new(peer, "127.0.0.1", "no such port", NULL, &req) == RPMA_E_PROVIDER &&
	   !req, "conn_req: no such port");
	fake.conn_create_ret = -ETIMEDOUT;
	ok(rpma_conn_req_new(peer, "127.0.0.1", "1", NULL, &req) == RPMA_E_PROVIDER &&
	   errno == ETIMEDOUT && fake.fds == fds, "conn_req: unreachable, nothing left behind");
	fake.conn_create_ret = 0;
	fake.cq_create_ret = -EINVAL;
	ok(rpma_conn_req_new(peer, "127.0.0.1", "1", NULL, &req) == RPMA_E_PROVIDER &&
	   errno == EINVAL && fake.fds == fds, "conn_req: no queue of that size");
	fake.cq_create_ret = -ENOMEM;
	ok(rpma_conn_req_new(peer, "127.0.0.1", "1", NULL, &req) == RPMA_E_NOMEM &&
	   fake.fds == fds, "conn_req: no memory for a queue");
	fake.cq_create_ret = 0;
	fake.query_ret = -ENODEV;
	ok(rpma_conn_req_new(peer, "127.0.0.1", "1", NULL, &req) == RPMA_E_PROVIDER &&
	   errno == ENODEV && fake.fds == fds && !req, "conn_req: device is gone");
	fake.query_ret = 0;

	ok(!rpma_conn_req_new(peer, "127.0.0.1", "1", NULL, &req) && req, "conn_req: made");
	ok(!rpma_conn_req_get_private_data(req, &none) && !none.ptr && !none.len,
	   "conn_req: one's own has no private data");
	ok(!rpma_conn_req_delete(&req) && !req && fake.fds == fds, "conn_req: deleted");
	ok(!rpma_conn_req_delete(&req) && rpma_conn_req_delete(NULL) == RPMA_E_INVAL,
	   "conn_req: delete none, NULL");

	/* connecting ends the request in every outcome */
	ok(rpma_conn_req_connect(NULL, NULL, &conn) == RPMA_E_INVAL &&
	   rpma_conn_req_connect(&req, NULL, &conn) == RPMA_E_INVAL, "connect: no request");
	rpma_conn_req_new(peer, "127.0.0.1", "1", NULL, &req);
	ok(rpma_conn_req_connect(&req, NULL, NULL) == RPMA_E_INVAL && !req && fake.fds == fds,
	   "connect: no result");
	rpma_conn_req_new(peer, "127.0.0.1", "1", NULL, &req);
	ok(rpma_conn_req_connect(&req, &none, &conn) == RPMA_E_INVAL && !req && !conn &&
	   fake.fds == fds, "connect: empty private data");
	rpma_conn_req_new(peer, "127.0.0.1", "1", NULL, &req);
	none.ptr = memory;
	ok(rpma_conn_req_connect(&req, &none, &conn) == RPMA_E_INVAL && !req && !conn,
	   "connect: private data of no bytes");
	rpma_conn_req_new(peer, "127.0.0.1", "1", NULL, &req);
	fake.handshake_ret = -EINVAL;
	ok(rpma_conn_req_connect(&req, &pdata, &conn) == RPMA_E_PROVIDER && errno == EINVAL &&
	   !req && !conn && fake.fds == fds, "connect: refused by the kernel");
	fake.handshake_ret = 0;

	rpma_conn_req_new(peer, "127.0.0.1", "1", NULL, &req);
	pdata.len = 255;
	pdata.ptr = memory;
	fake.handshake_ret = -EINVAL;
	ok(rpma_conn_req_connect(&req, &pdata, &conn) == RPMA_E_PROVIDER && errno == EINVAL &&
	   fake.handshake_len == 255 && !req && !conn && strstr(logged, "255 bytes") &&
	   strstr(logged, "at most 56"), "connect: too much private data, in words");
	fake.handshake_ret = 0;
	pdata = (struct rpma_conn_private_data){ .ptr = "hello", .len = 6 };

	rpma_conn_req_new(peer, "127.0.0.1", "1", NULL, &req);
	mr = make_local(peer, RPMA_MR_USAGE_RECV);
	ok(!rpma_conn_req_recv(req, mr, 8, 16, CONTEXT) && fake.request.op == RPMA_OP_RECV &&
	   fake.request.mr == 21 && fake.request.mr_offset == 8 && fake.request.len == 16 &&
	   fake.request.context == (uintptr_t)CONTEXT, "conn_req: receive before connecting");
	ok(rpma_conn_req_recv(NULL, mr, 0, 0, NULL) == RPMA_E_INVAL &&
	   rpma_conn_req_recv(req, NULL, 0, 0, NULL) == RPMA_E_INVAL, "conn_req: receive of NULL");
	rpma_mr_dereg(&mr);
	ok(!rpma_conn_req_connect(&req, &pdata, &conn) && !req && conn && !fake.accepted &&
	   fake.handshake_len == 6 && !memcmp(fake.handshake_data, "hello", 6),
	   "connect: private data as it is");
	ok(!rpma_conn_delete(&conn) && !conn && fake.fds == fds, "conn: deleted, nothing left");
	ok(!rpma_conn_delete(&conn) && rpma_conn_delete(NULL) == RPMA_E_INVAL,
	   "conn: delete none, NULL");
}

void test_conn_req_sizes(struct rpma_peer *peer)
{
	struct rpma_conn_req *req = NULL;
	struct rpma_conn_cfg *cfg;
	int fds = fake.fds;

	ok(!rpma_conn_req_new(peer, "127.0.0.1", "1", NULL, &req) && fake.cq_entries[0] == 20 &&
	   fake.queues.sq_size == 10 && fake.queues.rq_size == 10 &&
	   fake.queues.recv_cq_fd == -1 && fake.timeout_ms == 1000,
	   "conn_req: the completion queue holds all requests in flight");
	rpma_conn_req_delete(&req);

	rpma_conn_cfg_new(&cfg);
	rpma_conn_cfg_set_cq_size(cfg, 100);
	rpma_conn_cfg_set_rcq_size(cfg, 3);
	rpma_conn_cfg_set_sq_size(cfg, 0);
	rpma_conn_cfg_set_rq_size(cfg, 5);
	rpma_conn_cfg_set_timeout(cfg, 1);
	ok(!rpma_conn_req_new(peer, "127.0.0.1", "1", cfg, &req) && fake.cq_entries[1] == 100 &&
	   fake.cq_entries[0] == 5 && fake.queues.sq_size == 1 && fake.queues.rq_size == 5 &&
	   fake.queues.recv_cq_fd > 0 && fake.timeout_ms == 1,
	   "conn_req: a receive queue of its own");
	rpma_conn_req_delete(&req);
	rpma_conn_cfg_set_rcq_size(cfg, 0);
	rpma_conn_cfg_set_sq_size(cfg, FAKE_MAX_QUEUE_SIZE);
	rpma_conn_cfg_set_rq_size(cfg, FAKE_MAX_QUEUE_SIZE);
	ok(!rpma_conn_req_new(peer, "127.0.0.1", "1", cfg, &req) &&
	   fake.cq_entries[0] == FAKE_MAX_QUEUE_SIZE, "conn_req: queues as large as can be");
	rpma_conn_req_delete(&req);
	rpma_conn_cfg_set_cq_size(cfg, UINT32_MAX);
	rpma_conn_cfg_set_rcq_size(cfg, UINT32_MAX);
	rpma_conn_cfg_set_timeout(cfg, INT_MAX);
	ok(!rpma_conn_req_new(peer, "127.0.0.1", "1", cfg, &req) &&
	   fake.cq_entries[0] == UINT32_MAX && fake.cq_entries[1] == UINT32_MAX &&
	   fake.timeout_ms == INT_MAX, "conn_req: the kernel says what is too large");
	rpma_conn_req_delete(&req);
	rpma_conn_cfg_set_cq_size(cfg, 0);
	ok(rpma_conn_req_new(peer, "127.0.0.1", "1", cfg, &req) == RPMA_E_PROVIDER &&
	   errno == EINVAL && !req, "conn_req: a completion queue of no entries");
	rpma_conn_cfg_set_cq_size(cfg, 1);
	rpma_conn_cfg_set_timeout(cfg, 0);
	ok(rpma_conn_req_new(peer, "127.0.0.1", "1", cfg, &req) == RPMA_E_PROVIDER &&
	   errno == EINVAL && !req && fake.fds == fds, "conn_req: no time at all");
	rpma_conn_cfg_delete(&cfg);
}
