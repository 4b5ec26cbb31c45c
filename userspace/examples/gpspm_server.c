// SPDX-License-Identifier: BSD-3-Clause
/*
 * Makes durable with its own processor what a client writes to its memory:
 * each time the client asks for it by a message (the general purpose server
 * persistency method). PATH is a /dev/dax device or a file; DRAM without one.
 * Needs no direct write to pmem, but this program must run and listen.
 *
 *	gpspm_server 192.0.2.1 7471 /dev/dax0.0
 *	gpspm_client 192.0.2.1 7471 'First line' 'Second line'
 */
#include "gpspm.h"

struct server {
	char *pmem;
	size_t pmem_size;
	struct gpspm *msg;
	struct rpma_mr_local *pmem_mr, *msg_mr;
};

/* Memory that is written from afar, and memory for messages. */
static void server_init(struct server *s, struct rpma_peer *peer, const char *path)
{
	size_t msg_size = sizeof(*s->msg);

	s->pmem_size = 4096;
	s->pmem = map_memory(path, &s->pmem_size);
	check(rpma_mr_reg(peer, s->pmem, s->pmem_size, RPMA_MR_USAGE_WRITE_DST, &s->pmem_mr),
	      "registering memory");
	s->msg = map_memory(NULL, &msg_size);
	check(rpma_mr_reg(peer, s->msg, msg_size, RPMA_MR_USAGE_SEND | RPMA_MR_USAGE_RECV,
			  &s->msg_mr), "registering memory");
}

/* Others write the numbers: never trust them. */
static enum gpspm_status make_durable(struct server *s)
{
	uint64_t offset = be64toh(s->msg->request.offset), len = be64toh(s->msg->request.len);

	if (offset > s->pmem_size || len > s->pmem_size - offset)
		return GPSPM_NO_SUCH_RANGE;
	persist(s->pmem + offset, len);
	printf("durable: %llu bytes at %llu\n", (unsigned long long)len,
	       (unsigned long long)offset);
	return GPSPM_DURABLE;
}

/* Until a request has come and the answer before has gone; returns its length. */
static uint32_t wait_for_both(struct rpma_cq *cq, bool sent)
{
	bool received = false;
	uint32_t len = 0;
	struct ibv_wc wc;

	while (!sent || !received) {
		wc = next_completion(cq);
		if (wc.opcode == IBV_WC_RECV) {
			received = true;
			len = wc.byte_len;
		} else {
			sent = true;
		}
	}
	return len;
}

static void serve(struct server *s, struct rpma_conn *conn)
{
	struct rpma_cq *cq;
	uint32_t len;

	check(rpma_conn_get_cq(conn, &cq), "rpma_conn_get_cq");
	len = wait_for_both(cq, true);
	while (len) {
		if (len != sizeof(struct range))
			die("a request of %u bytes", len);
		s->msg->answer = htobe64(make_durable(s));
		check(rpma_recv(conn, s->msg_mr, offsetof(struct gpspm, request),
				sizeof(s->msg->request), "receive"), "receiving");
		check(rpma_send(conn, s->msg_mr, offsetof(struct gpspm, answer),
				sizeof(s->msg->answer), RPMA_F_COMPLETION_ALWAYS, "answer"),
		      "answering");
		len = wait_for_both(cq, false);
	}
}

int main(int argc, char *argv[])
{
	struct rpma_conn_private_data pdata;
	struct rpma_conn_req *req;
	struct rpma_conn *conn;
	struct rpma_peer *peer;
	struct server server;
	struct offer offer;
	struct rpma_ep *ep;

	if (argc < 3 || argc > 4)
		die_usage(argv[0], "ADDR PORT [PATH]");
	show_errors();

	peer = open_peer(argv[1], RPMA_UTIL_IBV_CONTEXT_LOCAL);
	server_init(&server, peer, argv[3]);
	offer_make(&offer, server.pmem_mr, false);
	pdata.ptr = &offer;
	pdata.len = sizeof(offer);

	check(rpma_ep_listen(peer, argv[1], argv[2], &ep), "listening");
	say_ready(argv[1], argv[2]);
	check(rpma_ep_next_conn_req(ep, NULL, &req), "waiting for a client");
	check(rpma_conn_req_recv(req, server.msg_mr, offsetof(struct gpspm, request),
				 sizeof(struct range), "receive"), "receiving");
	check(rpma_conn_req_connect(&req, &pdata, &conn), "accepting the client");
	expect_event(conn, RPMA_CONN_ESTABLISHED);
	serve(&server, conn);
	hang_up(conn);

	check(rpma_ep_shutdown(&ep), "rpma_ep_shutdown");
	check(rpma_mr_dereg(&server.msg_mr), "rpma_mr_dereg");
	check(rpma_mr_dereg(&server.pmem_mr), "rpma_mr_dereg");
	check(rpma_peer_delete(&peer), "rpma_peer_delete");
	return EXIT_SUCCESS;
}
