// SPDX-License-Identifier: BSD-3-Clause
/*
 * As messages_server, with a completion queue of their own for receives (RCQ)
 * and a thread for each queue: the main thread takes what comes and answers,
 * the other one hears when an answer has gone and its memory is free again.
 *
 *	rcq_server 192.0.2.1 7471
 *	rcq_client 192.0.2.1 7471 10 3
 */
#include <pthread.h>
#include <semaphore.h>

#include "messages.h"

struct sends {
	struct rpma_cq *cq;
	sem_t posted, gone;
	bool no_more;		/* written before the last post of @posted */
};

static void *watch_sends(void *arg)
{
	struct sends *sends = arg;

	for (;;) {
		sem_wait(&sends->posted);
		if (sends->no_more)
			return NULL;
		next_completion(sends->cq);
		sem_post(&sends->gone);
	}
}

static void answer(struct rpma_conn *conn, struct rpma_mr_local *mr, struct messages *msg,
		   struct sends *sends)
{
	struct rpma_cq *rcq;
	uint64_t number;
	uint32_t len;

	check(rpma_conn_get_rcq(conn, &rcq), "rpma_conn_get_rcq");
	while ((len = next_completion(rcq).byte_len)) {
		number = messages_number(msg, len);
		printf("%llu -> %llu\n", (unsigned long long)number, number + 1ULL);
		sem_wait(&sends->gone);
		msg->out = htobe64(number + 1);
		check(rpma_recv(conn, mr, MSG_IN, MSG_SIZE, "receive"), "receiving");
		check(rpma_send(conn, mr, MSG_OUT, MSG_SIZE, RPMA_F_COMPLETION_ALWAYS, "send"),
		      "sending");
		sem_post(&sends->posted);
	}
	sem_wait(&sends->gone);
	printf("goodbye\n");
}

static void serve(struct rpma_conn *conn, struct rpma_mr_local *mr, struct messages *msg)
{
	struct sends sends = { 0 };
	pthread_t thread;

	check(rpma_conn_get_cq(conn, &sends.cq), "rpma_conn_get_cq");
	sem_init(&sends.posted, 0, 0);
	sem_init(&sends.gone, 0, 1);	/* nothing is on its way yet */
	if (pthread_create(&thread, NULL, watch_sends, &sends))
		die("no thread to be had");
	answer(conn, mr, msg, &sends);
	sends.no_more = true;
	sem_post(&sends.posted);
	pthread_join(thread, NULL);
}

int main(int argc, char *argv[])
{
	struct rpma_conn_req *req;
	struct rpma_conn_cfg *cfg;
	struct rpma_mr_local *mr;
	struct rpma_conn *conn;
	struct rpma_peer *peer;
	struct messages *msg;
	struct rpma_ep *ep;

	if (argc != 3)
		die_usage(argv[0], "ADDR PORT");
	show_errors();

	peer = open_peer(argv[1], RPMA_UTIL_IBV_CONTEXT_LOCAL);
	msg = messages_reg(peer, 1, &mr);
	check(rpma_conn_cfg_new(&cfg), "rpma_conn_cfg_new");
	check(rpma_conn_cfg_set_rcq_size(cfg, 10), "rpma_conn_cfg_set_rcq_size");

	check(rpma_ep_listen(peer, argv[1], argv[2], &ep), "listening");
	say_ready(argv[1], argv[2]);
	check(rpma_ep_next_conn_req(ep, cfg, &req), "waiting for a client");
	check(rpma_conn_req_recv(req, mr, MSG_IN, MSG_SIZE, "receive"), "receiving");
	check(rpma_conn_req_connect(&req, NULL, &conn), "accepting the client");
	expect_event(conn, RPMA_CONN_ESTABLISHED);
	serve(conn, mr, msg);
	hang_up(conn);

	check(rpma_ep_shutdown(&ep), "rpma_ep_shutdown");
	check(rpma_conn_cfg_delete(&cfg), "rpma_conn_cfg_delete");
	check(rpma_mr_dereg(&mr), "rpma_mr_dereg");
	check(rpma_peer_delete(&peer), "rpma_peer_delete");
	return EXIT_SUCCESS;
}
