// SPDX-License-Identifier: BSD-3-Clause
/*
 * Writes lines to a server's memory, one behind the other, and asks the server
 * by a message to make each durable (the general purpose server persistency
 * method). A message arrives behind the writes that were posted before it. For
 * servers whose adapter writes past the caches, see write_flush_client.
 *
 *	gpspm_server 192.0.2.1 7471 /dev/dax0.0
 *	gpspm_client 192.0.2.1 7471 'First line' 'Second line'
 */
#include "gpspm.h"

enum { LINES_MAX = 4096 };

struct client {
	struct gpspm *msg;
	char *lines;
	struct rpma_mr_local *msg_mr, *lines_mr;
	struct rpma_mr_remote *remote;
	struct rpma_conn *conn;
	struct rpma_cq *cq;
};

static void client_init(struct client *c, struct rpma_peer *peer)
{
	size_t msg_size = sizeof(*c->msg), lines_size = LINES_MAX;

	c->msg = map_memory(NULL, &msg_size);
	check(rpma_mr_reg(peer, c->msg, msg_size, RPMA_MR_USAGE_SEND | RPMA_MR_USAGE_RECV,
			  &c->msg_mr), "registering memory");
	c->lines = map_memory(NULL, &lines_size);
	check(rpma_mr_reg(peer, c->lines, lines_size, RPMA_MR_USAGE_WRITE_SRC, &c->lines_mr),
	      "registering memory");
}

/* Writes, asks, and waits: for the answer, and until the question has gone. */
static void write_durably(struct client *c, size_t offset, size_t len)
{
	bool sent = false, received = false;

	c->msg->request.offset = htobe64(offset);
	c->msg->request.len = htobe64(len);
	check(rpma_write(c->conn, c->remote, offset, c->lines_mr, offset, len,
			 RPMA_F_COMPLETION_ON_ERROR, "write"), "writing");
	check(rpma_recv(c->conn, c->msg_mr, offsetof(struct gpspm, answer),
			sizeof(c->msg->answer), "receive"), "receiving");
	check(rpma_send(c->conn, c->msg_mr, offsetof(struct gpspm, request),
			sizeof(c->msg->request), RPMA_F_COMPLETION_ALWAYS, "request"), "asking");

	while (!sent || !received) {
		if (next_completion(c->cq).opcode == IBV_WC_RECV)
			received = true;
		else
			sent = true;
	}
	if (be64toh(c->msg->answer) != GPSPM_DURABLE)
		die("the server has no room for %zu bytes at %zu", len, offset);
	printf("%zu bytes are durable\n", len);
}

static void run(struct client *c, char *lines[])
{
	size_t offset = 0, room, len;
	bool persistent;

	c->remote = offer_take(c->conn, &persistent);
	check(rpma_mr_remote_get_size(c->remote, &room), "rpma_mr_remote_get_size");
	if (room > LINES_MAX)
		room = LINES_MAX;
	check(rpma_conn_get_cq(c->conn, &c->cq), "rpma_conn_get_cq");
	for (; *lines; lines++) {
		len = strlen(*lines) + 1;
		if (offset + len > room)
			die("there is room for %zu bytes only", room);
		memcpy(c->lines + offset, *lines, len);
		c->lines[offset + len - 1] = '\n';
		write_durably(c, offset, len);
		offset += len;
	}
	check(rpma_send(c->conn, NULL, 0, 0, RPMA_F_COMPLETION_ON_ERROR, "goodbye"), "sending");
	check(rpma_mr_remote_delete(&c->remote), "rpma_mr_remote_delete");
}

int main(int argc, char *argv[])
{
	struct rpma_conn_req *req;
	struct rpma_peer *peer;
	struct client client;

	if (argc < 4)
		die_usage(argv[0], "ADDR PORT LINE...");
	show_errors();

	peer = open_peer(argv[1], RPMA_UTIL_IBV_CONTEXT_REMOTE);
	client_init(&client, peer);
	check(rpma_conn_req_new(peer, argv[1], argv[2], NULL, &req), "looking for the server");
	check(rpma_conn_req_connect(&req, NULL, &client.conn), "connecting");
	expect_event(client.conn, RPMA_CONN_ESTABLISHED);
	run(&client, argv + 3);
	wait_for_hang_up(client.conn);

	check(rpma_mr_dereg(&client.lines_mr), "rpma_mr_dereg");
	check(rpma_mr_dereg(&client.msg_mr), "rpma_mr_dereg");
	check(rpma_peer_delete(&peer), "rpma_peer_delete");
	return EXIT_SUCCESS;
}
