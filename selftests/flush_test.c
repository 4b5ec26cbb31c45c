// SPDX-License-Identifier: GPL-2.0
/*
 * Flush: every length at every place, what is refused and that it costs
 * nothing, the order behind WRITEs, chains that report errors only, streams
 * that never ask.
 */
#include "rpma_pair.h"

#define MIB (1UL << 20)

FIXTURE(flush) {
	struct pair p;
	struct side *c;
	struct side *s;
};

FIXTURE_SETUP(flush)
{
	SKIP_WITHOUT_RPMA();
	pair_open(_metadata, &self->p, (struct pair_opts){
		.sq_size = 64, .length = MIB,
		.access = ACCESS_ALL | RPMA_ACCESS_FLUSH_PERSISTENT });
	self->c = &self->p.client;
	self->s = &self->p.server;
}

FIXTURE_TEARDOWN(flush)
{
	pair_close(&self->p);
}

static void flush_one(struct __test_metadata *_metadata, struct pair *p, const struct region *to,
		      __u64 offset, __u64 len)
{
	struct rpma_request r = req_flush(offset ^ len, SIGNALED, to, offset, len);
	struct rpma_completion c;

	ioc_post(p->client.conn, &r, 1);
	c = expect_completion(p->client.cq, offset ^ len, RPMA_OP_FLUSH, 0);
	ASSERT_EQ(len, c.len);
	ASSERT_EQ(test_method(), c.method);
	ASSERT_EQ(0, c.vendor_err);
	ASSERT_EQ(0, c.flags);
	ASSERT_EQ(0, c.imm_data);
	ASSERT_EQ(0, c.__reserved);
}

static __u64 posted(struct __test_metadata *_metadata, struct pair *p)
{
	return ioc_conn_query(p->fd, .conn_fd = p->client.conn).out_posted;
}

/* ---- lengths and places ---- */

TEST_F_TIMEOUT(flush, every_length, WAIT_SECONDS)
{
	const __u64 lens[] = { 0, 1, 7, 8, 9, 4095, 4096, 4097, MIB - 1, MIB };

	for (size_t i = 0; i < sizeof(lens) / sizeof(lens[0]); i++) {
		flush_one(_metadata, &self->p, &self->s->mem, 0, lens[i]);
		flush_one(_metadata, &self->p, &self->s->mem, MIB - lens[i], lens[i]);
	}
}

/* The region's neighbours in memory are not registered: one byte too far fails. */
TEST_F_TIMEOUT(flush, every_region_end, WAIT_SECONDS)
{
	const __u64 sizes[] = { 1, 4, 7, 8, 9, 4096 };

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		__u64 size = sizes[i];
		struct region r = region_reg(_metadata, self->p.fd, self->p.peer,
					     self->s->mem.addr + 8192 - size, size, ACCESS_ALL);

		for (__u64 len = 0; len <= (size < 10 ? size : 10); len++)
			flush_one(_metadata, &self->p, &r, size - len, len);
		flush_one(_metadata, &self->p, &r, 0, size);
		for (__u64 len = 0; len <= (size < 10 ? size : 10); len++)
			flush_one(_metadata, &self->p, &r, 0, len);
	}
	expect_usable(_metadata, &self->p);
}

TEST_F_TIMEOUT(flush, single_form_is_the_same, WAIT_SECONDS)
{
	const __u64 lens[] = { 0, 1, 7, 8, 4095, MIB };

	for (int i = 0; i < 6; i++) {
		ioc_flush(self->c->conn, .flags = SIGNALED, .placement = RPMA_FLUSH_GLOBAL,
			  .context = i, .offset = MIB - lens[i], .len = lens[i],
			  .remote = remote_of(&self->s->mem));
		EXPECT_EQ(lens[i], expect_completion(self->c->cq, i, RPMA_OP_FLUSH, 0).len);
	}
	EXPECT_EQ(6, ioc_conn_query(self->p.fd, .conn_fd = self->c->conn).out_flushes);
}

/* ---- what is refused: nothing is sent, the connection works on ---- */

#define refused(err, req)						\
	({								\
		struct rpma_request __r = req;				\
		__u64 __before = posted(_metadata, &self->p);		\
		ioc_err_post(err, self->c->conn, &__r, 1);		\
		ioc_err_flush(err, self->c->conn, .flags = __r.flags,	\
			      .placement = __r.placement, .offset = __r.remote_offset, \
			      .len = __r.len, .remote = __r.remote);	\
		EXPECT_EQ(__before, posted(_metadata, &self->p));	\
	})

TEST_F_TIMEOUT(flush, range_outside_its_region_is_einval, WAIT_SECONDS)
{
	const __u64 two32 = 1ULL << 32, two63 = 1ULL << 63, max = ~0ULL;
	const struct { __u64 offset, len; } bad[] = {
		{ MIB, 1 }, { MIB + 1, 0 }, { MIB - 7, 8 }, { 0, MIB + 1 }, { 1, MIB },
		{ two32 - 1, 1 }, { two32, 0 }, { two32 - 1, 2 }, { 1, two32 - 1 },
		{ two63, two63 }, { two63 - 1, 1 }, { two63, 0 }, { 1, two63 },
		{ max, 0 }, { max, 1 }, { max, 2 }, { 1, max }, { 2, max - 1 }, { max, max },
		{ max - 7, 8 }, { 8, max - 7 }, { 0, max },
	};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		refused(EINVAL, req_flush(1, SIGNALED, &self->s->mem, bad[i].offset, bad[i].len));
	expect_usable(_metadata, &self->p);
	expect_no_completion(self->c->cq);
}

TEST_F_TIMEOUT(flush, region_that_wraps_is_einval, WAIT_SECONDS)
{
	struct rpma_request r = req_flush(1, SIGNALED, &self->s->mem, 0, 8);

	r.remote.length = ~0ULL;
	refused(EINVAL, r);
	r.remote.length = 0 - r.remote.addr + 1;
	refused(EINVAL, r);
	r = req_flush(1, SIGNALED, &self->s->mem, 0, 8);
	r.remote.addr = ~0ULL - 6;
	refused(EINVAL, r);
	expect_usable(_metadata, &self->p);
}

/* There is not even one byte that it could read. */
TEST_F_TIMEOUT(flush, region_of_no_bytes_is_einval, WAIT_SECONDS)
{
	struct rpma_request r = req_flush(1, SIGNALED, &self->s->mem, 0, 0);

	r.remote.length = 0;
	refused(EINVAL, r);
	expect_usable(_metadata, &self->p);
}

TEST_F_TIMEOUT(flush, unknown_placement_is_einval, WAIT_SECONDS)
{
	const __u32 bad[] = {
		0, 1 << 2, 1u << 31 | RPMA_FLUSH_GLOBAL,
		1 << 2 | RPMA_FLUSH_GLOBAL | RPMA_FLUSH_PERSISTENT,
	};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct rpma_request r = req_flush(1, SIGNALED, &self->s->mem, 0, 8);

		r.placement = bad[i];
		refused(EINVAL, r);
	}
	expect_usable(_metadata, &self->p);
}

static __u32 access_for(__u32 placement)
{
	return (placement & RPMA_FLUSH_GLOBAL ? RPMA_ACCESS_FLUSH_GLOBAL : 0) |
	       (placement & RPMA_FLUSH_PERSISTENT ? RPMA_ACCESS_FLUSH_PERSISTENT : 0);
}

/*
 * Placement x what the region was registered for x direct write. FLUSH itself
 * needs no direct write, but memory that is persistent: flush_native_test.c.
 */
TEST_F_TIMEOUT(flush, type_gate, WAIT_SECONDS)
{
	bool native = test_method() == RPMA_FLUSH_METHOD_NATIVE;

	for (__u32 i = 0; i < 32; i++) {
		__u32 placement = i & 3, access = access_for(i >> 2 & 3), direct = i >> 4;
		bool durable = placement & RPMA_FLUSH_PERSISTENT;
		struct rpma_request r = req_flush(i, SIGNALED, &self->s->mem, 0, 8);

		ioc_conn_modify(self->p.fd, .conn_fd = self->c->conn,
				.mask = RPMA_CONN_MODIFY_DIRECT_WRITE, .direct_write = direct);
		r.placement = placement;
		r.remote.access = RPMA_ACCESS_WRITE_DST | access;
		if (!placement) {
			refused(EINVAL, r);
		} else if (access_for(placement) & ~access || (durable && !direct && !native)) {
			refused(EOPNOTSUPP, r);
		} else if (!durable || !native) {
			ioc_post(self->c->conn, &r, 1);
			expect_completion(self->c->cq, i, RPMA_OP_FLUSH, 0);
		}
	}
	expect_usable(_metadata, &self->p);
}

TEST_F_TIMEOUT(flush, unknown_access_of_the_remote_is_eopnotsupp, WAIT_SECONDS)
{
	struct rpma_request r = req_flush(1, SIGNALED, &self->s->mem, 0, 8);

	r.remote.access |= 1u << 31;
	refused(EOPNOTSUPP, r);
	expect_usable(_metadata, &self->p);
}

TEST_F_TIMEOUT(flush, before_established_is_enotconn, WAIT_SECONDS)
{
	struct side client = side_new(_metadata, &self->p);
	struct rpma_request r = req_flush(1, SIGNALED, &self->s->mem, 0, 8);

	client_create(_metadata, &self->p, &client);
	ioc_err_post(ENOTCONN, client.conn, &r, 1);
	ioc_err_flush(ENOTCONN, client.conn, .placement = RPMA_FLUSH_GLOBAL, .len = 8,
		      .remote = remote_of(&self->s->mem));
	EXPECT_EQ(0, ioc_conn_query(self->p.fd, .conn_fd = client.conn).out_posted);
	side_close(&client);
}

/* ---- order: the data is there when the completion is ---- */

static void pattern(__u8 *to, __u64 len, unsigned int seed)
{
	for (__u64 i = 0; i < len; i++)
		to[i] = (seed = seed * 1103515245 + 12345) >> 16;
}

TEST_F_TIMEOUT(flush, data_is_visible_at_completion, 3 * WAIT_SECONDS)
{
	for (int round = 0; round < 300; round++) {
		__u64 len = round % 50 == 49 ? MIB : 1 + (round * 977) % 20000;
		__u64 offset = len == MIB ? 0 : (round * 131) % 4096;
		struct rpma_request r[2] = {
			req_write(0, 0, &self->c->mem, 0, &self->s->mem, offset, len),
			req_flush(round, SIGNALED, &self->s->mem, offset, len),
		};

		pattern(self->c->mem.addr, len, round);
		ioc_post(self->c->conn, r, 2);
		expect_completion(self->c->cq, round, RPMA_OP_FLUSH, 0);
		ASSERT_EQ(0, memcmp(self->c->mem.addr, self->s->mem.addr + offset, len))
			TH_LOG("round %d, %llu bytes", round, (unsigned long long)len);
	}
}

/* A flush covers all WRITEs before it, wherever they went. */
TEST_F_TIMEOUT(flush, covers_every_write_before_it, WAIT_SECONDS)
{
	struct rpma_request r[33];

	for (int round = 0; round < 50; round++) {
		pattern(self->c->mem.addr, MIB, round + 1000);
		for (int i = 0; i < 32; i++)
			r[i] = req_write(i, 0, &self->c->mem, i * 4096, &self->s->mem,
					 MIB - (i + 1) * 8192, 4096);
		r[32] = req_flush(32, SIGNALED, &self->s->mem, 0, round % 2 ? 1 : 0);
		ioc_post(self->c->conn, r, 33);
		expect_completion(self->c->cq, 32, RPMA_OP_FLUSH, 0);
		for (int i = 0; i < 32; i++) {
			ASSERT_EQ(0, memcmp(self->c->mem.addr + i * 4096,
					    self->s->mem.addr + MIB - (i + 1) * 8192, 4096))
				TH_LOG("round %d, write %d", round, i);
		}
	}
}

TEST_F_TIMEOUT(flush, leaves_the_memory_as_it_is, WAIT_SECONDS)
{
	pattern(self->s->mem.addr, MIB, 5);
	memset(self->c->mem.addr, 0xdd, MIB);
	flush_one(_metadata, &self->p, &self->s->mem, 0, MIB);
	flush_one(_metadata, &self->p, &self->s->mem, 12345, 3);
	pattern(self->c->mem.addr, MIB, 5);
	EXPECT_EQ(0, memcmp(self->c->mem.addr, self->s->mem.addr, MIB));
}

TEST_F_TIMEOUT(flush, two_connections_flush_apart, WAIT_SECONDS)
{
	struct side client, server;
	struct rpma_request r;

	pair_add(_metadata, &self->p, &client, &server);
	for (int i = 0; i < 100; i++) {
		r = req_flush(i, SIGNALED, &self->s->mem, i, 8);
		ioc_post(self->c->conn, &r, 1);
		r = req_flush(1000 + i, SIGNALED, &server.mem, i, 8);
		ioc_post(client.conn, &r, 1);
		expect_completion(self->c->cq, i, RPMA_OP_FLUSH, 0);
		expect_completion(client.cq, 1000 + i, RPMA_OP_FLUSH, 0);
	}
	/* The end of one is nothing to the other. */
	close(server.conn);
	expect_event(client.conn, RPMA_EVENT_CLOSED);
	expect_usable(_metadata, &self->p);
	close(client.conn);
}

TEST_F_TIMEOUT(flush, server_flushes_its_client_too, WAIT_SECONDS)
{
	struct rpma_request r[2] = {
		req_write(0, 0, &self->s->mem, 0, &self->c->mem, 77, 5000),
		req_flush(1, SIGNALED, &self->c->mem, 77, 5000),
	};

	pattern(self->s->mem.addr, 5000, 9);
	ioc_post(self->s->conn, r, 2);
	expect_completion(self->s->cq, 1, RPMA_OP_FLUSH, 0);
	EXPECT_EQ(0, memcmp(self->s->mem.addr, self->c->mem.addr + 77, 5000));
}

/* ---- chains that report errors only ---- */

TEST_F_TIMEOUT(flush, quiet_chain_reports_its_last_only, WAIT_SECONDS)
{
	for (int i = 1; i <= 50; i++) {
		struct rpma_request r = req_flush(i, 0, &self->s->mem, i, 8);

		ioc_post(self->c->conn, &r, 1);
	}
	flush_one(_metadata, &self->p, &self->s->mem, 0, 8);
	expect_no_completion(self->c->cq);
	EXPECT_EQ(51, ioc_conn_query(self->p.fd, .conn_fd = self->c->conn).out_completed);
}

TEST_F_TIMEOUT(flush, quiet_chain_reports_the_one_that_failed, WAIT_SECONDS)
{
	struct region gone = region_new(_metadata, self->p.fd, self->p.peer, 4096, ACCESS_ALL);
	struct rpma_request r[51];

	for (int i = 1; i <= 51; i++)
		r[i - 1] = req_flush(i, i == 51 ? SIGNALED : 0,
				     i == 23 ? &gone : &self->s->mem, i, 8);
	ioc_destroy(self->p.fd, .id = gone.mr);
	ioc_post(self->c->conn, r, 51);
	expect_completion(self->c->cq, 23, RPMA_OP_FLUSH, RPMA_STATUS_REM_ACCESS_ERR);
	for (int i = 24; i <= 51; i++)
		expect_completion(self->c->cq, i, RPMA_OP_FLUSH, RPMA_STATUS_ABORTED);
	expect_no_completion(self->c->cq);
}

TEST_F_TIMEOUT(flush, quiet_write_that_fails_is_reported_by_name, WAIT_SECONDS)
{
	struct region gone = region_new(_metadata, self->p.fd, self->p.peer, 4096, ACCESS_ALL);
	struct rpma_request r[3] = {
		req_write(1, 0, &self->c->mem, 0, &self->s->mem, 0, 64),
		req_write(2, 0, &self->c->mem, 0, &gone, 0, 64),
		req_flush(3, SIGNALED, &self->s->mem, 0, 64),
	};

	ioc_destroy(self->p.fd, .id = gone.mr);
	ioc_post(self->c->conn, r, 3);
	expect_completion(self->c->cq, 2, RPMA_OP_WRITE, RPMA_STATUS_REM_ACCESS_ERR);
	expect_completion(self->c->cq, 3, RPMA_OP_FLUSH, RPMA_STATUS_ABORTED);
	expect_no_completion(self->c->cq);
}

/* ---- streams that never ask for a completion ---- */

FIXTURE(stream) {
	struct pair p;
};

FIXTURE_VARIANT(stream) {
	__u32 depth;
	bool write;
	__u32 post_flags;
};

FIXTURE_VARIANT_ADD(stream, flush_depth_1) { .depth = 1 };
FIXTURE_VARIANT_ADD(stream, flush_depth_2) { .depth = 2 };
FIXTURE_VARIANT_ADD(stream, flush_depth_10) { .depth = 10 };
FIXTURE_VARIANT_ADD(stream, write_depth_1) { .depth = 1, .write = true };
FIXTURE_VARIANT_ADD(stream, write_depth_10) { .depth = 10, .write = true };
FIXTURE_VARIANT_ADD(stream, flush_depth_10_waiting) {
	.depth = 10, .post_flags = RPMA_POST_F_WAIT };
FIXTURE_VARIANT_ADD(stream, write_depth_1_waiting) {
	.depth = 1, .write = true, .post_flags = RPMA_POST_F_WAIT };

FIXTURE_SETUP(stream)
{
	SKIP_WITHOUT_RPMA();
	pair_open(_metadata, &self->p, (struct pair_opts){ .sq_size = variant->depth });
}

FIXTURE_TEARDOWN(stream)
{
	pair_close(&self->p);
}

/* The caller only posts; who polls POLLOUT is woken. */
TEST_F_TIMEOUT(stream, unsignaled_never_stalls, WAIT_SECONDS)
{
	struct rpma_request r = variant->write ?
		req_write(5, 0, &self->p.client.mem, 0, &self->p.server.mem, 0, 64) :
		req_flush(5, 0, &self->p.server.mem, 0, 8);
	int n = 100 * variant->depth < 1000 ? 1000 : 100 * variant->depth;

	for (int i = 0; i < n; i++) {
		while (_ioc_post_flags(self->p.client.conn, &r, 1, variant->post_flags) != 1) {
			ASSERT_EQ(EAGAIN, errno);
			ASSERT_EQ(0, variant->post_flags);
			ASSERT_EQ(POLLOUT, poll_for(self->p.client.conn, POLLOUT, WAIT_MS))
				TH_LOG("stalled at %d", i);
		}
	}
	r = req_flush(6, SIGNALED, &self->p.server.mem, 0, 8);
	while (_ioc_post(self->p.client.conn, &r, 1) != 1)
		ASSERT_EQ(POLLOUT, poll_for(self->p.client.conn, POLLOUT, WAIT_MS));
	expect_completion(self->p.client.cq, 6, RPMA_OP_FLUSH, 0);
	expect_no_completion(self->p.client.cq);
	EXPECT_EQ(n + 1, ioc_conn_query(self->p.fd,
					.conn_fd = self->p.client.conn).out_completed);
}

TEST_HARNESS_MAIN
