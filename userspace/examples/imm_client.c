// SPDX-License-Identifier: BSD-3-Clause
/*
 * Sends a text (none: an empty message) with immediate data, then writes it to
 * the server's memory with the next number as immediate data, by which the
 * server learns of the write.
 *
 *	imm_server 192.0.2.1 7471
 *	imm_client 192.0.2.1 7471 1234 Hello
 */
#include "memory.h"
#include "offer.h"

enum { TEXT_MAX = 1024 };

int main(int argc, char *argv[])
{
	const char *text = argc > 4 ? argv[4] : "";
	struct rpma_mr_remote *remote;
	struct rpma_mr_local *local;
	struct rpma_conn_req *req;
	struct rpma_conn *conn;
	struct rpma_peer *peer;
	size_t size = TEXT_MAX, len = strlen(text);
	struct rpma_cq *cq;
	bool persistent;
	uint32_t imm;
	char *ptr;

	if (argc < 4 || argc > 5 || len > TEXT_MAX)
		die_usage(argv[0], "ADDR PORT NUMBER [TEXT]	(at most 1024 characters)");
	imm = strtoul(argv[3], NULL, 0);
	show_errors();

	peer = open_peer(argv[1], RPMA_UTIL_IBV_CONTEXT_REMOTE);
	ptr = map_memory(NULL, &size);
	memcpy(ptr, text, len);
	check(rpma_mr_reg(peer, ptr, size, RPMA_MR_USAGE_SEND | RPMA_MR_USAGE_WRITE_SRC, &local),
	      "registering memory");

	check(rpma_conn_req_new(peer, argv[1], argv[2], NULL, &req), "looking for the server");
	check(rpma_conn_req_connect(&req, NULL, &conn), "connecting");
	expect_event(conn, RPMA_CONN_ESTABLISHED);
	remote = offer_take(conn, &persistent);
	check(rpma_conn_get_cq(conn, &cq), "rpma_conn_get_cq");

	/* The library takes and gives immediate data in the order of the network. */
	check(rpma_send_with_imm(conn, local, 0, len, RPMA_F_COMPLETION_ALWAYS, imm, "send"),
	      "sending");
	check(rpma_write_with_imm(conn, remote, 0, local, 0, len, RPMA_F_COMPLETION_ALWAYS,
				  imm + 1, "write"), "writing");
	next_completion(cq);
	next_completion(cq);
	printf("sent and wrote %zu bytes\n", len);

	hang_up(conn);
	check(rpma_mr_remote_delete(&remote), "rpma_mr_remote_delete");
	check(rpma_mr_dereg(&local), "rpma_mr_dereg");
	check(rpma_peer_delete(&peer), "rpma_peer_delete");
	return EXIT_SUCCESS;
}
