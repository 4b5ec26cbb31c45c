// SPDX-License-Identifier: BSD-3-Clause
/* The only file that opens, maps, reads and calls /dev/rpma. */
#define _GNU_SOURCE

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "kernel.h"

#define DEVICE_PATH "/dev/rpma"
#define DEVICE_PATH_ENV "RPMA_DEVICE"

static int call(int fd, unsigned long cmd, void *arg)
{
	int ret = ioctl(fd, cmd, arg);

	return ret < 0 ? -errno : ret;
}

/* The bytes behind the address stay 0, as the kernel asks. */
static int put_addr(__u8 *to, const struct sockaddr *addr, socklen_t len)
{
	if (len > RPMA_ADDR_SIZE)
		return -EAFNOSUPPORT;
	memcpy(to, addr, len);
	return 0;
}

const char *kernel_device_path(void)
{
	const char *path = secure_getenv(DEVICE_PATH_ENV);

	return path && *path ? path : DEVICE_PATH;
}

int kernel_open(void)
{
	int fd = open(kernel_device_path(), O_RDWR | O_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

void kernel_close(int fd)
{
	int err = errno;

	close(fd);
	errno = err;
}

int kernel_query(int fd, struct rpma_ioc_query *query)
{
	memset(query, 0, sizeof(*query));
	query->size = sizeof(*query);
	return call(fd, RPMA_IOC_QUERY, query);
}

int kernel_device_query(int fd, uint32_t position, struct rpma_ioc_device_query *query)
{
	memset(query, 0, sizeof(*query));
	query->size = sizeof(*query);
	query->position = position;
	return call(fd, RPMA_IOC_DEVICE_QUERY, query);
}

int kernel_device_resolve(int fd, const struct sockaddr *addr, socklen_t len, bool remote,
			  uint32_t timeout_ms, uint32_t *device)
{
	struct rpma_ioc_device_resolve cmd = {
		.size = sizeof(cmd),
		.flags = remote ? RPMA_DEVICE_RESOLVE_F_REMOTE : 0,
		.timeout_ms = timeout_ms,
	};
	int ret;

	ret = put_addr(cmd.addr, addr, len);
	if (!ret)
		ret = call(fd, RPMA_IOC_DEVICE_RESOLVE, &cmd);
	if (!ret)
		*device = cmd.out_device;
	return ret;
}

int kernel_peer_create(int fd, struct rpma_ioc_peer_create *peer)
{
	peer->size = sizeof(*peer);
	return call(fd, RPMA_IOC_PEER_CREATE, peer);
}

static int destroy(int fd, uint32_t id, uint32_t flags)
{
	struct rpma_ioc_destroy cmd = { .size = sizeof(cmd), .flags = flags, .id = id };

	return call(fd, RPMA_IOC_DESTROY, &cmd);
}

int kernel_peer_destroy(int fd, uint32_t id)
{
	return destroy(fd, id, 0);
}

int kernel_mr_reg(int fd, struct rpma_ioc_mr_reg *mr)
{
	mr->size = sizeof(*mr);
	return call(fd, RPMA_IOC_MR_REG, mr);
}

int kernel_mr_destroy(int fd, uint32_t id)
{
	return destroy(fd, id, RPMA_DESTROY_F_FORCE);
}

int kernel_cq_create(int fd, uint32_t peer, uint32_t entries, struct kernel_channel_place place,
		     uint32_t *ring_bytes)
{
	struct rpma_ioc_cq_create cmd = {
		.size = sizeof(cmd),
		.peer = peer,
		.entries = entries,
	};
	int ret;

	if (place.queue != KERNEL_CHANNEL_NONE) {
		cmd.flags = RPMA_CQ_CREATE_F_CHANNEL;
		cmd.channel_fd = place.channel_fd;
		cmd.cookie = place.queue;
	}
	ret = call(fd, RPMA_IOC_CQ_CREATE, &cmd);
	if (ret < 0)
		return ret;
	*ring_bytes = cmd.out_ring_bytes;
	return cmd.out_fd;
}

int kernel_cq_map(int cq_fd, size_t ring_bytes, const struct rpma_cq_ring **ring,
		  uint32_t **head)
{
	void *r, *h;
	int ret;

	r = mmap(NULL, ring_bytes, PROT_READ, MAP_SHARED, cq_fd, RPMA_CQ_OFF_RING);
	if (r == MAP_FAILED)
		return -errno;
	h = mmap(NULL, sysconf(_SC_PAGESIZE), PROT_READ | PROT_WRITE, MAP_SHARED, cq_fd,
		 RPMA_CQ_OFF_HEAD);
	if (h == MAP_FAILED) {
		ret = -errno;
		munmap(r, ring_bytes);
		return ret;
	}
	*ring = r;
	*head = h;
	return 0;
}

void kernel_cq_unmap(const struct rpma_cq_ring *ring, size_t ring_bytes, uint32_t *head)
{
	munmap((void *)ring, ring_bytes);
	munmap(head, sysconf(_SC_PAGESIZE));
}

int kernel_cq_poll(int cq_fd)
{
	return call(cq_fd, RPMA_IOC_CQ_POLL, NULL);
}

int kernel_cq_wait(int cq_fd)
{
	return call(cq_fd, RPMA_IOC_CQ_WAIT, NULL);
}

int kernel_channel_create(int fd)
{
	struct rpma_ioc_channel_create cmd = { .size = sizeof(cmd) };
	int ret = call(fd, RPMA_IOC_CHANNEL_CREATE, &cmd);

	return ret < 0 ? ret : cmd.out_fd;
}

int kernel_channel_wait(int channel_fd)
{
	struct rpma_channel_event event;
	ssize_t ret = read(channel_fd, &event, sizeof(event));

	if (ret < 0)
		return -errno;
	return ret == sizeof(event) ? (int)event.cookie : -EIO;
}

int kernel_srq_create(int fd, uint32_t peer, uint32_t entries, uint32_t *id)
{
	struct rpma_ioc_srq_create cmd = {
		.size = sizeof(cmd),
		.peer = peer,
		.entries = entries,
	};
	int ret;

	ret = call(fd, RPMA_IOC_SRQ_CREATE, &cmd);
	if (!ret)
		*id = cmd.out_srq;
	return ret;
}

int kernel_srq_destroy(int fd, uint32_t id)
{
	return destroy(fd, id, 0);
}

int kernel_srq_post(int fd, uint32_t id, const struct rpma_request *request)
{
	struct rpma_ioc_srq_post cmd = {
		.size = sizeof(cmd),
		.requests = (uintptr_t)request,
		.nr = 1,
		.request_size = sizeof(*request),
		.srq = id,
	};
	int ret;

	ret = call(fd, RPMA_IOC_SRQ_POST, &cmd);
	return ret < 0 ? ret : 0;
}

int kernel_ep_listen(int fd, uint32_t peer, const struct sockaddr *addr, socklen_t len)
{
	struct rpma_ioc_ep_listen cmd = { .size = sizeof(cmd), .peer = peer };
	int ret;

	ret = put_addr(cmd.addr, addr, len);
	if (!ret)
		ret = call(fd, RPMA_IOC_EP_LISTEN, &cmd);
	return ret < 0 ? ret : cmd.out_fd;
}

int kernel_ep_wait(int ep_fd)
{
	struct pollfd pfd = { .fd = ep_fd, .events = POLLIN };
	int flags, ret;

	flags = fcntl(ep_fd, F_GETFL);
	if (flags < 0)
		return -errno;
	ret = poll(&pfd, 1, flags & O_NONBLOCK ? 0 : -1);
	if (ret < 0)
		return -errno;
	return ret ? 0 : -EAGAIN;
}

int kernel_ep_take(int fd, int ep_fd, const struct rpma_conn_queues *queues)
{
	struct rpma_ioc_ep_take cmd = {
		.size = sizeof(cmd),
		.ep_fd = ep_fd,
		.queues = *queues,
	};
	int ret;

	ret = call(fd, RPMA_IOC_EP_TAKE, &cmd);
	return ret < 0 ? ret : cmd.out_fd;
}

int kernel_conn_create(int fd, uint32_t peer, const struct sockaddr *addr, socklen_t len,
		       uint32_t timeout_ms, const struct rpma_conn_queues *queues)
{
	struct rpma_ioc_conn_create cmd = {
		.size = sizeof(cmd),
		.peer = peer,
		.timeout_ms = timeout_ms,
		.queues = *queues,
	};
	int ret;

	ret = put_addr(cmd.addr, addr, len);
	if (!ret)
		ret = call(fd, RPMA_IOC_CONN_CREATE, &cmd);
	return ret < 0 ? ret : cmd.out_fd;
}

static int handshake(int fd, unsigned long cmd_nr, int conn_fd, const void *private_data,
		     size_t len)
{
	struct rpma_ioc_conn_handshake cmd = { .size = sizeof(cmd), .conn_fd = conn_fd };

	if (len > sizeof(cmd.private_data))
		return -EINVAL;
	if (len)
		memcpy(cmd.private_data, private_data, len);
	cmd.private_data_len = len;
	return call(fd, cmd_nr, &cmd);
}

int kernel_conn_connect(int fd, int conn_fd, const void *private_data, size_t len)
{
	return handshake(fd, RPMA_IOC_CONN_CONNECT, conn_fd, private_data, len);
}

int kernel_conn_accept(int fd, int conn_fd, const void *private_data, size_t len)
{
	return handshake(fd, RPMA_IOC_CONN_ACCEPT, conn_fd, private_data, len);
}

int kernel_conn_disconnect(int fd, int conn_fd, uint32_t linger_ms)
{
	struct rpma_ioc_conn_disconnect cmd = {
		.size = sizeof(cmd),
		.conn_fd = conn_fd,
		.linger_ms = linger_ms,
	};

	return call(fd, RPMA_IOC_CONN_DISCONNECT, &cmd);
}

int kernel_conn_query(int fd, int conn_fd, struct rpma_ioc_conn_query *query)
{
	memset(query, 0, sizeof(*query));
	query->size = sizeof(*query);
	query->conn_fd = conn_fd;
	return call(fd, RPMA_IOC_CONN_QUERY, query);
}

int kernel_conn_direct_write(int fd, int conn_fd, bool direct_write)
{
	struct rpma_ioc_conn_modify cmd = {
		.size = sizeof(cmd),
		.conn_fd = conn_fd,
		.mask = RPMA_CONN_MODIFY_DIRECT_WRITE,
		.direct_write = direct_write,
	};

	return call(fd, RPMA_IOC_CONN_MODIFY, &cmd);
}

int kernel_conn_flush_method(int fd, int conn_fd, enum rpma_flush_method method)
{
	struct rpma_ioc_conn_modify cmd = {
		.size = sizeof(cmd),
		.conn_fd = conn_fd,
		.mask = RPMA_CONN_MODIFY_FLUSH_METHOD,
		.flush_method = method,
	};

	return call(fd, RPMA_IOC_CONN_MODIFY, &cmd);
}

int kernel_conn_event(int conn_fd, struct rpma_event *event)
{
	ssize_t ret = read(conn_fd, event, sizeof(*event));

	if (ret < 0)
		return -errno;
	if (ret == 0)
		return 0;
	return ret == sizeof(*event) ? 1 : -EIO;
}

int kernel_post_several(int conn_fd, const struct rpma_request *requests, uint32_t nr)
{
	struct rpma_ioc_post cmd = {
		.size = sizeof(cmd),
		.flags = RPMA_POST_F_WAIT,
		.requests = (uintptr_t)requests,
		.nr = nr,
		.request_size = sizeof(*requests),
	};

	return call(conn_fd, RPMA_IOC_POST, &cmd);
}

int kernel_post(int conn_fd, const struct rpma_request *request)
{
	int ret = kernel_post_several(conn_fd, request, 1);

	return ret < 0 ? ret : 0;
}

int kernel_flush(int conn_fd, struct rpma_ioc_flush *flush)
{
	flush->size = sizeof(*flush);
	flush->post_flags = RPMA_POST_F_WAIT;
	return call(conn_fd, RPMA_IOC_FLUSH, flush);
}
