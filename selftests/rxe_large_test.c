// SPDX-License-Identifier: GPL-2.0
/*
 * Regions larger than what 32 bits can count, on an NVDIMM that has room for
 * them: FLUSH of the whole region writes back all of it.
 */
#include <infiniband/verbs.h>

#include "rxe_pair.h"
#include "rxe_trace.h"

#define GIB (1UL << 30)
#define MIB (1UL << 20)
#define LARGE_SECONDS 120

FIXTURE(large) {
	struct rxe_pair p;
};

FIXTURE_SETUP(large)
{
	rxe_pair_device(_metadata, &self->p, test_dev(), test_addr4());
}

FIXTURE_TEARDOWN(large)
{
}

static void write_back_whole(struct __test_metadata *_metadata, FIXTURE_DATA(large) *self,
			     size_t length)
{
	__u8 *dax = map_dax(_metadata, length);
	struct ibv_wc wc = {};
	struct ibv_mr *mr = rxe_reg(_metadata, &self->p, dax, length,
				    IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
				    IBV_ACCESS_FLUSH_GLOBAL | IBV_ACCESS_FLUSH_PERSISTENT);

	rxe_pair_connect(_metadata, &self->p, RXE_OPTS());
	trace_start(_metadata, "bytes != 4096");
	rxe_post(&self->p.a, 1, ibv_wr_flush(ex, mr->rkey, 0, 0, IBV_FLUSH_PERSISTENT,
					     IBV_FLUSH_MR));
	ASSERT_EQ(1, rxe_reap_within(self->p.a.cq, &wc, LARGE_SECONDS * 1000));
	ASSERT_EQ(IBV_WC_SUCCESS, (int)wc.status);
	/* A page at a time, and none of them in parts. */
	ASSERT_EQ(length >> 12, trace_pieces(_metadata));
	rxe_pair_disconnect(&self->p);
	ASSERT_EQ(0, ibv_dereg_mr(mr));
	ASSERT_EQ(0, munmap(dax, length));
}

TEST_F_TIMEOUT(large, flush_of_the_whole_writes_back_1_gib, LARGE_SECONDS)
{
	write_back_whole(_metadata, self, GIB);
}

TEST_F_TIMEOUT(large, flush_of_the_whole_writes_back_4_gib, LARGE_SECONDS)
{
	write_back_whole(_metadata, self, 4 * GIB);
}

TEST_F_TIMEOUT(large, flush_of_the_whole_writes_back_4_gib_and_2_mib, LARGE_SECONDS)
{
	write_back_whole(_metadata, self, 4 * GIB + 2 * MIB);
}

TEST_HARNESS_MAIN
