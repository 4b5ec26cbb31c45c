// SPDX-License-Identifier: GPL-2.0
/* The handshake: connect, accept, reject, nobody there, private data. */
#include "rpma_pair.h"

/* Reasons of IBA that a REJECTED event carries. */
#define REASON_NO_LISTENER 8
#define REASON_CONSUMER 28

FIXTURE(cm) {
	struct pair p;
	int client;
};

FIXTURE_VARIANT(cm) {
	bool ipv6;
};

FIXTURE_VARIANT_ADD(cm, ipv4) { .ipv6 = false };
FIXTURE_VARIANT_ADD(cm, ipv6) { .ipv6 = true };

FIXTURE_SETUP(cm)
{
	SKIP_WITHOUT_RPMA();
	pair_prepare(_metadata, &self->p, (struct pair_opts){
		.addr = variant->ipv6 ? test_addr6() : test_addr4() });
	client_create(_metadata, &self->p, &self->p.client);
	self->client = self->p.client.conn;
}

FIXTURE_TEARDOWN(cm)
{
	pair_close(&self->p);
}

static __u32 state(struct __test_metadata *_metadata, struct pair *p, int conn)
{
	return ioc_conn_query(p->fd, .conn_fd = conn).out_state;
}

TEST_F_TIMEOUT(cm, states_follow_the_handshake, WAIT_SECONDS)
{
	struct pair *p = &self->p;

	EXPECT_EQ(RPMA_CONN_STATE_NEW, state(_metadata, p, self->client));
	ioc_conn_connect(p->fd, .conn_fd = self->client);
	EXPECT_EQ(RPMA_CONN_STATE_CONNECTING, state(_metadata, p, self->client));
	server_take(_metadata, p, &p->server);
	EXPECT_EQ(RPMA_CONN_STATE_NEW, state(_metadata, p, p->server.conn));
	ioc_conn_accept(p->fd, .conn_fd = p->server.conn);
	expect_event(self->client, RPMA_EVENT_ESTABLISHED);
	expect_event(p->server.conn, RPMA_EVENT_ESTABLISHED);
	EXPECT_EQ(RPMA_CONN_STATE_ESTABLISHED, state(_metadata, p, self->client));
	EXPECT_EQ(RPMA_CONN_STATE_ESTABLISHED, state(_metadata, p, p->server.conn));
	expect_usable(_metadata, p);
}

TEST_F_TIMEOUT(cm, read_depth_is_agreed_on, WAIT_SECONDS)
{
	struct pair *p = &self->p;

	EXPECT_EQ(0, ioc_conn_query(p->fd, .conn_fd = self->client).out_read_depth);
	ioc_conn_connect(p->fd, .conn_fd = self->client);
	server_take(_metadata, p, &p->server);
	ioc_conn_accept(p->fd, .conn_fd = p->server.conn);
	expect_event(self->client, RPMA_EVENT_ESTABLISHED);
	expect_event(p->server.conn, RPMA_EVENT_ESTABLISHED);
	EXPECT_LE(1, ioc_conn_query(p->fd, .conn_fd = self->client).out_read_depth);
	EXPECT_LE(1, ioc_conn_query(p->fd, .conn_fd = p->server.conn).out_read_depth);
}

TEST_F_TIMEOUT(cm, either_side_disconnects, WAIT_SECONDS)
{
	struct pair *p = &self->p;

	close(self->client);
	for (int i = 0; i < 2; i++) {
		sides_connect(_metadata, p, &p->client, &p->server);
		ioc_conn_disconnect(p->fd, .conn_fd = i ? p->server.conn : p->client.conn);
		expect_event(p->client.conn, RPMA_EVENT_CLOSED);
		expect_event(p->server.conn, RPMA_EVENT_CLOSED);
		expect_no_more_events(p->client.conn);
		expect_no_more_events(p->server.conn);
		EXPECT_EQ(RPMA_CONN_STATE_ENDED, state(_metadata, p, p->client.conn));
		EXPECT_EQ(RPMA_CONN_STATE_ENDED, state(_metadata, p, p->server.conn));
		/* A second disconnect, and the other side's, are no error. */
		ioc_conn_disconnect(p->fd, .conn_fd = p->client.conn);
		ioc_conn_disconnect(p->fd, .conn_fd = p->server.conn);
		close(p->client.conn);
		close(p->server.conn);
	}
	p->client.conn = p->server.conn = -1;
}

TEST_F_TIMEOUT(cm, server_rejects, WAIT_SECONDS)
{
	struct rpma_ioc_conn_handshake no = { .private_data_len = 5, .private_data = "never" };
	struct pair *p = &self->p;
	struct rpma_ioc_conn_query q;
	struct rpma_event event;

	ioc_conn_connect(p->fd, .conn_fd = self->client);
	server_take(_metadata, p, &p->server);
	no.conn_fd = p->server.conn;
	ASSERT_EQ(0, _ioc_conn_reject(p->fd, &no));
	event = next_event(_metadata, self->client);
	EXPECT_EQ(RPMA_EVENT_REJECTED, event.type);
	EXPECT_EQ(REASON_CONSUMER, event.status);
	expect_no_more_events(self->client);
	q = ioc_conn_query(p->fd, .conn_fd = self->client);
	EXPECT_EQ(RPMA_CONN_STATE_ENDED, q.out_state);
	ASSERT_LE(5, q.out_private_data_len);
	EXPECT_EQ(0, memcmp(q.out_private_data, "never", 5));
	ioc_err_conn_accept(ENOTCONN, p->fd, .conn_fd = p->server.conn);
	ioc_err_conn_reject(ENOTCONN, p->fd, .conn_fd = p->server.conn);
	ioc_err_conn_connect(ENOTCONN, p->fd, .conn_fd = self->client);
}

TEST_F_TIMEOUT(cm, close_of_an_incoming_connection_rejects, WAIT_SECONDS)
{
	struct pair *p = &self->p;

	ioc_conn_connect(p->fd, .conn_fd = self->client);
	server_take(_metadata, p, &p->server);
	close(p->server.conn);
	p->server.conn = -1;
	expect_event(self->client, RPMA_EVENT_REJECTED);
}

TEST_F_TIMEOUT(cm, nobody_listens_is_rejected, WAIT_SECONDS)
{
	struct pair *p = &self->p;
	struct rpma_event event;

	close(p->ep);
	ioc_conn_connect(p->fd, .conn_fd = self->client);
	event = next_event(_metadata, self->client);
	EXPECT_EQ(RPMA_EVENT_REJECTED, event.type);
	EXPECT_EQ(REASON_NO_LISTENER, event.status);
	expect_no_more_events(self->client);
	p->ep = open("/dev/null", O_RDONLY);
}

TEST_F_TIMEOUT(cm, private_data_goes_both_ways, WAIT_SECONDS)
{
	struct rpma_ioc_conn_handshake ask = { .private_data_len = RPMA_PRIVATE_DATA_REQUEST_MAX };
	struct rpma_ioc_conn_handshake reply = { .private_data_len = RPMA_PRIVATE_DATA_REPLY_MAX };
	struct pair *p = &self->p;
	struct rpma_ioc_conn_query q;

	for (int i = 0; i < RPMA_PRIVATE_DATA_MAX; i++)
		ask.private_data[i] = reply.private_data[RPMA_PRIVATE_DATA_MAX - 1 - i] = i + 1;
	ask.conn_fd = self->client;
	ASSERT_EQ(0, _ioc_conn_connect(p->fd, &ask));
	server_take(_metadata, p, &p->server);
	q = ioc_conn_query(p->fd, .conn_fd = p->server.conn);
	ASSERT_EQ(RPMA_PRIVATE_DATA_REQUEST_MAX, q.out_private_data_len);
	EXPECT_EQ(0, memcmp(ask.private_data, q.out_private_data, RPMA_PRIVATE_DATA_REQUEST_MAX));

	reply.conn_fd = p->server.conn;
	ASSERT_EQ(0, _ioc_conn_accept(p->fd, &reply));
	expect_event(self->client, RPMA_EVENT_ESTABLISHED);
	q = ioc_conn_query(p->fd, .conn_fd = self->client);
	ASSERT_EQ(RPMA_PRIVATE_DATA_REPLY_MAX, q.out_private_data_len);
	EXPECT_EQ(0, memcmp(reply.private_data, q.out_private_data, RPMA_PRIVATE_DATA_REPLY_MAX));
}

TEST_F_TIMEOUT(cm, short_private_data_is_padded_with_zeros_only, WAIT_SECONDS)
{
	struct rpma_ioc_conn_handshake ask = { .private_data_len = 3, .private_data = "abcdef" };
	struct pair *p = &self->p;
	struct rpma_ioc_conn_query q;

	ask.conn_fd = self->client;
	ASSERT_EQ(0, _ioc_conn_connect(p->fd, &ask));
	server_take(_metadata, p, &p->server);
	q = ioc_conn_query(p->fd, .conn_fd = p->server.conn);
	ASSERT_LE(3, q.out_private_data_len);
	EXPECT_EQ(0, memcmp("abc", q.out_private_data, 3));
	for (int i = 3; i < RPMA_PRIVATE_DATA_MAX; i++)
		ASSERT_EQ(0, q.out_private_data[i]);
}

TEST_F(cm, private_data_too_long_is_einval)
{
	struct pair *p = &self->p;

	ioc_err_conn_connect(EINVAL, p->fd, .conn_fd = self->client,
			     .private_data_len = RPMA_PRIVATE_DATA_REQUEST_MAX + 1);
	ioc_err_conn_connect(EINVAL, p->fd, .conn_fd = self->client, .private_data_len = ~0u);
	ioc_conn_connect(p->fd, .conn_fd = self->client);
	server_take(_metadata, p, &p->server);
	ioc_err_conn_accept(EINVAL, p->fd, .conn_fd = p->server.conn,
			    .private_data_len = RPMA_PRIVATE_DATA_REPLY_MAX + 1);
	ioc_err_conn_reject(EINVAL, p->fd, .conn_fd = p->server.conn,
			    .private_data_len = RPMA_PRIVATE_DATA_REPLY_MAX + 1);
	ioc_conn_accept(p->fd, .conn_fd = p->server.conn);
	expect_event(self->client, RPMA_EVENT_ESTABLISHED);
}

TEST_F(cm, each_side_has_its_own_verbs)
{
	struct pair *p = &self->p;

	ioc_err_conn_accept(ENOTCONN, p->fd, .conn_fd = self->client);
	ioc_err_conn_reject(ENOTCONN, p->fd, .conn_fd = self->client);
	ioc_err_conn_disconnect(ENOTCONN, p->fd, .conn_fd = self->client);
	ioc_conn_connect(p->fd, .conn_fd = self->client);
	ioc_err_conn_connect(ENOTCONN, p->fd, .conn_fd = self->client);
	server_take(_metadata, p, &p->server);
	ioc_err_conn_connect(ENOTCONN, p->fd, .conn_fd = p->server.conn);
	ioc_err_conn_disconnect(ENOTCONN, p->fd, .conn_fd = p->server.conn);
	ioc_conn_accept(p->fd, .conn_fd = p->server.conn);
	ioc_err_conn_accept(ENOTCONN, p->fd, .conn_fd = p->server.conn);
}

TEST_F(cm, descriptor_of_another_kind_is_ebadf)
{
	int fds[] = { -1, self->p.fd, self->p.ep, self->p.client.cq, 0 };

	for (int i = 0; i < 5; i++) {
		ioc_err_conn_connect(EBADF, self->p.fd, .conn_fd = fds[i]);
		ioc_err_conn_accept(EBADF, self->p.fd, .conn_fd = fds[i]);
		ioc_err_conn_reject(EBADF, self->p.fd, .conn_fd = fds[i]);
		ioc_err_conn_disconnect(EBADF, self->p.fd, .conn_fd = fds[i]);
		ioc_err_conn_query(EBADF, self->p.fd, .conn_fd = fds[i]);
		ioc_err_conn_modify(EBADF, self->p.fd, .conn_fd = fds[i]);
	}
}

TEST_F(cm, creation_checks_its_fields)
{
	struct rpma_ioc_conn_create cmd = { .peer = self->p.peer, .timeout_ms = 2000 };

	cmd.queues = side_queues(&self->p.client, &self->p.opts);
	EXPECT_ERRNO(EAFNOSUPPORT, _ioc_conn_create(self->p.fd, &cmd));
	addr_set(cmd.addr, "198.51.100.1", 7000);
	EXPECT_ERRNO(ENETUNREACH, _ioc_conn_create(self->p.fd, &cmd));
	addr_set(cmd.addr, self->p.opts.addr, 7000);
	cmd.queues.srq = 0xbad;
	EXPECT_ERRNO(EINVAL, _ioc_conn_create(self->p.fd, &cmd));
	cmd.queues.rq_size = 0;
	EXPECT_ERRNO(ENOENT, _ioc_conn_create(self->p.fd, &cmd));
}

TEST_F(cm, handshake_without_an_answer_can_be_closed)
{
	ioc_conn_connect(self->p.fd, .conn_fd = self->client);
	close(self->client);
	self->p.client.conn = -1;
}

TEST_F_TIMEOUT(cm, server_waits_longer_than_the_client_lives, WAIT_SECONDS)
{
	struct pair *p = &self->p;

	ioc_conn_connect(p->fd, .conn_fd = self->client);
	server_take(_metadata, p, &p->server);
	close(self->client);
	p->client.conn = -1;
	/* Accepting may be refused or end in an event; either way it ends. */
	if (_ioc_conn_accept(p->fd, &(struct rpma_ioc_conn_handshake){
				.conn_fd = p->server.conn }) == 0)
		EXPECT_NE(RPMA_EVENT_ESTABLISHED, next_event(_metadata, p->server.conn).type);
	close(p->server.conn);
	p->server.conn = -1;
	client_create(_metadata, p, &p->client);
}

/* ---- nobody there ---- */

FIXTURE(silence) {
	struct pair p;
};

FIXTURE_SETUP(silence)
{
	SKIP_WITHOUT_RPMA();
	pair_prepare(_metadata, &self->p, (struct pair_opts){});
}

FIXTURE_TEARDOWN(silence)
{
	pair_close(&self->p);
}

/* Takes as long as the adapter's handshake retries: a minute or so. */
TEST_F_TIMEOUT(silence, is_unreachable, 3 * WAIT_SECONDS)
{
	const char *dead[] = { test_env("RPMA_TEST_DEAD4", "10.7.7.222"),
			       test_env("RPMA_TEST_DEAD6", "fd07::dead") };
	struct side side[2];

	for (int i = 0; i < 2; i++) {
		side[i] = side_new(_metadata, &self->p);
		self->p.opts.addr = dead[i];
		client_create(_metadata, &self->p, &side[i]);
		ioc_conn_connect(self->p.fd, .conn_fd = side[i].conn);
	}
	for (int i = 0; i < 2; i++) {
		ASSERT_NE(0, poll_for(side[i].conn, POLLIN, 2 * WAIT_SECONDS * 1000));
		expect_event(side[i].conn, RPMA_EVENT_UNREACHABLE);
		expect_no_more_events(side[i].conn);
		EXPECT_EQ(RPMA_CONN_STATE_ENDED, state(_metadata, &self->p, side[i].conn));
		side_close(&side[i]);
	}
}

TEST_HARNESS_MAIN
