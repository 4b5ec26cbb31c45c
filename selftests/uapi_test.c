// SPDX-License-Identifier: GPL-2.0
/*
 * The rules that hold for every command: sizes, unknown bits, pointers,
 * 32-bit callers. Includes librpma.h behind the uapi header; librpma_test.c
 * includes them the other way round.
 */
#include <linux/rpma.h>
#include <librpma.h>

#include <signal.h>
#include <setjmp.h>
#include <stddef.h>

#include "rpma_pair.h"

/* Behind which descriptor a command is found. */
enum where { ON_CTX, ON_CONN };

#define CMD(where_, number_, struct_) \
	{ .name = #number_, .number = number_, .where = where_,		\
	  .size = sizeof(struct struct_), .known = sizeof(struct struct_) }

/* One that was published shorter, up to @last_. */
#define CMD_GROWN(where_, number_, struct_, last_)			\
	{ .name = #number_, .number = number_, .where = where_,		\
	  .size = offsetof(struct struct_, last_) + sizeof(((struct struct_ *)0)->last_), \
	  .known = sizeof(struct struct_) }

static const struct cmd {
	const char *name;
	unsigned long number;
	enum where where;
	__u32 size;	/* as first published */
	__u32 known;	/* to this kernel */
} cmds[] = {
	CMD_GROWN(ON_CTX, RPMA_IOC_QUERY, rpma_ioc_query, out_module_version),
	CMD_GROWN(ON_CTX, RPMA_IOC_DEVICE_QUERY, rpma_ioc_device_query, out_name),
	CMD(ON_CTX, RPMA_IOC_DEVICE_RESOLVE, rpma_ioc_device_resolve),
	CMD(ON_CTX, RPMA_IOC_DESTROY, rpma_ioc_destroy),
	CMD(ON_CTX, RPMA_IOC_PEER_CREATE, rpma_ioc_peer_create),
	CMD(ON_CTX, RPMA_IOC_MR_REG, rpma_ioc_mr_reg),
	CMD_GROWN(ON_CTX, RPMA_IOC_CQ_CREATE, rpma_ioc_cq_create, channel_fd),
	CMD(ON_CTX, RPMA_IOC_CHANNEL_CREATE, rpma_ioc_channel_create),
	CMD(ON_CTX, RPMA_IOC_EP_LISTEN, rpma_ioc_ep_listen),
	CMD(ON_CTX, RPMA_IOC_EP_TAKE, rpma_ioc_ep_take),
	CMD(ON_CTX, RPMA_IOC_CONN_CREATE, rpma_ioc_conn_create),
	CMD(ON_CTX, RPMA_IOC_CONN_CONNECT, rpma_ioc_conn_handshake),
	CMD(ON_CTX, RPMA_IOC_CONN_ACCEPT, rpma_ioc_conn_handshake),
	CMD(ON_CTX, RPMA_IOC_CONN_REJECT, rpma_ioc_conn_handshake),
	CMD(ON_CTX, RPMA_IOC_CONN_DISCONNECT, rpma_ioc_conn_disconnect),
	CMD_GROWN(ON_CTX, RPMA_IOC_CONN_QUERY, rpma_ioc_conn_query, out_private_data),
	CMD_GROWN(ON_CTX, RPMA_IOC_CONN_MODIFY, rpma_ioc_conn_modify, peer_timeout_ms),
	CMD(ON_CTX, RPMA_IOC_SRQ_CREATE, rpma_ioc_srq_create),
	CMD(ON_CTX, RPMA_IOC_SRQ_POST, rpma_ioc_srq_post),
	CMD(ON_CONN, RPMA_IOC_POST, rpma_ioc_post),
	CMD(ON_CONN, RPMA_IOC_FLUSH, rpma_ioc_flush),
};

#define for_each_cmd(c) for (c = cmds; c < cmds + sizeof(cmds) / sizeof(cmds[0]); c++)

/* Every field that must be zero, or whose unknown bits must be. */
#define FIELD(where_, number_, struct_, field_)				\
	{ .name = #struct_ "." #field_, .number = number_, .where = where_, \
	  .size = sizeof(struct struct_), .offset = offsetof(struct struct_, field_) }

static const struct field {
	const char *name;
	unsigned long number;
	enum where where;
	__u32 size;
	__u32 offset;
} fields[] = {
	FIELD(ON_CTX, RPMA_IOC_QUERY, rpma_ioc_query, flags),
	FIELD(ON_CTX, RPMA_IOC_QUERY, rpma_ioc_query, __reserved),
	FIELD(ON_CTX, RPMA_IOC_DEVICE_QUERY, rpma_ioc_device_query, flags),
	FIELD(ON_CTX, RPMA_IOC_DEVICE_QUERY, rpma_ioc_device_query, __reserved),
	FIELD(ON_CTX, RPMA_IOC_DEVICE_RESOLVE, rpma_ioc_device_resolve, flags),
	FIELD(ON_CTX, RPMA_IOC_DESTROY, rpma_ioc_destroy, flags),
	FIELD(ON_CTX, RPMA_IOC_DESTROY, rpma_ioc_destroy, __reserved),
	FIELD(ON_CTX, RPMA_IOC_PEER_CREATE, rpma_ioc_peer_create, flags),
	FIELD(ON_CTX, RPMA_IOC_PEER_CREATE, rpma_ioc_peer_create, __reserved),
	FIELD(ON_CTX, RPMA_IOC_MR_REG, rpma_ioc_mr_reg, flags),
	FIELD(ON_CTX, RPMA_IOC_MR_REG, rpma_ioc_mr_reg, access),
	FIELD(ON_CTX, RPMA_IOC_CQ_CREATE, rpma_ioc_cq_create, flags),
	FIELD(ON_CTX, RPMA_IOC_CQ_CREATE, rpma_ioc_cq_create, channel_fd),
	FIELD(ON_CTX, RPMA_IOC_CHANNEL_CREATE, rpma_ioc_channel_create, flags),
	FIELD(ON_CTX, RPMA_IOC_CHANNEL_CREATE, rpma_ioc_channel_create, __reserved),
	FIELD(ON_CTX, RPMA_IOC_EP_LISTEN, rpma_ioc_ep_listen, flags),
	FIELD(ON_CTX, RPMA_IOC_EP_LISTEN, rpma_ioc_ep_listen, __reserved),
	FIELD(ON_CTX, RPMA_IOC_EP_TAKE, rpma_ioc_ep_take, flags),
	FIELD(ON_CTX, RPMA_IOC_CONN_CREATE, rpma_ioc_conn_create, flags),
	FIELD(ON_CTX, RPMA_IOC_CONN_CREATE, rpma_ioc_conn_create, __reserved),
	FIELD(ON_CTX, RPMA_IOC_CONN_CONNECT, rpma_ioc_conn_handshake, flags),
	FIELD(ON_CTX, RPMA_IOC_CONN_ACCEPT, rpma_ioc_conn_handshake, flags),
	FIELD(ON_CTX, RPMA_IOC_CONN_REJECT, rpma_ioc_conn_handshake, flags),
	FIELD(ON_CTX, RPMA_IOC_CONN_DISCONNECT, rpma_ioc_conn_disconnect, flags),
	FIELD(ON_CTX, RPMA_IOC_CONN_QUERY, rpma_ioc_conn_query, flags),
	FIELD(ON_CTX, RPMA_IOC_CONN_QUERY, rpma_ioc_conn_query, __reserved),
	FIELD(ON_CTX, RPMA_IOC_CONN_MODIFY, rpma_ioc_conn_modify, flags),
	FIELD(ON_CTX, RPMA_IOC_CONN_MODIFY, rpma_ioc_conn_modify, __reserved),
	FIELD(ON_CTX, RPMA_IOC_CONN_MODIFY, rpma_ioc_conn_modify, mask),
	FIELD(ON_CTX, RPMA_IOC_SRQ_CREATE, rpma_ioc_srq_create, flags),
	FIELD(ON_CTX, RPMA_IOC_SRQ_CREATE, rpma_ioc_srq_create, __reserved),
	FIELD(ON_CTX, RPMA_IOC_SRQ_POST, rpma_ioc_srq_post, flags),
	FIELD(ON_CTX, RPMA_IOC_SRQ_POST, rpma_ioc_srq_post, __reserved),
	FIELD(ON_CONN, RPMA_IOC_POST, rpma_ioc_post, flags),
	FIELD(ON_CONN, RPMA_IOC_FLUSH, rpma_ioc_flush, flags),
	FIELD(ON_CONN, RPMA_IOC_FLUSH, rpma_ioc_flush, post_flags),
};

FIXTURE(uapi) {
	struct pair p;
};

FIXTURE_SETUP(uapi)
{
	SKIP_WITHOUT_RPMA();
	pair_open(_metadata, &self->p, (struct pair_opts){});
}

FIXTURE_TEARDOWN(uapi)
{
	pair_close(&self->p);
}

static int fd_of(const struct pair *p, enum where where)
{
	return where == ON_CONN ? p->client.conn : p->fd;
}

/* An all-zero command with room for a tail. */
union any {
	__u32 size;
	__u8 bytes[1024];
};

static int call(const struct pair *p, const struct cmd *c, union any *cmd, __u32 size)
{
	cmd->size = size;
	return ioctl(fd_of(p, c->where), c->number, cmd);
}

TEST_F(uapi, too_short_is_einval)
{
	const struct cmd *c;

	for_each_cmd(c) {
		for (__u32 size = 0; size < c->size; size += 4) {
			union any cmd = {};

			ASSERT_EQ(-1, call(&self->p, c, &cmd, size))
				TH_LOG("%s size %u", c->name, size);
			ASSERT_EQ(EINVAL, errno)
				TH_LOG("%s size %u: %s", c->name, size, strerror(errno));
		}
	}
}

TEST_F(uapi, unknown_tail_is_e2big)
{
	const struct cmd *c;

	for_each_cmd(c) {
		union any cmd = {};

		cmd.bytes[c->known + 7] = 1;
		ASSERT_EQ(-1, call(&self->p, c, &cmd, c->known + 8))
			TH_LOG("%s", c->name);
		ASSERT_EQ(E2BIG, errno)
			TH_LOG("%s: %s", c->name, strerror(errno));
	}
}

/* The answer, whatever it is, does not depend on zeros behind the structure. */
TEST_F(uapi, zero_tail_makes_no_difference)
{
	const struct cmd *c;

	for_each_cmd(c) {
		union any exact = {}, longer = {};
		int want, want_errno, got;

		want = call(&self->p, c, &exact, c->size);
		want_errno = want < 0 ? errno : 0;
		got = call(&self->p, c, &longer, c->size + 64);
		ASSERT_EQ(want, got)
			TH_LOG("%s: %s", c->name, strerror(errno));
		ASSERT_EQ(want_errno, got < 0 ? errno : 0)
			TH_LOG("%s: %s", c->name, strerror(errno));
	}
}

/* A program compiled before the structure grew neither gives nor gets the rest. */
TEST_F(uapi, structures_of_the_first_size_still_work)
{
	struct rpma_ioc_conn_query q = {
		.size = offsetof(struct rpma_ioc_conn_query, out_peer_flags),
		.conn_fd = self->p.client.conn,
		.out_peer_flags = 0xdead,
	};
	struct rpma_ioc_conn_modify m = {
		.size = offsetof(struct rpma_ioc_conn_modify, flush_method),
		.conn_fd = self->p.client.conn,
		.mask = RPMA_CONN_MODIFY_DIRECT_WRITE,
	};

	ASSERT_EQ(0, ioctl(self->p.fd, RPMA_IOC_CONN_QUERY, &q));
	ASSERT_EQ(RPMA_CONN_STATE_ESTABLISHED, q.out_state);
	ASSERT_EQ(0xdead, q.out_peer_flags);
	ASSERT_EQ(0, ioctl(self->p.fd, RPMA_IOC_CONN_MODIFY, &m));
}

TEST_F(uapi, longer_structures_work_when_the_tail_is_zero)
{
	struct {
		struct rpma_ioc_mr_reg cmd;
		__u8 tail[48];
	} reg = {};
	struct {
		struct rpma_ioc_flush cmd;
		__u8 tail[48];
	} flush = {};

	reg.cmd = (struct rpma_ioc_mr_reg){
		.size = sizeof(reg),
		.peer = self->p.peer,
		.access = RPMA_ACCESS_WRITE_DST,
		.addr = (uintptr_t)self->p.client.mem.addr,
		.length = 4096,
	};
	ASSERT_EQ(0, ioctl(self->p.fd, RPMA_IOC_MR_REG, &reg));
	ASSERT_NE(0, reg.cmd.out_mr);

	flush.cmd = (struct rpma_ioc_flush){
		.size = sizeof(flush),
		.flags = SIGNALED,
		.placement = RPMA_FLUSH_GLOBAL,
		.context = 7,
		.len = 8,
		.remote = remote_of(&self->p.server.mem),
	};
	ASSERT_EQ(0, ioctl(self->p.client.conn, RPMA_IOC_FLUSH, &flush));
	expect_completion(self->p.client.cq, 7, RPMA_OP_FLUSH, RPMA_STATUS_SUCCESS);
}

/* A later, longer structure changes the size that is encoded in the number. */
TEST_F(uapi, number_of_a_longer_structure_is_the_same_command)
{
	struct {
		struct rpma_ioc_query cmd;
		__u8 tail[16];
	} query = { .cmd.size = sizeof(query) };

	/* The number does not say how long the structure is. */
	ASSERT_EQ(0, _IOC_SIZE(RPMA_IOC_QUERY));
	ASSERT_EQ(0, ioctl(self->p.fd, RPMA_IOC_QUERY, &query))
		TH_LOG("%s", strerror(errno));
	ASSERT_EQ(RPMA_ABI_REVISION, query.cmd.out_abi_revision);
}

TEST_F(uapi, unknown_bits_and_reserved_bytes_are_eopnotsupp)
{
	for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) {
		const struct field *f = &fields[i];
		union any cmd = { .size = f->size };
		__u32 bit = 1u << 31;

		memcpy(cmd.bytes + f->offset, &bit, sizeof(bit));
		ASSERT_EQ(-1, ioctl(fd_of(&self->p, f->where), f->number, &cmd))
			TH_LOG("%s", f->name);
		ASSERT_EQ(EOPNOTSUPP, errno)
			TH_LOG("%s: %s", f->name, strerror(errno));
	}
}

TEST_F(uapi, unknown_command_is_enotty)
{
	int fds[] = { self->p.fd, self->p.client.cq, self->p.client.conn, self->p.ep };
	union any cmd = { .size = 64 };

	for (size_t i = 0; i < sizeof(fds) / sizeof(fds[0]); i++) {
		EXPECT_ERRNO(ENOTTY, ioctl(fds[i], _IOWR(RPMA_IOC_TYPE, 0xff, __u32), &cmd));
		EXPECT_ERRNO(ENOTTY, ioctl(fds[i], _IOWR(0xbe, RPMA_CMD_QUERY, __u32), &cmd));
		EXPECT_ERRNO(ENOTTY, ioctl(fds[i], _IOWR(RPMA_IOC_TYPE, 0x02 + 0x60, __u32), &cmd));
	}
}

TEST_F(uapi, command_on_the_wrong_descriptor_is_enotty)
{
	union any cmd = { .size = sizeof(struct rpma_ioc_query) };

	EXPECT_ERRNO(ENOTTY, ioctl(self->p.client.cq, RPMA_IOC_QUERY, &cmd));
	EXPECT_ERRNO(ENOTTY, ioctl(self->p.client.conn, RPMA_IOC_QUERY, &cmd));
	EXPECT_ERRNO(ENOTTY, ioctl(self->p.ep, RPMA_IOC_QUERY, &cmd));
	EXPECT_ERRNO(ENOTTY, ioctl(self->p.fd, RPMA_IOC_POST, &cmd));
	EXPECT_ERRNO(ENOTTY, ioctl(self->p.client.cq, RPMA_IOC_FLUSH, &cmd));
	EXPECT_ERRNO(ENOTTY, ioctl(self->p.fd, RPMA_IOC_CQ_POLL, 0));
	EXPECT_ERRNO(ENOTTY, ioctl(self->p.client.conn, RPMA_IOC_CQ_WAIT, 0));
}

TEST_F(uapi, bad_pointer_is_efault)
{
	__u8 *pages = map_pages(_metadata, 8192);
	const struct cmd *c;

	ASSERT_EQ(0, munmap(pages + 4096, 4096));
	for_each_cmd(c) {
		__u32 *last = (__u32 *)(pages + 4096 - sizeof(__u32));
		int fd = fd_of(&self->p, c->where);

		EXPECT_ERRNO(EFAULT, ioctl(fd, c->number, NULL));
		EXPECT_ERRNO(EFAULT, ioctl(fd, c->number, (void *)-8L));
		/* The size can be read, the rest cannot. */
		*last = c->size;
		EXPECT_ERRNO(EFAULT, ioctl(fd, c->number, last));
	}
}

/* The answer cannot be written: the object must not stay behind. */
TEST_F(uapi, unwritable_answer_creates_nothing)
{
	struct rpma_ioc_peer_create *cmd = (void *)map_pages(_metadata, 4096);
	struct rpma_ioc_mr_reg *reg = (void *)(cmd + 1);
	struct rpma_ioc_cq_create *cq = (void *)(reg + 1);
	__u32 peer = peer_new(_metadata, self->p.fd);
	int free_fd = dup(self->p.fd);

	close(free_fd);
	reg->size = sizeof(*reg);
	reg->peer = peer;
	reg->access = RPMA_ACCESS_WRITE_DST;
	reg->addr = (uintptr_t)self->p.client.mem.addr;
	reg->length = 4096;
	cq->size = sizeof(*cq);
	cq->peer = peer;
	cq->entries = 4;
	ASSERT_EQ(0, mprotect(cmd, 4096, PROT_READ));
	EXPECT_ERRNO(EFAULT, ioctl(self->p.fd, RPMA_IOC_MR_REG, reg));
	EXPECT_ERRNO(EFAULT, ioctl(self->p.fd, RPMA_IOC_CQ_CREATE, cq));

	/* The descriptor was not used up, and the peer has no user. */
	ASSERT_EQ(free_fd, dup(self->p.fd));
	close(free_fd);
	ioc_destroy(self->p.fd, .id = peer);
}

TEST_F(uapi, entry_value_of_out_fields_is_ignored)
{
	struct rpma_ioc_query q = { .out_abi_revision = ~0u, .out_max_mrs = ~0u };
	struct rpma_ioc_conn_query c = {
		.conn_fd = self->p.client.conn,
		.out_state = ~0u,
		.out_posted = ~0ULL,
	};

	memset(q.out_module_version, 0xff, sizeof(q.out_module_version));
	memset(c.out_private_data, 0xff, sizeof(c.out_private_data));
	ASSERT_EQ(0, _ioc_query(self->p.fd, &q));
	EXPECT_EQ(RPMA_ABI_REVISION, q.out_abi_revision);
	EXPECT_EQ(0, q.out_module_version[sizeof(q.out_module_version) - 1]);
	ASSERT_EQ(0, _ioc_conn_query(self->p.fd, &c));
	EXPECT_EQ(RPMA_CONN_STATE_ESTABLISHED, c.out_state);
	for (__u32 i = c.out_private_data_len; i < RPMA_PRIVATE_DATA_MAX; i++)
		ASSERT_EQ(0, c.out_private_data[i]);
}

TEST_F(uapi, query_says_what_there_is)
{
	struct rpma_ioc_query q = ioc_query(self->p.fd);

	EXPECT_EQ(RPMA_ABI_REVISION, q.out_abi_revision);
	EXPECT_LE(1, q.out_nr_devices);
	EXPECT_LE(1, q.out_max_peers);
	EXPECT_LE(1, q.out_max_mrs);
	EXPECT_LE(1, q.out_max_cqs);
	EXPECT_LE(1, q.out_max_eps);
	EXPECT_LE(1, q.out_max_conns);
	EXPECT_LE(1, q.out_max_user_conns);
	EXPECT_LE(1, q.out_max_queue_size);
	EXPECT_LE(1, q.out_max_backlog);
	EXPECT_LE(1, q.out_max_pinned_bytes);
	EXPECT_LE(1, q.out_max_user_pinned_bytes);
	EXPECT_EQ(0x1fe, q.out_ops);
	EXPECT_LT(0, strlen((char *)q.out_module_version));
}

TEST_F(uapi, device_has_no_read_write_interface)
{
	char byte = 0;

	EXPECT_EQ(-1, write(self->p.fd, &byte, 1));
	EXPECT_EQ(-1, read(self->p.fd, &byte, 1));
	EXPECT_EQ(-1, write(self->p.client.conn, &byte, 1));
	EXPECT_EQ(-1, write(self->p.client.cq, &byte, 1));
	EXPECT_EQ(-1, write(self->p.ep, &byte, 1));
}

TEST_F(uapi, descriptors_are_close_on_exec)
{
	EXPECT_EQ(FD_CLOEXEC, fcntl(self->p.client.cq, F_GETFD));
	EXPECT_EQ(FD_CLOEXEC, fcntl(self->p.client.conn, F_GETFD));
	EXPECT_EQ(FD_CLOEXEC, fcntl(self->p.server.conn, F_GETFD));
	EXPECT_EQ(FD_CLOEXEC, fcntl(self->p.ep, F_GETFD));
}

/* ---- 32-bit callers: int 0x80 enters the kernel as they do ---- */

static sigjmp_buf no_compat;

static void no_compat_handler(int sig)
{
	siglongjmp(no_compat, sig);
}

static long compat_ioctl(int fd, unsigned long number, void *arg)
{
	long ret;

	asm volatile("int $0x80" : "=a"(ret)
		     : "a"(54 /* ioctl */), "b"((long)fd), "c"(number), "d"(arg)
		     : "memory", "r8", "r9", "r10", "r11");
	return (int)ret;
}

TEST_F(uapi, commands_work_from_32_bit_callers)
{
	struct rpma_ioc_query *q = mmap(NULL, 4096, PROT_READ | PROT_WRITE,
					MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0);
	struct rpma_ioc_flush *f = (void *)(q + 1);
	struct rpma_request *r = (void *)(f + 1);
	struct rpma_ioc_post *post = (void *)(r + 1);

	ASSERT_NE(MAP_FAILED, (void *)q);
	signal(SIGSEGV, no_compat_handler);
	if (sigsetjmp(no_compat, 1))
		SKIP(return, "this kernel takes no 32-bit system calls");
	q->size = sizeof(*q);
	ASSERT_EQ(0, compat_ioctl(self->p.fd, RPMA_IOC_QUERY, q));
	ASSERT_EQ(RPMA_ABI_REVISION, q->out_abi_revision);
	signal(SIGSEGV, SIG_DFL);

	*f = (struct rpma_ioc_flush){ .size = sizeof(*f), .flags = SIGNALED, .context = 1,
				      .placement = RPMA_FLUSH_GLOBAL, .len = 1,
				      .remote = remote_of(&self->p.server.mem) };
	ASSERT_EQ(0, compat_ioctl(self->p.client.conn, RPMA_IOC_FLUSH, f));
	expect_completion(self->p.client.cq, 1, RPMA_OP_FLUSH, RPMA_STATUS_SUCCESS);

	*r = req_flush(2, SIGNALED, &self->p.server.mem, 0, 8);
	*post = (struct rpma_ioc_post){ .size = sizeof(*post), .requests = (uintptr_t)r,
					.nr = 1, .request_size = sizeof(*r) };
	ASSERT_EQ(1, compat_ioctl(self->p.client.conn, RPMA_IOC_POST, post));
	expect_completion(self->p.client.cq, 2, RPMA_OP_FLUSH, RPMA_STATUS_SUCCESS);
	ASSERT_LE(0, compat_ioctl(self->p.client.cq, RPMA_IOC_CQ_POLL, NULL));
	ASSERT_EQ(-EBADF, compat_ioctl(-1, RPMA_IOC_QUERY, q));
}

/* Sizes and offsets are the same for every ABI: no holes, nothing implicit. */
_Static_assert(sizeof(struct rpma_ioc_query) == 112, "query");
_Static_assert(sizeof(struct rpma_ioc_device_query) == 128, "device_query");
_Static_assert(sizeof(struct rpma_ioc_device_resolve) == 80, "device_resolve");
_Static_assert(sizeof(struct rpma_ioc_destroy) == 16, "destroy");
_Static_assert(sizeof(struct rpma_ioc_peer_create) == 24, "peer_create");
_Static_assert(sizeof(struct rpma_ioc_mr_reg) == 48, "mr_reg");
_Static_assert(sizeof(struct rpma_ioc_cq_create) == 40, "cq_create");
_Static_assert(sizeof(struct rpma_ioc_channel_create) == 16, "channel_create");
_Static_assert(sizeof(struct rpma_channel_event) == 16, "channel_event");
_Static_assert(sizeof(struct rpma_ioc_ep_listen) == 152, "ep_listen");
_Static_assert(sizeof(struct rpma_conn_queues) == 24, "queues");
_Static_assert(sizeof(struct rpma_ioc_ep_take) == 40, "ep_take");
_Static_assert(sizeof(struct rpma_ioc_conn_create) == 112, "conn_create");
_Static_assert(sizeof(struct rpma_ioc_conn_handshake) == 272, "handshake");
_Static_assert(sizeof(struct rpma_ioc_conn_disconnect) == 16, "disconnect");
_Static_assert(sizeof(struct rpma_ioc_conn_query) == 320, "conn_query");
_Static_assert(sizeof(struct rpma_ioc_conn_modify) == 32, "conn_modify");
_Static_assert(sizeof(struct rpma_ioc_srq_create) == 24, "srq_create");
_Static_assert(sizeof(struct rpma_ioc_srq_post) == 32, "srq_post");
_Static_assert(sizeof(struct rpma_request) == 88, "request");
_Static_assert(sizeof(struct rpma_ioc_post) == 24, "post");
_Static_assert(sizeof(struct rpma_ioc_flush) == 64, "flush");
_Static_assert(sizeof(struct rpma_completion) == 48, "completion");
_Static_assert(sizeof(struct rpma_event) == 16, "event");
_Static_assert(sizeof(struct rpma_cq_ring) == 64, "cq_ring");

TEST_HARNESS_MAIN
