// SPDX-License-Identifier: GPL-2.0
/* Completion channels: one descriptor that waits for several queues. */
#include <pthread.h>
#include <sys/epoll.h>

#include "rpma_pair.h"

#define SENDS 0x5e4d
#define RECVS 0x4ec5

/* A pair whose server has a queue for sends and one for RECVs on one channel. */
FIXTURE(channel) {
	struct pair p;
	int fd;		/* the channel */
};

static int cq_on(struct __test_metadata *_metadata, struct pair *p, int channel, __u64 cookie)
{
	int cq = ioc_cq_create(p->fd, .peer = p->peer, .entries = 64,
			       .flags = RPMA_CQ_CREATE_F_CHANNEL, .channel_fd = channel,
			       .cookie = cookie).out_fd;

	ASSERT_LE(0, cq);
	set_nonblock(cq);
	return cq;
}

FIXTURE_SETUP(channel)
{
	struct pair *p = &self->p;

	SKIP_WITHOUT_RPMA();
	pair_prepare(_metadata, p, (struct pair_opts){});
	self->fd = ioc_channel_create(p->fd).out_fd;
	close(p->server.cq);
	p->server.cq = cq_on(_metadata, p, self->fd, SENDS);
	p->server.rcq = cq_on(_metadata, p, self->fd, RECVS);
	sides_connect(_metadata, p, &p->client, &p->server);
	set_nonblock(self->fd);
}

FIXTURE_TEARDOWN(channel)
{
	close(self->fd);
	pair_close(&self->p);
}

static void send_something(struct __test_metadata *_metadata, struct pair *p)
{
	struct rpma_request recv = req_recv(1, &p->server.mem, 0, 8);
	struct rpma_request send = req_send(2, SIGNALED, &p->client.mem, 0, 8);

	ioc_post(p->server.conn, &recv, 1);
	ioc_post(p->client.conn, &send, 1);
	expect_completion(p->client.cq, 2, RPMA_OP_SEND, RPMA_STATUS_SUCCESS);
}

static void flush_something(struct __test_metadata *_metadata, struct pair *p)
{
	struct rpma_request flush = req_flush(3, SIGNALED, &p->client.mem, 0, 8);

	ioc_post(p->server.conn, &flush, 1);
}

static void expect_channel_event(struct __test_metadata *_metadata, int fd, __u64 cookie)
{
	struct rpma_channel_event event = {};

	ASSERT_EQ(POLLIN, poll_for(fd, POLLIN, WAIT_MS));
	ASSERT_EQ((ssize_t)sizeof(event), read(fd, &event, sizeof(event)));
	EXPECT_EQ(cookie, event.cookie);
	EXPECT_EQ(1, event.unread);
	EXPECT_EQ(0, event.__reserved);
}

#define expect_no_channel_event(fd)					\
	({								\
		struct rpma_channel_event __event;			\
		EXPECT_EQ(0, poll_for(fd, POLLIN, 100));		\
		EXPECT_ERRNO(EAGAIN, read(fd, &__event, sizeof(__event))); \
	})

TEST_F_TIMEOUT(channel, names_the_queue_that_has_something, WAIT_SECONDS)
{
	struct pair *p = &self->p;

	expect_no_channel_event(self->fd);
	send_something(_metadata, p);
	expect_channel_event(_metadata, self->fd, RECVS);
	expect_completion(p->server.rcq, 1, RPMA_OP_RECV, RPMA_STATUS_SUCCESS);
	flush_something(_metadata, p);
	expect_channel_event(_metadata, self->fd, SENDS);
	expect_completion(p->server.cq, 3, RPMA_OP_FLUSH, RPMA_STATUS_SUCCESS);
	expect_no_channel_event(self->fd);
}

static __u64 next_cookie(struct __test_metadata *_metadata, int fd)
{
	struct rpma_channel_event event = {};

	ASSERT_EQ(POLLIN, poll_for(fd, POLLIN, WAIT_MS));
	ASSERT_EQ((ssize_t)sizeof(event), read(fd, &event, sizeof(event)));
	return event.cookie;
}

/* Whichever came first: a message was sent before its answer was received. */
TEST_F_TIMEOUT(channel, queue_that_joined_first_comes_first, WAIT_SECONDS)
{
	struct pair *p = &self->p;
	struct rpma_channel_event events[3];

	for (int both_at_once = 0; both_at_once < 2; both_at_once++) {
		send_something(_metadata, p);
		ASSERT_EQ(POLLIN, poll_for(p->server.rcq, POLLIN, WAIT_MS));
		flush_something(_metadata, p);
		ASSERT_EQ(POLLIN, poll_for(p->server.cq, POLLIN, WAIT_MS));
		if (both_at_once) {
			ASSERT_EQ(2 * (ssize_t)sizeof(events[0]),
				  read(self->fd, events, sizeof(events)));
			EXPECT_EQ(SENDS, events[0].cookie);
			EXPECT_EQ(RECVS, events[1].cookie);
		} else {
			EXPECT_EQ(SENDS, next_cookie(_metadata, self->fd));
			/* It is told again as long as its completion is unread. */
			EXPECT_EQ(SENDS, next_cookie(_metadata, self->fd));
		}
		reap(_metadata, p->server.cq);
		if (!both_at_once)
			EXPECT_EQ(RECVS, next_cookie(_metadata, self->fd));
		reap(_metadata, p->server.rcq);
	}
}

TEST_F_TIMEOUT(channel, busy_queue_does_not_starve_the_other, WAIT_SECONDS)
{
	struct pair *p = &self->p;
	int n = 0;

	send_something(_metadata, p);
	ASSERT_EQ(POLLIN, poll_for(p->server.rcq, POLLIN, WAIT_MS));
	do {
		flush_something(_metadata, p);
		ASSERT_EQ(POLLIN, poll_for(p->server.cq, POLLIN, WAIT_MS));
		ASSERT_GT(100, n++);
	} while (next_cookie(_metadata, self->fd) == SENDS && reap(_metadata, p->server.cq).op);
	EXPECT_EQ(17, n);
}

/* As one of verbs would: what came is told, even if it was taken meanwhile. */
TEST_F_TIMEOUT(channel, tells_of_completions_that_others_took, WAIT_SECONDS)
{
	struct rpma_channel_event event = {};

	send_something(_metadata, &self->p);
	expect_completion(self->p.server.rcq, 1, RPMA_OP_RECV, RPMA_STATUS_SUCCESS);
	ASSERT_EQ((ssize_t)sizeof(event), read(self->fd, &event, sizeof(event)));
	EXPECT_EQ(RECVS, event.cookie);
	EXPECT_EQ(0, event.unread);
	expect_no_channel_event(self->fd);
}

TEST_F_TIMEOUT(channel, event_that_cannot_be_delivered_stays, WAIT_SECONDS)
{
	struct rpma_channel_event event;

	send_something(_metadata, &self->p);
	ASSERT_EQ(POLLIN, poll_for(self->fd, POLLIN, WAIT_MS));
	EXPECT_ERRNO(EFAULT, read(self->fd, NULL, sizeof(event)));
	EXPECT_ERRNO(EINVAL, read(self->fd, &event, sizeof(event) - 1));
	expect_channel_event(_metadata, self->fd, RECVS);
}

static void *post_later(void *arg)
{
	struct pair *p = arg;
	struct rpma_request flush = req_flush(3, SIGNALED, &p->client.mem, 0, 8);

	usleep(300000);
	return (void *)(long)_ioc_post(p->server.conn, &flush, 1);
}

/* Variant of how to sleep: read(2), poll(2), epoll(7) made beforehand. */
TEST_F_TIMEOUT(channel, wakes_who_sleeps, WAIT_SECONDS)
{
	struct epoll_event want = { .events = EPOLLIN }, got;
	struct rpma_channel_event event = {};
	int ep = epoll_create1(EPOLL_CLOEXEC);
	pthread_t thread;
	void *posted;

	ASSERT_EQ(0, epoll_ctl(ep, EPOLL_CTL_ADD, self->fd, &want));
	for (int how = 0; how < 3; how++) {
		ASSERT_EQ(0, pthread_create(&thread, NULL, post_later, &self->p));
		if (how == 0)
			ASSERT_EQ(POLLIN, poll_for(self->fd, POLLIN, WAIT_MS));
		if (how == 1)
			ASSERT_EQ(1, epoll_wait(ep, &got, 1, WAIT_MS));
		if (how == 2)
			fcntl(self->fd, F_SETFL, fcntl(self->fd, F_GETFL) & ~O_NONBLOCK);
		ASSERT_EQ((ssize_t)sizeof(event), read(self->fd, &event, sizeof(event)));
		EXPECT_EQ(SENDS, event.cookie);
		ASSERT_EQ(0, pthread_join(thread, &posted));
		ASSERT_EQ(1, (long)posted);
		expect_completion(self->p.server.cq, 3, RPMA_OP_FLUSH, RPMA_STATUS_SUCCESS);
	}
	close(ep);
}

/* Neither a sleeper nor an epoll descriptor has armed a queue that comes later. */
TEST_F_TIMEOUT(channel, queue_that_joins_later_wakes_who_waits, WAIT_SECONDS)
{
	struct epoll_event want = { .events = EPOLLIN }, got;
	int ep = epoll_create1(EPOLL_CLOEXEC);
	int fd = ioc_channel_create(self->p.fd).out_fd;
	struct side client, server;

	ASSERT_EQ(0, epoll_ctl(ep, EPOLL_CTL_ADD, fd, &want));
	ASSERT_EQ(0, epoll_wait(ep, &got, 1, 100));
	client = side_new(_metadata, &self->p);
	server = side_new(_metadata, &self->p);
	close(server.cq);
	server.cq = cq_on(_metadata, &self->p, fd, SENDS);
	sides_connect(_metadata, &self->p, &client, &server);
	ASSERT_EQ(0, epoll_wait(ep, &got, 1, 100));
	/* Nobody fetches for it but who waits here. */
	struct rpma_request recv = req_recv(1, &server.mem, 0, 8);
	struct rpma_request send = req_send(2, 0, &client.mem, 0, 8);

	ioc_post(server.conn, &recv, 1);
	ioc_post(client.conn, &send, 1);
	ASSERT_EQ(1, epoll_wait(ep, &got, 1, WAIT_MS));
	expect_channel_event(_metadata, fd, SENDS);
	close(ep);
	close(fd);
	side_close(&client);
	side_close(&server);
}

TEST_F_TIMEOUT(channel, none_of_many_is_passed_over_for_ever, 2 * WAIT_SECONDS)
{
	enum { QUEUES = 20 };
	int fd = ioc_channel_create(self->p.fd).out_fd;
	struct side client[QUEUES], server[QUEUES];
	int told[QUEUES] = {};

	for (int i = 0; i < QUEUES; i++) {
		struct rpma_request flush = req_flush(i, SIGNALED, &self->p.client.mem, 0, 8);

		client[i] = side_new(_metadata, &self->p);
		server[i] = side_new(_metadata, &self->p);
		close(server[i].cq);
		server[i].cq = cq_on(_metadata, &self->p, fd, i);
		sides_connect(_metadata, &self->p, &client[i], &server[i]);
		ioc_post(server[i].conn, &flush, 1);
		ASSERT_EQ(POLLIN, poll_for(server[i].cq, POLLIN, WAIT_MS));
	}
	/* Nobody fetches anything: all of them have an event all the time. */
	for (int n = 0; n < 20 * QUEUES; n++)
		told[next_cookie(_metadata, fd)]++;
	for (int i = 0; i < QUEUES; i++) {
		EXPECT_LE(10, told[i])
			TH_LOG("queue %d was told %d times", i, told[i]);
		side_close(&client[i]);
		side_close(&server[i]);
	}
	close(fd);
}

/* Somebody else's fetching moves completions where no interrupt tells of them. */
TEST_F_TIMEOUT(channel, wakes_when_others_fetch, WAIT_SECONDS)
{
	struct epoll_event want = { .events = EPOLLIN }, got;
	int ep = epoll_create1(EPOLL_CLOEXEC);

	ASSERT_EQ(0, epoll_ctl(ep, EPOLL_CTL_ADD, self->fd, &want));
	ASSERT_EQ(0, epoll_wait(ep, &got, 1, 0));
	for (int n = 0; n < 10; n++) {
		flush_something(_metadata, &self->p);
		while (_ioc_cq_poll(self->p.server.cq) == 0)
			usleep(1000);
		ASSERT_EQ(1, epoll_wait(ep, &got, 1, WAIT_MS));
		expect_channel_event(_metadata, self->fd, SENDS);
		expect_completion(self->p.server.cq, 3, RPMA_OP_FLUSH, RPMA_STATUS_SUCCESS);
	}
	close(ep);
}

static void no_handler(int signal)
{
}

TEST_F_TIMEOUT(channel, signal_ends_the_wait, WAIT_SECONDS)
{
	struct sigaction action = { .sa_handler = no_handler };
	struct rpma_channel_event event;

	fcntl(self->fd, F_SETFL, fcntl(self->fd, F_GETFL) & ~O_NONBLOCK);
	ASSERT_EQ(0, sigaction(SIGALRM, &action, NULL));
	ualarm(200000, 200000);
	EXPECT_ERRNO(EINTR, read(self->fd, &event, sizeof(event)));
	ualarm(0, 0);
}

TEST_F(channel, queues_join_only_their_own)
{
	struct rpma_ioc_cq_create cmd = { .peer = self->p.peer, .entries = 4,
					  .flags = RPMA_CQ_CREATE_F_CHANNEL };
	int other = rpma_open(_metadata);
	int theirs = ioc_channel_create(other).out_fd;

	cmd.channel_fd = theirs;
	EXPECT_ERRNO(EBADF, _ioc_cq_create(self->p.fd, &cmd));
	cmd.channel_fd = self->p.server.cq;
	EXPECT_ERRNO(EBADF, _ioc_cq_create(self->p.fd, &cmd));
	cmd.channel_fd = -1;
	EXPECT_ERRNO(EBADF, _ioc_cq_create(self->p.fd, &cmd));
	cmd.flags = 0, cmd.channel_fd = 0, cmd.cookie = 1;
	EXPECT_ERRNO(EOPNOTSUPP, _ioc_cq_create(self->p.fd, &cmd));
	/* A channel without queues has no event, and is not gone either. */
	set_nonblock(theirs);
	expect_no_channel_event(theirs);
	close(other);
	close(theirs);
}

TEST_F_TIMEOUT(channel, closed_before_its_queues_or_after, WAIT_SECONDS)
{
	struct pair *p = &self->p;
	int second = dup(self->fd);

	send_something(_metadata, p);
	close(p->server.conn);
	close(p->server.rcq);
	p->server.conn = p->server.rcq = -1;
	expect_no_channel_event(self->fd);
	close(self->fd);
	close(second);
	self->fd = -1;
	EXPECT_ERRNO(EAGAIN, _ioc_cq_wait(p->server.cq));
}

TEST_HARNESS_MAIN
