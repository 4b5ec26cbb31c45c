// SPDX-License-Identifier: BSD-3-Clause
/*
 * Takes a message and then a write, both with immediate data: 32 bits that
 * come with the completion of a receive. So a server hears of a write that
 * would pass unnoticed without them.
 *
 *	imm_server 192.0.2.1 7471
 *	imm_client 192.0.2.1 7471 1234 Hello
 */
#include <arpa/inet.h>

#include "memory.h"
#include "offer.h"

/* What a client writes to, and room for its message and for its immediate. */
enum { WRITTEN = 0, MESSAGE = 1024, NOTICE = 2048, TEXT_MAX = 1024, SIZE = 4096 };

static struct ibv_wc next_immediate(struct rpma_cq *cq)
{
	struct ibv_wc wc = next_completion(cq);

	if (!(wc.wc_flags & IBV_WC_WITH_IMM))
		die("a message without immediate data");
	return wc;
}

static void serve(struct rpma_conn *conn, const char *ptr)
{
	struct rpma_cq *cq;
	struct ibv_wc wc;

	check(rpma_conn_get_cq(conn, &cq), "rpma_conn_get_cq");
	wc = next_immediate(cq);
	if (wc.opcode != IBV_WC_RECV)
		die("this is no message");
	printf("message of %u bytes with immediate %u: %.*s\n", wc.byte_len, ntohl(wc.imm_data),
	       (int)wc.byte_len, ptr + MESSAGE);

	/* The data went past the receive: it is where the client wrote it. */
	wc = next_immediate(cq);
	if (wc.opcode != IBV_WC_RECV_RDMA_WITH_IMM)
		die("this is no write");
	printf("write of %u bytes with immediate %u: %.*s\n", wc.byte_len, ntohl(wc.imm_data),
	       wc.byte_len < TEXT_MAX ? (int)wc.byte_len : TEXT_MAX, ptr + WRITTEN);
}

int main(int argc, char *argv[])
{
	struct rpma_conn_private_data pdata;
	struct rpma_conn_req *req;
	struct rpma_mr_local *mr;
	struct rpma_conn *conn;
	struct rpma_peer *peer;
	struct offer offer;
	size_t size = SIZE;
	struct rpma_ep *ep;
	char *ptr;

	if (argc != 3)
		die_usage(argv[0], "ADDR PORT");
	show_errors();

	peer = open_peer(argv[1], RPMA_UTIL_IBV_CONTEXT_LOCAL);
	ptr = map_memory(NULL, &size);
	check(rpma_mr_reg(peer, ptr, size, RPMA_MR_USAGE_WRITE_DST | RPMA_MR_USAGE_RECV, &mr),
	      "registering memory");
	offer_make(&offer, mr, false);
	pdata.ptr = &offer;
	pdata.len = sizeof(offer);

	check(rpma_ep_listen(peer, argv[1], argv[2], &ep), "listening");
	say_ready(argv[1], argv[2]);
	check(rpma_ep_next_conn_req(ep, NULL, &req), "waiting for a client");

	/* Each takes one of these, also the write, which leaves its room alone. */
	check(rpma_conn_req_recv(req, mr, MESSAGE, TEXT_MAX, "receive"), "receiving");
	check(rpma_conn_req_recv(req, mr, NOTICE, TEXT_MAX, "receive"), "receiving");
	check(rpma_conn_req_connect(&req, &pdata, &conn), "accepting the client");
	expect_event(conn, RPMA_CONN_ESTABLISHED);
	serve(conn, ptr);
	wait_for_hang_up(conn);

	check(rpma_ep_shutdown(&ep), "rpma_ep_shutdown");
	check(rpma_mr_dereg(&mr), "rpma_mr_dereg");
	check(rpma_peer_delete(&peer), "rpma_peer_delete");
	return EXIT_SUCCESS;
}
