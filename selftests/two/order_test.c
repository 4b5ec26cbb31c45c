// SPDX-License-Identifier: GPL-2.0
/*
 * WRITE, FLUSH, ATOMIC WRITE, FLUSH: the second word commits what the first
 * request wrote. A reader on the other machine (the observer of loss_target, at
 * PEER4) watches the word, and for each new value looks at the data: all of
 * that generation must be there. That it can tell is shown by programs that do
 * it wrongly.
 */
#include "loss_pair.h"

#define GENERATIONS 300		/* to be looked at, in each test */
#define LOSSY_GENERATIONS 100	/* a loss may cost half a second */
#define IN_FLIGHT 32		/* generations, a multiple of SIGNAL_EACH */
#define SIGNAL_EACH 16
#define END_MS 150000

enum order {
	RIGHT,
	WORD_FIRST,
	WORD_ON_ANOTHER_CONNECTION,
};

struct stream {
	struct loss_end end;
	struct side other;	/* a second connection */
	enum order order;
	__u32 placement;
	__u64 enough;		/* generations looked at */
	__u64 posted;		/* generations */
	__u64 done;
};

#define STREAM struct __test_metadata *_metadata, struct stream *s

static void stream_open(STREAM, __u32 method, int region, enum order order)
{
	loss_open(_metadata, &s->end, method, region);
	s->other = side_new(_metadata, &s->end.p);
	loss_connect(_metadata, &s->end.p, &s->other, method);
	s->order = order;
	s->placement = region == LOSS_PMEM ? RPMA_FLUSH_PERSISTENT : RPMA_FLUSH_GLOBAL;
	s->enough = GENERATIONS;
	s->posted = s->done = 0;
	tell(&s->end, .type = LOSS_OBSERVE, .region = region);
}

static void stream_close(STREAM)
{
	side_close(&s->other);
	loss_close(_metadata, &s->end);
}

/* What a commit consists of, in two halves. */
static void build(struct stream *s, __u64 generation, struct rpma_request data[2],
		  struct rpma_request word[2])
{
	struct region *from = &s->end.p.client.mem, *to = &s->end.there;
	__u64 at = order_slot(generation);
	__u64 *words = (__u64 *)(from->addr + at);

	for (unsigned int i = 0; i < ORDER_WORDS; i++)
		words[i] = order_word(generation, i);
	data[0] = req_write(generation, 0, from, at, to, at, ORDER_SLOT);
	data[1] = req_flush(generation, 0, to, at, ORDER_SLOT);
	word[0] = req_atomic_write(generation, 0, to, 0, generation);
	word[1] = req_flush(generation, 0, to, 0, 8);
	data[1].placement = word[1].placement = s->placement;
}

static void take_signaled(STREAM)
{
	struct rpma_completion c = reap(_metadata, s->end.p.client.cq);

	ASSERT_EQ(0, c.status);
	ASSERT_EQ(RPMA_OP_FLUSH, c.op);
	ASSERT_EQ(s->done + SIGNAL_EACH, c.context);
	s->done = c.context;
}

/* One more generation; waits for an older one when many are in flight. */
static void commit(STREAM)
{
	struct rpma_request r[4], *data = r, *word = r + 2;
	bool apart = s->order == WORD_ON_ANOTHER_CONNECTION;
	int conn = s->end.p.client.conn;

	if (++s->posted - s->done > IN_FLIGHT)
		take_signaled(_metadata, s);
	if (s->order == WORD_FIRST) {
		word = r;
		data = r + 2;
	}
	build(s, s->posted, data, word);
	if (s->posted % SIGNAL_EACH == 0)
		r[apart ? 1 : 3].flags = SIGNALED;
	ioc_post(conn, r, apart ? 2 : 4);
	if (apart)
		ASSERT_EQ(2, _ioc_post_flags(s->other.conn, word, 2, RPMA_POST_F_WAIT));
}

/* Commits until the observer has looked at enough of it, or has seen it broken. */
static struct loss_observed stream(STREAM)
{
	long long end = now_ms() + END_MS;
	struct loss_observed saw;

	do {
		for (int i = 0; i < SIGNAL_EACH; i++)
			commit(_metadata, s);
		saw = tell(&s->end, .type = LOSS_OBSERVED).observed;
		ASSERT_GT(end, now_ms())
			TH_LOG("the observer saw %llu of %llu generations, %llu overtook it",
			       (unsigned long long)saw.generations,
			       (unsigned long long)s->posted,
			       (unsigned long long)saw.overtaken);
	} while (saw.generations < s->enough && !saw.violations);
	while (s->done < s->posted)
		take_signaled(_metadata, s);
	return saw;
}

/* ---- as it should be done ---- */

FIXTURE(order) {
	struct stream s;
};

FIXTURE_VARIANT(order) {
	__u32 method;
	int region;
};

FIXTURE_VARIANT_ADD(order, native_dram) {
	.method = RPMA_FLUSH_METHOD_NATIVE, .region = LOSS_DRAM,
};

FIXTURE_VARIANT_ADD(order, native_pmem) {
	.method = RPMA_FLUSH_METHOD_NATIVE, .region = LOSS_PMEM,
};

FIXTURE_VARIANT_ADD(order, read_dram) {
	.method = RPMA_FLUSH_METHOD_READ, .region = LOSS_DRAM,
};

FIXTURE_VARIANT_ADD(order, read_pmem) {
	.method = RPMA_FLUSH_METHOD_READ, .region = LOSS_PMEM,
};

FIXTURE_SETUP(order)
{
	SKIP_WITHOUT_RPMA();
	if (variant->method == RPMA_FLUSH_METHOD_NATIVE && !loss_has_patched_provider())
		SKIP(return, "the stock provider has no native flush");
	stream_open(_metadata, &self->s, variant->method, variant->region, RIGHT);
}

FIXTURE_TEARDOWN(order)
{
	if (self->s.end.there.length)
		stream_close(_metadata, &self->s);
}

static void expect_order(STREAM)
{
	struct loss_observed saw;

	stream(_metadata, s);
	saw = tell(&s->end, .type = LOSS_UNOBSERVE).observed;
	EXPECT_EQ(0, saw.violations)
		TH_LOG("of %llu generations", (unsigned long long)saw.generations);
	EXPECT_LE(s->enough, saw.generations);
	expect_no_completion(s->end.p.client.cq);
	expect_nothing_in_flight(_metadata, &s->end.p, s->end.p.client.conn);
}

TEST_F_TIMEOUT(order, data_are_there_before_the_word_that_commits_them, 2 * WAIT_SECONDS)
{
	expect_order(_metadata, &self->s);
}

/* ---- the same while packets are lost ---- */

FIXTURE(lossy) {
	struct stream s;
};

FIXTURE_VARIANT(lossy) {
	__u32 method;
	int region;
};

FIXTURE_VARIANT_ADD(lossy, native_dram) {
	.method = RPMA_FLUSH_METHOD_NATIVE, .region = LOSS_DRAM,
};

FIXTURE_VARIANT_ADD(lossy, native_pmem) {
	.method = RPMA_FLUSH_METHOD_NATIVE, .region = LOSS_PMEM,
};

FIXTURE_VARIANT_ADD(lossy, read_dram) {
	.method = RPMA_FLUSH_METHOD_READ, .region = LOSS_DRAM,
};

FIXTURE_SETUP(lossy)
{
	SKIP_WITHOUT_RPMA();
	if (!loss_has_patched_provider())
		SKIP(return, "the stock provider hangs when a fenced request is lost");
	stream_open(_metadata, &self->s, variant->method, variant->region, RIGHT);
	self->s.enough = LOSSY_GENERATIONS;
	loss_netem(_metadata, &self->s.end, true);
}

FIXTURE_TEARDOWN(lossy)
{
	if (self->s.end.there.length)
		stream_close(_metadata, &self->s);
}

TEST_F_TIMEOUT(lossy, data_are_there_before_the_word_that_commits_them, 2 * WAIT_SECONDS)
{
	expect_order(_metadata, &self->s);
}

/* ---- as it should not be done: the observer can tell ---- */

FIXTURE(disorder) {
	struct stream s;
};

FIXTURE_VARIANT(disorder) {
	__u32 method;
};

FIXTURE_VARIANT_ADD(disorder, native) { .method = RPMA_FLUSH_METHOD_NATIVE };
FIXTURE_VARIANT_ADD(disorder, read) { .method = RPMA_FLUSH_METHOD_READ };

FIXTURE_SETUP(disorder)
{
	SKIP_WITHOUT_RPMA();
	if (variant->method == RPMA_FLUSH_METHOD_NATIVE && !loss_has_patched_provider())
		SKIP(return, "the stock provider has no native flush");
	stream_open(_metadata, &self->s, variant->method, LOSS_DRAM, WORD_FIRST);
}

FIXTURE_TEARDOWN(disorder)
{
	if (self->s.end.there.length)
		stream_close(_metadata, &self->s);
}

TEST_F_TIMEOUT(disorder, word_written_first_is_seen_too_early, 2 * WAIT_SECONDS)
{
	EXPECT_LT(0, stream(_metadata, &self->s).violations);
}

TEST_F_TIMEOUT(disorder, word_from_another_connection_is_seen_too_early, 2 * WAIT_SECONDS)
{
	if (!loss_has_patched_provider())
		SKIP(return, "the stock provider hangs when a fenced request is lost");
	self->s.order = WORD_ON_ANOTHER_CONNECTION;
	loss_netem(_metadata, &self->s.end, true);
	EXPECT_LT(0, stream(_metadata, &self->s).violations);
}

TEST_HARNESS_MAIN
