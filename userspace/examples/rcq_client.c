// SPDX-License-Identifier: BSD-3-Clause
/*
 * As messages_client, with a completion queue of their own for receives (RCQ)
 * and one thread, which waits for both queues with poll(2).
 *
 *	rcq_server 192.0.2.1 7471
 *	rcq_client 192.0.2.1 7471 10 3
 */
#include <poll.h>

#include "messages.h"

/* Takes all a readable queue has: only new completions make it readable again. */
static bool drain(struct rpma_cq *cq, struct ibv_wc *last)
{
	bool got = false;
	int ret;

	ret = rpma_cq_wait(cq);		/* there is an event, so this returns at once */
	if (ret != RPMA_E_NO_COMPLETION)
		check(ret, "waiting for a completion");
	while (!(ret = rpma_cq_get_wc(cq, 1, last, NULL))) {
		check_completion(last);
		got = true;
	}
	if (ret != RPMA_E_NO_COMPLETION)
		check(ret, "fetching a completion");
	return got;
}

/* Until the message has gone and the answer has come; returns its length. */
static uint32_t wait_for_both(struct rpma_cq *cq, struct rpma_cq *rcq)
{
	struct pollfd fds[2] = { { .events = POLLIN }, { .events = POLLIN } };
	struct ibv_wc wc, received_wc = { 0 };
	bool sent = false, received = false;

	check(rpma_cq_get_fd(cq, &fds[0].fd), "rpma_cq_get_fd");
	check(rpma_cq_get_fd(rcq, &fds[1].fd), "rpma_cq_get_fd");
	while (!sent || !received) {
		if (poll(fds, 2, -1) < 0)
			die("poll: %s", strerror(errno));
		if (fds[0].revents)
			sent |= drain(cq, &wc);
		if (fds[1].revents)
			received |= drain(rcq, &received_wc);
	}
	return received_wc.byte_len;
}

static void talk(struct rpma_conn *conn, struct rpma_mr_local *mr, struct messages *msg,
		 uint64_t number, unsigned long rounds)
{
	struct rpma_cq *cq, *rcq;

	check(rpma_conn_get_cq(conn, &cq), "rpma_conn_get_cq");
	check(rpma_conn_get_rcq(conn, &rcq), "rpma_conn_get_rcq");
	while (rounds--) {
		msg->out = htobe64(number);
		check(rpma_recv(conn, mr, MSG_IN, MSG_SIZE, "receive"), "receiving");
		check(rpma_send(conn, mr, MSG_OUT, MSG_SIZE, RPMA_F_COMPLETION_ALWAYS, "send"),
		      "sending");
		number = messages_number(msg, wait_for_both(cq, rcq));
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
