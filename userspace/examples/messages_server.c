// SPDX-License-Identifier: BSD-3-Clause
/*
 * Answers each number that a client sends with the next one, until it says
 * goodbye. One completion queue reports sends and receives, and it may report
 * an answer to a message before it reports that the message was sent.
 *
 *	messages_server 192.0.2.1 7471
 *	messages_client 192.0.2.1 7471 10 3
 */
#include "messages.h"

/* Until a message has come and the one before has gone; returns its length. */
static uint32_t wait_for_both(struct rpma_cq *cq, bool sent)
{
	bool received = false;
	uint32_t len = 0;
	struct ibv_wc wc;

	while (!sent || !received) {
		wc = next_completion(cq);
		if (wc.opcode == IBV_WC_RECV) {
			received = true;
			len = wc.byte_len;
		} else {
			sent = true;
		}
	}
	return len;
}

static void serve(struct rpma_conn *conn, struct rpma_mr_local *mr, struct messages *msg)
{
	struct rpma_cq *cq;
	uint64_t number;
	uint32_t len;

	check(rpma_conn_get_cq(conn, &cq), "rpma_conn_get_cq");
	len = wait_for_both(cq, true);	/* nothing sent yet */
	while (len) {
		number = messages_number(msg, len);
		printf("%llu -> %llu\n", (unsigned long long)number, number + 1ULL);
		msg->out = htobe64(number + 1);
		check(rpma_recv(conn, mr, MSG_IN, MSG_SIZE, "receive"), "receiving");
		check(rpma_send(conn, mr, MSG_OUT, MSG_SIZE, RPMA_F_COMPLETION_ALWAYS, "send"),
		      "sending");
		len = wait_for_both(cq, false);
	}
	printf("goodbye\n");
}

int main(int argc, char *argv[])
{
	struct rpma_conn_req *req;
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
	check(rpma_ep_listen(peer, argv[1], argv[2], &ep), "listening");
	say_ready(argv[1], argv[2]);
	check(rpma_ep_next_conn_req(ep, NULL, &req), "waiting for a client");

	/* The client may send as soon as it is accepted. */
	check(rpma_conn_req_recv(req, mr, MSG_IN, MSG_SIZE, "receive"), "receiving");
	check(rpma_conn_req_connect(&req, NULL, &conn), "accepting the client");
	expect_event(conn, RPMA_CONN_ESTABLISHED);
	serve(conn, mr, msg);
	hang_up(conn);

	check(rpma_ep_shutdown(&ep), "rpma_ep_shutdown");
	check(rpma_mr_dereg(&mr), "rpma_mr_dereg");
	check(rpma_peer_delete(&peer), "rpma_peer_delete");
	return EXIT_SUCCESS;
}
