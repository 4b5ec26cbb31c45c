// SPDX-License-Identifier: BSD-3-Clause
/*
 * Writes a message to another machine's memory and flushes it there: durably
 * if the server offers persistent memory, else until all can see it.
 */
#include "memory.h"
#include "offer.h"

int main(int argc, char *argv[])
{
	const char *message = argc > 3 ? argv[3] : "Hello from afar!";
	size_t size = strlen(message) + 1, room;
	struct rpma_mr_remote *remote;
	struct rpma_mr_local *local;
	struct rpma_conn_req *req;
	struct rpma_conn *conn;
	struct rpma_peer *peer;
	enum rpma_flush_type type;
	struct rpma_cq *cq;
	struct ibv_wc wc;
	bool persistent;
	void *buf;

	if (argc < 3 || argc > 4) {
		fprintf(stderr, "usage: %s ADDR PORT [MESSAGE]\n", argv[0]);
		return EXIT_USAGE;
	}
	show_errors();

	/* The device that reaches the server, and the message where it can be read. */
	peer = open_peer(argv[1], RPMA_UTIL_IBV_CONTEXT_REMOTE);
	buf = map_memory(NULL, &size);
	strcpy(buf, message);
	check(rpma_mr_reg(peer, buf, size, RPMA_MR_USAGE_WRITE_SRC, &local), "registering memory");

	check(rpma_conn_req_new(peer, argv[1], argv[2], NULL, &req), "looking for the server");
	check(rpma_conn_req_connect(&req, NULL, &conn), "connecting");
	expect_event(conn, RPMA_CONN_ESTABLISHED);
	remote = offer_take(conn, &persistent);
	check(rpma_mr_remote_get_size(remote, &room), "rpma_mr_remote_get_size");
	if (room < size)
		die("the server has room for %zu bytes only", room);

	/* If the write fails, its completion comes first; if not, only the flush's. */
	type = persistent ? RPMA_FLUSH_TYPE_PERSISTENT : RPMA_FLUSH_TYPE_VISIBILITY;
	check(rpma_write(conn, remote, 0, local, 0, size, RPMA_F_COMPLETION_ON_ERROR, "write"),
	      "writing");
	check(rpma_flush(conn, remote, 0, size, type, RPMA_F_COMPLETION_ALWAYS, "flush"),
	      "flushing");

	check(rpma_conn_get_cq(conn, &cq), "rpma_conn_get_cq");
	check(rpma_cq_wait(cq), "waiting for the flush");
	check(rpma_cq_get_wc(cq, 1, &wc, NULL), "fetching the completion");
	if (wc.status != IBV_WC_SUCCESS)
		die("the %s failed with status %d of enum ibv_wc_status",
		    (const char *)(uintptr_t)wc.wr_id, wc.status);
	printf("%zu bytes are %s\n", size, persistent ? "durable" : "visible");

	hang_up(conn);
	check(rpma_mr_remote_delete(&remote), "rpma_mr_remote_delete");
	check(rpma_mr_dereg(&local), "rpma_mr_dereg");
	check(rpma_peer_delete(&peer), "rpma_peer_delete");
	return EXIT_SUCCESS;
}
