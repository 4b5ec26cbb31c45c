// SPDX-License-Identifier: GPL-2.0
/*
 * The library's shared receive queues: where receives complete, in what order
 * and with whose number, how many there is room for, what cannot be combined.
 */
#include "librpma_ends.h"

#define CONNS 2
#define MESSAGE 64

FIXTURE(srq) {
	struct ends e;		/* its peer, endpoint and memory */
	struct end c[CONNS];	/* clients */
	struct end s[CONNS];	/* servers, as a rule on @srq */
	struct rpma_srq *srq;
	struct rpma_cq *rcq;
};

FIXTURE_SETUP(srq)
{
	SKIP_WITHOUT_RPMA();
	ends_prepare(_metadata, &self->e);
}

/* The peer can only go when nothing was left behind. */
FIXTURE_TEARDOWN(srq)
{
	for (int i = 0; i < CONNS; i++) {
		rpma_conn_delete(&self->c[i].conn);
		rpma_conn_delete(&self->s[i].conn);
	}
	if (self->srq)
		EXPECT_EQ(0, rpma_srq_delete(&self->srq));
	ends_close(&self->e);
	EXPECT_EQ(NULL, self->e.peer);
}

static struct rpma_srq *make_srq(struct __test_metadata *_metadata, struct rpma_peer *peer,
				 uint32_t rq_size, uint32_t rcq_size)
{
	struct rpma_srq_cfg *cfg = NULL;
	struct rpma_srq *srq = NULL;

	ASSERT_EQ(0, rpma_srq_cfg_new(&cfg));
	ASSERT_EQ(0, rpma_srq_cfg_set_rq_size(cfg, rq_size));
	ASSERT_EQ(0, rpma_srq_cfg_set_rcq_size(cfg, rcq_size));
	ASSERT_EQ(0, rpma_srq_new(peer, cfg, &srq));
	ASSERT_EQ(0, rpma_srq_cfg_delete(&cfg));
	return srq;
}

static struct rpma_conn_cfg *make_cfg(struct __test_metadata *_metadata, struct rpma_srq *srq,
				      uint32_t cq_size, uint32_t rcq_size)
{
	struct rpma_conn_cfg *cfg = NULL;

	ASSERT_EQ(0, rpma_conn_cfg_new(&cfg));
	ASSERT_EQ(0, rpma_conn_cfg_set_srq(cfg, srq));
	ASSERT_EQ(0, rpma_conn_cfg_set_cq_size(cfg, cq_size));
	ASSERT_EQ(0, rpma_conn_cfg_set_rcq_size(cfg, rcq_size));
	return cfg;
}

/* One connection, each side with a configuration of its own. */
static void connect_one(struct __test_metadata *_metadata, struct ends *e, struct end *c,
			struct end *s, const struct rpma_conn_cfg *c_cfg,
			const struct rpma_conn_cfg *s_cfg)
{
	struct rpma_conn_req *req = NULL;

	ASSERT_EQ(0, rpma_conn_req_new(e->peer, test_addr4(), PORT, c_cfg, &req));
	ASSERT_EQ(0, rpma_conn_req_connect(&req, NULL, &c->conn));
	ASSERT_EQ(0, rpma_ep_next_conn_req(e->ep, s_cfg, &req));
	ASSERT_EQ(0, rpma_conn_req_connect(&req, NULL, &s->conn));
	end_established(_metadata, c);
	end_established(_metadata, s);
}

/* Two clients on one shared queue of these sizes. */
static void connect_two(struct __test_metadata *_metadata, FIXTURE_DATA(srq) *self,
			uint32_t rq_size, uint32_t srq_rcq_size, uint32_t conn_rcq_size)
{
	struct rpma_conn_cfg *cfg;

	self->srq = make_srq(_metadata, self->e.peer, rq_size, srq_rcq_size);
	cfg = make_cfg(_metadata, self->srq, 1, conn_rcq_size);
	for (int i = 0; i < CONNS; i++)
		connect_one(_metadata, &self->e, &self->c[i], &self->s[i], NULL, cfg);
	ASSERT_EQ(0, rpma_conn_cfg_delete(&cfg));
	ASSERT_EQ(0, rpma_srq_get_rcq(self->srq, &self->rcq));
}

static void post(struct __test_metadata *_metadata, FIXTURE_DATA(srq) *self, unsigned int nr)
{
	ASSERT_EQ(0, rpma_srq_recv(self->srq, self->e.s.mr, nr * MESSAGE % BUF_SIZE, MESSAGE,
				   CONTEXT(nr)));
}

static void say(struct __test_metadata *_metadata, FIXTURE_DATA(srq) *self, int from, __u8 what)
{
	memset(self->e.c.buf, what, MESSAGE);
	ASSERT_EQ(0, rpma_send(self->c[from].conn, self->e.c.mr, 0, MESSAGE, ALWAYS, CONTEXT(99)));
	expect_wc(self->c[from].cq, 99, IBV_WC_SUCCESS);
}

static void expect_nothing(struct __test_metadata *_metadata, struct rpma_cq *cq)
{
	struct ibv_wc wc;

	EXPECT_EQ(RPMA_E_NO_COMPLETION, rpma_cq_get_wc(cq, 1, &wc, NULL));
}

/* Receive @nr took a message from client @from and completed in @cq. */
static void expect_said(struct __test_metadata *_metadata, FIXTURE_DATA(srq) *self,
			struct rpma_cq *cq, unsigned int nr, int from, __u8 what)
{
	struct ibv_wc wc = expect_wc(cq, nr, IBV_WC_SUCCESS);
	uint32_t qp_num = 0;

	ASSERT_EQ(0, rpma_conn_get_qp_num(self->s[from].conn, &qp_num));
	EXPECT_EQ(qp_num, wc.qp_num);
	EXPECT_EQ(IBV_WC_RECV, wc.opcode);
	EXPECT_EQ(MESSAGE, wc.byte_len);
	EXPECT_EQ(what, self->e.s.buf[nr * MESSAGE]);
	EXPECT_EQ(what, self->e.s.buf[nr * MESSAGE + MESSAGE - 1]);
}

/* ---- where receives complete ---- */

TEST_F_TIMEOUT(srq, its_own_queue_has_all_in_one_order, WAIT_SECONDS)
{
	struct rpma_cq *conn_rcq = (void *)1;

	connect_two(_metadata, self, 8, 8, 8);
	ASSERT_NE(NULL, self->rcq);
	for (unsigned int i = 0; i < 8; i++)
		post(_metadata, self, i);
	for (int i = 0; i < 8; i++)
		say(_metadata, self, i / 2 % 2, 10 + i);
	for (int i = 0; i < 8; i++)
		expect_said(_metadata, self, self->rcq, i, i / 2 % 2, 10 + i);
	for (int i = 0; i < CONNS; i++) {
		expect_nothing(_metadata, self->s[i].cq);
		ASSERT_EQ(0, rpma_conn_get_rcq(self->s[i].conn, &conn_rcq));
		EXPECT_EQ(NULL, conn_rcq);
	}
}

TEST_F_TIMEOUT(srq, without_one_the_connections_have_them, WAIT_SECONDS)
{
	connect_two(_metadata, self, 4, 0, 0);
	EXPECT_EQ(NULL, self->rcq);
	for (unsigned int i = 0; i < 4; i++)
		post(_metadata, self, i);
	for (int i = 0; i < 4; i++)
		say(_metadata, self, i % 2, 20 + i);
	for (int i = 0; i < 4; i++)
		expect_said(_metadata, self, self->s[i % 2].cq, i, i % 2, 20 + i);
}

TEST_F_TIMEOUT(srq, or_their_receive_queues, WAIT_SECONDS)
{
	struct rpma_cq *rcq[CONNS] = {};

	connect_two(_metadata, self, 4, 0, 1);
	for (unsigned int i = 0; i < 4; i++)
		post(_metadata, self, i);
	for (int i = 0; i < 4; i++)
		say(_metadata, self, i % 2, 30 + i);
	for (int i = 0; i < CONNS; i++) {
		ASSERT_EQ(0, rpma_conn_get_rcq(self->s[i].conn, &rcq[i]));
		ASSERT_NE(NULL, rcq[i]);
		expect_nothing(_metadata, self->s[i].cq);
	}
	for (int i = 0; i < 4; i++)
		expect_said(_metadata, self, rcq[i % 2], i, i % 2, 30 + i);
}

TEST_F_TIMEOUT(srq, a_shared_channel_tells_of_them, WAIT_SECONDS)
{
	struct rpma_cq *ready = NULL;
	struct rpma_conn_cfg *cfg;
	bool is_rcq = false;

	self->srq = make_srq(_metadata, self->e.peer, 4, 0);
	cfg = make_cfg(_metadata, self->srq, 1, 1);
	ASSERT_EQ(0, rpma_conn_cfg_set_compl_channel(cfg, true));
	connect_one(_metadata, &self->e, &self->c[0], &self->s[0], NULL, cfg);
	ASSERT_EQ(0, rpma_conn_cfg_delete(&cfg));
	post(_metadata, self, 0);
	say(_metadata, self, 0, 40);
	ASSERT_EQ(0, rpma_conn_wait(self->s[0].conn, 0, &ready, &is_rcq));
	EXPECT_TRUE(is_rcq);
	expect_said(_metadata, self, ready, 0, 0, 40);
}

TEST_F_TIMEOUT(srq, one_waits_for_them, WAIT_SECONDS)
{
	int fd = -1;

	connect_two(_metadata, self, 2, 2, 0);
	post(_metadata, self, 0);
	ASSERT_EQ(0, rpma_cq_get_fd(self->rcq, &fd));
	EXPECT_EQ(0, POLLIN & poll_for(fd, POLLIN, 0));
	say(_metadata, self, 1, 50);
	EXPECT_NE(0, POLLIN & poll_for(fd, POLLIN, WAIT_MS));
	ASSERT_EQ(0, rpma_cq_wait(self->rcq));
	expect_said(_metadata, self, self->rcq, 0, 1, 50);
}

TEST_F_TIMEOUT(srq, messages_with_immediate_take_them_too, WAIT_SECONDS)
{
	struct ibv_wc wc;

	connect_two(_metadata, self, 2, 2, 0);
	post(_metadata, self, 0);
	post(_metadata, self, 1);
	ASSERT_EQ(0, rpma_send_with_imm(self->c[0].conn, self->e.c.mr, 0, 5, ALWAYS, 0x1234,
					CONTEXT(98)));
	expect_wc(self->c[0].cq, 98, IBV_WC_SUCCESS);
	ASSERT_EQ(0, rpma_write_with_imm(self->c[1].conn, self->e.c.remote, 4096, self->e.c.mr, 0,
					 8, ALWAYS, 0x5678, CONTEXT(99)));
	expect_wc(self->c[1].cq, 99, IBV_WC_SUCCESS);
	wc = expect_wc(self->rcq, 0, IBV_WC_SUCCESS);
	EXPECT_EQ(IBV_WC_RECV, wc.opcode);
	EXPECT_EQ(0x1234, ntohl(wc.imm_data));
	wc = expect_wc(self->rcq, 1, IBV_WC_SUCCESS);
	EXPECT_EQ(IBV_WC_RECV_RDMA_WITH_IMM, wc.opcode);
	EXPECT_EQ(0x5678, ntohl(wc.imm_data));
}

/* ---- how many there is room for ---- */

/* Nothing is read before all have come, and the client asked for no success. */
static void many(struct __test_metadata *_metadata, FIXTURE_DATA(srq) *self,
		 uint32_t srq_rcq_size)
{
	struct rpma_cq *cq;

	connect_two(_metadata, self, 500, srq_rcq_size, 0);
	cq = self->rcq ? self->rcq : self->s[0].cq;
	for (unsigned int i = 0; i < 500; i++)
		post(_metadata, self, i);
	for (int i = 0; i < 499; i++)
		ASSERT_EQ(0, rpma_send(self->c[0].conn, self->e.c.mr, 0, 8, ON_ERROR, NULL));
	say(_metadata, self, 0, 60);
	for (int i = 0; i < 500; i++)
		expect_wc(cq, i, IBV_WC_SUCCESS);
	expect_nothing(_metadata, cq);
}

TEST_F_TIMEOUT(srq, more_than_its_own_queue_was_asked_to_hold, WAIT_SECONDS)
{
	many(_metadata, self, 1);
}

TEST_F_TIMEOUT(srq, more_than_the_main_queue_was_asked_to_hold, WAIT_SECONDS)
{
	many(_metadata, self, 0);
}

TEST_F_TIMEOUT(srq, full_is_provider_and_eagain, WAIT_SECONDS)
{
	unsigned int i = 0;
	int ret;

	ASSERT_EQ(0, rpma_srq_new(self->e.peer, NULL, &self->srq));
	while (!(ret = rpma_srq_recv(self->srq, self->e.s.mr, 0, 8, NULL)) && i < 10000)
		i++;
	EXPECT_EQ(RPMA_E_PROVIDER, ret);
	EXPECT_EQ(EAGAIN, errno);
	EXPECT_EQ(100, i);
}

/* ---- its life ---- */

TEST_F_TIMEOUT(srq, a_connection_that_ends_takes_none_along, WAIT_SECONDS)
{
	connect_two(_metadata, self, 4, 4, 0);
	post(_metadata, self, 0);
	post(_metadata, self, 1);
	say(_metadata, self, 0, 70);
	expect_said(_metadata, self, self->rcq, 0, 0, 70);
	ASSERT_EQ(0, rpma_conn_disconnect(self->c[0].conn));
	EXPECT_EVENT(self->s[0].conn, RPMA_CONN_CLOSED);
	ASSERT_EQ(0, rpma_conn_delete(&self->s[0].conn));
	say(_metadata, self, 1, 71);
	expect_said(_metadata, self, self->rcq, 1, 1, 71);
	expect_nothing(_metadata, self->rcq);
}

TEST_F_TIMEOUT(srq, deleted_early_it_serves_to_the_end, WAIT_SECONDS)
{
	connect_two(_metadata, self, 4, 4, 0);
	post(_metadata, self, 0);
	EXPECT_EQ(RPMA_E_PROVIDER, rpma_srq_delete(&self->srq));
	EXPECT_EQ(EBUSY, errno);
	EXPECT_EQ(NULL, self->srq);
	say(_metadata, self, 1, 80);
	expect_said(_metadata, self, self->rcq, 0, 1, 80);
}

TEST_F_TIMEOUT(srq, deleted_early_while_a_request_uses_it, WAIT_SECONDS)
{
	struct rpma_conn_req *req = NULL;
	struct rpma_conn_cfg *cfg;

	self->srq = make_srq(_metadata, self->e.peer, 4, 0);
	cfg = make_cfg(_metadata, self->srq, 1, 0);
	ASSERT_EQ(0, rpma_conn_req_new(self->e.peer, test_addr4(), PORT, cfg, &req));
	ASSERT_EQ(0, rpma_conn_cfg_delete(&cfg));
	EXPECT_EQ(RPMA_E_PROVIDER, rpma_srq_delete(&self->srq));
	ASSERT_EQ(0, rpma_conn_req_delete(&req));
}

TEST_F_TIMEOUT(srq, receives_nobody_took_go_with_it, WAIT_SECONDS)
{
	self->srq = make_srq(_metadata, self->e.peer, 4, 4);
	for (unsigned int i = 0; i < 4; i++)
		post(_metadata, self, i);
	ASSERT_EQ(0, rpma_srq_delete(&self->srq));
	ASSERT_EQ(0, rpma_mr_dereg(&self->e.s.mr));
}

/* ---- who has one ---- */

TEST_F_TIMEOUT(srq, on_the_side_that_connects, WAIT_SECONDS)
{
	struct rpma_conn_cfg *cfg;

	self->srq = make_srq(_metadata, self->e.peer, 4, 4);
	cfg = make_cfg(_metadata, self->srq, 10, 0);
	connect_one(_metadata, &self->e, &self->s[0], &self->c[0], cfg, NULL);
	ASSERT_EQ(0, rpma_conn_cfg_delete(&cfg));
	ASSERT_EQ(0, rpma_srq_get_rcq(self->srq, &self->rcq));
	post(_metadata, self, 0);
	say(_metadata, self, 0, 90);
	expect_said(_metadata, self, self->rcq, 0, 0, 90);
}

TEST_F_TIMEOUT(srq, on_both_sides, WAIT_SECONDS)
{
	struct rpma_conn_cfg *cfg;

	self->srq = make_srq(_metadata, self->e.peer, 4, 0);
	cfg = make_cfg(_metadata, self->srq, 10, 0);
	connect_one(_metadata, &self->e, &self->c[0], &self->s[0], cfg, cfg);
	ASSERT_EQ(0, rpma_conn_cfg_delete(&cfg));
	post(_metadata, self, 0);
	say(_metadata, self, 0, 91);
	expect_said(_metadata, self, self->s[0].cq, 0, 0, 91);
	post(_metadata, self, 1);
	ASSERT_EQ(0, rpma_send(self->s[0].conn, self->e.s.mr, 0, 8, ALWAYS, CONTEXT(99)));
	expect_wc(self->s[0].cq, 99, IBV_WC_SUCCESS);
	EXPECT_EQ(8, expect_wc(self->c[0].cq, 1, IBV_WC_SUCCESS).byte_len);
}

/* ---- what cannot be ---- */

TEST_F_TIMEOUT(srq, no_receive_on_a_connection_or_request, WAIT_SECONDS)
{
	struct rpma_conn_req *req = NULL;
	struct rpma_conn_cfg *cfg;

	connect_two(_metadata, self, 4, 4, 0);
	EXPECT_EQ(RPMA_E_PROVIDER, rpma_recv(self->s[0].conn, self->e.s.mr, 0, 8, NULL));
	EXPECT_EQ(EINVAL, errno);
	cfg = make_cfg(_metadata, self->srq, 10, 0);
	ASSERT_EQ(0, rpma_conn_req_new(self->e.peer, test_addr4(), PORT, cfg, &req));
	ASSERT_EQ(0, rpma_conn_cfg_delete(&cfg));
	EXPECT_EQ(RPMA_E_PROVIDER, rpma_conn_req_recv(req, self->e.s.mr, 0, 8, NULL));
	ASSERT_EQ(0, rpma_conn_req_delete(&req));
	post(_metadata, self, 0);
	say(_metadata, self, 0, 92);
	expect_said(_metadata, self, self->rcq, 0, 0, 92);
}

TEST_F_TIMEOUT(srq, its_own_queue_and_a_shared_channel, WAIT_SECONDS)
{
	struct rpma_conn_req *req = NULL, *knock = NULL;
	struct rpma_conn_cfg *cfg;

	self->srq = make_srq(_metadata, self->e.peer, 4, 4);
	cfg = make_cfg(_metadata, self->srq, 10, 0);
	ASSERT_EQ(0, rpma_conn_cfg_set_compl_channel(cfg, true));
	ASSERT_EQ(RPMA_E_INVAL, rpma_conn_req_new(self->e.peer, test_addr4(), PORT, cfg, &req));
	EXPECT_EQ(NULL, req);
	/* The client waits on for a better answer. */
	ASSERT_EQ(0, rpma_conn_req_new(self->e.peer, test_addr4(), PORT, NULL, &req));
	ASSERT_EQ(0, rpma_conn_req_connect(&req, NULL, &self->c[0].conn));
	ASSERT_EQ(RPMA_E_INVAL, rpma_ep_next_conn_req(self->e.ep, cfg, &knock));
	EXPECT_EQ(NULL, knock);
	ASSERT_EQ(0, rpma_conn_cfg_set_compl_channel(cfg, false));
	ASSERT_EQ(0, rpma_ep_next_conn_req(self->e.ep, cfg, &knock));
	ASSERT_EQ(0, rpma_conn_req_connect(&knock, NULL, &self->s[0].conn));
	end_established(_metadata, &self->c[0]);
	ASSERT_EQ(0, rpma_conn_cfg_delete(&cfg));
}

TEST_F(srq, sizes_that_cannot_be_had)
{
	struct rpma_srq_cfg *cfg = NULL;
	uint32_t size = 0;

	ASSERT_EQ(0, rpma_srq_cfg_new(&cfg));
	ASSERT_EQ(0, rpma_srq_cfg_get_rq_size(cfg, &size));
	EXPECT_EQ(20, size);
	ASSERT_EQ(0, rpma_srq_cfg_get_rcq_size(cfg, &size));
	EXPECT_EQ(20, size);
	ASSERT_EQ(0, rpma_srq_cfg_set_rq_size(cfg, 0));
	EXPECT_EQ(RPMA_E_PROVIDER, rpma_srq_new(self->e.peer, cfg, &self->srq));
	EXPECT_EQ(EINVAL, errno);
	ASSERT_EQ(0, rpma_srq_cfg_set_rq_size(cfg, UINT32_MAX));
	EXPECT_EQ(RPMA_E_PROVIDER, rpma_srq_new(self->e.peer, cfg, &self->srq));
	ASSERT_EQ(0, rpma_srq_cfg_set_rq_size(cfg, 1));
	ASSERT_EQ(0, rpma_srq_cfg_set_rcq_size(cfg, UINT32_MAX));
	EXPECT_EQ(RPMA_E_PROVIDER, rpma_srq_new(self->e.peer, cfg, &self->srq));
	EXPECT_EQ(NULL, self->srq);
	ASSERT_EQ(0, rpma_srq_cfg_delete(&cfg));
}

TEST_F(srq, of_another_peer)
{
	struct rpma_peer *peer = lib_peer(_metadata);
	struct rpma_conn_req *req = NULL;
	struct rpma_conn_cfg *cfg;

	self->srq = make_srq(_metadata, self->e.peer, 4, 0);
	cfg = make_cfg(_metadata, self->srq, 10, 0);
	EXPECT_EQ(RPMA_E_PROVIDER, rpma_conn_req_new(peer, test_addr4(), PORT, cfg, &req));
	EXPECT_EQ(EXDEV, errno);
	ASSERT_EQ(0, rpma_conn_cfg_delete(&cfg));
	EXPECT_EQ(0, rpma_peer_delete(&peer));
}

TEST_HARNESS_MAIN
