// SPDX-License-Identifier: BSD-3-Clause
/* Connections: queues, events, requests. Flush has its own file. */
#include <netdb.h>
#include <stdlib.h>
#include <string.h>

#include "conn.h"
#include "conn_cfg.h"
#include "cq.h"
#include "err.h"
#include "mr.h"
#include "peer.h"
#include "peer_cfg.h"

/* How long requests posted before a disconnect may take. */
#define LINGER_MS 1000

/* How often in a row the main queue may come before the receive queue. */
#define RCQ_PASSED_OVER_MAX 16

/* ---- birth and death ----------------------------------------------------- */

/*
 * A queue that can hold a completion for every request in flight never loses
 * one, whatever size the application asked for.
 */
static uint32_t cq_entries(const struct rpma_peer *peer, uint32_t asked, uint64_t in_flight)
{
	if (in_flight > peer->max_queue_size)
		in_flight = peer->max_queue_size;
	if (asked > in_flight)
		return asked;
	return in_flight;
}

static int share_channel(struct rpma_conn *conn)
{
	int ret = kernel_channel_create(cq_fd(conn->cq), cq_fd(conn->rcq));

	if (ret < 0)
		return err_report(-ret, "making a channel shared by completion queues");
	conn->channel_fd = ret;
	cq_share(conn->cq, ret);
	if (conn->rcq)
		cq_share(conn->rcq, ret);
	return 0;
}

/* A connection without a kernel one yet, and the queues to make that with. */
static int conn_alloc(const struct rpma_peer *peer, const struct conn_params *params,
		      struct rpma_conn_queues *queues, struct rpma_conn **conn_ptr)
{
	uint32_t sq_size = params->sq_size ? params->sq_size : 1;
	struct rpma_conn *conn;
	int ret;

	conn = calloc(1, sizeof(*conn));
	if (!conn)
		return RPMA_E_NOMEM;
	conn->fd = -1;
	conn->channel_fd = -1;
	conn->peer_fd = peer->fd;

	ret = cq_new(peer, cq_entries(peer, params->cq_size,
				      params->rcq_size ? sq_size :
				      (uint64_t)sq_size + params->rq_size), &conn->cq);
	if (!ret && params->rcq_size)
		ret = cq_new(peer, cq_entries(peer, params->rcq_size, params->rq_size),
			     &conn->rcq);
	if (!ret && params->shared_channel)
		ret = share_channel(conn);
	if (ret) {
		conn_delete(conn);
		return ret;
	}

	*queues = (struct rpma_conn_queues) {
		.send_cq_fd = cq_fd(conn->cq),
		.recv_cq_fd = cq_fd(conn->rcq),
		.sq_size = sq_size,
		.rq_size = params->rq_size,
	};
	*conn_ptr = conn;
	return 0;
}

int conn_new_active(const struct rpma_peer *peer, const struct addrinfo *list,
		    const struct conn_params *params, struct rpma_conn **conn_ptr)
{
	struct rpma_conn_queues queues;
	const struct addrinfo *ai;
	struct rpma_conn *conn;
	int ret;

	ret = conn_alloc(peer, params, &queues, &conn);
	if (ret)
		return ret;

	/* To the kernel 0 is a default; to applications it is no time at all. */
	for (ai = list; ai && conn->fd < 0; ai = ai->ai_next)
		conn->fd = kernel_conn_create(peer->fd, peer->id, ai->ai_addr, ai->ai_addrlen,
					      params->timeout_ms ? params->timeout_ms : 1,
					      &queues);
	if (conn->fd < 0) {
		ret = err_control(-conn->fd);
		conn_delete(conn);
		return ret;
	}
	*conn_ptr = conn;
	return 0;
}

/* Keeps what the other side sent, and the number of the queue pair. */
static int learn(struct rpma_conn *conn)
{
	struct rpma_ioc_conn_query query;
	uint32_t len;
	int ret;

	ret = kernel_conn_query(conn->peer_fd, conn->fd, &query);
	if (ret)
		return ret;
	atomic_store(&conn->qp_num, query.out_qp_num);

	/* librpma counts private data in a byte. */
	len = query.out_private_data_len > UINT8_MAX ? UINT8_MAX : query.out_private_data_len;
	if (len && !atomic_load(&conn->private_data_len)) {
		memcpy(conn->private_data, query.out_private_data, len);
		atomic_store_explicit(&conn->private_data_len, len, memory_order_release);
	}
	return 0;
}

int conn_new_passive(const struct rpma_peer *peer, int ep_fd, const struct conn_params *params,
		     struct rpma_conn **conn_ptr)
{
	struct rpma_conn_queues queues;
	struct rpma_conn *conn;
	int ret;

	ret = conn_alloc(peer, params, &queues, &conn);
	if (ret)
		return ret;

	conn->fd = kernel_ep_take(peer->fd, ep_fd, &queues);
	if (conn->fd < 0) {
		ret = conn->fd;
		goto err_delete;
	}
	ret = learn(conn);
	if (ret)
		goto err_delete;
	*conn_ptr = conn;
	return 0;

err_delete:
	conn_delete(conn);
	if (ret == -EAGAIN) {
		errno = EAGAIN;
		return RPMA_E_NO_EVENT;
	}
	return err_report(-ret, "taking an incoming connection");
}

/* The kernel's connection first: it reports to the queues. */
void conn_delete(struct rpma_conn *conn)
{
	if (!conn)
		return;
	if (conn->fd >= 0)
		kernel_close(conn->fd);
	if (conn->channel_fd >= 0)
		kernel_close(conn->channel_fd);
	cq_delete(conn->rcq);
	cq_delete(conn->cq);
	free(conn);
}

int rpma_conn_delete(struct rpma_conn **conn_ptr)
{
	if (!conn_ptr)
		return RPMA_E_INVAL;
	conn_delete(*conn_ptr);
	*conn_ptr = NULL;
	return 0;
}

/* ---- events -------------------------------------------------------------- */

int rpma_conn_get_event_fd(const struct rpma_conn *conn, int *fd)
{
	if (!conn || !fd)
		return RPMA_E_INVAL;
	*fd = conn->fd;
	return 0;
}

static enum rpma_conn_event to_conn_event(const struct rpma_event *event)
{
	switch (event->type) {
	case RPMA_EVENT_ESTABLISHED:
		return RPMA_CONN_ESTABLISHED;
	case RPMA_EVENT_CLOSED:
		return RPMA_CONN_CLOSED;
	case RPMA_EVENT_LOST:
		return RPMA_CONN_LOST;
	case RPMA_EVENT_REJECTED:
		return RPMA_CONN_REJECTED;
	case RPMA_EVENT_UNREACHABLE:
		return RPMA_CONN_UNREACHABLE;
	default:
		return RPMA_CONN_UNDEFINED;
	}
}

int rpma_conn_next_event(struct rpma_conn *conn, enum rpma_conn_event *event)
{
	struct rpma_event ev;
	int ret;

	if (!conn || !event)
		return RPMA_E_INVAL;

	ret = kernel_conn_event(conn->fd, &ev);
	if (ret == -EAGAIN || ret == 0) {
		errno = ret ? EAGAIN : ENODATA;
		return RPMA_E_NO_EVENT;
	}
	if (ret == -EINTR) {
		errno = EINTR;
		return RPMA_E_PROVIDER;
	}
	if (ret < 0)
		return err_report(-ret, "reading a connection event");

	/* What the answer brought. It is no loss if the connection ended already. */
	if (ev.type == RPMA_EVENT_ESTABLISHED)
		learn(conn);

	*event = to_conn_event(&ev);
	if (*event == RPMA_CONN_UNDEFINED) {
		log_warning("an event of unknown type %u", ev.type);
		return RPMA_E_UNKNOWN;
	}
	log_notice("%s (status %d)", rpma_utils_conn_event_2str(*event), ev.status);
	return 0;
}

int rpma_conn_disconnect(struct rpma_conn *conn)
{
	int ret;

	if (!conn)
		return RPMA_E_INVAL;
	ret = kernel_conn_disconnect(conn->peer_fd, conn->fd, LINGER_MS);
	/* The application learned that the device is gone from the event. */
	if (ret && ret != -ENODEV)
		return err_report(-ret, "disconnecting");
	return 0;
}

/* ---- properties ---------------------------------------------------------- */

void conn_private_data(const struct rpma_conn *conn, struct rpma_conn_private_data *pdata)
{
	uint32_t len = atomic_load_explicit(&conn->private_data_len, memory_order_acquire);

	pdata->ptr = len ? (void *)conn->private_data : NULL;
	pdata->len = len;
}

int rpma_conn_get_private_data(const struct rpma_conn *conn,
			       struct rpma_conn_private_data *pdata)
{
	if (!conn || !pdata)
		return RPMA_E_INVAL;
	conn_private_data(conn, pdata);
	return 0;
}

int rpma_conn_apply_remote_peer_cfg(struct rpma_conn *conn, const struct rpma_peer_cfg *pcfg)
{
	bool direct_write;
	int ret;

	if (!conn || !pcfg)
		return RPMA_E_INVAL;

	/* The kernel asks for it too, where a flush is a READ. */
	direct_write = peer_cfg_direct_write(pcfg);
	ret = kernel_conn_direct_write(conn->peer_fd, conn->fd, direct_write);
	if (ret && ret != -ENODEV)
		return err_report(-ret, "applying the remote peer's configuration");
	atomic_store(&conn->direct_write, direct_write);
	return 0;
}

int rpma_conn_get_qp_num(const struct rpma_conn *conn, uint32_t *qp_num)
{
	struct rpma_ioc_conn_query query;
	uint32_t nr;
	int ret;

	if (!conn || !qp_num)
		return RPMA_E_INVAL;

	nr = atomic_load(&conn->qp_num);
	if (!nr) {
		ret = kernel_conn_query(conn->peer_fd, conn->fd, &query);
		if (ret)
			return err_report(-ret, "asking for the number of the queue pair");
		nr = query.out_qp_num;
	}
	*qp_num = nr;
	return 0;
}

int rpma_conn_get_cq(const struct rpma_conn *conn, struct rpma_cq **cq_ptr)
{
	if (!conn || !cq_ptr)
		return RPMA_E_INVAL;
	*cq_ptr = conn->cq;
	return 0;
}

int rpma_conn_get_rcq(const struct rpma_conn *conn, struct rpma_cq **rcq_ptr)
{
	if (!conn || !rcq_ptr)
		return RPMA_E_INVAL;
	*rcq_ptr = conn->rcq;
	return 0;
}

/* ---- the channel that completion queues share ---------------------------- */

int rpma_conn_get_compl_fd(const struct rpma_conn *conn, int *fd)
{
	if (!conn || !fd)
		return RPMA_E_INVAL;
	if (conn->channel_fd < 0)
		return RPMA_E_NOT_SHARED_CHNL;
	*fd = conn->channel_fd;
	return 0;
}

/*
 * Which of the queues that are ready comes first? The answer to a message was
 * received after the message was sent, and programs rely on hearing of it in
 * this order. So the main queue, but not for ever.
 */
static struct rpma_cq *channel_choose(struct rpma_conn *conn, int ready)
{
	if (!(ready & KERNEL_CHANNEL_RCQ))
		return conn->cq;
	if ((ready & KERNEL_CHANNEL_CQ) &&
	    atomic_fetch_add(&conn->rcq_passed_over, 1) < RCQ_PASSED_OVER_MAX)
		return conn->cq;
	atomic_store(&conn->rcq_passed_over, 0);
	return conn->rcq;
}

/* Waits again when another thread consumed the event first. */
static int channel_wait(struct rpma_conn *conn, struct rpma_cq **cq)
{
	int ready, ret;

	do {
		ready = kernel_channel_wait(conn->channel_fd);
		if (ready < 0)
			return ready;
		*cq = channel_choose(conn, ready);
		ret = cq_consume(*cq);
	} while (ret == -EAGAIN);
	return ret < 0 ? ret : 0;
}

/* librpma defines flags here and takes no notice of them. */
int rpma_conn_wait(struct rpma_conn *conn, int flags, struct rpma_cq **cq, bool *is_rcq)
{
	struct rpma_cq *ready;
	int ret;

	(void)flags;
	if (!conn || !cq)
		return RPMA_E_INVAL;
	if (conn->channel_fd < 0)
		return RPMA_E_NOT_SHARED_CHNL;

	ret = channel_wait(conn, &ready);
	if (ret == -EAGAIN || ret == -EINTR) {
		errno = -ret;
		return RPMA_E_NO_COMPLETION;
	}
	if (ret) {
		*cq = NULL;
		return err_report(-ret, "waiting for completions");
	}
	*cq = ready;
	if (is_rcq)
		*is_rcq = ready == conn->rcq;
	return 0;
}

/* ---- requests ------------------------------------------------------------ */

static inline int post(const struct rpma_conn *conn, const struct rpma_request *req,
		       const char *what)
{
	int ret = kernel_post(conn->fd, req);

	return ret ? err_post(-ret, what) : 0;
}

/* Both regions, or neither and nothing to do. */
static bool is_transfer(const void *dst, size_t dst_offset, const void *src, size_t src_offset,
			size_t len)
{
	if (dst && src)
		return true;
	return !dst && !src && !dst_offset && !src_offset && !len;
}

/* A request between a local and a remote region; both may be NULL. */
static void transfer(struct rpma_request *req, const struct rpma_mr_local *local,
		     size_t local_offset, const struct rpma_mr_remote *remote,
		     size_t remote_offset, size_t len, int flags, const void *op_context)
{
	*req = (struct rpma_request) {
		.context = (uintptr_t)op_context,
		.flags = conn_request_flags(flags),
		.len = len,
	};
	if (!local)
		return;
	req->mr = local->id;
	req->mr_offset = local_offset;
	req->remote = remote->remote;
	req->remote_offset = remote_offset;
}

int rpma_read(struct rpma_conn *conn, struct rpma_mr_local *dst, size_t dst_offset,
	      const struct rpma_mr_remote *src, size_t src_offset, size_t len, int flags,
	      const void *op_context)
{
	struct rpma_request req;

	if (!conn || !flags || !is_transfer(dst, dst_offset, src, src_offset, len))
		return RPMA_E_INVAL;
	transfer(&req, dst, dst_offset, src, src_offset, len, flags, op_context);
	req.op = RPMA_OP_READ;
	return post(conn, &req, "read");
}

int rpma_write(struct rpma_conn *conn, struct rpma_mr_remote *dst, size_t dst_offset,
	       const struct rpma_mr_local *src, size_t src_offset, size_t len, int flags,
	       const void *op_context)
{
	struct rpma_request req;

	if (!conn || !flags || !is_transfer(dst, dst_offset, src, src_offset, len))
		return RPMA_E_INVAL;
	transfer(&req, src, src_offset, dst, dst_offset, len, flags, op_context);
	req.op = RPMA_OP_WRITE;
	return post(conn, &req, "write");
}

int rpma_write_with_imm(struct rpma_conn *conn, struct rpma_mr_remote *dst, size_t dst_offset,
			const struct rpma_mr_local *src, size_t src_offset, size_t len,
			int flags, uint32_t imm, const void *op_context)
{
	struct rpma_request req;

	if (!conn || !flags || !is_transfer(dst, dst_offset, src, src_offset, len))
		return RPMA_E_INVAL;
	transfer(&req, src, src_offset, dst, dst_offset, len, flags, op_context);
	req.op = RPMA_OP_WRITE_WITH_IMM;
	req.imm_data = htonl(imm);
	return post(conn, &req, "write with immediate");
}

int rpma_atomic_write(struct rpma_conn *conn, struct rpma_mr_remote *dst, size_t dst_offset,
		      const char src[8], int flags, const void *op_context)
{
	struct rpma_request req;

	if (!conn || !dst || !src || !flags || dst_offset % RPMA_ATOMIC_WRITE_ALIGNMENT)
		return RPMA_E_INVAL;
	req = (struct rpma_request) {
		.context = (uintptr_t)op_context,
		.op = RPMA_OP_ATOMIC_WRITE,
		.flags = conn_request_flags(flags),
		.len = RPMA_ATOMIC_WRITE_ALIGNMENT,
		.remote = dst->remote,
		.remote_offset = dst_offset,
	};
	memcpy(&req.value, src, sizeof(req.value));
	return post(conn, &req, "atomic write");
}

/* A message from or to a region, which may be NULL. */
static void message(struct rpma_request *req, uint32_t op, const struct rpma_mr_local *mr,
		    size_t offset, size_t len, uint32_t flags, const void *op_context)
{
	*req = (struct rpma_request) {
		.context = (uintptr_t)op_context,
		.op = op,
		.flags = flags,
		.mr = mr ? mr->id : 0,
		.mr_offset = offset,
		.len = len,
	};
}

static bool is_message(const struct rpma_mr_local *mr, size_t offset, size_t len)
{
	return mr || (!offset && !len);
}

int rpma_send(struct rpma_conn *conn, const struct rpma_mr_local *src, size_t offset, size_t len,
	      int flags, const void *op_context)
{
	struct rpma_request req;

	if (!conn || !flags || !is_message(src, offset, len))
		return RPMA_E_INVAL;
	message(&req, RPMA_OP_SEND, src, offset, len, conn_request_flags(flags), op_context);
	return post(conn, &req, "send");
}

int rpma_send_with_imm(struct rpma_conn *conn, const struct rpma_mr_local *src, size_t offset,
		       size_t len, int flags, uint32_t imm, const void *op_context)
{
	struct rpma_request req;

	if (!conn || !flags || !is_message(src, offset, len))
		return RPMA_E_INVAL;
	message(&req, RPMA_OP_SEND_WITH_IMM, src, offset, len, conn_request_flags(flags),
		op_context);
	req.imm_data = htonl(imm);
	return post(conn, &req, "send with immediate");
}

int conn_recv(struct rpma_conn *conn, const struct rpma_mr_local *dst, size_t offset, size_t len,
	      const void *op_context)
{
	struct rpma_request req;

	message(&req, RPMA_OP_RECV, dst, offset, len, 0, op_context);
	return post(conn, &req, "receive");
}

int rpma_recv(struct rpma_conn *conn, struct rpma_mr_local *dst, size_t offset, size_t len,
	      const void *op_context)
{
	if (!conn || !is_message(dst, offset, len))
		return RPMA_E_INVAL;
	return conn_recv(conn, dst, offset, len, op_context);
}
