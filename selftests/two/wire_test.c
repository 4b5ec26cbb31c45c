// SPDX-License-Identifier: GPL-2.0
/*
 * What a flush is on the wire and what it does at the target (wire_target at
 * PEER4), posted by ioctl: by each method that this machine has, and by the one
 * that the kernel chooses.
 */
#include "../rpma_pair.h"
#include "wire_seen.h"

#define NONE RPMA_FLUSH_METHOD_NONE
#define READ RPMA_FLUSH_METHOD_READ
#define NATIVE RPMA_FLUSH_METHOD_NATIVE

#define LOCAL_LENGTH 65536

FIXTURE(wire) {
	struct pair p;
	struct wire w;
	struct region there;
	int conn;
	int cq;
};

/* How a connection is told to flush, or NONE. */
FIXTURE_VARIANT(wire) {
	__u32 method;
};

FIXTURE_VARIANT_ADD(wire, auto) { .method = NONE };
FIXTURE_VARIANT_ADD(wire, read) { .method = READ };
FIXTURE_VARIANT_ADD(wire, native) { .method = NATIVE };

static __u32 method_expected(__u32 method)
{
	if (method == NONE)
		return wire_kernel_is_patched() ? NATIVE : READ;
	return method;
}

static void learn(struct __test_metadata *_metadata, struct rpma_ioc_conn_query *q,
		  struct region *there)
{
	memcpy(&there->addr, q->out_private_data, 8);
	memcpy(&there->length, q->out_private_data + 8, 8);
	memcpy(&there->rkey, q->out_private_data + 16, 4);
	there->access = q->out_private_data[20];
	ASSERT_EQ(WIRE_LENGTH, there->length);
}

FIXTURE_SETUP(wire)
{
	struct pair *p = &self->p;
	struct rpma_ioc_conn_query q;

	SKIP_WITHOUT_RPMA();
	if (variant->method == NATIVE && !wire_kernel_is_patched())
		SKIP(return, "this kernel does not carry FLUSH");
	p->opts = (struct pair_opts){ .addr = test_env("PEER4", "10.7.7.1"), .sq_size = 16,
				      .cq_entries = 32, .length = LOCAL_LENGTH,
				      .access = ACCESS_ALL };
	p->port = WIRE_PORT_NR;
	p->ep = -1;
	p->fd = rpma_open(_metadata);
	p->peer = peer_new(_metadata, p->fd);
	side_init(_metadata, p, &p->client);
	wire_open(_metadata, &self->w);
	client_create(_metadata, p, &p->client);
	self->conn = p->client.conn;
	self->cq = p->client.cq;
	ioc_conn_connect(p->fd, .conn_fd = self->conn);
	expect_event(self->conn, RPMA_EVENT_ESTABLISHED);
	q = ioc_conn_query(p->fd, .conn_fd = self->conn);
	learn(_metadata, &q, &self->there);
	wire_connected(_metadata, &self->w, q.out_qp_num);
	ioc_conn_modify(p->fd, .conn_fd = self->conn, .direct_write = 1,
			.flush_method = variant->method,
			.mask = RPMA_CONN_MODIFY_DIRECT_WRITE | RPMA_CONN_MODIFY_FLUSH_METHOD);
}

FIXTURE_TEARDOWN(wire)
{
	side_close(&self->p.client);
	wire_close(&self->w);
	close(self->p.fd);
}

static struct rpma_request request_of(const struct wire_flush *f, const struct region *there)
{
	struct rpma_request r = req_flush(f->va, SIGNALED, there,
					  f->va - (uintptr_t)there->addr, f->len);

	r.placement = f->placement;
	return r;
}

/* Posts it alone and checks the completion. */
#define flush_alone(f)								\
	({									\
		struct rpma_request __r = request_of(f, &self->there);		\
		struct rpma_completion __c;					\
		ioc_post(self->conn, &__r, 1);					\
		__c = expect_completion(self->cq, (f)->va, RPMA_OP_FLUSH, 0);	\
		EXPECT_EQ((f)->len, __c.len);					\
		EXPECT_EQ((f)->method, __c.method);				\
	})

/* Number @i of all placements, lengths and both ends of the region; false behind the last. */
static bool nth_flush(unsigned int i, const struct region *there, __u32 method,
		      struct wire_flush *f)
{
	__u64 len = wire_lens[i / 2 % WIRE_LENS];

	*f = (struct wire_flush){
		.method = method,
		.placement = 1 + i / 2 / WIRE_LENS,	/* GLOBAL, PERSISTENT, both */
		.va = (uintptr_t)there->addr + (i % 2 ? there->length - len : 0),
		.len = len,
		.rkey = there->rkey,
	};
	return f->placement <= (RPMA_FLUSH_GLOBAL | RPMA_FLUSH_PERSISTENT);
}

#define for_each_flush(i, f)							\
	for (unsigned int i = 0;						\
	     nth_flush(i, &self->there, method_expected(variant->method), f); i++)

TEST_F_TIMEOUT(wire, query_says_how_flushes_travel, WAIT_SECONDS)
{
	__u32 methods = 1 << READ | (wire_kernel_is_patched() ? 1 << NATIVE : 0);

	EXPECT_EQ(methods, ioc_device_query(self->p.fd, .position = 0).out_flush_methods);
	EXPECT_EQ(method_expected(variant->method),
		  ioc_conn_query(self->p.fd, .conn_fd = self->conn).out_flush_method);
}

TEST_F_TIMEOUT(wire, flush_is_one_packet_and_one_answer, WAIT_SECONDS)
{
	__u64 begin = (uintptr_t)self->there.addr, end = begin + WIRE_LENGTH;
	struct wire_flush f;

	for_each_flush(i, &f) {
		struct wire_seen seen;

		flush_alone(&f);
		seen = wire_look(_metadata, &self->w);
		ASSERT_EQ(2, seen.nr);
		ASSERT_EQ(1, seen.packet[0].sent);
		wire_expect_flush(_metadata, &seen, seen.packet[0].psn, &f);
		/* Also for a range of no bytes at the region's end. */
		if (f.method == READ) {
			EXPECT_LE(begin, seen.packet[0].va);
			EXPECT_GE(end, seen.packet[0].va + seen.packet[0].len);
		}
	}
}

TEST_F_TIMEOUT(wire, only_persistent_by_flush_writes_back_and_only_its_range, WAIT_SECONDS)
{
	struct wire_flush f;

	for_each_flush(i, &f) {
		flush_alone(&f);
		wire_expect_write_back(_metadata, &self->w, &f, (uintptr_t)self->there.addr);
	}
}

/* Three WRITEs of two packets, then the flush: the next number, on both sides of the wire. */
TEST_F_TIMEOUT(wire, flush_is_next_behind_its_writes, WAIT_SECONDS)
{
	struct region *there = &self->there;
	struct wire_flush f = {
		.method = method_expected(variant->method),
		.placement = RPMA_FLUSH_PERSISTENT,
		.va = (uintptr_t)there->addr,
		.len = 3 * 8192,
		.rkey = there->rkey,
	};
	struct rpma_request r[4];
	struct wire_seen seen;
	__u32 psn;

	for (int i = 0; i < 3; i++)
		r[i] = req_write(i, 0, &self->p.client.mem, 0, there, i * 8192, 6000);
	r[3] = request_of(&f, there);
	ioc_post(self->conn, r, 4);
	expect_completion(self->cq, f.va, RPMA_OP_FLUSH, 0);
	seen = wire_look(_metadata, &self->w);
	psn = seen.packet[0].psn;
	for (int i = 0, sent = 0; i < seen.nr; i++) {
		struct roce_packet *p = &seen.packet[i];

		if (!p->sent)
			continue;
		ASSERT_EQ((psn + sent) & 0xffffff, p->psn);
		ASSERT_GT(7, sent);
		if (sent < 6)
			ASSERT_EQ(sent % 2 ? ROCE_WRITE_LAST : ROCE_WRITE_FIRST, p->opcode);
		sent++;
	}
	wire_expect_flush(_metadata, &seen, (psn + 6) & 0xffffff, &f);
}

static void expect_value(struct __test_metadata *_metadata, const struct roce_packet *p,
			 __u64 va, __u32 rkey, __u64 value)
{
	EXPECT_EQ(va, p->va);
	EXPECT_EQ(rkey, p->rkey);
	EXPECT_EQ(8, p->len);
	EXPECT_EQ(8, p->payload);
	EXPECT_EQ(0, memcmp(p->data, &value, 8))
		TH_LOG("%02x%02x%02x%02x...", p->data[0], p->data[1], p->data[2], p->data[3]);
}

/* WRITE, FLUSH, ATOMIC_WRITE, FLUSH: the commit of a log. */
TEST_F_TIMEOUT(wire, atomic_write_carries_its_value_behind_the_answer_to_the_flush, WAIT_SECONDS)
{
	struct region *there = &self->there;
	const __u64 value = 0x0123456789abcdef, va = (uintptr_t)there->addr + 4096;
	struct wire_flush data = {
		.method = method_expected(variant->method),
		.placement = RPMA_FLUSH_PERSISTENT,
		.va = va - 64,
		.len = 64,
		.rkey = there->rkey,
	}, word = data;
	struct rpma_request r[4];
	struct wire_seen seen;
	__u32 psn;
	int atomic;

	word.va = va;
	word.len = 8;
	r[0] = req_write(1, 0, &self->p.client.mem, 0, there, 4096 - 64, 64);
	r[1] = request_of(&data, there);
	r[2] = (struct rpma_request){ .op = RPMA_OP_ATOMIC_WRITE, .len = 8, .value = value,
				      .remote = remote_of(there), .remote_offset = 4096 };
	r[3] = request_of(&word, there);
	ioc_post(self->conn, r, 4);
	expect_completion(self->cq, data.va, RPMA_OP_FLUSH, 0);
	expect_completion(self->cq, word.va, RPMA_OP_FLUSH, 0);

	seen = wire_look(_metadata, &self->w);
	psn = seen.packet[0].psn;
	EXPECT_EQ(ROCE_WRITE_ONLY, seen.packet[0].opcode);
	wire_expect_flush(_metadata, &seen, (psn + 1) & 0xffffff, &data);
	atomic = wire_find(_metadata, &seen, 1, (psn + 2) & 0xffffff);
	ASSERT_EQ(data.method == NATIVE ? ROCE_ATOMIC_WRITE : ROCE_WRITE_ONLY,
		  seen.packet[atomic].opcode);
	expect_value(_metadata, &seen.packet[atomic], va, there->rkey, value);
	EXPECT_LT(wire_find(_metadata, &seen, 0, (psn + 1) & 0xffffff), atomic);
	wire_expect_flush(_metadata, &seen, (psn + 3) & 0xffffff, &word);
}

/* What cannot be done is refused, changes nothing and sends nothing. */
TEST_F_TIMEOUT(wire, method_that_is_not_there_is_refused, WAIT_SECONDS)
{
	struct wire_flush f;

	ioc_err_conn_modify(EOPNOTSUPP, self->p.fd, .conn_fd = self->conn,
			    .flush_method = NATIVE + 1, .mask = RPMA_CONN_MODIFY_FLUSH_METHOD);
	if (!wire_kernel_is_patched())
		ioc_err_conn_modify(EOPNOTSUPP, self->p.fd, .conn_fd = self->conn,
				    .flush_method = NATIVE, .mask = RPMA_CONN_MODIFY_FLUSH_METHOD);
	usleep(100000);
	ASSERT_EQ(0, wire_look(_metadata, &self->w).nr);
	nth_flush(2, &self->there, method_expected(variant->method), &f);
	flush_alone(&f);
	ASSERT_EQ(2, wire_look(_metadata, &self->w).nr);
}

TEST_HARNESS_MAIN
