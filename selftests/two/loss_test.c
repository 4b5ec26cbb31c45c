// SPDX-License-Identifier: GPL-2.0
/*
 * Packets are lost, chosen ones and any (loss_target at PEER4): every request
 * completes once, in order, with success; what a flush covers is there; what is
 * sent again is what was sent before; and the connection works on.
 */
#include "loss_fixture.h"

/* ---- one WRITE, one FLUSH ---- */

TEST_F_TIMEOUT(loss, flush_is_sent_again_as_it_was, WAIT_SECONDS)
{
	for (int times = 1; times <= 2; times++) {
		lose_request(_metadata, self, variant->flush, 0, times);
		post_pairs(_metadata, self, 1);
		expect_flushed(_metadata, self, variant->method, 1);
		expect_there(_metadata, self, 1);
		expect_lost_requests(_metadata, self, variant->flush, times);
		expect_flush_as_posted(_metadata, self,
				       expect_sent_again(_metadata, self, variant->flush,
							 times + 1), 0);
	}
	expect_works_on(_metadata, self, variant->method);
}

/* Nothing is behind it whose answer could tell. */
TEST_F_TIMEOUT(loss, flush_is_answered_again, WAIT_SECONDS)
{
	for (int times = 1; times <= 2; times++) {
		lose_answer(_metadata, self, ROCE_READ_RESPONSE_ONLY, 0, times);
		post_pairs(_metadata, self, 1);
		expect_flushed(_metadata, self, variant->method, 1);
		expect_there(_metadata, self, 1);
		expect_lost_answers(_metadata, self, ROCE_READ_RESPONSE_ONLY, times);
		expect_flush_as_posted(_metadata, self,
				       expect_sent_again(_metadata, self, variant->flush,
							 times + 1), 0);
	}
	expect_works_on(_metadata, self, variant->method);
}

TEST_F_TIMEOUT(loss, flush_waits_for_the_write_that_was_lost, WAIT_SECONDS)
{
	for (int times = 1; times <= 2; times++) {
		lose_request(_metadata, self, ROCE_WRITE_ONLY, 0, times);
		post_pairs(_metadata, self, 1);
		expect_flushed(_metadata, self, variant->method, 1);
		expect_there(_metadata, self, 1);
		expect_lost_requests(_metadata, self, ROCE_WRITE_ONLY, times);
		expect_sent_again(_metadata, self, ROCE_WRITE_ONLY, times + 1);
	}
	expect_works_on(_metadata, self, variant->method);
}

/*
 * Both answers are lost, so both requests are sent again. rxe acknowledges the
 * WRITE with the PSN of the last request it carried out, which is the FLUSH:
 * no answer to that. Its own answer is lost once more, so who takes the one
 * for the other completes too early.
 */
TEST_F_TIMEOUT(loss, acknowledgement_of_a_write_completes_no_flush, WAIT_SECONDS)
{
	const struct roce_packet *flush;
	int acks_with_its_psn = 0;

	lose_answer(_metadata, self, ROCE_ACKNOWLEDGE, 0, 1);
	lose_answer(_metadata, self, ROCE_READ_RESPONSE_ONLY, 0, 2);
	post_pairs(_metadata, self, 1);
	expect_flushed(_metadata, self, variant->method, 1);
	flush = expect_sent_again(_metadata, self, variant->flush, 3);
	for (int i = 0; i < self->nr_seen; i++) {
		const struct roce_packet *p = &self->seen[i];

		acks_with_its_psn += !p->sent && p->opcode == ROCE_ACKNOWLEDGE &&
				     p->psn == flush->psn;
	}
	EXPECT_EQ(variant->method == RPMA_FLUSH_METHOD_NATIVE, acks_with_its_psn > 0)
		show(self);
	EXPECT_LE(3, count(self, false, ROCE_READ_RESPONSE_ONLY))
		show(self);
	expect_lost_answers(_metadata, self, ROCE_ACKNOWLEDGE, 1);
	expect_lost_answers(_metadata, self, ROCE_READ_RESPONSE_ONLY, 2);
	expect_there(_metadata, self, 1);
	expect_works_on(_metadata, self, variant->method);
}

/* ---- ATOMIC WRITE ---- */

static __u64 word_there(LOSS, __u64 offset)
{
	struct loss_answer a = tell(&self->end, .type = LOSS_PEEK, .offset = offset);
	__u64 word;

	memcpy(&word, a.data, 8);
	return word;
}

TEST_F_TIMEOUT(loss, atomic_write_is_sent_again_as_it_was, WAIT_SECONDS)
{
	for (__u64 i = 1; i <= 4; i++) {
		__u64 value = 0x1122334455667700 + i;
		struct rpma_request r = req_atomic_write(i, SIGNALED, self->there, 65536, value);
		const struct roce_packet *sent;

		if (i <= 2)
			lose_request(_metadata, self, variant->atomic, 0, i);
		else
			lose_answer(_metadata, self, variant->atomic_answer, 0, i - 2);
		ioc_post(self->c->conn, &r, 1);
		expect_completion(self->c->cq, i, RPMA_OP_ATOMIC_WRITE, 0);
		EXPECT_EQ(value, word_there(_metadata, self, 65536));
		sent = expect_sent_again(_metadata, self, variant->atomic, i <= 2 ? i + 1 : i - 1);
		EXPECT_EQ((uintptr_t)self->there->addr + 65536, sent->va);
		EXPECT_EQ(self->there->rkey, sent->rkey);
		EXPECT_EQ(8, sent->payload);
		EXPECT_EQ(0, memcmp(&value, sent->data, 8));
	}
	expect_lost_requests(_metadata, self, variant->atomic, 2);
	expect_lost_answers(_metadata, self, variant->atomic_answer, 2);
	expect_works_on(_metadata, self, variant->method);
}

/* WRITE, FLUSH, ATOMIC WRITE, FLUSH; what is lost is said before. */
static void expect_commit(LOSS, __u64 value)
{
	struct rpma_request r[4] = {
		write_piece(self, 0), flush_piece(self, 0),
		req_atomic_write(1, SIGNALED, self->there, 65536, value),
		req_flush(2, SIGNALED, self->there, 65536, 8),
	};

	fill(self, 1);
	ioc_post(self->c->conn, r, 4);
	expect_completion(self->c->cq, 0, RPMA_OP_FLUSH, 0);
	expect_completion(self->c->cq, 1, RPMA_OP_ATOMIC_WRITE, 0);
	expect_completion(self->c->cq, 2, RPMA_OP_FLUSH, 0);
	expect_there(_metadata, self, 1);
	EXPECT_EQ(value, word_there(_metadata, self, 65536));
}

TEST_F_TIMEOUT(loss, commit_completes_whichever_answer_is_lost, WAIT_SECONDS)
{
	const __u8 answer = ROCE_READ_RESPONSE_ONLY;
	int answers = variant->method == RPMA_FLUSH_METHOD_NATIVE ? 3 : 2;

	for (int lost = 0; lost < answers; lost++) {
		lose_answer(_metadata, self, answer, lost, 1);
		expect_commit(_metadata, self, 100 + lost);
		expect_lost_answers(_metadata, self, answer, 1);
	}
	lose_answer(_metadata, self, answer, 0, answers);
	expect_commit(_metadata, self, 1000);
	expect_lost_answers(_metadata, self, answer, answers);
	expect_works_on(_metadata, self, variant->method);
}

/*
 * The atomic write is fenced: it waits for flushes in front of it, and must not
 * wait for itself and those behind it when it is sent again.
 */
TEST_F_TIMEOUT(loss, commit_completes_whichever_request_is_lost, WAIT_SECONDS)
{
	int atomic_at = variant->atomic == ROCE_WRITE_ONLY;	/* behind the data */

	if (!loss_has_patched_provider())
		SKIP(return, "the stock provider hangs");
	for (int lost = 0; lost < 2; lost++) {
		lose_request(_metadata, self, variant->flush, lost, 1);
		expect_commit(_metadata, self, 100 + lost);
		expect_lost_requests(_metadata, self, variant->flush, 1);
		lose_request(_metadata, self, variant->flush, 0, 0);
	}
	for (int times = 1; times <= 2; times++) {
		lose_request(_metadata, self, variant->atomic, atomic_at, times);
		expect_commit(_metadata, self, 200 + times);
		expect_lost_requests(_metadata, self, variant->atomic, times);
	}
	expect_works_on(_metadata, self, variant->method);
}

/* ---- many in flight ---- */

TEST_F_TIMEOUT(loss, many_complete_in_order_when_the_first_is_lost, WAIT_SECONDS)
{
	lose_request(_metadata, self, variant->flush, 0, 1);
	post_pairs(_metadata, self, MANY);
	expect_flushed(_metadata, self, variant->method, MANY);
	expect_there(_metadata, self, MANY);
	expect_lost_requests(_metadata, self, variant->flush, 1);
	expect_works_on(_metadata, self, variant->method);
}

TEST_F_TIMEOUT(loss, many_complete_in_order_when_the_first_answer_is_lost, WAIT_SECONDS)
{
	lose_answer(_metadata, self, ROCE_READ_RESPONSE_ONLY, 0, 1);
	post_pairs(_metadata, self, MANY);
	expect_flushed(_metadata, self, variant->method, MANY);
	expect_there(_metadata, self, MANY);
	expect_lost_answers(_metadata, self, ROCE_READ_RESPONSE_ONLY, 1);
	expect_works_on(_metadata, self, variant->method);
}

static int different_psns(FIXTURE_DATA(loss) *self, __u8 opcode)
{
	int n = 0;

	for (int i = 0; i < self->nr_seen; i++) {
		const struct roce_packet *p = &self->seen[i];
		bool again = false;

		if (!p->sent || p->opcode != opcode)
			continue;
		for (int j = 0; j < i; j++)
			again |= self->seen[j].sent && self->seen[j].psn == p->psn;
		n += !again;
	}
	return n;
}

/* No flush gets through, so every one that may be sent is sent unanswered. */
TEST_F_TIMEOUT(loss, no_more_flushes_go_unanswered_than_agreed_on, WAIT_SECONDS)
{
	__u32 depth = ioc_conn_query(self->end.p.fd, .conn_fd = self->c->conn).out_read_depth;

	ASSERT_LT(1, depth);
	ASSERT_GT(MANY, depth);
	lose_request(_metadata, self, variant->flush, 0, 1 << 30);
	post_pairs(_metadata, self, MANY);
	usleep(1500000);
	look(_metadata, self);
	EXPECT_EQ(depth, different_psns(self, variant->flush));
	lose_request(_metadata, self, variant->flush, 0, 0);
	expect_flushed(_metadata, self, variant->method, MANY);
	expect_there(_metadata, self, MANY);
	expect_works_on(_metadata, self, variant->method);
}

/* ---- the queue of this machine ---- */

TEST_F_TIMEOUT(loss, what_a_full_queue_drops_is_sent_again, WAIT_SECONDS)
{
	if (!loss_has_patched_provider())
		SKIP(return, "the stock provider ends the connection");
	ASSERT_EQ(0, system("tc qdisc replace dev eth0 root netem limit 4 delay 5ms"));
	self->end.netem = true;
	post_pairs(_metadata, self, MANY);
	expect_flushed(_metadata, self, variant->method, MANY);
	ASSERT_EQ(0, system(LOSS_NETEM_OFF));
	self->end.netem = false;
	expect_there(_metadata, self, MANY);
	expect_works_on(_metadata, self, variant->method);
}

/* ---- READ ---- */

/* A READ that completes has brought its data, whatever is acknowledged again. */
TEST_F_TIMEOUT(loss, read_completes_with_its_data_only, WAIT_SECONDS)
{
	const __u64 into = LOSS_REGION / 2;

	for (int round = 0; round < 4; round++) {
		struct rpma_request r[2 * 8];

		fill(self, 8);
		memset(self->c->mem.addr + into, 0xee, 8 * 4096);
		for (int i = 0; i < 8; i++) {
			r[2 * i] = write_piece(self, i);
			r[2 * i + 1] = req_read(i, SIGNALED, &self->c->mem, into + i * 4096,
						self->there, i * 4096, CHUNK);
		}
		lose_answer(_metadata, self, ROCE_ACKNOWLEDGE, round / 2, 1 + round % 2);
		lose_answer(_metadata, self, ROCE_READ_RESPONSE_ONLY, round / 2, 2);
		ioc_post(self->c->conn, r, round == 0 ? 2 : 16);
		for (int i = 0; i < (round == 0 ? 1 : 8); i++) {
			expect_completion(self->c->cq, i, RPMA_OP_READ, 0);
			EXPECT_EQ(0, memcmp(self->c->mem.addr + i * 4096,
					    self->c->mem.addr + into + i * 4096, CHUNK));
		}
		expect_lost_answers(_metadata, self, ROCE_READ_RESPONSE_ONLY, 2);
	}
	expect_works_on(_metadata, self, variant->method);
}

/* The length of what came behind a READ says nothing about the READ. */
TEST_F_TIMEOUT(loss, read_is_answered_again_behind_a_write_of_no_bytes, WAIT_SECONDS)
{
	const __u64 into = LOSS_REGION / 2;
	struct rpma_request r[3];

	if (!loss_has_patched_provider())
		SKIP(return, "the stock provider warns and refuses");
	fill(self, 1);
	r[0] = write_piece(self, 0);
	r[1] = req_read(1, SIGNALED, &self->c->mem, into, self->there, 0, CHUNK);
	r[2] = req_write(2, SIGNALED, &self->c->mem, 0, self->there, 0, 0);
	lose_answer(_metadata, self, ROCE_READ_RESPONSE_ONLY, 0, 1);
	ioc_post(self->c->conn, r, 3);
	expect_completion(self->c->cq, 1, RPMA_OP_READ, 0);
	expect_completion(self->c->cq, 2, RPMA_OP_WRITE, 0);
	expect_lost_answers(_metadata, self, ROCE_READ_RESPONSE_ONLY, 1);
	EXPECT_EQ(0, memcmp(self->c->mem.addr, self->c->mem.addr + into, CHUNK));
	expect_works_on(_metadata, self, variant->method);
}

TEST_HARNESS_MAIN
