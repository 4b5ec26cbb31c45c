// SPDX-License-Identifier: BSD-3-Clause
/* Flushes longer than one FLUSH: their pieces, and their one completion. */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <string.h>

#include "unit_test.h"

#define GIB (1ULL << 30)
#define PIECE (2 * GIB)
#define VISIBLE RPMA_FLUSH_TYPE_VISIBILITY
#define ALWAYS RPMA_F_COMPLETION_ALWAYS
#define ON_ERROR RPMA_F_COMPLETION_ON_ERROR

static struct rpma_conn *conn;
static struct rpma_mr_remote *remote;
static struct rpma_cq *cq;

/* A connection of a kernel that flushes natively, with room for @sq_size. */
static void begin(struct rpma_peer *peer, uint32_t sq_size)
{
	struct rpma_conn_cfg *cfg;

	fake_reset();
	fake.flush_max = PIECE;
	rpma_conn_cfg_new(&cfg);
	rpma_conn_cfg_set_sq_size(cfg, sq_size);
	conn = make_conn(peer, cfg);
	rpma_conn_cfg_delete(&cfg);
	remote = make_remote(0xff);
	rpma_conn_get_cq(conn, &cq);
}

static void end(void)
{
	rpma_mr_remote_delete(&remote);
	rpma_conn_delete(&conn);
}

/* The pieces of this flush alone are then in fake.pieces. */
static int flush(uint64_t len, int flags, const void *context)
{
	fake.nr_pieces = 0;
	return rpma_flush(conn, remote, 64, len, VISIBLE, flags, context);
}

static void complete(const struct rpma_request *req, uint32_t status)
{
	fake_complete(&(struct rpma_completion) {
		.context = req->context,
		.op = RPMA_OP_FLUSH,
		.method = RPMA_FLUSH_METHOD_NATIVE,
		.status = status,
	});
}

/* As the kernel does: those before @failed are silent, those behind are aborted. */
static void fail_at(uint32_t failed, uint32_t status)
{
	uint32_t i;

	for (i = failed; i < fake.nr_pieces; i++)
		complete(&fake.pieces[i], i == failed ? status : RPMA_STATUS_ABORTED);
}

/* Whether this is the next completion. */
static bool next_is(const void *context, int status)
{
	struct ibv_wc wc;

	return !rpma_cq_get_wc(cq, 1, &wc, NULL) && wc.wr_id == (uintptr_t)context &&
	       (int)wc.status == status;
}

static bool none_left(void)
{
	struct ibv_wc wc;

	return rpma_cq_get_wc(cq, 1, &wc, NULL) == RPMA_E_NO_COMPLETION;
}

/* ---- what is posted ------------------------------------------------------- */

static void pieces_cover(uint64_t len, int flags)
{
	const struct rpma_request *r = fake.pieces;
	uint32_t n = fake.nr_pieces, i, good = 0;
	uint64_t offset = 64;

	for (i = 0; i < n; offset += r[i++].len) {
		bool last = i == n - 1;

		good += r[i].op == RPMA_OP_FLUSH && r[i].remote_offset == offset && r[i].len &&
			r[i].len <= PIECE && r[i].placement == RPMA_FLUSH_GLOBAL &&
			remote_is_given(&r[i].remote) && !r[i].mr && !r[i].mr_offset &&
			!r[i].imm_data && !r[i].value && !r[i].__reserved &&
			(last || !((r[i].remote.addr + offset + r[i].len) % (2 << 20))) &&
			(last ? r[i].context == (uintptr_t)CONTEXT && (int)r[i].flags == flags :
				r[i].context != (uintptr_t)CONTEXT && !r[i].flags);
	}
	ok(n > 1 && good == n && offset == 64 + len,
	   "split: %u pieces cover %llu bytes, and only the last is the caller's", n,
	   (unsigned long long)len);
}

static void what_is_posted(struct rpma_peer *peer)
{
	static const uint64_t lens[] = { PIECE + 1, PIECE + 8, 2 * PIECE, 2 * PIECE + 1, 5 * GIB,
					 33 * GIB + 7 };
	size_t i;

	begin(peer, 20);
	ok(!flush(PIECE, ALWAYS, CONTEXT) && !fake.nr_pieces && fake.flush.len == PIECE,
	   "split: not what one FLUSH may cover");
	for (i = 0; i < sizeof(lens) / sizeof(lens[0]); i++) {
		ok(!flush(lens[i], ALWAYS, CONTEXT), "split: a long flush");
		pieces_cover(lens[i], RPMA_REQ_F_SIGNALED);
	}
	ok(!flush(5 * GIB, ON_ERROR, CONTEXT), "split: a long flush, on error");
	pieces_cover(5 * GIB, 0);
	fake.post_at_once = 1;
	ok(!flush(17 * GIB, ALWAYS, CONTEXT), "split: the kernel takes them one by one");
	pieces_cover(17 * GIB, RPMA_REQ_F_SIGNALED);
	fake.post_at_once = 3;
	ok(!flush(17 * GIB, ALWAYS, CONTEXT), "split: or some");
	pieces_cover(17 * GIB, RPMA_REQ_F_SIGNALED);

	fake.flush_max = 0;
	ok(!flush(64 * GIB, ALWAYS, CONTEXT) && !fake.nr_pieces && fake.flush.len == 64 * GIB,
	   "split: nothing where the kernel takes any length");
	end();
}

static void queue_size(struct rpma_peer *peer)
{
	int posts;

	begin(peer, 3);
	ok(!flush(5 * GIB, ALWAYS, CONTEXT) && fake.nr_pieces == 3,
	   "split: a queue just large enough");
	posts = fake.posts;
	logged[0] = '\0';
	ok(flush(7 * GIB, ALWAYS, CONTEXT) == RPMA_E_PROVIDER && errno == EMSGSIZE &&
	   !fake.nr_pieces && fake.posts == posts,
	   "split: a queue too small, and nothing is posted");
	ok(strstr(logged, "rpma_conn_cfg_set_sq_size") && strstr(logged, "travel as 4 ") &&
	   strstr(logged, "room for 3"), "split: a queue too small, and what to do");
	ok(flush(~0ULL - 0x1122334455667788 - 64, ALWAYS, CONTEXT) == RPMA_E_PROVIDER &&
	   errno == EMSGSIZE && !fake.nr_pieces, "split: to the end of all addresses");
	end();
}

static void signals(struct rpma_peer *peer)
{
	begin(peer, 20);
	fake.post_at_once = 1;
	for (fake.signals_at = 1; fake.signals_at < 9; fake.signals_at++) {
		fake.signals = 3;
		ok(!flush(17 * GIB, ALWAYS, CONTEXT) && !fake.signals,
		   "split: signals after piece %u", fake.signals_at);
		pieces_cover(17 * GIB, RPMA_REQ_F_SIGNALED);
	}
	fake.signals_at = 0;
	fake.signals = 1;
	ok(flush(17 * GIB, ALWAYS, CONTEXT) == RPMA_E_PROVIDER && errno == EINTR &&
	   !fake.nr_pieces, "split: a signal before the first piece is EINTR");
	end();
}

/* ---- what the caller sees -------------------------------------------------- */

static void success(struct rpma_peer *peer)
{
	begin(peer, 20);
	flush(9 * GIB, ALWAYS, CONTEXT);
	complete(&fake.pieces[fake.nr_pieces - 1], RPMA_STATUS_SUCCESS);
	ok(next_is(CONTEXT, IBV_WC_SUCCESS) && none_left(), "split: success is reported once");
	end();
}

static void failure(struct rpma_peer *peer)
{
	static const uint32_t statuses[] = { RPMA_STATUS_REM_ACCESS_ERR, RPMA_STATUS_ABORTED,
					     RPMA_STATUS_RETRY_EXC_ERR };
	struct ibv_wc wc[16];
	uint32_t at, s, good;
	int got;

	for (s = 0; s < 3; s++) {
		good = 0;
		for (at = 0; at < 5; at++) {
			begin(peer, 20);
			flush(9 * GIB, at % 2 ? ALWAYS : ON_ERROR, CONTEXT);
			fail_at(at, statuses[s]);
			good += next_is(CONTEXT, statuses[s]) && none_left();
			end();
		}
		ok(good == 5, "split: failure %u of any piece is reported once", statuses[s]);
	}
	begin(peer, 20);
	flush(9 * GIB, ALWAYS, CONTEXT);
	fail_at(1, RPMA_STATUS_REM_ACCESS_ERR);
	fake_complete(&(struct rpma_completion){ .context = 5, .op = RPMA_OP_RECV, .status = 5 });
	ok(!rpma_cq_get_wc(cq, 16, wc, &got) && got == 2 && wc[0].wr_id == (uintptr_t)CONTEXT &&
	   wc[0].status == IBV_WC_REM_ACCESS_ERR && wc[1].wr_id == 5 && none_left(),
	   "split: failure is reported once to who fetches all at once");
	end();
}

/* Nobody's context tells one flush from another. */
static void same_context(struct rpma_peer *peer)
{
	struct rpma_request whole = { .context = 0 };
	int i, good = 0;

	begin(peer, 40);
	flush(9 * GIB, ALWAYS, NULL);
	fail_at(3, RPMA_STATUS_REM_OP_ERR);
	complete(&whole, RPMA_STATUS_ABORTED);
	flush(5 * GIB, ON_ERROR, NULL);
	fail_at(0, RPMA_STATUS_ABORTED);
	complete(&whole, RPMA_STATUS_ABORTED);
	good += next_is(NULL, IBV_WC_REM_OP_ERR);
	for (i = 0; i < 3; i++)
		good += next_is(NULL, IBV_WC_WR_FLUSH_ERR);
	ok(good == 4 && none_left(), "split: four flushes of one context fail, four completions");
	end();
}

static void not_posted_to_the_last(struct rpma_peer *peer)
{
	uint32_t left, good = 0;

	for (left = 0; left < 5; left++) {
		begin(peer, 20);
		fake.post_limited = true;
		fake.post_left = left;
		fake.post_ret = -EAGAIN;
		good += flush(9 * GIB, ALWAYS, CONTEXT) == RPMA_E_PROVIDER && errno == EAGAIN &&
			fake.nr_pieces == left;
		fail_at(0, RPMA_STATUS_REM_ACCESS_ERR);
		good += none_left();
		fake.post_limited = false;
		fake.post_ret = 0;
		good += !flush(9 * GIB, ALWAYS, CONTEXT);
		fail_at(0, RPMA_STATUS_ABORTED);
		good += next_is(CONTEXT, IBV_WC_WR_FLUSH_ERR) && none_left();
		end();
	}
	ok(good == 4 * 5, "split: full before the last piece is EAGAIN, and never heard of again");
}

/* While failures are unread, a program tries until there is room. */
static void tried_until_there_is_room(struct rpma_peer *peer)
{
	struct rpma_request begun;
	int i, good = 0;

	begin(peer, 20);
	flush(5 * GIB, ALWAYS, CONTEXT);
	fail_at(0, RPMA_STATUS_REM_ACCESS_ERR);
	good += next_is(CONTEXT, IBV_WC_REM_ACCESS_ERR);
	fake.post_limited = true;
	fake.post_left = 1;
	fake.post_ret = -EAGAIN;
	good += flush(5 * GIB, ALWAYS, memory) == RPMA_E_PROVIDER && fake.nr_pieces == 1;
	begun = fake.pieces[0];
	for (i = 0; i < 4 * FAKE_RING_ENTRIES; i++)
		good += flush(5 * GIB, ALWAYS, memory) == RPMA_E_PROVIDER && errno == EAGAIN &&
			!fake.nr_pieces;
	ok(good == 2 + 4 * FAKE_RING_ENTRIES && none_left(),
	   "split: full before the first piece, again and again, and a failure is reported once");

	fake.post_limited = false;
	fake.post_ret = 0;
	flush(5 * GIB, ALWAYS, memory);
	complete(&begun, RPMA_STATUS_RETRY_EXC_ERR);
	fail_at(0, RPMA_STATUS_ABORTED);
	ok(next_is(memory, IBV_WC_WR_FLUSH_ERR) && none_left(),
	   "split: posted at last, and what was only begun is not taken for it");
	end();
}

static void entries_are_used_again(struct rpma_peer *peer)
{
	int i, good = 0;

	begin(peer, 20);
	for (i = 1; i < 1000; i++) {
		good += !flush(5 * GIB, ALWAYS, (void *)(uintptr_t)i);
		complete(&fake.pieces[2], RPMA_STATUS_SUCCESS);
		good += next_is((void *)(uintptr_t)i, IBV_WC_SUCCESS);
	}
	flush(5 * GIB, ALWAYS, CONTEXT);
	fail_at(1, RPMA_STATUS_REM_ACCESS_ERR);
	ok(good == 2 * 999 && next_is(CONTEXT, IBV_WC_REM_ACCESS_ERR) && none_left(),
	   "split: a thousand in turn");
	end();
}

/* ---- threads -------------------------------------------------------------- */

#define READERS 3
#define FLUSHES 500

static int nr_bad, all_failed;
static unsigned char seen[FLUSHES];

static void *reader(void *arg)
{
	struct ibv_wc wc[2];
	int last, ret, got, i;

	(void)arg;
	do {
		last = __atomic_load_n(&all_failed, __ATOMIC_ACQUIRE);
		ret = rpma_cq_get_wc(cq, 2, wc, &got);
		for (i = 0; !ret && i < got; i++)
			if (wc[i].wr_id >= FLUSHES || wc[i].status != IBV_WC_REM_OP_ERR)
				__atomic_add_fetch(&nr_bad, 1, __ATOMIC_RELAXED);
			else
				__atomic_add_fetch(&seen[wc[i].wr_id], 1, __ATOMIC_RELAXED);
	} while (!ret || !last);
	return NULL;
}

static void threads(struct rpma_peer *peer)
{
	pthread_t readers[READERS];
	int once = 0;
	uintptr_t i;

	begin(peer, 20);
	for (i = 0; i < READERS; i++)
		pthread_create(&readers[i], NULL, reader, NULL);
	for (i = 0; i < FLUSHES; i++) {
		while (fake_ring_room() < 3)
			sched_yield();
		flush(5 * GIB, ALWAYS, (void *)i);
		fail_at(0, RPMA_STATUS_REM_OP_ERR);
	}
	__atomic_store_n(&all_failed, 1, __ATOMIC_RELEASE);
	for (i = 0; i < READERS; i++)
		pthread_join(readers[i], NULL);
	for (i = 0; i < FLUSHES; i++)
		once += seen[i] == 1;
	ok(!nr_bad && once == FLUSHES, "split: each failure once, and why, to %d threads", READERS);
	end();
}

void test_split(struct rpma_peer *peer)
{
	what_is_posted(peer);
	queue_size(peer);
	signals(peer);
	success(peer);
	failure(peer);
	same_context(peer);
	not_posted_to_the_last(peer);
	tried_until_there_is_room(peer);
	entries_are_used_again(peer);
	threads(peer);
}
