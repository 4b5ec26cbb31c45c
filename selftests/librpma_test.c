// SPDX-License-Identifier: GPL-2.0
/*
 * The library as its users know it: connect, write, flush, messages, events.
 * Runs as an ordinary user on a machine without /dev/infiniband.
 */
#include "librpma_ends.h"

#include <pthread.h>

FIXTURE(librpma) {
	struct ends e;
	struct end *c;
	struct end *s;
};

FIXTURE_SETUP(librpma)
{
	SKIP_WITHOUT_RPMA();
	ends_prepare(_metadata, &self->e);
	ends_connect(_metadata, &self->e, NULL);
	self->c = &self->e.c;
	self->s = &self->e.s;
}

FIXTURE_TEARDOWN(librpma)
{
	ends_close(&self->e);
}

static void expect_works(struct __test_metadata *_metadata, struct ends *e)
{
	static __u8 byte = 1;

	byte++;
	memset(e->c.buf, byte, 100);
	memset(e->s.buf, 0, 100);
	ASSERT_EQ(0, rpma_write(e->c.conn, e->c.remote, 0, e->c.mr, 0, 100, ON_ERROR, NULL));
	ASSERT_EQ(0, rpma_flush(e->c.conn, e->c.remote, 0, 100, RPMA_FLUSH_TYPE_VISIBILITY,
				ALWAYS, CONTEXT(77)));
	expect_wc(e->c.cq, 77, IBV_WC_SUCCESS);
	ASSERT_EQ(0, memcmp(e->c.buf, e->s.buf, 100));
}

TEST_F_TIMEOUT(librpma, write_and_flush, WAIT_SECONDS)
{
	for (int i = 0; i < 100; i++)
		expect_works(_metadata, &self->e);
}

/* ---- flush: the arguments, in the order and cases of the manual ---- */

#define GIB (1ULL << 30)
#define VISIBILITY RPMA_FLUSH_TYPE_VISIBILITY
#define PERSISTENT RPMA_FLUSH_TYPE_PERSISTENT

TEST_F_TIMEOUT(librpma, flush_arguments, WAIT_SECONDS)
{
	struct rpma_conn *conn = self->c->conn;
	struct rpma_mr_remote *dst = self->c->remote;

	EXPECT_EQ(RPMA_E_INVAL, rpma_flush(NULL, dst, 0, 8, VISIBILITY, ALWAYS, NULL));
	EXPECT_EQ(RPMA_E_INVAL, rpma_flush(conn, NULL, 0, 8, VISIBILITY, ALWAYS, NULL));
	EXPECT_EQ(RPMA_E_INVAL, rpma_flush(conn, dst, 0, 8, VISIBILITY, 0, NULL));
	EXPECT_EQ(RPMA_E_INVAL, rpma_flush(conn, dst, 0, 8, PERSISTENT, 0, NULL));
	EXPECT_EQ(RPMA_E_INVAL, rpma_flush(NULL, NULL, 0, 0, PERSISTENT, 0, NULL));
	for (int type = 2; type < 1000; type = type * 3 + 1)
		EXPECT_EQ(RPMA_E_INVAL, rpma_flush(conn, dst, 0, 8, type, ALWAYS, NULL));
	EXPECT_EQ(RPMA_E_INVAL, rpma_flush(conn, dst, 0, 8, -1, ALWAYS, NULL));
	expect_works(_metadata, &self->e);
}

/* type x usage x direct write */
TEST_F_TIMEOUT(librpma, flush_type_gate, WAIT_SECONDS)
{
	const int usages[] = { 0, RPMA_MR_USAGE_FLUSH_TYPE_VISIBILITY,
			       RPMA_MR_USAGE_FLUSH_TYPE_PERSISTENT,
			       RPMA_MR_USAGE_FLUSH_TYPE_VISIBILITY |
			       RPMA_MR_USAGE_FLUSH_TYPE_PERSISTENT };

	/* So that PERSISTENT on DRAM, which no FLUSH grants, tells what was let through. */
	ends_close(&self->e);
	ends_prepare_with(_metadata, &self->e, "read");
	ends_connect(_metadata, &self->e, NULL);
	for (int i = 0; i < 16; i++) {
		bool persistent = i & 1, direct = i & 2;
		int usage = usages[i / 4], ret;
		struct rpma_mr_remote *dst;
		struct rpma_mr_local *mr;
		bool allowed;

		ASSERT_EQ(0, rpma_mr_reg(self->e.peer, self->s->buf, 4096,
					 RPMA_MR_USAGE_WRITE_DST | usage, &mr));
		dst = lib_remote(_metadata, mr);
		apply_direct_write(_metadata, self->c->conn, direct);
		ret = rpma_flush(self->c->conn, dst, 0, 8, persistent ? PERSISTENT : VISIBILITY,
				 ALWAYS, CONTEXT(i));
		allowed = persistent ? direct && (usage & RPMA_MR_USAGE_FLUSH_TYPE_PERSISTENT) :
				       usage & RPMA_MR_USAGE_FLUSH_TYPE_VISIBILITY;
		ASSERT_EQ(allowed ? 0 : RPMA_E_NOSUPP, ret)
			TH_LOG("combination %d", i);
		if (allowed)
			expect_wc(self->c->cq, i, IBV_WC_SUCCESS);
		rpma_mr_remote_delete(&dst);
		rpma_mr_dereg(&mr);
	}
	expect_works(_metadata, &self->e);
}

TEST_F_TIMEOUT(librpma, flush_every_length_at_every_region_end, WAIT_SECONDS)
{
	const size_t sizes[] = { 1, 4, 7, 8, 9, 4095, 4096, BUF_SIZE };

	for (int i = 0; i < 8; i++) {
		struct rpma_mr_remote *dst;
		struct rpma_mr_local *mr;

		ASSERT_EQ(0, rpma_mr_reg(self->e.peer, self->s->buf + BUF_SIZE - sizes[i],
					 sizes[i], USAGE_ALL, &mr));
		dst = lib_remote(_metadata, mr);
		for (size_t len = 0; len <= sizes[i]; len += len < 9 ? 1 : sizes[i] / 2) {
			struct ibv_wc wc;

			ASSERT_EQ(0, rpma_flush(self->c->conn, dst, sizes[i] - len, len,
						VISIBILITY, ALWAYS, CONTEXT(len)));
			wc = expect_wc(self->c->cq, len, IBV_WC_SUCCESS);
			ASSERT_EQ(len, wc.byte_len);
			ASSERT_EQ(test_is_native() ? IBV_WC_FLUSH : IBV_WC_RDMA_READ, wc.opcode);
		}
		EXPECT_EQ(RPMA_E_INVAL, rpma_flush(self->c->conn, dst, sizes[i], 1, VISIBILITY,
						   ALWAYS, NULL));
		EXPECT_EQ(RPMA_E_INVAL, rpma_flush(self->c->conn, dst, 1, SIZE_MAX, VISIBILITY,
						   ALWAYS, NULL));
		EXPECT_EQ(RPMA_E_INVAL, rpma_flush(self->c->conn, dst, SIZE_MAX, 1, VISIBILITY,
						   ALWAYS, NULL));
		rpma_mr_remote_delete(&dst);
		rpma_mr_dereg(&mr);
	}
	expect_works(_metadata, &self->e);
}

/* A description of the server's region that has room for more than it has. */
static struct rpma_mr_remote *lib_remote_too_long(struct __test_metadata *_metadata,
						  const struct rpma_mr_local *mr)
{
	const __u64 length = 64 * GIB;
	struct rpma_mr_remote *remote = NULL;
	__u8 desc[DESC_SIZE];

	ASSERT_EQ(0, rpma_mr_get_descriptor(mr, desc));
	memcpy(desc + 8, &length, sizeof(length));
	ASSERT_EQ(0, rpma_mr_remote_from_descriptor(desc, sizeof(desc), &remote));
	return remote;
}

/* It takes one READ, or several FLUSHes, of which the first fails here. */
TEST_F_TIMEOUT(librpma, flush_longer_than_one_is_one_request, WAIT_SECONDS)
{
	struct rpma_mr_remote *dst = lib_remote_too_long(_metadata, self->s->mr);
	struct rpma_conn *conn = self->c->conn;
	struct ibv_wc wc;

	if (test_is_native()) {
		ASSERT_EQ(RPMA_E_PROVIDER, rpma_flush(conn, dst, 0, 21 * GIB, VISIBILITY, ALWAYS,
						      CONTEXT(1)));
		EXPECT_EQ(EMSGSIZE, errno);
		expect_works(_metadata, &self->e);
		ASSERT_EQ(0, rpma_flush(conn, dst, 0, 9 * GIB, VISIBILITY, ON_ERROR, CONTEXT(2)));
		ASSERT_EQ(0, rpma_flush(conn, dst, 0, 5 * GIB, VISIBILITY, ALWAYS, CONTEXT(3)));
		expect_wc(self->c->cq, 2, IBV_WC_REM_ACCESS_ERR);
		expect_wc(self->c->cq, 3, IBV_WC_WR_FLUSH_ERR);
	} else {
		ASSERT_EQ(0, rpma_flush(conn, dst, 0, 21 * GIB, VISIBILITY, ALWAYS, CONTEXT(1)));
		wc = expect_wc(self->c->cq, 1, IBV_WC_SUCCESS);
		EXPECT_EQ(UINT32_MAX, wc.byte_len);
		expect_works(_metadata, &self->e);
	}
	EXPECT_EQ(RPMA_E_NO_COMPLETION, rpma_cq_get_wc(self->c->cq, 1, &wc, NULL));
	rpma_mr_remote_delete(&dst);
}

/* ---- the method ---- */

static void expect_opcodes(struct __test_metadata *_metadata, struct ends *e, bool native)
{
	struct end *c = &e->c;

	ASSERT_EQ(0, rpma_flush(c->conn, c->remote, 0, 8, VISIBILITY, ALWAYS, CONTEXT(1)));
	EXPECT_EQ(native ? IBV_WC_FLUSH : IBV_WC_RDMA_READ,
		  expect_wc(c->cq, 1, IBV_WC_SUCCESS).opcode);
	ASSERT_EQ(0, rpma_atomic_write(c->conn, c->remote, 0, "12345678", ALWAYS, CONTEXT(2)));
	EXPECT_EQ(native ? IBV_WC_ATOMIC_WRITE : IBV_WC_RDMA_WRITE,
		  expect_wc(c->cq, 2, IBV_WC_SUCCESS).opcode);
	expect_works(_metadata, e);
}

TEST_F_TIMEOUT(librpma, opcode_is_that_of_the_method, WAIT_SECONDS)
{
	const char *words[] = { "auto", "read", "native" };

	expect_opcodes(_metadata, &self->e, test_is_native());
	for (int i = 0; i < (test_is_native() ? 3 : 2); i++) {
		ends_close(&self->e);
		ends_prepare_with(_metadata, &self->e, words[i]);
		ends_connect(_metadata, &self->e, NULL);
		expect_opcodes(_metadata, &self->e, test_is_native() && i != 1);
	}
}

/* FLUSH asks what the region's memory is, and READ what the program declared. */
TEST_F_TIMEOUT(librpma, persistent_on_dram_is_refused_natively, WAIT_SECONDS)
{
	struct end *c = self->c;

	apply_direct_write(_metadata, c->conn, true);
	ASSERT_EQ(0, rpma_flush(c->conn, c->remote, 0, 8, PERSISTENT, ALWAYS, CONTEXT(1)));
	expect_wc(c->cq, 1, test_is_native() ? IBV_WC_REM_ACCESS_ERR : IBV_WC_SUCCESS);
}

/* ---- completions ---- */

TEST_F_TIMEOUT(librpma, on_error_stream_of_100_queue_depths, WAIT_SECONDS)
{
	for (int i = 0; i < 1000; i++)
		ASSERT_EQ(0, rpma_flush(self->c->conn, self->c->remote, i, 8, VISIBILITY,
					ON_ERROR, CONTEXT(i)))
			TH_LOG("%s", strerror(errno));
	/* Its completion is the only one. */
	expect_works(_metadata, &self->e);
	EXPECT_EQ(RPMA_E_NO_COMPLETION, rpma_cq_get_wc(self->c->cq, 1, &(struct ibv_wc){}, NULL));
}

TEST_F_TIMEOUT(librpma, on_error_chain_names_the_one_that_failed, WAIT_SECONDS)
{
	struct rpma_mr_remote *gone;
	struct rpma_mr_local *mr;

	ASSERT_EQ(0, rpma_mr_reg(self->e.peer, self->s->buf, 4096, USAGE_ALL, &mr));
	gone = lib_remote(_metadata, mr);
	ASSERT_EQ(0, rpma_mr_dereg(&mr));
	for (int i = 1; i <= 8; i++)
		ASSERT_EQ(0, rpma_flush(self->c->conn, i == 3 ? gone : self->c->remote, 0, 8,
					VISIBILITY, i == 8 ? ALWAYS : ON_ERROR, CONTEXT(i)));
	expect_wc(self->c->cq, 3, IBV_WC_REM_ACCESS_ERR);
	for (int i = 4; i <= 8; i++)
		expect_wc(self->c->cq, i, IBV_WC_WR_FLUSH_ERR);
	EXPECT_EQ(RPMA_E_NO_COMPLETION, rpma_cq_get_wc(self->c->cq, 1, &(struct ibv_wc){}, NULL));
	rpma_mr_remote_delete(&gone);
}

TEST_F_TIMEOUT(librpma, full_queue_says_again_and_loses_nothing, WAIT_SECONDS)
{
	uintptr_t posted = 0, reaped = 0;

	for (int round = 0; round < 5; round++) {
		int ret;

		while (!(ret = rpma_flush(self->c->conn, self->c->remote, 0, 8, VISIBILITY, ALWAYS,
					  CONTEXT(posted)))) {
			posted++;
			ASSERT_GT(10000, posted - reaped);
		}
		ASSERT_EQ(RPMA_E_PROVIDER, ret);
		ASSERT_EQ(EAGAIN, errno);
		ASSERT_LE(10, posted - reaped);
		while (reaped < posted)
			expect_wc(self->c->cq, reaped++, IBV_WC_SUCCESS);
	}
	EXPECT_EQ(RPMA_E_NO_COMPLETION, rpma_cq_get_wc(self->c->cq, 1, &(struct ibv_wc){}, NULL));
}

TEST_F_TIMEOUT(librpma, several_completions_at_once, WAIT_SECONDS)
{
	struct ibv_wc wc[16];
	int got, sum = 0;

	for (int i = 0; i < 5; i++)
		ASSERT_EQ(0, rpma_flush(self->c->conn, self->c->remote, 0, 8, VISIBILITY, ALWAYS,
					CONTEXT(i)));
	while (sum < 5) {
		ASSERT_EQ(0, rpma_cq_wait(self->c->cq));
		if (rpma_cq_get_wc(self->c->cq, 16, wc, &got))
			continue;
		for (int i = 0; i < got; i++)
			ASSERT_EQ(sum++, wc[i].wr_id);
	}
	EXPECT_EQ(RPMA_E_INVAL, rpma_cq_get_wc(self->c->cq, 0, wc, &got));
	EXPECT_EQ(RPMA_E_INVAL, rpma_cq_get_wc(self->c->cq, 2, wc, NULL));
	EXPECT_EQ(RPMA_E_INVAL, rpma_cq_get_wc(NULL, 1, wc, NULL));
	EXPECT_EQ(RPMA_E_INVAL, rpma_cq_get_wc(self->c->cq, 1, NULL, NULL));
}

/* ---- the other requests ---- */

TEST_F_TIMEOUT(librpma, read_back_what_was_written, WAIT_SECONDS)
{
	memcpy(self->s->buf + 10, "far away", 8);
	ASSERT_EQ(0, rpma_read(self->c->conn, self->c->mr, 100, self->c->remote, 10, 8, ALWAYS,
			       CONTEXT(1)));
	EXPECT_EQ(IBV_WC_RDMA_READ, expect_wc(self->c->cq, 1, IBV_WC_SUCCESS).opcode);
	EXPECT_EQ(0, memcmp(self->c->buf + 100, "far away", 8));
}

TEST_F_TIMEOUT(librpma, nothing_can_be_written_and_read, WAIT_SECONDS)
{
	struct end *c = self->c;

	ASSERT_EQ(0, rpma_write(c->conn, NULL, 0, NULL, 0, 0, ALWAYS, CONTEXT(1)));
	expect_wc(c->cq, 1, IBV_WC_SUCCESS);
	ASSERT_EQ(0, rpma_read(c->conn, NULL, 0, NULL, 0, 0, ALWAYS, CONTEXT(2)));
	expect_wc(c->cq, 2, IBV_WC_SUCCESS);
	EXPECT_EQ(RPMA_E_INVAL, rpma_write(c->conn, NULL, 0, c->mr, 0, 1, ALWAYS, NULL));
	EXPECT_EQ(RPMA_E_INVAL, rpma_write(c->conn, c->remote, 0, NULL, 0, 1, ALWAYS, NULL));
	EXPECT_EQ(RPMA_E_INVAL, rpma_write(c->conn, NULL, 0, NULL, 0, 1, ALWAYS, NULL));
	EXPECT_EQ(RPMA_E_INVAL, rpma_write(c->conn, c->remote, 0, c->mr, 0, 1, 0, NULL));
	EXPECT_EQ(RPMA_E_INVAL, rpma_read(NULL, c->mr, 0, c->remote, 0, 1, ALWAYS, NULL));
}

TEST_F_TIMEOUT(librpma, atomic_write, WAIT_SECONDS)
{
	struct end *c = self->c;

	ASSERT_EQ(0, rpma_atomic_write(c->conn, c->remote, 8, "atomic8!", ALWAYS, CONTEXT(1)));
	expect_wc(c->cq, 1, IBV_WC_SUCCESS);
	expect_works(_metadata, &self->e);
	ASSERT_EQ(0, rpma_atomic_write(c->conn, c->remote, 8, "atomic9!", ON_ERROR, NULL));
	ASSERT_EQ(0, rpma_flush(c->conn, c->remote, 8, 8, VISIBILITY, ALWAYS, CONTEXT(2)));
	expect_wc(c->cq, 2, IBV_WC_SUCCESS);
	EXPECT_EQ(0, memcmp(self->s->buf + 8, "atomic9!", 8));
	for (int offset = 1; offset < 8; offset++)
		EXPECT_EQ(RPMA_E_INVAL, rpma_atomic_write(c->conn, c->remote, offset, "12345678",
							  ALWAYS, NULL));
	EXPECT_EQ(RPMA_E_INVAL, rpma_atomic_write(c->conn, c->remote, 0, NULL, ALWAYS, NULL));
	EXPECT_EQ(RPMA_E_INVAL, rpma_atomic_write(c->conn, c->remote, 0, "12345678", 0, NULL));
}

TEST_F_TIMEOUT(librpma, messages_and_immediates, WAIT_SECONDS)
{
	struct end *c = self->c, *s = self->s;
	struct ibv_wc wc;

	ASSERT_EQ(0, rpma_recv(s->conn, s->mr, 0, 64, CONTEXT(1)));
	ASSERT_EQ(0, rpma_recv(s->conn, s->mr, 64, 64, CONTEXT(2)));
	ASSERT_EQ(0, rpma_recv(s->conn, NULL, 0, 0, CONTEXT(3)));
	memcpy(c->buf, "message", 7);
	ASSERT_EQ(0, rpma_send(c->conn, c->mr, 0, 7, ALWAYS, CONTEXT(10)));
	ASSERT_EQ(0, rpma_send_with_imm(c->conn, c->mr, 0, 3, ALWAYS, 0xcafe, CONTEXT(11)));
	ASSERT_EQ(0, rpma_write_with_imm(c->conn, c->remote, 4096, c->mr, 0, 7, ALWAYS, 0xbabe,
					 CONTEXT(12)));
	wc = expect_wc(s->cq, 1, IBV_WC_SUCCESS);
	EXPECT_EQ(7, wc.byte_len);
	EXPECT_EQ(IBV_WC_RECV, wc.opcode);
	EXPECT_EQ(0, wc.wc_flags & IBV_WC_WITH_IMM);
	wc = expect_wc(s->cq, 2, IBV_WC_SUCCESS);
	EXPECT_EQ(3, wc.byte_len);
	EXPECT_EQ(IBV_WC_WITH_IMM, wc.wc_flags & IBV_WC_WITH_IMM);
	EXPECT_EQ(0xcafe, ntohl(wc.imm_data));
	wc = expect_wc(s->cq, 3, IBV_WC_SUCCESS);
	EXPECT_EQ(IBV_WC_RECV_RDMA_WITH_IMM, wc.opcode);
	EXPECT_EQ(0xbabe, ntohl(wc.imm_data));
	EXPECT_EQ(0, memcmp(s->buf, "message", 7));
	EXPECT_EQ(0, memcmp(s->buf + 64, "mes", 3));
	EXPECT_EQ(0, memcmp(s->buf + 4096, "message", 7));
	for (int i = 10; i <= 12; i++)
		expect_wc(c->cq, i, IBV_WC_SUCCESS);
}

/* ---- the main job, with a server thread as programs have it ---- */

struct server {
	struct rpma_peer *peer;
	struct rpma_ep *ep;
	__u8 *buf;
	int failed;
};

/* Describes its region, waits for the client's goodbye. */
static void *serve(void *arg)
{
	struct server *s = arg;
	struct rpma_conn_private_data pdata = {};
	struct rpma_mr_local *mr = NULL;
	struct rpma_conn_req *req = NULL;
	struct rpma_conn *conn = NULL;
	enum rpma_conn_event event;
	__u8 desc[DESC_SIZE];
	int failed;

	failed = rpma_mr_reg(s->peer, s->buf, BUF_SIZE, USAGE_ALL, &mr) ||
		 rpma_mr_get_descriptor(mr, desc) ||
		 rpma_ep_next_conn_req(s->ep, NULL, &req) ||
		 rpma_conn_req_get_private_data(req, &pdata) ||
		 pdata.len < 5 || memcmp(pdata.ptr, "hello", 5);
	pdata.ptr = desc;
	pdata.len = sizeof(desc);
	failed = failed || rpma_conn_req_connect(&req, &pdata, &conn) ||
		 rpma_conn_next_event(conn, &event) || event != RPMA_CONN_ESTABLISHED ||
		 rpma_conn_next_event(conn, &event) || event != RPMA_CONN_CLOSED ||
		 rpma_conn_disconnect(conn) || rpma_conn_delete(&conn) || rpma_mr_dereg(&mr);
	s->failed = failed;
	return NULL;
}

TEST_F_TIMEOUT(librpma, main_job_with_a_server_thread, WAIT_SECONDS)
{
	struct rpma_conn_private_data pdata = { .ptr = "hello", .len = 5 };
	struct server server = { .buf = map_pages(_metadata, BUF_SIZE) };
	struct rpma_mr_remote *dst = NULL;
	struct rpma_conn_req *req = NULL;
	struct end c = {};
	pthread_t thread;

	server.peer = lib_peer(_metadata);
	ASSERT_EQ(0, rpma_ep_listen(server.peer, test_addr4(), "7205", &server.ep));
	ASSERT_EQ(0, pthread_create(&thread, NULL, serve, &server));
	end_memory(_metadata, self->e.peer, &c);
	ASSERT_EQ(0, rpma_conn_req_new(self->e.peer, test_addr4(), "7205", NULL, &req));
	ASSERT_EQ(0, rpma_conn_req_connect(&req, &pdata, &c.conn));
	end_established(_metadata, &c);
	ASSERT_EQ(0, rpma_conn_get_private_data(c.conn, &pdata));
	ASSERT_LE(DESC_SIZE, pdata.len);
	ASSERT_EQ(0, rpma_mr_remote_from_descriptor(pdata.ptr, DESC_SIZE, &dst));

	for (int i = 0; i < BUF_SIZE; i++)
		c.buf[i] = i * 31;
	for (int i = 0; i < BUF_SIZE; i += 4096)
		ASSERT_EQ(0, rpma_write(c.conn, dst, i, c.mr, i, 4096, ON_ERROR, NULL));
	ASSERT_EQ(0, rpma_flush(c.conn, dst, 0, BUF_SIZE, VISIBILITY, ALWAYS, CONTEXT(5)));
	expect_wc(c.cq, 5, IBV_WC_SUCCESS);
	EXPECT_EQ(0, memcmp(c.buf, server.buf, BUF_SIZE));

	ASSERT_EQ(0, rpma_conn_disconnect(c.conn));
	EXPECT_EVENT(c.conn, RPMA_CONN_CLOSED);
	ASSERT_EQ(0, pthread_join(thread, NULL));
	EXPECT_EQ(0, server.failed);
	rpma_mr_remote_delete(&dst);
	end_close(&c);
	rpma_ep_shutdown(&server.ep);
	ASSERT_EQ(0, rpma_peer_delete(&server.peer));
}

TEST_HARNESS_MAIN
