// SPDX-License-Identifier: BSD-3-Clause
/*
 * Sends a number, sends back what the server answers, and so on for some
 * rounds. One completion queue reports sends and receives, and it may report
 * an answer to a message before it reports that the message was sent.
 *
 *	messages_server 192.0.2.1 7471		(or srq_server, rcq_server ...)
 *	messages_client 192.0.2.1 7471 10 3
 */
#include "messages.h"

/* Until the message has gone and the answer has come; returns its length. */
static uint32_t wait_for_both(struct rpma_cq *cq)
{
	bool sent = false, received = false;
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

static void talk(struct rpma_conn *conn, struct rpma_mr_local *mr, struct messages *msg,
		 uint64_t number, unsigned long rounds)
{
	struct rpma_cq *cq;

	check(rpma_conn_get_cq(conn, &cq), "rpma_conn_get_cq");
	while (rounds--) {
		msg->out = htobe64(number);
		check(rpma_recv(conn, mr, MSG_IN, MSG_SIZE, "receive"), "receiving");
		check(rpma_send(conn, mr, MSG_OUT, MSG_SIZE, RPMA_F_COMPLETION_ALWAYS, "send"),
		      "sending");
		number = messages_number(msg, wait_for_both(cq));
		printf("%llu\n", (unsigned long long)number);
	}

	/* An empty message needs no memory. The server hangs up when it has it. */
	check(rpma_send(conn, NULL, 0, 0, RPMA_F_COMPLETION_ON_ERROR, "goodbye"), "sending");
}

int main(int argc, char *argv[])
{
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
	check(rpma_conn_req_new(peer, argv[1], argv[2], NULL, &req), "looking for the server");
	check(rpma_conn_req_connect(&req, NULL, &conn), "connecting");
	expect_event(conn, RPMA_CONN_ESTABLISHED);
	talk(conn, mr, msg, strtoull(argv[3], NULL, 0), strtoul(argv[4], NULL, 0));
	wait_for_hang_up(conn);

	check(rpma_mr_dereg(&mr), "rpma_mr_dereg");
	check(rpma_peer_delete(&peer), "rpma_peer_delete");
	return EXIT_SUCCESS;
}
