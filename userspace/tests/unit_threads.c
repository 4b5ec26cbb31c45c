// SPDX-License-Identifier: BSD-3-Clause
/*
 * Everything from many threads at once, on objects of their own and on shared
 * ones. Races show under ThreadSanitizer; what shows anyway is checked.
 */
#include <pthread.h>
#include <string.h>

#include "unit_test.h"

#define THREADS 8
#define ROUNDS 200

static struct shared {
	struct rpma_peer *peer;
	struct rpma_ep *ep;
	struct rpma_conn *conn;
	struct rpma_conn_cfg *cfg;
	struct rpma_peer_cfg *pcfg;
	struct rpma_srq_cfg *scfg;
	struct rpma_srq *srq;
	struct rpma_mr_local *mr;
	struct rpma_mr_remote *remote;
} shared;

static int own_objects(void)
{
	struct rpma_peer *peer = NULL;
	struct rpma_mr_local *mr;
	struct rpma_conn_req *req;
	struct rpma_conn *conn;
	struct ibv_context *ctx;
	struct rpma_ep *ep;
	int bad = 0;

	bad += !!rpma_utils_get_ibv_context("127.0.0.1", RPMA_UTIL_IBV_CONTEXT_LOCAL, &ctx);
	bad += !!rpma_peer_new(ctx, &peer);
	bad += !!rpma_ep_listen(peer, "127.0.0.1", "1", &ep);
	bad += !!rpma_mr_reg(peer, memory, 8, RPMA_MR_USAGE_SEND, &mr);
	bad += !!rpma_conn_req_new(peer, "127.0.0.1", "1", shared.cfg, &req);
	bad += !!rpma_conn_req_connect(&req, NULL, &conn);
	bad += !!rpma_ep_next_conn_req(ep, shared.cfg, &req);
	bad += !!rpma_conn_req_delete(&req);
	bad += !!rpma_conn_delete(&conn);
	bad += !!rpma_mr_dereg(&mr);
	bad += !!rpma_ep_shutdown(&ep);
	bad += !!rpma_peer_delete(&peer);
	return bad;
}

static int children_of_one_peer(void)
{
	struct rpma_conn_req *req;
	struct rpma_mr_local *mr;
	int bad = 0;

	bad += !!rpma_mr_reg(shared.peer, memory, 8, RPMA_MR_USAGE_SEND, &mr);
	bad += !!rpma_conn_req_new(shared.peer, "127.0.0.1", "1", shared.cfg, &req);
	bad += !!rpma_conn_req_delete(&req);
	bad += !!rpma_ep_next_conn_req(shared.ep, shared.cfg, &req);
	bad += !!rpma_conn_req_delete(&req);
	bad += !!rpma_mr_dereg(&mr);
	return bad;
}

static int one_shared_queue(uint32_t nr)
{
	struct rpma_srq *srq, *got;
	struct rpma_conn_req *req;
	struct rpma_conn_cfg *cfg;
	struct rpma_cq *rcq;
	struct ibv_wc wc;
	uint32_t size;
	int bad = 0;

	bad += !!rpma_srq_cfg_set_rq_size(shared.scfg, 1 + nr);
	bad += !!rpma_srq_cfg_get_rq_size(shared.scfg, &size) || !size;
	bad += !!rpma_srq_cfg_set_rcq_size(shared.scfg, nr);
	bad += !!rpma_srq_new(shared.peer, shared.scfg, &srq) || !!rpma_srq_delete(&srq);
	bad += !!rpma_conn_cfg_new(&cfg) || !!rpma_conn_cfg_set_srq(cfg, shared.srq);
	bad += !!rpma_conn_cfg_get_srq(cfg, &got) || got != shared.srq;
	bad += !!rpma_conn_req_new(shared.peer, "127.0.0.1", "1", cfg, &req);
	bad += !!rpma_srq_recv(shared.srq, shared.mr, 0, 8, NULL);
	bad += !!rpma_srq_get_rcq(shared.srq, &rcq);
	bad += rpma_cq_get_wc(rcq, 1, &wc, NULL) != RPMA_E_NO_COMPLETION;
	bad += !!rpma_conn_req_delete(&req) || !!rpma_conn_cfg_delete(&cfg);
	return bad;
}

static int one_configuration(uint32_t nr)
{
	bool flag;
	uint32_t size;
	char desc[1];
	int timeout, bad = 0;

	bad += !!rpma_conn_cfg_set_sq_size(shared.cfg, 1 + nr);
	bad += !!rpma_conn_cfg_get_sq_size(shared.cfg, &size) || !size || size > THREADS;
	bad += !!rpma_conn_cfg_set_cq_size(shared.cfg, 1 + nr);
	bad += !!rpma_conn_cfg_set_rcq_size(shared.cfg, nr & 1);
	bad += !!rpma_conn_cfg_set_rq_size(shared.cfg, nr);
	bad += !!rpma_conn_cfg_set_timeout(shared.cfg, 1 + nr);
	bad += !!rpma_conn_cfg_get_timeout(shared.cfg, &timeout) || !timeout;
	bad += !!rpma_conn_cfg_set_compl_channel(shared.cfg, nr & 2);
	bad += !!rpma_conn_cfg_get_compl_channel(shared.cfg, &flag);
	bad += !!rpma_peer_cfg_set_direct_write_to_pmem(shared.pcfg, nr & 1);
	bad += !!rpma_peer_cfg_get_direct_write_to_pmem(shared.pcfg, &flag);
	bad += !!rpma_peer_cfg_get_descriptor(shared.pcfg, desc) || desc[0] < 0 || desc[0] > 1;
	return bad;
}

static int one_connection(void)
{
	struct rpma_conn_private_data pdata;
	enum rpma_conn_event event;
	struct rpma_cq *cq, *rcq;
	struct ibv_wc wc;
	uint32_t qp_num;
	int fd, ret, bad = 0;

	ret = rpma_conn_next_event(shared.conn, &event);
	bad += ret && ret != RPMA_E_NO_EVENT;
	bad += !!rpma_conn_get_private_data(shared.conn, &pdata);
	bad += pdata.len && memcmp(pdata.ptr, "answer", 7);
	bad += !!rpma_conn_get_qp_num(shared.conn, &qp_num) || qp_num != 0x123;
	bad += !!rpma_conn_get_event_fd(shared.conn, &fd);
	bad += !!rpma_conn_get_cq(shared.conn, &cq) || !!rpma_conn_get_rcq(shared.conn, &rcq);
	bad += rpma_cq_get_wc(cq, 1, &wc, NULL) != RPMA_E_NO_COMPLETION;
	bad += !!rpma_cq_wait(cq) || !!rpma_cq_get_fd(cq, &fd);
	bad += !!rpma_conn_apply_remote_peer_cfg(shared.conn, shared.pcfg);
	bad += !!rpma_write(shared.conn, shared.remote, 0, shared.mr, 0, 8, 1, NULL);
	bad += !!rpma_recv(shared.conn, shared.mr, 0, 8, NULL);
	bad += !!rpma_flush(shared.conn, shared.remote, 0, 8, RPMA_FLUSH_TYPE_VISIBILITY, 1, NULL);
	bad += !!rpma_conn_disconnect(shared.conn);
	return bad;
}

static void quiet(enum rpma_log_level level, const char *file_name, const int line_no,
		  const char *function_name, const char *message_format, ...)
{
	(void)level;
	(void)file_name;
	(void)line_no;
	(void)function_name;
	(void)message_format;
}

static void other(enum rpma_log_level level, const char *file_name, const int line_no,
		  const char *function_name, const char *message_format, ...)
{
	quiet(level, file_name, line_no, function_name, "%s", message_format);
}

static int the_log(uint32_t nr)
{
	enum rpma_log_level level;
	int bad = 0;

	bad += !!rpma_log_set_function(nr & 1 ? quiet : other);
	bad += !!rpma_log_set_threshold(RPMA_LOG_THRESHOLD, nr % RPMA_LOG_LEVEL_DEBUG);
	bad += !!rpma_log_get_threshold(RPMA_LOG_THRESHOLD, &level);
	return bad + (level < RPMA_LOG_LEVEL_FATAL || level > RPMA_LOG_LEVEL_DEBUG);
}

static void *thread(void *arg)
{
	uint32_t nr = (uintptr_t)arg;
	uintptr_t bad = 0;
	int i;

	for (i = 0; i < ROUNDS; i++)
		bad += own_objects() + children_of_one_peer() + one_configuration(nr) +
		       one_shared_queue(nr) + one_connection() + the_log(nr);
	return (void *)bad;
}

void test_threads(struct rpma_peer *peer)
{
	pthread_t threads[THREADS];
	uintptr_t bad = 0;
	void *ret;
	int fds, i;

	shared.peer = peer;
	rpma_ep_listen(peer, "127.0.0.1", "1", &shared.ep);
	rpma_conn_cfg_new(&shared.cfg);
	rpma_peer_cfg_new(&shared.pcfg);
	rpma_srq_cfg_new(&shared.scfg);
	rpma_srq_new(peer, NULL, &shared.srq);
	shared.conn = make_conn(peer, NULL);
	shared.mr = make_local(peer, 0xff);
	shared.remote = make_remote(0xff);
	fake.private_data = "answer";
	fake.private_data_len = 7;
	fake.event.type = RPMA_EVENT_ESTABLISHED;
	fds = fake.fds;
	rpma_log_set_function(quiet);
	for (i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, thread, (void *)(uintptr_t)i);
	for (i = 0; i < THREADS; i++) {
		pthread_join(threads[i], &ret);
		bad += (uintptr_t)ret;
	}
	rpma_log_set_function(keep_log);
	rpma_log_set_threshold(RPMA_LOG_THRESHOLD, RPMA_LOG_LEVEL_DEBUG);
	ok(!bad, "threads: %d of them, and every call succeeds", THREADS);
	ok(fake.fds == fds, "threads: nothing left behind");
	rpma_conn_delete(&shared.conn);
	rpma_ep_shutdown(&shared.ep);
	rpma_mr_dereg(&shared.mr);
	rpma_mr_remote_delete(&shared.remote);
	rpma_conn_cfg_delete(&shared.cfg);
	rpma_peer_cfg_delete(&shared.pcfg);
	rpma_srq_cfg_delete(&shared.scfg);
	rpma_srq_delete(&shared.srq);
}
