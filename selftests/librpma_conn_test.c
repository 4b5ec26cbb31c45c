// SPDX-License-Identifier: GPL-2.0
/* The library: handshakes, events, configurations, descriptors, words. */
#include "librpma_ends.h"

#include <pthread.h>
#include <stdarg.h>

FIXTURE(lib) {
	struct ends e;
};

FIXTURE_SETUP(lib)
{
	SKIP_WITHOUT_RPMA();
	ends_prepare(_metadata, &self->e);
}

FIXTURE_TEARDOWN(lib)
{
	ends_close(&self->e);
}

static struct rpma_conn_req *knock(struct __test_metadata *_metadata, struct ends *e)
{
	struct rpma_conn_req *req = NULL;

	ASSERT_EQ(0, rpma_conn_req_new(e->peer, test_addr4(), PORT, NULL, &req));
	ASSERT_EQ(0, rpma_conn_req_connect(&req, NULL, &e->c.conn));
	ASSERT_EQ(0, rpma_ep_next_conn_req(e->ep, NULL, &req));
	return req;
}

/* ---- events ---- */

TEST_F_TIMEOUT(lib, either_side_disconnects, WAIT_SECONDS)
{
	for (int i = 0; i < 2; i++) {
		ends_connect(_metadata, &self->e, NULL);
		ASSERT_EQ(0, rpma_conn_disconnect(i ? self->e.s.conn : self->e.c.conn));
		EXPECT_EVENT(self->e.c.conn, RPMA_CONN_CLOSED);
		EXPECT_EVENT(self->e.s.conn, RPMA_CONN_CLOSED);
		ASSERT_EQ(0, rpma_conn_disconnect(i ? self->e.c.conn : self->e.s.conn));
		ASSERT_EQ(0, rpma_conn_delete(&self->e.c.conn));
		ASSERT_EQ(0, rpma_conn_delete(&self->e.s.conn));
		EXPECT_EQ(NULL, self->e.c.conn);
	}
}

TEST_F_TIMEOUT(lib, delete_of_a_request_rejects, WAIT_SECONDS)
{
	struct rpma_conn_req *req = knock(_metadata, &self->e);

	ASSERT_EQ(0, rpma_conn_req_delete(&req));
	EXPECT_EQ(NULL, req);
	EXPECT_EVENT(self->e.c.conn, RPMA_CONN_REJECTED);
}

TEST_F_TIMEOUT(lib, nobody_listens_is_rejected, WAIT_SECONDS)
{
	struct rpma_conn_req *req = NULL;

	ASSERT_EQ(0, rpma_conn_req_new(self->e.peer, test_addr4(), "7299", NULL, &req));
	ASSERT_EQ(0, rpma_conn_req_connect(&req, NULL, &self->e.c.conn));
	EXPECT_EVENT(self->e.c.conn, RPMA_CONN_REJECTED);
}

TEST_F_TIMEOUT(lib, nonblocking_descriptors_say_so, WAIT_SECONDS)
{
	struct rpma_conn_req *req = NULL;
	enum rpma_conn_event event;
	int fd;

	ASSERT_EQ(0, rpma_ep_get_fd(self->e.ep, &fd));
	set_nonblock(fd);
	EXPECT_EQ(RPMA_E_NO_EVENT, rpma_ep_next_conn_req(self->e.ep, NULL, &req));
	fcntl(fd, F_SETFL, 0);
	ends_connect(_metadata, &self->e, NULL);
	ASSERT_EQ(0, rpma_conn_get_event_fd(self->e.c.conn, &fd));
	set_nonblock(fd);
	EXPECT_EQ(0, POLLIN & poll_for(fd, POLLIN, 0));
	EXPECT_EQ(RPMA_E_NO_EVENT, rpma_conn_next_event(self->e.c.conn, &event));
	ASSERT_EQ(0, rpma_conn_disconnect(self->e.s.conn));
	EXPECT_NE(0, POLLIN & poll_for(fd, POLLIN, WAIT_MS));
	EXPECT_EVENT(self->e.c.conn, RPMA_CONN_CLOSED);
	ASSERT_EQ(0, rpma_cq_get_fd(self->e.c.cq, &fd));
	set_nonblock(fd);
	EXPECT_EQ(RPMA_E_NO_COMPLETION, rpma_cq_wait(self->e.c.cq));
}

TEST_F_TIMEOUT(lib, requests_before_established_fail, WAIT_SECONDS)
{
	struct rpma_conn_req *req = knock(_metadata, &self->e);

	EXPECT_EQ(RPMA_E_PROVIDER, rpma_flush(self->e.c.conn, self->e.c.remote, 0, 8,
					      RPMA_FLUSH_TYPE_VISIBILITY, ALWAYS, NULL));
	EXPECT_EQ(ENOTCONN, errno);
	ASSERT_EQ(0, rpma_conn_req_delete(&req));
}

TEST_F_TIMEOUT(lib, recv_posted_with_the_request_gets_the_first_message, WAIT_SECONDS)
{
	struct rpma_conn_req *req = NULL;

	ASSERT_EQ(0, rpma_conn_req_new(self->e.peer, test_addr4(), PORT, NULL, &req));
	ASSERT_EQ(0, rpma_conn_req_recv(req, self->e.c.mr, 0, 64, CONTEXT(1)));
	ASSERT_EQ(0, rpma_conn_req_connect(&req, NULL, &self->e.c.conn));
	ASSERT_EQ(0, rpma_ep_next_conn_req(self->e.ep, NULL, &req));
	ASSERT_EQ(0, rpma_conn_req_recv(req, self->e.s.mr, 0, 64, CONTEXT(2)));
	ASSERT_EQ(0, rpma_conn_req_connect(&req, NULL, &self->e.s.conn));
	end_established(_metadata, &self->e.s);
	ASSERT_EQ(0, rpma_send(self->e.s.conn, self->e.s.mr, 64, 5, ON_ERROR, NULL));
	end_established(_metadata, &self->e.c);
	ASSERT_EQ(0, rpma_send(self->e.c.conn, self->e.c.mr, 64, 6, ON_ERROR, NULL));
	EXPECT_EQ(5, expect_wc(self->e.c.cq, 1, IBV_WC_SUCCESS).byte_len);
	EXPECT_EQ(6, expect_wc(self->e.s.cq, 2, IBV_WC_SUCCESS).byte_len);
}

TEST_F_TIMEOUT(lib, private_data_goes_both_ways, WAIT_SECONDS)
{
	__u8 bytes[196];
	struct rpma_conn_private_data ask = { .ptr = bytes, .len = 56 };
	struct rpma_conn_private_data reply = { .ptr = bytes, .len = 196 }, got;
	struct rpma_conn_req *req = NULL;

	for (int i = 0; i < 196; i++)
		bytes[i] = 255 - i;
	ASSERT_EQ(0, rpma_conn_req_new(self->e.peer, test_addr4(), PORT, NULL, &req));
	ASSERT_EQ(0, rpma_conn_req_connect(&req, &ask, &self->e.c.conn));
	ASSERT_EQ(0, rpma_ep_next_conn_req(self->e.ep, NULL, &req));
	ASSERT_EQ(0, rpma_conn_req_get_private_data(req, &got));
	ASSERT_EQ(56, got.len);
	EXPECT_EQ(0, memcmp(bytes, got.ptr, 56));
	ASSERT_EQ(0, rpma_conn_req_connect(&req, &reply, &self->e.s.conn));
	end_established(_metadata, &self->e.c);
	ASSERT_EQ(0, rpma_conn_get_private_data(self->e.c.conn, &got));
	ASSERT_EQ(196, got.len);
	EXPECT_EQ(0, memcmp(bytes, got.ptr, 196));
}

TEST_F_TIMEOUT(lib, empty_private_data_is_inval_and_frees_the_request, WAIT_SECONDS)
{
	struct rpma_conn_private_data none = { .ptr = NULL, .len = 0 };
	struct rpma_conn_req *req = NULL;

	ASSERT_EQ(0, rpma_conn_req_new(self->e.peer, test_addr4(), PORT, NULL, &req));
	EXPECT_EQ(RPMA_E_INVAL, rpma_conn_req_connect(&req, &none, &self->e.c.conn));
	EXPECT_EQ(NULL, req);
}

/* ---- configurations ---- */

TEST_F_TIMEOUT(lib, queue_sizes_of_the_configuration, WAIT_SECONDS)
{
	struct rpma_conn_cfg *cfg = NULL;
	struct rpma_cq *rcq = NULL;
	uint32_t size = 0;
	int timeout = 0;

	ASSERT_EQ(0, rpma_conn_cfg_new(&cfg));
	ASSERT_EQ(0, rpma_conn_cfg_get_timeout(cfg, &timeout));
	EXPECT_EQ(RPMA_DEFAULT_TIMEOUT_MS, timeout);
	ASSERT_EQ(0, rpma_conn_cfg_get_sq_size(cfg, &size));
	EXPECT_EQ(10, size);
	ASSERT_EQ(0, rpma_conn_cfg_get_rq_size(cfg, &size));
	EXPECT_EQ(10, size);
	ASSERT_EQ(0, rpma_conn_cfg_get_cq_size(cfg, &size));
	EXPECT_EQ(10, size);
	ASSERT_EQ(0, rpma_conn_cfg_get_rcq_size(cfg, &size));
	EXPECT_EQ(0, size);
	ASSERT_EQ(0, rpma_conn_cfg_set_sq_size(cfg, 1));
	ASSERT_EQ(0, rpma_conn_cfg_set_cq_size(cfg, 1));
	ASSERT_EQ(0, rpma_conn_cfg_set_rcq_size(cfg, 4));
	ASSERT_EQ(0, rpma_conn_cfg_set_rq_size(cfg, 4));
	ends_connect(_metadata, &self->e, cfg);
	ASSERT_EQ(0, rpma_conn_get_rcq(self->e.s.conn, &rcq));
	ASSERT_NE(NULL, rcq);
	ASSERT_EQ(0, rpma_recv(self->e.s.conn, self->e.s.mr, 0, 64, CONTEXT(1)));
	ASSERT_EQ(0, rpma_send(self->e.c.conn, self->e.c.mr, 0, 64, ALWAYS, CONTEXT(2)));
	expect_wc(rcq, 1, IBV_WC_SUCCESS);
	expect_wc(self->e.c.cq, 2, IBV_WC_SUCCESS);
	/* A send queue of one entry takes a stream all the same. */
	for (int i = 0; i < 100; i++)
		ASSERT_EQ(0, rpma_flush(self->e.c.conn, self->e.c.remote, 0, 8,
					RPMA_FLUSH_TYPE_VISIBILITY, ON_ERROR, NULL));
	ASSERT_EQ(0, rpma_conn_cfg_delete(&cfg));
}

TEST_F_TIMEOUT(lib, no_receive_queue_unless_asked_for, WAIT_SECONDS)
{
	struct rpma_cq *rcq = (void *)1;
	uint32_t client = 0, server = 0;

	ends_connect(_metadata, &self->e, NULL);
	ASSERT_EQ(0, rpma_conn_get_rcq(self->e.c.conn, &rcq));
	EXPECT_EQ(NULL, rcq);
	ASSERT_EQ(0, rpma_conn_get_qp_num(self->e.c.conn, &client));
	ASSERT_EQ(0, rpma_conn_get_qp_num(self->e.s.conn, &server));
	EXPECT_NE(0, client);
	EXPECT_NE(client, server);
}

/* ---- descriptors: what travels between machines ---- */

TEST_F_TIMEOUT(lib, region_descriptor_is_that_of_librpma, WAIT_SECONDS)
{
	__u64 addr = (uintptr_t)self->e.c.buf, length = BUF_SIZE;
	struct rpma_mr_remote *remote = NULL;
	__u8 desc[DESC_SIZE];
	int type = 0;
	size_t size;

	ASSERT_EQ(0, rpma_mr_get_descriptor(self->e.c.mr, desc));
	EXPECT_EQ(0, memcmp(desc, &addr, 8));
	EXPECT_EQ(0, memcmp(desc + 8, &length, 8));
	EXPECT_EQ(USAGE_ALL, desc[20]);
	ASSERT_EQ(0, rpma_mr_remote_from_descriptor(desc, DESC_SIZE, &remote));
	ASSERT_EQ(0, rpma_mr_remote_get_size(remote, &size));
	EXPECT_EQ(BUF_SIZE, size);
	ASSERT_EQ(0, rpma_mr_remote_get_flush_type(remote, &type));
	EXPECT_EQ(RPMA_MR_USAGE_FLUSH_TYPE_VISIBILITY | RPMA_MR_USAGE_FLUSH_TYPE_PERSISTENT,
		  type);
	ASSERT_EQ(0, rpma_mr_remote_delete(&remote));
	EXPECT_EQ(RPMA_E_INVAL, rpma_mr_remote_from_descriptor(desc, DESC_SIZE - 1, &remote));
	desc[20] = 0;
	EXPECT_EQ(RPMA_E_INVAL, rpma_mr_remote_from_descriptor(desc, DESC_SIZE, &remote));
}

TEST_F(lib, dram_is_persistent_only_if_declared)
{
	struct rpma_mr_local *mr = NULL;
	struct rpma_peer *peer;

	unsetenv("RPMA_PERSISTENT_BY_READ");
	peer = lib_peer(_metadata);
	EXPECT_EQ(RPMA_E_PROVIDER, rpma_mr_reg(peer, self->e.c.buf, 4096,
					       RPMA_MR_USAGE_WRITE_DST |
					       RPMA_MR_USAGE_FLUSH_TYPE_PERSISTENT, &mr));
	EXPECT_EQ(EOPNOTSUPP, errno);
	EXPECT_EQ(NULL, mr);
	EXPECT_EQ(0, rpma_mr_reg(peer, self->e.c.buf, 4096, RPMA_MR_USAGE_WRITE_DST |
				 RPMA_MR_USAGE_FLUSH_TYPE_VISIBILITY, &mr));
	EXPECT_EQ(0, rpma_mr_dereg(&mr));
	EXPECT_EQ(0, rpma_peer_delete(&peer));
}

TEST(peer_descriptor_is_one_byte)
{
	struct rpma_peer_cfg *pcfg = NULL, *copy = NULL;
	bool direct = true;
	size_t size = 0;
	__u8 desc = 0xff;

	ASSERT_EQ(0, rpma_peer_cfg_new(&pcfg));
	ASSERT_EQ(0, rpma_peer_cfg_get_direct_write_to_pmem(pcfg, &direct));
	EXPECT_FALSE(direct);
	ASSERT_EQ(0, rpma_peer_cfg_set_direct_write_to_pmem(pcfg, true));
	ASSERT_EQ(0, rpma_peer_cfg_get_descriptor_size(pcfg, &size));
	ASSERT_EQ(1, size);
	ASSERT_EQ(0, rpma_peer_cfg_get_descriptor(pcfg, &desc));
	EXPECT_EQ(1, desc);
	ASSERT_EQ(0, rpma_peer_cfg_from_descriptor(&desc, 1, &copy));
	ASSERT_EQ(0, rpma_peer_cfg_get_direct_write_to_pmem(copy, &direct));
	EXPECT_TRUE(direct);
	ASSERT_EQ(0, rpma_peer_cfg_delete(&pcfg));
	ASSERT_EQ(0, rpma_peer_cfg_delete(&copy));
}

/* ---- words ---- */

TEST(every_error_and_event_has_its_own_words)
{
	const char *words[17];

	for (int i = 0; i < 10; i++)
		words[i] = rpma_err_2str(RPMA_E_UNKNOWN - i);
	words[10] = rpma_err_2str(0);
	for (int i = 0; i < 6; i++)
		words[11 + i] = rpma_utils_conn_event_2str(RPMA_CONN_UNDEFINED + i);
	for (int i = 0; i < 17; i++) {
		ASSERT_LT(0, strlen(words[i]));
		for (int j = 0; j < i; j++)
			EXPECT_NE(0, strcmp(words[i], words[j]))
				TH_LOG("twice: %s", words[i]);
	}
	EXPECT_LT(0, strlen(rpma_err_2str(12345)));
	EXPECT_LT(0, strlen(rpma_utils_conn_event_2str(99)));
}

/* Nobody receives the message: by default that is waited for much longer. */
TEST_F_TIMEOUT(lib, environment_says_how_long_a_peer_may_be_silent, WAIT_SECONDS)
{
	long long begin = now_ms();
	struct ends e;

	rpma_ep_shutdown(&self->e.ep);
	setenv("RPMA_PEER_TIMEOUT_MS", "300", 1);
	ends_prepare(_metadata, &e);
	unsetenv("RPMA_PEER_TIMEOUT_MS");
	ends_connect(_metadata, &e, NULL);
	ASSERT_EQ(0, rpma_send(e.c.conn, e.c.mr, 0, 8, ALWAYS, CONTEXT(1)));
	expect_wc(e.c.cq, 1, IBV_WC_WR_FLUSH_ERR);
	EXPECT_EVENT(e.c.conn, RPMA_CONN_LOST);
	EXPECT_GT(15000, now_ms() - begin);
	ends_close(&e);
}

/* ---- the environment says how flushes travel ---- */

static char log_text[4096];

static void keep_log(enum rpma_log_level level, const char *file_name, const int line_no,
		     const char *function_name, const char *message_format, ...)
{
	size_t len = strlen(log_text);
	va_list args;

	va_start(args, message_format);
	vsnprintf(log_text + len, sizeof(log_text) - len, message_format, args);
	va_end(args);
}

static void log_from_here(void)
{
	log_text[0] = '\0';
	rpma_log_set_function(keep_log);
	rpma_log_set_threshold(RPMA_LOG_THRESHOLD, RPMA_LOG_LEVEL_NOTICE);
}

TEST_F_TIMEOUT(lib, native_flush_that_cannot_be_is_nosupp, WAIT_SECONDS)
{
	struct rpma_conn_req *req = NULL;
	struct rpma_peer *plain;

	ends_close(&self->e);
	ends_prepare_with(_metadata, &self->e, "native");
	log_from_here();
	if (test_is_native()) {
		ends_connect(_metadata, &self->e, NULL);
		EXPECT_NE(NULL, strstr(log_text, "travel as FLUSH, as RPMA_FLUSH_METHOD"));
		return;
	}
	errno = 0;
	EXPECT_EQ(RPMA_E_NOSUPP, rpma_conn_req_new(self->e.peer, test_addr4(), PORT, NULL, &req));
	EXPECT_EQ(EOPNOTSUPP, errno);
	EXPECT_EQ(NULL, req);
	EXPECT_NE(NULL, strstr(log_text, "RPMA_FLUSH_METHOD=native"));
	/* And who comes is turned away. */
	plain = lib_peer(_metadata);
	ASSERT_EQ(0, rpma_conn_req_new(plain, test_addr4(), PORT, NULL, &req));
	ASSERT_EQ(0, rpma_conn_req_connect(&req, NULL, &self->e.c.conn));
	EXPECT_EQ(RPMA_E_NOSUPP, rpma_ep_next_conn_req(self->e.ep, NULL, &req));
	EXPECT_EVENT(self->e.c.conn, RPMA_CONN_REJECTED);
	ASSERT_EQ(0, rpma_conn_delete(&self->e.c.conn));
	ASSERT_EQ(0, rpma_peer_delete(&plain));
}

TEST_F_TIMEOUT(lib, log_says_how_flushes_of_a_connection_travel, WAIT_SECONDS)
{
	log_from_here();
	ends_connect(_metadata, &self->e, NULL);
	EXPECT_NE(NULL, strstr(log_text, test_is_native() ?
			       "flushes of this connection travel as FLUSH, which the device" :
			       "flushes of this connection travel as READ after WRITE, since"));
	EXPECT_EQ(NULL, strstr(log_text, "does not run rpma"));
}

/* ---- threads ---- */

#define THREADS 8

struct worker {
	struct rpma_peer *peer;
	int failed;
};

static void *register_and_forget(void *arg)
{
	struct worker *w = arg;
	static __u8 buf[4096];

	for (int i = 0; i < 200 && !w->failed; i++) {
		struct rpma_mr_local *mr = NULL;

		w->failed = rpma_mr_reg(w->peer, buf, sizeof(buf), USAGE_ALL, &mr) ||
			    rpma_mr_dereg(&mr);
	}
	return NULL;
}

TEST_F_TIMEOUT(lib, threads_register_at_the_same_time, WAIT_SECONDS)
{
	struct worker workers[THREADS];
	pthread_t threads[THREADS];

	for (int i = 0; i < THREADS; i++) {
		workers[i] = (struct worker){ .peer = self->e.peer };
		ASSERT_EQ(0, pthread_create(&threads[i], NULL, register_and_forget, &workers[i]));
	}
	for (int i = 0; i < THREADS; i++) {
		ASSERT_EQ(0, pthread_join(threads[i], NULL));
		EXPECT_EQ(0, workers[i].failed);
	}
}

TEST_HARNESS_MAIN
