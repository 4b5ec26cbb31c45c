// SPDX-License-Identifier: BSD-3-Clause
/* The channel that completion queues share. */
#include <errno.h>

#include "unit_test.h"

void test_channel(struct rpma_peer *peer)
{
	struct rpma_conn *alone = make_conn(peer, NULL), *conn;
	struct rpma_cq *cq, *rcq, *ready = NULL;
	bool shared = true, is_rcq = false;
	int fds = fake.fds, fd = -1, cq_fd = -2;
	struct rpma_conn_req *req = NULL;
	struct rpma_conn_cfg *cfg;

	rpma_conn_cfg_new(&cfg);
	ok(!rpma_conn_cfg_get_compl_channel(cfg, &shared) && !shared, "channel: not shared at first");
	ok(rpma_conn_cfg_get_compl_channel(NULL, &shared) == RPMA_E_INVAL &&
	   rpma_conn_cfg_get_compl_channel(cfg, NULL) == RPMA_E_INVAL &&
	   rpma_conn_cfg_set_compl_channel(NULL, true) == RPMA_E_INVAL, "channel: cfg NULL");
	ok(!rpma_conn_cfg_set_compl_channel(cfg, true) &&
	   !rpma_conn_cfg_get_compl_channel(cfg, &shared) && shared, "channel: shared");
	rpma_conn_cfg_set_rcq_size(cfg, 10);
	conn = make_conn(peer, cfg);
	rpma_conn_get_cq(conn, &cq);
	rpma_conn_get_rcq(conn, &rcq);

	ok(rpma_conn_get_compl_fd(alone, &fd) == RPMA_E_NOT_SHARED_CHNL &&
	   rpma_conn_wait(alone, 0, &ready, NULL) == RPMA_E_NOT_SHARED_CHNL,
	   "channel: a connection without one");
	ok(rpma_conn_get_compl_fd(NULL, &fd) == RPMA_E_INVAL &&
	   rpma_conn_get_compl_fd(conn, NULL) == RPMA_E_INVAL &&
	   rpma_conn_wait(NULL, 0, &ready, NULL) == RPMA_E_INVAL &&
	   rpma_conn_wait(conn, 0, NULL, NULL) == RPMA_E_INVAL, "channel: NULL");
	ok(rpma_cq_wait(cq) == RPMA_E_SHARED_CHANNEL && rpma_cq_wait(rcq) == RPMA_E_SHARED_CHANNEL,
	   "channel: no waiting on one queue");
	ok(fake.places[1].queue == KERNEL_CHANNEL_CQ && fake.places[0].queue == KERNEL_CHANNEL_RCQ &&
	   fake.places[1].channel_fd == fake.places[0].channel_fd, "channel: main queue joins first");
	ok(!rpma_conn_get_compl_fd(conn, &fd) && !rpma_cq_get_fd(cq, &cq_fd) && fd == cq_fd &&
	   !rpma_cq_get_fd(rcq, &cq_fd) && fd == cq_fd, "channel: one descriptor for all");
	fake.channel_wait_ret = KERNEL_CHANNEL_CQ;
	ok(!rpma_conn_wait(conn, 0, &ready, &is_rcq) && ready == cq && !is_rcq, "channel: main queue");
	fake.channel_wait_ret = KERNEL_CHANNEL_RCQ;
	ok(!rpma_conn_wait(conn, 0, &ready, &is_rcq) && ready == rcq && is_rcq,
	   "channel: receive queue");
	ok(!rpma_conn_wait(conn, 0, &ready, NULL), "channel: which one is not asked for");
	fake.channel_wait_ret = -EAGAIN;
	ok(rpma_conn_wait(conn, 0, &ready, NULL) == RPMA_E_NO_COMPLETION, "channel: nothing there");
	fake.channel_wait_ret = -ENODEV;
	ok(rpma_conn_wait(conn, 0, &ready, NULL) == RPMA_E_PROVIDER && errno == ENODEV && !ready,
	   "channel: device is gone");
	rpma_conn_delete(&conn);
	ok(fake.fds == fds, "channel: nothing left behind");
	fake.channel_create_ret = -EMFILE;
	ok(rpma_conn_req_new(peer, "127.0.0.1", "7204", cfg, &req) == RPMA_E_PROVIDER && !req &&
	   errno == EMFILE && fake.fds == fds, "channel: none to be had");
	fake.channel_create_ret = 0;
	rpma_conn_cfg_delete(&cfg);
	rpma_conn_delete(&alone);
}
