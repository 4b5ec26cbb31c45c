// SPDX-License-Identifier: GPL-2.0
/*
 * Both machines lose a packet in twenty of what they send and let others pass
 * it (loss_target at PEER4). Several connections flush at the same time, one
 * flush after the other or many at once, behind WRITEs of one packet or of some.
 */
#include "loss_pair.h"

#define CONNS 8
#define CHUNK 500
#define DEEP 16
#define MAX_CHUNK 10000		/* three packets */
#define GAP 12
#define AREA (LOSS_REGION / CONNS)
#define PEEK 4096
#define END_MS 150000

FIXTURE(storm) {
	struct loss_end end;
	struct side more[CONNS - 1];
};

FIXTURE_VARIANT(storm) {
	__u32 method;
	int chunk;		/* bytes */
	int deep;
	int flushes;		/* of each connection */
};

FIXTURE_VARIANT_ADD(storm, native_one_by_one) {
	.method = RPMA_FLUSH_METHOD_NATIVE, .chunk = CHUNK, .deep = 1, .flushes = 20,
};

FIXTURE_VARIANT_ADD(storm, native_many) {
	.method = RPMA_FLUSH_METHOD_NATIVE, .chunk = CHUNK, .deep = DEEP, .flushes = 48,
};

FIXTURE_VARIANT_ADD(storm, native_long) {
	.method = RPMA_FLUSH_METHOD_NATIVE, .chunk = MAX_CHUNK, .deep = 4, .flushes = 16,
};

FIXTURE_VARIANT_ADD(storm, read_one_by_one) {
	.method = RPMA_FLUSH_METHOD_READ, .chunk = CHUNK, .deep = 1, .flushes = 20,
};

FIXTURE_VARIANT_ADD(storm, read_many) {
	.method = RPMA_FLUSH_METHOD_READ, .chunk = CHUNK, .deep = DEEP, .flushes = 48,
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
	__u64 area;		/* of the region over there: room for @slots pieces */
	int slots;
	int chunk;
	int posted;
	int done;
};

static __u64 piece_at(const struct stream *s, int nr)
{
	return (__u64)(nr % s->slots) * (s->chunk + GAP);
}

static void piece_fill(__u8 *at, int chunk, int conn, int nr)
{
	for (int i = 0; i < chunk; i++)
		at[i] = conn * 29 + nr * 7 + i / 256 * 3 + i;
}

static void post_one(struct __test_metadata *_metadata, struct region *there, struct stream *s,
		     int conn)
{
	__u64 at = piece_at(s, s->posted);
	struct rpma_request r[2] = {
		req_write(s->posted, 0, &s->side->mem, at, there, s->area + at, s->chunk),
		req_flush(s->posted, SIGNALED, there, s->area + at, s->chunk),
	};

	piece_fill(s->side->mem.addr + at, s->chunk, conn, s->posted);
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

static void expect_piece(struct __test_metadata *_metadata, struct loss_end *end, __u64 at,
			 const __u8 *want, int len)
{
	for (int done = 0; done < len; done += PEEK) {
		struct loss_answer a = tell(end, .type = LOSS_PEEK, .offset = at + done);

		ASSERT_EQ(0, memcmp(want + done, a.data, len - done < PEEK ? len - done : PEEK));
	}
}

static void expect_pieces(struct __test_metadata *_metadata, struct loss_end *end,
			  struct stream *s, int conn)
{
	__u8 want[MAX_CHUNK];

	for (int nr = s->posted - s->slots; nr < s->posted; nr++) {
		piece_fill(want, s->chunk, conn, nr);
		expect_piece(_metadata, end, s->area + piece_at(s, nr), want, s->chunk);
	}
}

static void streams_begin(struct stream *streams, struct side *first, struct side *more,
			  int chunk)
{
	int room = AREA / (chunk + GAP);

	for (int i = 0; i < CONNS; i++)
		streams[i] = (struct stream){
			.side = i ? &more[i - 1] : first, .area = i * AREA, .chunk = chunk,
			.slots = room < DEEP ? room : DEEP,
		};
}

TEST_F_TIMEOUT(storm, every_flush_completes_once_in_order, 2 * WAIT_SECONDS)
{
	struct stream streams[CONNS];
	int left = CONNS * variant->flushes;
	long long end = now_ms() + END_MS;

	streams_begin(streams, &self->end.p.client, self->more, variant->chunk);
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
