// SPDX-License-Identifier: BSD-3-Clause
/* The library on a make-believe kernel: what it asks of it and makes of it. */
#include <arpa/inet.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "fake_kernel.h"
#include "librpma.h"
#include "tap.h"

#define CONTEXT ((void *)0x1122334455667788)

static char memory[4096];

/* ---- fixtures ------------------------------------------------------------ */

static struct rpma_peer *make_peer(void)
{
	struct rpma_peer *peer = NULL;
	struct ibv_context *ctx;

	if (rpma_utils_get_ibv_context("127.0.0.1", RPMA_UTIL_IBV_CONTEXT_LOCAL, &ctx) ||
	    rpma_peer_new(ctx, &peer))
		abort();
	return peer;
}

static struct rpma_conn *make_conn(struct rpma_peer *peer, const struct rpma_conn_cfg *cfg)
{
	struct rpma_conn_req *req;
	struct rpma_conn *conn;

	if (rpma_conn_req_new(peer, "127.0.0.1", "7204", cfg, &req) ||
	    rpma_conn_req_connect(&req, NULL, &conn))
		abort();
	return conn;
}

static struct rpma_mr_local *make_local(struct rpma_peer *peer, int usage)
{
	struct rpma_mr_local *mr;

	if (rpma_mr_reg(peer, memory, sizeof(memory), usage, &mr))
		abort();
	return mr;
}

static struct rpma_mr_remote *make_remote(uint8_t usage)
{
	uint8_t desc[21] = { 0x88, 0x77, 0x66, 0x55, 0x44, 0x33, 0x22, 0x11,
			     0x00, 0x10, 0, 0, 0, 0, 0, 0, 0xd4, 0xc3, 0xb2, 0xa1, usage };
	struct rpma_mr_remote *mr;

	if (rpma_mr_remote_from_descriptor(desc, sizeof(desc), &mr))
		abort();
	return mr;
}

/* The last message that was logged. */
static char logged[1024];
static enum rpma_log_level logged_level;

static void keep_log(enum rpma_log_level level, const char *file_name, const int line_no,
		     const char *function_name, const char *message_format, ...)
{
	va_list args;

	(void)file_name;
	(void)line_no;
	(void)function_name;
	va_start(args, message_format);
	vsnprintf(logged, sizeof(logged), message_format, args);
	va_end(args);
	logged_level = level;
	errno = EDOM;
}

/* ---- context and peer ---------------------------------------------------- */

static void test_context(void)
{
	struct ibv_context *a = NULL, *b = NULL, *c = NULL, foreign = { 0 };
	struct rpma_peer *peer = NULL;

	ok(rpma_utils_get_ibv_context(NULL, RPMA_UTIL_IBV_CONTEXT_LOCAL, &a) == RPMA_E_INVAL,
	   "context: no address");
	ok(rpma_utils_get_ibv_context("127.0.0.1", RPMA_UTIL_IBV_CONTEXT_LOCAL, NULL) ==
	   RPMA_E_INVAL, "context: no result");
	ok(rpma_utils_get_ibv_context("127.0.0.1", 2, &a) == RPMA_E_INVAL && !a,
	   "context: unknown type");
	ok(rpma_utils_get_ibv_context("not an address", RPMA_UTIL_IBV_CONTEXT_LOCAL, &a) ==
	   RPMA_E_PROVIDER && !a, "context: not an address");

	fake.open_ret = -EACCES;
	ok(rpma_utils_get_ibv_context("127.0.0.1", RPMA_UTIL_IBV_CONTEXT_LOCAL, &a) ==
	   RPMA_E_PROVIDER && errno == EACCES && strstr(logged, "group rdma"),
	   "context: no permission, and what to do");
	fake.open_ret = -ENOENT;
	ok(rpma_utils_get_ibv_context("127.0.0.1", RPMA_UTIL_IBV_CONTEXT_LOCAL, &a) ==
	   RPMA_E_PROVIDER && errno == ENOENT && strstr(logged, "modprobe"),
	   "context: no device node, and what to do");
	fake.open_ret = 0;
	fake.resolve_ret = -ENODEV;
	ok(rpma_utils_get_ibv_context("127.0.0.1", RPMA_UTIL_IBV_CONTEXT_REMOTE, &a) ==
	   RPMA_E_PROVIDER && errno == ENODEV && !a, "context: no RDMA device");
	fake.resolve_ret = 0;

	ok(!rpma_utils_get_ibv_context("127.0.0.1", RPMA_UTIL_IBV_CONTEXT_LOCAL, &a) && a,
	   "context: made");
	ok(!rpma_utils_get_ibv_context("127.0.0.3", RPMA_UTIL_IBV_CONTEXT_REMOTE, &b) && a == b,
	   "context: one per device");
	ok(!rpma_utils_get_ibv_context("127.0.0.2", RPMA_UTIL_IBV_CONTEXT_LOCAL, &c) && a != c,
	   "context: another device's");
	ok(!strcmp(a->device->name, "rxe0") && !strcmp(c->device->name, "rxe1"),
	   "context: has its device's name");
	ok(fake.fds == 0, "context: keeps no descriptor");

	ok(rpma_peer_new(NULL, &peer) == RPMA_E_INVAL, "peer: no context");
	ok(rpma_peer_new(a, NULL) == RPMA_E_INVAL, "peer: no result");
	ok(rpma_peer_new(&foreign, &peer) == RPMA_E_INVAL && !peer, "peer: foreign context");
	ok(rpma_peer_new((void *)16, &peer) == RPMA_E_INVAL && !peer, "peer: wild context");
	fake.peer_create_ret = -ENOMEM;
	ok(rpma_peer_new(a, &peer) == RPMA_E_NOMEM && !peer && !fake.fds, "peer: out of memory");
	fake.peer_create_ret = -ENODEV;
	ok(rpma_peer_new(a, &peer) == RPMA_E_PROVIDER && errno == ENODEV && !fake.fds,
	   "peer: device is gone");
	fake.peer_create_ret = 0;

	ok(!rpma_peer_new(a, &peer) && peer, "peer: made");
	fake.peer_destroy_ret = -EBUSY;
	ok(rpma_peer_delete(&peer) == RPMA_E_PROVIDER && errno == EBUSY && peer,
	   "peer: stays while it is used");
	fake.peer_destroy_ret = 0;
	ok(!rpma_peer_delete(&peer) && !peer, "peer: deleted");
	ok(!rpma_peer_delete(&peer), "peer: deleting none");
	ok(rpma_peer_delete(NULL) == RPMA_E_INVAL, "peer: delete NULL");
}

/* ---- memory regions ------------------------------------------------------ */

static void test_mr(struct rpma_peer *peer)
{
	static const struct {
		int usage;
		uint32_t access;
	} accesses[] = {
		/* one's own memory can always be sent and written from */
		{ RPMA_MR_USAGE_READ_SRC, 0x01 | 0x44 },
		{ RPMA_MR_USAGE_READ_DST, 0x02 | 0x44 | 0x80 },
		{ RPMA_MR_USAGE_WRITE_SRC, 0x04 | 0x44 },
		{ RPMA_MR_USAGE_WRITE_DST, 0x08 | 0x44 | 0x82 },
		{ RPMA_MR_USAGE_FLUSH_TYPE_VISIBILITY, 0x10 | 0x44 },
		{ RPMA_MR_USAGE_FLUSH_TYPE_PERSISTENT, 0x20 | 0x44 },
		{ RPMA_MR_USAGE_SEND, 0x40 | 0x44 },
		{ RPMA_MR_USAGE_RECV, 0x80 | 0x44 },
	};
	const int all = 0xff;
	uint8_t desc[21], want[21];
	struct rpma_mr_local *mr = NULL;
	size_t size = 0;
	void *ptr = NULL;
	unsigned int i;

	ok(rpma_mr_reg(NULL, memory, 1, all, &mr) == RPMA_E_INVAL, "mr: no peer");
	ok(rpma_mr_reg(peer, NULL, 1, all, &mr) == RPMA_E_INVAL, "mr: no memory");
	ok(rpma_mr_reg(peer, memory, 0, all, &mr) == RPMA_E_INVAL, "mr: no bytes");
	ok(rpma_mr_reg(peer, memory, 1, 0, &mr) == RPMA_E_INVAL, "mr: no usage");
	ok(rpma_mr_reg(peer, memory, 1, 0x100, &mr) == RPMA_E_INVAL, "mr: unknown usage");
	ok(rpma_mr_reg(peer, memory, 1, all, NULL) == RPMA_E_INVAL, "mr: no result");

	fake.mr_reg_ret = -EOPNOTSUPP;
	ok(rpma_mr_reg(peer, memory, 1, RPMA_MR_USAGE_FLUSH_TYPE_PERSISTENT, &mr) ==
	   RPMA_E_NOSUPP && !mr && strstr(logged, "RPMA_PERSISTENT_BY_READ"),
	   "mr: not persistent memory, and what to do");
	ok(rpma_mr_reg(peer, memory, 1, RPMA_MR_USAGE_WRITE_DST, &mr) == RPMA_E_NOSUPP &&
	   strstr(logged, "fsdax"), "mr: memory that cannot be pinned, and what to do");
	fake.mr_reg_ret = -ENOMEM;
	ok(rpma_mr_reg(peer, memory, 1, all, &mr) == RPMA_E_PROVIDER && errno == ENOMEM && !mr,
	   "mr: locked memory is limited");
	fake.mr_reg_ret = -EFAULT;
	ok(rpma_mr_reg(peer, memory, 1, all, &mr) == RPMA_E_PROVIDER && errno == EFAULT,
	   "mr: not mapped");
	fake.mr_reg_ret = -EDQUOT;
	ok(rpma_mr_reg(peer, memory, 1, all, &mr) == RPMA_E_PROVIDER && errno == EDQUOT &&
	   strstr(logged, "parameters"), "mr: over a limit, and what to do");
	fake.mr_reg_ret = 0;

	for (i = 0; i < sizeof(accesses) / sizeof(accesses[0]); i++) {
		ok(!rpma_mr_reg(peer, memory, 1, accesses[i].usage, &mr) &&
		   fake.mr_reg.access == accesses[i].access && !fake.mr_reg.flags,
		   "mr: access for usage 0x%x", accesses[i].usage);
		ok(!rpma_mr_dereg(&mr) && !mr, "mr: deregistered");
	}

	mr = make_local(peer, 0x2a);
	ok(fake.mr_reg.addr == (uintptr_t)memory && fake.mr_reg.length == sizeof(memory) &&
	   fake.mr_reg.peer == 11, "mr: registers what it was given");
	ok(!rpma_mr_get_ptr(mr, &ptr) && ptr == memory, "mr: pointer");
	ok(!rpma_mr_get_size(mr, &size) && size == sizeof(memory), "mr: size");
	ok(!rpma_mr_get_descriptor_size(mr, &size) && size == 21, "mr: descriptor size");
	for (i = 0; i < 8; i++)
		want[i] = (uintptr_t)memory >> 8 * i;
	memcpy(want + 8, "\x00\x10\0\0\0\0\0\0\xd4\xc3\xb2\xa1\x2a", 13);
	ok(!rpma_mr_get_descriptor(mr, desc) && !memcmp(desc, want, 21),
	   "mr: descriptor is librpma's");
	ok(rpma_mr_get_ptr(NULL, &ptr) == RPMA_E_INVAL && rpma_mr_get_ptr(mr, NULL) == RPMA_E_INVAL,
	   "mr: pointer of NULL");
	ok(rpma_mr_get_size(NULL, &size) == RPMA_E_INVAL &&
	   rpma_mr_get_size(mr, NULL) == RPMA_E_INVAL, "mr: size of NULL");
	ok(rpma_mr_get_descriptor(NULL, desc) == RPMA_E_INVAL &&
	   rpma_mr_get_descriptor(mr, NULL) == RPMA_E_INVAL, "mr: descriptor of NULL");
	ok(rpma_mr_get_descriptor_size(NULL, &size) == RPMA_E_INVAL &&
	   rpma_mr_get_descriptor_size(mr, NULL) == RPMA_E_INVAL, "mr: descriptor size of NULL");

	fake.mr_destroy_ret = -EBUSY;
	ok(rpma_mr_dereg(&mr) == RPMA_E_PROVIDER && errno == EBUSY && mr,
	   "mr: stays if it cannot be deregistered");
	fake.mr_destroy_ret = -ENODEV;
	ok(!rpma_mr_dereg(&mr) && !mr, "mr: went with its device");
	fake.mrs--;
	fake.mr_destroy_ret = 0;
	ok(!rpma_mr_dereg(&mr) && rpma_mr_dereg(NULL) == RPMA_E_INVAL, "mr: deregister none, NULL");
}

static void test_persistent_by_read(void)
{
	struct rpma_mr_local *mr;
	struct rpma_peer *peer;

	setenv("RPMA_PERSISTENT_BY_READ", "1", 1);
	peer = make_peer();
	unsetenv("RPMA_PERSISTENT_BY_READ");
	mr = make_local(peer, RPMA_MR_USAGE_FLUSH_TYPE_PERSISTENT);
	ok(fake.mr_reg.flags == RPMA_MR_REG_F_PERSISTENT_BY_READ, "mr: RPMA_PERSISTENT_BY_READ=1");
	rpma_mr_dereg(&mr);
	rpma_peer_delete(&peer);
}

static void test_mr_remote(void)
{
	struct rpma_mr_remote *mr = NULL;
	uint8_t desc[32] = { 0 };
	size_t size = 0;
	int type = 0;

	ok(rpma_mr_remote_from_descriptor(NULL, 21, &mr) == RPMA_E_INVAL, "remote: no bytes");
	ok(rpma_mr_remote_from_descriptor(desc, 21, NULL) == RPMA_E_INVAL, "remote: no result");
	desc[20] = 0xff;
	ok(rpma_mr_remote_from_descriptor(desc, 20, &mr) == RPMA_E_INVAL && !mr,
	   "remote: too few bytes");
	ok(rpma_mr_remote_from_descriptor(desc, 0, &mr) == RPMA_E_INVAL && !mr, "remote: 0 bytes");
	desc[20] = 0;
	ok(rpma_mr_remote_from_descriptor(desc, 21, &mr) == RPMA_E_INVAL && !mr,
	   "remote: no usage");
	memset(desc, 0xff, sizeof(desc));
	ok(rpma_mr_remote_from_descriptor(desc, 21, &mr) == RPMA_E_NOSUPP && !mr,
	   "remote: end wraps around");

	mr = make_remote(RPMA_MR_USAGE_FLUSH_TYPE_PERSISTENT | RPMA_MR_USAGE_WRITE_DST);
	ok(!rpma_mr_remote_get_size(mr, &size) && size == 4096, "remote: size");
	ok(!rpma_mr_remote_get_flush_type(mr, &type) &&
	   type == RPMA_MR_USAGE_FLUSH_TYPE_PERSISTENT, "remote: flush type");
	ok(rpma_mr_remote_get_size(NULL, &size) == RPMA_E_INVAL &&
	   rpma_mr_remote_get_size(mr, NULL) == RPMA_E_INVAL, "remote: size of NULL");
	ok(rpma_mr_remote_get_flush_type(NULL, &type) == RPMA_E_INVAL &&
	   rpma_mr_remote_get_flush_type(mr, NULL) == RPMA_E_INVAL, "remote: flush type of NULL");
	ok(!rpma_mr_remote_delete(&mr) && !mr && !rpma_mr_remote_delete(&mr) &&
	   rpma_mr_remote_delete(NULL) == RPMA_E_INVAL, "remote: delete, none, NULL");
}

/* ---- configurations ------------------------------------------------------ */

static void test_peer_cfg(void)
{
	struct rpma_peer_cfg *cfg = NULL;
	uint8_t desc[2] = { 0xee, 0xee };
	size_t size = 0;
	bool direct;

	ok(rpma_peer_cfg_new(NULL) == RPMA_E_INVAL, "peer_cfg: no result");
	ok(!rpma_peer_cfg_new(&cfg) && cfg, "peer_cfg: made");
	direct = true;
	ok(!rpma_peer_cfg_get_direct_write_to_pmem(cfg, &direct) && !direct,
	   "peer_cfg: no direct write at first");
	ok(!rpma_peer_cfg_get_descriptor_size(cfg, &size) && size == 1, "peer_cfg: one byte");
	ok(!rpma_peer_cfg_get_descriptor(cfg, desc) && desc[0] == 0 && desc[1] == 0xee,
	   "peer_cfg: descriptor without direct write");
	ok(!rpma_peer_cfg_set_direct_write_to_pmem(cfg, true) &&
	   !rpma_peer_cfg_get_descriptor(cfg, desc) && desc[0] == 1 && desc[1] == 0xee,
	   "peer_cfg: descriptor with direct write");
	ok(rpma_peer_cfg_set_direct_write_to_pmem(NULL, true) == RPMA_E_INVAL &&
	   rpma_peer_cfg_get_direct_write_to_pmem(NULL, &direct) == RPMA_E_INVAL &&
	   rpma_peer_cfg_get_direct_write_to_pmem(cfg, NULL) == RPMA_E_INVAL &&
	   rpma_peer_cfg_get_descriptor(NULL, desc) == RPMA_E_INVAL &&
	   rpma_peer_cfg_get_descriptor(cfg, NULL) == RPMA_E_INVAL &&
	   rpma_peer_cfg_get_descriptor_size(NULL, &size) == RPMA_E_INVAL &&
	   rpma_peer_cfg_get_descriptor_size(cfg, NULL) == RPMA_E_INVAL, "peer_cfg: NULL");
	ok(!rpma_peer_cfg_delete(&cfg) && !cfg && !rpma_peer_cfg_delete(&cfg) &&
	   rpma_peer_cfg_delete(NULL) == RPMA_E_INVAL, "peer_cfg: delete, none, NULL");

	ok(rpma_peer_cfg_from_descriptor(NULL, 1, &cfg) == RPMA_E_INVAL &&
	   rpma_peer_cfg_from_descriptor(desc, 1, NULL) == RPMA_E_INVAL &&
	   rpma_peer_cfg_from_descriptor(desc, 0, &cfg) == RPMA_E_INVAL && !cfg,
	   "peer_cfg: bad descriptors");
	direct = false;
	ok(!rpma_peer_cfg_from_descriptor(desc, sizeof(desc), &cfg) &&
	   !rpma_peer_cfg_get_direct_write_to_pmem(cfg, &direct) && direct,
	   "peer_cfg: from a descriptor with bytes behind it");
	rpma_peer_cfg_delete(&cfg);
}

static void test_conn_cfg(void)
{
	static const struct {
		const char *name;
		int (*set)(struct rpma_conn_cfg *cfg, uint32_t size);
		int (*get)(const struct rpma_conn_cfg *cfg, uint32_t *size);
		uint32_t initial;
	} sizes[] = {
		{ "cq", rpma_conn_cfg_set_cq_size, rpma_conn_cfg_get_cq_size, 10 },
		{ "rcq", rpma_conn_cfg_set_rcq_size, rpma_conn_cfg_get_rcq_size, 0 },
		{ "sq", rpma_conn_cfg_set_sq_size, rpma_conn_cfg_get_sq_size, 10 },
		{ "rq", rpma_conn_cfg_set_rq_size, rpma_conn_cfg_get_rq_size, 10 },
	};
	struct rpma_conn_cfg *cfg = NULL;
	int timeout = 0;
	unsigned int i;
	uint32_t size;

	ok(rpma_conn_cfg_new(NULL) == RPMA_E_INVAL, "conn_cfg: no result");
	ok(!rpma_conn_cfg_new(&cfg) && cfg, "conn_cfg: made");
	ok(!rpma_conn_cfg_get_timeout(cfg, &timeout) && timeout == 1000, "conn_cfg: 1000 ms");
	ok(!rpma_conn_cfg_set_timeout(cfg, 0) && !rpma_conn_cfg_get_timeout(cfg, &timeout) &&
	   timeout == 0, "conn_cfg: 0 ms");
	ok(rpma_conn_cfg_set_timeout(cfg, -1) == RPMA_E_INVAL &&
	   rpma_conn_cfg_set_timeout(NULL, 1) == RPMA_E_INVAL &&
	   rpma_conn_cfg_get_timeout(NULL, &timeout) == RPMA_E_INVAL &&
	   rpma_conn_cfg_get_timeout(cfg, NULL) == RPMA_E_INVAL, "conn_cfg: bad timeouts");
	for (i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		size = 77;
		ok(!sizes[i].get(cfg, &size) && size == sizes[i].initial, "conn_cfg: %s at first",
		   sizes[i].name);
		ok(!sizes[i].set(cfg, UINT32_MAX) && !sizes[i].get(cfg, &size) &&
		   size == UINT32_MAX, "conn_cfg: %s set", sizes[i].name);
		ok(sizes[i].set(NULL, 1) == RPMA_E_INVAL &&
		   sizes[i].get(NULL, &size) == RPMA_E_INVAL &&
		   sizes[i].get(cfg, NULL) == RPMA_E_INVAL, "conn_cfg: %s of NULL", sizes[i].name);
	}
	ok(!rpma_conn_cfg_delete(&cfg) && !cfg && !rpma_conn_cfg_delete(&cfg) &&
	   rpma_conn_cfg_delete(NULL) == RPMA_E_INVAL, "conn_cfg: delete, none, NULL");
}

/* ---- connections --------------------------------------------------------- */

static void test_conn_req(struct rpma_peer *peer)
{
	struct rpma_conn_private_data pdata = { .ptr = "hello", .len = 6 }, none = { 0 };
	struct rpma_conn_req *req = NULL;
	struct rpma_conn *conn = NULL;
	struct rpma_conn_cfg *cfg;
	struct rpma_mr_local *mr;
	int fds = fake.fds;

	ok(rpma_conn_req_new(NULL, "127.0.0.1", "1", NULL, &req) == RPMA_E_INVAL &&
	   rpma_conn_req_new(peer, NULL, "1", NULL, &req) == RPMA_E_INVAL &&
	   rpma_conn_req_new(peer, "127.0.0.1", NULL, NULL, &req) == RPMA_E_INVAL &&
	   rpma_conn_req_new(peer, "127.0.0.1", "1", NULL, NULL) == RPMA_E_INVAL && !req,
	   "conn_req: NULL");
	ok(rpma_conn_req_new(peer, "127.0.0.1", "no such port", NULL, &req) == RPMA_E_PROVIDER &&
	   !req, "conn_req: no such port");
	fake.conn_create_ret = -ETIMEDOUT;
	ok(rpma_conn_req_new(peer, "127.0.0.1", "1", NULL, &req) == RPMA_E_PROVIDER &&
	   errno == ETIMEDOUT && fake.fds == fds, "conn_req: unreachable, nothing left behind");
	fake.conn_create_ret = 0;
	fake.cq_create_ret = -EINVAL;
	ok(rpma_conn_req_new(peer, "127.0.0.1", "1", NULL, &req) == RPMA_E_PROVIDER &&
	   errno == EINVAL && fake.fds == fds, "conn_req: no queue of that size");
	fake.cq_create_ret = 0;

	/* sizes of queues */
	ok(!rpma_conn_req_new(peer, "127.0.0.1", "1", NULL, &req) && req, "conn_req: made");
	ok(fake.cq_entries[0] == 20 && fake.queues.sq_size == 10 && fake.queues.rq_size == 10 &&
	   fake.queues.recv_cq_fd == -1 && fake.timeout_ms == 1000,
	   "conn_req: the completion queue holds all requests in flight");
	ok(!rpma_conn_req_delete(&req) && !req && fake.fds == fds, "conn_req: deleted");
	ok(!rpma_conn_req_delete(&req) && rpma_conn_req_delete(NULL) == RPMA_E_INVAL,
	   "conn_req: delete none, NULL");

	rpma_conn_cfg_new(&cfg);
	rpma_conn_cfg_set_cq_size(cfg, 100);
	rpma_conn_cfg_set_rcq_size(cfg, 3);
	rpma_conn_cfg_set_sq_size(cfg, 0);
	rpma_conn_cfg_set_rq_size(cfg, 5);
	rpma_conn_cfg_set_timeout(cfg, 0);
	ok(!rpma_conn_req_new(peer, "127.0.0.1", "1", cfg, &req) && fake.cq_entries[1] == 100 &&
	   fake.cq_entries[0] == 5 && fake.queues.sq_size == 1 && fake.queues.rq_size == 5 &&
	   fake.queues.recv_cq_fd > 0 && fake.timeout_ms == 1,
	   "conn_req: a receive queue of its own");
	rpma_conn_req_delete(&req);
	rpma_conn_cfg_set_rcq_size(cfg, 0);
	rpma_conn_cfg_set_sq_size(cfg, FAKE_MAX_QUEUE_SIZE);
	rpma_conn_cfg_set_rq_size(cfg, FAKE_MAX_QUEUE_SIZE);
	ok(!rpma_conn_req_new(peer, "127.0.0.1", "1", cfg, &req) &&
	   fake.cq_entries[0] == FAKE_MAX_QUEUE_SIZE, "conn_req: queues as large as can be");
	rpma_conn_req_delete(&req);
	rpma_conn_cfg_delete(&cfg);

	/* connecting ends the request in every outcome */
	ok(rpma_conn_req_connect(NULL, NULL, &conn) == RPMA_E_INVAL &&
	   rpma_conn_req_connect(&req, NULL, &conn) == RPMA_E_INVAL, "connect: no request");
	rpma_conn_req_new(peer, "127.0.0.1", "1", NULL, &req);
	ok(rpma_conn_req_connect(&req, NULL, NULL) == RPMA_E_INVAL && !req && fake.fds == fds,
	   "connect: no result");
	rpma_conn_req_new(peer, "127.0.0.1", "1", NULL, &req);
	ok(rpma_conn_req_connect(&req, &none, &conn) == RPMA_E_INVAL && !req && !conn &&
	   fake.fds == fds, "connect: empty private data");
	rpma_conn_req_new(peer, "127.0.0.1", "1", NULL, &req);
	none.ptr = memory;
	ok(rpma_conn_req_connect(&req, &none, &conn) == RPMA_E_INVAL && !req && !conn,
	   "connect: private data of no bytes");
	rpma_conn_req_new(peer, "127.0.0.1", "1", NULL, &req);
	fake.handshake_ret = -EINVAL;
	ok(rpma_conn_req_connect(&req, &pdata, &conn) == RPMA_E_PROVIDER && errno == EINVAL &&
	   !req && !conn && fake.fds == fds, "connect: refused by the kernel");
	fake.handshake_ret = 0;

	rpma_conn_req_new(peer, "127.0.0.1", "1", NULL, &req);
	mr = make_local(peer, RPMA_MR_USAGE_RECV);
	ok(!rpma_conn_req_recv(req, mr, 8, 16, CONTEXT) && fake.request.op == RPMA_OP_RECV &&
	   fake.request.mr == 21 && fake.request.mr_offset == 8 && fake.request.len == 16 &&
	   fake.request.context == (uintptr_t)CONTEXT, "conn_req: receive before connecting");
	ok(rpma_conn_req_recv(NULL, mr, 0, 0, NULL) == RPMA_E_INVAL &&
	   rpma_conn_req_recv(req, NULL, 0, 0, NULL) == RPMA_E_INVAL, "conn_req: receive of NULL");
	rpma_mr_dereg(&mr);
	ok(!rpma_conn_req_connect(&req, &pdata, &conn) && !req && conn && !fake.accepted &&
	   fake.handshake_len == 6 && !memcmp(fake.handshake_data, "hello", 6),
	   "connect: private data as it is");
	ok(!rpma_conn_delete(&conn) && !conn && fake.fds == fds, "conn: deleted, nothing left");
	ok(!rpma_conn_delete(&conn) && rpma_conn_delete(NULL) == RPMA_E_INVAL,
	   "conn: delete none, NULL");
}

static void test_ep(struct rpma_peer *peer)
{
	struct rpma_conn_private_data pdata;
	struct rpma_conn_req *req = NULL;
	struct rpma_conn *conn = NULL;
	struct rpma_ep *ep = NULL;
	int fds = fake.fds, fd = -1, cqs;

	ok(rpma_ep_listen(NULL, "127.0.0.1", "1", &ep) == RPMA_E_INVAL &&
	   rpma_ep_listen(peer, NULL, "1", &ep) == RPMA_E_INVAL &&
	   rpma_ep_listen(peer, "127.0.0.1", NULL, &ep) == RPMA_E_INVAL &&
	   rpma_ep_listen(peer, "127.0.0.1", "1", NULL) == RPMA_E_INVAL && !ep, "ep: NULL");
	fake.listen_ret = -EADDRINUSE;
	ok(rpma_ep_listen(peer, "127.0.0.1", "1", &ep) == RPMA_E_PROVIDER && errno == EADDRINUSE &&
	   !ep, "ep: address in use");
	fake.listen_ret = 0;
	ok(!rpma_ep_listen(peer, "127.0.0.1", "1", &ep) && ep, "ep: listens");
	ok(!rpma_ep_get_fd(ep, &fd) && fd > 0 && rpma_ep_get_fd(NULL, &fd) == RPMA_E_INVAL &&
	   rpma_ep_get_fd(ep, NULL) == RPMA_E_INVAL, "ep: descriptor");
	ok(rpma_ep_next_conn_req(NULL, NULL, &req) == RPMA_E_INVAL &&
	   rpma_ep_next_conn_req(ep, NULL, NULL) == RPMA_E_INVAL, "ep: next of NULL");

	cqs = fake.cqs;
	fake.ep_wait_ret = -EAGAIN;
	ok(rpma_ep_next_conn_req(ep, NULL, &req) == RPMA_E_NO_EVENT && !req && fake.cqs == cqs,
	   "ep: nobody there, no queue made");
	fake.ep_wait_ret = 0;
	fake.take_ret = -EAGAIN;
	ok(rpma_ep_next_conn_req(ep, NULL, &req) == RPMA_E_NO_EVENT && !req &&
	   fake.fds == fds + 1, "ep: another thread was faster");
	fake.take_ret = -ENODEV;
	ok(rpma_ep_next_conn_req(ep, NULL, &req) == RPMA_E_PROVIDER && errno == ENODEV && !req,
	   "ep: device is gone");
	fake.take_ret = 0;

	fake.private_data = "question";
	fake.private_data_len = 9;
	ok(!rpma_ep_next_conn_req(ep, NULL, &req) && req, "ep: takes a request");
	ok(!rpma_conn_req_get_private_data(req, &pdata) && pdata.len == 9 &&
	   !memcmp(pdata.ptr, "question", 9), "ep: with what came along");
	ok(rpma_conn_req_get_private_data(NULL, &pdata) == RPMA_E_INVAL &&
	   rpma_conn_req_get_private_data(req, NULL) == RPMA_E_INVAL, "ep: private data of NULL");
	ok(!rpma_conn_req_connect(&req, NULL, &conn) && fake.accepted && !fake.handshake_len,
	   "ep: accepts");
	fake.private_data_len = 0;
	fake.event.type = RPMA_EVENT_ESTABLISHED;
	rpma_conn_next_event(conn, &(enum rpma_conn_event){ 0 });
	ok(!rpma_conn_get_private_data(conn, &pdata) && pdata.len == 9 &&
	   !memcmp(pdata.ptr, "question", 9), "ep: the connection has it too");
	rpma_conn_delete(&conn);

	ok(!rpma_ep_shutdown(&ep) && !ep && fake.fds == fds, "ep: shut down");
	ok(!rpma_ep_shutdown(&ep) && rpma_ep_shutdown(NULL) == RPMA_E_INVAL,
	   "ep: shut down none, NULL");
}

static void test_conn(struct rpma_peer *peer)
{
	static const struct {
		uint32_t type;
		enum rpma_conn_event event;
	} events[] = {
		{ RPMA_EVENT_ESTABLISHED, RPMA_CONN_ESTABLISHED },
		{ RPMA_EVENT_CLOSED, RPMA_CONN_CLOSED },
		{ RPMA_EVENT_LOST, RPMA_CONN_LOST },
		{ RPMA_EVENT_REJECTED, RPMA_CONN_REJECTED },
		{ RPMA_EVENT_UNREACHABLE, RPMA_CONN_UNREACHABLE },
	};
	struct rpma_conn_private_data pdata = { .ptr = memory, .len = 1 };
	struct rpma_conn *conn = make_conn(peer, NULL);
	struct rpma_cq *cq = NULL, *rcq = (void *)1;
	enum rpma_conn_event event;
	struct rpma_peer_cfg *cfg;
	uint32_t qp_num = 0;
	unsigned int i;
	int fd = -1;

	ok(!rpma_conn_get_private_data(conn, &pdata) && !pdata.ptr && !pdata.len,
	   "conn: no private data yet");
	fake.private_data = "answer";
	fake.private_data_len = 7;
	for (i = 0; i < sizeof(events) / sizeof(events[0]); i++) {
		fake.event.type = events[i].type;
		event = RPMA_CONN_UNDEFINED;
		ok(!rpma_conn_next_event(conn, &event) && event == events[i].event,
		   "conn: event %s", rpma_utils_conn_event_2str(events[i].event));
	}
	ok(!rpma_conn_get_private_data(conn, &pdata) && pdata.len == 7 &&
	   !memcmp(pdata.ptr, "answer", 7), "conn: the answer's private data");
	fake.event.type = 99;
	ok(rpma_conn_next_event(conn, &event) == RPMA_E_UNKNOWN, "conn: unknown event");
	fake.event_ret = -EAGAIN;
	ok(rpma_conn_next_event(conn, &event) == RPMA_E_NO_EVENT, "conn: no event yet");
	fake.event_ret = 0;
	ok(rpma_conn_next_event(conn, &event) == RPMA_E_NO_EVENT, "conn: no event ever");
	fake.event_ret = -EINTR;
	ok(rpma_conn_next_event(conn, &event) == RPMA_E_PROVIDER && errno == EINTR,
	   "conn: a signal came");
	fake.event_ret = 0;
	ok(rpma_conn_next_event(NULL, &event) == RPMA_E_INVAL &&
	   rpma_conn_next_event(conn, NULL) == RPMA_E_INVAL, "conn: event of NULL");

	ok(!rpma_conn_get_event_fd(conn, &fd) && fd > 0, "conn: event descriptor");
	ok(!rpma_conn_get_qp_num(conn, &qp_num) && qp_num == 0x123, "conn: qp_num");
	ok(!rpma_conn_get_cq(conn, &cq) && cq, "conn: completion queue");
	ok(!rpma_conn_get_rcq(conn, &rcq) && !rcq, "conn: no receive completion queue");
	ok(rpma_conn_get_event_fd(NULL, &fd) == RPMA_E_INVAL &&
	   rpma_conn_get_event_fd(conn, NULL) == RPMA_E_INVAL &&
	   rpma_conn_get_qp_num(NULL, &qp_num) == RPMA_E_INVAL &&
	   rpma_conn_get_qp_num(conn, NULL) == RPMA_E_INVAL &&
	   rpma_conn_get_cq(NULL, &cq) == RPMA_E_INVAL &&
	   rpma_conn_get_cq(conn, NULL) == RPMA_E_INVAL &&
	   rpma_conn_get_rcq(NULL, &rcq) == RPMA_E_INVAL &&
	   rpma_conn_get_rcq(conn, NULL) == RPMA_E_INVAL &&
	   rpma_conn_get_private_data(NULL, &pdata) == RPMA_E_INVAL &&
	   rpma_conn_get_private_data(conn, NULL) == RPMA_E_INVAL, "conn: getters of NULL");

	rpma_peer_cfg_new(&cfg);
	rpma_peer_cfg_set_direct_write_to_pmem(cfg, true);
	ok(!rpma_conn_apply_remote_peer_cfg(conn, cfg) && fake.direct_write,
	   "conn: the kernel hears of direct write");
	ok(rpma_conn_apply_remote_peer_cfg(NULL, cfg) == RPMA_E_INVAL &&
	   rpma_conn_apply_remote_peer_cfg(conn, NULL) == RPMA_E_INVAL, "conn: apply NULL");
	rpma_peer_cfg_delete(&cfg);

	ok(!rpma_conn_disconnect(conn) && fake.linger_ms == 1000, "conn: disconnects in order");
	fake.disconnect_ret = -ENOTCONN;
	ok(rpma_conn_disconnect(conn) == RPMA_E_PROVIDER && errno == ENOTCONN,
	   "conn: never was connected");
	fake.disconnect_ret = 0;
	ok(rpma_conn_disconnect(NULL) == RPMA_E_INVAL, "conn: disconnect NULL");
	rpma_conn_delete(&conn);
}

/* ---- requests ------------------------------------------------------------ */

static bool remote_is_given(const struct rpma_remote *remote)
{
	return remote->addr == 0x1122334455667788 && remote->length == 4096 &&
	       remote->rkey == 0xa1b2c3d4;
}

/* The last request, of which @mr, @imm and the remote region are asked for. */
static bool request_is(uint32_t op, uint32_t flags, bool mr, bool remote, uint32_t imm)
{
	const struct rpma_request *r = &fake.request;

	return r->op == op && r->flags == flags && r->context == (uintptr_t)CONTEXT &&
	       r->mr == (mr ? 21 : 0) && r->mr_offset == (mr ? 16 : 0) &&
	       r->imm_data == htonl(imm) && !r->placement && !r->__reserved &&
	       (remote ? remote_is_given(&r->remote) && r->remote_offset == 32 :
	       !r->remote.addr && !r->remote.rkey && !r->remote.length && !r->remote_offset);
}

static void test_requests(struct rpma_peer *peer)
{
	const int on_error = RPMA_F_COMPLETION_ON_ERROR, always = RPMA_F_COMPLETION_ALWAYS;
	struct rpma_mr_remote *r = make_remote(0xff);
	struct rpma_mr_local *l = make_local(peer, 0xff);
	struct rpma_conn *c = make_conn(peer, NULL);
	int posts;

	ok(!rpma_read(c, l, 16, r, 32, 8, always, CONTEXT) && fake.request.len == 8 &&
	   request_is(RPMA_OP_READ, RPMA_REQ_F_SIGNALED, true, true, 0), "read");
	ok(!rpma_write(c, r, 32, l, 16, 8, on_error, CONTEXT) && fake.request.len == 8 &&
	   request_is(RPMA_OP_WRITE, 0, true, true, 0), "write, on error");
	ok(!rpma_write_with_imm(c, r, 32, l, 16, 8, always, 0x01020304, CONTEXT) &&
	   request_is(RPMA_OP_WRITE_WITH_IMM, RPMA_REQ_F_SIGNALED, true, true, 0x01020304),
	   "write with immediate");
	ok(!rpma_atomic_write(c, r, 32, "12345678", always, CONTEXT) && fake.request.len == 8 &&
	   !memcmp(&fake.request.value, "12345678", 8) &&
	   request_is(RPMA_OP_ATOMIC_WRITE, RPMA_REQ_F_SIGNALED, false, true, 0), "atomic write");
	ok(!rpma_send(c, l, 16, 8, always, CONTEXT) &&
	   request_is(RPMA_OP_SEND, RPMA_REQ_F_SIGNALED, true, false, 0), "send");
	ok(!rpma_send_with_imm(c, l, 16, 8, on_error, 0x01020304, CONTEXT) &&
	   request_is(RPMA_OP_SEND_WITH_IMM, 0, true, false, 0x01020304), "send with immediate");
	ok(!rpma_recv(c, l, 16, 8, CONTEXT) && request_is(RPMA_OP_RECV, 0, true, false, 0),
	   "receive");

	ok(!rpma_read(c, NULL, 0, NULL, 0, 0, always, CONTEXT) && fake.request.len == 0 &&
	   request_is(RPMA_OP_READ, RPMA_REQ_F_SIGNALED, false, false, 0), "read nothing");
	ok(!rpma_write(c, NULL, 0, NULL, 0, 0, always, CONTEXT) &&
	   request_is(RPMA_OP_WRITE, RPMA_REQ_F_SIGNALED, false, false, 0), "write nothing");
	ok(!rpma_write_with_imm(c, NULL, 0, NULL, 0, 0, always, 5, CONTEXT) &&
	   request_is(RPMA_OP_WRITE_WITH_IMM, RPMA_REQ_F_SIGNALED, false, false, 5),
	   "write nothing with immediate");
	ok(!rpma_send(c, NULL, 0, 0, always, CONTEXT) &&
	   request_is(RPMA_OP_SEND, RPMA_REQ_F_SIGNALED, false, false, 0), "send nothing");
	ok(!rpma_recv(c, NULL, 0, 0, CONTEXT) && request_is(RPMA_OP_RECV, 0, false, false, 0),
	   "receive nothing");

	posts = fake.posts;
	ok(rpma_read(NULL, l, 0, r, 0, 1, always, NULL) == RPMA_E_INVAL &&
	   rpma_read(c, l, 0, r, 0, 1, 0, NULL) == RPMA_E_INVAL &&
	   rpma_read(c, NULL, 0, r, 0, 0, always, NULL) == RPMA_E_INVAL &&
	   rpma_read(c, l, 0, NULL, 0, 0, always, NULL) == RPMA_E_INVAL &&
	   rpma_read(c, NULL, 1, NULL, 0, 0, always, NULL) == RPMA_E_INVAL &&
	   rpma_read(c, NULL, 0, NULL, 1, 0, always, NULL) == RPMA_E_INVAL &&
	   rpma_read(c, NULL, 0, NULL, 0, 1, always, NULL) == RPMA_E_INVAL, "read: bad arguments");
	ok(rpma_write(NULL, r, 0, l, 0, 1, always, NULL) == RPMA_E_INVAL &&
	   rpma_write(c, r, 0, l, 0, 1, 0, NULL) == RPMA_E_INVAL &&
	   rpma_write(c, NULL, 0, l, 0, 0, always, NULL) == RPMA_E_INVAL &&
	   rpma_write(c, r, 0, NULL, 0, 0, always, NULL) == RPMA_E_INVAL &&
	   rpma_write(c, NULL, 1, NULL, 0, 0, always, NULL) == RPMA_E_INVAL &&
	   rpma_write(c, NULL, 0, NULL, 1, 0, always, NULL) == RPMA_E_INVAL &&
	   rpma_write(c, NULL, 0, NULL, 0, 1, always, NULL) == RPMA_E_INVAL,
	   "write: bad arguments");
	ok(rpma_write_with_imm(NULL, r, 0, l, 0, 1, always, 0, NULL) == RPMA_E_INVAL &&
	   rpma_write_with_imm(c, r, 0, l, 0, 1, 0, 0, NULL) == RPMA_E_INVAL &&
	   rpma_write_with_imm(c, NULL, 0, l, 0, 0, always, 0, NULL) == RPMA_E_INVAL &&
	   rpma_write_with_imm(c, r, 0, NULL, 0, 0, always, 0, NULL) == RPMA_E_INVAL &&
	   rpma_write_with_imm(c, NULL, 0, NULL, 0, 1, always, 0, NULL) == RPMA_E_INVAL,
	   "write with immediate: bad arguments");
	ok(rpma_atomic_write(NULL, r, 0, memory, always, NULL) == RPMA_E_INVAL &&
	   rpma_atomic_write(c, NULL, 0, memory, always, NULL) == RPMA_E_INVAL &&
	   rpma_atomic_write(c, r, 0, NULL, always, NULL) == RPMA_E_INVAL &&
	   rpma_atomic_write(c, r, 0, memory, 0, NULL) == RPMA_E_INVAL &&
	   rpma_atomic_write(c, r, 4, memory, always, NULL) == RPMA_E_INVAL,
	   "atomic write: bad arguments");
	ok(rpma_send(NULL, l, 0, 1, always, NULL) == RPMA_E_INVAL &&
	   rpma_send(c, l, 0, 1, 0, NULL) == RPMA_E_INVAL &&
	   rpma_send(c, NULL, 1, 0, always, NULL) == RPMA_E_INVAL &&
	   rpma_send(c, NULL, 0, 1, always, NULL) == RPMA_E_INVAL &&
	   rpma_send_with_imm(NULL, l, 0, 1, always, 0, NULL) == RPMA_E_INVAL &&
	   rpma_send_with_imm(c, l, 0, 1, 0, 0, NULL) == RPMA_E_INVAL &&
	   rpma_send_with_imm(c, NULL, 0, 1, always, 0, NULL) == RPMA_E_INVAL,
	   "send: bad arguments");
	ok(rpma_recv(NULL, l, 0, 1, NULL) == RPMA_E_INVAL &&
	   rpma_recv(c, NULL, 1, 0, NULL) == RPMA_E_INVAL &&
	   rpma_recv(c, NULL, 0, 1, NULL) == RPMA_E_INVAL, "receive: bad arguments");
	ok(fake.posts == posts, "bad arguments never reach the kernel");

	fake.post_ret = -EINVAL;
	ok(rpma_write(c, r, 4095, l, 0, 2, always, NULL) == RPMA_E_INVAL, "write past the end");
	fake.post_ret = -EAGAIN;
	ok(rpma_write(c, r, 0, l, 0, 1, always, NULL) == RPMA_E_PROVIDER && errno == EAGAIN,
	   "write: queues are full");
	fake.post_ret = -EACCES;
	ok(rpma_write(c, r, 0, l, 0, 1, always, NULL) == RPMA_E_PROVIDER && errno == EACCES &&
	   strstr(logged, "not registered for this"), "write: not allowed, in words");
	fake.post_ret = -ENOTCONN;
	ok(rpma_recv(c, l, 0, 1, NULL) == RPMA_E_PROVIDER && errno == ENOTCONN,
	   "receive: not connected");
	fake.post_ret = 0;

	rpma_conn_delete(&c);
	rpma_mr_dereg(&l);
	rpma_mr_remote_delete(&r);
}

static void test_flush(struct rpma_peer *peer)
{
	const enum rpma_flush_type persistent = RPMA_FLUSH_TYPE_PERSISTENT;
	const enum rpma_flush_type visible = RPMA_FLUSH_TYPE_VISIBILITY;
	const int always = RPMA_F_COMPLETION_ALWAYS;
	struct rpma_mr_remote *both = make_remote(0x38), *p = make_remote(0x28);
	struct rpma_mr_remote *v = make_remote(0x18), *none = make_remote(0x08);
	struct rpma_conn *c = make_conn(peer, NULL);
	struct rpma_peer_cfg *cfg;
	int posts = fake.posts;

	ok(rpma_flush(NULL, both, 0, 8, visible, always, NULL) == RPMA_E_INVAL, "flush: no conn");
	ok(rpma_flush(c, NULL, 0, 8, visible, always, NULL) == RPMA_E_INVAL, "flush: no region");
	ok(rpma_flush(c, both, 0, 8, persistent, 0, NULL) == RPMA_E_INVAL,
	   "flush: no flags comes before no direct write");
	ok(rpma_flush(c, none, 0, 8, 2, always, NULL) == RPMA_E_INVAL,
	   "flush: unknown type comes before the region's");
	ok(rpma_flush(c, both, 0, 8, -1, always, NULL) == RPMA_E_INVAL, "flush: negative type");
	ok(rpma_flush(c, both, 0, 8, persistent, always, NULL) == RPMA_E_NOSUPP &&
	   strstr(logged, "apply_remote_peer_cfg"), "flush: no direct write, and what to do");
	ok(rpma_flush(c, none, 0, 8, visible, always, NULL) == RPMA_E_NOSUPP &&
	   rpma_flush(c, p, 0, 8, visible, always, NULL) == RPMA_E_NOSUPP,
	   "flush: region without VISIBILITY");

	rpma_peer_cfg_new(&cfg);
	rpma_conn_apply_remote_peer_cfg(c, cfg);
	ok(rpma_flush(c, both, 0, 8, persistent, always, NULL) == RPMA_E_NOSUPP,
	   "flush: a peer that declares no direct write");
	rpma_peer_cfg_set_direct_write_to_pmem(cfg, true);
	rpma_conn_apply_remote_peer_cfg(c, cfg);
	ok(rpma_flush(c, none, 0, 8, persistent, always, NULL) == RPMA_E_NOSUPP &&
	   rpma_flush(c, v, 0, 8, persistent, always, NULL) == RPMA_E_NOSUPP,
	   "flush: region without PERSISTENT");
	ok(fake.posts == posts, "flush: what cannot be never reaches the kernel");

	ok(!rpma_flush(c, p, 32, 100, persistent, always, CONTEXT) &&
	   fake.flush.placement == RPMA_FLUSH_PERSISTENT && fake.flush.offset == 32 &&
	   fake.flush.len == 100 && fake.flush.flags == RPMA_REQ_F_SIGNALED &&
	   fake.flush.context == (uintptr_t)CONTEXT && remote_is_given(&fake.flush.remote) &&
	   fake.flush.remote.access == 0x28, "flush: PERSISTENT");
	ok(!rpma_flush(c, v, 4096, 0, visible, RPMA_F_COMPLETION_ON_ERROR, NULL) &&
	   fake.flush.placement == RPMA_FLUSH_GLOBAL && fake.flush.offset == 4096 &&
	   !fake.flush.len && !fake.flush.flags, "flush: VISIBILITY of nothing, on error");

	fake.post_ret = -EINVAL;
	ok(rpma_flush(c, v, 4095, 2, visible, always, NULL) == RPMA_E_INVAL,
	   "flush: past the region's end");
	fake.post_ret = -EAGAIN;
	ok(rpma_flush(c, v, 0, 8, visible, always, NULL) == RPMA_E_PROVIDER && errno == EAGAIN,
	   "flush: queues are full");
	fake.post_ret = -ENODEV;
	ok(rpma_flush(c, v, 0, 8, visible, always, NULL) == RPMA_E_PROVIDER && errno == ENODEV,
	   "flush: device is gone");
	fake.post_ret = -EOPNOTSUPP;
	ok(rpma_flush(c, v, 0, 8, visible, always, NULL) == RPMA_E_NOSUPP,
	   "flush: not supported by the kernel");
	fake.post_ret = 0;

	rpma_peer_cfg_delete(&cfg);
	rpma_conn_delete(&c);
	rpma_mr_remote_delete(&both);
	rpma_mr_remote_delete(&p);
	rpma_mr_remote_delete(&v);
	rpma_mr_remote_delete(&none);
}

/* ---- completions --------------------------------------------------------- */

static void test_cq(struct rpma_peer *peer)
{
	static const struct {
		struct rpma_completion c;
		int opcode;
		unsigned int wc_flags;
		const char *name;
	} kinds[] = {
		{ { .op = RPMA_OP_WRITE }, IBV_WC_RDMA_WRITE, 0, "write" },
		{ { .op = RPMA_OP_WRITE_WITH_IMM }, IBV_WC_RDMA_WRITE, 0, "write with immediate" },
		{ { .op = RPMA_OP_READ, .len = 77 }, IBV_WC_RDMA_READ, 0, "read" },
		{ { .op = RPMA_OP_FLUSH, .method = RPMA_FLUSH_METHOD_READ }, IBV_WC_RDMA_READ, 0,
		  "flush by READ" },
		{ { .op = RPMA_OP_FLUSH, .method = RPMA_FLUSH_METHOD_NATIVE }, 8, 0,
		  "native flush" },
		{ { .op = RPMA_OP_SEND }, IBV_WC_SEND, 0, "send" },
		{ { .op = RPMA_OP_SEND_WITH_IMM }, IBV_WC_SEND, 0, "send with immediate" },
		{ { .op = RPMA_OP_RECV, .len = 5 }, IBV_WC_RECV, 0, "receive" },
		{ { .op = RPMA_OP_RECV, .len = 5, .flags = RPMA_COMPLETION_F_IMM,
		    .imm_data = 0x04030201 }, IBV_WC_RECV, IBV_WC_WITH_IMM,
		  "receive with immediate" },
		{ { .op = RPMA_OP_RECV, .flags = RPMA_COMPLETION_F_IMM | RPMA_COMPLETION_F_RDMA,
		    .imm_data = 0x04030201 }, IBV_WC_RECV_RDMA_WITH_IMM, IBV_WC_WITH_IMM,
		  "receive of a write" },
		{ { .op = RPMA_OP_ATOMIC_WRITE }, IBV_WC_RDMA_WRITE, 0, "atomic write" },
		{ { .op = RPMA_OP_WRITE, .status = RPMA_STATUS_ABORTED, .vendor_err = 9 },
		  IBV_WC_RDMA_WRITE, 0, "aborted write" },
	};
	struct rpma_conn *conn = make_conn(peer, NULL);
	struct rpma_completion c = { .op = RPMA_OP_WRITE };
	int got = -1, fd = -1, polls;
	struct ibv_wc wc[20];
	struct rpma_cq *cq;
	unsigned int i;

	rpma_conn_get_cq(conn, &cq);
	ok(rpma_cq_get_wc(NULL, 1, wc, &got) == RPMA_E_INVAL &&
	   rpma_cq_get_wc(cq, 0, wc, &got) == RPMA_E_INVAL &&
	   rpma_cq_get_wc(cq, -1, wc, &got) == RPMA_E_INVAL &&
	   rpma_cq_get_wc(cq, 1, NULL, &got) == RPMA_E_INVAL &&
	   rpma_cq_get_wc(cq, 2, wc, NULL) == RPMA_E_INVAL, "cq: bad arguments");
	ok(!fake.maps, "cq: mapped only when used");
	fake.cq_map_ret = -ENOMEM;
	ok(rpma_cq_get_wc(cq, 1, wc, NULL) == RPMA_E_NOMEM, "cq: cannot be mapped");
	fake.cq_map_ret = 0;
	ok(rpma_cq_get_wc(cq, 1, wc, NULL) == RPMA_E_NO_COMPLETION && fake.maps == 1,
	   "cq: nothing there");

	for (i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		c = kinds[i].c;
		c.context = (uintptr_t)CONTEXT + i;
		c.qp_num = 0x123;
		fake_complete(&c);
		polls = fake.polls;
		memset(wc, 0xee, sizeof(wc));
		ok(!rpma_cq_get_wc(cq, 1, wc, NULL) && wc[0].wr_id == c.context &&
		   (int)wc[0].status == (int)c.status && (int)wc[0].opcode == kinds[i].opcode &&
		   wc[0].qp_num == 0x123 && wc[0].byte_len == c.len &&
		   wc[0].wc_flags == kinds[i].wc_flags && wc[0].vendor_err == c.vendor_err &&
		   (!wc[0].wc_flags || wc[0].imm_data == c.imm_data) && fake.polls == polls,
		   "cq: completion of %s", kinds[i].name);
	}

	/* counts go past 2^32, entries past the end of the ring */
	fake_ring_start(UINT32_MAX - 2);
	for (i = 0; i < 10; i++) {
		c.context = i;
		fake_complete(&c);
	}
	ok(!rpma_cq_get_wc(cq, 4, wc, &got) && got == 4 && wc[0].wr_id == 0 && wc[3].wr_id == 3,
	   "cq: takes as many as asked for");
	ok(!rpma_cq_get_wc(cq, 20, wc, &got) && got == 6 && wc[0].wr_id == 4 && wc[5].wr_id == 9,
	   "cq: takes as many as there are");
	ok(fake_ring_room() == FAKE_RING_ENTRIES, "cq: gives the room back");
	got = 7;
	ok(rpma_cq_get_wc(cq, 20, wc, &got) == RPMA_E_NO_COMPLETION, "cq: took all");

	c.context = 42;
	fake_complete_on_poll(&c);
	ok(!rpma_cq_get_wc(cq, 20, wc, &got) && got == 1 && wc[0].wr_id == 42,
	   "cq: asks the adapter when the ring is empty");
	fake.cq_poll_ret = -ENODEV;
	ok(rpma_cq_get_wc(cq, 1, wc, NULL) == RPMA_E_PROVIDER && errno == ENODEV,
	   "cq: device is gone");
	fake.cq_poll_ret = 0;

	fake.cq_wait_ret = 3;
	ok(!rpma_cq_wait(cq), "cq: wait");
	fake.cq_wait_ret = 0;
	ok(!rpma_cq_wait(cq), "cq: wait, and another thread was faster");
	fake.cq_wait_ret = -EAGAIN;
	ok(rpma_cq_wait(cq) == RPMA_E_NO_COMPLETION, "cq: wait without waiting");
	fake.cq_wait_ret = -EINTR;
	ok(rpma_cq_wait(cq) == RPMA_E_NO_COMPLETION && errno == EINTR, "cq: wait interrupted");
	fake.cq_wait_ret = -ENODEV;
	ok(rpma_cq_wait(cq) == RPMA_E_PROVIDER && errno == ENODEV, "cq: wait, device is gone");
	fake.cq_wait_ret = 0;
	ok(rpma_cq_wait(NULL) == RPMA_E_INVAL, "cq: wait NULL");
	ok(!rpma_cq_get_fd(cq, &fd) && fd > 0 && rpma_cq_get_fd(NULL, &fd) == RPMA_E_INVAL &&
	   rpma_cq_get_fd(cq, NULL) == RPMA_E_INVAL, "cq: descriptor");
	rpma_conn_delete(&conn);
	ok(!fake.maps, "cq: unmapped");
}

static void test_channel(struct rpma_peer *peer)
{
	struct rpma_conn *alone = make_conn(peer, NULL), *conn;
	struct rpma_cq *cq, *rcq, *ready = NULL;
	bool shared = true, is_rcq = false;
	int fds = fake.fds, fd = -1, cq_fd = -2, i;
	struct rpma_conn_cfg *cfg;

	rpma_conn_cfg_new(&cfg);
	ok(!rpma_conn_cfg_get_compl_channel(cfg, &shared) && !shared, "channel: not shared at first");
	ok(rpma_conn_cfg_get_compl_channel(NULL, &shared) == RPMA_E_INVAL &&
	   rpma_conn_cfg_get_compl_channel(cfg, NULL) == RPMA_E_INVAL &&
	   rpma_conn_cfg_set_compl_channel(NULL, true) == RPMA_E_INVAL, "channel: cfg NULL");
	ok(!rpma_conn_cfg_set_compl_channel(cfg, true) &&
	   !rpma_conn_cfg_get_compl_channel(cfg, &shared) && shared, "channel: shared");
	rpma_conn_cfg_set_rcq_size(cfg, 10);
	conn = make_conn(peer, cfg);
	rpma_conn_get_cq(conn, &cq);
	rpma_conn_get_rcq(conn, &rcq);

	ok(rpma_conn_get_compl_fd(alone, &fd) == RPMA_E_NOT_SHARED_CHNL &&
	   rpma_conn_wait(alone, 0, &ready, NULL) == RPMA_E_NOT_SHARED_CHNL,
	   "channel: a connection without one");
	ok(rpma_conn_get_compl_fd(NULL, &fd) == RPMA_E_INVAL &&
	   rpma_conn_get_compl_fd(conn, NULL) == RPMA_E_INVAL &&
	   rpma_conn_wait(NULL, 0, &ready, NULL) == RPMA_E_INVAL &&
	   rpma_conn_wait(conn, 0, NULL, NULL) == RPMA_E_INVAL, "channel: NULL");
	ok(rpma_cq_wait(cq) == RPMA_E_SHARED_CHANNEL && rpma_cq_wait(rcq) == RPMA_E_SHARED_CHANNEL,
	   "channel: no waiting on one queue");
	ok(!rpma_conn_get_compl_fd(conn, &fd) && !rpma_cq_get_fd(cq, &cq_fd) && fd == cq_fd &&
	   !rpma_cq_get_fd(rcq, &cq_fd) && fd == cq_fd, "channel: one descriptor for all");
	fake.channel_wait_ret = KERNEL_CHANNEL_CQ;
	ok(!rpma_conn_wait(conn, 0, &ready, &is_rcq) && ready == cq && !is_rcq, "channel: main queue");
	fake.channel_wait_ret = KERNEL_CHANNEL_CQ | KERNEL_CHANNEL_RCQ;
	ok(!rpma_conn_wait(conn, 0, &ready, &is_rcq) && ready == cq && !is_rcq,
	   "channel: main queue comes first");
	for (i = 0; i < 100 && !is_rcq; i++)
		rpma_conn_wait(conn, 0, &ready, &is_rcq);
	ok(is_rcq && ready == rcq, "channel: but not for ever");
	is_rcq = false;
	fake.channel_wait_ret = KERNEL_CHANNEL_RCQ;
	ok(!rpma_conn_wait(conn, 0, &ready, &is_rcq) && ready == rcq && is_rcq,
	   "channel: receive queue");
	ok(!rpma_conn_wait(conn, 0, &ready, NULL), "channel: which one is not asked for");
	fake.channel_wait_ret = -EAGAIN;
	ok(rpma_conn_wait(conn, 0, &ready, NULL) == RPMA_E_NO_COMPLETION, "channel: nothing there");
	fake.channel_wait_ret = KERNEL_CHANNEL_CQ;
	fake.cq_wait_ret = -ENODEV;
	ok(rpma_conn_wait(conn, 0, &ready, NULL) == RPMA_E_PROVIDER && errno == ENODEV && !ready,
	   "channel: device is gone");
	fake.cq_wait_ret = 0;
	rpma_conn_delete(&conn);
	rpma_conn_cfg_delete(&cfg);
	ok(fake.fds == fds, "channel: nothing left behind");
	rpma_conn_delete(&alone);
}

/* Several readers of one ring: each completion is taken once, whole. */
#define READERS 3
#define COMPLETIONS 200000

static struct rpma_cq *shared_cq;
static unsigned char taken[COMPLETIONS];
static int nr_taken, nr_torn;

static void *reader(void *arg)
{
	struct ibv_wc wc[5];
	int got, i;

	(void)arg;
	while (__atomic_load_n(&nr_taken, __ATOMIC_RELAXED) < COMPLETIONS) {
		if (rpma_cq_get_wc(shared_cq, 5, wc, &got))
			continue;
		for (i = 0; i < got; i++) {
			if (wc[i].byte_len != (uint32_t)wc[i].wr_id)
				__atomic_add_fetch(&nr_torn, 1, __ATOMIC_RELAXED);
			__atomic_add_fetch(&taken[wc[i].wr_id], 1, __ATOMIC_RELAXED);
		}
		__atomic_add_fetch(&nr_taken, got, __ATOMIC_RELAXED);
	}
	return NULL;
}

static void test_cq_threads(struct rpma_peer *peer)
{
	struct rpma_conn *conn = make_conn(peer, NULL);
	struct rpma_completion c = { .op = RPMA_OP_READ };
	pthread_t threads[READERS];
	int i, once = 0;

	fake_ring_start(UINT32_MAX - 1000);
	rpma_conn_get_cq(conn, &shared_cq);
	for (i = 0; i < READERS; i++)
		pthread_create(&threads[i], NULL, reader, NULL);
	for (i = 0; i < COMPLETIONS; i++) {
		while (!fake_ring_room())
			sched_yield();
		c.context = i;
		c.len = i;
		fake_complete(&c);
	}
	for (i = 0; i < READERS; i++)
		pthread_join(threads[i], NULL);
	for (i = 0; i < COMPLETIONS; i++)
		once += taken[i] == 1;
	ok(once == COMPLETIONS, "cq: each completion is taken once by %d threads", READERS);
	ok(nr_torn == 0, "cq: no completion is torn");
	rpma_conn_delete(&conn);
}

/* ---- names and logging --------------------------------------------------- */

static void test_names(void)
{
	int i, j, distinct = 1;

	for (i = RPMA_E_NOT_SHARED_CHNL; i <= RPMA_E_UNKNOWN; i++)
		for (j = RPMA_E_NOT_SHARED_CHNL; j < i; j++)
			distinct &= strcmp(rpma_err_2str(i), rpma_err_2str(j)) != 0;
	ok(distinct, "err: every code has its own name");
	ok(!strcmp(rpma_err_2str(0), "Success"), "err: success");
	ok(!strcmp(rpma_err_2str(1), rpma_err_2str(RPMA_E_UNKNOWN)), "err: anything else");
	distinct = 1;
	for (i = RPMA_CONN_UNDEFINED; i <= RPMA_CONN_UNREACHABLE + 1; i++)
		for (j = RPMA_CONN_UNDEFINED; j < i; j++)
			distinct &= strcmp(rpma_utils_conn_event_2str(i),
					   rpma_utils_conn_event_2str(j)) != 0;
	ok(distinct, "event: every event has its own name");
}

static void test_log(void)
{
	enum rpma_log_level level = RPMA_LOG_LEVEL_DEBUG;

	ok(!rpma_log_get_threshold(RPMA_LOG_THRESHOLD, &level) && level == RPMA_LOG_LEVEL_WARNING,
	   "log: warnings at first");
	ok(!rpma_log_get_threshold(RPMA_LOG_THRESHOLD_AUX, &level) && level == RPMA_LOG_DISABLED,
	   "log: nothing to stderr at first");
	ok(rpma_log_set_threshold(RPMA_LOG_THRESHOLD_MAX, RPMA_LOG_LEVEL_INFO) == RPMA_E_INVAL &&
	   rpma_log_set_threshold(-1, RPMA_LOG_LEVEL_INFO) == RPMA_E_INVAL &&
	   rpma_log_set_threshold(RPMA_LOG_THRESHOLD, RPMA_LOG_DISABLED - 1) == RPMA_E_INVAL &&
	   rpma_log_set_threshold(RPMA_LOG_THRESHOLD, RPMA_LOG_LEVEL_DEBUG + 1) == RPMA_E_INVAL &&
	   rpma_log_get_threshold(RPMA_LOG_THRESHOLD_MAX, &level) == RPMA_E_INVAL &&
	   rpma_log_get_threshold(RPMA_LOG_THRESHOLD, NULL) == RPMA_E_INVAL,
	   "log: bad thresholds");

	ok(!rpma_log_set_function(keep_log), "log: a function of one's own");
	errno = ERANGE;
	rpma_mr_remote_from_descriptor("", 1, &(struct rpma_mr_remote *){ NULL });
	ok(strstr(logged, "1 bytes") && logged[strlen(logged) - 1] == '\n' &&
	   logged_level == RPMA_LOG_LEVEL_ERROR, "log: gets whole lines");
	ok(errno == ERANGE, "log: leaves errno alone");
	logged[0] = '\0';
	rpma_log_set_threshold(RPMA_LOG_THRESHOLD, RPMA_LOG_DISABLED);
	rpma_mr_remote_from_descriptor("", 1, &(struct rpma_mr_remote *){ NULL });
	ok(!logged[0], "log: nothing when disabled");
	rpma_log_set_threshold(RPMA_LOG_THRESHOLD, RPMA_LOG_LEVEL_DEBUG);
}

int main(void)
{
	struct rpma_peer *peer;

	setvbuf(stdout, NULL, _IOLBF, 0);
	test_names();
	test_log();
	test_peer_cfg();
	test_conn_cfg();
	test_context();

	fake_reset();
	peer = make_peer();
	test_mr(peer);
	test_persistent_by_read();
	test_mr_remote();
	test_conn_req(peer);
	fake_reset();
	test_ep(peer);
	fake_reset();
	test_conn(peer);
	test_requests(peer);
	test_flush(peer);
	fake_reset();
	test_cq(peer);
	test_channel(peer);
	test_cq_threads(peer);
	rpma_peer_delete(&peer);
	ok(!fake.fds && !fake.peers && !fake.mrs && !fake.maps, "nothing is left behind");
	return tap_done();
}
