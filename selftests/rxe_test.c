// SPDX-License-Identifier: GPL-2.0
/*
 * The patched provider by itself, through plain verbs of user space: FLUSH and
 * ATOMIC WRITE, what is refused and how, retries, credits, what reaches the
 * persistent memory; and that all the rest still works.
 */
#include <infiniband/verbs.h>

#include "rxe_pair.h"
#include "rxe_trace.h"

#define DRAM_SIZE 65536
#define DAX_SIZE (4UL << 20)

FIXTURE(rxe) {
	struct rxe_pair p;
	struct rxe_end *a;
	struct rxe_end *b;
	__u8 *from;		/* A's memory, B's memory */
	__u8 *to;
	struct ibv_mr *local;
	struct ibv_mr *remote;
};

FIXTURE_SETUP(rxe)
{
	rxe_pair_device(_metadata, &self->p, test_dev(), test_addr4());
	self->a = &self->p.a;
	self->b = &self->p.b;
	self->from = map_pages(_metadata, DRAM_SIZE);
	self->to = map_pages(_metadata, DRAM_SIZE);
	self->local = rxe_reg(_metadata, &self->p, self->from, DRAM_SIZE, IBV_ACCESS_LOCAL_WRITE);
	self->remote = rxe_reg(_metadata, &self->p, self->to, DRAM_SIZE,
			       PLAIN_ACCESS | IBV_ACCESS_FLUSH_GLOBAL);
}

FIXTURE_TEARDOWN(rxe)
{
}

static __u64 u64_at(const void *p)
{
	__u64 v;

	memcpy(&v, p, sizeof(v));
	return v;
}

#define post_flush(id, mr, addr, len, placement, level)			\
	rxe_post(self->a, id, ibv_wr_flush(ex, (mr)->rkey, (uintptr_t)(addr), len, placement, level))
#define post_atomic_write(id, mr, addr, value)				\
	rxe_post(self->a, id, ({					\
		__u64 __value = (value);				\
		ibv_wr_atomic_write(ex, (mr)->rkey, (uintptr_t)(addr), &__value); }))
#define post_write(id, flags, addr, len)				\
	rxe_post_flags(self->a, id, IBV_SEND_SIGNALED | (flags), ({	\
		ibv_wr_rdma_write(ex, self->remote->rkey, (uintptr_t)(addr)); \
		ibv_wr_set_sge(ex, self->local->lkey, (uintptr_t)self->from, len); }))
#define post_read(id, flags, addr, len)					\
	rxe_post_flags(self->a, id, IBV_SEND_SIGNALED | (flags), ({	\
		ibv_wr_rdma_read(ex, self->remote->rkey, (uintptr_t)(addr)); \
		ibv_wr_set_sge(ex, self->local->lkey, (uintptr_t)self->from, len); }))

/* ---- FLUSH that is granted ---- */

TEST_F_TIMEOUT(rxe, flush_range_of_every_length, WAIT_SECONDS)
{
	const __u32 lens[] = { 0, 1, 7, 8, 4095, 4096, 4097, DRAM_SIZE };

	rxe_pair_connect(_metadata, &self->p, RXE_OPTS());
	for (size_t i = 0; i < sizeof(lens) / sizeof(lens[0]); i++) {
		post_flush(i, self->remote, self->to, lens[i], IBV_FLUSH_GLOBAL, IBV_FLUSH_RANGE);
		expect_success(self->a, i, IBV_WC_FLUSH, lens[i]);
		post_flush(i, self->remote, self->to + DRAM_SIZE - lens[i], lens[i],
			   IBV_FLUSH_GLOBAL, IBV_FLUSH_RANGE);
		expect_success(self->a, i, IBV_WC_FLUSH, lens[i]);
	}
}

TEST_F_TIMEOUT(rxe, flush_of_a_whole_region_needs_no_address, WAIT_SECONDS)
{
	rxe_pair_connect(_metadata, &self->p, RXE_OPTS());
	post_flush(1, self->remote, 0, 0, IBV_FLUSH_GLOBAL, IBV_FLUSH_MR);
	expect_success(self->a, 1, IBV_WC_FLUSH, 0);
}

/* ---- what is refused ---- */

struct refusal {
	const char *name;
	unsigned int region;		/* of B's memory, beside PLAIN_ACCESS */
	unsigned int qp;		/* flush rights of B's queue pair */
	__u8 placement;
	__u8 level;
	long offset;
	__u32 len;
	int status;
};

#define G_ACCESS IBV_ACCESS_FLUSH_GLOBAL
#define P_ACCESS IBV_ACCESS_FLUSH_PERSISTENT
#define BOTH (IBV_FLUSH_GLOBAL | IBV_FLUSH_PERSISTENT)

static const struct refusal dram_refusals[] = {
	{ "region grants nothing", 0, G_ACCESS, IBV_FLUSH_GLOBAL, IBV_FLUSH_RANGE, 0, 8,
	  IBV_WC_REM_ACCESS_ERR },
	{ "region grants nothing, whole", 0, G_ACCESS, IBV_FLUSH_GLOBAL, IBV_FLUSH_MR, 0, 0,
	  IBV_WC_REM_ACCESS_ERR },
	{ "region grants nothing, length 0", 0, G_ACCESS, IBV_FLUSH_GLOBAL, IBV_FLUSH_RANGE, 0, 0,
	  IBV_WC_REM_ACCESS_ERR },
	{ "PERSISTENT where GLOBAL", G_ACCESS, G_ACCESS | P_ACCESS, IBV_FLUSH_PERSISTENT,
	  IBV_FLUSH_RANGE, 0, 8, IBV_WC_REM_ACCESS_ERR },
	{ "both where GLOBAL", G_ACCESS, G_ACCESS | P_ACCESS, BOTH, IBV_FLUSH_RANGE, 0, 8,
	  IBV_WC_REM_ACCESS_ERR },
	{ "connection grants nothing", G_ACCESS, 0, IBV_FLUSH_GLOBAL, IBV_FLUSH_RANGE, 0, 8,
	  IBV_WC_REM_INV_REQ_ERR },
	{ "connection grants GLOBAL, both asked", G_ACCESS, G_ACCESS, BOTH, IBV_FLUSH_RANGE, 0, 8,
	  IBV_WC_REM_INV_REQ_ERR },
	{ "one byte too far", G_ACCESS, G_ACCESS, IBV_FLUSH_GLOBAL, IBV_FLUSH_RANGE, DRAM_SIZE - 7,
	  8, IBV_WC_REM_ACCESS_ERR },
	{ "one byte before", G_ACCESS, G_ACCESS, IBV_FLUSH_GLOBAL, IBV_FLUSH_RANGE, -1, 8,
	  IBV_WC_REM_ACCESS_ERR },
	{ "longer than a message", G_ACCESS, G_ACCESS, IBV_FLUSH_GLOBAL, IBV_FLUSH_RANGE, 0,
	  (1U << 31) + 1, IBV_WC_REM_INV_REQ_ERR },
	{ "no placement", G_ACCESS, G_ACCESS | P_ACCESS, 0, IBV_FLUSH_RANGE, 0, 8,
	  IBV_WC_REM_INV_REQ_ERR },
	{ "reserved placement", G_ACCESS, G_ACCESS | P_ACCESS, 4 | IBV_FLUSH_GLOBAL,
	  IBV_FLUSH_RANGE, 0, 8, IBV_WC_REM_INV_REQ_ERR },
	{ "reserved selectivity", G_ACCESS, G_ACCESS, IBV_FLUSH_GLOBAL, 2, 0, 8,
	  IBV_WC_REM_INV_REQ_ERR },
};

static const struct refusal dax_refusals[] = {
	{ "GLOBAL where PERSISTENT", P_ACCESS, G_ACCESS | P_ACCESS, IBV_FLUSH_GLOBAL,
	  IBV_FLUSH_RANGE, 0, 8, IBV_WC_REM_ACCESS_ERR },
	{ "both where PERSISTENT", P_ACCESS, G_ACCESS | P_ACCESS, BOTH, IBV_FLUSH_RANGE, 0, 8,
	  IBV_WC_REM_ACCESS_ERR },
	{ "both where GLOBAL", G_ACCESS, G_ACCESS | P_ACCESS, BOTH, IBV_FLUSH_RANGE, 0, 8,
	  IBV_WC_REM_ACCESS_ERR },
	{ "connection grants PERSISTENT, both asked", G_ACCESS | P_ACCESS, P_ACCESS, BOTH,
	  IBV_FLUSH_RANGE, 0, 8, IBV_WC_REM_INV_REQ_ERR },
	{ "connection grants GLOBAL, PERSISTENT asked", G_ACCESS | P_ACCESS, G_ACCESS,
	  IBV_FLUSH_PERSISTENT, IBV_FLUSH_RANGE, 0, 8, IBV_WC_REM_INV_REQ_ERR },
	{ "one byte too far", P_ACCESS, P_ACCESS, IBV_FLUSH_PERSISTENT, IBV_FLUSH_RANGE,
	  DAX_SIZE - 7, 8, IBV_WC_REM_ACCESS_ERR },
};

/* The connection is gone with it: what came behind is flushed out, unserved. */
static void expect_refusal(struct __test_metadata *_metadata, FIXTURE_DATA(rxe) *self,
			   __u8 *memory, size_t size, const struct refusal *r)
{
	struct ibv_mr *mr = rxe_reg(_metadata, &self->p, memory, size, PLAIN_ACCESS | r->region);
	struct ibv_wc wc;

	rxe_pair_connect(_metadata, &self->p,
			 RXE_OPTS(o.b_access = IBV_ACCESS_REMOTE_WRITE | r->qp));
	post_flush(1, mr, memory + r->offset, r->len, r->placement, r->level);
	wc = rxe_reap(_metadata, self->a->cq);
	ASSERT_EQ(r->status, (int)wc.status)
		TH_LOG("%s", r->name);
	ASSERT_EQ(1, wc.wr_id);
	post_flush(2, self->remote, self->to, 8, IBV_FLUSH_GLOBAL, IBV_FLUSH_RANGE);
	expect_wc(self->a, 2, IBV_WC_WR_FLUSH_ERR);
	rxe_pair_disconnect(&self->p);
	ASSERT_EQ(0, ibv_dereg_mr(mr));
}

TEST_F_TIMEOUT(rxe, flush_without_the_right_is_refused, WAIT_SECONDS)
{
	for (size_t i = 0; i < sizeof(dram_refusals) / sizeof(dram_refusals[0]); i++)
		expect_refusal(_metadata, self, self->to, DRAM_SIZE, &dram_refusals[i]);
}

TEST_F_TIMEOUT(rxe, flush_of_persistent_memory_without_the_right_is_refused, WAIT_SECONDS)
{
	__u8 *dax = map_dax(_metadata, DAX_SIZE);

	for (size_t i = 0; i < sizeof(dax_refusals) / sizeof(dax_refusals[0]); i++)
		expect_refusal(_metadata, self, dax, DAX_SIZE, &dax_refusals[i]);
}

TEST_F_TIMEOUT(rxe, flush_by_an_unknown_key_is_refused, WAIT_SECONDS)
{
	struct ibv_mr *gone = rxe_reg(_metadata, &self->p, self->to, 4096,
				      PLAIN_ACCESS | IBV_ACCESS_FLUSH_GLOBAL);
	struct ibv_mr copy = *gone;

	ASSERT_EQ(0, ibv_dereg_mr(gone));
	rxe_pair_connect(_metadata, &self->p, RXE_OPTS());
	post_flush(1, &copy, self->to, 8, IBV_FLUSH_GLOBAL, IBV_FLUSH_RANGE);
	expect_wc(self->a, 1, IBV_WC_REM_ACCESS_ERR);
}

/* Nowhere to remember the FLUSH: as for READ and atomics, and no oops. */
TEST_F_TIMEOUT(rxe, flush_without_responder_resources_is_refused, WAIT_SECONDS)
{
	rxe_pair_connect(_metadata, &self->p, RXE_OPTS(o.max_dest_rd_atomic = 0));
	post_write(1, 0, self->to, 8);
	expect_success(self->a, 1, IBV_WC_RDMA_WRITE, 8);
	for (int i = 0; i < 8; i++)
		post_flush(2 + i, self->remote, self->to, 8, IBV_FLUSH_GLOBAL, IBV_FLUSH_RANGE);
	expect_wc(self->a, 2, IBV_WC_REM_INV_REQ_ERR);
	for (int i = 1; i < 8; i++)
		expect_wc(self->a, 2 + i, IBV_WC_WR_FLUSH_ERR);
}

/* ---- ATOMIC WRITE ---- */

TEST_F_TIMEOUT(rxe, atomic_write_carries_its_value, WAIT_SECONDS)
{
	rxe_pair_connect(_metadata, &self->p, RXE_OPTS());
	memset(self->to, 0x55, 4096);
	for (__u64 i = 0; i < 512; i++)
		post_atomic_write(i, self->remote, self->to + 8 * i, 0x0102030405060708ULL * i);
	for (__u64 i = 0; i < 512; i++)
		expect_success(self->a, i, IBV_WC_ATOMIC_WRITE, 8);
	for (__u64 i = 0; i < 512; i++)
		ASSERT_EQ(0x0102030405060708ULL * i, u64_at(self->to + 8 * i));
}

static void expect_no_atomic_write(struct __test_metadata *_metadata, FIXTURE_DATA(rxe) *self,
				   struct ibv_mr *mr, __u8 *addr, unsigned int b_access,
				   int status)
{
	rxe_pair_connect(_metadata, &self->p, RXE_OPTS(o.b_access = b_access));
	post_atomic_write(1, mr, addr, ~0ULL);
	expect_wc(self->a, 1, status);
	rxe_pair_disconnect(&self->p);
	for (int i = 0; i < 4096 + 8; i++)
		ASSERT_EQ(0, self->to[i]);
}

TEST_F_TIMEOUT(rxe, atomic_write_without_the_right_is_refused, WAIT_SECONDS)
{
	struct ibv_mr *page = rxe_reg(_metadata, &self->p, self->to, 4096, PLAIN_ACCESS);
	struct ibv_mr *shut = rxe_reg(_metadata, &self->p, self->to, 4096,
				      IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ |
				      IBV_ACCESS_REMOTE_ATOMIC);

	for (int odd = 1; odd < 8; odd++)
		expect_no_atomic_write(_metadata, self, page, self->to + odd, B_ACCESS,
				       IBV_WC_REM_INV_REQ_ERR);
	expect_no_atomic_write(_metadata, self, page, self->to + 4089, B_ACCESS,
			       IBV_WC_REM_ACCESS_ERR);
	expect_no_atomic_write(_metadata, self, page, self->to + 4096, B_ACCESS,
			       IBV_WC_REM_ACCESS_ERR);
	expect_no_atomic_write(_metadata, self, shut, self->to, B_ACCESS, IBV_WC_REM_ACCESS_ERR);
	expect_no_atomic_write(_metadata, self, page, self->to,
			       B_ACCESS & ~IBV_ACCESS_REMOTE_WRITE, IBV_WC_REM_INV_REQ_ERR);
}

/* ---- retries ---- */

/* A RECV that is late has everything behind the SEND sent again. */
TEST_F_TIMEOUT(rxe, what_is_sent_again_keeps_its_address, WAIT_SECONDS)
{
	struct ibv_sge sge = { (uintptr_t)self->to, 64, self->remote->lkey };
	struct ibv_recv_wr wr = { .wr_id = 9, .sg_list = &sge, .num_sge = 1 }, *bad;

	rxe_pair_connect(_metadata, &self->p, RXE_OPTS());
	rxe_post(self->a, 1, ({
		ibv_wr_send(ex);
		ibv_wr_set_sge(ex, self->local->lkey, (uintptr_t)self->from, 64); }));
	post_flush(2, self->remote, self->to + 4096, 8, IBV_FLUSH_GLOBAL, IBV_FLUSH_RANGE);
	post_atomic_write(3, self->remote, self->to + 8192, 0x1122334455667788ULL);
	post_flush(4, self->remote, 0, 0, IBV_FLUSH_GLOBAL, IBV_FLUSH_MR);
	expect_no_wc(self->a);
	ASSERT_EQ(0, ibv_post_recv(self->b->qp, &wr, &bad));
	expect_success(self->a, 1, IBV_WC_SEND, 64);
	expect_success(self->a, 2, IBV_WC_FLUSH, 8);
	expect_success(self->a, 3, IBV_WC_ATOMIC_WRITE, 8);
	expect_success(self->a, 4, IBV_WC_FLUSH, 0);
	ASSERT_EQ(0x1122334455667788ULL, u64_at(self->to + 8192));
}

/* ---- credits ---- */

static void flush_and_write_64(struct __test_metadata *_metadata, FIXTURE_DATA(rxe) *self,
			       __u64 round)
{
	for (__u64 i = 0; i < 64; i++) {
		post_flush(2 * i, self->remote, self->to, 8 * i, IBV_FLUSH_GLOBAL,
			   IBV_FLUSH_RANGE);
		post_atomic_write(2 * i + 1, self->remote, self->to + 8 * i, round << 8 | i);
	}
	for (__u64 i = 0; i < 64; i++) {
		expect_success(self->a, 2 * i, IBV_WC_FLUSH, 8 * i);
		expect_success(self->a, 2 * i + 1, IBV_WC_ATOMIC_WRITE, 8);
		ASSERT_EQ(round << 8 | i, u64_at(self->to + 8 * i));
	}
}

static void credits_come_back(struct __test_metadata *_metadata, FIXTURE_DATA(rxe) *self,
			      __u8 depth)
{
	rxe_pair_connect(_metadata, &self->p, RXE_OPTS(o.max_rd_atomic = depth));
	for (__u64 round = 1; round <= 4; round++) {
		flush_and_write_64(_metadata, self, round);
		for (int i = 0; i < 8; i++)
			post_read(i, IBV_SEND_FENCE, self->to, 512);
		for (int i = 0; i < 8; i++)
			expect_success(self->a, i, IBV_WC_RDMA_READ, 512);
		ASSERT_EQ(0, memcmp(self->from, self->to, 512));
		post_write(1, IBV_SEND_FENCE, self->to + 4096, 512);
		expect_success(self->a, 1, IBV_WC_RDMA_WRITE, 512);
		ASSERT_EQ(0, memcmp(self->from, self->to + 4096, 512));
	}
	rxe_pair_disconnect(&self->p);
}

TEST_F_TIMEOUT(rxe, credits_come_back, WAIT_SECONDS)
{
	credits_come_back(_metadata, self, 1);
	credits_come_back(_metadata, self, 4);
}

/* ---- what is written back ---- */

struct written_back {
	__u8 placement;
	__u8 level;
	__u32 offset;
	__u32 len;
	__u64 bytes;		/* as seen where the caches are written back */
};

TEST_F_TIMEOUT(rxe, persistent_writes_back_the_range_and_global_nothing, WAIT_SECONDS)
{
	static const struct written_back cases[] = {
		{ IBV_FLUSH_PERSISTENT, IBV_FLUSH_RANGE, 0, 0, 0 },
		{ IBV_FLUSH_PERSISTENT, IBV_FLUSH_RANGE, 3, 1, 1 },
		{ IBV_FLUSH_PERSISTENT, IBV_FLUSH_RANGE, 4090, 4107, 4107 },
		{ BOTH, IBV_FLUSH_RANGE, 1 << 20, 1 << 20, 1 << 20 },
		{ IBV_FLUSH_PERSISTENT, IBV_FLUSH_MR, 0, 0, DAX_SIZE },
		{ IBV_FLUSH_PERSISTENT, IBV_FLUSH_MR, 64, 8, DAX_SIZE },
		{ IBV_FLUSH_GLOBAL, IBV_FLUSH_RANGE, 0, 4096, 0 },
		{ IBV_FLUSH_GLOBAL, IBV_FLUSH_MR, 0, 0, 0 },
	};
	__u8 *dax = map_dax(_metadata, DAX_SIZE);
	struct ibv_mr *mr = rxe_reg(_metadata, &self->p, dax, DAX_SIZE,
				    PLAIN_ACCESS | G_ACCESS | P_ACCESS);

	rxe_pair_connect(_metadata, &self->p, RXE_OPTS());
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct written_back *c = &cases[i];

		trace_start(_metadata, "bytes > 0");
		post_flush(i, mr, dax + c->offset, c->len, c->placement, c->level);
		expect_success(self->a, i, IBV_WC_FLUSH, c->len);
		ASSERT_EQ(c->bytes, trace_bytes(_metadata))
			TH_LOG("case %zu", i);
	}
}

/* ---- the rest of the provider ---- */

TEST_F_TIMEOUT(rxe, read_write_send_still_work, WAIT_SECONDS)
{
	struct ibv_sge sge = { (uintptr_t)self->to, DRAM_SIZE, self->remote->lkey };
	struct ibv_recv_wr wr = { .wr_id = 9, .sg_list = &sge, .num_sge = 1 }, *bad;

	for (int i = 0; i < DRAM_SIZE; i++)
		self->from[i] = i * 7 + i / 251;
	rxe_pair_connect(_metadata, &self->p, RXE_OPTS());
	post_write(1, 0, self->to, DRAM_SIZE);
	expect_success(self->a, 1, IBV_WC_RDMA_WRITE, DRAM_SIZE);
	ASSERT_EQ(0, memcmp(self->from, self->to, DRAM_SIZE));
	memset(self->from, 0, DRAM_SIZE);
	post_read(2, 0, self->to, DRAM_SIZE);
	expect_success(self->a, 2, IBV_WC_RDMA_READ, DRAM_SIZE);
	ASSERT_EQ(0, memcmp(self->from, self->to, DRAM_SIZE));
	memset(self->to, 0, DRAM_SIZE);
	ASSERT_EQ(0, ibv_post_recv(self->b->qp, &wr, &bad));
	rxe_post(self->a, 3, ({
		ibv_wr_send(ex);
		ibv_wr_set_sge(ex, self->local->lkey, (uintptr_t)self->from, 5000); }));
	expect_success(self->a, 3, IBV_WC_SEND, 5000);
	expect_success(self->b, 9, IBV_WC_RECV, 5000);
	ASSERT_EQ(0, memcmp(self->from, self->to, 5000));
	ASSERT_EQ(0, self->to[5000]);
}

TEST_F_TIMEOUT(rxe, atomics_still_work, WAIT_SECONDS)
{
	rxe_pair_connect(_metadata, &self->p, RXE_OPTS());
	rxe_post(self->a, 1, ({
		ibv_wr_atomic_fetch_add(ex, self->remote->rkey, (uintptr_t)self->to, 5);
		ibv_wr_set_sge(ex, self->local->lkey, (uintptr_t)self->from, 8); }));
	rxe_post(self->a, 2, ({
		ibv_wr_atomic_cmp_swp(ex, self->remote->rkey, (uintptr_t)self->to, 5, 77);
		ibv_wr_set_sge(ex, self->local->lkey, (uintptr_t)self->from + 8, 8); }));
	rxe_post(self->a, 3, ({
		ibv_wr_atomic_cmp_swp(ex, self->remote->rkey, (uintptr_t)self->to, 5, 78);
		ibv_wr_set_sge(ex, self->local->lkey, (uintptr_t)self->from + 16, 8); }));
	expect_success(self->a, 1, IBV_WC_FETCH_ADD, 8);
	expect_success(self->a, 2, IBV_WC_COMP_SWAP, 8);
	expect_success(self->a, 3, IBV_WC_COMP_SWAP, 8);
	ASSERT_EQ(0, u64_at(self->from));
	ASSERT_EQ(5, u64_at(self->from + 8));
	ASSERT_EQ(77, u64_at(self->from + 16));
	ASSERT_EQ(77, u64_at(self->to));
}

TEST_HARNESS_MAIN
