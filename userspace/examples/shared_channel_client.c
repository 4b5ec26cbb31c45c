// SPDX-License-Identifier: BSD-3-Clause
/*
 * As rcq_client with its two completion queues, but both report on one shared
 * channel: instead of poll(2) there is rpma_conn_wait(), which says whose turn
 * it is. rpma_cq_wait() is of no use then.
 *
 *	shared_channel_server 192.0.2.1 7471
 *	shared_channel_client 192.0.2.1 7471 10 3
 */
#include "messages.h"

/* Until the message has gone and the answer has come; returns its length. */
static uint32_t wait_for_both(struct rpma_conn *conn)
{
	bool sent = false, received = false, is_rcq;
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

static void talk(struct rpma_conn *conn, struct rpma_mr_local *mr, struct messages *msg,
		 uint64_t number, unsigned long rounds)
{
	while (rounds--) {
		msg->out = htobe64(number);
		check(rpma_recv(conn, mr, MSG_IN, MSG_SIZE, "receive"), "receiving");
		check(rpma_send(conn, mr, MSG_OUT, MSG_SIZE, RPMA_F_COMPLETION_ALWAYS, "send"),
		      "sending");
		number = messages_number(msg, wait_for_both(conn));
		printf("%llu\n", (unsigned long long)number);
	}

	/* An empty message needs no memory. The server hangs up when it has it. */
	check(rpma_send(conn, NULL, 0, 0, RPMA_F_COMPLETION_ON_ERROR, "goodbye"), "sending");
}

int main(int argc, char *argv[])
{
	struct rpma_conn_cfg *cfg;
	struct rpma_conn_req *req;
	struct rpma_mr_local *mr;
	struct rpma_conn *conn;
	struct rpma_peer *peer;
	struct messages *msg;

	if (argc != 5)
		die_usage(argv[0], "ADDR PORT NUMBER ROUNDS");
	show_errors();

	peer = open_peer(argv[1], RPMA_UTIL_IBV_CONTEXT_REMOTE);
	msg = messages_reg(peer, 1, &mr);
	check(rpma_conn_cfg_new(&cfg), "rpma_conn_cfg_new");
	check(rpma_conn_cfg_set_rcq_size(cfg, 10), "rpma_conn_cfg_set_rcq_size");
	check(rpma_conn_cfg_set_compl_channel(cfg, true), "rpma_conn_cfg_set_compl_channel");
	check(rpma_conn_req_new(peer, argv[1], argv[2], cfg, &req), "looking for the server");
	check(rpma_conn_cfg_delete(&cfg), "rpma_conn_cfg_delete");

	check(rpma_conn_req_connect(&req, NULL, &conn), "connecting");
	expect_event(conn, RPMA_CONN_ESTABLISHED);
	talk(conn, mr, msg, strtoull(argv[3], NULL, 0), strtoul(argv[4], NULL, 0));
	wait_for_hang_up(conn);

	check(rpma_mr_dereg(&mr), "rpma_mr_dereg");
	check(rpma_peer_delete(&peer), "rpma_peer_delete");
	return EXIT_SUCCESS;
}
