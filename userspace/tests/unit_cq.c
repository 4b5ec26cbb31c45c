// SPDX-License-Identifier: BSD-3-Clause
/* Completion queues. */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <string.h>

#include "unit_test.h"

/* What the log says, as a warning, of a request that was refused. */
static bool refusal_says(struct rpma_cq *cq, uint32_t op, uint32_t method, uint32_t status,
			 const char *text)
{
	struct rpma_completion c = { .op = op, .method = method, .status = status };
	struct ibv_wc wc;

	logged[0] = '\0';
	fake_complete(&c);
	return !rpma_cq_get_wc(cq, 1, &wc, NULL) && wc.status == (enum ibv_wc_status)status &&
	       strstr(logged, text) && (!*text || logged_level == RPMA_LOG_LEVEL_WARNING);
}

void test_cq(struct rpma_peer *peer)
{
	static const struct {
		struct rpma_completion c;
		int opcode;
		unsigned int wc_flags;
		const char *name;
	} kinds[] = {
		{ { .op = RPMA_OP_WRITE }, IBV_WC_RDMA_WRITE, 0, "write" },
		{ { .op = RPMA_OP_WRITE_WITH_IMM }, IBV_WC_RDMA_WRITE, 0, "write with immediate" },
		{ { .op = RPMA_OP_READ, .len = 77 }, IBV_WC_RDMA_READ, 0, "read" },
		{ { .op = RPMA_OP_FLUSH, .method = RPMA_FLUSH_METHOD_READ }, IBV_WC_RDMA_READ, 0,
		  "flush by READ" },
		{ { .op = RPMA_OP_FLUSH, .method = RPMA_FLUSH_METHOD_NATIVE }, 8, 0,
		  "native flush" },
		{ { .op = RPMA_OP_SEND }, IBV_WC_SEND, 0, "send" },
		{ { .op = RPMA_OP_SEND_WITH_IMM }, IBV_WC_SEND, 0, "send with immediate" },
		{ { .op = RPMA_OP_RECV, .len = 5 }, IBV_WC_RECV, 0, "receive" },
		{ { .op = RPMA_OP_RECV, .len = 5, .flags = RPMA_COMPLETION_F_IMM,
		    .imm_data = 0x04030201 }, IBV_WC_RECV, IBV_WC_WITH_IMM,
		  "receive with immediate" },
		{ { .op = RPMA_OP_RECV, .flags = RPMA_COMPLETION_F_IMM | RPMA_COMPLETION_F_RDMA,
		    .imm_data = 0x04030201 }, IBV_WC_RECV_RDMA_WITH_IMM, IBV_WC_WITH_IMM,
		  "receive of a write" },
		{ { .op = RPMA_OP_ATOMIC_WRITE }, IBV_WC_RDMA_WRITE, 0, "atomic write" },
		{ { .op = RPMA_OP_ATOMIC_WRITE, .method = RPMA_FLUSH_METHOD_NATIVE }, 9, 0,
		  "native atomic write" },
		{ { .op = RPMA_OP_WRITE, .status = RPMA_STATUS_ABORTED, .vendor_err = 9 },
		  IBV_WC_RDMA_WRITE, 0, "aborted write" },
	};
	struct rpma_conn *conn = make_conn(peer, NULL);
	struct rpma_completion c = { .op = RPMA_OP_WRITE };
	int got = -1, fd = -1, polls;
	struct ibv_wc wc[20];
	struct rpma_cq *cq;
	unsigned int i;

	rpma_conn_get_cq(conn, &cq);
	ok(rpma_cq_get_wc(NULL, 1, wc, &got) == RPMA_E_INVAL &&
	   rpma_cq_get_wc(cq, 0, wc, &got) == RPMA_E_INVAL &&
	   rpma_cq_get_wc(cq, -1, wc, &got) == RPMA_E_INVAL &&
	   rpma_cq_get_wc(cq, 1, NULL, &got) == RPMA_E_INVAL &&
	   rpma_cq_get_wc(cq, 2, wc, NULL) == RPMA_E_INVAL, "cq: bad arguments");
	ok(!fake.maps, "cq: mapped only when used");
	fake.cq_map_ret = -ENOMEM;
	ok(rpma_cq_get_wc(cq, 1, wc, NULL) == RPMA_E_PROVIDER && errno == ENOMEM,
	   "cq: cannot be mapped");
	fake.cq_map_ret = 0;
	ok(rpma_cq_get_wc(cq, 1, wc, NULL) == RPMA_E_NO_COMPLETION && fake.maps == 1,
	   "cq: nothing there");

	for (i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		c = kinds[i].c;
		c.context = (uintptr_t)CONTEXT + i;
		c.qp_num = 0x123;
		fake_complete(&c);
		polls = fake.polls;
		memset(wc, 0xee, sizeof(wc));
		ok(!rpma_cq_get_wc(cq, 1, wc, NULL) && wc[0].wr_id == c.context &&
		   (int)wc[0].status == (int)c.status && (int)wc[0].opcode == kinds[i].opcode &&
		   wc[0].qp_num == 0x123 && wc[0].byte_len == c.len &&
		   wc[0].wc_flags == kinds[i].wc_flags && wc[0].vendor_err == c.vendor_err &&
		   (!wc[0].wc_flags || wc[0].imm_data == c.imm_data) && fake.polls == polls,
		   "cq: completion of %s", kinds[i].name);
	}

	c = (struct rpma_completion){ .op = RPMA_OP_WRITE, .status = RPMA_STATUS_REM_ACCESS_ERR };
	logged[0] = '\0';
	fake_complete(&c);
	ok(!rpma_cq_get_wc(cq, 1, wc, NULL) && wc[0].status == IBV_WC_REM_ACCESS_ERR && !logged[0],
	   "cq: a refused write is the program's to explain");
	ok(refusal_says(cq, RPMA_OP_FLUSH, RPMA_FLUSH_METHOD_READ, RPMA_STATUS_REM_ACCESS_ERR,
			"RPMA_MR_USAGE_READ_SRC"), "cq: a refused flush by READ, and what to do");
	ok(refusal_says(cq, RPMA_OP_FLUSH, RPMA_FLUSH_METHOD_NATIVE, RPMA_STATUS_REM_ACCESS_ERR,
			"a FLUSH was refused") && strstr(logged, "RPMA_FLUSH_METHOD=read") &&
	   refusal_says(cq, RPMA_OP_FLUSH, RPMA_FLUSH_METHOD_NATIVE, RPMA_STATUS_REM_INV_REQ_ERR,
			"RPMA_FLUSH_METHOD=read"), "cq: a refused FLUSH, and what to do");
	ok(refusal_says(cq, RPMA_OP_ATOMIC_WRITE, RPMA_FLUSH_METHOD_NATIVE,
			RPMA_STATUS_REM_INV_REQ_ERR, "RPMA_FLUSH_METHOD=read"),
	   "cq: a refused ATOMIC WRITE, and what to do");
	ok(refusal_says(cq, RPMA_OP_ATOMIC_WRITE, RPMA_FLUSH_METHOD_NATIVE,
			RPMA_STATUS_REM_ACCESS_ERR, "") && !logged[0] &&
	   refusal_says(cq, RPMA_OP_FLUSH, RPMA_FLUSH_METHOD_NATIVE, RPMA_STATUS_ABORTED, "") &&
	   !logged[0] &&
	   refusal_says(cq, RPMA_OP_SEND, RPMA_FLUSH_METHOD_NONE, RPMA_STATUS_REM_INV_REQ_ERR,
			"") && !logged[0],
	   "cq: what no other method would change is the program's to explain");
	c = (struct rpma_completion){ .op = RPMA_OP_WRITE };

	/* counts go past 2^32, entries past the end of the ring */
	fake_ring_start(UINT32_MAX - 2);
	for (i = 0; i < 10; i++) {
		c.context = i;
		fake_complete(&c);
	}
	ok(!rpma_cq_get_wc(cq, 4, wc, &got) && got == 4 && wc[0].wr_id == 0 && wc[3].wr_id == 3,
	   "cq: takes as many as asked for");
	ok(!rpma_cq_get_wc(cq, 20, wc, &got) && got == 6 && wc[0].wr_id == 4 && wc[5].wr_id == 9,
	   "cq: takes as many as there are");
	ok(fake_ring_room() == FAKE_RING_ENTRIES, "cq: gives the room back");
	got = 7;
	ok(rpma_cq_get_wc(cq, 20, wc, &got) == RPMA_E_NO_COMPLETION, "cq: took all");

	c.context = 42;
	fake_complete_on_poll(&c);
	ok(!rpma_cq_get_wc(cq, 20, wc, &got) && got == 1 && wc[0].wr_id == 42,
	   "cq: asks the adapter when the ring is empty");
	fake.cq_poll_ret = -ENODEV;
	ok(rpma_cq_get_wc(cq, 1, wc, NULL) == RPMA_E_PROVIDER && errno == ENODEV,
	   "cq: device is gone");
	fake.cq_poll_ret = 0;

	fake.cq_wait_ret = 3;
	ok(!rpma_cq_wait(cq), "cq: wait");
	fake.cq_wait_ret = 0;
	ok(!rpma_cq_wait(cq), "cq: wait, and another thread was faster");
	fake.cq_wait_ret = -EAGAIN;
	ok(rpma_cq_wait(cq) == RPMA_E_NO_COMPLETION, "cq: wait without waiting");
	fake.cq_wait_ret = -EINTR;
	ok(rpma_cq_wait(cq) == RPMA_E_NO_COMPLETION && errno == EINTR, "cq: wait interrupted");
	fake.cq_wait_ret = -ENODEV;
	ok(rpma_cq_wait(cq) == RPMA_E_PROVIDER && errno == ENODEV, "cq: wait, device is gone");
	fake.cq_wait_ret = 0;
	ok(rpma_cq_wait(NULL) == RPMA_E_INVAL, "cq: wait NULL");
	ok(!rpma_cq_get_fd(cq, &fd) && fd > 0 && rpma_cq_get_fd(NULL, &fd) == RPMA_E_INVAL &&
	   rpma_cq_get_fd(cq, NULL) == RPMA_E_INVAL, "cq: descriptor");
	rpma_conn_delete(&conn);
	ok(!fake.maps, "cq: unmapped");
}

/* Several readers of one ring: each completion is taken once, whole. */
#define READERS 3
#ifndef COMPLETIONS			/* fewer where tools make it slow */
#define COMPLETIONS 200000
#endif

static struct rpma_cq *shared_cq;
static unsigned char taken[COMPLETIONS];
static int nr_taken, nr_torn;

static void *reader(void *arg)
{
	struct ibv_wc wc[5];
	int got, i;

	(void)arg;
	while (__atomic_load_n(&nr_taken, __ATOMIC_RELAXED) < COMPLETIONS) {
		if (rpma_cq_get_wc(shared_cq, 5, wc, &got))
			continue;
		for (i = 0; i < got; i++) {
			if (wc[i].byte_len != (uint32_t)wc[i].wr_id)
				__atomic_add_fetch(&nr_torn, 1, __ATOMIC_RELAXED);
			__atomic_add_fetch(&taken[wc[i].wr_id], 1, __ATOMIC_RELAXED);
		}
		__atomic_add_fetch(&nr_taken, got, __ATOMIC_RELAXED);
	}
	return NULL;
}

void test_cq_threads(struct rpma_peer *peer)
{
	struct rpma_conn *conn = make_conn(peer, NULL);
	struct rpma_completion c = { .op = RPMA_OP_READ };
	pthread_t threads[READERS];
	int i, once = 0;

	fake_ring_start(UINT32_MAX - 1000);
	rpma_conn_get_cq(conn, &shared_cq);
	for (i = 0; i < READERS; i++)
		pthread_create(&threads[i], NULL, reader, NULL);
	for (i = 0; i < COMPLETIONS; i++) {
		while (!fake_ring_room())
			sched_yield();
		c.context = i;
		c.len = i;
		fake_complete(&c);
	}
	for (i = 0; i < READERS; i++)
		pthread_join(threads[i], NULL);
	for (i = 0; i < COMPLETIONS; i++)
		once += taken[i] == 1;
	ok(once == COMPLETIONS, "cq: each completion is taken once by %d threads", READERS);
	ok(nr_torn == 0, "cq: no completion is torn");
	rpma_conn_delete(&conn);
}
