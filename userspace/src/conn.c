// SPDX-License-Identifier: BSD-3-Clause
/* Connections: birth and death, events, properties, the shared channel. */
#include <netdb.h>
#include <stdlib.h>
#include <string.h>

#include "addr.h"
#include "conn.h"
#include "conn_cfg.h"
#include "cq.h"
#include "err.h"
#include "peer.h"
#include "peer_cfg.h"
#include "srq.h"

/* How long requests posted before a disconnect may take. */
#define LINGER_MS 1000

/* ---- birth and death ----------------------------------------------------- */

/*
 * Its completion queues. Receives complete in the shared receive queue's own
 * completion queue if there is one, else in our receive one if asked for, else
 * in the main one.
 */
static int make_queues(const struct rpma_peer *peer, const struct conn_params *params,
		       uint32_t sq_size, struct rpma_conn *conn)
{
	struct rpma_cq *srq_cq = params->srq ? srq_rcq(params->srq) : NULL;
	uint32_t recvs = params->srq ? srq_entries(params->srq) : params->rq_size;
	bool own_rcq = params->rcq_size && !srq_cq;
	struct kernel_channel_place first = {}, second = {};
	uint64_t in_flight = sq_size;
	int ret;

	if (params->srq && !srq_is_of(params->srq, peer)) {
		log_error("the shared receive queue belongs to another peer");
		return err_control(EXDEV);
	}
	if (srq_cq && params->shared_channel) {
		log_error("a shared receive queue with a completion queue of its own has no share "
			  "in a connection's completion channel");
		return RPMA_E_INVAL;
	}
	if (!own_rcq && !srq_cq)
		in_flight += recvs;

	if (params->shared_channel) {
		ret = kernel_channel_create(peer->fd);
		if (ret < 0)
			return err_report(-ret, "making a channel shared by completion queues");
		conn->channel_fd = ret;
		/* This order is the one in which the kernel tells of them. */
		first = (struct kernel_channel_place) { ret, KERNEL_CHANNEL_CQ };
		second = (struct kernel_channel_place) { ret, KERNEL_CHANNEL_RCQ };
	}
	ret = cq_new(peer, params->cq_size, in_flight, first, &conn->cq);
	if (!ret && own_rcq)
		ret = cq_new(peer, params->rcq_size, recvs, second, &conn->rcq);
	return ret;
}

/* A connection without a kernel one yet, and the queues to make that with. */
static int conn_alloc(const struct rpma_peer *peer, const struct conn_params *params,
		      struct rpma_conn_queues *queues, struct rpma_conn **conn_ptr)
{
	uint32_t sq_size = params->sq_size ? params->sq_size : 1;
	struct rpma_srq *srq = params->srq;
	struct rpma_conn *conn;
	int ret;

	conn = calloc(1, sizeof(*conn));
	if (!conn)
		return RPMA_E_NOMEM;
	conn->fd = -1;
	conn->channel_fd = -1;
	conn->peer_fd = peer->fd;
	if (srq)
		srq_get(srq);
	conn->srq = srq;
	conn->takes_recvs = !srq && params->rq_size;
	conn->sq_size = sq_size;
	conn->asked = peer->flush_method;

	ret = make_queues(peer, params, sq_size, conn);
	if (ret) {
		conn_delete(conn);
		return ret;
	}

	*queues = (struct rpma_conn_queues) {
		.send_cq_fd = cq_fd(conn->cq),
		.recv_cq_fd = cq_fd(srq && srq_rcq(srq) ? srq_rcq(srq) : conn->rcq),
		.sq_size = sq_size,
		.rq_size = srq ? 0 : params->rq_size,
		.peer_timeout_ms = peer->peer_timeout_ms,
		.srq = srq ? srq_id(srq) : 0,
	};
	*conn_ptr = conn;
	return 0;
}

/* How the flushes of a connection travel, and why. */
static void tell_flush_method(const struct rpma_conn *conn,
			      const struct rpma_ioc_conn_query *query)
{
	bool native = query->out_flush_method == RPMA_FLUSH_METHOD_NATIVE;
	const char *why;

	if (conn->asked != RPMA_FLUSH_METHOD_NONE)
		why = "as RPMA_FLUSH_METHOD in the environment says";
	else if (native)
		why = "which the device's driver carries for the kernel";
	else if (query->out_peer_flags & RPMA_CONN_PEER_F_READABLE)
		why = "since the device's driver carries no FLUSH for the kernel";
	else
		why = "since the device's driver carries no FLUSH for the kernel; the other side "
		      "does not run rpma, and may not let it";
	log_notice("flushes of this connection travel as %s, %s",
		   native ? "FLUSH" : "READ after WRITE", why);
	if (!query->out_read_depth)
		log_warning("the other side agreed to no reads: this connection can neither read "
			    "nor flush");
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
	if (query.out_state == RPMA_CONN_STATE_ESTABLISHED)
		tell_flush_method(conn, &query);
	atomic_store(&conn->qp_num, query.out_qp_num);

	/* librpma counts private data in a byte. */
	len = query.out_private_data_len > UINT8_MAX ? UINT8_MAX : query.out_private_data_len;
	if (len && !atomic_load(&conn->private_data_len)) {
		memcpy(conn->private_data, query.out_private_data, len);
		atomic_store_explicit(&conn->private_data_len, len, memory_order_release);
	}
	return 0;
}

static int set_flush_method(const struct rpma_conn *conn)
{
	bool native = conn->asked == RPMA_FLUSH_METHOD_NATIVE;
	int ret;

	if (conn->asked == RPMA_FLUSH_METHOD_NONE)
		return 0;
	ret = kernel_conn_flush_method(conn->peer_fd, conn->fd, conn->asked);
	if (ret == -EOPNOTSUPP) {
		log_error("RPMA_FLUSH_METHOD=%s in the environment, but the device's driver "
			  "carries no %s for the kernel. Load one that does, or set auto, which "
			  "always works",
			  native ? "native" : "read", native ? "FLUSH" : "READ");
		errno = EOPNOTSUPP;
		return RPMA_E_NOSUPP;
	}
	return ret ? err_report(-ret, "choosing how flushes travel") : 0;
}

/* What is left to do once the kernel's connection is there. */
static int conn_ready(struct rpma_conn *conn)
{
	int ret = learn(conn);

	if (ret)
		return err_report(-ret, "asking for the properties of a connection");
	return set_flush_method(conn);
}

/* The first address of @list that has a route from the peer's device. */
static int create(const struct rpma_peer *peer, const struct addrinfo *list, uint32_t timeout_ms,
		  const struct rpma_conn_queues *queues)
{
	const struct addrinfo *ai;
	int fd = -EADDRNOTAVAIL;

	/* To the kernel 0 is a default; to applications it is no time at all. */
	if (!timeout_ms)
		return -EINVAL;
	for (ai = list; ai && fd < 0; ai = ai->ai_next)
		fd = kernel_conn_create(peer->fd, peer->id, ai->ai_addr, ai->ai_addrlen,
					timeout_ms, queues);
	return fd;
}

int conn_new_active(const struct rpma_peer *peer, const char *addr, const char *port,
		    const struct conn_params *params, struct rpma_conn **conn_ptr)
{
	struct rpma_conn_queues queues;
	struct addrinfo *list;
	struct rpma_conn *conn;
	int ret;

	ret = addr_lookup(addr, port, false, &list);
	if (ret)
		return ret;
	ret = conn_alloc(peer, params, &queues, &conn);
	if (ret)
		goto out_free_list;

	conn->fd = create(peer, list, params->timeout_ms, &queues);
	if (conn->fd < 0)
		ret = err_report(-conn->fd, "connecting to %s port %s within %u ms", addr, port,
				 params->timeout_ms);
	else
		ret = conn_ready(conn);
	if (ret)
		conn_delete(conn);
	else
		*conn_ptr = conn;

out_free_list:
	freeaddrinfo(list);
	return ret;
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
	if (conn->fd >= 0) {
		ret = conn_ready(conn);
	} else if (conn->fd == -EAGAIN) {
		errno = EAGAIN;
		ret = RPMA_E_NO_EVENT;
	} else {
		ret = err_report(-conn->fd, "taking an incoming connection");
	}
	if (ret) {
		conn_delete(conn);
		return ret;
	}
	*conn_ptr = conn;
	return 0;
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
	if (conn->srq)
		srq_put(conn->srq);
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
	enum rpma_conn_event what;
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

	what = to_conn_event(&ev);
	if (what == RPMA_CONN_UNDEFINED) {
		log_warning("an event of unknown type %u", ev.type);
		return RPMA_E_UNKNOWN;
	}
	log_notice("%s (status %d)", rpma_utils_conn_event_2str(what), ev.status);
	*event = what;
	return 0;
}

int rpma_conn_disconnect(struct rpma_conn *conn)
{
	int ret;

	if (!conn)
		return RPMA_E_INVAL;
	ret = kernel_conn_disconnect(conn->peer_fd, conn->fd, LINGER_MS);
	/*
	 * The application learned that the device is gone from the event. And to
	 * one that never was connected, librpma says yes.
	 */
	if (ret && ret != -ENODEV && ret != -ENOTCONN)
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
	if (!conn || !qp_num)
		return RPMA_E_INVAL;
	*qp_num = atomic_load(&conn->qp_num);
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

/* librpma defines flags here and takes no notice of them. */
int rpma_conn_wait(struct rpma_conn *conn, int flags, struct rpma_cq **cq, bool *is_rcq)
{
	int ret;

	(void)flags;
	if (!conn || !cq)
		return RPMA_E_INVAL;
	if (conn->channel_fd < 0)
		return RPMA_E_NOT_SHARED_CHNL;

	ret = kernel_channel_wait(conn->channel_fd);
	if (ret == -EAGAIN || ret == -EINTR) {
		errno = -ret;
		return RPMA_E_NO_COMPLETION;
	}
	if (ret < 0) {
		*cq = NULL;
		return err_report(-ret, "waiting for completions");
	}
	*cq = ret == KERNEL_CHANNEL_RCQ ? conn->rcq : conn->cq;
	if (is_rcq)
		*is_rcq = ret == KERNEL_CHANNEL_RCQ;
	return 0;
}
