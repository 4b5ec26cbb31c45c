// SPDX-License-Identifier: GPL-2.0
/*
 * The library from 16 threads at once: regions, requests and completions, also
 * of one connection. Nothing is lost, nothing comes twice, and nothing is left
 * in the kernel.
 */
#include "librpma_threads.h"

#define SLICE (BUF_SIZE / THREADS)
#define HALF (SLICE / 2)
#define ROUNDS_MAX 100

/* What a request was for: half of its context. */
enum { READ, FLUSH, SEND, RECV, KINDS };

static bool shared_channel;
static atomic_int seen[THREADS][KINDS][ROUNDS_MAX];
static atomic_int done[THREADS][KINDS];

FIXTURE(threads) {
	struct left before;
	struct ends e;
};

FIXTURE_SETUP(threads)
{
	SKIP_WITHOUT_RPMA();
	self->before = left_now();
	ASSERT_LE(0, self->before.pinned_kb);
	ASSERT_LE(0, self->before.module_users);
	ends_prepare(_metadata, &self->e);
	ASSERT_LT(0, kernel_objects());
}

FIXTURE_TEARDOWN(threads)
{
	ends_close(&self->e);
	expect_nothing_left(_metadata, &self->before);
}

/* ---- regions ---- */

#define REGIONS 4

static __u32 rkeys[THREADS * REGIONS];

/* Each thread has pages of its own in some of its regions, and shares the first. */
static int register_and_describe(struct worker *w)
{
	for (int i = 0; i < rounds(40); i++) {
		struct rpma_mr_local *mr[REGIONS] = {};
		__u8 desc[DESC_SIZE];
		void *ptr;

		for (int r = 0; r < REGIONS; r++) {
			ptr = w->e->c.buf + (r % 2 ? w->nr * SLICE : 0);
			TRY(!rpma_mr_reg(w->e->peer, ptr, SLICE - r, USAGE_ALL, &mr[r]));
			TRY(!rpma_mr_get_descriptor(mr[r], desc));
			memcpy(&rkeys[w->nr * REGIONS + r], desc + 16, 4);
		}
		/* All of them are there now, and every one has a key of its own. */
		pthread_barrier_wait(&barrier);
		for (int k = 0; k < THREADS * REGIONS; k++)
			TRY(k == w->nr * REGIONS || rkeys[k] != rkeys[w->nr * REGIONS]);
		pthread_barrier_wait(&barrier);
		for (int r = 0; r < REGIONS; r++)
			TRY(!rpma_mr_dereg(&mr[r]) && !mr[r]);
	}
	return 0;
}

TEST_F_TIMEOUT(threads, register_regions, WAIT_SECONDS)
{
	long before = left_now().pinned_kb;

	run_threads(_metadata, &self->e, register_and_describe, register_and_describe);
	EXPECT_EQ(before, left_now().pinned_kb);
}

/* ---- one connection, its requests and completions everybody's ---- */

static const void *context_of(int nr, int kind, int round)
{
	return CONTEXT((nr * KINDS + kind) * ROUNDS_MAX + round + 1);
}

/* A message says who sent it, and when. */
static int message_came(struct worker *w, int slot)
{
	int message[2];

	memcpy(message, w->e->s.buf + slot * SLICE, sizeof(message));
	TRY(message[0] >= 0 && message[0] < THREADS);
	TRY(message[1] >= 0 && message[1] < ROUNDS_MAX);
	TRY(atomic_fetch_add(&seen[message[0]][RECV][message[1]], 1) == 0);
	return 0;
}

static int completion_came(struct worker *w, const struct ibv_wc *wc)
{
	int round = (wc->wr_id - 1) % ROUNDS_MAX, kind = (wc->wr_id - 1) / ROUNDS_MAX % KINDS;
	int nr = (wc->wr_id - 1) / ROUNDS_MAX / KINDS;

	TRY(wc->status == IBV_WC_SUCCESS && nr < THREADS);
	if (kind == RECV)
		DO(message_came(w, nr));
	else
		TRY(atomic_fetch_add(&seen[nr][kind][round], 1) == 0);
	atomic_fetch_add(&done[nr][kind], 1);
	return 0;
}

/* Sleeps briefly: the last completion may be another thread's. */
static int sleep_for_completions(struct rpma_conn *conn, struct rpma_cq **cq)
{
	int fd, ret;

	if (shared_channel) {
		TRY(!rpma_conn_get_compl_fd(conn, &fd));
		poll_for(fd, POLLIN, 10);
		ret = rpma_conn_wait(conn, 0, cq, NULL);
	} else {
		TRY(!rpma_cq_get_fd(*cq, &fd));
		poll_for(fd, POLLIN, 10);
		ret = rpma_cq_wait(*cq);
	}
	TRY(!ret || ret == RPMA_E_NO_COMPLETION);
	return 0;
}

static int take_completions(struct worker *w, struct rpma_conn *conn)
{
	struct rpma_cq *cq = NULL;
	struct ibv_wc wc[3];
	int got, ret;

	TRY(!rpma_conn_get_cq(conn, &cq));
	DO(sleep_for_completions(conn, &cq));
	while (!(ret = rpma_cq_get_wc(cq, 3, wc, &got)))
		for (int i = 0; i < got; i++)
			DO(completion_came(w, &wc[i]));
	TRY(ret == RPMA_E_NO_COMPLETION);
	return 0;
}

static int wait_until_done(struct worker *w, struct rpma_conn *conn, int kind, int count)
{
	while (atomic_load(&done[w->nr][kind]) < count)
		DO(take_completions(w, conn));
	TRY(atomic_load(&done[w->nr][kind]) == count);
	return 0;
}

/* A queue can be full of other threads' requests. */
#define POST(w, on, call)						\
	do {								\
		int __ret = (call);					\
									\
		if (!__ret)						\
			break;						\
		TRY(__ret == RPMA_E_PROVIDER && errno == EAGAIN);	\
		DO(take_completions(w, on));				\
	} while (1)

static void nonblocking_queues(struct __test_metadata *_metadata, struct end *e)
{
	int fd;

	ASSERT_EQ(0, rpma_cq_get_fd(e->cq, &fd));
	set_nonblock(fd);
}

static int write_flush_read_back(struct worker *w)
{
	size_t at = w->nr * SLICE;
	struct end *c = &w->e->c;

	for (int i = 0; i < rounds(50); i++) {
		memset(c->buf + at, w->nr * 37 + i, HALF);
		memset(c->buf + at + HALF, 0, HALF);
		POST(w, c->conn, rpma_write(c->conn, c->remote, at, c->mr, at, HALF, ON_ERROR, NULL));
		POST(w, c->conn, rpma_flush(c->conn, c->remote, at, HALF,
					    RPMA_FLUSH_TYPE_VISIBILITY, ALWAYS,
					    context_of(w->nr, FLUSH, i)));
		POST(w, c->conn, rpma_read(c->conn, c->mr, at + HALF, c->remote, at, HALF, ALWAYS,
					   context_of(w->nr, READ, i)));
		DO(wait_until_done(w, c->conn, FLUSH, i + 1));
		TRY(!memcmp(c->buf + at, w->e->s.buf + at, HALF));
		DO(wait_until_done(w, c->conn, READ, i + 1));
		TRY(!memcmp(c->buf + at, c->buf + at + HALF, HALF));
	}
	return 0;
}

/* Room for all threads' receives, and for less than half of their requests. */
static void connect_shared(struct __test_metadata *_metadata, struct ends *e, bool channel)
{
	struct rpma_conn_cfg *cfg = NULL;

	shared_channel = channel;
	ASSERT_EQ(0, rpma_conn_cfg_new(&cfg));
	ASSERT_EQ(0, rpma_conn_cfg_set_rq_size(cfg, THREADS));
	ASSERT_EQ(0, rpma_conn_cfg_set_rcq_size(cfg, channel ? THREADS : 0));
	ASSERT_EQ(0, rpma_conn_cfg_set_compl_channel(cfg, channel));
	ASSERT_EQ(0, rpma_conn_cfg_set_timeout(cfg, WAIT_MS));
	ends_connect(_metadata, e, cfg);
	ASSERT_EQ(0, rpma_conn_cfg_delete(&cfg));
	nonblocking_queues(_metadata, &e->c);
	nonblocking_queues(_metadata, &e->s);
}

static void expect_each_once(struct __test_metadata *_metadata, int kind, int n)
{
	for (int i = 0; i < THREADS * n; i++) {
		ASSERT_EQ(1, atomic_load(&seen[i / n][kind][i % n]))
			TH_LOG("thread %d, kind %d, round %d", i / n, kind, i % n);
	}
}

TEST_F_TIMEOUT(threads, write_flush_read_on_one_connection, WAIT_SECONDS)
{
	connect_shared(_metadata, &self->e, false);
	run_threads(_metadata, &self->e, write_flush_read_back, write_flush_read_back);
	expect_each_once(_metadata, FLUSH, rounds(50));
	expect_each_once(_metadata, READ, rounds(50));
	EXPECT_EQ(RPMA_E_NO_COMPLETION,
		  rpma_cq_get_wc(self->e.c.cq, 1, &(struct ibv_wc){}, NULL));
}

TEST_F_TIMEOUT(threads, wait_on_one_shared_channel, WAIT_SECONDS)
{
	connect_shared(_metadata, &self->e, true);
	run_threads(_metadata, &self->e, write_flush_read_back, write_flush_read_back);
	expect_each_once(_metadata, FLUSH, rounds(50));
	expect_each_once(_metadata, READ, rounds(50));
}

/* Which slot a message lands in is anybody's guess. */
static int send_and_receive(struct worker *w)
{
	struct end *c = &w->e->c, *s = &w->e->s;
	size_t at = w->nr * SLICE;

	for (int i = 0; i < rounds(50); i++) {
		int message[2] = { w->nr, i };

		memcpy(c->buf + at, message, sizeof(message));
		POST(w, s->conn, rpma_recv(s->conn, s->mr, at, SLICE, context_of(w->nr, RECV, i)));
		POST(w, c->conn, rpma_send(c->conn, c->mr, at, sizeof(message), ALWAYS,
					   context_of(w->nr, SEND, i)));
		DO(wait_until_done(w, c->conn, SEND, i + 1));
		DO(wait_until_done(w, s->conn, RECV, i + 1));
	}
	return 0;
}

TEST_F_TIMEOUT(threads, messages_on_one_connection, WAIT_SECONDS)
{
	connect_shared(_metadata, &self->e, false);
	run_threads(_metadata, &self->e, send_and_receive, send_and_receive);
	expect_each_once(_metadata, SEND, rounds(50));
	expect_each_once(_metadata, RECV, rounds(50));
}

TEST_F_TIMEOUT(threads, messages_through_one_shared_channel, WAIT_SECONDS)
{
	connect_shared(_metadata, &self->e, true);
	run_threads(_metadata, &self->e, send_and_receive, send_and_receive);
	expect_each_once(_metadata, SEND, rounds(50));
	expect_each_once(_metadata, RECV, rounds(50));
}

TEST_HARNESS_MAIN
