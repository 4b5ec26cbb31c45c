// SPDX-License-Identifier: BSD-3-Clause
/*
 * Writes a text to another machine's memory and reads its first bytes back.
 * Reads stay behind writes, so when the read is done the text has arrived in
 * that memory: visible to all over there, but nobody says durable. That is
 * what rpma_flush() is for, see write_flush_client.
 *
 *	write_to_pmem_server 192.0.2.1 7471 /dev/dax0.0
 *	write_to_pmem_client 192.0.2.1 7471 'Keep this for me'
 */
#include "memory.h"
#include "offer.h"

enum { READ_BACK = 8 };

int main(int argc, char *argv[])
{
	size_t size, room, buf_size = 4096;
	struct rpma_mr_remote *remote;
	struct rpma_mr_local *local;
	struct rpma_conn_req *req;
	struct rpma_conn *conn;
	struct rpma_peer *peer;
	struct rpma_cq *cq;
	bool persistent;
	char *buf;

	if (argc != 4)
		die_usage(argv[0], "ADDR PORT TEXT");
	size = strlen(argv[3]) + 1;
	if (size + READ_BACK > buf_size)
		die("the text has at most %zu characters", buf_size - READ_BACK - 1);
	show_errors();

	/* The text, and behind it room for what is read back. */
	peer = open_peer(argv[1], RPMA_UTIL_IBV_CONTEXT_REMOTE);
	buf = map_memory(NULL, &buf_size);
	strcpy(buf, argv[3]);
	check(rpma_mr_reg(peer, buf, buf_size, RPMA_MR_USAGE_WRITE_SRC | RPMA_MR_USAGE_READ_DST,
			  &local), "registering memory");

	check(rpma_conn_req_new(peer, argv[1], argv[2], NULL, &req), "looking for the server");
	check(rpma_conn_req_connect(&req, NULL, &conn), "connecting");
	expect_event(conn, RPMA_CONN_ESTABLISHED);
	remote = offer_take(conn, &persistent);
	check(rpma_mr_remote_get_size(remote, &room), "rpma_mr_remote_get_size");
	if (room < size || room < READ_BACK)
		die("the server has room for %zu bytes only", room);

	/* Only a write that fails reports: the read's completion speaks for both. */
	check(rpma_write(conn, remote, 0, local, 0, size, RPMA_F_COMPLETION_ON_ERROR, "write"),
	      "writing");
	check(rpma_read(conn, local, buf_size - READ_BACK, remote, 0, READ_BACK,
			RPMA_F_COMPLETION_ALWAYS, "read"), "reading back");
	check(rpma_conn_get_cq(conn, &cq), "rpma_conn_get_cq");
	next_completion(cq);
	printf("wrote %zu bytes, read back: %.*s\n", size, READ_BACK, buf + buf_size - READ_BACK);

	hang_up(conn);
	check(rpma_mr_remote_delete(&remote), "rpma_mr_remote_delete");
	check(rpma_mr_dereg(&local), "rpma_mr_dereg");
	check(rpma_peer_delete(&peer), "rpma_peer_delete");
	return EXIT_SUCCESS;
}
