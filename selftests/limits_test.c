// SPDX-License-Identifier: GPL-2.0
/*
 * Limits: per file, per user, RLIMIT_MEMLOCK; and what an ordinary user, who
 * owns nothing but the group of /dev/rpma, may do.
 */
#include <grp.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "rpma_pair.h"

#define NOBODY 65534

/* More than this is not worth the time of an emulated machine. */
#define COUNTABLE 5000

/* From here on an ordinary user in the group of the device node. */
static void become_user(struct __test_metadata *_metadata, uid_t uid)
{
	struct stat st;

	if (getuid())
		return;
	ASSERT_EQ(0, stat(RPMA_DEVICE, &st));
	ASSERT_EQ(0, setgroups(1, &st.st_gid));
	ASSERT_EQ(0, setgid(NOBODY));
	ASSERT_EQ(0, setuid(uid));
}

FIXTURE(limits) {
	int fd;
	__u32 peer;
	struct rpma_ioc_query q;
};

FIXTURE_SETUP(limits)
{
	struct rlimit files = { 65536, 65536 };

	SKIP_WITHOUT_RPMA();
	setrlimit(RLIMIT_NOFILE, &files);
	become_user(_metadata, NOBODY);
	self->fd = rpma_open(_metadata);
	self->peer = peer_new(_metadata, self->fd);
	self->q = ioc_query(self->fd);
}

FIXTURE_TEARDOWN(limits)
{
	close(self->fd);
}

#define skip_unless_countable(limit)					\
	do {								\
		if ((limit) > COUNTABLE)				\
			SKIP(return, "a limit of %u takes too long", (unsigned int)(limit)); \
	} while (0)

TEST_F_TIMEOUT(limits, peers_per_file, WAIT_SECONDS)
{
	struct rpma_ioc_peer_create cmd = { .device = _resolve(self->fd, test_addr4()) };
	__u32 n = 1;

	skip_unless_countable(self->q.out_max_peers);
	while (_ioc_peer_create(self->fd, &cmd) == 0)
		ASSERT_LE(++n, self->q.out_max_peers);
	EXPECT_EQ(EDQUOT, errno);
	EXPECT_EQ(self->q.out_max_peers, n);
	ioc_destroy(self->fd, .id = self->peer);
	ASSERT_EQ(0, _ioc_peer_create(self->fd, &cmd));
	EXPECT_ERRNO(EDQUOT, _ioc_peer_create(self->fd, &cmd));
}

TEST_F_TIMEOUT(limits, regions_per_file, 2 * WAIT_SECONDS)
{
	struct rlimit memlock = { 4096, 4096 };
	struct rpma_ioc_mr_reg cmd = {
		.peer = self->peer,
		.access = RPMA_ACCESS_READ_SRC,
		.addr = (uintptr_t)map_pages(_metadata, 4096),
		.length = 1,
	};
	__u32 n = 0, first = 0;

	skip_unless_countable(self->q.out_max_mrs);
	getrlimit(RLIMIT_MEMLOCK, &memlock);
	if (memlock.rlim_cur < self->q.out_max_mrs * 4096ULL)
		SKIP(return, "RLIMIT_MEMLOCK comes first");
	while (_ioc_mr_reg(self->fd, &cmd) == 0) {
		first = first ?: cmd.out_mr;
		ASSERT_LE(++n, self->q.out_max_mrs);
	}
	EXPECT_EQ(EDQUOT, errno);
	EXPECT_EQ(self->q.out_max_mrs, n);
	ioc_destroy(self->fd, .id = first);
	ASSERT_EQ(0, _ioc_mr_reg(self->fd, &cmd));
}

TEST_F_TIMEOUT(limits, queues_per_file, WAIT_SECONDS)
{
	struct rpma_ioc_cq_create cmd = { .peer = self->peer, .entries = 1 };
	__u32 n = 0;

	skip_unless_countable(self->q.out_max_cqs);
	while (_ioc_cq_create(self->fd, &cmd) == 0)
		ASSERT_LE(++n, self->q.out_max_cqs);
	EXPECT_EQ(EDQUOT, errno);
	EXPECT_EQ(self->q.out_max_cqs, n);
	close(cmd.out_fd);
	ASSERT_EQ(0, _ioc_cq_create(self->fd, &cmd));
}

TEST_F_TIMEOUT(limits, endpoints_per_file, WAIT_SECONDS)
{
	struct rpma_ioc_ep_listen cmd = { .peer = self->peer };
	__u32 n = 0;

	skip_unless_countable(self->q.out_max_eps);
	addr_set(cmd.addr, test_addr4(), 0);
	while (_ioc_ep_listen(self->fd, &cmd) == 0)
		ASSERT_LE(++n, self->q.out_max_eps);
	EXPECT_EQ(EDQUOT, errno);
	EXPECT_EQ(self->q.out_max_eps, n);
	close(cmd.out_fd);
	ASSERT_EQ(0, _ioc_ep_listen(self->fd, &cmd));
}

static int conn_new(int fd, __u32 peer, int cq)
{
	struct rpma_ioc_conn_create cmd = { .peer = peer };

	cmd.queues = (struct rpma_conn_queues){ .send_cq_fd = cq, .recv_cq_fd = -1, .sq_size = 1 };
	addr_set(cmd.addr, test_addr4(), 7000);
	return _ioc_conn_create(fd, &cmd) ? -1 : cmd.out_fd;
}

TEST_F_TIMEOUT(limits, connections_per_file, 2 * WAIT_SECONDS)
{
	int cq = cq_new(_metadata, self->fd, self->peer, 4), conn, last = -1;
	__u32 n = 0;

	skip_unless_countable(self->q.out_max_conns);
	while ((conn = conn_new(self->fd, self->peer, cq)) >= 0) {
		last = conn;
		ASSERT_LE(++n, self->q.out_max_conns);
	}
	EXPECT_EQ(EDQUOT, errno);
	EXPECT_EQ(self->q.out_max_conns, n);
	close(last);
	ASSERT_LE(0, conn_new(self->fd, self->peer, cq));
}

TEST_F_TIMEOUT(limits, connections_per_user_over_all_files, 2 * WAIT_SECONDS)
{
	int fds[64], cq, conn, last = -1, files = 1;
	__u32 n = 0;

	skip_unless_countable(self->q.out_max_user_conns);
	fds[0] = self->fd;
	cq = cq_new(_metadata, self->fd, self->peer, 4);
	for (;;) {
		conn = conn_new(fds[files - 1], self->peer, cq);
		if (conn >= 0) {
			last = conn;
			ASSERT_LE(++n, self->q.out_max_user_conns);
			continue;
		}
		ASSERT_EQ(EDQUOT, errno);
		if (n == self->q.out_max_user_conns)
			break;
		ASSERT_GT(64, files);
		fds[files++] = rpma_open(_metadata);
		self->peer = peer_new(_metadata, fds[files - 1]);
		cq = cq_new(_metadata, fds[files - 1], self->peer, 4);
	}
	close(last);
	last = conn_new(fds[files - 1], self->peer, cq);
	ASSERT_LE(0, last);
}

TEST_F(limits, failed_creations_are_not_counted)
{
	for (__u32 i = 0; i < 2 * self->q.out_max_cqs && i < COUNTABLE; i++)
		ioc_err_cq_create(EINVAL, self->fd, .peer = self->peer, .entries = 0);
	close(cq_new(_metadata, self->fd, self->peer, 1));
	for (__u32 i = 0; i < 2 * self->q.out_max_mrs && i < COUNTABLE; i++)
		ioc_err_mr_reg(EINVAL, self->fd, .peer = self->peer, .length = 0,
			       .access = RPMA_ACCESS_READ_SRC);
	region_new(_metadata, self->fd, self->peer, 4096, ACCESS_ALL);
}

/* The limit counts before any page is looked at. */
TEST_F(limits, pinned_bytes_per_file)
{
	__u64 length = self->q.out_max_pinned_bytes + 4096;
	void *addr = mmap(NULL, length, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (addr == MAP_FAILED)
		SKIP(return, "no address space for %llu bytes", (unsigned long long)length);
	ioc_err_mr_reg(EDQUOT, self->fd, .peer = self->peer, .access = RPMA_ACCESS_READ_SRC,
		       .addr = (uintptr_t)addr, .length = length);
	region_new(_metadata, self->fd, self->peer, 4096, ACCESS_ALL);
}

TEST_F(limits, memlock_is_enomem)
{
	struct rlimit memlock = { 65536, 65536 };
	struct region r;
	__u8 *more = map_pages(_metadata, 4096);

	if (!getuid())
		SKIP(return, "root may pin without limit");
	ASSERT_EQ(0, setrlimit(RLIMIT_MEMLOCK, &memlock));
	r = region_new(_metadata, self->fd, self->peer, 65536, ACCESS_ALL);
	ioc_err_mr_reg(ENOMEM, self->fd, .peer = self->peer, .access = RPMA_ACCESS_READ_SRC,
		       .addr = (uintptr_t)more, .length = 4096);
	ioc_destroy(self->fd, .id = r.mr);
	region_reg(_metadata, self->fd, self->peer, more, 4096, ACCESS_ALL);
}

TEST_F(limits, memlock_of_zero_is_enomem)
{
	struct rlimit memlock = { 0, 0 };
	__u8 *addr = map_pages(_metadata, 4096);

	ASSERT_EQ(0, setrlimit(RLIMIT_MEMLOCK, &memlock));
	ioc_err_mr_reg(ENOMEM, self->fd, .peer = self->peer, .access = RPMA_ACCESS_READ_SRC,
		       .addr = (uintptr_t)addr, .length = 4096);
}

/* Nothing of the user's is pinned for a connection and its flushes. */
TEST_F_TIMEOUT(limits, flush_needs_no_locked_memory, WAIT_SECONDS)
{
	struct rlimit memlock = { 131072, 131072 };
	struct rpma_request r;
	struct side client, server;
	struct pair p;

	pair_open(_metadata, &p, (struct pair_opts){ .length = 4096 });
	memlock.rlim_cur = memlock.rlim_max = 0;
	ASSERT_EQ(0, setrlimit(RLIMIT_MEMLOCK, &memlock));
	client = p.client;
	server = p.server;
	sides_connect(_metadata, &p, &client, &server);
	r = req_flush(1, SIGNALED, &p.server.mem, 0, 8);
	ioc_post(client.conn, &r, 1);
	expect_completion(client.cq, 1, RPMA_OP_FLUSH, 0);
	close(client.conn);
	close(server.conn);
	pair_close(&p);
}

TEST_F(limits, low_port_is_eacces)
{
	struct rpma_ioc_ep_listen cmd = { .peer = self->peer };

	addr_set(cmd.addr, test_addr4(), 80);
	EXPECT_ERRNO(EACCES, _ioc_ep_listen(self->fd, &cmd));
}

TEST_F_TIMEOUT(limits, ordinary_user_does_the_whole_job, WAIT_SECONDS)
{
	struct pair p;

	ASSERT_NE(0, getuid());
	pair_open(_metadata, &p, (struct pair_opts){});
	expect_usable(_metadata, &p);
	pair_close(&p);
}

/* Without the group there is no way in. */
TEST(stranger_is_eacces)
{
	SKIP_WITHOUT_RPMA();
	if (getuid())
		SKIP(return, "only root can become somebody else");
	ASSERT_EQ(0, setgroups(0, NULL));
	ASSERT_EQ(0, setgid(NOBODY));
	ASSERT_EQ(0, setuid(NOBODY - 1));
	EXPECT_ERRNO(EACCES, open(RPMA_DEVICE, O_RDWR));
	EXPECT_ERRNO(EACCES, open(RPMA_DEVICE, O_RDONLY));
}

TEST_HARNESS_MAIN
