/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What all tests share: three wrappers per ioctl, addresses, bounded waits,
 * regions and requests.
 *
 * For each ioctl there is _ioc_x(), which returns what the kernel said,
 * ioc_x(), which asserts success and yields the command with its out fields,
 * and ioc_err_x(), which asserts an errno. The last two take the fields as
 * designated initializers, so that a test names only what it is about.
 */
#ifndef _RPMA_UTILS_H
#define _RPMA_UTILS_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include <linux/rpma.h>

/* The harness compares as C does: an int literal with an unsigned field. */
#pragma GCC diagnostic ignored "-Wsign-compare"
/* Its fork-or-setjmp dance. */
#pragma GCC diagnostic ignored "-Wclobbered"
#include "kselftest_harness.h"

#define RPMA_DEVICE "/dev/rpma"

/* Long enough for an emulated machine; a hang still fails the test. */
#define WAIT_MS 30000
#define WAIT_SECONDS 120

#define SKIP_WITHOUT_RPMA()						\
	do {								\
		if (access(RPMA_DEVICE, F_OK))				\
			SKIP(return, RPMA_DEVICE " is absent");		\
	} while (0)

/* A machine whose provider has the patches of kmod/patches/linux says so. */
static inline bool test_is_native(void)
{
	const char *kernel = getenv("KERNEL");

	return kernel && strstr(kernel, "+flush");
}

/* How connections flush there if nobody says otherwise. */
static inline enum rpma_flush_method test_method(void)
{
	return test_is_native() ? RPMA_FLUSH_METHOD_NATIVE : RPMA_FLUSH_METHOD_READ;
}

#define EXPECT_ERRNO(expected, call)					\
	({								\
		ASSERT_EQ(-1, call);					\
		EXPECT_EQ(expected, errno)				\
			TH_LOG("%s: %s", #call, strerror(errno));	\
	})

/* ---- three wrappers per ioctl ---- */

#define RPMA_IOC_WRAPPER(name, type, number)				\
	static inline int _ioc_##name(int fd, struct rpma_ioc_##type *cmd) \
	{								\
		cmd->size = sizeof(*cmd);				\
		return ioctl(fd, number, cmd);				\
	}

#define __ioc_ok(name, type, fd, ...)					\
	({								\
		struct rpma_ioc_##type __cmd = { __VA_ARGS__ };		\
		ASSERT_EQ(0, _ioc_##name(fd, &__cmd))			\
			TH_LOG("%s: %s", #name, strerror(errno));	\
		__cmd;							\
	})

#define __ioc_err(expected, name, type, fd, ...)			\
	({								\
		struct rpma_ioc_##type __cmd = { __VA_ARGS__ };		\
		EXPECT_ERRNO(expected, _ioc_##name(fd, &__cmd));	\
	})

RPMA_IOC_WRAPPER(query, query, RPMA_IOC_QUERY)
RPMA_IOC_WRAPPER(device_query, device_query, RPMA_IOC_DEVICE_QUERY)
RPMA_IOC_WRAPPER(device_resolve, device_resolve, RPMA_IOC_DEVICE_RESOLVE)
RPMA_IOC_WRAPPER(destroy, destroy, RPMA_IOC_DESTROY)
RPMA_IOC_WRAPPER(peer_create, peer_create, RPMA_IOC_PEER_CREATE)
RPMA_IOC_WRAPPER(mr_reg, mr_reg, RPMA_IOC_MR_REG)
RPMA_IOC_WRAPPER(cq_create, cq_create, RPMA_IOC_CQ_CREATE)
RPMA_IOC_WRAPPER(channel_create, channel_create, RPMA_IOC_CHANNEL_CREATE)
RPMA_IOC_WRAPPER(ep_listen, ep_listen, RPMA_IOC_EP_LISTEN)
RPMA_IOC_WRAPPER(ep_take, ep_take, RPMA_IOC_EP_TAKE)
RPMA_IOC_WRAPPER(conn_create, conn_create, RPMA_IOC_CONN_CREATE)
RPMA_IOC_WRAPPER(conn_connect, conn_handshake, RPMA_IOC_CONN_CONNECT)
RPMA_IOC_WRAPPER(conn_accept, conn_handshake, RPMA_IOC_CONN_ACCEPT)
RPMA_IOC_WRAPPER(conn_reject, conn_handshake, RPMA_IOC_CONN_REJECT)
RPMA_IOC_WRAPPER(conn_disconnect, conn_disconnect, RPMA_IOC_CONN_DISCONNECT)
RPMA_IOC_WRAPPER(conn_query, conn_query, RPMA_IOC_CONN_QUERY)
RPMA_IOC_WRAPPER(conn_modify, conn_modify, RPMA_IOC_CONN_MODIFY)
RPMA_IOC_WRAPPER(srq_create, srq_create, RPMA_IOC_SRQ_CREATE)
RPMA_IOC_WRAPPER(flush, flush, RPMA_IOC_FLUSH)

#define ioc_query(fd, ...) __ioc_ok(query, query, fd, ##__VA_ARGS__)
#define ioc_err_query(err, fd, ...) __ioc_err(err, query, query, fd, ##__VA_ARGS__)
#define ioc_device_query(fd, ...) __ioc_ok(device_query, device_query, fd, ##__VA_ARGS__)
#define ioc_err_device_query(err, fd, ...) \
	__ioc_err(err, device_query, device_query, fd, ##__VA_ARGS__)
#define ioc_device_resolve(fd, ...) __ioc_ok(device_resolve, device_resolve, fd, ##__VA_ARGS__)
#define ioc_err_device_resolve(err, fd, ...) \
	__ioc_err(err, device_resolve, device_resolve, fd, ##__VA_ARGS__)
#define ioc_destroy(fd, ...) __ioc_ok(destroy, destroy, fd, ##__VA_ARGS__)
#define ioc_err_destroy(err, fd, ...) __ioc_err(err, destroy, destroy, fd, ##__VA_ARGS__)
#define ioc_peer_create(fd, ...) __ioc_ok(peer_create, peer_create, fd, ##__VA_ARGS__)
#define ioc_err_peer_create(err, fd, ...) \
	__ioc_err(err, peer_create, peer_create, fd, ##__VA_ARGS__)
#define ioc_mr_reg(fd, ...) __ioc_ok(mr_reg, mr_reg, fd, ##__VA_ARGS__)
#define ioc_err_mr_reg(err, fd, ...) __ioc_err(err, mr_reg, mr_reg, fd, ##__VA_ARGS__)
#define ioc_cq_create(fd, ...) __ioc_ok(cq_create, cq_create, fd, ##__VA_ARGS__)
#define ioc_err_cq_create(err, fd, ...) __ioc_err(err, cq_create, cq_create, fd, ##__VA_ARGS__)
#define ioc_channel_create(fd, ...) \
	__ioc_ok(channel_create, channel_create, fd, ##__VA_ARGS__)
#define ioc_ep_listen(fd, ...) __ioc_ok(ep_listen, ep_listen, fd, ##__VA_ARGS__)
#define ioc_err_ep_listen(err, fd, ...) __ioc_err(err, ep_listen, ep_listen, fd, ##__VA_ARGS__)
#define ioc_ep_take(fd, ...) __ioc_ok(ep_take, ep_take, fd, ##__VA_ARGS__)
#define ioc_err_ep_take(err, fd, ...) __ioc_err(err, ep_take, ep_take, fd, ##__VA_ARGS__)
#define ioc_conn_create(fd, ...) __ioc_ok(conn_create, conn_create, fd, ##__VA_ARGS__)
#define ioc_err_conn_create(err, fd, ...) \
	__ioc_err(err, conn_create, conn_create, fd, ##__VA_ARGS__)
#define ioc_conn_connect(fd, ...) __ioc_ok(conn_connect, conn_handshake, fd, ##__VA_ARGS__)
#define ioc_err_conn_connect(err, fd, ...) \
	__ioc_err(err, conn_connect, conn_handshake, fd, ##__VA_ARGS__)
#define ioc_conn_accept(fd, ...) __ioc_ok(conn_accept, conn_handshake, fd, ##__VA_ARGS__)
#define ioc_err_conn_accept(err, fd, ...) \
	__ioc_err(err, conn_accept, conn_handshake, fd, ##__VA_ARGS__)
#define ioc_conn_reject(fd, ...) __ioc_ok(conn_reject, conn_handshake, fd, ##__VA_ARGS__)
#define ioc_err_conn_reject(err, fd, ...) \
	__ioc_err(err, conn_reject, conn_handshake, fd, ##__VA_ARGS__)
#define ioc_conn_disconnect(fd, ...) \
	__ioc_ok(conn_disconnect, conn_disconnect, fd, ##__VA_ARGS__)
#define ioc_err_conn_disconnect(err, fd, ...) \
	__ioc_err(err, conn_disconnect, conn_disconnect, fd, ##__VA_ARGS__)
#define ioc_conn_query(fd, ...) __ioc_ok(conn_query, conn_query, fd, ##__VA_ARGS__)
#define ioc_err_conn_query(err, fd, ...) \
	__ioc_err(err, conn_query, conn_query, fd, ##__VA_ARGS__)
#define ioc_conn_modify(fd, ...) __ioc_ok(conn_modify, conn_modify, fd, ##__VA_ARGS__)
#define ioc_err_conn_modify(err, fd, ...) \
	__ioc_err(err, conn_modify, conn_modify, fd, ##__VA_ARGS__)
#define ioc_srq_create(fd, ...) __ioc_ok(srq_create, srq_create, fd, ##__VA_ARGS__)
#define ioc_err_srq_create(err, fd, ...) \
	__ioc_err(err, srq_create, srq_create, fd, ##__VA_ARGS__)
#define ioc_flush(conn, ...) __ioc_ok(flush, flush, conn, ##__VA_ARGS__)
#define ioc_err_flush(err, conn, ...) __ioc_err(err, flush, flush, conn, ##__VA_ARGS__)

static inline int _ioc_post_flags(int conn, const struct rpma_request *requests, __u32 nr,
				  __u32 flags)
{
	struct rpma_ioc_post cmd = {
		.size = sizeof(cmd),
		.flags = flags,
		.requests = (uintptr_t)requests,
		.nr = nr,
		.request_size = sizeof(*requests),
	};

	return ioctl(conn, RPMA_IOC_POST, &cmd);
}

#define _ioc_post(conn, requests, nr) _ioc_post_flags(conn, requests, nr, 0)
#define ioc_post(conn, requests, nr)					\
	ASSERT_EQ((int)(nr), _ioc_post(conn, requests, nr))		\
		TH_LOG("post: %s", strerror(errno))
#define ioc_err_post(err, conn, requests, nr) EXPECT_ERRNO(err, _ioc_post(conn, requests, nr))

static inline int _ioc_srq_post(int fd, __u32 srq, const struct rpma_request *requests, __u32 nr)
{
	struct rpma_ioc_srq_post cmd = {
		.size = sizeof(cmd),
		.requests = (uintptr_t)requests,
		.nr = nr,
		.request_size = sizeof(*requests),
		.srq = srq,
	};

	return ioctl(fd, RPMA_IOC_SRQ_POST, &cmd);
}

#define ioc_srq_post(fd, srq, requests, nr)				\
	ASSERT_EQ((int)(nr), _ioc_srq_post(fd, srq, requests, nr))	\
		TH_LOG("srq_post: %s", strerror(errno))
#define ioc_err_srq_post(err, fd, srq, requests, nr) \
	EXPECT_ERRNO(err, _ioc_srq_post(fd, srq, requests, nr))

#define _ioc_cq_poll(cq) ioctl(cq, RPMA_IOC_CQ_POLL, 0)
#define _ioc_cq_wait(cq) ioctl(cq, RPMA_IOC_CQ_WAIT, 0)
#define ioc_err_cq_wait(err, cq) EXPECT_ERRNO(err, _ioc_cq_wait(cq))

/* ---- addresses ---- */

static inline const char *test_env(const char *name, const char *otherwise)
{
	const char *value = getenv(name);

	return value && *value ? value : otherwise;
}

static inline const char *test_addr4(void)
{
	return test_env("RPMA_TEST_ADDR4", "10.7.7.1");
}

static inline const char *test_addr6(void)
{
	return test_env("RPMA_TEST_ADDR6", "fd07::1");
}

static inline const char *test_dev(void)
{
	return test_env("RPMA_TEST_DEV", "rxe0");
}

static inline void addr_set(__u8 addr[RPMA_ADDR_SIZE], const char *text, __u16 port)
{
	struct sockaddr_in in = { .sin_family = AF_INET, .sin_port = htons(port) };
	struct sockaddr_in6 in6 = { .sin6_family = AF_INET6, .sin6_port = htons(port) };

	memset(addr, 0, RPMA_ADDR_SIZE);
	if (inet_pton(AF_INET, text, &in.sin_addr) == 1)
		memcpy(addr, &in, sizeof(in));
	else if (inet_pton(AF_INET6, text, &in6.sin6_addr) == 1)
		memcpy(addr, &in6, sizeof(in6));
}

/* sin_port and sin6_port are at the same place. */
static inline __u16 addr_port(const __u8 addr[RPMA_ADDR_SIZE])
{
	struct sockaddr_in in;

	memcpy(&in, addr, sizeof(in));
	return ntohs(in.sin_port);
}

static inline __u32 _resolve(int fd, const char *text)
{
	struct rpma_ioc_device_resolve cmd = {};

	addr_set(cmd.addr, text, 0);
	return _ioc_device_resolve(fd, &cmd) ? 0 : cmd.out_device;
}

/* ---- waiting, never for ever ---- */

static inline long long now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000LL + ts.tv_nsec / 1000000;
}

static inline short poll_for(int fd, short events, int ms)
{
	struct pollfd p = { .fd = fd, .events = events };

	return poll(&p, 1, ms) == 1 ? p.revents : 0;
}

static inline void set_nonblock(int fd)
{
	fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
}

/* Takes the next completion of a non-blocking queue: 1, or 0 for none in time. */
static inline int reap_within(int cq, struct rpma_completion *c, int ms)
{
	long long end = now_ms() + ms;

	for (;;) {
		if (read(cq, c, sizeof(*c)) == sizeof(*c))
			return 1;
		if (errno != EAGAIN || now_ms() >= end)
			return 0;
		poll_for(cq, POLLIN, 100);
		_ioc_cq_wait(cq);
	}
}

static inline struct rpma_completion reap(struct __test_metadata *_metadata, int cq)
{
	struct rpma_completion c = {};

	ASSERT_EQ(1, reap_within(cq, &c, WAIT_MS))
		TH_LOG("no completion came");
	return c;
}

/* The queue holds nothing, and nothing is on its way. */
#define expect_no_completion(cq)					\
	({								\
		struct rpma_completion __none;				\
		EXPECT_EQ(0, reap_within(cq, &__none, 200));		\
	})

#define expect_completion(cq, want_context, want_op, want_status)	\
	({								\
		struct rpma_completion __c = reap(_metadata, cq);	\
		ASSERT_EQ((__u64)(want_context), __c.context);		\
		ASSERT_EQ((__u32)(want_op), __c.op);			\
		ASSERT_EQ((__u32)(want_status), __c.status);		\
		__c;							\
	})

static inline struct rpma_event next_event(struct __test_metadata *_metadata, int conn)
{
	struct rpma_event event = {};

	ASSERT_NE(0, POLLIN & poll_for(conn, POLLIN, WAIT_SECONDS * 1000))
		TH_LOG("no event came");
	ASSERT_EQ((ssize_t)sizeof(event), read(conn, &event, sizeof(event)));
	return event;
}

#define expect_event(conn, want)					\
	ASSERT_EQ((__u32)(want), next_event(_metadata, conn).type)

/* After the last event read(2) says end of file. */
#define expect_no_more_events(conn)					\
	({								\
		struct rpma_event __event;				\
		EXPECT_EQ(0, POLLIN & poll_for(conn, POLLIN, 0));	\
		EXPECT_EQ(0, read(conn, &__event, sizeof(__event)));	\
	})

/* ---- memory ---- */

#define ACCESS_ALL (RPMA_ACCESS_READ_SRC | RPMA_ACCESS_READ_DST | RPMA_ACCESS_WRITE_SRC | \
		    RPMA_ACCESS_WRITE_DST | RPMA_ACCESS_FLUSH_GLOBAL | RPMA_ACCESS_SEND | \
		    RPMA_ACCESS_RECV)

struct region {
	__u8 *addr;
	__u64 length;
	__u32 access;
	__u32 mr;
	__u32 rkey;
};

static inline __u8 *map_pages(struct __test_metadata *_metadata, size_t length)
{
	void *addr = mmap(NULL, length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			  -1, 0);

	ASSERT_NE(MAP_FAILED, addr);
	return addr;
}

/* Registers memory that is there already. */
static inline struct region region_reg(struct __test_metadata *_metadata, int fd, __u32 peer,
				       void *addr, size_t length, __u32 access)
{
	struct region r = { .addr = addr, .length = length, .access = access };
	struct rpma_ioc_mr_reg cmd;

	cmd = ioc_mr_reg(fd, .peer = peer, .access = access, .addr = (uintptr_t)addr,
			 .length = length,
			 .flags = access & RPMA_ACCESS_FLUSH_PERSISTENT ?
				  RPMA_MR_REG_F_PERSISTENT_BY_READ : 0);
	r.mr = cmd.out_mr;
	r.rkey = cmd.out_rkey;
	return r;
}

static inline struct region region_new(struct __test_metadata *_metadata, int fd, __u32 peer,
				       size_t length, __u32 access)
{
	return region_reg(_metadata, fd, peer, map_pages(_metadata, length), length, access);
}

static inline struct rpma_remote remote_of(const struct region *r)
{
	return (struct rpma_remote){
		.addr = (uintptr_t)r->addr,
		.length = r->length,
		.rkey = r->rkey,
		.access = r->access,
	};
}

/* ---- requests ---- */

#define SIGNALED RPMA_REQ_F_SIGNALED

static inline struct rpma_request req_write(__u64 context, __u32 flags, const struct region *from,
					    __u64 offset, const struct region *to,
					    __u64 remote_offset, __u64 len)
{
	return (struct rpma_request){
		.op = RPMA_OP_WRITE,
		.context = context,
		.flags = flags,
		.mr = from->mr,
		.mr_offset = offset,
		.len = len,
		.remote = remote_of(to),
		.remote_offset = remote_offset,
	};
}

static inline struct rpma_request req_read(__u64 context, __u32 flags, const struct region *into,
					   __u64 offset, const struct region *from,
					   __u64 remote_offset, __u64 len)
{
	struct rpma_request r = req_write(context, flags, into, offset, from, remote_offset, len);

	r.op = RPMA_OP_READ;
	return r;
}

static inline struct rpma_request req_flush(__u64 context, __u32 flags, const struct region *to,
					    __u64 remote_offset, __u64 len)
{
	return (struct rpma_request){
		.op = RPMA_OP_FLUSH,
		.context = context,
		.flags = flags,
		.len = len,
		.remote = remote_of(to),
		.remote_offset = remote_offset,
		.placement = RPMA_FLUSH_GLOBAL,
	};
}

static inline struct rpma_request req_send(__u64 context, __u32 flags, const struct region *from,
					   __u64 offset, __u64 len)
{
	return (struct rpma_request){
		.op = RPMA_OP_SEND,
		.context = context,
		.flags = flags,
		.mr = from->mr,
		.mr_offset = offset,
		.len = len,
	};
}

static inline struct rpma_request req_recv(__u64 context, const struct region *into,
					   __u64 offset, __u64 len)
{
	struct rpma_request r = req_send(context, 0, into, offset, len);

	r.op = RPMA_OP_RECV;
	return r;
}

#endif /* _RPMA_UTILS_H */
