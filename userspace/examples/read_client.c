// SPDX-License-Identifier: BSD-3-Clause
/*
 * Reads all of the memory that read_server offers into memory of its own, and
 * prints the text that is there.
 *
 *	read_server 192.0.2.1 7471 'What everybody may know'
 *	read_client 192.0.2.1 7471
 */
#include "memory.h"
#include "offer.h"

int main(int argc, char *argv[])
{
	struct rpma_mr_remote *remote;
	struct rpma_mr_local *local;
	struct rpma_conn_req *req;
	struct rpma_conn *conn;
	struct rpma_peer *peer;
	struct rpma_cq *cq;
	bool persistent;
	size_t size;
	char *text;

	if (argc != 3)
		die_usage(argv[0], "ADDR PORT");
	show_errors();

	peer = open_peer(argv[1], RPMA_UTIL_IBV_CONTEXT_REMOTE);
	check(rpma_conn_req_new(peer, argv[1], argv[2], NULL, &req), "looking for the server");
	check(rpma_conn_req_connect(&req, NULL, &conn), "connecting");
	expect_event(conn, RPMA_CONN_ESTABLISHED);
	remote = offer_take(conn, &persistent);

	/* As much memory as there is to read, for reads to arrive in. */
	check(rpma_mr_remote_get_size(remote, &size), "rpma_mr_remote_get_size");
	text = map_memory(NULL, &size);
	check(rpma_mr_reg(peer, text, size, RPMA_MR_USAGE_READ_DST, &local), "registering memory");

	check(rpma_read(conn, local, 0, remote, 0, size, RPMA_F_COMPLETION_ALWAYS, "read"),
	      "reading");
	check(rpma_conn_get_cq(conn, &cq), "rpma_conn_get_cq");
	next_completion(cq);
	printf("read %zu bytes: %.*s\n", size, (int)size, text);

	hang_up(conn);
	check(rpma_mr_remote_delete(&remote), "rpma_mr_remote_delete");
	check(rpma_mr_dereg(&local), "rpma_mr_dereg");
	check(rpma_peer_delete(&peer), "rpma_peer_delete");
	return EXIT_SUCCESS;
}
