// SPDX-License-Identifier: GPL-2.0
/*
 * The library from 16 threads at once: contexts, peers, endpoints, requests to
 * connect, events, configurations, the log.
 */
#include "librpma_threads.h"

#include <stdarg.h>

FIXTURE(alone) {
	struct left before;
};

FIXTURE_SETUP(alone)
{
	SKIP_WITHOUT_RPMA();
	self->before = left_now();
}

FIXTURE_TEARDOWN(alone)
{
	expect_nothing_left(_metadata, &self->before);
}

FIXTURE(threads) {
	struct left before;
	struct ends e;
};

FIXTURE_SETUP(threads)
{
	SKIP_WITHOUT_RPMA();
	self->before = left_now();
	ends_prepare(_metadata, &self->e);
	ASSERT_LT(0, kernel_objects());
}

FIXTURE_TEARDOWN(threads)
{
	ends_close(&self->e);
	expect_nothing_left(_metadata, &self->before);
}

/* ---- contexts and peers, the very first ones too ---- */

static struct ibv_context *contexts[THREADS];

static int peers_come_and_go(struct worker *w)
{
	static __u8 page[4096] __attribute__((aligned(4096)));

	for (int i = 0; i < rounds(10); i++) {
		struct ibv_context *context = NULL;
		struct rpma_mr_local *mr = NULL;
		struct rpma_peer *peer = NULL;

		TRY(!rpma_utils_get_ibv_context((w->nr + i) % 3 ? test_addr4() : test_addr6(),
						i % 2 ? RPMA_UTIL_IBV_CONTEXT_LOCAL :
							RPMA_UTIL_IBV_CONTEXT_REMOTE, &context));
		TRY(!contexts[w->nr] || contexts[w->nr] == context);
		contexts[w->nr] = context;
		TRY(!rpma_peer_new(context, &peer));
		TRY(!rpma_mr_reg(peer, page, sizeof(page), RPMA_MR_USAGE_READ_SRC, &mr));
		TRY(rpma_peer_delete(&peer) == RPMA_E_PROVIDER && errno == EBUSY && peer);
		TRY(!rpma_mr_dereg(&mr) && !mr);
		TRY(!rpma_peer_delete(&peer) && !peer);
	}
	return 0;
}

TEST_F_TIMEOUT(alone, one_device_is_one_context, WAIT_SECONDS)
{
	run_threads(_metadata, NULL, peers_come_and_go, peers_come_and_go);
	for (int i = 0; i < THREADS; i++)
		EXPECT_EQ(contexts[0], contexts[i]);
}

/* ---- endpoints ---- */

static atomic_int listeners;

/* Odd rounds: a port for each thread. Even rounds: one for all, one gets it. */
static int listen_and_shut_down(struct worker *w)
{
	for (int i = 0; i < rounds(10); i++) {
		struct rpma_ep *ep = NULL;
		char port[16];
		int ret;

		snprintf(port, sizeof(port), "%d", 7300 + (i % 2 ? w->nr : THREADS));
		pthread_barrier_wait(&barrier);
		ret = rpma_ep_listen(w->e->peer, test_addr4(), port, &ep);
		TRY(!ret || (ret == RPMA_E_PROVIDER && errno == EADDRINUSE && !ep));
		atomic_fetch_add(&listeners, !ret);
		pthread_barrier_wait(&barrier);
		TRY(atomic_load(&listeners) == (i % 2 ? THREADS : 1));
		pthread_barrier_wait(&barrier);
		atomic_store(&listeners, 0);
		TRY(!rpma_ep_shutdown(&ep) && !ep);
	}
	return 0;
}

TEST_F_TIMEOUT(threads, one_listener_per_port, WAIT_SECONDS)
{
	run_threads(_metadata, &self->e, listen_and_shut_down, listen_and_shut_down);
}

/* ---- eight clients ask, eight servers take from one endpoint ---- */

#define SLICE (BUF_SIZE / THREADS)
#define ROUNDS_MAX 40

enum plan { ACCEPT, REJECT, FORGET, SPOIL, PLANS };

/* How far one of them came. */
enum { KNOCKED = 1, SERVED };

static struct rpma_conn_cfg *cfg_in_use;
static atomic_int asked, taken, knocks[THREADS][ROUNDS_MAX];

/* What a client asks with, and is answered with. */
struct knock {
	int nr;
	int round;
	enum plan plan;
};

static int wait_for_event(struct rpma_conn *conn, enum rpma_conn_event want)
{
	enum rpma_conn_event event = RPMA_CONN_UNDEFINED;

	TRY(!rpma_conn_next_event(conn, &event));
	if (event != want)
		fprintf(stderr, "# %s instead of %s\n", rpma_utils_conn_event_2str(event),
			rpma_utils_conn_event_2str(want));
	TRY(event == want);
	return 0;
}

static int reap_one(struct rpma_conn *conn, const void *context)
{
	struct rpma_cq *cq = NULL;
	struct ibv_wc wc;
	int ret;

	TRY(!rpma_conn_get_cq(conn, &cq));
	while ((ret = rpma_cq_get_wc(cq, 1, &wc, NULL)) == RPMA_E_NO_COMPLETION)
		TRY(!rpma_cq_wait(cq));
	TRY(!ret && wc.status == IBV_WC_SUCCESS && wc.wr_id == (uintptr_t)context);
	return 0;
}

/* The usual life of a connection: write, flush, good-bye. */
static int use_connection(struct worker *w, struct rpma_conn *conn, const struct knock *knock)
{
	struct rpma_conn_private_data reply = {};
	struct end *c = &w->e->c;
	size_t at = w->nr * SLICE;

	DO(wait_for_event(conn, RPMA_CONN_ESTABLISHED));
	TRY(!rpma_conn_get_private_data(conn, &reply) && reply.len >= sizeof(*knock));
	TRY(!memcmp(reply.ptr, knock, sizeof(*knock)));
	memset(c->buf + at, knock->round + 1, SLICE);
	TRY(!rpma_write(conn, c->remote, at, c->mr, at, SLICE, ON_ERROR, NULL));
	TRY(!rpma_flush(conn, c->remote, at, SLICE, RPMA_FLUSH_TYPE_VISIBILITY, ALWAYS,
			CONTEXT(knock->round)));
	DO(reap_one(conn, CONTEXT(knock->round)));
	TRY(!memcmp(c->buf + at, w->e->s.buf + at, SLICE));
	/* The last message of the handshake may be slower than our good-bye. */
	while (atomic_load(&knocks[knock->nr][knock->round]) < SERVED)
		TRY(!poll(NULL, 0, 1));
	TRY(!rpma_conn_disconnect(conn));
	return wait_for_event(conn, RPMA_CONN_CLOSED);
}

static int client(struct worker *w)
{
	for (int i = 0; i < rounds(16); i++) {
		struct knock knock = { .nr = w->nr, .round = i, .plan = (w->nr / 2 + i) % PLANS };
		struct rpma_conn_private_data ask = { .ptr = &knock, .len = sizeof(knock) };
		struct rpma_conn_req *req = NULL;
		struct rpma_conn *conn = NULL;

		TRY(!rpma_conn_req_new(w->e->peer, test_addr4(), PORT, cfg_in_use, &req));
		if (knock.plan == FORGET) {
			TRY(!rpma_conn_req_delete(&req) && !req);
			continue;
		}
		if (knock.plan == SPOIL) {
			ask.len = 0;
			TRY(rpma_conn_req_connect(&req, &ask, &conn) == RPMA_E_INVAL);
			TRY(!req && !conn);
			continue;
		}
		TRY(!rpma_conn_req_connect(&req, &ask, &conn) && !req);
		if (knock.plan == ACCEPT)
			DO(use_connection(w, conn, &knock));
		else
			DO(wait_for_event(conn, RPMA_CONN_REJECTED));
		atomic_fetch_add(&asked, 1);
		TRY(!rpma_conn_delete(&conn) && !conn);
	}
	return 0;
}

static int answer(struct rpma_conn_req *req)
{
	struct rpma_conn_private_data ask = {};
	struct rpma_conn *conn = NULL;
	struct knock knock;

	TRY(!rpma_conn_req_get_private_data(req, &ask) && ask.len >= sizeof(knock));
	memcpy(&knock, ask.ptr, sizeof(knock));
	TRY(knock.nr >= 0 && knock.nr < THREADS && knock.round >= 0 && knock.round < ROUNDS_MAX);
	TRY(atomic_exchange(&knocks[knock.nr][knock.round], KNOCKED) == 0);
	if (knock.plan == REJECT) {
		TRY(!rpma_conn_req_delete(&req) && !req);
		return 0;
	}
	TRY(knock.plan == ACCEPT);
	ask.ptr = &knock;
	ask.len = sizeof(knock);
	TRY(!rpma_conn_req_connect(&req, &ask, &conn) && !req);
	DO(wait_for_event(conn, RPMA_CONN_ESTABLISHED));
	TRY(atomic_exchange(&knocks[knock.nr][knock.round], SERVED) == KNOCKED);
	DO(wait_for_event(conn, RPMA_CONN_CLOSED));
	TRY(!rpma_conn_delete(&conn) && !conn);
	return 0;
}

/* How many of the clients' plans come to the endpoint: two of four. */
static int knocks_expected(void)
{
	int n = 0;

	for (int nr = 0; nr < THREADS; nr += 2)
		for (int i = 0; i < rounds(16); i++)
			n += (nr / 2 + i) % PLANS <= REJECT;
	return n;
}

static int server(struct worker *w)
{
	int fd;

	TRY(!rpma_ep_get_fd(w->e->ep, &fd));
	while (atomic_load(&taken) < knocks_expected()) {
		struct rpma_conn_req *req = NULL;
		int ret;

		poll_for(fd, POLLIN, 10);
		ret = rpma_ep_next_conn_req(w->e->ep, cfg_in_use, &req);
		TRY(!ret || ret == RPMA_E_NO_EVENT);
		if (ret)
			continue;
		atomic_fetch_add(&taken, 1);
		DO(answer(req));
	}
	return 0;
}

TEST_F_TIMEOUT(threads, connect_reject_and_forget, WAIT_SECONDS)
{
	int fd;

	ASSERT_EQ(0, rpma_conn_cfg_new(&cfg_in_use));
	ASSERT_EQ(0, rpma_conn_cfg_set_timeout(cfg_in_use, WAIT_MS));
	ASSERT_EQ(0, rpma_ep_get_fd(self->e.ep, &fd));
	set_nonblock(fd);
	run_threads(_metadata, &self->e, client, server);
	EXPECT_EQ(knocks_expected(), atomic_load(&asked));
	EXPECT_EQ(knocks_expected(), atomic_load(&taken));
	EXPECT_EQ(RPMA_E_NO_EVENT,
		  rpma_ep_next_conn_req(self->e.ep, NULL, &(struct rpma_conn_req *){ NULL }));
	ASSERT_EQ(0, rpma_conn_cfg_delete(&cfg_in_use));
}

/* ---- events and what a connection says of itself ---- */

static atomic_int events[RPMA_CONN_UNREACHABLE + 1];

static int look_around(struct worker *w)
{
	bool direct = w->nr % 2, is_direct = !direct;
	struct rpma_peer_cfg *pcfg = NULL, *copy = NULL;
	struct rpma_conn *conn = w->e->c.conn;
	struct rpma_cq *cq = NULL, *rcq = NULL;
	uint32_t number = 0;
	size_t size = 0;
	__u8 desc;
	int fd;

	TRY(!rpma_conn_get_qp_num(conn, &number) && number);
	TRY(!rpma_conn_get_cq(conn, &cq) && cq == w->e->c.cq);
	TRY(!rpma_conn_get_rcq(conn, &rcq) && !rcq);
	TRY(rpma_conn_get_compl_fd(conn, &fd) == RPMA_E_NOT_SHARED_CHNL);
	TRY(!rpma_mr_get_size(w->e->c.mr, &size) && size == BUF_SIZE);
	TRY(!rpma_mr_remote_get_size(w->e->c.remote, &size) && size == BUF_SIZE);
	TRY(!rpma_peer_cfg_new(&pcfg));
	TRY(!rpma_peer_cfg_set_direct_write_to_pmem(pcfg, direct));
	TRY(!rpma_peer_cfg_get_descriptor(pcfg, &desc));
	TRY(!rpma_peer_cfg_from_descriptor(&desc, 1, &copy));
	TRY(!rpma_peer_cfg_get_direct_write_to_pmem(copy, &is_direct) && is_direct == direct);
	TRY(!rpma_conn_apply_remote_peer_cfg(conn, copy));
	TRY(!rpma_peer_cfg_delete(&pcfg) && !rpma_peer_cfg_delete(&copy));
	return 0;
}

/* All look for events, one gets each. The first thread closes the connection. */
static int look_for_events(struct worker *w)
{
	struct rpma_conn *conn = w->e->c.conn;
	enum rpma_conn_event event;
	int fd, ret;

	TRY(!rpma_conn_get_event_fd(conn, &fd));
	for (int i = 0; !atomic_load(&events[RPMA_CONN_CLOSED]); i++) {
		poll_for(fd, POLLIN, 10);
		ret = rpma_conn_next_event(conn, &event);
		TRY(!ret || ret == RPMA_E_NO_EVENT);
		if (!ret)
			atomic_fetch_add(&events[event], 1);
		DO(look_around(w));
		if (i == 5 && !w->nr)
			TRY(!rpma_conn_disconnect(w->e->s.conn));
	}
	return 0;
}

TEST_F_TIMEOUT(threads, each_event_comes_once, WAIT_SECONDS)
{
	struct rpma_conn_req *req = NULL;
	struct end *c = &self->e.c;
	int fd;

	ASSERT_EQ(0, rpma_conn_req_new(self->e.peer, test_addr4(), PORT, NULL, &req));
	ASSERT_EQ(0, rpma_conn_req_connect(&req, NULL, &c->conn));
	ASSERT_EQ(0, rpma_conn_get_cq(c->conn, &c->cq));
	ASSERT_EQ(0, rpma_conn_get_event_fd(c->conn, &fd));
	set_nonblock(fd);
	ASSERT_EQ(0, rpma_ep_next_conn_req(self->e.ep, NULL, &req));
	ASSERT_EQ(0, rpma_conn_req_connect(&req, NULL, &self->e.s.conn));
	EXPECT_EVENT(self->e.s.conn, RPMA_CONN_ESTABLISHED);
	run_threads(_metadata, &self->e, look_for_events, look_for_events);
	for (int event = 0; event <= RPMA_CONN_UNREACHABLE; event++)
		EXPECT_EQ(event == RPMA_CONN_ESTABLISHED || event == RPMA_CONN_CLOSED,
			  atomic_load(&events[event]));
}

/* ---- configurations and the log, changed while they are used ---- */

static atomic_int logged[2], complaints;

static void log_message(int which, const char *format, va_list args)
{
	char text[512];

	vsnprintf(text, sizeof(text), format, args);
	if (strstr(text, "no peer configuration"))
		atomic_fetch_add(&logged[which], 1);
}

#define LOG_FUNCTION(nr)							\
	static void log_##nr(enum rpma_log_level level, const char *file,	\
			     const int line, const char *function,		\
			     const char *format, ...)				\
	{									\
		va_list args;							\
										\
		va_start(args, format);						\
		log_message(nr, format, args);					\
		va_end(args);							\
	}

LOG_FUNCTION(0)
LOG_FUNCTION(1)

static int change_settings(struct worker *w)
{
	struct rpma_conn_cfg *cfg = cfg_in_use;
	enum rpma_log_level level;
	uint32_t size;
	int timeout;
	bool shared;

	for (int i = 0; i < rounds(50); i++) {
		uint32_t new = (w->nr + i) % 4 ? 20 : 30;

		TRY(!rpma_conn_cfg_set_sq_size(cfg, new) && !rpma_conn_cfg_set_rq_size(cfg, new));
		TRY(!rpma_conn_cfg_set_cq_size(cfg, new));
		TRY(!rpma_conn_cfg_set_rcq_size(cfg, new == 20 ? 0 : new));
		TRY(!rpma_conn_cfg_set_timeout(cfg, 100 * new));
		TRY(!rpma_conn_cfg_set_compl_channel(cfg, new == 20));
		TRY(!rpma_log_set_function(new == 20 ? log_0 : log_1));
		TRY(!rpma_log_set_threshold(RPMA_LOG_THRESHOLD, new == 20 ?
					    RPMA_LOG_LEVEL_ERROR : RPMA_LOG_LEVEL_DEBUG));
		TRY(!rpma_conn_cfg_get_sq_size(cfg, &size) && (size == 20 || size == 30));
		TRY(!rpma_conn_cfg_get_rq_size(cfg, &size) && (size == 20 || size == 30));
		TRY(!rpma_conn_cfg_get_cq_size(cfg, &size) && (size == 20 || size == 30));
		TRY(!rpma_conn_cfg_get_rcq_size(cfg, &size) && (size == 0 || size == 30));
		TRY(!rpma_conn_cfg_get_timeout(cfg, &timeout) && timeout % 1000 == 0);
		TRY(!rpma_conn_cfg_get_compl_channel(cfg, &shared));
		TRY(!rpma_log_get_threshold(RPMA_LOG_THRESHOLD, &level));
		TRY(level == RPMA_LOG_LEVEL_ERROR || level == RPMA_LOG_LEVEL_DEBUG);
	}
	return 0;
}

static int use_settings(struct worker *w)
{
	for (int i = 0; i < rounds(50); i++) {
		struct rpma_conn_req *req = NULL;

		TRY(rpma_peer_cfg_from_descriptor("", 0, &(struct rpma_peer_cfg *){ NULL }) ==
		    RPMA_E_INVAL);
		atomic_fetch_add(&complaints, 1);
		if (i % 10)
			continue;
		TRY(!rpma_conn_req_new(w->e->peer, test_addr4(), PORT, cfg_in_use, &req));
		TRY(!rpma_conn_req_delete(&req));
	}
	return 0;
}

TEST_F_TIMEOUT(threads, settings_change_while_they_are_used, WAIT_SECONDS)
{
	ASSERT_EQ(0, rpma_conn_cfg_new(&cfg_in_use));
	ASSERT_EQ(0, rpma_conn_cfg_set_sq_size(cfg_in_use, 20));
	ASSERT_EQ(0, rpma_log_set_function(log_0));
	run_threads(_metadata, &self->e, change_settings, use_settings);
	ASSERT_EQ(0, rpma_log_set_function(NULL));
	EXPECT_EQ(THREADS / 2 * rounds(50), atomic_load(&complaints));
	EXPECT_EQ(atomic_load(&complaints), atomic_load(&logged[0]) + atomic_load(&logged[1]));
	ASSERT_EQ(0, rpma_conn_cfg_delete(&cfg_in_use));
}

TEST_HARNESS_MAIN
