/* SPDX-License-Identifier: GPL-2.0 */
/* The fixture of loss_test: one connection, what it loses, and all that is seen of it. */
#ifndef _TWO_LOSS_FIXTURE_H
#define _TWO_LOSS_FIXTURE_H

#include "../wire/roce.h"
#include "loss_drop.h"
#include "loss_pair.h"

#define MANY 64
#define MAX_SEEN 16384

FIXTURE(loss) {
	struct loss_end end;
	struct side *c;
	struct region *there;
	struct drop drop;
	int wire;
	__u32 qp_here;
	__u32 qp_there;
	struct roce_packet *seen;	/* of this connection, in order */
	int nr_seen;
};

FIXTURE_VARIANT(loss) {
	__u32 method;
	__u8 flush;		/* opcode that a flush has on the wire */
	__u8 atomic;		/* and an atomic write */
	__u8 atomic_answer;
};

FIXTURE_VARIANT_ADD(loss, native) {
	.method = RPMA_FLUSH_METHOD_NATIVE, .flush = ROCE_FLUSH,
	.atomic = ROCE_ATOMIC_WRITE, .atomic_answer = ROCE_READ_RESPONSE_ONLY,
};

/* Where there is no native method an atomic write is a fenced WRITE. */
FIXTURE_VARIANT_ADD(loss, read) {
	.method = RPMA_FLUSH_METHOD_READ, .flush = ROCE_READ_REQUEST,
	.atomic = ROCE_WRITE_ONLY, .atomic_answer = ROCE_ACKNOWLEDGE,
};

FIXTURE_SETUP(loss)
{
	SKIP_WITHOUT_RPMA();
	if (variant->method == RPMA_FLUSH_METHOD_NATIVE && !loss_has_patched_provider())
		SKIP(return, "the stock provider has no native flush");
	loss_open(_metadata, &self->end, variant->method, LOSS_DRAM);
	self->c = &self->end.p.client;
	self->there = &self->end.there;
	self->qp_here = ioc_conn_query(self->end.p.fd, .conn_fd = self->c->conn).out_qp_num;
	self->qp_there = tell(&self->end, .type = LOSS_QP).value;
	ASSERT_EQ(0, drop_start(&self->drop, "eth0"))
		TH_LOG("%s", strerror(errno));
	self->wire = roce_listen("eth0");
	ASSERT_LE(0, self->wire);
	self->seen = calloc(MAX_SEEN, sizeof(*self->seen));
	ASSERT_NE(NULL, self->seen);
}

FIXTURE_TEARDOWN(loss)
{
	if (!self->seen)
		return;
	free(self->seen);
	close(self->wire);
	drop_stop(&self->drop);
	loss_close(_metadata, &self->end);
}

#define LOSS struct __test_metadata *_metadata, FIXTURE_DATA(loss) *self

/* ---- what is lost, and what is seen ---- */

/* An answer, on its way in; after @skip others of its kind. */
static void lose_answer(LOSS, __u8 opcode, int skip, int times)
{
	ASSERT_EQ(0, drop_rule(&self->drop, self->qp_here, opcode, skip, times));
}

static void expect_lost_answers(LOSS, __u8 opcode, int times)
{
	ASSERT_EQ(times, drop_dropped(&self->drop, self->qp_here, opcode));
}

/* A request, as it reaches the other machine. */
static void lose_request(LOSS, __u8 opcode, int skip, int times)
{
	ASSERT_EQ(0, tell(&self->end, .type = LOSS_DROP, .opcode = opcode, .skip = skip,
			  .drop = times).value);
}

static void expect_lost_requests(LOSS, __u8 opcode, int times)
{
	ASSERT_EQ(times, tell(&self->end, .type = LOSS_DROPPED, .opcode = opcode).value);
}

/* What was on the wire so far, also what was lost behind it. */
static void look(LOSS)
{
	struct roce_packet p;

	while (roce_next(self->wire, &p)) {
		if (p.dest_qp != (p.sent ? self->qp_there : self->qp_here))
			continue;
		ASSERT_GT(MAX_SEEN, self->nr_seen);
		self->seen[self->nr_seen++] = p;
	}
}

static int count(FIXTURE_DATA(loss) *self, bool sent, __u8 opcode)
{
	int n = 0;

	for (int i = 0; i < self->nr_seen; i++)
		n += self->seen[i].sent == sent && self->seen[i].opcode == opcode;
	return n;
}

static void show(FIXTURE_DATA(loss) *self)
{
	for (int i = 0; i < self->nr_seen; i++) {
		const struct roce_packet *p = &self->seen[i];

		printf("# %s opcode %02x psn %06x syndrome %02x va %llx rkey %08x len %u\n",
		       p->sent ? "-->" : "<--", p->opcode, p->psn, p->syndrome,
		       (unsigned long long)p->va, p->rkey, p->len);
	}
}

/* Two or more were sent with @opcode and PSN of the last one, and all alike. */
static const struct roce_packet *expect_sent_again(LOSS, __u8 opcode, int times)
{
	const struct roce_packet *one = NULL;
	int n = 0;

	look(_metadata, self);
	for (int i = self->nr_seen - 1; i >= 0; i--) {
		const struct roce_packet *p = &self->seen[i];

		if (!p->sent || p->opcode != opcode || (one && p->psn != one->psn))
			continue;
		one = one ?: p;
		n++;
		EXPECT_EQ(one->va, p->va);
		EXPECT_EQ(one->rkey, p->rkey);
		EXPECT_EQ(one->len, p->len);
		EXPECT_EQ(one->placement, p->placement);
		EXPECT_EQ(one->selectivity, p->selectivity);
		EXPECT_EQ(one->payload, p->payload);
		EXPECT_EQ(0, memcmp(one->data, p->data, sizeof(one->data)));
	}
	EXPECT_LE(times, n)
		show(self);
	ASSERT_NE(NULL, one);
	return one;
}

/* ---- data ---- */

#define CHUNK 1000

/* @n pieces of CHUNK bytes, each 4 KiB behind the one before. */
static void fill(FIXTURE_DATA(loss) *self, int n)
{
	static unsigned int seed = 1;

	for (int i = 0; i < n; i++)
		for (int j = 0; j < CHUNK; j++)
			self->c->mem.addr[i * 4096 + j] =
				(seed = seed * 1103515245 + 12345) >> 16;
}

static void expect_there(LOSS, int n)
{
	for (int i = 0; i < n; i++) {
		struct loss_answer a = tell(&self->end, .type = LOSS_PEEK, .offset = i * 4096);

		ASSERT_EQ(0, memcmp(self->c->mem.addr + i * 4096, a.data, CHUNK));
	}
}

static struct rpma_request write_piece(FIXTURE_DATA(loss) *self, int i)
{
	return req_write(0x1000 + i, 0, &self->c->mem, i * 4096, self->there, i * 4096, CHUNK);
}

static struct rpma_request flush_piece(FIXTURE_DATA(loss) *self, int i)
{
	return req_flush(i, SIGNALED, self->there, i * 4096, CHUNK);
}

/* Posts pairs of WRITE and FLUSH at once. */
static void post_pairs(LOSS, int n)
{
	struct rpma_request r[2 * MANY];

	fill(self, n);
	for (int i = 0; i < n; i++) {
		r[2 * i] = write_piece(self, i);
		r[2 * i + 1] = flush_piece(self, i);
	}
	ioc_post(self->c->conn, r, 2 * n);
}

static void expect_flushed(LOSS, __u32 method, int n)
{
	for (int i = 0; i < n; i++) {
		struct rpma_completion c = expect_completion(self->c->cq, i, RPMA_OP_FLUSH, 0);

		ASSERT_EQ(method, c.method);
		ASSERT_EQ(CHUNK, c.len);
	}
}

/* After whatever was lost: nothing more comes, and the next flush works. */
static void expect_works_on(LOSS, __u32 method)
{
	expect_no_completion(self->c->cq);
	expect_nothing_in_flight(_metadata, &self->end.p, self->c->conn);
	post_pairs(_metadata, self, 2);
	expect_flushed(_metadata, self, method, 2);
	expect_there(_metadata, self, 2);
}

/* The last flush on the wire asks for what the request asked for. */
static void expect_flush_as_posted(LOSS, const struct roce_packet *p, int i)
{
	__u64 start = (uintptr_t)self->there->addr + i * 4096;

	EXPECT_EQ(self->there->rkey, p->rkey);
	if (p->opcode == ROCE_FLUSH) {
		EXPECT_EQ(start, p->va);
		EXPECT_EQ(CHUNK, p->len);
		EXPECT_EQ(RPMA_FLUSH_GLOBAL, p->placement);
		EXPECT_EQ(0, p->selectivity);
	} else {
		EXPECT_LE(start, p->va);
		EXPECT_GE(start + CHUNK, p->va + p->len);
	}
}

#endif /* _TWO_LOSS_FIXTURE_H */
