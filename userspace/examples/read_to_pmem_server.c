// SPDX-License-Identifier: BSD-3-Clause
/*
 * Reads a client's memory into persistent memory: PATH, a /dev/dax device or a
 * file, or DRAM without one. The adapter stores here what a read brings, so it
 * is this machine's own processor that makes it durable; no flush is needed.
 *
 *	read_to_pmem_server 192.0.2.1 7471 /dev/dax0.0
 *	read_to_pmem_client 192.0.2.1 7471 'Keep this for me'
 */
#include "memory.h"
#include "offer.h"

static void read_from(struct rpma_conn *conn, struct rpma_mr_local *local, char *ptr, size_t room)
{
	struct rpma_mr_remote *remote;
	struct rpma_cq *cq;
	bool persistent;
	size_t size;

	remote = offer_take(conn, &persistent);
	check(rpma_mr_remote_get_size(remote, &size), "rpma_mr_remote_get_size");
	if (size > room)
		die("the client offers %zu bytes, there is room for %zu", size, room);

	check(rpma_read(conn, local, 0, remote, 0, size, RPMA_F_COMPLETION_ALWAYS, "read"),
	      "reading");
	check(rpma_conn_get_cq(conn, &cq), "rpma_conn_get_cq");
	next_completion(cq);
	persist(ptr, size);
	printf("read %zu bytes: %.*s\n", size, (int)size, ptr);
	check(rpma_mr_remote_delete(&remote), "rpma_mr_remote_delete");
}

int main(int argc, char *argv[])
{
	struct rpma_conn_req *req;
	struct rpma_mr_local *mr;
	struct rpma_conn *conn;
	struct rpma_peer *peer;
	struct rpma_ep *ep;
	size_t size = 4096;
	char *ptr;

	if (argc < 3 || argc > 4)
		die_usage(argv[0], "ADDR PORT [PATH]");
	show_errors();

	peer = open_peer(argv[1], RPMA_UTIL_IBV_CONTEXT_LOCAL);
	ptr = map_memory(argc == 4 ? argv[3] : NULL, &size);
	check(rpma_mr_reg(peer, ptr, size, RPMA_MR_USAGE_READ_DST, &mr), "registering memory");

	check(rpma_ep_listen(peer, argv[1], argv[2], &ep), "listening");
	say_ready(argv[1], argv[2]);
	check(rpma_ep_next_conn_req(ep, NULL, &req), "waiting for a client");
	check(rpma_conn_req_connect(&req, NULL, &conn), "accepting the client");
	expect_event(conn, RPMA_CONN_ESTABLISHED);
	read_from(conn, mr, ptr, size);
	hang_up(conn);

	check(rpma_ep_shutdown(&ep), "rpma_ep_shutdown");
	check(rpma_mr_dereg(&mr), "rpma_mr_dereg");
	check(rpma_peer_delete(&peer), "rpma_peer_delete");
	return EXIT_SUCCESS;
}
