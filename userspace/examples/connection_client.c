// SPDX-License-Identifier: BSD-3-Clause
/*
 * Connects to connection_server with a text that travels with the request,
 * prints the text that came with the answer, and hangs up. An empty text is
 * rejected.
 *
 *	connection_server 192.0.2.1 7471
 *	connection_client 192.0.2.1 7471 'Good morning'
 */
#include "common.h"

int main(int argc, char *argv[])
{
	struct rpma_conn_private_data pdata;
	struct rpma_conn_req *req;
	struct rpma_conn *conn;
	struct rpma_peer *peer;

	if (argc != 4 || strlen(argv[3]) > 39)
		die_usage(argv[0], "ADDR PORT TEXT	(at most 39 characters)");
	show_errors();

	peer = open_peer(argv[1], RPMA_UTIL_IBV_CONTEXT_REMOTE);
	check(rpma_conn_req_new(peer, argv[1], argv[2], NULL, &req), "looking for the server");

	/* At most 56 bytes go with a request, 196 with its answer. */
	pdata.ptr = argv[3];
	pdata.len = strlen(argv[3]) + 1;
	check(rpma_conn_req_connect(&req, &pdata, &conn), "connecting");
	expect_event(conn, RPMA_CONN_ESTABLISHED);

	check(rpma_conn_get_private_data(conn, &pdata), "reading the answer");
	printf("the server answers: %.*s\n", pdata.len, pdata.ptr ? (char *)pdata.ptr : "");

	hang_up(conn);
	check(rpma_peer_delete(&peer), "rpma_peer_delete");
	return EXIT_SUCCESS;
}
