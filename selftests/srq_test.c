// SPDX-License-Identifier: GPL-2.0
/* Shared receive queues: RECVs for whichever connection a message comes by. */
#include <pthread.h>

#include "rpma_pair.h"

#define ENTRIES 8
#define SLOT 64
#define CLIENTS 3

/* Several clients, and one process that serves them all with one queue. */
FIXTURE(srq) {
	struct pair p;
	__u32 srq;
	int rcq;			/* one for all servers, or -1 */
	struct side c[CLIENTS];
	struct side s[CLIENTS];
};

/* Does every connection of the server report its RECVs in the same queue? */
FIXTURE_VARIANT(srq) {
	bool one_queue;
};

FIXTURE_VARIANT_ADD(srq, one_queue_for_all) {
	.one_queue = true,
};

FIXTURE_VARIANT_ADD(srq, a_queue_for_each) {
	.one_queue = false,
};

static struct side server_side(struct __test_metadata *_metadata, struct pair *p, int rcq,
			       __u32 srq)
{
	struct side side = side_new(_metadata, p);

	if (rcq >= 0)
		side.rcq = dup(rcq);
	side.srq = srq;
	return side;
}

FIXTURE_SETUP(srq)
{
	struct pair *p = &self->p;

	SKIP_WITHOUT_RPMA();
	pair_prepare(_metadata, p, (struct pair_opts){ .cq_entries = 32 });
	self->srq = ioc_srq_create(p->fd, .peer = p->peer, .entries = ENTRIES).out_srq;
	self->rcq = -1;
	if (variant->one_queue)
		self->rcq = cq_new(_metadata, p->fd, p->peer, ENTRIES);
	for (int i = 0; i < CLIENTS; i++) {
		self->c[i] = side_new(_metadata, p);
		self->s[i] = server_side(_metadata, p, self->rcq, self->srq);
		sides_connect(_metadata, p, &self->c[i], &self->s[i]);
	}
}

FIXTURE_TEARDOWN(srq)
{
	for (int i = 0; i < CLIENTS; i++) {
		side_close(&self->c[i]);
		side_close(&self->s[i]);
	}
	if (self->rcq >= 0)
		close(self->rcq);
	pair_close(&self->p);
}

static int recv_cq(const struct side *side)
{
	return side->rcq >= 0 ? side->rcq : side->cq;
}

/* RECV number @n, into its own place of the server's memory. */
static struct rpma_request recv_at(const struct pair *p, __u64 n)
{
	return req_recv(n, &p->server.mem, n * SLOT, SLOT);
}

/* Client @side says @text; a success on the server's side is waited for by others. */
static void say(struct __test_metadata *_metadata, struct side *side, __u8 text)
{
	struct rpma_request send = req_send(0x5e, SIGNALED, &side->mem, 0, SLOT);

	memset(side->mem.addr, text, SLOT);
	ioc_post(side->conn, &send, 1);
	expect_completion(side->cq, 0x5e, RPMA_OP_SEND, RPMA_STATUS_SUCCESS);
}

static __u32 qp_num(struct __test_metadata *_metadata, const struct pair *p,
		    const struct side *side)
{
	return ioc_conn_query(p->fd, .conn_fd = side->conn).out_qp_num;
}

TEST_F_TIMEOUT(srq, message_takes_the_oldest_recv_and_names_its_connection, WAIT_SECONDS)
{
	struct pair *p = &self->p;
	struct rpma_completion c;

	for (__u64 n = 0; n < 2 * CLIENTS; n++) {
		struct rpma_request recv = recv_at(p, n);

		ioc_srq_post(p->fd, self->srq, &recv, 1);
	}
	for (__u64 n = 0; n < 2 * CLIENTS; n++) {
		int who = (n * 2) % CLIENTS;

		say(_metadata, &self->c[who], 0x10 + n);
		c = expect_completion(recv_cq(&self->s[who]), n, RPMA_OP_RECV,
				      RPMA_STATUS_SUCCESS);
		EXPECT_EQ(qp_num(_metadata, p, &self->s[who]), c.qp_num);
		EXPECT_EQ(SLOT, c.len);
		EXPECT_EQ(0x10 + n, p->server.mem.addr[n * SLOT]);
		EXPECT_EQ(0x10 + n, p->server.mem.addr[n * SLOT + SLOT - 1]);
	}
}

TEST_F_TIMEOUT(srq, immediate_data_arrive, WAIT_SECONDS)
{
	struct pair *p = &self->p;
	struct rpma_request recv = recv_at(p, 1);
	struct rpma_request write = req_write(2, SIGNALED, &self->c[1].mem, 0, &p->server.mem,
					      4096, 8);
	struct rpma_completion c;

	write.op = RPMA_OP_WRITE_WITH_IMM;
	write.imm_data = 0x01020304;
	ioc_srq_post(p->fd, self->srq, &recv, 1);
	ioc_post(self->c[1].conn, &write, 1);
	c = expect_completion(recv_cq(&self->s[1]), 1, RPMA_OP_RECV, RPMA_STATUS_SUCCESS);
	EXPECT_EQ(RPMA_COMPLETION_F_IMM | RPMA_COMPLETION_F_RDMA, c.flags);
	EXPECT_EQ(0x01020304, c.imm_data);
	expect_completion(self->c[1].cq, 2, RPMA_OP_WRITE_WITH_IMM, RPMA_STATUS_SUCCESS);
}

TEST_F_TIMEOUT(srq, full_is_eagain_until_a_message_came, WAIT_SECONDS)
{
	struct pair *p = &self->p;
	struct rpma_request recv[2 * ENTRIES];

	for (__u64 n = 0; n < 2 * ENTRIES; n++)
		recv[n] = recv_at(p, n);
	/* A short count: the next one would give an errno. */
	ASSERT_EQ(ENTRIES, _ioc_srq_post(p->fd, self->srq, recv, 2 * ENTRIES));
	ioc_err_srq_post(EAGAIN, p->fd, self->srq, recv, 1);
	say(_metadata, &self->c[0], 1);
	expect_completion(recv_cq(&self->s[0]), 0, RPMA_OP_RECV, RPMA_STATUS_SUCCESS);
	ioc_srq_post(p->fd, self->srq, &recv[ENTRIES], 1);
	ioc_err_srq_post(EAGAIN, p->fd, self->srq, recv, 1);
}

/* Nobody reads completions while several times more messages come than fit. */
TEST_F_TIMEOUT(srq, messages_beyond_the_completion_queue_are_not_lost, 2 * WAIT_SECONDS)
{
	struct pair *p = &self->p;
	struct side *c = &self->c[0], *s = &self->s[0];
	__u64 posted = 0, sent = 0, reaped = 0;
	int stuck = 0;

	while (stuck < 3) {
		struct rpma_request recv = recv_at(p, posted % 512);
		int ret;

		recv.context = posted;
		ret = _ioc_srq_post(p->fd, self->srq, &recv, 1);
		if (ret == 1) {
			posted++, stuck = 0;
			say(_metadata, c, sent++);
			/* Fetches, and so gives slots back, but reads nothing. */
			_ioc_cq_poll(recv_cq(s));
			continue;
		}
		ASSERT_EQ(EAGAIN, errno);
		stuck++;
		_ioc_cq_poll(recv_cq(s));
	}
	/* Every place, and then every RECV. */
	ASSERT_LE(2 * ENTRIES, posted);
	ioc_err_destroy(EBUSY, p->fd, .id = self->srq);
	for (; reaped < posted; reaped++)
		expect_completion(recv_cq(s), reaped, RPMA_OP_RECV, RPMA_STATUS_SUCCESS);
	expect_no_completion(recv_cq(s));
	/* And on it goes. */
	for (__u64 n = 0; n < 2 * ENTRIES; n++) {
		struct rpma_request recv = recv_at(p, n);

		ioc_srq_post(p->fd, self->srq, &recv, 1);
		say(_metadata, c, n);
		expect_completion(recv_cq(s), n, RPMA_OP_RECV, RPMA_STATUS_SUCCESS);
	}
}

TEST_F_TIMEOUT(srq, one_connection_ends_the_others_go_on, WAIT_SECONDS)
{
	struct pair *p = &self->p;

	for (__u64 n = 0; n < 4; n++) {
		struct rpma_request recv = recv_at(p, n);

		ioc_srq_post(p->fd, self->srq, &recv, 1);
	}
	say(_metadata, &self->c[0], 1);
	close(self->s[0].conn);
	self->s[0].conn = -1;
	expect_event(self->c[0].conn, RPMA_EVENT_CLOSED);
	/* What had come is there, what had not is for the others. */
	expect_completion(recv_cq(&self->s[0]), 0, RPMA_OP_RECV, RPMA_STATUS_SUCCESS);
	say(_metadata, &self->c[1], 2);
	expect_completion(recv_cq(&self->s[1]), 1, RPMA_OP_RECV, RPMA_STATUS_SUCCESS);
	ioc_conn_disconnect(p->fd, .conn_fd = self->s[1].conn);
	expect_no_completion(recv_cq(&self->s[1]));
	say(_metadata, &self->c[2], 3);
	expect_completion(recv_cq(&self->s[2]), 2, RPMA_OP_RECV, RPMA_STATUS_SUCCESS);
}

TEST_F_TIMEOUT(srq, message_too_long_fails_its_connection_only, WAIT_SECONDS)
{
	struct pair *p = &self->p;
	struct rpma_request recv[2] = { recv_at(p, 0), recv_at(p, 1) };
	struct rpma_request send = req_send(9, SIGNALED, &self->c[0].mem, 0, SLOT + 1);
	struct rpma_completion c;

	ioc_srq_post(p->fd, self->srq, recv, 2);
	ioc_post(self->c[0].conn, &send, 1);
	/* Which errors they are differs between adapters. */
	c = reap(_metadata, recv_cq(&self->s[0]));
	EXPECT_EQ(0, c.context);
	EXPECT_NE(RPMA_STATUS_SUCCESS, c.status);
	EXPECT_NE(RPMA_STATUS_SUCCESS, reap(_metadata, self->c[0].cq).status);
	say(_metadata, &self->c[1], 7);
	expect_completion(recv_cq(&self->s[1]), 1, RPMA_OP_RECV, RPMA_STATUS_SUCCESS);
}

TEST_F(srq, connection_has_no_receive_queue_of_its_own)
{
	struct rpma_request recv = recv_at(&self->p, 0);
	struct side side = server_side(_metadata, &self->p, -1, self->srq);
	struct rpma_ioc_conn_create cmd = { .peer = self->p.peer };

	ioc_err_post(EINVAL, self->s[0].conn, &recv, 1);
	cmd.queues = side_queues(&side, &self->p.opts);
	cmd.queues.rq_size = 1;
	addr_set(cmd.addr, test_addr4(), self->p.port);
	EXPECT_ERRNO(EINVAL, _ioc_conn_create(self->p.fd, &cmd));
	side_close(&side);
}

TEST_F(srq, destroy_is_refused_while_connections_use_it)
{
	struct pair *p = &self->p;
	struct rpma_request recv = recv_at(p, 0);

	ioc_srq_post(p->fd, self->srq, &recv, 1);
	ioc_err_destroy(EBUSY, p->fd, .id = self->srq);
	ioc_err_destroy(EOPNOTSUPP, p->fd, .id = self->srq, .flags = RPMA_DESTROY_F_FORCE);
	ioc_err_destroy(EBUSY, p->fd, .id = p->server.mem.mr);
	for (int i = 0; i < CLIENTS; i++) {
		close(self->s[i].conn);
		self->s[i].conn = -1;
	}
	/* The RECV that no message took keeps its region busy until then. */
	ioc_err_destroy(EBUSY, p->fd, .id = p->server.mem.mr);
	ioc_destroy(p->fd, .id = self->srq);
	ioc_destroy(p->fd, .id = p->server.mem.mr);
	ioc_err_destroy(ENOENT, p->fd, .id = self->srq);
	ioc_err_srq_post(ENOENT, p->fd, self->srq, &recv, 1);
}

TEST_F(srq, create_and_post_check_their_fields)
{
	struct pair *p = &self->p;
	__u32 most = ioc_query(p->fd).out_max_queue_size;
	struct rpma_request r = recv_at(p, 0);

	ioc_err_srq_create(EINVAL, p->fd, .peer = p->peer);
	ioc_err_srq_create(EINVAL, p->fd, .peer = p->peer, .entries = most + 1);
	ioc_err_srq_create(ENOENT, p->fd, .peer = 0xbad, .entries = 1);
	ioc_err_srq_create(ENOENT, p->fd, .peer = self->srq, .entries = 1);
	ioc_err_srq_post(EINVAL, p->fd, self->srq, &r, 0);
	ioc_err_srq_post(EFAULT, p->fd, self->srq, NULL, 1);
	ioc_err_srq_post(ENOENT, p->fd, p->peer, &r, 1);
	r = req_send(1, 0, &p->server.mem, 0, 8);
	ioc_err_srq_post(EINVAL, p->fd, self->srq, &r, 1);
	r = recv_at(p, 0), r.len = p->server.mem.length + 1;
	ioc_err_srq_post(EINVAL, p->fd, self->srq, &r, 1);
	r = recv_at(p, 0), r.mr = 0xbad;
	ioc_err_srq_post(ENOENT, p->fd, self->srq, &r, 1);
	/* None of these kept a slot. */
	r = recv_at(p, 0);
	for (int n = 0; n < ENTRIES; n++)
		ioc_srq_post(p->fd, self->srq, &r, 1);
	ioc_err_srq_post(EAGAIN, p->fd, self->srq, &r, 1);
}

TEST_F(srq, queues_that_do_not_fit_are_refused)
{
	struct pair *p = &self->p;
	struct side side = server_side(_metadata, p, -1, self->srq);
	__u32 other = ioc_peer_create(p->fd, .device = _resolve(p->fd, test_addr4())).out_peer;
	__u32 theirs = ioc_srq_create(p->fd, .peer = other, .entries = ENTRIES).out_srq;
	struct rpma_ioc_conn_create cmd = { .peer = p->peer };
	int small = cq_new(_metadata, p->fd, p->peer, ENTRIES / 2);

	addr_set(cmd.addr, test_addr4(), p->port);
	cmd.queues = side_queues(&side, &p->opts);
	cmd.queues.srq = 0xbad;
	EXPECT_ERRNO(ENOENT, _ioc_conn_create(p->fd, &cmd));
	cmd.queues.srq = theirs;
	EXPECT_ERRNO(EXDEV, _ioc_conn_create(p->fd, &cmd));
	/* 32 entries hold 16 sends and 8 RECVs, not 28 sends besides. */
	cmd.queues.srq = self->srq;
	cmd.queues.sq_size = 28;
	EXPECT_ERRNO(ENOSPC, _ioc_conn_create(p->fd, &cmd));
	cmd.queues.sq_size = 16;
	cmd.queues.recv_cq_fd = small;
	EXPECT_ERRNO(ENOSPC, _ioc_conn_create(p->fd, &cmd));
	cmd.queues.recv_cq_fd = -1;
	ASSERT_EQ(0, _ioc_conn_create(p->fd, &cmd));
	close(cmd.out_fd);
	close(small);
	side_close(&side);
}

/* Places kept for shared RECVs are not there for requests of the connection. */
TEST_F_TIMEOUT(srq, sends_leave_the_places_of_recvs_alone, WAIT_SECONDS)
{
	struct pair *p = &self->p;
	struct rpma_request flush = req_flush(1, SIGNALED, &self->c[0].mem, 0, 8);
	int n = 0;

	/* Waits until only reading makes room. */
	while (_ioc_post_flags(self->s[0].conn, &flush, 1, RPMA_POST_F_WAIT) == 1)
		n++;
	EXPECT_EQ(EAGAIN, errno);
	/* The completion queue has 32; the 8 may be kept in another one. */
	EXPECT_EQ(variant->one_queue ? 32 : 24, n);
	for (int i = 0; i < n; i++)
		expect_completion(self->s[0].cq, 1, RPMA_OP_FLUSH, RPMA_STATUS_SUCCESS);
}

static pid_t crowd(struct __test_metadata *_metadata, const struct side *side, int messages)
{
	pid_t pid = fork();
	int n;

	ASSERT_LE(0, pid);
	if (pid)
		return pid;
	for (n = 0; n < messages; n++) {
		struct rpma_request send = req_send(n, SIGNALED, &side->mem, 0, SLOT);
		struct rpma_completion c;

		if (_ioc_post(side->conn, &send, 1) != 1 ||
		    !reap_within(side->cq, &c, WAIT_MS) || c.status || c.context != (__u64)n)
			_exit(1);
	}
	_exit(0);
}

TEST_F_TIMEOUT(srq, crowds_are_served_each_message_once, 2 * WAIT_SECONDS)
{
	enum { EACH = 100 };
	struct pair *p = &self->p;
	int left[CLIENTS], status;
	pid_t pids[CLIENTS];

	for (int n = 0; n < ENTRIES; n++) {
		struct rpma_request recv = recv_at(p, n);

		ioc_srq_post(p->fd, self->srq, &recv, 1);
	}
	for (int i = 0; i < CLIENTS; i++) {
		left[i] = EACH;
		pids[i] = crowd(_metadata, &self->c[i], EACH);
	}
	for (int n = 0; n < CLIENTS * EACH; n++) {
		struct rpma_completion c = {};
		struct rpma_request recv;
		int i, got = 0;

		for (i = 0; !got; i = (i + 1) % CLIENTS)
			got = reap_within(recv_cq(&self->s[i]), &c, 1);
		ASSERT_EQ(RPMA_STATUS_SUCCESS, c.status);
		for (i = 0; i < CLIENTS; i++)
			if (qp_num(_metadata, p, &self->s[i]) == c.qp_num)
				left[i]--;
		recv = recv_at(p, c.context);
		ioc_srq_post(p->fd, self->srq, &recv, 1);
	}
	for (int i = 0; i < CLIENTS; i++) {
		EXPECT_EQ(0, left[i]);
		ASSERT_EQ(pids[i], waitpid(pids[i], &status, 0));
		EXPECT_EQ(0, status);
	}
}

static void *close_it(void *arg)
{
	close(*(int *)arg);
	return NULL;
}

/* The memory of a queue pair that goes may be the next one's at once. */
TEST_F_TIMEOUT(srq, connections_that_come_while_others_go_keep_their_names, 2 * WAIT_SECONDS)
{
	struct pair *p = &self->p;

	for (int round = 0; round < 40; round++) {
		struct side goes = server_side(_metadata, p, self->rcq, self->srq);
		struct side comes = server_side(_metadata, p, self->rcq, self->srq);
		struct side of_goes = side_new(_metadata, p), of_comes = side_new(_metadata, p);
		struct rpma_request recv = recv_at(p, round);
		struct rpma_completion c;
		pthread_t thread;

		sides_connect(_metadata, p, &of_goes, &goes);
		client_create(_metadata, p, &of_comes);
		ioc_conn_connect(p->fd, .conn_fd = of_comes.conn);
		ASSERT_NE(0, POLLIN & poll_for(p->ep, POLLIN, WAIT_MS));
		ASSERT_EQ(0, pthread_create(&thread, NULL, close_it, &goes.conn));
		server_take(_metadata, p, &comes);
		ASSERT_EQ(0, pthread_join(thread, NULL));
		goes.conn = -1;
		ioc_conn_accept(p->fd, .conn_fd = comes.conn);
		expect_event(of_comes.conn, RPMA_EVENT_ESTABLISHED);
		expect_event(comes.conn, RPMA_EVENT_ESTABLISHED);

		ioc_srq_post(p->fd, self->srq, &recv, 1);
		say(_metadata, &of_comes, round);
		c = expect_completion(recv_cq(&comes), round, RPMA_OP_RECV, RPMA_STATUS_SUCCESS);
		ASSERT_EQ(qp_num(_metadata, p, &comes), c.qp_num);
		side_close(&goes);
		side_close(&comes);
		side_close(&of_goes);
		side_close(&of_comes);
	}
}

TEST_F(srq, everything_may_be_closed_before_it)
{
	struct pair *p = &self->p;
	struct rpma_request recv = recv_at(p, 0);
	int fd = rpma_open(_metadata);
	__u32 peer = peer_new(_metadata, fd);
	struct region mem = region_new(_metadata, fd, peer, 4096, RPMA_ACCESS_RECV);
	__u32 srq = ioc_srq_create(fd, .peer = peer, .entries = 4).out_srq;

	/* With RECVs posted: their regions and the peer go with it. */
	recv.mr = mem.mr;
	ioc_srq_post(fd, srq, &recv, 1);
	ioc_err_srq_post(ENOENT, fd, self->srq + 100, &recv, 1);
	close(fd);
	munmap(mem.addr, mem.length);
}

TEST_HARNESS_MAIN
