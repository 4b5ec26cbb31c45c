/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The kernel's side of everything: /dev/rpma, its ioctls and its mappings.
 *
 * One function per command, thin on purpose: it fills in the size, makes the
 * call and returns 0 or more, or a negative errno. Signals do not restart
 * anything here. The unit tests put a make-believe kernel behind this header.
 */
#ifndef RPMA_KERNEL_H
#define RPMA_KERNEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#include <linux/rpma.h>

/* The device node in use: /dev/rpma unless the environment says otherwise. */
const char *kernel_device_path(void);

/* Opens the device node, close-on-exec. */
int kernel_open(void);

/* Closes any descriptor of the kernel's. Leaves errno alone. */
void kernel_close(int fd);

int kernel_query(int fd, struct rpma_ioc_query *query);

/* Device number @position, counted from 0. -ENOENT: past the last one. */
int kernel_device_query(int fd, uint32_t position, struct rpma_ioc_device_query *query);

/* The number of the device that has (or reaches) an address. */
int kernel_device_resolve(int fd, const struct sockaddr *addr, socklen_t len, bool remote,
			  uint32_t timeout_ms, uint32_t *device);

int kernel_peer_create(int fd, struct rpma_ioc_peer_create *peer);
int kernel_peer_destroy(int fd, uint32_t id);

int kernel_mr_reg(int fd, struct rpma_ioc_mr_reg *mr);

/* Deregisters even while requests use the region. */
int kernel_mr_destroy(int fd, uint32_t id);

/* Whether, and as which queue of two, events show on a channel. */
struct kernel_channel_place {
	int channel_fd;
	enum kernel_channel_queue {
		KERNEL_CHANNEL_NONE,
		KERNEL_CHANNEL_CQ,
		KERNEL_CHANNEL_RCQ,
	} queue;
};

/* The descriptor of a new completion queue; @ring_bytes for kernel_cq_map(). */
int kernel_cq_create(int fd, uint32_t peer, uint32_t entries, struct kernel_channel_place place,
		     uint32_t *ring_bytes);

/* Maps the ring of completions and the page that says how far it was read. */
int kernel_cq_map(int cq_fd, size_t ring_bytes, const struct rpma_cq_ring **ring,
		  uint32_t **head);
void kernel_cq_unmap(const struct rpma_cq_ring *ring, size_t ring_bytes, uint32_t *head);

/* Both return how many completions are unread. */
int kernel_cq_poll(int cq_fd);
int kernel_cq_wait(int cq_fd);

/*
 * A channel tells which of its queues has an event, where one descriptor must
 * do for both.
 */
int kernel_channel_create(int fd);

/* Waits, consumes one event and says whose it is; -EAGAIN if none and O_NONBLOCK. */
int kernel_channel_wait(int channel_fd);

/* Shared receive queues: a new one's number, its end, and a RECV for it. */
int kernel_srq_create(int fd, uint32_t peer, uint32_t entries, uint32_t *id);
int kernel_srq_destroy(int fd, uint32_t id);
int kernel_srq_post(int fd, uint32_t id, const struct rpma_request *request);

/* The descriptor of an endpoint. */
int kernel_ep_listen(int fd, uint32_t peer, const struct sockaddr *addr, socklen_t len);

/* Waits for an incoming connection; -EAGAIN if none and O_NONBLOCK. */
int kernel_ep_wait(int ep_fd);

/* The descriptor of a connection. */
int kernel_ep_take(int fd, int ep_fd, const struct rpma_conn_queues *queues);
int kernel_conn_create(int fd, uint32_t peer, const struct sockaddr *addr, socklen_t len,
		       uint32_t timeout_ms, const struct rpma_conn_queues *queues);

int kernel_conn_connect(int fd, int conn_fd, const void *private_data, size_t len);
int kernel_conn_accept(int fd, int conn_fd, const void *private_data, size_t len);
int kernel_conn_disconnect(int fd, int conn_fd, uint32_t linger_ms);
int kernel_conn_query(int fd, int conn_fd, struct rpma_ioc_conn_query *query);
int kernel_conn_direct_write(int fd, int conn_fd, bool direct_write);

/* -EOPNOTSUPP: the device cannot flush so. */
int kernel_conn_flush_method(int fd, int conn_fd, enum rpma_flush_method method);

/* 1: there is an event; 0: none will ever come; -EAGAIN: none yet. */
int kernel_conn_event(int conn_fd, struct rpma_event *event);

/*
 * Posts one request, or one flush. If there is no room they wait as long as
 * it comes by itself, then say -EAGAIN. -EMSGSIZE: a flush too long for the
 * method of the connection.
 */
int kernel_post(int conn_fd, const struct rpma_request *request);
int kernel_flush(int conn_fd, struct rpma_ioc_flush *flush);

/* Posts requests in the same way, and returns how many; less: ask again. */
int kernel_post_several(int conn_fd, const struct rpma_request *requests, uint32_t nr);

#endif /* RPMA_KERNEL_H */
