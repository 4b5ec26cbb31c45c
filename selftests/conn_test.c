// SPDX-License-Identifier: GPL-2.0
/* Connections: events, poll, and every way to die with requests in flight. */
#include <signal.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "rpma_pair.h"

#define DEEP 64

FIXTURE(conn) {
	struct pair p;
	struct side *c;
	struct side *s;
};

FIXTURE_SETUP(conn)
{
	SKIP_WITHOUT_RPMA();
	pair_open(_metadata, &self->p, (struct pair_opts){ .sq_size = DEEP, .length = 1 << 20 });
	self->c = &self->p.client;
	self->s = &self->p.server;
}

FIXTURE_TEARDOWN(conn)
{
	pair_close(&self->p);
}

static __u32 state(struct __test_metadata *_metadata, struct pair *p, int conn)
{
	return ioc_conn_query(p->fd, .conn_fd = conn).out_state;
}

/* Big writes that keep the wire busy, with flushes behind them: DEEP in all. */
static void post_load(struct __test_metadata *_metadata, struct pair *p)
{
	for (int i = 0; i < DEEP; i += 2) {
		struct rpma_request r[2] = {
			req_write(i, SIGNALED, &p->client.mem, 0, &p->server.mem, 0, 1 << 20),
			req_flush(i + 1, SIGNALED, &p->server.mem, 0, 1 << 20),
		};

		ioc_post(p->client.conn, r, 2);
	}
}

/* All of post_load() come back, each once, in order; once bad, always bad. */
static int expect_load_completes(struct __test_metadata *_metadata, struct pair *p)
{
	int failed = 0;

	for (int i = 0; i < DEEP; i++) {
		struct rpma_completion c = reap(_metadata, p->client.cq);

		ASSERT_EQ(i, c.context);
		ASSERT_EQ(i & 1 ? RPMA_OP_FLUSH : RPMA_OP_WRITE, c.op);
		ASSERT_TRUE(!failed || c.status == RPMA_STATUS_ABORTED);
		if (c.status) {
			ASSERT_EQ(0, c.len);
			failed++;
		}
	}
	expect_no_completion(p->client.cq);
	return failed;
}

TEST_F_TIMEOUT(conn, events_come_once_and_in_order, WAIT_SECONDS)
{
	struct rpma_event event;

	set_nonblock(self->c->conn);
	EXPECT_ERRNO(EAGAIN, read(self->c->conn, &event, sizeof(event)));
	EXPECT_EQ(0, POLLIN & poll_for(self->c->conn, POLLIN, 0));
	ioc_conn_disconnect(self->p.fd, .conn_fd = self->s->conn);
	event = next_event(_metadata, self->c->conn);
	EXPECT_EQ(RPMA_EVENT_CLOSED, event.type);
	EXPECT_EQ(0, event.status);
	EXPECT_EQ(0, event.__reserved[0] | event.__reserved[1]);
	for (int i = 0; i < 3; i++)
		expect_no_more_events(self->c->conn);
	expect_event(self->s->conn, RPMA_EVENT_CLOSED);
	expect_no_more_events(self->s->conn);
}

TEST_F_TIMEOUT(conn, events_are_read_whole, WAIT_SECONDS)
{
	__u8 *gone = map_pages(_metadata, 4096);
	struct rpma_event event;

	ASSERT_EQ(0, munmap(gone, 4096));
	ioc_conn_disconnect(self->p.fd, .conn_fd = self->c->conn);
	ASSERT_NE(0, poll_for(self->c->conn, POLLIN, WAIT_MS));
	EXPECT_ERRNO(EINVAL, read(self->c->conn, &event, sizeof(event) - 1));
	EXPECT_ERRNO(EFAULT, read(self->c->conn, gone, sizeof(event)));
	expect_event(self->c->conn, RPMA_EVENT_CLOSED);
}

TEST_F_TIMEOUT(conn, pollout_while_a_request_fits, WAIT_SECONDS)
{
	struct rpma_request r = req_flush(1, SIGNALED, &self->s->mem, 0, 8);
	int n;

	EXPECT_EQ(POLLOUT, poll_for(self->c->conn, POLLIN | POLLOUT, 0));
	/* Nothing is read, so the completion queue fills up. */
	do {
		n = post_until_full(self->c->conn, &r, 10000);
		_ioc_cq_poll(self->c->cq);
	} while (n);
	while (ioc_conn_query(self->p.fd, .conn_fd = self->c->conn).out_posted !=
	       ioc_conn_query(self->p.fd, .conn_fd = self->c->conn).out_completed)
		_ioc_cq_poll(self->c->cq);
	while (_ioc_post(self->c->conn, &r, 1) == 1)
		_ioc_cq_poll(self->c->cq);
	EXPECT_EQ(0, poll_for(self->c->conn, POLLOUT, 0));
	reap(_metadata, self->c->cq);
	EXPECT_EQ(POLLOUT, poll_for(self->c->conn, POLLOUT, WAIT_MS));
}

/* epoll registers once: it must hear of room though it first asked for events only. */
TEST_F_TIMEOUT(conn, epoll_changed_to_epollout_reports_room, WAIT_SECONDS)
{
	struct rpma_request send = req_send(1, SIGNALED, &self->c->mem, 0, 64);
	struct epoll_event event = { .events = EPOLLIN };
	int ep = epoll_create1(EPOLL_CLOEXEC), conn = self->c->conn;

	ASSERT_LE(0, ep);
	ASSERT_EQ(0, epoll_ctl(ep, EPOLL_CTL_ADD, conn, &event));
	/* Nobody receives: they stay in flight. */
	ASSERT_EQ(DEEP, post_until_full(conn, &send, 2 * DEEP));
	event.events = EPOLLIN | EPOLLOUT;
	ASSERT_EQ(0, epoll_ctl(ep, EPOLL_CTL_MOD, conn, &event));
	EXPECT_EQ(0, epoll_wait(ep, &event, 1, 200));
	for (__u32 i = 0; i < self->p.opts.rq_size; i++) {
		struct rpma_request recv = req_recv(i, &self->s->mem, 0, 64);

		ioc_post(self->s->conn, &recv, 1);
	}
	ASSERT_EQ(1, epoll_wait(ep, &event, 1, WAIT_MS));
	EXPECT_EQ(EPOLLOUT, event.events);
	ioc_post(conn, &send, 1);
	close(ep);
}

TEST_F_TIMEOUT(conn, query_counts, WAIT_SECONDS)
{
	struct rpma_ioc_conn_query q;

	for (int i = 0; i < 10; i++)
		expect_usable(_metadata, &self->p);
	q = ioc_conn_query(self->p.fd, .conn_fd = self->c->conn);
	EXPECT_EQ(20, q.out_posted);
	EXPECT_EQ(20, q.out_completed);
	EXPECT_EQ(10, q.out_flushes);
	EXPECT_EQ(test_method(), q.out_flush_method);
	EXPECT_NE(0, q.out_qp_num);
	EXPECT_NE(q.out_qp_num, ioc_conn_query(self->p.fd, .conn_fd = self->s->conn).out_qp_num);
}

TEST_F_TIMEOUT(conn, completion_names_its_queue_pair, WAIT_SECONDS)
{
	struct rpma_request r = req_flush(1, SIGNALED, &self->s->mem, 0, 8);

	ioc_post(self->c->conn, &r, 1);
	EXPECT_EQ(ioc_conn_query(self->p.fd, .conn_fd = self->c->conn).out_qp_num,
		  expect_completion(self->c->cq, 1, RPMA_OP_FLUSH, 0).qp_num);
}

TEST_F_TIMEOUT(conn, modify_checks_its_fields, WAIT_SECONDS)
{
	int fd = self->p.fd, conn = self->c->conn;

	ioc_err_conn_modify(EINVAL, fd, .conn_fd = conn, .mask = RPMA_CONN_MODIFY_DIRECT_WRITE,
			    .direct_write = 2);
	ioc_err_conn_modify(EINVAL, fd, .conn_fd = conn, .mask = RPMA_CONN_MODIFY_PEER_TIMEOUT,
			    .peer_timeout_ms = 99);
	ioc_conn_modify(fd, .conn_fd = conn, .mask = RPMA_CONN_MODIFY_PEER_TIMEOUT,
			.peer_timeout_ms = 100000);
	ioc_conn_modify(fd, .conn_fd = conn, .mask = RPMA_CONN_MODIFY_PEER_TIMEOUT,
			.peer_timeout_ms = 0xffffffff);
	ioc_conn_modify(fd, .conn_fd = conn, .mask = 0);
	expect_usable(_metadata, &self->p);
}

/* Two of our kind tell each other in the handshake, without private data. */
TEST_F_TIMEOUT(conn, peer_says_that_its_regions_are_readable, WAIT_SECONDS)
{
	EXPECT_EQ(RPMA_CONN_PEER_F_READABLE,
		  ioc_conn_query(self->p.fd, .conn_fd = self->c->conn).out_peer_flags);
	EXPECT_EQ(RPMA_CONN_PEER_F_READABLE,
		  ioc_conn_query(self->p.fd, .conn_fd = self->s->conn).out_peer_flags);
}

TEST_F_TIMEOUT(conn, flush_method_is_one_the_device_has, WAIT_SECONDS)
{
	const __u32 unknown[] = { 3, 32 + RPMA_FLUSH_METHOD_READ, 64, ~0U };
	int fd = self->p.fd, conn = self->c->conn;

	ioc_conn_modify(fd, .conn_fd = conn, .mask = RPMA_CONN_MODIFY_FLUSH_METHOD,
			.flush_method = RPMA_FLUSH_METHOD_READ);
	expect_usable(_metadata, &self->p);
	EXPECT_EQ(RPMA_FLUSH_METHOD_READ, ioc_conn_query(fd, .conn_fd = conn).out_flush_method);
	for (int i = 0; i < 4; i++)
		ioc_err_conn_modify(EOPNOTSUPP, fd, .conn_fd = conn,
				    .mask = RPMA_CONN_MODIFY_FLUSH_METHOD,
				    .flush_method = unknown[i]);
	if (!test_is_native())
		ioc_err_conn_modify(EOPNOTSUPP, fd, .conn_fd = conn,
				    .mask = RPMA_CONN_MODIFY_FLUSH_METHOD,
				    .flush_method = RPMA_FLUSH_METHOD_NATIVE);
	EXPECT_EQ(RPMA_FLUSH_METHOD_READ, ioc_conn_query(fd, .conn_fd = conn).out_flush_method);
	ioc_conn_modify(fd, .conn_fd = conn, .mask = RPMA_CONN_MODIFY_FLUSH_METHOD);
	EXPECT_EQ(test_method(), ioc_conn_query(fd, .conn_fd = conn).out_flush_method);
	expect_usable(_metadata, &self->p);
}

TEST_F_TIMEOUT(conn, new_timeout_holds_for_what_is_in_flight, WAIT_SECONDS)
{
	struct rpma_request send;
	struct rpma_event event;
	struct pair p;

	pair_open(_metadata, &p, (struct pair_opts){ .peer_timeout_ms = 0xffffffff });
	send = req_send(1, SIGNALED, &p.client.mem, 0, 64);
	ioc_post(p.client.conn, &send, 1);
	/* Nobody receives, and nobody minds: longer than it takes to notice. */
	EXPECT_EQ(0, poll_for(p.client.conn, POLLIN, 6000));
	expect_no_completion(p.client.cq);
	ioc_conn_modify(p.fd, .conn_fd = p.client.conn, .mask = RPMA_CONN_MODIFY_PEER_TIMEOUT,
			.peer_timeout_ms = 500);
	event = next_event(_metadata, p.client.conn);
	EXPECT_EQ(RPMA_EVENT_LOST, event.type);
	EXPECT_EQ(-ETIMEDOUT, event.status);
	expect_no_more_events(p.client.conn);
	expect_completion(p.client.cq, 1, RPMA_OP_SEND, RPMA_STATUS_ABORTED);
	expect_no_completion(p.client.cq);
	EXPECT_EQ(RPMA_CONN_STATE_ENDED, state(_metadata, &p, p.client.conn));
	pair_close(&p);
}

/* ---- the end, with requests in flight ---- */

TEST_F_TIMEOUT(conn, disconnect_aborts_what_is_in_flight, WAIT_SECONDS)
{
	struct rpma_request r = req_flush(99, SIGNALED, &self->s->mem, 0, 8);

	post_load(_metadata, &self->p);
	ioc_conn_disconnect(self->p.fd, .conn_fd = self->c->conn);
	EXPECT_LE(1, expect_load_completes(_metadata, &self->p));
	expect_event(self->c->conn, RPMA_EVENT_CLOSED);
	expect_event(self->s->conn, RPMA_EVENT_CLOSED);
	ioc_post(self->c->conn, &r, 1);
	expect_completion(self->c->cq, 99, RPMA_OP_FLUSH, RPMA_STATUS_ABORTED);
	r.flags = 0, r.context = 98;
	ioc_post(self->c->conn, &r, 1);
	expect_completion(self->c->cq, 98, RPMA_OP_FLUSH, RPMA_STATUS_ABORTED);
}

TEST_F_TIMEOUT(conn, lingering_disconnect_finishes_what_was_posted, WAIT_SECONDS)
{
	post_load(_metadata, &self->p);
	memset(self->c->mem.addr, 0x3c, 8);
	ioc_conn_disconnect(self->p.fd, .conn_fd = self->c->conn, .linger_ms = 60000);
	EXPECT_EQ(0, expect_load_completes(_metadata, &self->p));
	EXPECT_EQ(0x3c, self->s->mem.addr[7]);
	expect_event(self->c->conn, RPMA_EVENT_CLOSED);
}

TEST_F(conn, linger_has_a_limit)
{
	ioc_err_conn_disconnect(EINVAL, self->p.fd, .conn_fd = self->c->conn, .linger_ms = 60001);
	expect_usable(_metadata, &self->p);
}

TEST_F_TIMEOUT(conn, disconnect_of_the_other_side_aborts_too, WAIT_SECONDS)
{
	post_load(_metadata, &self->p);
	ioc_conn_disconnect(self->p.fd, .conn_fd = self->s->conn);
	EXPECT_LE(1, expect_load_completes(_metadata, &self->p));
	expect_event(self->c->conn, RPMA_EVENT_CLOSED);
	expect_event(self->s->conn, RPMA_EVENT_CLOSED);
}

/* What the other side received before it hung up was sent successfully. */
TEST_F_TIMEOUT(conn, messages_that_arrived_succeed_whoever_hangs_up, 3 * WAIT_SECONDS)
{
	enum { MESSAGES = 8, ROUNDS = 40 };
	struct pair *p = &self->p;

	for (int round = 0; round < ROUNDS; round++) {
		struct rpma_request recv[MESSAGES], send[MESSAGES];
		struct side client, server;

		pair_add(_metadata, p, &client, &server);
		for (int n = 0; n < MESSAGES; n++) {
			recv[n] = req_recv(n, &client.mem, n * 64, 64);
			send[n] = req_send(n, SIGNALED, &server.mem, n * 64, 64);
		}
		ioc_post(client.conn, recv, MESSAGES);
		ioc_post(server.conn, send, MESSAGES);
		for (int n = 0; n < MESSAGES; n++)
			expect_completion(client.cq, n, RPMA_OP_RECV, RPMA_STATUS_SUCCESS);
		ioc_conn_disconnect(p->fd, .conn_fd = client.conn);
		for (int n = 0; n < MESSAGES; n++)
			expect_completion(server.cq, n, RPMA_OP_SEND, RPMA_STATUS_SUCCESS);
		expect_event(server.conn, RPMA_EVENT_CLOSED);
		expect_event(client.conn, RPMA_EVENT_CLOSED);
		side_close(&client);
		side_close(&server);
	}
}

/*
 * A WRITE that asked for no completion was carried out; then @ends disconnects.
 * It has succeeded, so nothing is said of it, and it lets go of its region.
 */
static void expect_silent_write_stays_silent(struct __test_metadata *_metadata, struct pair *p,
					     const struct side *ends)
{
	struct side *c = &p->client, *s = &p->server;
	struct rpma_request w = req_write(1, 0, &c->mem, 0, &s->mem, 0, 64);
	__u8 *last = s->mem.addr + 63;
	long long end = now_ms() + WAIT_MS;
	struct rpma_ioc_conn_query q;

	memset(c->mem.addr, 0x77, 64);
	ioc_post(c->conn, &w, 1);
	while (__atomic_load_n(last, __ATOMIC_ACQUIRE) != 0x77) {
		ASSERT_GT(end, now_ms());
		usleep(1000);
	}
	/* Meanwhile the other side's answer arrives as well. */
	expect_no_completion(c->cq);
	ioc_conn_disconnect(p->fd, .conn_fd = ends->conn);
	expect_event(c->conn, RPMA_EVENT_CLOSED);
	expect_event(s->conn, RPMA_EVENT_CLOSED);
	for (end = now_ms() + WAIT_MS;; usleep(10000)) {
		ASSERT_EQ(0, _ioc_cq_poll(c->cq));
		q = ioc_conn_query(p->fd, .conn_fd = c->conn);
		if (q.out_completed == q.out_posted)
			break;
		ASSERT_GT(end, now_ms())
			TH_LOG("still in flight");
	}
	EXPECT_EQ(1, q.out_posted);
	expect_no_completion(c->cq);
	ioc_destroy(p->fd, .id = c->mem.mr);
}

TEST_F_TIMEOUT(conn, disconnect_does_not_abort_what_was_carried_out, WAIT_SECONDS)
{
	expect_silent_write_stays_silent(_metadata, &self->p, self->c);
}

TEST_F_TIMEOUT(conn, disconnect_of_the_other_side_does_not_either, WAIT_SECONDS)
{
	expect_silent_write_stays_silent(_metadata, &self->p, self->s);
}

TEST_F_TIMEOUT(conn, close_of_the_other_side_ends_this_one, WAIT_SECONDS)
{
	post_load(_metadata, &self->p);
	close(self->s->conn);
	self->s->conn = -1;
	EXPECT_LE(1, expect_load_completes(_metadata, &self->p));
	expect_event(self->c->conn, RPMA_EVENT_CLOSED);
}

TEST_F_TIMEOUT(conn, recvs_are_aborted_at_the_end, WAIT_SECONDS)
{
	for (int i = 0; i < 8; i++) {
		struct rpma_request r = req_recv(i, &self->s->mem, 0, 64);

		ioc_post(self->s->conn, &r, 1);
	}
	ioc_conn_disconnect(self->p.fd, .conn_fd = self->c->conn);
	for (int i = 0; i < 8; i++)
		expect_completion(self->s->cq, i, RPMA_OP_RECV, RPMA_STATUS_ABORTED);
	expect_no_completion(self->s->cq);
}

/* The queue lives on; what was in flight reports there. */
TEST_F_TIMEOUT(conn, close_with_requests_in_flight_completes_them, WAIT_SECONDS)
{
	post_load(_metadata, &self->p);
	close(self->c->conn);
	self->c->conn = -1;
	expect_load_completes(_metadata, &self->p);
	expect_event(self->s->conn, RPMA_EVENT_CLOSED);
}

/* The file, the queue and the memory go first, the connection last. */
TEST_F_TIMEOUT(conn, everything_may_be_closed_before_it, WAIT_SECONDS)
{
	post_load(_metadata, &self->p);
	close(self->p.fd);
	close(self->c->cq);
	munmap(self->c->mem.addr, self->c->mem.length);
	ASSERT_EQ(0, close(self->c->conn));
	expect_event(self->s->conn, RPMA_EVENT_CLOSED);
	self->p.fd = rpma_open(_metadata);
	self->c->conn = -1;
	self->c->cq = open("/dev/null", O_RDONLY);
}

TEST_F_TIMEOUT(conn, recv_before_established_other_requests_not, WAIT_SECONDS)
{
	struct pair *p = &self->p;
	struct rpma_request recv = req_recv(1, &self->c->mem, 0, 64);
	struct rpma_request send = req_send(2, SIGNALED, &self->s->mem, 0, 64);
	struct rpma_request flush = req_flush(3, SIGNALED, &self->s->mem, 0, 8);
	struct side client = side_new(_metadata, p), server = side_new(_metadata, p);

	client_create(_metadata, p, &client);
	ioc_err_post(ENOTCONN, client.conn, &send, 1);
	ioc_err_post(ENOTCONN, client.conn, &flush, 1);
	ioc_post(client.conn, &recv, 1);
	ioc_conn_connect(p->fd, .conn_fd = client.conn);
	server_take(_metadata, p, &server);
	ioc_err_post(ENOTCONN, server.conn, &send, 1);
	/* What is sent from here on arrives behind the answer. */
	ioc_conn_accept(p->fd, .conn_fd = server.conn);
	ioc_post(server.conn, &send, 1);
	expect_completion(client.cq, 1, RPMA_OP_RECV, 0);
	expect_event(server.conn, RPMA_EVENT_ESTABLISHED);
	side_close(&client);
	side_close(&server);
}

TEST_F_TIMEOUT(conn, recv_of_a_connection_never_established_is_aborted, WAIT_SECONDS)
{
	struct rpma_request recv = req_recv(1, &self->c->mem, 0, 64);
	struct side client = side_new(_metadata, &self->p);

	client_create(_metadata, &self->p, &client);
	ioc_post(client.conn, &recv, 1);
	close(client.conn);
	expect_completion(client.cq, 1, RPMA_OP_RECV, RPMA_STATUS_ABORTED);
	client.conn = -1;
	side_close(&client);
}

/* ---- processes ---- */

TEST_F_TIMEOUT(conn, killed_process_ends_its_connection, WAIT_SECONDS)
{
	int ready[2], status;
	char byte;
	pid_t pid;

	ASSERT_EQ(0, pipe(ready));
	pid = fork();
	ASSERT_LE(0, pid);
	if (pid == 0) {
		/* Its own file and connection; the listener is the parent's. */
		struct pair p = self->p;

		p.fd = rpma_open(_metadata);
		p.peer = peer_new(_metadata, p.fd);
		side_init(_metadata, &p, &p.client);
		client_create(_metadata, &p, &p.client);
		ioc_conn_connect(p.fd, .conn_fd = p.client.conn);
		expect_event(p.client.conn, RPMA_EVENT_ESTABLISHED);
		post_load(_metadata, &p);
		if (write(ready[1], "", 1) != 1)
			_exit(1);
		pause();
	}
	close(self->s->conn);
	server_take(_metadata, &self->p, self->s);
	ioc_conn_accept(self->p.fd, .conn_fd = self->s->conn);
	expect_event(self->s->conn, RPMA_EVENT_ESTABLISHED);
	ASSERT_EQ(1, read(ready[0], &byte, 1));
	ASSERT_EQ(0, kill(pid, SIGKILL));
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	ASSERT_TRUE(WIFSIGNALED(status));
	expect_event(self->s->conn, RPMA_EVENT_CLOSED);
}

static void send_fd(int sock, int fd)
{
	char control[CMSG_SPACE(sizeof(int))] = {}, byte = 0;
	struct iovec iov = { .iov_base = &byte, .iov_len = 1 };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1, .msg_control = control,
			      .msg_controllen = sizeof(control) };
	struct cmsghdr *c = CMSG_FIRSTHDR(&msg);

	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(c), &fd, sizeof(fd));
	sendmsg(sock, &msg, 0);
}

static int recv_fd(int sock)
{
	char control[CMSG_SPACE(sizeof(int))] = {}, byte;
	struct iovec iov = { .iov_base = &byte, .iov_len = 1 };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1, .msg_control = control,
			      .msg_controllen = sizeof(control) };
	int fd = -1;

	if (recvmsg(sock, &msg, 0) == 1 && CMSG_FIRSTHDR(&msg))
		memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&msg)), sizeof(fd));
	return fd;
}

TEST_F_TIMEOUT(conn, whoever_holds_the_descriptor_may_use_it, WAIT_SECONDS)
{
	int socks[2], status;
	pid_t pid;

	ASSERT_EQ(0, socketpair(AF_UNIX, SOCK_STREAM, 0, socks));
	pid = fork();
	ASSERT_LE(0, pid);
	if (pid == 0) {
		struct rpma_request r = req_flush(42, SIGNALED, &self->s->mem, 0, 8);
		int conn;

		/* Nothing but what comes over the socket. */
		pair_close(&self->p);
		conn = recv_fd(socks[1]);
		_exit(conn >= 0 && _ioc_post(conn, &r, 1) == 1 ? 0 : 1);
	}
	send_fd(socks[0], self->c->conn);
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	ASSERT_EQ(0, status);
	expect_completion(self->c->cq, 42, RPMA_OP_FLUSH, 0);
	EXPECT_EQ(RPMA_CONN_STATE_ESTABLISHED, state(_metadata, &self->p, self->c->conn));
}

TEST_F_TIMEOUT(conn, many_come_and_go, 2 * WAIT_SECONDS)
{
	struct side client = side_new(_metadata, &self->p), server = side_new(_metadata, &self->p);

	for (int i = 0; i < 30; i++) {
		sides_connect(_metadata, &self->p, &client, &server);
		if (i % 3 == 0)
			ioc_conn_disconnect(self->p.fd, .conn_fd = client.conn);
		close(i & 1 ? client.conn : server.conn);
		close(i & 1 ? server.conn : client.conn);
	}
	expect_usable(_metadata, &self->p);
}

TEST_HARNESS_MAIN
