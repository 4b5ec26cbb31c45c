// SPDX-License-Identifier: BSD-3-Clause
/*
 * As messages_server, for N clients, many at a time: their connections share a
 * receive queue (SRQ), which has a completion queue of its own. A few receives
 * do for all, and the number of its queue pair says who sent a message.
 *
 *	srq_server 192.0.2.1 7471 2
 *	messages_client 192.0.2.1 7471 10 3	(and another one)
 */
#include "messages.h"
#include "watch.h"

enum { PLACES = 8 };	/* for clients, and for messages that come */

static struct client {
	struct rpma_conn *conn;		/* NULL: nobody is here */
	struct rpma_cq *cq;		/* where sends complete */
	uint32_t qp_num;
	int event_fd;
} clients[PLACES];

static struct messages *msg;	/* in: messages that come; out: each client's answer */
static struct rpma_mr_local *mr;
static struct rpma_srq *srq;

/* The context of a receive: the place it is for. */
static void receive(struct messages *place)
{
	check(rpma_srq_recv(srq, mr, (place - msg) * sizeof(*msg) + MSG_IN, MSG_SIZE, place),
	      "receiving");
}

static void on_request(struct rpma_ep *ep, const struct rpma_conn_cfg *cfg)
{
	struct client *c = clients;
	struct rpma_conn_req *req;

	check(rpma_ep_next_conn_req(ep, cfg, &req), "taking a request");
	while (c < clients + PLACES && c->conn)
		c++;
	if (c == clients + PLACES) {
		check(rpma_conn_req_delete(&req), "rejecting a client");
		return;
	}
	check(rpma_conn_req_connect(&req, NULL, &c->conn), "accepting a client");
	expect_event(c->conn, RPMA_CONN_ESTABLISHED);
	check(rpma_conn_get_cq(c->conn, &c->cq), "rpma_conn_get_cq");
	check(rpma_conn_get_qp_num(c->conn, &c->qp_num), "rpma_conn_get_qp_num");
	check(rpma_conn_get_event_fd(c->conn, &c->event_fd), "rpma_conn_get_event_fd");
	watch(c->event_fd);
}

/* A client's place for answers is free: it asks again when it has the one before. */
static void answer(struct client *c, uint64_t number)
{
	const size_t offset = (c - clients) * sizeof(*msg) + MSG_OUT;
	struct ibv_wc wc;

	printf("%llu -> %llu\n", (unsigned long long)number, number + 1ULL);
	msg[c - clients].out = htobe64(number + 1);
	if (rpma_send(c->conn, mr, offset, MSG_SIZE, RPMA_F_COMPLETION_ALWAYS, "answer"))
		rpma_conn_disconnect(c->conn);
	/* What has gone leaves room in the send queue once it is fetched. */
	while (!rpma_cq_get_wc(c->cq, 1, &wc, NULL))
		;
}

static void on_messages(struct rpma_cq *rcq)
{
	int ret = rpma_cq_wait(rcq);
	struct client *c;
	struct ibv_wc wc;

	while (!ret && !(ret = rpma_cq_get_wc(rcq, 1, &wc, NULL))) {
		struct messages *place = (struct messages *)(uintptr_t)wc.wr_id;
		uint64_t number = be64toh(place->in);

		receive(place);
		for (c = clients; c < clients + PLACES; c++) {
			if (!c->conn || c->qp_num != wc.qp_num)
				continue;
			if (wc.status != IBV_WC_SUCCESS || wc.byte_len != MSG_SIZE)
				rpma_conn_disconnect(c->conn);	/* goodbye */
			else
				answer(c, number);
		}
	}
	check(ret == RPMA_E_NO_COMPLETION ? 0 : ret, "fetching a completion");
}

static void serve(struct rpma_ep *ep, const struct rpma_conn_cfg *cfg, unsigned long left)
{
	enum rpma_conn_event event;
	int fd, ep_fd, rcq_fd;
	struct rpma_cq *rcq;
	struct client *c;

	check(rpma_ep_get_fd(ep, &ep_fd), "rpma_ep_get_fd");
	check(rpma_srq_get_rcq(srq, &rcq), "rpma_srq_get_rcq");
	check(rpma_cq_get_fd(rcq, &rcq_fd), "rpma_cq_get_fd");
	watch(ep_fd);
	watch(rcq_fd);
	while (left) {
		fd = watch_wait();
		if (fd == ep_fd)
			on_request(ep, cfg);
		else if (fd == rcq_fd)
			on_messages(rcq);
		for (c = clients; c < clients + PLACES; c++) {
			if (!c->conn || fd != c->event_fd)
				continue;
			check(rpma_conn_next_event(c->conn, &event), "taking an event");
			rpma_conn_disconnect(c->conn);	/* if the client came first */
			check(rpma_conn_delete(&c->conn), "ending a connection");
			left--;
		}
	}
}

int main(int argc, char *argv[])
{
	struct rpma_conn_cfg *cfg;
	struct rpma_peer *peer;
	struct rpma_ep *ep;
	size_t i;

	if (argc != 4)
		die_usage(argv[0], "ADDR PORT N");
	show_errors();

	peer = open_peer(argv[1], RPMA_UTIL_IBV_CONTEXT_LOCAL);
	msg = messages_reg(peer, PLACES, &mr);
	/* Without a configuration: 100 receives, and 100 completions of its own. */
	check(rpma_srq_new(peer, NULL, &srq), "making the shared receive queue");
	for (i = 0; i < PLACES; i++)
		receive(msg + i);
	check(rpma_conn_cfg_new(&cfg), "rpma_conn_cfg_new");
	check(rpma_conn_cfg_set_srq(cfg, srq), "rpma_conn_cfg_set_srq");
	check(rpma_ep_listen(peer, argv[1], argv[2], &ep), "listening");
	say_ready(argv[1], argv[2]);
	serve(ep, cfg, strtoul(argv[3], NULL, 0));

	check(rpma_ep_shutdown(&ep), "rpma_ep_shutdown");
	check(rpma_conn_cfg_delete(&cfg), "rpma_conn_cfg_delete");
	check(rpma_srq_delete(&srq), "rpma_srq_delete");
	check(rpma_mr_dereg(&mr), "rpma_mr_dereg");
	check(rpma_peer_delete(&peer), "rpma_peer_delete");
	return EXIT_SUCCESS;
}
