// SPDX-License-Identifier: BSD-3-Clause
/*
 * As rcq_server with its two completion queues, but both report on one shared
 * channel: one thread waits for both with rpma_conn_wait(), which says whose
 * turn it is. rpma_cq_wait() is of no use then.
 *
 *	shared_channel_server 192.0.2.1 7471
 *	shared_channel_client 192.0.2.1 7471 10 3
 */
#include "messages.h"

/* Until a message has come and the one before has gone; returns its length. */
static uint32_t wait_for_both(struct rpma_conn *conn, bool sent)
{
	bool received = false, is_rcq;
	struct rpma_cq *cq;
	struct ibv_wc wc;
	uint32_t len = 0;
	int ret;

	while (!sent || !received) {
		ret = rpma_conn_wait(conn, 0, &cq, &is_rcq);
		if (ret == RPMA_E_NO_COMPLETION)
			continue;
		check(ret, "waiting for a completion");

		/* All it has: only new completions bring it up again. */
		while (!(ret = rpma_cq_get_wc(cq, 1, &wc, NULL))) {
			check_completion(&wc);
			if (is_rcq) {
				received = true;
				len = wc.byte_len;
			} else {
				sent = true;
			}
		}
		if (ret != RPMA_E_NO_COMPLETION)
			check(ret, "fetching a completion");
	}
	return len;
}

static void serve(struct rpma_conn *conn, struct rpma_mr_local *mr, struct messages *msg)
{
	uint64_t number;
	uint32_t len;

	len = wait_for_both(conn, true);	/* nothing sent yet */
	while (len) {
		number = messages_number(msg, len);
		printf("%llu -> %llu\n", (unsigned long long)number, number + 1ULL);
		msg->out = htobe64(number + 1);
		check(rpma_recv(conn, mr, MSG_IN, MSG_SIZE, "receive"), "receiving");
		check(rpma_send(conn, mr, MSG_OUT, MSG_SIZE, RPMA_F_COMPLETION_ALWAYS, "send"),
		      "sending");
		len = wait_for_both(conn, false);
	}
	printf("goodbye\n");
}

int main(int argc, char *argv[])
{
	struct rpma_conn_req *req;
	struct rpma_conn_cfg *cfg;
	struct rpma_mr_local *mr;
	struct rpma_conn *conn;
	struct rpma_peer *peer;
	struct messages *msg;
	struct rpma_ep *ep;

	if (argc != 3)
		die_usage(argv[0], "ADDR PORT");
	show_errors();

	peer = open_peer(argv[1], RPMA_UTIL_IBV_CONTEXT_LOCAL);
	msg = messages_reg(peer, 1, &mr);
	check(rpma_conn_cfg_new(&cfg), "rpma_conn_cfg_new");
	check(rpma_conn_cfg_set_rcq_size(cfg, 10), "rpma_conn_cfg_set_rcq_size");
	check(rpma_conn_cfg_set_compl_channel(cfg, true), "rpma_conn_cfg_set_compl_channel");

	check(rpma_ep_listen(peer, argv[1], argv[2], &ep), "listening");
	say_ready(argv[1], argv[2]);
	check(rpma_ep_next_conn_req(ep, cfg, &req), "waiting for a client");
	check(rpma_conn_req_recv(req, mr, MSG_IN, MSG_SIZE, "receive"), "receiving");
	check(rpma_conn_req_connect(&req, NULL, &conn), "accepting the client");
	expect_event(conn, RPMA_CONN_ESTABLISHED);
	serve(conn, mr, msg);
	hang_up(conn);

	check(rpma_ep_shutdown(&ep), "rpma_ep_shutdown");
	check(rpma_conn_cfg_delete(&cfg), "rpma_conn_cfg_delete");
	check(rpma_mr_dereg(&mr), "rpma_mr_dereg");
	check(rpma_peer_delete(&peer), "rpma_peer_delete");
	return EXIT_SUCCESS;
}
