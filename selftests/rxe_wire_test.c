// SPDX-License-Identifier: GPL-2.0
/*
 * The patched provider against a peer that loses, repeats and forges packets:
 * what completes a FLUSH and an ATOMIC WRITE, what a fence waits for, what is
 * answered again and with what.
 */
#include <infiniband/verbs.h>

#include "rxe_pair.h"
#include "rxe_wire.h"
#include "rxe_wire_long.h"

#define MEM_SIZE 32768

FIXTURE(wire) {
	struct rxe_pair p;
	struct rxe_end *end;	/* the device's end */
	struct wire w;
	__u8 *mem;
	struct ibv_mr *mr;
};

FIXTURE_SETUP(wire)
{
	struct rxe_pair *p = &self->p;

	wire_device(_metadata);
	rxe_pair_device(_metadata, p, WIRE_DEV, WIRE_ADDR);
	self->end = &p->a;
	self->mem = map_pages(_metadata, MEM_SIZE);
	self->mr = rxe_reg(_metadata, p, self->mem, MEM_SIZE,
			   PLAIN_ACCESS | IBV_ACCESS_FLUSH_GLOBAL);
	rxe_end_new(_metadata, p, self->end, NULL);
	rxe_end_init(_metadata, self->end, B_ACCESS);
	wire_open(_metadata, &self->w, self->end->qp->qp_num);
}

FIXTURE_TEARDOWN(wire)
{
}

static void connect_to_nobody(struct __test_metadata *_metadata, FIXTURE_DATA(wire) *self,
			      struct rxe_opts o)
{
	union ibv_gid peer = rxe_gid_of(WIRE_PEER);

	rxe_end_connect(_metadata, &self->p, self->end, WIRE_QPN, &peer, &o);
}

/* An answer that does not come is missed after 67 ms. */
#define MISSED_SOON(...) RXE_OPTS(o.timeout = 14; __VA_ARGS__)

#define VALUE 0x1122334455667788ULL
#define REMOTE_ADDR 0x5432100000000ULL
#define REMOTE_RKEY 0xabcd12

#define post_flush(id)							\
	rxe_post(self->end, id, ibv_wr_flush(ex, REMOTE_RKEY, REMOTE_ADDR, 0x12345, \
					     IBV_FLUSH_GLOBAL, IBV_FLUSH_RANGE))
#define post_atomic_write(id)						\
	rxe_post(self->end, id, ({					\
		__u64 __value = VALUE;					\
		ibv_wr_atomic_write(ex, REMOTE_RKEY, REMOTE_ADDR, &__value); }))
#define post_write(id, flags)						\
	rxe_post_flags(self->end, id, IBV_SEND_SIGNALED | (flags), ({	\
		ibv_wr_rdma_write(ex, REMOTE_RKEY, REMOTE_ADDR);	\
		ibv_wr_set_sge(ex, self->mr->lkey, (uintptr_t)self->mem, 8); }))
#define post_read(id, flags)						\
	rxe_post_flags(self->end, id, IBV_SEND_SIGNALED | (flags), ({	\
		ibv_wr_rdma_read(ex, REMOTE_RKEY, REMOTE_ADDR);		\
		ibv_wr_set_sge(ex, self->mr->lkey, (uintptr_t)self->mem, 8); }))
#define expect_nothing_completed()					\
	({								\
		struct ibv_wc __wc;					\
		ASSERT_EQ(0, ibv_poll_cq(self->end->cq, 1, &__wc));	\
	})

/* ---- the device asks ---- */

static void expect_repeated(struct __test_metadata *_metadata, struct wire *w, __u8 opcode,
			    const __u8 *body, size_t len)
{
	for (int i = 0; i < 3; i++) {
		struct wire_packet p = expect_packet(w, opcode, 0);

		ASSERT_EQ(len, p.len);
		ASSERT_EQ(0, memcmp(body, p.body, len));
	}
}

TEST_F_TIMEOUT(wire, flush_is_repeated_as_it_was, WAIT_SECONDS)
{
	struct wire_packet want = wire_flush(0, IBV_FLUSH_GLOBAL, IBV_FLUSH_RANGE, REMOTE_ADDR,
					     REMOTE_RKEY, 0x12345);

	connect_to_nobody(_metadata, self, MISSED_SOON());
	post_flush(1);
	expect_repeated(_metadata, &self->w, OP_FLUSH, want.body, want.len);
	wire_say(&self->w, wire_answer(OP_READ_RESPONSE_ONLY, 0));
	expect_success(self->end, 1, IBV_WC_FLUSH, 0x12345);
}

TEST_F_TIMEOUT(wire, atomic_write_is_repeated_as_it_was, WAIT_SECONDS)
{
	struct wire_packet want = wire_write(OP_ATOMIC_WRITE, 0, REMOTE_ADDR, REMOTE_RKEY, VALUE);

	connect_to_nobody(_metadata, self, MISSED_SOON());
	post_atomic_write(1);
	expect_repeated(_metadata, &self->w, OP_ATOMIC_WRITE, want.body, want.len);
	wire_say(&self->w, wire_answer(OP_READ_RESPONSE_ONLY, 0));
	expect_success(self->end, 1, IBV_WC_ATOMIC_WRITE, 8);
}

/* As long as the FLUSH is unanswered it comes again, and nothing else. */
TEST_F_TIMEOUT(wire, fence_waits_for_the_response_of_a_flush, WAIT_SECONDS)
{
	struct wire_packet flush;

	connect_to_nobody(_metadata, self, MISSED_SOON());
	post_flush(1);
	post_write(2, IBV_SEND_FENCE);
	for (int i = 0; i < 4; i++)
		flush = expect_packet(&self->w, OP_FLUSH, 0);
	wire_say(&self->w, wire_answer(OP_READ_RESPONSE_ONLY, 0));
	expect_packet_after(&self->w, &flush, OP_WRITE_ONLY, 1);
	wire_say(&self->w, wire_answer(OP_ACK, 1));
	expect_success(self->end, 1, IBV_WC_FLUSH, 0x12345);
	expect_success(self->end, 2, IBV_WC_RDMA_WRITE, 8);
}

TEST_F_TIMEOUT(wire, flush_takes_one_of_max_rd_atomic, WAIT_SECONDS)
{
	struct wire_packet flush;

	connect_to_nobody(_metadata, self, MISSED_SOON(o.max_rd_atomic = 2));
	for (int i = 0; i < 3; i++)
		post_flush(i);
	for (int i = 0; i < 4; i++) {
		expect_packet(&self->w, OP_FLUSH, 0);
		flush = expect_packet(&self->w, OP_FLUSH, 1);
	}
	wire_say(&self->w, wire_answer(OP_READ_RESPONSE_ONLY, 0));
	wire_say(&self->w, wire_answer(OP_READ_RESPONSE_ONLY, 1));
	do
		flush = wire_receive(_metadata, &self->w);
	while (flush.psn < 2);
	ASSERT_EQ(OP_FLUSH, flush.opcode);
	wire_say(&self->w, wire_answer(OP_READ_RESPONSE_ONLY, 2));
	for (int i = 0; i < 3; i++)
		expect_success(self->end, i, IBV_WC_FLUSH, 0x12345);
}

/* The answer of a later request says nothing about the one in front of it. */
static void late_answer(struct __test_metadata *_metadata, FIXTURE_DATA(wire) *self,
			__u8 opcode, int wc_opcode, __u32 len)
{
	expect_packet(&self->w, opcode, 0);
	expect_packet(&self->w, OP_WRITE_ONLY, 1);
	wire_say(&self->w, wire_answer(OP_ACK, 1));
	expect_packet(&self->w, opcode, 0);
	expect_nothing_completed();
	expect_packet(&self->w, OP_WRITE_ONLY, 1);
	wire_say(&self->w, wire_answer(OP_READ_RESPONSE_ONLY, 0));
	wire_say(&self->w, wire_answer(OP_ACK, 1));
	expect_success(self->end, 1, wc_opcode, len);
	expect_success(self->end, 2, IBV_WC_RDMA_WRITE, 8);
	post_read(3, 0);		/* there is one credit, and it is back */
	expect_packet(&self->w, OP_READ_REQUEST, 2);
}

TEST_F_TIMEOUT(wire, later_ack_does_not_complete_a_flush, WAIT_SECONDS)
{
	connect_to_nobody(_metadata, self, RXE_OPTS(o.max_rd_atomic = 1));
	post_flush(1);
	post_write(2, 0);
	late_answer(_metadata, self, OP_FLUSH, IBV_WC_FLUSH, 0x12345);
}

TEST_F_TIMEOUT(wire, later_ack_does_not_complete_an_atomic_write, WAIT_SECONDS)
{
	connect_to_nobody(_metadata, self, RXE_OPTS(o.max_rd_atomic = 1));
	post_atomic_write(1);
	post_write(2, 0);
	late_answer(_metadata, self, OP_ATOMIC_WRITE, IBV_WC_ATOMIC_WRITE, 8);
}

static void plain_ack(struct __test_metadata *_metadata, FIXTURE_DATA(wire) *self,
		      __u8 opcode, int wc_opcode, __u32 len)
{
	expect_packet(&self->w, opcode, 0);
	wire_say(&self->w, wire_answer(OP_ACK, 0));
	expect_packet(&self->w, opcode, 0);
	expect_nothing_completed();
	wire_say(&self->w, wire_answer(OP_READ_RESPONSE_ONLY, 0));
	expect_success(self->end, 1, wc_opcode, len);
}

TEST_F_TIMEOUT(wire, plain_ack_does_not_complete_a_flush, WAIT_SECONDS)
{
	connect_to_nobody(_metadata, self, MISSED_SOON());
	post_flush(1);
	plain_ack(_metadata, self, OP_FLUSH, IBV_WC_FLUSH, 0x12345);
}

TEST_F_TIMEOUT(wire, plain_ack_does_not_complete_an_atomic_write, WAIT_SECONDS)
{
	connect_to_nobody(_metadata, self, MISSED_SOON());
	post_atomic_write(1);
	plain_ack(_metadata, self, OP_ATOMIC_WRITE, IBV_WC_ATOMIC_WRITE, 8);
}

/* Without a timer nothing else would send them again. */
TEST_F_TIMEOUT(wire, plain_ack_is_no_reason_to_repeat, WAIT_SECONDS)
{
	struct wire_packet data = wire_answer(OP_READ_RESPONSE_ONLY, 2);

	connect_to_nobody(_metadata, self, RXE_OPTS(o.timeout = 0));
	post_flush(1);
	expect_packet(&self->w, OP_FLUSH, 0);
	wire_say(&self->w, wire_answer(OP_ACK, 0));
	wire_say(&self->w, wire_answer(OP_READ_RESPONSE_ONLY, 0));
	expect_success(self->end, 1, IBV_WC_FLUSH, 0x12345);
	post_atomic_write(2);
	expect_packet(&self->w, OP_ATOMIC_WRITE, 1);
	wire_say(&self->w, wire_answer(OP_ACK, 1));
	wire_say(&self->w, wire_answer(OP_READ_RESPONSE_ONLY, 1));
	expect_success(self->end, 2, IBV_WC_ATOMIC_WRITE, 8);
	post_read(3, 0);
	expect_packet(&self->w, OP_READ_REQUEST, 2);
	wire_say(&self->w, wire_answer(OP_ACK, 2));
	data.len += 8;
	wire_say(&self->w, data);
	expect_success(self->end, 3, IBV_WC_RDMA_READ, 8);
	post_flush(4);
	expect_packet(&self->w, OP_FLUSH, 3);
}

/* A fence does not wait for what is sent only behind it, nor for itself. */
TEST_F_TIMEOUT(wire, lost_request_with_a_fence_is_sent_again, WAIT_SECONDS)
{
	struct wire_packet nak = wire_answer(OP_ACK, 0);

	connect_to_nobody(_metadata, self, MISSED_SOON(o.max_rd_atomic = 1));
	post_write(1, IBV_SEND_FENCE);
	post_read(2, 0);
	expect_packet(&self->w, OP_WRITE_ONLY, 0);
	expect_packet(&self->w, OP_READ_REQUEST, 1);
	nak.body[0] = SYN_NAK_SEQUENCE;
	wire_say(&self->w, nak);
	expect_packet(&self->w, OP_WRITE_ONLY, 0);
	expect_packet(&self->w, OP_READ_REQUEST, 1);
	wire_say(&self->w, wire_answer(OP_ACK, 0));
	expect_success(self->end, 1, IBV_WC_RDMA_WRITE, 8);
	/* the READ is missed, too */
	expect_packet(&self->w, OP_READ_REQUEST, 1);
}

TEST_F_TIMEOUT(wire, lost_read_with_a_fence_is_sent_again, WAIT_SECONDS)
{
	connect_to_nobody(_metadata, self, MISSED_SOON());
	post_read(1, IBV_SEND_FENCE);
	for (int i = 0; i < 3; i++)
		expect_packet(&self->w, OP_READ_REQUEST, 0);
}

/* However many there are, if each is answered in the end. */
TEST_F_TIMEOUT(wire, retries_begin_anew_with_each_answer, WAIT_SECONDS)
{
	connect_to_nobody(_metadata, self, MISSED_SOON(o.retry_cnt = 2));
	for (__u32 psn = 0; psn < 4; psn++) {
		post_atomic_write(psn);
		expect_packet(&self->w, OP_ATOMIC_WRITE, psn);
		expect_packet(&self->w, OP_ATOMIC_WRITE, psn);
		wire_say(&self->w, wire_answer(OP_READ_RESPONSE_ONLY, psn));
		expect_success(self->end, psn, IBV_WC_ATOMIC_WRITE, 8);
	}
}

/* An answer that does not fit completes nothing with success. */
static void bad_answer(struct __test_metadata *_metadata, FIXTURE_DATA(wire) *self,
		       __u8 opcode, struct wire_packet answer)
{
	rxe_end_new(_metadata, &self->p, self->end, NULL);
	rxe_end_init(_metadata, self->end, B_ACCESS);
	self->w.qpn = self->end->qp->qp_num;
	connect_to_nobody(_metadata, self, RXE_OPTS());
	if (opcode == OP_FLUSH)
		post_flush(1);
	else
		post_atomic_write(1);
	expect_packet(&self->w, opcode, 0);
	wire_say(&self->w, answer);
	expect_wc(self->end, 1, IBV_WC_BAD_RESP_ERR);
}

TEST_F_TIMEOUT(wire, answer_that_is_none_is_an_error, WAIT_SECONDS)
{
	struct wire_packet nak = wire_answer(OP_READ_RESPONSE_ONLY, 0);
	struct wire_packet atomic = wire_answer(OP_ATOMIC_ACK, 0);

	nak.body[0] = SYN_NAK_INVALID_REQUEST;
	bad_answer(_metadata, self, OP_FLUSH, nak);
	atomic.len = 12;
	bad_answer(_metadata, self, OP_FLUSH, atomic);
}

/* Their response is one packet, never the first of several. */
TEST_F_TIMEOUT(wire, part_of_an_answer_is_an_error, WAIT_SECONDS)
{
	const __u8 parts[] = { OP_READ_RESPONSE_FIRST, OP_READ_RESPONSE_MIDDLE,
			       OP_READ_RESPONSE_LAST };

	for (int i = 0; i < 3; i++) {
		bad_answer(_metadata, self, OP_FLUSH, wire_answer(parts[i], 0));
		bad_answer(_metadata, self, OP_ATOMIC_WRITE, wire_answer(parts[i], 0));
	}
}

/* ---- a message of many packets is sent again ---- */

#define post_long_write(id)						\
	rxe_post(self->end, id, ({					\
		ibv_wr_rdma_write(ex, REMOTE_RKEY, REMOTE_ADDR);	\
		ibv_wr_set_sge(ex, self->mr->lkey, (uintptr_t)self->mem, LONG_SIZE); }))

static void prepare_long(struct __test_metadata *_metadata, FIXTURE_DATA(wire) *self)
{
	for (int i = 0; i < LONG_SIZE; i++)
		self->mem[i] = i / LONG_MTU * 3 + i;
	connect_to_nobody(_metadata, self, RXE_OPTS(o.timeout = 19; o.path_mtu = IBV_MTU_256));
}

TEST_F_TIMEOUT(wire, write_that_is_answered_too_early_completes, WAIT_SECONDS)
{
	prepare_long(_metadata, self);
	post_long_write(1);
	long_write_ends(_metadata, &self->w, self->mem);
	long_write_answered_early(_metadata, &self->w, self->mem);
	long_write_ends(_metadata, &self->w, self->mem);
	expect_nothing_completed();
	long_write_ends(_metadata, &self->w, self->mem);
	wire_say(&self->w, wire_answer(OP_ACK, LONG_LAST));
	expect_success(self->end, 1, IBV_WC_RDMA_WRITE, LONG_SIZE);
}

TEST_F_TIMEOUT(wire, write_that_is_answered_too_early_keeps_its_place, WAIT_SECONDS)
{
	prepare_long(_metadata, self);
	post_long_write(1);
	post_write(2, 0);
	long_write_ends(_metadata, &self->w, self->mem);
	expect_packet(&self->w, OP_WRITE_ONLY, LONG_LAST + 1);
	long_write_answered_early(_metadata, &self->w, self->mem);
	for (int i = 0; i < 2; i++) {
		long_write_ends(_metadata, &self->w, self->mem);
		expect_packet(&self->w, OP_WRITE_ONLY, LONG_LAST + 1);
	}
	expect_nothing_completed();
	wire_say(&self->w, wire_answer(OP_ACK, LONG_LAST + 1));
	expect_success(self->end, 1, IBV_WC_RDMA_WRITE, LONG_SIZE);
	expect_success(self->end, 2, IBV_WC_RDMA_WRITE, 8);
}

/* ---- the device answers ---- */

static void expect_response(struct __test_metadata *_metadata, struct wire *w, __u32 psn)
{
	struct wire_packet p = expect_packet(w, OP_READ_RESPONSE_ONLY, psn);

	ASSERT_EQ(4, p.len);
	ASSERT_EQ(SYN_ACK, p.body[0]);
}

#define flush_all(self, psn)						\
	wire_flush(psn, IBV_FLUSH_GLOBAL, IBV_FLUSH_RANGE, (uintptr_t)(self)->mem, \
		   (self)->mr->rkey, MEM_SIZE)
#define write_value(self, opcode, psn, value)				\
	wire_write(opcode, psn, (uintptr_t)(self)->mem, (self)->mr->rkey, value)

TEST_F_TIMEOUT(wire, repeated_flush_is_answered_again, WAIT_SECONDS)
{
	connect_to_nobody(_metadata, self, RXE_OPTS(o.max_dest_rd_atomic = 4));
	for (__u32 psn = 0; psn < 16; psn++) {
		wire_say(&self->w, flush_all(self, psn));
		expect_response(_metadata, &self->w, psn);
	}
	/* the last four, in any order and more than once */
	for (int i = 0; i < 3; i++)
		for (__u32 psn = 15; psn >= 12; psn--) {
			wire_say(&self->w, flush_all(self, psn));
			expect_response(_metadata, &self->w, psn);
		}
	wire_say(&self->w, flush_all(self, 16));
	expect_response(_metadata, &self->w, 16);
}

TEST_F_TIMEOUT(wire, repeated_atomic_write_is_answered_and_not_done_again, WAIT_SECONDS)
{
	__u64 value;

	connect_to_nobody(_metadata, self, RXE_OPTS());
	for (__u32 psn = 0; psn < 2; psn++) {
		wire_say(&self->w, write_value(self, OP_ATOMIC_WRITE, psn, psn + 1));
		expect_response(_metadata, &self->w, psn);
	}
	wire_say(&self->w, write_value(self, OP_ATOMIC_WRITE, 0, 1));
	expect_response(_metadata, &self->w, 0);
	memcpy(&value, self->mem, sizeof(value));
	ASSERT_EQ(2, value);
}

/* A WRITE of no bytes in between, which has no region. */
TEST_F_TIMEOUT(wire, repeated_read_is_answered_again, WAIT_SECONDS)
{
	struct wire_packet read = wire_rdma(OP_READ_REQUEST, 0, (uintptr_t)self->mem,
					    self->mr->rkey, 64);
	struct wire_packet p;

	memset(self->mem, 0x33, 64);
	connect_to_nobody(_metadata, self, RXE_OPTS());
	wire_say(&self->w, read);
	expect_packet(&self->w, OP_READ_RESPONSE_ONLY, 0);
	wire_say(&self->w, wire_rdma(OP_WRITE_ONLY, 1, 0, 0, 0));
	expect_packet(&self->w, OP_ACK, 1);
	wire_say(&self->w, read);
	p = expect_packet(&self->w, OP_READ_RESPONSE_ONLY, 0);
	ASSERT_EQ(4 + 64, p.len);
	ASSERT_EQ(0, memcmp(self->mem, p.body + 4, 64));
}

TEST_F_TIMEOUT(wire, flush_without_responder_resources_is_refused, WAIT_SECONDS)
{
	struct wire_packet p;

	connect_to_nobody(_metadata, self, RXE_OPTS(o.max_dest_rd_atomic = 0));
	wire_say(&self->w, flush_all(self, 0));
	p = expect_packet(&self->w, OP_ACK, 0);
	ASSERT_EQ(SYN_NAK_INVALID_REQUEST, p.body[0]);
}

/*
 * A READ that was never granted gets nothing out of a FLUSH with its number,
 * whose operands look like those of such a READ. The only slot has served a
 * READ before, and keeps the upper half of its address.
 */
TEST_F_TIMEOUT(wire, flush_is_not_taken_for_a_read, WAIT_SECONDS)
{
	const __u32 low = 0x10000000;
	__u8 *open = mmap((void *)(0x700000000000 + low), 8192, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
	__u8 *secret = open + 4096;
	struct ibv_mr *granted, *shut;
	struct wire_packet p;

	ASSERT_NE(MAP_FAILED, (void *)open);
	memset(secret, 0x77, 4096);
	granted = rxe_reg(_metadata, &self->p, open, 4096, PLAIN_ACCESS | IBV_ACCESS_FLUSH_GLOBAL);
	shut = rxe_reg(_metadata, &self->p, secret, 4096, IBV_ACCESS_LOCAL_WRITE);
	connect_to_nobody(_metadata, self, RXE_OPTS(o.max_dest_rd_atomic = 1));
	wire_say(&self->w, wire_rdma(OP_READ_REQUEST, 0, (uintptr_t)open, granted->rkey, 8));
	expect_packet(&self->w, OP_READ_RESPONSE_ONLY, 0);
	wire_say(&self->w, wire_flush(1, IBV_FLUSH_GLOBAL, IBV_FLUSH_MR,
				      0x10000ULL << 32 | shut->rkey, granted->rkey, low));
	expect_response(_metadata, &self->w, 1);
	for (__u32 psn = 0; psn < 2; psn++)
		wire_say(&self->w, wire_rdma(OP_READ_REQUEST, psn, (uintptr_t)secret,
					     shut->rkey, 64));
	wire_say(&self->w, write_value(self, OP_WRITE_ONLY, 2, 0));
	p = wire_receive(_metadata, &self->w);
	ASSERT_EQ(OP_ACK, p.opcode)
		TH_LOG("request %u got %zu bytes: %02x%02x%02x%02x...", p.psn, p.len - 4, p.body[4],
		       p.body[5], p.body[6], p.body[7]);
	ASSERT_EQ(2, p.psn);
}

TEST_HARNESS_MAIN
