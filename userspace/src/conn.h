/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Connections. A request and the connection that comes of it are two faces of
 * one kernel connection, and here of one object: struct rpma_conn_req holds a
 * struct rpma_conn and hands it over.
 */
#ifndef RPMA_CONN_H
#define RPMA_CONN_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "api.h"
#include "kernel.h"

struct conn_params;
struct rpma_peer;

struct rpma_conn {
	int fd;				/* events, and where requests are posted */
	int peer_fd;			/* its peer's /dev/rpma file */
	struct rpma_cq *cq;
	struct rpma_cq *rcq;		/* NULL: there is none */
	struct rpma_srq *srq;		/* held; NULL: it has its own receives */
	bool takes_recvs;		/* a receive queue with room */
	uint32_t sq_size;
	enum rpma_flush_method asked;	/* how its flushes are to travel; NONE: auto */
	int channel_fd;			/* -1: each queue has its own events */
	atomic_bool direct_write;	/* what the other side's peer_cfg says */
	atomic_uint qp_num;
	atomic_uint private_data_len;	/* published after private_data */
	uint8_t private_data[RPMA_PRIVATE_DATA_MAX];
};

/*
 * Both return RPMA_E_*, having logged why. conn_new_active() looks for the
 * other side at each address that @addr and @port stand for;
 * conn_new_passive() takes the next incoming connection, NO_EVENT if there is
 * none and the endpoint is O_NONBLOCK.
 */
int conn_new_active(const struct rpma_peer *peer, const char *addr, const char *port,
		    const struct conn_params *params, struct rpma_conn **conn_ptr);
int conn_new_passive(const struct rpma_peer *peer, int ep_fd, const struct conn_params *params,
		     struct rpma_conn **conn_ptr);

/* Ends a connection in any state; one not yet accepted is rejected. */
void conn_delete(struct rpma_conn *conn);

/* Posts a RECV. */
int conn_recv(struct rpma_conn *conn, const struct rpma_mr_local *dst, size_t offset, size_t len,
	      const void *op_context);

/* What the other side sent, for both faces. */
void conn_private_data(const struct rpma_conn *conn, struct rpma_conn_private_data *pdata);

/* Whether success is reported, from the flags of a librpma request. */
static inline uint32_t conn_request_flags(int flags)
{
	return flags & RPMA_F_COMPLETION_ALWAYS & ~RPMA_F_COMPLETION_ON_ERROR ?
	       RPMA_REQ_F_SIGNALED : 0;
}

#endif /* RPMA_CONN_H */
