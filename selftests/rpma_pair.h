/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A pair: both ends of one connection in one process.
 *
 *   client.conn --- rxe on a dummy netdev, looped back --- server.conn
 *      client.cq, client.mem                 server.cq, server.mem
 */
#ifndef _RPMA_PAIR_H
#define _RPMA_PAIR_H

#include "rpma_utils.h"

/* Zero fields take the defaults of pair_defaults(). */
struct pair_opts {
	const char *addr;
	__u32 sq_size;
	__u32 rq_size;
	__u32 cq_entries;
	__u32 peer_timeout_ms;
	size_t length;
	__u32 access;
	bool recv_cq;
};

struct side {
	int cq;
	int rcq;
	int conn;
	__u32 srq;	/* instead of a receive queue */
	struct region mem;
};

struct pair {
	struct pair_opts opts;
	int fd;
	__u32 peer;
	int ep;
	__u16 port;
	struct side client;
	struct side server;
};

static inline int rpma_open(struct __test_metadata *_metadata)
{
	int fd = open(RPMA_DEVICE, O_RDWR | O_CLOEXEC);

	ASSERT_LE(0, fd)
		TH_LOG("%s: %s", RPMA_DEVICE, strerror(errno));
	return fd;
}

static inline __u32 peer_new(struct __test_metadata *_metadata, int fd)
{
	__u32 device = _resolve(fd, test_addr4());

	ASSERT_NE(0, device)
		TH_LOG("no RDMA device at %s", test_addr4());
	return ioc_peer_create(fd, .device = device).out_peer;
}

static inline int cq_new(struct __test_metadata *_metadata, int fd, __u32 peer, __u32 entries)
{
	int cq = ioc_cq_create(fd, .peer = peer, .entries = entries).out_fd;

	ASSERT_LE(0, cq);
	set_nonblock(cq);
	return cq;
}

/* Listens at a port of the kernel's choice. */
static inline int ep_new(struct __test_metadata *_metadata, int fd, __u32 peer,
			 const char *addr, __u16 *port)
{
	struct rpma_ioc_ep_listen cmd = { .peer = peer };

	addr_set(cmd.addr, addr, 0);
	ASSERT_EQ(0, _ioc_ep_listen(fd, &cmd))
		TH_LOG("listen at %s: %s", addr, strerror(errno));
	set_nonblock(cmd.out_fd);
	*port = addr_port(cmd.out_addr);
	ASSERT_NE(0, *port);
	return cmd.out_fd;
}

static inline struct rpma_conn_queues side_queues(const struct side *side,
						  const struct pair_opts *opts)
{
	return (struct rpma_conn_queues){
		.send_cq_fd = side->cq,
		.recv_cq_fd = side->rcq,
		.sq_size = opts->sq_size,
		.rq_size = side->srq ? 0 : opts->rq_size,
		.peer_timeout_ms = opts->peer_timeout_ms,
		.srq = side->srq,
	};
}

/* A connection that has not said anything to the other side yet. */
static inline void client_create(struct __test_metadata *_metadata, struct pair *p,
				 struct side *client)
{
	struct rpma_ioc_conn_create cmd = { .peer = p->peer, .timeout_ms = WAIT_MS };

	cmd.queues = side_queues(client, &p->opts);
	addr_set(cmd.addr, p->opts.addr, p->port);
	ASSERT_EQ(0, _ioc_conn_create(p->fd, &cmd))
		TH_LOG("connection to %s: %s", p->opts.addr, strerror(errno));
	client->conn = cmd.out_fd;
}

/* The next incoming connection, not accepted yet. */
static inline void server_take(struct __test_metadata *_metadata, struct pair *p,
			       struct side *server)
{
	ASSERT_NE(0, POLLIN & poll_for(p->ep, POLLIN, WAIT_MS))
		TH_LOG("no incoming connection");
	server->conn = ioc_ep_take(p->fd, .ep_fd = p->ep,
				   .queues = side_queues(server, &p->opts)).out_fd;
}

static inline void side_init(struct __test_metadata *_metadata, struct pair *p,
			     struct side *side)
{
	side->conn = -1;
	side->srq = 0;
	side->cq = cq_new(_metadata, p->fd, p->peer, p->opts.cq_entries);
	side->rcq = -1;
	if (p->opts.recv_cq)
		side->rcq = cq_new(_metadata, p->fd, p->peer, p->opts.cq_entries);
	side->mem = region_new(_metadata, p->fd, p->peer, p->opts.length, p->opts.access);
}

static inline void sides_connect(struct __test_metadata *_metadata, struct pair *p,
				 struct side *client, struct side *server)
{
	client_create(_metadata, p, client);
	ioc_conn_connect(p->fd, .conn_fd = client->conn);
	server_take(_metadata, p, server);
	ioc_conn_accept(p->fd, .conn_fd = server->conn);
	expect_event(client->conn, RPMA_EVENT_ESTABLISHED);
	expect_event(server->conn, RPMA_EVENT_ESTABLISHED);
}

/* Everything but the connection: device, queues, memory and a listener. */
static inline void pair_prepare(struct __test_metadata *_metadata, struct pair *p,
				struct pair_opts opts)
{
	opts.addr = opts.addr ?: test_addr4();
	opts.sq_size = opts.sq_size ?: 16;
	opts.rq_size = opts.rq_size ?: 16;
	opts.cq_entries = opts.cq_entries ?: opts.sq_size + opts.rq_size;
	opts.length = opts.length ?: 65536;
	opts.access = opts.access ?: ACCESS_ALL;

	memset(p, 0, sizeof(*p));
	p->opts = opts;
	p->fd = rpma_open(_metadata);
	p->peer = peer_new(_metadata, p->fd);
	p->ep = ep_new(_metadata, p->fd, p->peer, opts.addr, &p->port);
	side_init(_metadata, p, &p->client);
	side_init(_metadata, p, &p->server);
}

static inline void pair_open(struct __test_metadata *_metadata, struct pair *p,
			     struct pair_opts opts)
{
	pair_prepare(_metadata, p, opts);
	sides_connect(_metadata, p, &p->client, &p->server);
}

static inline void side_close(struct side *side)
{
	if (side->conn >= 0)
		close(side->conn);
	close(side->cq);
	if (side->rcq >= 0)
		close(side->rcq);
	munmap(side->mem.addr, side->mem.length);
}

static inline void pair_close(struct pair *p)
{
	side_close(&p->client);
	side_close(&p->server);
	close(p->ep);
	close(p->fd);
}

/* One more side with queues and memory of its own, not connected yet. */
static inline struct side side_new(struct __test_metadata *_metadata, struct pair *p)
{
	struct side side;

	side_init(_metadata, p, &side);
	return side;
}

/* A second connection beside the first, of the same kind. */
static inline void pair_add(struct __test_metadata *_metadata, struct pair *p,
			    struct side *client, struct side *server)
{
	side_init(_metadata, p, client);
	side_init(_metadata, p, server);
	sides_connect(_metadata, p, client, server);
}

/* The connection still does its work: one write, one flush, the bytes arrived. */
static inline void expect_usable(struct __test_metadata *_metadata, struct pair *p)
{
	static __u8 pattern = 0x5a;
	struct rpma_request requests[2];
	struct region *from = &p->client.mem;
	struct region *to = &p->server.mem;

	pattern++;
	memset(from->addr, pattern, 64);
	memset(to->addr, 0, 64);
	requests[0] = req_write(0, 0, from, 0, to, 0, 64);
	requests[1] = req_flush(0xf1, SIGNALED, to, 0, 64);
	ioc_post(p->client.conn, requests, 2);
	expect_completion(p->client.cq, 0xf1, RPMA_OP_FLUSH, RPMA_STATUS_SUCCESS);
	ASSERT_EQ(0, memcmp(from->addr, to->addr, 64));
}

/* Posts the same array again and again until the queue is full; how many went. */
static inline int post_until_full(int conn, const struct rpma_request *request, int at_most)
{
	int n = 0;

	while (n < at_most && _ioc_post(conn, request, 1) == 1)
		n++;
	return n;
}

#endif /* _RPMA_PAIR_H */
