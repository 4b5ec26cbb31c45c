// SPDX-License-Identifier: BSD-3-Clause
/*
 * Serves many clients at a time with one thread: epoll(7) watches requests to
 * connect, events of connections and completions. It reads each client's name
 * from that client's memory, hangs up, and ends after N clients.
 *
 *	many_clients_server 192.0.2.1 7471 3
 *	many_clients_client 192.0.2.1 7471 Alice	(and Bob, and Carol)
 */
#include "memory.h"
#include "offer.h"
#include "watch.h"

enum { CLIENTS_MAX = 8, NAME_LEN = 64 };

struct client {
	struct rpma_conn *conn;		/* NULL: nobody is here */
	struct rpma_mr_remote *remote;
	struct rpma_cq *cq;
	int event_fd, cq_fd;
	char name[NAME_LEN];
};

static struct client *clients;			/* registered: their names come by read */
static struct rpma_mr_local *clients_mr;

/* A client that offers no memory, or for whom there is no room, is rejected. */
static void on_request(struct rpma_ep *ep)
{
	struct rpma_conn_private_data pdata;
	struct rpma_conn_req *req;
	struct client *c = clients;
	struct offer offer;

	check(rpma_ep_next_conn_req(ep, NULL, &req), "taking a request");
	check(rpma_conn_req_get_private_data(req, &pdata), "reading an offer");
	while (c < clients + CLIENTS_MAX && c->conn)
		c++;
	if (c == clients + CLIENTS_MAX || !offer_read(&pdata, &offer) ||
	    rpma_mr_remote_from_descriptor(offer.bytes, offer.mr_size, &c->remote)) {
		printf("rejected a client\n");
		check(rpma_conn_req_delete(&req), "rejecting a client");
		return;
	}
	check(rpma_conn_req_connect(&req, NULL, &c->conn), "accepting a client");
	check(rpma_conn_get_event_fd(c->conn, &c->event_fd), "rpma_conn_get_event_fd");
	check(rpma_conn_get_cq(c->conn, &c->cq), "rpma_conn_get_cq");
	check(rpma_cq_get_fd(c->cq, &c->cq_fd), "rpma_cq_get_fd");
	watch(c->event_fd);
	watch(c->cq_fd);
}

static void start_reading(struct client *c)
{
	size_t len;

	check(rpma_mr_remote_get_size(c->remote, &len), "rpma_mr_remote_get_size");
	memset(c->name, 0, NAME_LEN);
	check(rpma_read(c->conn, clients_mr, c->name - (char *)clients, c->remote, 0,
			len < NAME_LEN ? len : NAME_LEN, RPMA_F_COMPLETION_ALWAYS, NULL),
	      "reading a name");
}

/* Whether the client is gone. */
static bool on_event(struct client *c)
{
	enum rpma_conn_event event;

	check(rpma_conn_next_event(c->conn, &event), "taking an event");
	if (event == RPMA_CONN_ESTABLISHED) {
		start_reading(c);
		return false;
	}
	rpma_conn_disconnect(c->conn);	/* fails if there is nobody to tell any more */
	check(rpma_conn_delete(&c->conn), "ending a connection");
	check(rpma_mr_remote_delete(&c->remote), "rpma_mr_remote_delete");
	return true;
}

static void on_completion(struct client *c)
{
	int ret = rpma_cq_wait(c->cq);
	struct ibv_wc wc;

	while (!ret && !(ret = rpma_cq_get_wc(c->cq, 1, &wc, NULL))) {
		printf("hello, %.*s\n", NAME_LEN,
		       wc.status == IBV_WC_SUCCESS ? c->name : "whose name cannot be read");
		check(rpma_conn_disconnect(c->conn), "hanging up");
	}
	check(ret == RPMA_E_NO_COMPLETION ? 0 : ret, "fetching a completion");
}

static void serve(struct rpma_ep *ep, int ep_fd, unsigned long left)
{
	struct client *c;
	int fd;

	while (left) {
		fd = watch_wait();
		if (fd == ep_fd)
			on_request(ep);
		for (c = clients; c < clients + CLIENTS_MAX; c++) {
			if (c->conn && fd == c->cq_fd)
				on_completion(c);
			else if (c->conn && fd == c->event_fd)
				left -= on_event(c);
		}
	}
}

int main(int argc, char *argv[])
{
	size_t size = CLIENTS_MAX * sizeof(*clients);
	struct rpma_peer *peer;
	struct rpma_ep *ep;
	int ep_fd;

	if (argc != 4)
		die_usage(argv[0], "ADDR PORT N");
	show_errors();

	peer = open_peer(argv[1], RPMA_UTIL_IBV_CONTEXT_LOCAL);
	clients = map_memory(NULL, &size);
	check(rpma_mr_reg(peer, clients, size, RPMA_MR_USAGE_READ_DST, &clients_mr),
	      "registering memory");
	check(rpma_ep_listen(peer, argv[1], argv[2], &ep), "listening");
	check(rpma_ep_get_fd(ep, &ep_fd), "rpma_ep_get_fd");
	watch(ep_fd);
	say_ready(argv[1], argv[2]);
	serve(ep, ep_fd, strtoul(argv[3], NULL, 0));

	check(rpma_ep_shutdown(&ep), "rpma_ep_shutdown");
	check(rpma_mr_dereg(&clients_mr), "rpma_mr_dereg");
	check(rpma_peer_delete(&peer), "rpma_peer_delete");
	return EXIT_SUCCESS;
}
