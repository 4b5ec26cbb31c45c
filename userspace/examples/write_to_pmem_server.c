// SPDX-License-Identifier: BSD-3-Clause
/*
 * Offers persistent memory (PATH, a /dev/dax device or a file; DRAM without
 * one) to one client that writes to it. When the client has hung up, this
 * machine's own processor makes the memory durable, and what is there is
 * printed. See write_flush_server for clients that need no help for that.
 *
 *	write_to_pmem_server 192.0.2.1 7471 /dev/dax0.0
 *	write_to_pmem_client 192.0.2.1 7471 'Keep this for me'
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
	size_t size = 4096;
	char *ptr;

	if (argc < 3 || argc > 4)
		die_usage(argv[0], "ADDR PORT [PATH]");
	show_errors();

	peer = open_peer(argv[1], RPMA_UTIL_IBV_CONTEXT_LOCAL);
	ptr = map_memory(argc == 4 ? argv[3] : NULL, &size);

	/* The client reads behind its writes, so it needs the right to read. */
	check(rpma_mr_reg(peer, ptr, size, RPMA_MR_USAGE_WRITE_DST | RPMA_MR_USAGE_READ_SRC, &mr),
	      "registering memory");
	offer_make(&offer, mr, false);

	check(rpma_ep_listen(peer, argv[1], argv[2], &ep), "listening");
	say_ready(argv[1], argv[2]);
	check(rpma_ep_next_conn_req(ep, NULL, &req), "waiting for a client");
	pdata.ptr = &offer;
	pdata.len = sizeof(offer);
	check(rpma_conn_req_connect(&req, &pdata, &conn), "accepting the client");
	expect_event(conn, RPMA_CONN_ESTABLISHED);
	wait_for_hang_up(conn);

	persist(ptr, size);
	printf("the client wrote: %.*s\n", (int)size, ptr);

	check(rpma_ep_shutdown(&ep), "rpma_ep_shutdown");
	check(rpma_mr_dereg(&mr), "rpma_mr_dereg");
	check(rpma_peer_delete(&peer), "rpma_peer_delete");
	return EXIT_SUCCESS;
}
