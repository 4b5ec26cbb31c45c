// SPDX-License-Identifier: BSD-3-Clause
/*
 * Offers memory with a text in it to one client, which reads it without any
 * help from here, and waits until the client hangs up.
 *
 *	read_server 192.0.2.1 7471 'What everybody may know'
 *	read_client 192.0.2.1 7471
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
	struct rpma_ep *ep;
	size_t size;
	char *text;

	if (argc != 4)
		die_usage(argv[0], "ADDR PORT TEXT");
	show_errors();

	peer = open_peer(argv[1], RPMA_UTIL_IBV_CONTEXT_LOCAL);
	size = strlen(argv[3]) + 1;
	text = map_memory(NULL, &size);
	strcpy(text, argv[3]);
	check(rpma_mr_reg(peer, text, size, RPMA_MR_USAGE_READ_SRC, &mr), "registering memory");
	offer_make(&offer, mr, false);

	check(rpma_ep_listen(peer, argv[1], argv[2], &ep), "listening");
	say_ready(argv[1], argv[2]);
	check(rpma_ep_next_conn_req(ep, NULL, &req), "waiting for a client");
	pdata.ptr = &offer;
	pdata.len = sizeof(offer);
	check(rpma_conn_req_connect(&req, &pdata, &conn), "accepting the client");
	expect_event(conn, RPMA_CONN_ESTABLISHED);
	wait_for_hang_up(conn);

	check(rpma_ep_shutdown(&ep), "rpma_ep_shutdown");
	check(rpma_mr_dereg(&mr), "rpma_mr_dereg");
	check(rpma_peer_delete(&peer), "rpma_peer_delete");
	return EXIT_SUCCESS;
}
