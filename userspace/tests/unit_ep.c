// SPDX-License-Identifier: BSD-3-Clause
/* Endpoints. */
#include <errno.h>
#include <string.h>

#include "unit_test.h"

void test_ep(struct rpma_peer *peer)
{
	struct rpma_conn_private_data pdata;
	struct rpma_conn_req *req = NULL;
	struct rpma_conn_cfg *cfg;
	struct rpma_conn *conn = NULL;
	struct rpma_ep *ep = NULL;
	int fds = fake.fds, fd = -1, cqs;

	ok(rpma_ep_listen(NULL, "127.0.0.1", "1", &ep) == RPMA_E_INVAL &&
	   rpma_ep_listen(peer, NULL, "1", &ep) == RPMA_E_INVAL &&
	   rpma_ep_listen(peer, "127.0.0.1", NULL, &ep) == RPMA_E_INVAL &&
	   rpma_ep_listen(peer, "127.0.0.1", "1", NULL) == RPMA_E_INVAL && !ep, "ep: NULL");
	fake.listen_ret = -EADDRINUSE;
	ok(rpma_ep_listen(peer, "127.0.0.1", "1", &ep) == RPMA_E_PROVIDER && errno == EADDRINUSE &&
	   !ep, "ep: address in use");
	fake.listen_ret = 0;
	ok(!rpma_ep_listen(peer, "127.0.0.1", "1", &ep) && ep, "ep: listens");
	ok(!rpma_ep_get_fd(ep, &fd) && fd > 0 && rpma_ep_get_fd(NULL, &fd) == RPMA_E_INVAL &&
	   rpma_ep_get_fd(ep, NULL) == RPMA_E_INVAL, "ep: descriptor");
	ok(rpma_ep_next_conn_req(NULL, NULL, &req) == RPMA_E_INVAL &&
	   rpma_ep_next_conn_req(ep, NULL, NULL) == RPMA_E_INVAL, "ep: next of NULL");

	cqs = fake.cqs;
	fake.ep_wait_ret = -EAGAIN;
	ok(rpma_ep_next_conn_req(ep, NULL, &req) == RPMA_E_NO_EVENT && !req && fake.cqs == cqs,
	   "ep: nobody there, no queue made");
	fake.ep_wait_ret = 0;
	fake.take_ret = -EAGAIN;
	ok(rpma_ep_next_conn_req(ep, NULL, &req) == RPMA_E_NO_EVENT && !req &&
	   fake.fds == fds + 1, "ep: another thread was faster");
	fake.take_ret = -ENODEV;
	ok(rpma_ep_next_conn_req(ep, NULL, &req) == RPMA_E_PROVIDER && errno == ENODEV && !req,
	   "ep: device is gone");
	fake.take_ret = 0;
	fake.ep_wait_ret = -EINTR;
	ok(rpma_ep_next_conn_req(ep, NULL, &req) == RPMA_E_PROVIDER && errno == EINTR && !req,
	   "ep: a signal came");
	fake.ep_wait_ret = 0;
	fake.query_ret = -ENODEV;
	ok(rpma_ep_next_conn_req(ep, NULL, &req) == RPMA_E_PROVIDER && errno == ENODEV && !req &&
	   fake.fds == fds + 1, "ep: device is gone after all");
	fake.query_ret = 0;
	rpma_conn_cfg_new(&cfg);
	rpma_conn_cfg_set_cq_size(cfg, 0);
	ok(rpma_ep_next_conn_req(ep, cfg, &req) == RPMA_E_PROVIDER && errno == EINVAL && !req,
	   "ep: a completion queue of no entries");
	rpma_conn_cfg_set_cq_size(cfg, 1);
	rpma_conn_cfg_set_timeout(cfg, 0);
	ok(!rpma_ep_next_conn_req(ep, cfg, &req) && !rpma_conn_req_delete(&req) && !req &&
	   fake.fds == fds + 1, "ep: who accepts needs no time");
	rpma_conn_cfg_delete(&cfg);
	rpma_ep_next_conn_req(ep, NULL, &req);
	fake.handshake_ret = -EINVAL;
	pdata = (struct rpma_conn_private_data){ .ptr = memory, .len = 255 };
	ok(rpma_conn_req_connect(&req, &pdata, &conn) == RPMA_E_PROVIDER && errno == EINVAL &&
	   !req && !conn && fake.fds == fds + 1 && strstr(logged, "at most 196"),
	   "ep: too much private data, in words");
	fake.handshake_ret = 0;

	fake.private_data = "question";
	fake.private_data_len = 9;
	ok(!rpma_ep_next_conn_req(ep, NULL, &req) && req, "ep: takes a request");
	ok(!rpma_conn_req_get_private_data(req, &pdata) && pdata.len == 9 &&
	   !memcmp(pdata.ptr, "question", 9), "ep: with what came along");
	ok(rpma_conn_req_get_private_data(NULL, &pdata) == RPMA_E_INVAL &&
	   rpma_conn_req_get_private_data(req, NULL) == RPMA_E_INVAL, "ep: private data of NULL");
	ok(!rpma_conn_req_connect(&req, NULL, &conn) && fake.accepted && !fake.handshake_len,
	   "ep: accepts");
	fake.private_data_len = 0;
	fake.event.type = RPMA_EVENT_ESTABLISHED;
	rpma_conn_next_event(conn, &(enum rpma_conn_event){ 0 });
	ok(!rpma_conn_get_private_data(conn, &pdata) && pdata.len == 9 &&
	   !memcmp(pdata.ptr, "question", 9), "ep: the connection has it too");
	rpma_conn_delete(&conn);

	ok(!rpma_ep_shutdown(&ep) && !ep && fake.fds == fds, "ep: shut down");
	ok(!rpma_ep_shutdown(&ep) && rpma_ep_shutdown(NULL) == RPMA_E_INVAL,
	   "ep: shut down none, NULL");
}
