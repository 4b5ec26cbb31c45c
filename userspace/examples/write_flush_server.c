// SPDX-License-Identifier: BSD-3-Clause
/*
 * Offers memory to one client, waits until it hangs up, and prints what the
 * client wrote. With PATH (a /dev/dax device) the memory is persistent.
 */
#include "memory.h"
#include "offer.h"

int main(int argc, char *argv[])
{
	/*
	 * READ_SRC lets clients flush by reading, as rpma-kmod does. On librpma 1.3
	 * a flush usage alone does not, where the adapter knows a FLUSH of its own.
	 */
	int usage = RPMA_MR_USAGE_WRITE_DST | RPMA_MR_USAGE_READ_SRC |
		    RPMA_MR_USAGE_FLUSH_TYPE_VISIBILITY;
	const char *path = argc > 3 ? argv[3] : NULL;
	struct rpma_conn_private_data pdata;
	struct rpma_mr_local *mr;
	struct rpma_conn_req *req;
	struct rpma_conn *conn;
	struct rpma_peer *peer;
	struct offer offer;
	struct rpma_ep *ep;
	size_t size;
	char *ptr;

	if (argc < 3 || argc > 4) {
		fprintf(stderr, "usage: %s ADDR PORT [PATH]\n", argv[0]);
		return EXIT_USAGE;
	}
	show_errors();

	peer = open_peer(argv[1], RPMA_UTIL_IBV_CONTEXT_LOCAL);
	size = path ? 0 : 4096;
	ptr = map_memory(path, &size);
	if (path)
		usage |= RPMA_MR_USAGE_FLUSH_TYPE_PERSISTENT;
	check(rpma_mr_reg(peer, ptr, size, usage, &mr), "registering memory");

	/* Persistent memory is of use only if the adapter writes past the caches. */
	offer_make(&offer, mr, path != NULL);
	pdata.ptr = &offer;
	pdata.len = sizeof(offer);

	check(rpma_ep_listen(peer, argv[1], argv[2], &ep), "listening");
	printf("ready: %zu bytes of %s memory\n", size, path ? "persistent" : "volatile");
	fflush(stdout);

	check(rpma_ep_next_conn_req(ep, NULL, &req), "waiting for a client");
	check(rpma_conn_req_connect(&req, &pdata, &conn), "accepting the client");
	expect_event(conn, RPMA_CONN_ESTABLISHED);

	/* The client works on the memory by itself; there is nothing to do here. */
	expect_event(conn, RPMA_CONN_CLOSED);
	check(rpma_conn_disconnect(conn), "disconnecting");
	check(rpma_conn_delete(&conn), "ending the connection");
	printf("the client wrote: %.*s\n", size < 100 ? (int)size : 100, ptr);

	check(rpma_ep_shutdown(&ep), "rpma_ep_shutdown");
	check(rpma_mr_dereg(&mr), "rpma_mr_dereg");
	check(rpma_peer_delete(&peer), "rpma_peer_delete");
	return EXIT_SUCCESS;
}
