// SPDX-License-Identifier: GPL-2.0
/*
 * Posting: what is taken and what is not, partial counts, slots and EAGAIN,
 * unsignaled streams, and what each request does to memory.
 */
#include "rpma_pair.h"

FIXTURE(qp) {
	struct pair p;
	struct side *c;
	struct side *s;
};

FIXTURE_SETUP(qp)
{
	SKIP_WITHOUT_RPMA();
	pair_open(_metadata, &self->p, (struct pair_opts){ .cq_entries = 64 });
	self->c = &self->p.client;
	self->s = &self->p.server;
}

FIXTURE_TEARDOWN(qp)
{
	pair_close(&self->p);
}

static __u64 posted(struct __test_metadata *_metadata, struct pair *p)
{
	return ioc_conn_query(p->fd, .conn_fd = p->client.conn).out_posted;
}

/* Refused before anything is sent: nothing is counted, the connection works on. */
#define refused(err, req)						\
	({								\
		struct rpma_request __r = req;				\
		__u64 __before = posted(_metadata, &self->p);		\
		ioc_err_post(err, self->c->conn, &__r, 1);		\
		EXPECT_EQ(__before, posted(_metadata, &self->p));	\
	})

static struct rpma_request good(FIXTURE_DATA(qp) *self)
{
	return req_write(1, SIGNALED, &self->c->mem, 0, &self->s->mem, 0, 64);
}

/* ---- the array ---- */

TEST_F(qp, partial_count_is_exactly_what_completes)
{
	struct rpma_request r[5];

	for (int i = 0; i < 5; i++) {
		r[i] = good(self);
		r[i].context = 10 + i;
	}
	r[2].op = 0;
	ASSERT_EQ(2, _ioc_post(self->c->conn, r, 5));
	expect_completion(self->c->cq, 10, RPMA_OP_WRITE, 0);
	expect_completion(self->c->cq, 11, RPMA_OP_WRITE, 0);
	expect_no_completion(self->c->cq);
	EXPECT_EQ(-1, _ioc_post(self->c->conn, r + 2, 3));
	ioc_post(self->c->conn, r + 3, 2);
	expect_completion(self->c->cq, 13, RPMA_OP_WRITE, 0);
	expect_completion(self->c->cq, 14, RPMA_OP_WRITE, 0);
}

TEST_F(qp, count_out_of_bounds)
{
	struct rpma_request r = good(self);

	ioc_err_post(EINVAL, self->c->conn, &r, 0);
	ioc_err_post(EFAULT, self->c->conn, (struct rpma_request *)NULL, 1);
	ioc_err_post(EFAULT, self->c->conn, (struct rpma_request *)NULL, ~0u);
	EXPECT_EQ(0, posted(_metadata, &self->p));
}

TEST_F(qp, huge_count_takes_what_fits)
{
	struct rpma_request *r = (void *)map_pages(_metadata, 1 << 20);
	int n = (1 << 20) / sizeof(*r), ret;

	for (int i = 0; i < n; i++) {
		r[i] = good(self);
		r[i].context = i;
	}
	ret = _ioc_post(self->c->conn, r, n);
	ASSERT_LE((int)self->p.opts.sq_size, ret);
	ASSERT_GT(n, ret);
	for (int i = 0; i < ret; i++)
		expect_completion(self->c->cq, i, RPMA_OP_WRITE, 0);
	expect_no_completion(self->c->cq);
}

TEST_F(qp, array_that_runs_off_its_page)
{
	__u8 *pages = map_pages(_metadata, 8192);
	struct rpma_request *r = (void *)(pages + 4096 - 2 * sizeof(*r));

	r[0] = good(self);
	r[1] = good(self);
	ASSERT_EQ(0, munmap(pages + 4096, 4096));
	ASSERT_EQ(2, _ioc_post(self->c->conn, r, 3));
	expect_completion(self->c->cq, 1, RPMA_OP_WRITE, 0);
	expect_completion(self->c->cq, 1, RPMA_OP_WRITE, 0);
	EXPECT_ERRNO(EFAULT, _ioc_post(self->c->conn, r + 2, 1));
}

static int post_sized(int conn, void *requests, __u32 nr, __u32 request_size)
{
	struct rpma_ioc_post cmd = {
		.size = sizeof(cmd),
		.requests = (uintptr_t)requests,
		.nr = nr,
		.request_size = request_size,
	};

	return ioctl(conn, RPMA_IOC_POST, &cmd);
}

TEST_F(qp, request_size_follows_the_size_rule)
{
	struct {
		struct rpma_request r;
		__u64 tail;
	} r[2] = { { .r = good(self) }, { .r = good(self) } };

	EXPECT_ERRNO(EINVAL, post_sized(self->c->conn, r, 1, 0));
	EXPECT_ERRNO(EINVAL, post_sized(self->c->conn, r, 1, sizeof(r[0].r) - 1));
	EXPECT_ERRNO(EINVAL, post_sized(self->c->conn, r, 1, sizeof(r[0].r) - 8));
	ASSERT_EQ(2, post_sized(self->c->conn, r, 2, sizeof(r[0])));
	expect_completion(self->c->cq, 1, RPMA_OP_WRITE, 0);
	expect_completion(self->c->cq, 1, RPMA_OP_WRITE, 0);
	r[1].tail = 1;
	ASSERT_EQ(1, post_sized(self->c->conn, r, 2, sizeof(r[0])));
	expect_completion(self->c->cq, 1, RPMA_OP_WRITE, 0);
	EXPECT_ERRNO(E2BIG, post_sized(self->c->conn, &r[1], 1, sizeof(r[0])));
}

/* ---- each request's checks ---- */

#define changed(field, value)						\
	({								\
		struct rpma_request __c = good(self);			\
		__c.field = value;					\
		__c;							\
	})

TEST_F(qp, unknown_op_is_einval)
{
	refused(EINVAL, changed(op, 0));
	refused(EINVAL, changed(op, 9));
	refused(EINVAL, changed(op, 64));
	refused(EINVAL, changed(op, ~0u));
	expect_usable(_metadata, &self->p);
}

TEST_F(qp, unknown_bits_are_eopnotsupp)
{
	refused(EOPNOTSUPP, changed(flags, 1 << 1));
	refused(EOPNOTSUPP, changed(flags, 1u << 31));
	refused(EOPNOTSUPP, changed(__reserved, 1));
	expect_usable(_metadata, &self->p);
}

TEST_F(qp, fields_of_other_ops_must_be_zero)
{
	struct rpma_request flush = req_flush(1, SIGNALED, &self->s->mem, 0, 8);
	struct rpma_request send = req_send(1, SIGNALED, &self->c->mem, 0, 8);
	struct rpma_request r;

	refused(EINVAL, changed(imm_data, 1));
	refused(EINVAL, changed(placement, RPMA_FLUSH_GLOBAL));
	refused(EINVAL, changed(value, 1));
	r = flush, r.mr = self->c->mem.mr;
	refused(EINVAL, r);
	r = flush, r.mr_offset = 1;
	refused(EINVAL, r);
	r = flush, r.value = 1;
	refused(EINVAL, r);
	r = send, r.remote_offset = 1;
	refused(EINVAL, r);
	r = send, r.remote.addr = 1;
	refused(EINVAL, r);
	r = send, r.remote.rkey = 1;
	refused(EINVAL, r);
	r = send, r.imm_data = 1;
	refused(EINVAL, r);
	expect_usable(_metadata, &self->p);
}

TEST_F(qp, local_range_stays_in_its_region)
{
	const __u64 end = self->c->mem.length;
	const struct { __u64 offset, len; } bad[] = {
		{ end, 1 }, { end - 63, 64 }, { 0, end + 1 }, { end + 1, 0 },
		{ ~0ULL, 1 }, { ~0ULL, 2 }, { 1, ~0ULL }, { 1ULL << 63, 1ULL << 63 },
		{ (1ULL << 32) - 1, 1 }, { 1, (1ULL << 32) - 1 }, { 1ULL << 32, 64 },
	};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct rpma_request r = req_send(1, SIGNALED, &self->c->mem, bad[i].offset,
						 bad[i].len);

		refused(EINVAL, r);
	}
	expect_usable(_metadata, &self->p);
}

TEST_F(qp, remote_range_stays_in_its_region)
{
	const __u64 end = self->s->mem.length;
	const __u64 bad[] = {
		end, end - 63, end + 1, ~0ULL, ~0ULL - 63, 1ULL << 63, (1ULL << 32), -64ULL,
	};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		refused(EINVAL, changed(remote_offset, bad[i]));
	/* A description that itself wraps. */
	refused(EINVAL, changed(remote.addr, ~0ULL - 10));
	refused(EINVAL, changed(remote.length, ~0ULL));
	expect_usable(_metadata, &self->p);
}

TEST_F(qp, access_of_the_local_region_is_checked)
{
	const struct { __u32 op, access; } needs[] = {
		{ RPMA_OP_WRITE, RPMA_ACCESS_WRITE_SRC },
		{ RPMA_OP_WRITE_WITH_IMM, RPMA_ACCESS_WRITE_SRC },
		{ RPMA_OP_READ, RPMA_ACCESS_READ_DST },
	};
	struct region none;

	for (size_t i = 0; i < sizeof(needs) / sizeof(needs[0]); i++) {
		none = region_new(_metadata, self->p.fd, self->p.peer, 4096,
				  ACCESS_ALL & ~needs[i].access);
		struct rpma_request r = req_write(1, SIGNALED, &none, 0, &self->s->mem, 0, 64);

		r.op = needs[i].op;
		refused(EACCES, r);
	}
	none = region_new(_metadata, self->p.fd, self->p.peer, 4096,
			  ACCESS_ALL & ~RPMA_ACCESS_SEND);
	refused(EACCES, req_send(1, SIGNALED, &none, 0, 64));
	none = region_new(_metadata, self->p.fd, self->p.peer, 4096,
			  ACCESS_ALL & ~RPMA_ACCESS_RECV);
	refused(EACCES, req_recv(1, &none, 0, 64));
	expect_usable(_metadata, &self->p);
}

TEST_F(qp, region_of_another_peer_is_exdev)
{
	__u32 peer = peer_new(_metadata, self->p.fd);
	struct region r = region_new(_metadata, self->p.fd, peer, 4096, ACCESS_ALL);

	refused(EXDEV, req_send(1, SIGNALED, &r, 0, 64));
	refused(EXDEV, req_write(1, SIGNALED, &r, 0, &self->s->mem, 0, 64));
	expect_usable(_metadata, &self->p);
}

TEST_F(qp, unknown_region_is_enoent)
{
	refused(EINVAL, changed(mr, 0));
	refused(ENOENT, changed(mr, 0x7fffffff));
	refused(ENOENT, changed(mr, self->p.peer));
	expect_usable(_metadata, &self->p);
}

/* rxe takes 2 GiB at once, and warns about the size of such a region. */
TEST_F_TIMEOUT(qp, longer_than_the_device_sends_is_emsgsize, WAIT_SECONDS)
{
	__u64 most = ioc_device_query(self->p.fd).out_max_msg_size;
	struct region from;

	if (most > 64 << 20)
		SKIP(return, "the device sends %llu bytes at once", (unsigned long long)most);
	from = region_new(_metadata, self->p.fd, self->p.peer, most + 1, RPMA_ACCESS_SEND);
	refused(EMSGSIZE, req_send(1, SIGNALED, &from, 0, most + 1));
	expect_usable(_metadata, &self->p);
}

TEST_F(qp, remote_refusal_is_reported_and_ends_the_connection)
{
	struct rpma_request r = good(self), flush = req_flush(2, SIGNALED, &self->s->mem, 0, 8);

	r.remote.rkey ^= 0xa5a500;
	ioc_post(self->c->conn, &r, 1);
	expect_completion(self->c->cq, 1, RPMA_OP_WRITE, RPMA_STATUS_REM_ACCESS_ERR);
	ioc_post(self->c->conn, &flush, 1);
	expect_completion(self->c->cq, 2, RPMA_OP_FLUSH, RPMA_STATUS_ABORTED);
	expect_no_completion(self->c->cq);
}

TEST_F(qp, remote_access_bits_are_enforced_over_there)
{
	struct region ro = region_new(_metadata, self->p.fd, self->p.peer, 4096,
				      RPMA_ACCESS_READ_SRC);
	struct rpma_request r = req_write(1, SIGNALED, &self->c->mem, 0, &ro, 0, 64);

	/* Say what is not so, to see the adapter's own answer. */
	r.remote.access = ACCESS_ALL;
	ioc_post(self->c->conn, &r, 1);
	expect_completion(self->c->cq, 1, RPMA_OP_WRITE, RPMA_STATUS_REM_ACCESS_ERR);
}

/* ---- room ---- */

TEST_F_TIMEOUT(qp, recv_queue_full_is_eagain, WAIT_SECONDS)
{
	struct rpma_request recv = req_recv(1, &self->c->mem, 0, 64);
	int n = post_until_full(self->c->conn, &recv, 1000);

	/* Nothing is sent, so no RECV comes back. */
	EXPECT_EQ(self->p.opts.rq_size, n);
	EXPECT_EQ(EAGAIN, errno);
	expect_usable(_metadata, &self->p);
}

TEST_F(qp, recv_without_a_recv_queue_is_einval)
{
	struct side client = side_new(_metadata, &self->p);
	struct rpma_request recv = req_recv(1, &client.mem, 0, 64);

	self->p.opts.rq_size = 0;
	client_create(_metadata, &self->p, &client);
	ioc_err_post(EINVAL, client.conn, &recv, 1);
	EXPECT_ERRNO(EINVAL, _ioc_post_flags(client.conn, &recv, 1, RPMA_POST_F_WAIT));
	EXPECT_EQ(0, ioc_conn_query(self->p.fd, .conn_fd = client.conn).out_posted);
	side_close(&client);
}

/* However many descriptors name it: RECVs must leave the sends their places. */
TEST_F(qp, one_queue_under_two_descriptors_is_one_queue)
{
	struct rpma_ioc_conn_create cmd = { .peer = self->p.peer, .timeout_ms = WAIT_MS };
	int alias = dup(self->c->cq);

	ASSERT_LE(0, alias);
	addr_set(cmd.addr, self->p.opts.addr, self->p.port);
	cmd.queues = side_queues(self->c, &self->p.opts);
	cmd.queues.sq_size = 64;
	cmd.queues.rq_size = 1;
	EXPECT_ERRNO(ENOSPC, _ioc_conn_create(self->p.fd, &cmd));
	cmd.queues.recv_cq_fd = self->c->cq;
	EXPECT_ERRNO(ENOSPC, _ioc_conn_create(self->p.fd, &cmd));
	cmd.queues.recv_cq_fd = alias;
	EXPECT_ERRNO(ENOSPC, _ioc_conn_create(self->p.fd, &cmd));
	cmd.queues.sq_size = 63;
	ASSERT_EQ(0, _ioc_conn_create(self->p.fd, &cmd));
	close(cmd.out_fd);
	close(alias);
}

TEST_F_TIMEOUT(qp, waiting_post_needs_no_help, WAIT_SECONDS)
{
	for (int i = 0; i < 500; i++) {
		struct rpma_request r = req_flush(i, 0, &self->s->mem, 0, 8);

		ASSERT_EQ(1, _ioc_post_flags(self->c->conn, &r, 1, RPMA_POST_F_WAIT))
			TH_LOG("%d: %s", i, strerror(errno));
	}
	ioc_conn_disconnect(self->p.fd, .conn_fd = self->c->conn, .linger_ms = WAIT_MS);
	EXPECT_EQ(500, ioc_conn_query(self->p.fd, .conn_fd = self->c->conn).out_completed);
	expect_no_completion(self->c->cq);
}

TEST_F_TIMEOUT(qp, waiting_post_does_not_wait_for_the_reader, WAIT_SECONDS)
{
	struct rpma_request r = req_flush(1, SIGNALED, &self->s->mem, 0, 8);
	struct rpma_request recv = req_recv(1, &self->c->mem, 0, 64);
	int n = 0;

	while (_ioc_post_flags(self->c->conn, &r, 1, RPMA_POST_F_WAIT) == 1)
		ASSERT_GT(1000, ++n);
	EXPECT_EQ(EAGAIN, errno);
	for (; n; n--)
		expect_completion(self->c->cq, 1, RPMA_OP_FLUSH, 0);
	n = 0;
	while (_ioc_post_flags(self->c->conn, &recv, 1, RPMA_POST_F_WAIT) == 1)
		ASSERT_GT(1000, ++n);
	EXPECT_EQ(EAGAIN, errno);
}

/* ---- what the requests do ---- */

static void fill(struct region *r, __u8 first)
{
	for (__u64 i = 0; i < r->length; i++)
		r->addr[i] = first + i * 7 + (i >> 8);
}

TEST_F_TIMEOUT(qp, write_moves_these_bytes_and_no_others, WAIT_SECONDS)
{
	const __u64 lens[] = { 0, 1, 7, 8, 9, 1023, 1024, 1025, 4095, 4096, 4097, 60000 };

	for (size_t i = 0; i < sizeof(lens) / sizeof(lens[0]); i++) {
		struct rpma_request r[2] = {
			req_write(1, 0, &self->c->mem, 33, &self->s->mem, 101, lens[i]),
			req_flush(2, SIGNALED, &self->s->mem, 101, lens[i]),
		};

		fill(&self->c->mem, i);
		memset(self->s->mem.addr, 0xee, self->s->mem.length);
		ioc_post(self->c->conn, r, 2);
		expect_completion(self->c->cq, 2, RPMA_OP_FLUSH, 0);
		ASSERT_EQ(0, memcmp(self->c->mem.addr + 33, self->s->mem.addr + 101, lens[i]));
		ASSERT_EQ(0xee, self->s->mem.addr[100]);
		ASSERT_EQ(0xee, self->s->mem.addr[101 + lens[i]]);
	}
}

TEST_F_TIMEOUT(qp, read_moves_these_bytes_and_no_others, WAIT_SECONDS)
{
	struct rpma_request r = req_read(1, SIGNALED, &self->c->mem, 17, &self->s->mem, 5, 5000);

	fill(&self->s->mem, 3);
	memset(self->c->mem.addr, 0xee, self->c->mem.length);
	ioc_post(self->c->conn, &r, 1);
	EXPECT_EQ(5000, expect_completion(self->c->cq, 1, RPMA_OP_READ, 0).len);
	EXPECT_EQ(0, memcmp(self->c->mem.addr + 17, self->s->mem.addr + 5, 5000));
	EXPECT_EQ(0xee, self->c->mem.addr[16]);
	EXPECT_EQ(0xee, self->c->mem.addr[17 + 5000]);
}

/* The other side may be waiting for us before it posts a RECV. */
TEST_F_TIMEOUT(qp, room_behind_a_message_without_recv_is_not_waited_for, WAIT_SECONDS)
{
	struct rpma_request send = req_send(1, 0, &self->c->mem, 0, 8);
	struct rpma_request recv = req_recv(2, &self->s->mem, 0, 8);
	int n = post_until_full(self->c->conn, &send, 1000);

	EXPECT_ERRNO(EAGAIN, _ioc_post_flags(self->c->conn, &send, 1, RPMA_POST_F_WAIT));
	for (int i = 0; i < n; i++) {
		ioc_post(self->s->conn, &recv, 1);
		expect_completion(self->s->cq, 2, RPMA_OP_RECV, RPMA_STATUS_SUCCESS);
	}
	expect_usable(_metadata, &self->p);
}

/* Nor where the oldest request has been carried out, but only the next tells. */
TEST_F_TIMEOUT(qp, nor_is_it_behind_an_unsignaled_write_before_it, WAIT_SECONDS)
{
	struct rpma_request write = req_write(1, 0, &self->c->mem, 0, &self->s->mem, 0, 8);
	struct rpma_request send = req_send(1, 0, &self->c->mem, 0, 8);
	long long begin = now_ms();

	ioc_post(self->c->conn, &write, 1);
	post_until_full(self->c->conn, &send, 1000);
	EXPECT_ERRNO(EAGAIN, _ioc_post_flags(self->c->conn, &send, 1, RPMA_POST_F_WAIT));
	/* Not because the connection was given up. */
	EXPECT_GT(15000, now_ms() - begin);
	EXPECT_EQ(RPMA_CONN_STATE_ESTABLISHED,
		  ioc_conn_query(self->p.fd, .conn_fd = self->c->conn).out_state);
}

TEST_F_TIMEOUT(qp, write_with_immediate_consumes_a_recv, WAIT_SECONDS)
{
	struct rpma_request recv = req_recv(1, &self->s->mem, 0, 0);
	struct rpma_request w = req_write(2, SIGNALED, &self->c->mem, 0, &self->s->mem, 512, 64);
	struct rpma_completion c;

	recv.mr = 0;
	w.op = RPMA_OP_WRITE_WITH_IMM;
	w.imm_data = htonl(0x12345678);
	fill(&self->c->mem, 9);
	ioc_post(self->s->conn, &recv, 1);
	ioc_post(self->c->conn, &w, 1);
	expect_completion(self->c->cq, 2, RPMA_OP_WRITE_WITH_IMM, 0);
	c = expect_completion(self->s->cq, 1, RPMA_OP_RECV, 0);
	EXPECT_EQ(RPMA_COMPLETION_F_IMM | RPMA_COMPLETION_F_RDMA, c.flags);
	EXPECT_EQ(htonl(0x12345678), c.imm_data);
	EXPECT_EQ(0, memcmp(self->c->mem.addr, self->s->mem.addr + 512, 64));
}

TEST_F_TIMEOUT(qp, messages_arrive_whole_and_in_order, WAIT_SECONDS)
{
	const __u64 lens[] = { 0, 1, 64, 1000, 4096 };

	fill(&self->c->mem, 77);
	for (int i = 0; i < 5; i++) {
		struct rpma_request recv = req_recv(i, &self->s->mem, i * 8192, 4096);

		ioc_post(self->s->conn, &recv, 1);
	}
	for (int i = 0; i < 5; i++) {
		struct rpma_request send = req_send(i, SIGNALED, &self->c->mem, i, lens[i]);

		if (!lens[i])
			send.mr = 0;
		if (i & 1) {
			send.op = RPMA_OP_SEND_WITH_IMM;
			send.imm_data = htonl(1000 + i);
		}
		ioc_post(self->c->conn, &send, 1);
	}
	for (int i = 0; i < 5; i++) {
		struct rpma_completion c = expect_completion(self->s->cq, i, RPMA_OP_RECV, 0);

		ASSERT_EQ(lens[i], c.len);
		ASSERT_EQ(i & 1 ? RPMA_COMPLETION_F_IMM : 0, c.flags);
		ASSERT_EQ(i & 1 ? htonl(1000 + i) : 0, c.imm_data);
		ASSERT_EQ(0, memcmp(self->c->mem.addr + i, self->s->mem.addr + i * 8192,
				    lens[i]));
		expect_completion(self->c->cq, i, i & 1 ? RPMA_OP_SEND_WITH_IMM : RPMA_OP_SEND, 0);
	}
}

TEST_F_TIMEOUT(qp, message_too_long_for_its_recv_fails_both_sides, WAIT_SECONDS)
{
	struct rpma_request recv = req_recv(1, &self->s->mem, 0, 16);
	struct rpma_request send = req_send(2, SIGNALED, &self->c->mem, 0, 17);
	struct rpma_completion c;

	ioc_post(self->s->conn, &recv, 1);
	ioc_post(self->c->conn, &send, 1);
	/* Which errors they are differs between adapters. */
	c = reap(_metadata, self->s->cq);
	EXPECT_EQ(1, c.context);
	EXPECT_NE(RPMA_STATUS_SUCCESS, c.status);
	c = reap(_metadata, self->c->cq);
	EXPECT_EQ(2, c.context);
	EXPECT_NE(RPMA_STATUS_SUCCESS, c.status);
}

static struct rpma_request atomic_write(FIXTURE_DATA(qp) *self, __u64 offset, __u64 value)
{
	return (struct rpma_request){
		.op = RPMA_OP_ATOMIC_WRITE,
		.context = 3,
		.flags = SIGNALED,
		.len = 8,
		.remote = remote_of(&self->s->mem),
		.remote_offset = offset,
		.value = value,
	};
}

TEST_F_TIMEOUT(qp, atomic_write_writes_its_eight_bytes, WAIT_SECONDS)
{
	struct rpma_request r = atomic_write(self, 16, 0x1122334455667788ULL);
	__u64 *to = (__u64 *)self->s->mem.addr;

	memset(to, 0, 64);
	ioc_post(self->c->conn, &r, 1);
	expect_completion(self->c->cq, 3, RPMA_OP_ATOMIC_WRITE, 0);
	r = req_flush(4, SIGNALED, &self->s->mem, 16, 8);
	ioc_post(self->c->conn, &r, 1);
	expect_completion(self->c->cq, 4, RPMA_OP_FLUSH, 0);
	EXPECT_EQ(0, to[1]);
	EXPECT_EQ(0x1122334455667788ULL, to[2]);
	EXPECT_EQ(0, to[3]);
}

TEST_F(qp, atomic_write_is_aligned_and_eight_bytes_long)
{
	struct rpma_request r;

	for (int offset = 1; offset < 8; offset++)
		refused(EINVAL, atomic_write(self, offset, 1));
	refused(EINVAL, atomic_write(self, self->s->mem.length, 1));
	r = atomic_write(self, 0, 1), r.len = 7;
	refused(EINVAL, r);
	r = atomic_write(self, 0, 1), r.len = 0;
	refused(EINVAL, r);
	expect_usable(_metadata, &self->p);
}

TEST_HARNESS_MAIN
