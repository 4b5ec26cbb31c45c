// SPDX-License-Identifier: GPL-2.0
/* Endpoints: listening, the backlog, taking incoming connections. */
#include "rpma_pair.h"

FIXTURE(ep) {
	struct pair p;
};

FIXTURE_SETUP(ep)
{
	SKIP_WITHOUT_RPMA();
	pair_prepare(_metadata, &self->p, (struct pair_opts){});
}

FIXTURE_TEARDOWN(ep)
{
	pair_close(&self->p);
}

static int listen_at(struct pair *p, const char *addr, __u16 port, __u32 backlog)
{
	struct rpma_ioc_ep_listen cmd = { .peer = p->peer, .backlog = backlog };
	int ret;

	addr_set(cmd.addr, addr, port);
	ret = _ioc_ep_listen(p->fd, &cmd);
	return ret ? ret : cmd.out_fd;
}

static int take(struct pair *p, struct rpma_conn_queues queues)
{
	struct rpma_ioc_ep_take cmd = { .ep_fd = p->ep, .queues = queues };
	int ret = _ioc_ep_take(p->fd, &cmd);

	return ret ? ret : cmd.out_fd;
}

/* A client whose request has arrived at the endpoint. */
static void knock(struct __test_metadata *_metadata, struct pair *p)
{
	client_create(_metadata, p, &p->client);
	ioc_conn_connect(p->fd, .conn_fd = p->client.conn);
	ASSERT_NE(0, POLLIN & poll_for(p->ep, POLLIN, WAIT_MS));
}

TEST_F(ep, port_in_use_is_eaddrinuse)
{
	EXPECT_ERRNO(EADDRINUSE, listen_at(&self->p, test_addr4(), self->p.port, 0));
	close(self->p.ep);
	self->p.ep = listen_at(&self->p, test_addr4(), self->p.port, 0);
	EXPECT_LE(0, self->p.ep);
}

TEST_F(ep, address_of_others_is_eaddrnotavail)
{
	EXPECT_ERRNO(EADDRNOTAVAIL, listen_at(&self->p, "203.0.113.77", 0, 0));
}

TEST_F(ep, other_families_are_eafnosupport)
{
	struct rpma_ioc_ep_listen cmd = { .peer = self->p.peer };
	struct sockaddr sa = { .sa_family = AF_UNIX };

	EXPECT_ERRNO(EAFNOSUPPORT, _ioc_ep_listen(self->p.fd, &cmd));
	memcpy(cmd.addr, &sa, sizeof(sa));
	EXPECT_ERRNO(EAFNOSUPPORT, _ioc_ep_listen(self->p.fd, &cmd));
}

TEST_F(ep, wildcard_addresses_listen)
{
	int v4 = listen_at(&self->p, "0.0.0.0", 0, 1);
	int v6 = listen_at(&self->p, "::", 0, 1);

	EXPECT_LE(0, v4);
	EXPECT_LE(0, v6);
	close(v4);
	close(v6);
}

TEST_F(ep, nothing_waiting_is_eagain)
{
	EXPECT_ERRNO(EAGAIN, take(&self->p, side_queues(&self->p.server, &self->p.opts)));
	EXPECT_EQ(0, poll_for(self->p.ep, POLLIN, 0));
}

TEST_F(ep, descriptor_of_another_kind_is_ebadf)
{
	struct rpma_conn_queues q = side_queues(&self->p.server, &self->p.opts);
	int other = rpma_open(_metadata);

	ioc_err_ep_take(EBADF, self->p.fd, .ep_fd = -1, .queues = q);
	ioc_err_ep_take(EBADF, self->p.fd, .ep_fd = self->p.fd, .queues = q);
	ioc_err_ep_take(EBADF, self->p.fd, .ep_fd = self->p.server.cq, .queues = q);
	ioc_err_ep_take(EBADF, other, .ep_fd = self->p.ep, .queues = q);
	close(other);
}

TEST_F(ep, failed_take_leaves_the_connection_waiting)
{
	struct rpma_conn_queues good = side_queues(&self->p.server, &self->p.opts), q;
	__u32 most = ioc_query(self->p.fd).out_max_queue_size;

	knock(_metadata, &self->p);
	q = good, q.sq_size = 0;
	EXPECT_ERRNO(EINVAL, take(&self->p, q));
	q = good, q.sq_size = most + 1;
	EXPECT_ERRNO(EINVAL, take(&self->p, q));
	q = good, q.rq_size = most + 1;
	EXPECT_ERRNO(EINVAL, take(&self->p, q));
	q = good, q.peer_timeout_ms = 99;
	EXPECT_ERRNO(EINVAL, take(&self->p, q));
	q = good, q.send_cq_fd = -1;
	EXPECT_ERRNO(EBADF, take(&self->p, q));
	q = good, q.send_cq_fd = self->p.ep;
	EXPECT_ERRNO(EBADF, take(&self->p, q));
	q = good, q.recv_cq_fd = -2;
	EXPECT_ERRNO(EBADF, take(&self->p, q));
	q = good, q.srq = 0xbad;
	EXPECT_ERRNO(EINVAL, take(&self->p, q));
	q = good, q.srq = 0xbad, q.rq_size = 0;
	EXPECT_ERRNO(ENOENT, take(&self->p, q));
	q = good, q.sq_size = 1024;
	EXPECT_ERRNO(ENOSPC, take(&self->p, q));

	EXPECT_NE(0, POLLIN & poll_for(self->p.ep, POLLIN, 0));
	self->p.server.conn = take(&self->p, good);
	ASSERT_LE(0, self->p.server.conn);
	EXPECT_EQ(0, poll_for(self->p.ep, POLLIN, 0));
	ioc_conn_accept(self->p.fd, .conn_fd = self->p.server.conn);
	expect_event(self->p.client.conn, RPMA_EVENT_ESTABLISHED);
}

TEST_F(ep, recv_of_a_rejected_connection_is_aborted)
{
	struct pair *p = &self->p;
	struct rpma_request recv = req_recv(1, &p->server.mem, 0, 64);

	knock(_metadata, p);
	server_take(_metadata, p, &p->server);
	ioc_post(p->server.conn, &recv, 1);
	ioc_err_destroy(EBUSY, p->fd, .id = p->server.mem.mr);
	ioc_conn_reject(p->fd, .conn_fd = p->server.conn);
	expect_completion(p->server.cq, 1, RPMA_OP_RECV, RPMA_STATUS_ABORTED);
	expect_no_completion(p->server.cq);
	EXPECT_EQ(RPMA_CONN_STATE_ENDED,
		  ioc_conn_query(p->fd, .conn_fd = p->server.conn).out_state);
	ioc_destroy(p->fd, .id = p->server.mem.mr);
	expect_event(p->client.conn, RPMA_EVENT_REJECTED);
}

TEST_F(ep, close_rejects_those_who_wait)
{
	knock(_metadata, &self->p);
	close(self->p.ep);
	expect_event(self->p.client.conn, RPMA_EVENT_REJECTED);
	self->p.ep = listen_at(&self->p, test_addr4(), 0, 0);
}

/* Requests that are on their way together may arrive in either order. */
TEST_F_TIMEOUT(ep, full_backlog_rejects, WAIT_SECONDS)
{
	struct side clients[3];
	struct pollfd last[2];
	int refused;

	close(self->p.ep);
	self->p.ep = listen_at(&self->p, test_addr4(), 0, 2);
	ASSERT_LE(0, self->p.ep);
	close(self->p.ep);
	self->p.ep = listen_at(&self->p, test_addr4(), self->p.port, 2);
	ASSERT_LE(0, self->p.ep);
	set_nonblock(self->p.ep);
	for (int i = 0; i < 3; i++) {
		clients[i] = side_new(_metadata, &self->p);
		client_create(_metadata, &self->p, &clients[i]);
		ioc_conn_connect(self->p.fd, .conn_fd = clients[i].conn);
		if (i == 0) {
			ASSERT_NE(0, POLLIN & poll_for(self->p.ep, POLLIN, WAIT_MS));
		} else {
			last[i - 1] = (struct pollfd){ .fd = clients[i].conn, .events = POLLIN };
		}
	}
	ASSERT_EQ(1, poll(last, 2, WAIT_MS));
	refused = last[1].revents ? 2 : 1;
	expect_event(clients[refused].conn, RPMA_EVENT_REJECTED);
	for (int i = 0; i < 3; i++) {
		if (i == refused)
			continue;
		server_take(_metadata, &self->p, &self->p.server);
		ioc_conn_accept(self->p.fd, .conn_fd = self->p.server.conn);
		expect_event(clients[i].conn, RPMA_EVENT_ESTABLISHED);
		close(self->p.server.conn);
	}
	for (int i = 0; i < 3; i++)
		side_close(&clients[i]);
	self->p.server.conn = -1;
}

TEST_F(ep, blocking_take_waits)
{
	struct side client = self->p.client;

	fcntl(self->p.ep, F_SETFL, 0);
	client_create(_metadata, &self->p, &client);
	ioc_conn_connect(self->p.fd, .conn_fd = client.conn);
	self->p.server.conn = take(&self->p, side_queues(&self->p.server, &self->p.opts));
	ASSERT_LE(0, self->p.server.conn);
	close(client.conn);
}

static void on_alarm(int sig)
{
	(void)sig;
}

TEST_F(ep, signal_ends_a_blocking_take)
{
	struct sigaction sa = { .sa_handler = on_alarm };

	fcntl(self->p.ep, F_SETFL, 0);
	sigaction(SIGUSR1, &sa, NULL);
	for (int i = 0; i < 2; i++) {
		pid_t pid = fork();

		ASSERT_LE(0, pid);
		if (!pid) {
			usleep(300000);
			kill(getppid(), SIGUSR1);
			_exit(0);
		}
		EXPECT_ERRNO(EINTR, take(&self->p, side_queues(&self->p.server,
							       &self->p.opts)));
	}
}

TEST_F(ep, connections_outlive_their_endpoint)
{
	sides_connect(_metadata, &self->p, &self->p.client, &self->p.server);
	close(self->p.ep);
	expect_usable(_metadata, &self->p);
	self->p.ep = listen_at(&self->p, test_addr4(), 0, 0);
}

TEST_F(ep, several_endpoints_keep_apart)
{
	int first = self->p.ep;
	__u16 port = self->p.port;

	self->p.ep = ep_new(_metadata, self->p.fd, self->p.peer, test_addr4(), &self->p.port);
	ASSERT_NE(port, self->p.port);
	knock(_metadata, &self->p);
	EXPECT_EQ(0, poll_for(first, POLLIN, 0));
	close(first);
}

/* Nothing can be made of a request whose client is gone; others wait behind it. */
TEST_F_TIMEOUT(ep, client_that_gave_up_is_passed_over, WAIT_SECONDS)
{
	struct pair *p = &self->p;

	client_create(_metadata, p, &p->client);
	ioc_conn_connect(p->fd, .conn_fd = p->client.conn);
	ASSERT_NE(0, POLLIN & poll_for(p->ep, POLLIN, WAIT_MS));
	close(p->client.conn);
	usleep(1000000);
	EXPECT_ERRNO(EAGAIN, take(p, side_queues(&p->server, &p->opts)));
	EXPECT_EQ(0, POLLIN & poll_for(p->ep, POLLIN, 0));
	sides_connect(_metadata, p, &p->client, &p->server);
	expect_usable(_metadata, p);
}

TEST_HARNESS_MAIN
