// SPDX-License-Identifier: GPL-2.0
/*
 * Every command, with its first, second, third... allocation or copy refused by
 * fault injection, until none is left to refuse. A refused command says so,
 * leaves nothing behind, and works the next time.
 */
#include <sys/syscall.h>

#include "rpma_pair.h"

#define FAILSLAB "/sys/kernel/debug/failslab/"
#define USERCOPY "/sys/kernel/debug/fail_usercopy/"

/* More than any command has places to fail. */
#define MOST 400

static int put_text(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : write(fd, text, strlen(text));

	close(fd);
	return n < 0 ? -1 : 0;
}

FIXTURE(fail_nth) {
	struct pair p;
	int nth;
	int refused;
};

FIXTURE_SETUP(fail_nth)
{
	char path[64];

	SKIP_WITHOUT_RPMA();
	snprintf(path, sizeof(path), "/proc/self/task/%ld/fail-nth", syscall(SYS_gettid));
	self->nth = open(path, O_RDWR | O_CLOEXEC);
	if (self->nth < 0 || put_text(FAILSLAB "ignore-gfp-wait", "N"))
		SKIP(return, "no fault injection here");
	put_text(FAILSLAB "verbose", "0");
	put_text(USERCOPY "verbose", "0");
	pair_open(_metadata, &self->p, (struct pair_opts){ .cq_entries = 64 });
}

FIXTURE_TEARDOWN(fail_nth)
{
	pair_close(&self->p);
	close(self->nth);
}

/* The file's own copies count as well: what is left of the last fault may hit. */
static void arm(FIXTURE_DATA(fail_nth) *self, int n)
{
	char text[16];
	int len = snprintf(text, sizeof(text), "%d", n);

	while (pwrite(self->nth, text, len, 0) != len)
		if (errno != EFAULT)
			abort();
}

/* Was the fault never reached? Disarms it. */
static bool disarm(FIXTURE_DATA(fail_nth) *self)
{
	char text[16] = "";
	bool left = pread(self->nth, text, sizeof(text) - 1, 0) < 0 || atoi(text) != 0;

	arm(self, 0);
	return left;
}

/*
 * ENFILE: rxe gives each queue pair a socket, and that is how those fail.
 * ENOBUFS: so do the routes and neighbours that an address is resolved with.
 */
static bool says_no_memory(int err)
{
	return err == ENOMEM || err == EFAULT || err == ENFILE || err == ENOBUFS;
}

/*
 * Does @call, an expression that is -1 with an errno on failure, with one fault
 * after the other; @undo what succeeded although a fault was swallowed.
 */
#define each_fault(call, undo)						\
	({								\
		int __n, __ret, __errno;				\
		bool __left = false;					\
		for (__n = 1; !__left; __n++) {				\
			ASSERT_GT(MOST, __n);				\
			arm(self, __n);					\
			__ret = call;					\
			__errno = errno;				\
			__left = disarm(self);				\
			if (__ret < 0) {				\
				ASSERT_TRUE(says_no_memory(__errno))		\
					TH_LOG("%s, fault %d: %s", #call, __n, strerror(__errno)); \
				ASSERT_FALSE(__left);			\
				self->refused++;			\
			} else {					\
				undo;					\
			}						\
		}							\
	})

static void device_of(FIXTURE_DATA(fail_nth) *self, struct rpma_ioc_device_resolve *cmd)
{
	memset(cmd, 0, sizeof(*cmd));
	addr_set(cmd->addr, test_addr4(), 0);
}

TEST_F_TIMEOUT(fail_nth, questions, WAIT_SECONDS)
{
	struct rpma_ioc_device_resolve where;
	struct rpma_ioc_device_query device = {};
	struct rpma_ioc_query query = {};
	struct rpma_ioc_conn_query conn = { .conn_fd = self->p.client.conn };
	struct rpma_ioc_conn_modify modify = { .conn_fd = self->p.client.conn };

	device_of(self, &where);
	each_fault(_ioc_query(self->p.fd, &query), (void)0);
	each_fault(_ioc_device_query(self->p.fd, &device), (void)0);
	each_fault(_ioc_device_resolve(self->p.fd, &where), (void)0);
	each_fault(_ioc_conn_query(self->p.fd, &conn), (void)0);
	each_fault(_ioc_conn_modify(self->p.fd, &modify), (void)0);
	EXPECT_LE(5, self->refused);
	expect_usable(_metadata, &self->p);
}

TEST_F_TIMEOUT(fail_nth, peer_create, WAIT_SECONDS)
{
	struct rpma_ioc_peer_create cmd = { .device = _resolve(self->p.fd, test_addr4()) };

	each_fault(_ioc_peer_create(self->p.fd, &cmd), ioc_destroy(self->p.fd, .id = cmd.out_peer));
	EXPECT_LE(2, self->refused);
	expect_usable(_metadata, &self->p);
}

TEST_F_TIMEOUT(fail_nth, mr_reg, WAIT_SECONDS)
{
	struct rpma_ioc_mr_reg cmd = {
		.peer = self->p.peer,
		.access = ACCESS_ALL,
		.addr = (uintptr_t)map_pages(_metadata, 65536),
		.length = 65536,
	};

	each_fault(_ioc_mr_reg(self->p.fd, &cmd), ioc_destroy(self->p.fd, .id = cmd.out_mr));
	EXPECT_LE(2, self->refused);
	expect_usable(_metadata, &self->p);
}

TEST_F_TIMEOUT(fail_nth, destroy, WAIT_SECONDS)
{
	struct region r = region_new(_metadata, self->p.fd, self->p.peer, 4096, ACCESS_ALL);
	struct rpma_ioc_destroy cmd = { .id = r.mr };

	each_fault(_ioc_destroy(self->p.fd, &cmd), ({
		r = region_reg(_metadata, self->p.fd, self->p.peer, r.addr, 4096, ACCESS_ALL);
		cmd.id = r.mr;
	}));
	EXPECT_LE(1, self->refused);
	expect_usable(_metadata, &self->p);
}

TEST_F_TIMEOUT(fail_nth, cq_create, WAIT_SECONDS)
{
	struct rpma_ioc_cq_create cmd = { .peer = self->p.peer, .entries = 16 };

	each_fault(_ioc_cq_create(self->p.fd, &cmd), close(cmd.out_fd));
	EXPECT_LE(2, self->refused);
	expect_usable(_metadata, &self->p);
}

TEST_F_TIMEOUT(fail_nth, ep_listen, WAIT_SECONDS)
{
	struct rpma_ioc_ep_listen cmd = { .peer = self->p.peer };

	addr_set(cmd.addr, test_addr4(), 0);
	each_fault(_ioc_ep_listen(self->p.fd, &cmd), close(cmd.out_fd));
	EXPECT_LE(2, self->refused);
	expect_usable(_metadata, &self->p);
}

TEST_F_TIMEOUT(fail_nth, conn_create, 2 * WAIT_SECONDS)
{
	struct rpma_ioc_conn_create cmd = { .peer = self->p.peer, .timeout_ms = WAIT_MS };

	cmd.queues = side_queues(&self->p.client, &self->p.opts);
	addr_set(cmd.addr, self->p.opts.addr, self->p.port);
	each_fault(_ioc_conn_create(self->p.fd, &cmd), close(cmd.out_fd));
	EXPECT_LE(2, self->refused);
	expect_usable(_metadata, &self->p);
}

/* On failure the incoming connection waits on for another try. */
TEST_F_TIMEOUT(fail_nth, ep_take, 2 * WAIT_SECONDS)
{
	struct side client = side_new(_metadata, &self->p), server = side_new(_metadata, &self->p);
	struct rpma_ioc_ep_take cmd = { .ep_fd = self->p.ep };

	cmd.queues = side_queues(&server, &self->p.opts);
	client_create(_metadata, &self->p, &client);
	ioc_conn_connect(self->p.fd, .conn_fd = client.conn);
	ASSERT_NE(0, POLLIN & poll_for(self->p.ep, POLLIN, WAIT_MS));
	each_fault(_ioc_ep_take(self->p.fd, &cmd), ({
		close(cmd.out_fd);
		close(client.conn);
		client_create(_metadata, &self->p, &client);
		ioc_conn_connect(self->p.fd, .conn_fd = client.conn);
		ASSERT_NE(0, POLLIN & poll_for(self->p.ep, POLLIN, WAIT_MS));
	}));
	EXPECT_LE(2, self->refused);
	side_close(&client);
	side_close(&server);
	expect_usable(_metadata, &self->p);
}

TEST_F_TIMEOUT(fail_nth, requests, WAIT_SECONDS)
{
	struct rpma_request r = req_flush(7, SIGNALED, &self->p.server.mem, 0, 8);
	struct rpma_ioc_flush flush = {
		.flags = SIGNALED,
		.placement = RPMA_FLUSH_GLOBAL,
		.context = 7,
		.len = 8,
		.remote = remote_of(&self->p.server.mem),
	};

	each_fault(_ioc_post(self->p.client.conn, &r, 1),
		   expect_completion(self->p.client.cq, 7, RPMA_OP_FLUSH, 0));
	each_fault(_ioc_flush(self->p.client.conn, &flush),
		   expect_completion(self->p.client.cq, 7, RPMA_OP_FLUSH, 0));
	expect_no_completion(self->p.client.cq);
	EXPECT_LE(2, self->refused);
	expect_usable(_metadata, &self->p);
}

TEST_HARNESS_MAIN
