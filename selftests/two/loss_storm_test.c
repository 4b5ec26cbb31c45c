// SPDX-License-Identifier: GPL-2.0
/*
 * Both machines lose a packet in twenty of what they send and let others pass
 * it (loss_target at PEER4). Several connections flush at the same time, one
 * flush after the other or many at once.
 */
#include "loss_pair.h"

#define CONNS 8
#define CHUNK 500
#define DEEP 16
#define END_MS 150000

FIXTURE(storm) {
	struct loss_end end;
	struct side more[CONNS - 1];
};

FIXTURE_VARIANT(storm) {
	__u32 method;
	int deep;
	int flushes;		/* of each connection */
};

FIXTURE_VARIANT_ADD(storm, native_one_by_one) {
	.method = RPMA_FLUSH_METHOD_NATIVE, .deep = 1, .flushes = 20,
};

FIXTURE_VARIANT_ADD(storm, native_many) {
	.method = RPMA_FLUSH_METHOD_NATIVE, .deep = DEEP, .flushes = 48,
};

FIXTURE_VARIANT_ADD(storm, read_one_by_one) {
	.method = RPMA_FLUSH_METHOD_READ, .deep = 1, .flushes = 20,
};

FIXTURE_VARIANT_ADD(storm, read_many) {
	.method = RPMA_FLUSH_METHOD_READ, .deep = DEEP, .flushes = 48,
};

FIXTURE_SETUP(storm)
{
	SKIP_WITHOUT_RPMA();
	if (variant->method == RPMA_FLUSH_METHOD_NATIVE && !loss_has_patched_provider())
		SKIP(return, "the stock provider has no native flush");
	loss_open(_metadata, &self->end, variant->method, LOSS_DRAM);
	for (int i = 0; i < CONNS - 1; i++) {
		self->more[i] = side_new(_metadata, &self->end.p);
		loss_connect(_metadata, &self->end.p, &self->more[i], variant->method);
	}
	loss_netem(_metadata, &self->end, true);
}

FIXTURE_TEARDOWN(storm)
{
	if (!self->end.there.length)
		return;
	for (int i = 0; i < CONNS - 1; i++)
		side_close(&self->more[i]);
	loss_close(_metadata, &self->end);
}

struct stream {
	struct side *side;
	__u64 area;		/* of the region over there: DEEP pieces, 512 bytes each */
	int posted;
	int done;
};

static void piece_fill(__u8 *at, int conn, int nr)
{
	for (int i = 0; i < CHUNK; i++)
		at[i] = conn * 29 + nr * 7 + i;
}

static void post_one(struct __test_metadata *_metadata, struct region *there, struct stream *s,
		     int conn)
{
	__u64 at = s->posted % DEEP * 512;
	struct rpma_request r[2] = {
		req_write(s->posted, 0, &s->side->mem, at, there, s->area + at, CHUNK),
		req_flush(s->posted, SIGNALED, there, s->area + at, CHUNK),
	};

	piece_fill(s->side->mem.addr + at, conn, s->posted);
	ioc_post(s->side->conn, r, 2);
	s->posted++;
}

/* Return: whether something has completed: the next one, with success. */
static bool take_one(struct __test_metadata *_metadata, struct stream *s, __u32 method)
{
	struct rpma_completion c;

	if (!reap_within(s->side->cq, &c, 0))
		return false;
	ASSERT_EQ(0, c.status);
	ASSERT_EQ(s->done, c.context);
	ASSERT_EQ(RPMA_OP_FLUSH, c.op);
	ASSERT_EQ(method, c.method);
	s->done++;
	return true;
}

static void expect_pieces(struct __test_metadata *_metadata, struct loss_end *end,
			  struct stream *s, int conn)
{
	__u8 want[CHUNK];

	for (int nr = s->posted - DEEP; nr < s->posted; nr++) {
		struct loss_answer a;

		a = tell(end, .type = LOSS_PEEK, .offset = s->area + nr % DEEP * 512);
		piece_fill(want, conn, nr);
		ASSERT_EQ(0, memcmp(want, a.data, CHUNK));
	}
}

TEST_F_TIMEOUT(storm, every_flush_completes_once_in_order, 2 * WAIT_SECONDS)
{
	struct stream streams[CONNS] = { { .side = &self->end.p.client } };
	int left = CONNS * variant->flushes;
	long long end = now_ms() + END_MS;

	for (int i = 1; i < CONNS; i++)
		streams[i] = (struct stream){ .side = &self->more[i - 1], .area = i * DEEP * 512 };
	while (left) {
		bool idle = true;

		for (int i = 0; i < CONNS; i++) {
			struct stream *s = &streams[i];

			while (s->posted < variant->flushes && s->posted - s->done < variant->deep)
				post_one(_metadata, &self->end.there, s, i);
			while (take_one(_metadata, s, variant->method)) {
				left--;
				idle = false;
			}
		}
		ASSERT_GT(end, now_ms())
			TH_LOG("%d flushes did not complete", left);
		if (idle)
			usleep(1000);
	}
	loss_netem(_metadata, &self->end, false);
	for (int i = 0; i < CONNS; i++) {
		expect_no_completion(streams[i].side->cq);
		expect_nothing_in_flight(_metadata, &self->end.p, streams[i].side->conn);
		expect_pieces(_metadata, &self->end, &streams[i], i);
	}
}

TEST_HARNESS_MAIN
