// SPDX-License-Identifier: BSD-3-Clause
/*
 * Offers the memory where its name is to many_clients_server, which reads the
 * name and hangs up.
 *
 *	many_clients_server 192.0.2.1 7471 3
 *	many_clients_client 192.0.2.1 7471 Alice	(and Bob, and Carol)
 */
#include "memory.h"
#include "offer.h"

int main(int argc, char *argv[])
{
	struct rpma_conn_private_data pdata;
	struct rpma_conn_req *req;
	struct rpma_mr_local *mr;
	struct rpma_conn *conn;
	struct rpma_peer *peer;
	struct offer offer;
	size_t size;
	char *name;

	if (argc != 4)
		die_usage(argv[0], "ADDR PORT NAME");
	show_errors();

	peer = open_peer(argv[1], RPMA_UTIL_IBV_CONTEXT_REMOTE);
	size = strlen(argv[3]) + 1;
	name = map_memory(NULL, &size);
	strcpy(name, argv[3]);
	check(rpma_mr_reg(peer, name, size, RPMA_MR_USAGE_READ_SRC, &mr), "registering memory");
	offer_make(&offer, mr, false);

	check(rpma_conn_req_new(peer, argv[1], argv[2], NULL, &req), "looking for the server");
	pdata.ptr = &offer;
	pdata.len = sizeof(offer);
	check(rpma_conn_req_connect(&req, &pdata, &conn), "connecting");
	expect_event(conn, RPMA_CONN_ESTABLISHED);
	wait_for_hang_up(conn);
	printf("goodbye, %s\n", name);

	check(rpma_mr_dereg(&mr), "rpma_mr_dereg");
	check(rpma_peer_delete(&peer), "rpma_peer_delete");
	return EXIT_SUCCESS;
}
