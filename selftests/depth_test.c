// SPDX-License-Identifier: GPL-2.0
/*
 * A remote side that serves no READ: it accepts with responder_resources 0, as
 * no end of ours does. WRITE works, whatever needs an answer is refused here,
 * where the other choice would be a request that never leaves or ends the
 * connection.
 */
#include <infiniband/verbs.h>
#include <pthread.h>
#include <rdma/rdma_cma.h>

#include "rpma_pair.h"

#define MEM_SIZE 4096

/* The other side, made of librdmacm. */
struct acceptor {
	struct rdma_event_channel *events;
	struct rdma_cm_id *listener;
	struct rdma_cm_id *id;
	struct ibv_pd *pd;
	struct ibv_cq *cq;
	struct ibv_mr *mr;
	__u8 depth;
	bool accepted;
	pthread_t thread;
	__u8 mem[MEM_SIZE] __attribute__((aligned(MEM_SIZE)));
};

FIXTURE(depth) {
	struct pair p;		/* without a server */
	struct acceptor *there;
	struct region mem;
};

FIXTURE_VARIANT(depth) {
	__u8 depth;
	__u32 method;
};

FIXTURE_VARIANT_ADD(depth, none) { .depth = 0 };
FIXTURE_VARIANT_ADD(depth, none_by_read) { .depth = 0, .method = RPMA_FLUSH_METHOD_READ };
FIXTURE_VARIANT_ADD(depth, one) { .depth = 1 };

static struct rdma_cm_id *next_id(struct acceptor *a, enum rdma_cm_event_type want)
{
	struct rdma_cm_id *id = NULL;
	struct rdma_cm_event *event;

	if (rdma_get_cm_event(a->events, &event))
		return NULL;
	if (event->event == want)
		id = event->id;
	rdma_ack_cm_event(event);
	return id;
}

static bool acceptor_has_queues(struct acceptor *a)
{
	struct ibv_qp_init_attr init = {
		.qp_type = IBV_QPT_RC,
		.cap = { .max_send_wr = 1, .max_recv_wr = 1, .max_send_sge = 1,
			 .max_recv_sge = 1 },
	};

	a->pd = ibv_alloc_pd(a->id->verbs);
	a->cq = ibv_create_cq(a->id->verbs, 2, NULL, NULL, 0);
	if (!a->pd || !a->cq)
		return false;
	init.send_cq = init.recv_cq = a->cq;
	a->mr = ibv_reg_mr(a->pd, a->mem, MEM_SIZE, IBV_ACCESS_LOCAL_WRITE |
			   IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |
			   IBV_ACCESS_FLUSH_GLOBAL);
	return a->mr && !rdma_create_qp(a->id, a->pd, &init);
}

static void *acceptor_run(void *arg)
{
	struct acceptor *a = arg;
	struct rdma_conn_param param = { .responder_resources = a->depth,
					 .initiator_depth = a->depth, .rnr_retry_count = 7 };

	a->id = next_id(a, RDMA_CM_EVENT_CONNECT_REQUEST);
	a->accepted = a->id && acceptor_has_queues(a) && !rdma_accept(a->id, &param) &&
		      next_id(a, RDMA_CM_EVENT_ESTABLISHED);
	return NULL;
}

static void acceptor_start(struct __test_metadata *_metadata, struct acceptor *a,
			   const char *addr, __u16 *port)
{
	struct sockaddr_in at = { .sin_family = AF_INET };

	inet_pton(AF_INET, addr, &at.sin_addr);
	a->events = rdma_create_event_channel();
	ASSERT_NE(NULL, a->events);
	ASSERT_EQ(0, rdma_create_id(a->events, &a->listener, NULL, RDMA_PS_TCP));
	ASSERT_EQ(0, rdma_bind_addr(a->listener, (struct sockaddr *)&at));
	ASSERT_EQ(0, rdma_listen(a->listener, 1));
	*port = ntohs(rdma_get_src_port(a->listener));
	ASSERT_EQ(0, pthread_create(&a->thread, NULL, acceptor_run, a));
}

FIXTURE_SETUP(depth)
{
	struct pair *p = &self->p;
	struct acceptor *a;

	SKIP_WITHOUT_RPMA();
	memset(p, 0, sizeof(*p));
	p->opts = (struct pair_opts){ .addr = test_addr4(), .sq_size = 16, .cq_entries = 16,
				      .length = MEM_SIZE, .access = ACCESS_ALL };
	a = self->there = aligned_alloc(MEM_SIZE, sizeof(*a));
	ASSERT_NE(NULL, a);
	memset(a, 0, sizeof(*a));
	a->depth = variant->depth;
	acceptor_start(_metadata, a, p->opts.addr, &p->port);
	p->fd = rpma_open(_metadata);
	p->peer = peer_new(_metadata, p->fd);
	side_init(_metadata, p, &p->client);
	client_create(_metadata, p, &p->client);
	ioc_conn_modify(p->fd, .conn_fd = p->client.conn, .mask = RPMA_CONN_MODIFY_FLUSH_METHOD,
			.flush_method = variant->method);
	ioc_conn_connect(p->fd, .conn_fd = p->client.conn);
	expect_event(p->client.conn, RPMA_EVENT_ESTABLISHED);
	pthread_join(a->thread, NULL);
	ASSERT_TRUE(a->accepted);
	self->mem = (struct region){ .addr = a->mem, .length = MEM_SIZE, .access = ACCESS_ALL,
				     .rkey = a->mr->rkey };
}

/* What the acceptor has goes with the process. */
FIXTURE_TEARDOWN(depth)
{
	if (!self->there)
		return;
	side_close(&self->p.client);
	close(self->p.fd);
}

static void expect_write(struct __test_metadata *_metadata, struct pair *p,
			 const struct region *to, __u8 pattern)
{
	struct rpma_request r = req_write(pattern, SIGNALED, &p->client.mem, 0, to, 64, 64);

	memset(p->client.mem.addr, pattern, 64);
	ioc_post(p->client.conn, &r, 1);
	expect_completion(p->client.cq, pattern, RPMA_OP_WRITE, 0);
	ASSERT_EQ(0, memcmp(p->client.mem.addr, to->addr + 64, 64));
}

TEST_F_TIMEOUT(depth, query_says_what_was_agreed_on, WAIT_SECONDS)
{
	EXPECT_EQ(variant->depth,
		  ioc_conn_query(self->p.fd, .conn_fd = self->p.client.conn).out_read_depth);
}

TEST_F_TIMEOUT(depth, read_and_flush_need_one, WAIT_SECONDS)
{
	struct pair *p = &self->p;
	struct rpma_request r[2] = {
		req_read(1, SIGNALED, &p->client.mem, 0, &self->mem, 0, 8),
		req_flush(2, SIGNALED, &self->mem, 0, 8),
	};

	for (int i = 0; i < 2; i++) {
		if (variant->depth) {
			ioc_post(p->client.conn, &r[i], 1);
			expect_completion(p->client.cq, r[i].context, r[i].op, 0);
		} else {
			ioc_err_post(EOPNOTSUPP, p->client.conn, &r[i], 1);
		}
		expect_write(_metadata, p, &self->mem, 0x40 + i);
	}
}

TEST_F_TIMEOUT(depth, write_in_front_of_a_refused_flush_is_posted, WAIT_SECONDS)
{
	struct pair *p = &self->p;
	struct rpma_request r[2] = {
		req_write(1, SIGNALED, &p->client.mem, 0, &self->mem, 0, 8),
		req_flush(2, SIGNALED, &self->mem, 0, 8),
	};

	ASSERT_EQ(1 + variant->depth, _ioc_post(p->client.conn, r, 2));
	expect_completion(p->client.cq, 1, RPMA_OP_WRITE, 0);
	if (variant->depth)
		expect_completion(p->client.cq, 2, RPMA_OP_FLUSH, 0);
	expect_no_completion(p->client.cq);
}

/* An answer of its own would need a place over there, too. */
TEST_F_TIMEOUT(depth, atomic_write_is_a_write_where_there_is_none, WAIT_SECONDS)
{
	bool native = variant->depth && test_is_native();
	struct pair *p = &self->p;
	struct rpma_completion c;
	__u64 seen;

	for (__u64 n = 1; n <= 32; n++) {
		struct rpma_request r = {
			.context = n, .op = RPMA_OP_ATOMIC_WRITE, .flags = SIGNALED, .len = 8,
			.remote = remote_of(&self->mem), .remote_offset = n * 8,
			.value = n * 0x0123456789abcdefULL,
		};

		ioc_post(p->client.conn, &r, 1);
		c = expect_completion(p->client.cq, n, RPMA_OP_ATOMIC_WRITE, 0);
		ASSERT_EQ(8, c.len);
		ASSERT_EQ(native ? RPMA_FLUSH_METHOD_NATIVE : RPMA_FLUSH_METHOD_NONE, c.method);
		memcpy(&seen, self->there->mem + n * 8, 8);
		ASSERT_EQ(r.value, seen);
	}
	expect_write(_metadata, p, &self->mem, 0x55);
}

TEST_HARNESS_MAIN
