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

#define MIB (1UL << 20)

/* Small limits are reached quickly; root sets them before it becomes a user. */
static struct limit {
	const char *name;
	const char *value;
	int fd;
	char before[32];
} limits[] = {
	{ .name = "max_peers", .value = "3" },
	{ .name = "max_mrs", .value = "20" },
	{ .name = "max_cqs", .value = "30" },
	{ .name = "max_eps", .value = "4" },
	{ .name = "max_conns", .value = "10" },
	{ .name = "max_user_conns", .value = "15" },
	{ .name = "max_srqs", .value = "5" },
	{ .name = "max_pinned_mib", .value = "4" },
	{ .name = "max_user_pinned_mib", .value = "6" },
};

#define for_each_limit(l) for (l = limits; l < limits + sizeof(limits) / sizeof(limits[0]); l++)

/* The descriptors outlive the privilege, so that the user can undo it. */
static void limits_set(struct __test_metadata *_metadata)
{
	struct limit *l;
	char path[128];

	for_each_limit(l) {
		snprintf(path, sizeof(path), "/sys/module/rpma/parameters/%s", l->name);
		l->fd = open(path, O_RDWR | O_CLOEXEC);
		ASSERT_LE(0, l->fd)
			TH_LOG("%s: %s", path, strerror(errno));
		ASSERT_LT(0, read(l->fd, l->before, sizeof(l->before) - 1));
		ASSERT_LT(0, pwrite(l->fd, l->value, strlen(l->value), 0));
	}
}

static void limits_restore(void)
{
	struct limit *l;

	for_each_limit(l)
		if (l->fd && pwrite(l->fd, l->before, strlen(l->before), 0) < 0)
			perror(l->name);
}

/* From here on an ordinary user in the group of the device node. */
static void become_user(struct __test_metadata *_metadata, uid_t uid)
{
	struct stat st;

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
	SKIP_WITHOUT_RPMA();
	ASSERT_EQ(0, getuid())
		TH_LOG("only root can set limits");
	limits_set(_metadata);
	become_user(_metadata, NOBODY);
	self->fd = rpma_open(_metadata);
	self->peer = peer_new(_metadata, self->fd);
	self->q = ioc_query(self->fd);
}

FIXTURE_TEARDOWN(limits)
{
	close(self->fd);
	limits_restore();
}

TEST_F(limits, are_those_of_the_module_parameters)
{
	EXPECT_EQ(3, self->q.out_max_peers);
	EXPECT_EQ(20, self->q.out_max_mrs);
	EXPECT_EQ(30, self->q.out_max_cqs);
	EXPECT_EQ(4, self->q.out_max_eps);
	EXPECT_EQ(10, self->q.out_max_conns);
	EXPECT_EQ(15, self->q.out_max_user_conns);
	EXPECT_EQ(5, self->q.out_max_srqs);
	EXPECT_EQ(4 * MIB, self->q.out_max_pinned_bytes);
	EXPECT_EQ(6 * MIB, self->q.out_max_user_pinned_bytes);
}

TEST_F(limits, peers_per_file)
{
	struct rpma_ioc_peer_create cmd = { .device = _resolve(self->fd, test_addr4()) };

	for (__u32 n = 1; n < self->q.out_max_peers; n++)
		ASSERT_EQ(0, _ioc_peer_create(self->fd, &cmd));
	EXPECT_ERRNO(EDQUOT, _ioc_peer_create(self->fd, &cmd));
	ioc_destroy(self->fd, .id = self->peer);
	ASSERT_EQ(0, _ioc_peer_create(self->fd, &cmd));
	EXPECT_ERRNO(EDQUOT, _ioc_peer_create(self->fd, &cmd));
}

TEST_F(limits, shared_receive_queues_per_file)
{
	struct rpma_ioc_srq_create cmd = { .peer = self->peer, .entries = 1 };

	for (__u32 n = 0; n < self->q.out_max_srqs; n++)
		ASSERT_EQ(0, _ioc_srq_create(self->fd, &cmd));
	EXPECT_ERRNO(EDQUOT, _ioc_srq_create(self->fd, &cmd));
	ioc_destroy(self->fd, .id = cmd.out_srq);
	ASSERT_EQ(0, _ioc_srq_create(self->fd, &cmd));
	EXPECT_ERRNO(EDQUOT, _ioc_srq_create(self->fd, &cmd));
}

TEST_F(limits, regions_per_file)
{
	struct rpma_ioc_mr_reg cmd = {
		.peer = self->peer,
		.access = RPMA_ACCESS_READ_SRC,
		.addr = (uintptr_t)map_pages(_metadata, 4096),
		.length = 1,
	};

	for (__u32 n = 0; n < self->q.out_max_mrs; n++)
		ASSERT_EQ(0, _ioc_mr_reg(self->fd, &cmd));
	EXPECT_ERRNO(EDQUOT, _ioc_mr_reg(self->fd, &cmd));
	ioc_destroy(self->fd, .id = cmd.out_mr);
	ASSERT_EQ(0, _ioc_mr_reg(self->fd, &cmd));
	EXPECT_ERRNO(EDQUOT, _ioc_mr_reg(self->fd, &cmd));
}

TEST_F(limits, queues_per_file)
{
	struct rpma_ioc_cq_create cmd = { .peer = self->peer, .entries = 1 };

	for (__u32 n = 0; n < self->q.out_max_cqs; n++)
		ASSERT_EQ(0, _ioc_cq_create(self->fd, &cmd));
	EXPECT_ERRNO(EDQUOT, _ioc_cq_create(self->fd, &cmd));
	close(cmd.out_fd);
	ASSERT_EQ(0, _ioc_cq_create(self->fd, &cmd));
	EXPECT_ERRNO(EDQUOT, _ioc_cq_create(self->fd, &cmd));
}

TEST_F(limits, endpoints_per_file)
{
	struct rpma_ioc_ep_listen cmd = { .peer = self->peer };

	addr_set(cmd.addr, test_addr4(), 0);
	for (__u32 n = 0; n < self->q.out_max_eps; n++)
		ASSERT_EQ(0, _ioc_ep_listen(self->fd, &cmd));
	EXPECT_ERRNO(EDQUOT, _ioc_ep_listen(self->fd, &cmd));
	close(cmd.out_fd);
	ASSERT_EQ(0, _ioc_ep_listen(self->fd, &cmd));
	EXPECT_ERRNO(EDQUOT, _ioc_ep_listen(self->fd, &cmd));
}

/* A file with a peer on it and a queue that many connections share. */
struct client {
	int fd;
	__u32 peer;
	int cq;
};

static struct client client_new(struct __test_metadata *_metadata)
{
	struct client c = { .fd = rpma_open(_metadata) };

	c.peer = peer_new(_metadata, c.fd);
	c.cq = cq_new(_metadata, c.fd, c.peer, 64);
	return c;
}

static void client_close(struct client *c)
{
	close(c->cq);
	close(c->fd);
}

static int conn_new(const struct client *c)
{
	struct rpma_ioc_conn_create cmd = { .peer = c->peer, .timeout_ms = WAIT_MS };

	cmd.queues = (struct rpma_conn_queues){ .send_cq_fd = c->cq, .recv_cq_fd = -1,
						.sq_size = 1 };
	addr_set(cmd.addr, test_addr4(), 7000);
	return _ioc_conn_create(c->fd, &cmd) ? -1 : cmd.out_fd;
}

TEST_F_TIMEOUT(limits, connections_per_file, WAIT_SECONDS)
{
	struct client c = client_new(_metadata);
	int last = -1;

	for (__u32 n = 0; n < self->q.out_max_conns; n++) {
		last = conn_new(&c);
		ASSERT_LE(0, last);
	}
	EXPECT_ERRNO(EDQUOT, conn_new(&c));
	close(last);
	ASSERT_LE(0, conn_new(&c));
	EXPECT_ERRNO(EDQUOT, conn_new(&c));
	client_close(&c);
}

TEST_F_TIMEOUT(limits, connections_per_user_over_all_files, WAIT_SECONDS)
{
	struct client a = client_new(_metadata), b = client_new(_metadata);
	int last = -1;

	for (__u32 n = 0; n < self->q.out_max_user_conns; n++) {
		last = conn_new(n & 1 ? &a : &b);
		ASSERT_LE(0, last);
	}
	EXPECT_ERRNO(EDQUOT, conn_new(&a));
	EXPECT_ERRNO(EDQUOT, conn_new(&b));
	close(last);
	ASSERT_LE(0, conn_new(&a));
	client_close(&a);
	client_close(&b);
}

TEST_F(limits, failed_creations_are_not_counted)
{
	struct client c = client_new(_metadata);

	for (__u32 i = 0; i < 40; i++) {
		ioc_err_cq_create(EINVAL, c.fd, .peer = c.peer, .entries = 0);
		ioc_err_mr_reg(EINVAL, c.fd, .peer = c.peer, .length = 0,
			       .access = RPMA_ACCESS_READ_SRC);
		ioc_err_mr_reg(EFAULT, c.fd, .peer = c.peer, .length = MIB,
			       .addr = 4096, .access = RPMA_ACCESS_READ_SRC);
		ioc_err_peer_create(ENODEV, c.fd, .device = 0);
	}
	close(cq_new(_metadata, c.fd, c.peer, 1));
	region_new(_metadata, c.fd, c.peer, 4096, ACCESS_ALL);
	peer_new(_metadata, c.fd);
	client_close(&c);
}

TEST_F(limits, pinned_bytes_per_file_and_user)
{
	__u8 *addr = map_pages(_metadata, 8 * MIB);
	struct client other = client_new(_metadata);
	struct region r;

	ioc_err_mr_reg(EDQUOT, self->fd, .peer = self->peer, .access = RPMA_ACCESS_READ_SRC,
		       .addr = (uintptr_t)addr, .length = 4 * MIB + 1);
	r = region_reg(_metadata, self->fd, self->peer, addr, 4 * MIB, RPMA_ACCESS_READ_SRC);
	ioc_err_mr_reg(EDQUOT, self->fd, .peer = self->peer, .access = RPMA_ACCESS_READ_SRC,
		       .addr = (uintptr_t)addr, .length = 1);
	/* The user's limit is larger than the file's, but not twice as large. */
	region_reg(_metadata, other.fd, other.peer, addr, 2 * MIB, RPMA_ACCESS_READ_SRC);
	ioc_err_mr_reg(EDQUOT, other.fd, .peer = other.peer, .access = RPMA_ACCESS_READ_SRC,
		       .addr = (uintptr_t)addr, .length = 1);
	ioc_destroy(self->fd, .id = r.mr);
	region_reg(_metadata, other.fd, other.peer, addr, 2 * MIB, RPMA_ACCESS_READ_SRC);
	client_close(&other);
}

TEST_F(limits, memlock_is_enomem)
{
	struct rlimit memlock = { 65536, 65536 };
	struct region r;
	__u8 *more = map_pages(_metadata, 4096);

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
	close(client.conn);
	close(server.conn);
	sides_connect(_metadata, &p, &client, &server);
	r = req_flush(1, SIGNALED, &p.server.mem, 0, 8);
	ioc_post(client.conn, &r, 1);
	expect_completion(client.cq, 1, RPMA_OP_FLUSH, 0);
	p.client.conn = client.conn;
	p.server.conn = server.conn;
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
