// SPDX-License-Identifier: GPL-2.0
/*
 * Devices: what can be asked about them, and their removal under load.
 *
 * The link that is taken away is RPMA_TEST_DEV on RPMA_TEST_NETDEV, a dummy
 * netdev; each test gives it back.
 */
#include <linux/userfaultfd.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "rpma_pair.h"
#include "rpma_ring.h"

#define DEEP 64

static const char *test_netdev(void)
{
	return test_env("RPMA_TEST_NETDEV", "dummy0");
}

/* A command that hangs is one that fails. */
__attribute__((format(printf, 1, 2))) static int run(const char *fmt, ...)
{
	char command[512] = "timeout 60 ";
	size_t n = strlen(command);
	va_list args;

	va_start(args, fmt);
	vsnprintf(command + n, sizeof(command) - n, fmt, args);
	va_end(args);
	return system(command);
}

static void link_add(struct __test_metadata *_metadata)
{
	ASSERT_EQ(0, run("rdma link add %s type rxe netdev %s", test_dev(), test_netdev()));
}

static void netdev_add(struct __test_metadata *_metadata)
{
	const char *netdev = test_netdev();

	ASSERT_EQ(0, run("ip link add %s type dummy", netdev));
	ASSERT_EQ(0, run("ip addr add %s/24 dev %s", test_addr4(), netdev));
	ASSERT_EQ(0, run("ip addr add %s/64 dev %s nodad", test_addr6(), netdev));
	ASSERT_EQ(0, run("ip link set %s mtu 4200 up", netdev));
	link_add(_metadata);
}

/* What a test that failed half way did not give back. */
static void link_ensure(struct __test_metadata *_metadata)
{
	if (run("ip link show %s >/dev/null 2>&1", test_netdev())) {
		netdev_add(_metadata);
	} else if (run("rdma link show %s/1 >/dev/null 2>&1", test_dev())) {
		link_add(_metadata);
	}
}

/* ---- questions ---- */

FIXTURE(device) {
	int fd;
	struct rpma_ioc_device_query q;
};

FIXTURE_SETUP(device)
{
	__u32 device;

	SKIP_WITHOUT_RPMA();
	self->fd = rpma_open(_metadata);
	device = _resolve(self->fd, test_addr4());
	ASSERT_NE(0, device);
	do {
		ASSERT_EQ(0, _ioc_device_query(self->fd, &self->q));
		self->q.position++;
	} while (self->q.out_device != device);
}

FIXTURE_TEARDOWN(device)
{
	close(self->fd);
}

TEST_F(device, says_what_it_can)
{
	struct rpma_ioc_device_query *q = &self->q;

	EXPECT_STREQ(test_dev(), (char *)q->out_name);
	EXPECT_EQ(RPMA_DEVICE_F_UP, q->out_flags & RPMA_DEVICE_F_UP);
	EXPECT_EQ(0, q->out_flags & RPMA_DEVICE_F_UNTRIED);
	EXPECT_EQ(1 << RPMA_FLUSH_METHOD_READ | 1 << test_method(), q->out_flush_methods);
	EXPECT_LE(1, q->out_max_sq_size);
	EXPECT_LE(1, q->out_max_rq_size);
	EXPECT_LE(1, q->out_max_cqe);
	EXPECT_LE(1, q->out_max_read_depth);
	EXPECT_LE(1 << 20, q->out_max_msg_size);
	EXPECT_NE(0, q->out_node_guid);
}

TEST_F(device, position_past_the_last_is_enoent)
{
	__u32 n = ioc_query(self->fd).out_nr_devices;

	for (__u32 i = 0; i < n; i++)
		ioc_device_query(self->fd, .position = i);
	ioc_err_device_query(ENOENT, self->fd, .position = n);
	ioc_err_device_query(ENOENT, self->fd, .position = ~0u);
}

static void *query_in_thread(void *cmd)
{
	int fd = open(RPMA_DEVICE, O_RDWR | O_CLOEXEC);
	long ret = fd < 0 ? -1 : ioctl(fd, RPMA_IOC_DEVICE_QUERY, cmd);

	close(fd);
	return (void *)ret;
}

/* A page whose write faults wait in the returned descriptor; -1: not here. */
static int page_guard(struct __test_metadata *_metadata, void *page)
{
	struct uffdio_api api = { .api = UFFD_API,
				  .features = UFFD_FEATURE_PAGEFAULT_FLAG_WP };
	struct uffdio_register reg = { .range = { (uintptr_t)page, 4096 },
				       .mode = UFFDIO_REGISTER_MODE_WP };
	struct uffdio_writeprotect wp = { .range = reg.range,
					  .mode = UFFDIO_WRITEPROTECT_MODE_WP };
	int uffd = syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK);

	if (uffd < 0 || ioctl(uffd, UFFDIO_API, &api)) {
		close(uffd);
		return -1;
	}
	ASSERT_EQ(0, ioctl(uffd, UFFDIO_REGISTER, &reg));
	ASSERT_EQ(0, ioctl(uffd, UFFDIO_WRITEPROTECT, &wp));
	return uffd;
}

TEST_F(device, query_does_not_wait_for_the_page_of_another)
{
	struct rpma_ioc_device_query *cmd = (void *)map_pages(_metadata, 4096);
	struct uffdio_writeprotect open_up = { .range = { (uintptr_t)cmd, 4096 } };
	pthread_t thread;
	void *ret;
	int uffd;

	/* There to be read, not yet to be written. */
	cmd->size = sizeof(*cmd);
	uffd = page_guard(_metadata, cmd);
	if (uffd < 0)
		SKIP(return, "no write protection by userfaultfd");
	ASSERT_EQ(0, pthread_create(&thread, NULL, query_in_thread, cmd));
	ASSERT_EQ(POLLIN, poll_for(uffd, POLLIN, WAIT_MS));

	ioc_device_query(self->fd);
	ioc_query(self->fd);
	EXPECT_NE(0, _resolve(self->fd, test_addr4()));

	ASSERT_EQ(0, ioctl(uffd, UFFDIO_WRITEPROTECT, &open_up));
	ASSERT_EQ(0, pthread_join(thread, &ret));
	EXPECT_EQ(NULL, ret);
	EXPECT_NE(0, cmd->out_device);
	close(uffd);
}

TEST_F(device, own_addresses_resolve)
{
	EXPECT_EQ(self->q.out_device, _resolve(self->fd, test_addr4()));
	EXPECT_EQ(self->q.out_device, _resolve(self->fd, test_addr6()));
}

TEST_F(device, addresses_that_no_device_has)
{
	struct rpma_ioc_device_resolve cmd = { .timeout_ms = 2000 };
	struct sockaddr sa = { .sa_family = AF_UNIX };

	addr_set(cmd.addr, "203.0.113.9", 0);
	EXPECT_ERRNO(ENODEV, _ioc_device_resolve(self->fd, &cmd));
	addr_set(cmd.addr, "127.0.0.1", 0);
	EXPECT_ERRNO(ENODEV, _ioc_device_resolve(self->fd, &cmd));
	memset(cmd.addr, 0, sizeof(cmd.addr));
	EXPECT_ERRNO(EAFNOSUPPORT, _ioc_device_resolve(self->fd, &cmd));
	memcpy(cmd.addr, &sa, sizeof(sa));
	EXPECT_ERRNO(EAFNOSUPPORT, _ioc_device_resolve(self->fd, &cmd));
}

TEST_F(device, remote_addresses_resolve)
{
	struct rpma_ioc_device_resolve cmd = {
		.flags = RPMA_DEVICE_RESOLVE_F_REMOTE,
		.timeout_ms = 5000,
	};

	addr_set(cmd.addr, test_env("RPMA_TEST_DEAD4", "10.7.7.222"), 0);
	ASSERT_EQ(0, _ioc_device_resolve(self->fd, &cmd));
	EXPECT_EQ(self->q.out_device, cmd.out_device);
	addr_set(cmd.addr, "198.51.100.1", 0);
	EXPECT_ERRNO(ENETUNREACH, _ioc_device_resolve(self->fd, &cmd));
}

TEST_F(device, bytes_behind_an_address_must_be_zero)
{
	struct rpma_ioc_device_resolve cmd = {};

	addr_set(cmd.addr, test_addr4(), 0);
	cmd.addr[RPMA_ADDR_SIZE - 1] = 1;
	EXPECT_ERRNO(EINVAL, _ioc_device_resolve(self->fd, &cmd));
	addr_set(cmd.addr, test_addr4(), 0);
	cmd.addr[sizeof(struct sockaddr_in)] = 1;
	EXPECT_ERRNO(EINVAL, _ioc_device_resolve(self->fd, &cmd));
}

/* ---- removal ---- */

FIXTURE(removal) {
	struct pair p;
	struct ring ring;
};

FIXTURE_VARIANT(removal) {
	bool netdev;
};

FIXTURE_VARIANT_ADD(removal, rdma_link) { .netdev = false };
FIXTURE_VARIANT_ADD(removal, netdev) { .netdev = true };

FIXTURE_SETUP(removal)
{
	struct pair *p = &self->p;
	struct rpma_ioc_cq_create c;

	SKIP_WITHOUT_RPMA();
	ASSERT_EQ(0, getuid())
		TH_LOG("only root can remove a device");
	link_ensure(_metadata);
	pair_prepare(_metadata, p, (struct pair_opts){ .sq_size = DEEP, .length = 1 << 20 });
	close(p->client.cq);
	c = ioc_cq_create(p->fd, .peer = p->peer, .entries = DEEP + p->opts.rq_size);
	set_nonblock(c.out_fd);
	p->client.cq = c.out_fd;
	ring_map(_metadata, &self->ring, c.out_fd, c.out_ring_bytes);
	sides_connect(_metadata, p, &p->client, &p->server);
}

FIXTURE_TEARDOWN(removal)
{
	ring_unmap(&self->ring);
	pair_close(&self->p);
}

static void take_away(struct __test_metadata *_metadata, bool netdev)
{
	if (netdev) {
		ASSERT_EQ(0, run("ip link del %s", test_netdev()));
	} else {
		ASSERT_EQ(0, run("rdma link delete %s", test_dev()));
	}
}

static void give_back(struct __test_metadata *_metadata, bool netdev)
{
	if (netdev)
		netdev_add(_metadata);
	else
		link_add(_metadata);
}

/* A fresh connection on what was given back. */
static void expect_works_again(struct __test_metadata *_metadata)
{
	struct pair p;

	pair_open(_metadata, &p, (struct pair_opts){});
	expect_usable(_metadata, &p);
	pair_close(&p);
}

/* Takes the device away while the caller goes on posting. */
static pid_t take_away_meanwhile(struct __test_metadata *_metadata, bool netdev)
{
	pid_t pid = fork();

	ASSERT_LE(0, pid);
	if (pid == 0)
		_exit(netdev ? run("ip link del %s", test_netdev()) :
			       run("rdma link delete %s", test_dev()));
	return pid;
}

static int post_pair(struct pair *p, __u64 context)
{
	struct rpma_request r[2] = {
		req_write(context, SIGNALED, &p->client.mem, 0, &p->server.mem, 0, 1 << 20),
		req_flush(context + 1, SIGNALED, &p->server.mem, 0, 1 << 20),
	};

	return _ioc_post(p->client.conn, r, 2);
}

/*
 * Who goes first says goodbye to the other, whose device is still there: one
 * side at least has lost its device, the other may have been told.
 */
static void expect_lost(struct __test_metadata *_metadata, struct pair *p)
{
	__u32 c = next_event(_metadata, p->client.conn).type;
	__u32 s = next_event(_metadata, p->server.conn).type;

	EXPECT_TRUE(c == RPMA_EVENT_LOST || s == RPMA_EVENT_LOST);
	EXPECT_TRUE(c == RPMA_EVENT_LOST || c == RPMA_EVENT_CLOSED);
	EXPECT_TRUE(s == RPMA_EVENT_LOST || s == RPMA_EVENT_CLOSED);
	expect_no_more_events(p->client.conn);
	expect_no_more_events(p->server.conn);
}

/* Who is told that the device is gone may still have an event to take. */
static void expect_gone(struct __test_metadata *_metadata, struct pair *p)
{
	int n = 0;

	while (_ioc_cq_wait(p->client.cq) >= 0)
		ASSERT_GT(2, n++);
	ASSERT_EQ(ENODEV, errno);
}

/* In order, each once; after the first that failed all are aborted. */
static void load_completed(struct __test_metadata *_metadata, const struct rpma_completion *c,
			   __u64 *reaped, bool *failed)
{
	ASSERT_EQ((*reaped)++, c->context);
	ASSERT_TRUE(!*failed || c->status == RPMA_STATUS_ABORTED);
	*failed |= c->status != RPMA_STATUS_SUCCESS;
}

/* DEEP requests are in flight all the time, until the post says ENODEV. */
TEST_F_TIMEOUT(removal, under_load_completes_each_request_once, 2 * WAIT_SECONDS)
{
	pid_t pid = take_away_meanwhile(_metadata, variant->netdev);
	__u64 posted = 0, reaped = 0;
	struct pair *p = &self->p;
	struct rpma_completion c;
	bool failed = false;
	int ret, status;

	while ((ret = post_pair(p, posted)) >= 0 || errno == EAGAIN) {
		posted += ret > 0 ? ret : 0;
		/* Keeps the queue full: takes one only when there is no room. */
		if (ret != 2 && reap_within(p->client.cq, &c, 1000))
			load_completed(_metadata, &c, &reaped, &failed);
	}
	ASSERT_EQ(ENODEV, errno);
	while (reaped < posted) {
		c = reap(_metadata, p->client.cq);
		load_completed(_metadata, &c, &reaped, &failed);
	}
	EXPECT_EQ(0, reap_within(p->client.cq, &c, 0));
	EXPECT_TRUE(failed);
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_EQ(0, status);
	expect_lost(_metadata, p);
	expect_gone(_metadata, p);
	EXPECT_NE(0, self->ring.map->gone);
	give_back(_metadata, variant->netdev);
	expect_works_again(_metadata);
}

TEST_F_TIMEOUT(removal, leaves_nothing_but_close, 2 * WAIT_SECONDS)
{
	struct pair *p = &self->p;
	struct rpma_request r = req_flush(1, SIGNALED, &p->server.mem, 0, 8);
	struct rpma_request recv = req_recv(2, &p->server.mem, 0, 8);
	struct rpma_ioc_conn_create create = { .peer = p->peer };
	struct rpma_channel_event event;
	int channel = ioc_channel_create(p->fd).out_fd;
	int on_channel = ioc_cq_create(p->fd, .peer = p->peer, .entries = 4,
				       .flags = RPMA_CQ_CREATE_F_CHANNEL,
				       .channel_fd = channel).out_fd;
	__u32 srq;

	srq = ioc_srq_create(p->fd, .peer = p->peer, .entries = 4).out_srq;
	ioc_srq_post(p->fd, srq, &recv, 1);
	take_away(_metadata, variant->netdev);
	ioc_err_srq_post(ENODEV, p->fd, srq, &recv, 1);
	ioc_err_srq_create(ENODEV, p->fd, .peer = p->peer, .entries = 4);
	ioc_destroy(p->fd, .id = srq);
	ioc_err_post(ENODEV, p->client.conn, &r, 1);
	ioc_err_flush(ENODEV, p->client.conn, .placement = RPMA_FLUSH_GLOBAL, .len = 8,
		      .remote = remote_of(&p->server.mem));
	EXPECT_EQ(RPMA_CONN_STATE_GONE, ioc_conn_query(p->fd,
						       .conn_fd = p->client.conn).out_state);
	EXPECT_NE(0, POLLERR & poll_for(p->client.cq, POLLIN, 0));
	EXPECT_NE(0, POLLERR & poll_for(p->ep, POLLIN, 0));
	EXPECT_NE(0, POLLERR & poll_for(channel, POLLIN, 0));
	EXPECT_ERRNO(ENODEV, read(channel, &event, sizeof(event)));
	close(channel);
	close(on_channel);
	expect_gone(_metadata, p);
	ioc_err_mr_reg(ENODEV, p->fd, .peer = p->peer, .access = RPMA_ACCESS_READ_SRC,
		       .addr = (uintptr_t)p->client.mem.addr, .length = 4096);
	ioc_err_cq_create(ENODEV, p->fd, .peer = p->peer, .entries = 1);
	ioc_err_ep_take(ENODEV, p->fd, .ep_fd = p->ep,
			.queues = side_queues(&p->server, &p->opts));
	give_back(_metadata, variant->netdev);
	/* The old peer stays dead, the new device is another one. */
	create.queues = side_queues(&p->client, &p->opts);
	addr_set(create.addr, test_addr4(), 7000);
	EXPECT_ERRNO(ENODEV, _ioc_conn_create(p->fd, &create));
	ioc_err_cq_create(ENODEV, p->fd, .peer = p->peer, .entries = 1);
	expect_works_again(_metadata);
}

/* Regions, queues, endpoints, half-made connections: all at once. */
TEST_F_TIMEOUT(removal, in_the_middle_of_a_handshake, 2 * WAIT_SECONDS)
{
	struct pair *p = &self->p;
	struct side made = side_new(_metadata, p), asking = side_new(_metadata, p);
	struct side taken = side_new(_metadata, p), waiting = side_new(_metadata, p);

	client_create(_metadata, p, &made);
	client_create(_metadata, p, &asking);
	ioc_conn_connect(p->fd, .conn_fd = asking.conn);
	server_take(_metadata, p, &taken);
	client_create(_metadata, p, &waiting);
	ioc_conn_connect(p->fd, .conn_fd = waiting.conn);
	ASSERT_NE(0, POLLIN & poll_for(p->ep, POLLIN, WAIT_MS));

	take_away(_metadata, variant->netdev);
	ioc_err_conn_accept(ENODEV, p->fd, .conn_fd = taken.conn);
	ioc_err_conn_connect(ENODEV, p->fd, .conn_fd = made.conn);
	/* The listener had time to say no, or not. */
	EXPECT_NE(RPMA_EVENT_ESTABLISHED, next_event(_metadata, asking.conn).type);
	EXPECT_NE(RPMA_EVENT_ESTABLISHED, next_event(_metadata, waiting.conn).type);
	expect_event(made.conn, RPMA_EVENT_LOST);
	side_close(&made);
	side_close(&asking);
	side_close(&taken);
	side_close(&waiting);
	give_back(_metadata, variant->netdev);
	expect_works_again(_metadata);
}

/* The process sleeps in the kernel when its device goes. */
TEST_F_TIMEOUT(removal, wakes_those_who_wait, 2 * WAIT_SECONDS)
{
	struct pair *p = &self->p;
	int status, failures = 0;
	pid_t pids[3];

	fcntl(p->client.cq, F_SETFL, 0);
	fcntl(p->ep, F_SETFL, 0);
	for (int i = 0; i < 3; i++) {
		pids[i] = fork();
		ASSERT_LE(0, pids[i]);
		if (pids[i])
			continue;
		if (i == 0)
			_exit(_ioc_cq_wait(p->client.cq) == -1 && errno == ENODEV ? 0 : 1);
		if (i == 1) {
			struct rpma_ioc_ep_take cmd = { .ep_fd = p->ep };

			cmd.queues = side_queues(&p->server, &p->opts);
			_exit(_ioc_ep_take(p->fd, &cmd) == -1 && errno == ENODEV ? 0 : 1);
		} else {
			struct rpma_event event = {};
			ssize_t n = read(p->client.conn, &event, sizeof(event));

			_exit(n == sizeof(event) && (event.type == RPMA_EVENT_LOST ||
						     event.type == RPMA_EVENT_CLOSED) ? 0 : 1);
		}
	}
	usleep(500000);
	take_away(_metadata, variant->netdev);
	for (int i = 0; i < 3; i++) {
		ASSERT_EQ(pids[i], waitpid(pids[i], &status, 0));
		failures += status != 0;
		EXPECT_EQ(0, status)
			TH_LOG("sleeper %d", i);
	}
	EXPECT_EQ(0, failures);
	give_back(_metadata, variant->netdev);
}

TEST_F_TIMEOUT(removal, devices_that_come_later_are_seen, 2 * WAIT_SECONDS)
{
	__u32 before = _resolve(self->p.fd, test_addr4()), after, device = before;
	__u32 n = ioc_query(self->p.fd).out_nr_devices;

	take_away(_metadata, variant->netdev);
	EXPECT_EQ(n - 1, ioc_query(self->p.fd).out_nr_devices);
	EXPECT_EQ(0, _resolve(self->p.fd, test_addr4()));
	ioc_err_peer_create(ENODEV, self->p.fd, .device = device);
	give_back(_metadata, variant->netdev);
	EXPECT_EQ(n, ioc_query(self->p.fd).out_nr_devices);
	after = _resolve(self->p.fd, test_addr4());
	ASSERT_NE(0, after);
	EXPECT_NE(before, after);
	ioc_peer_create(self->p.fd, .device = after);
}

TEST_F_TIMEOUT(removal, again_and_again, 4 * WAIT_SECONDS)
{
	for (int i = 0; i < 5; i++) {
		struct pair p;

		take_away(_metadata, variant->netdev);
		give_back(_metadata, variant->netdev);
		pair_open(_metadata, &p, (struct pair_opts){ .sq_size = DEEP,
							     .length = 1 << 20 });
		for (__u64 n = 0; n < DEEP; n += 2)
			ASSERT_EQ(2, post_pair(&p, n));
		take_away(_metadata, variant->netdev);
		/* Closed in either order, everything or nothing read. */
		if (i & 1)
			close(p.fd);
		pair_close(&p);
		give_back(_metadata, variant->netdev);
	}
	expect_works_again(_metadata);
}

TEST_HARNESS_MAIN
