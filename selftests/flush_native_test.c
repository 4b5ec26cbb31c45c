// SPDX-License-Identifier: GPL-2.0
/*
 * FLUSH and ATOMIC WRITE themselves, on a provider that carries them for the
 * kernel: placements on memory that is persistent and memory that is not, both
 * methods beside each other, the limit, what the wire refuses.
 */
#include "rpma_pair.h"

#define DAX "/dev/dax0.0"
#define DAX_LENGTH (2UL << 20)
#define MIB (1UL << 20)

FIXTURE(native) {
	struct pair p;
	struct side *c;
	struct side *s;
	struct region pmem;
};

FIXTURE_SETUP(native)
{
	int fd;

	SKIP_WITHOUT_RPMA();
	if (!test_is_native())
		SKIP(return, "the provider carries no FLUSH of kernel consumers");
	pair_open(_metadata, &self->p, (struct pair_opts){ .sq_size = 64, .length = MIB });
	self->c = &self->p.client;
	self->s = &self->p.server;

	fd = open(DAX, O_RDWR | O_CLOEXEC);
	ASSERT_LE(0, fd)
		TH_LOG("%s: %s", DAX, strerror(errno));
	self->pmem.addr = mmap(NULL, DAX_LENGTH, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	ASSERT_NE(MAP_FAILED, self->pmem.addr);
	close(fd);
	self->pmem = region_reg(_metadata, self->p.fd, self->p.peer, self->pmem.addr, DAX_LENGTH,
				ACCESS_ALL | RPMA_ACCESS_FLUSH_PERSISTENT);
}

FIXTURE_TEARDOWN(native)
{
	pair_close(&self->p);
	munmap(self->pmem.addr, DAX_LENGTH);
}

static void choose(struct pair *p, struct __test_metadata *_metadata, __u32 method)
{
	ioc_conn_modify(p->fd, .conn_fd = p->client.conn, .mask = RPMA_CONN_MODIFY_FLUSH_METHOD,
			.flush_method = method);
}

static void flush_one(struct __test_metadata *_metadata, struct pair *p, const struct region *to,
		      __u64 offset, __u64 len, __u32 placement, __u32 method)
{
	struct rpma_request r = req_flush(offset ^ len, SIGNALED, to, offset, len);
	struct rpma_completion c;

	r.placement = placement;
	ioc_post(p->client.conn, &r, 1);
	c = expect_completion(p->client.cq, offset ^ len, RPMA_OP_FLUSH, 0);
	ASSERT_EQ(len, c.len);
	ASSERT_EQ(method, c.method);
}

TEST_F_TIMEOUT(native, reaches_each_placement_on_persistent_memory, WAIT_SECONDS)
{
	const __u64 lens[] = { 0, 1, 7, 8, 4095, 4096, MIB, DAX_LENGTH };

	for (__u32 placement = 1; placement <= RPMA_FLUSH_ALL; placement++) {
		for (int i = 0; i < 8; i++) {
			flush_one(_metadata, &self->p, &self->pmem, 0, lens[i], placement,
				  RPMA_FLUSH_METHOD_NATIVE);
			flush_one(_metadata, &self->p, &self->pmem, DAX_LENGTH - lens[i], lens[i],
				  placement, RPMA_FLUSH_METHOD_NATIVE);
		}
	}
}

/* No promise about the other machine is needed. By READ there is. */
TEST_F_TIMEOUT(native, persistent_needs_no_direct_write, WAIT_SECONDS)
{
	struct rpma_request r = req_flush(1, SIGNALED, &self->pmem, 0, 64);

	r.placement = RPMA_FLUSH_PERSISTENT;
	choose(&self->p, _metadata, RPMA_FLUSH_METHOD_READ);
	ioc_err_post(EOPNOTSUPP, self->c->conn, &r, 1);
	choose(&self->p, _metadata, RPMA_FLUSH_METHOD_NATIVE);
	flush_one(_metadata, &self->p, &self->pmem, 0, 64, RPMA_FLUSH_PERSISTENT,
		  RPMA_FLUSH_METHOD_NATIVE);
	choose(&self->p, _metadata, RPMA_FLUSH_METHOD_READ);
	ioc_conn_modify(self->p.fd, .conn_fd = self->c->conn,
			.mask = RPMA_CONN_MODIFY_DIRECT_WRITE, .direct_write = 1);
	flush_one(_metadata, &self->p, &self->pmem, 0, 64, RPMA_FLUSH_PERSISTENT,
		  RPMA_FLUSH_METHOD_READ);
}

TEST_F_TIMEOUT(native, method_changes_between_requests, WAIT_SECONDS)
{
	for (int i = 0; i < 20; i++) {
		__u32 method = i % 2 ? RPMA_FLUSH_METHOD_READ : RPMA_FLUSH_METHOD_NATIVE;

		choose(&self->p, _metadata, method);
		flush_one(_metadata, &self->p, &self->s->mem, i, 100, RPMA_FLUSH_GLOBAL, method);
		EXPECT_EQ(method, ioc_conn_query(self->p.fd,
						 .conn_fd = self->c->conn).out_flush_method);
	}
	choose(&self->p, _metadata, RPMA_FLUSH_METHOD_NONE);
	flush_one(_metadata, &self->p, &self->s->mem, 0, 8, RPMA_FLUSH_GLOBAL,
		  RPMA_FLUSH_METHOD_NATIVE);
}

/* A region may be longer than a FLUSH: the caller splits. READ takes any. */
TEST_F_TIMEOUT(native, range_over_2_gib_is_emsgsize, WAIT_SECONDS)
{
	const __u64 limit = 1ULL << 31;
	struct rpma_request r = req_flush(1, SIGNALED, &self->s->mem, 0, limit + 1);

	r.remote.length = 1ULL << 40;
	ioc_err_post(EMSGSIZE, self->c->conn, &r, 1);
	ioc_err_flush(EMSGSIZE, self->c->conn, .placement = RPMA_FLUSH_GLOBAL, .len = limit + 1,
		      .remote = r.remote);
	r.len = 1ULL << 32;
	ioc_err_post(EMSGSIZE, self->c->conn, &r, 1);
	expect_usable(_metadata, &self->p);
	choose(&self->p, _metadata, RPMA_FLUSH_METHOD_READ);
	ioc_post(self->c->conn, &r, 1);
	EXPECT_EQ(r.len, expect_completion(self->c->cq, 1, RPMA_OP_FLUSH, 0).len);
	/* At the limit it is the other side that finds the range too long. */
	choose(&self->p, _metadata, RPMA_FLUSH_METHOD_NATIVE);
	r.len = limit;
	ioc_post(self->c->conn, &r, 1);
	expect_completion(self->c->cq, 1, RPMA_OP_FLUSH, RPMA_STATUS_REM_ACCESS_ERR);
}

/* As the library does with what is longer than a FLUSH. */
TEST_F_TIMEOUT(native, long_region_is_flushed_in_pieces, WAIT_SECONDS)
{
	const __u64 length = 3ULL << 30, limit = 1ULL << 31;
	int fd = open(DAX, O_RDWR | O_CLOEXEC);
	struct region r;
	void *addr;

	ASSERT_LE(0, fd);
	addr = mmap(NULL, length, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	ASSERT_NE(MAP_FAILED, addr)
		TH_LOG("%s: %s", DAX, strerror(errno));
	close(fd);
	r = region_reg(_metadata, self->p.fd, self->p.peer, addr, length,
		       ACCESS_ALL | RPMA_ACCESS_FLUSH_PERSISTENT);
	flush_one(_metadata, &self->p, &r, 0, limit, RPMA_FLUSH_PERSISTENT,
		  RPMA_FLUSH_METHOD_NATIVE);
	flush_one(_metadata, &self->p, &r, limit, length - limit, RPMA_FLUSH_ALL,
		  RPMA_FLUSH_METHOD_NATIVE);
	ioc_destroy(self->p.fd, .id = r.mr);
	munmap(addr, length);
}

/* What a region does not grant ends the connection, with the request's name. */
static void expect_refused(struct __test_metadata *_metadata, struct pair *p,
			   struct rpma_request r, __u32 status)
{
	r.context = 77;
	r.flags = 0;
	ioc_post(p->client.conn, &r, 1);
	expect_completion(p->client.cq, 77, r.op, status);
	expect_no_completion(p->client.cq);
}

TEST_F_TIMEOUT(native, persistent_on_ordinary_memory_is_refused_over_there, WAIT_SECONDS)
{
	struct rpma_request r = req_flush(0, 0, &self->s->mem, 0, 8);

	r.placement = RPMA_FLUSH_PERSISTENT;
	ioc_err_post(EOPNOTSUPP, self->c->conn, &r, 1);
	r.remote.access |= RPMA_ACCESS_FLUSH_PERSISTENT;
	expect_refused(_metadata, &self->p, r, RPMA_STATUS_REM_ACCESS_ERR);
}

TEST_F_TIMEOUT(native, both_placements_need_both_rights, WAIT_SECONDS)
{
	struct rpma_request r = req_flush(0, 0, &self->s->mem, 0, 8);

	r.placement = RPMA_FLUSH_ALL;
	ioc_err_post(EOPNOTSUPP, self->c->conn, &r, 1);
	r.remote.access |= RPMA_ACCESS_FLUSH_PERSISTENT;
	expect_refused(_metadata, &self->p, r, RPMA_STATUS_REM_ACCESS_ERR);
}

TEST_F_TIMEOUT(native, wrong_key_is_refused_over_there, WAIT_SECONDS)
{
	struct rpma_request r = req_flush(0, 0, &self->s->mem, 0, 0);

	r.remote.rkey ^= 0x10000;
	expect_refused(_metadata, &self->p, r, RPMA_STATUS_REM_ACCESS_ERR);
}

/* ---- the word that says so ---- */

static struct rpma_request req_word(const struct region *to, __u64 offset, __u64 value)
{
	return (struct rpma_request){
		.context = value, .op = RPMA_OP_ATOMIC_WRITE, .flags = SIGNALED, .len = 8,
		.remote = remote_of(to), .remote_offset = offset, .value = value,
	};
}

TEST_F_TIMEOUT(native, atomic_write_writes_the_value, WAIT_SECONDS)
{
	const __u32 methods[] = { RPMA_FLUSH_METHOD_NATIVE, RPMA_FLUSH_METHOD_READ };

	for (int i = 0; i < 2; i++) {
		choose(&self->p, _metadata, methods[i]);
		for (__u64 n = 1; n < 200; n++) {
			__u64 offset = n * 8 % MIB, value = n * 0x0123456789abcdefULL + i, seen;
			struct rpma_request r = req_word(&self->s->mem, offset, value);
			struct rpma_completion c;

			ioc_post(self->c->conn, &r, 1);
			c = expect_completion(self->c->cq, value, RPMA_OP_ATOMIC_WRITE, 0);
			memcpy(&seen, self->s->mem.addr + offset, 8);
			ASSERT_EQ(value, seen);
			ASSERT_EQ(8, c.len);
			ASSERT_EQ(i ? RPMA_FLUSH_METHOD_NONE : RPMA_FLUSH_METHOD_NATIVE, c.method);
		}
	}
}

TEST_F_TIMEOUT(native, atomic_write_of_an_odd_place_is_einval, WAIT_SECONDS)
{
	struct rpma_request r = req_word(&self->s->mem, 4, 1);

	ioc_err_post(EINVAL, self->c->conn, &r, 1);
	r = req_word(&self->s->mem, 0, 1), r.len = 4;
	ioc_err_post(EINVAL, self->c->conn, &r, 1);
	expect_usable(_metadata, &self->p);
}

/* More of them than the sides agreed to have in flight. */
TEST_F_TIMEOUT(native, commits_stream_past_the_depth, WAIT_SECONDS)
{
	struct rpma_request r[4];
	__u64 word;

	for (__u64 n = 1; n <= 300; n++) {
		memset(self->c->mem.addr, n, 4096);
		r[0] = req_write(n, 0, &self->c->mem, 0, &self->pmem, 4096, 4096);
		r[1] = req_flush(n, 0, &self->pmem, 4096, 4096);
		r[1].placement = RPMA_FLUSH_PERSISTENT;
		r[2] = req_word(&self->pmem, 0, n);
		r[2].flags = 0;
		r[3] = req_flush(n, n % 10 ? 0 : SIGNALED, &self->pmem, 0, 8);
		r[3].placement = RPMA_FLUSH_ALL;
		for (int done = 0; done < 4; ) {
			int ret = _ioc_post_flags(self->c->conn, r + done, 4 - done,
						  RPMA_POST_F_WAIT);

			ASSERT_LT(0, ret)
				TH_LOG("%s", strerror(errno));
			done += ret;
		}
		if (n % 10)
			continue;
		expect_completion(self->c->cq, n, RPMA_OP_FLUSH, 0);
		memcpy(&word, self->pmem.addr, 8);
		ASSERT_EQ(n, word);
		ASSERT_EQ((__u8)n, *(__u8 *)(self->pmem.addr + 8191));
	}
}

TEST_HARNESS_MAIN
