/* SPDX-License-Identifier: GPL-2.0 */
/* A connection: its descriptor, and the one way it ends. */
#ifndef RPMA_CONN_H
#define RPMA_CONN_H

#include "watch.h"

/**
 * struct rpma_conn - a connection
 * @ctx: whose; its file is held once the connection has a descriptor
 * @hw: @qp and @cm belong to the device
 * @peer: put when freed
 * @node: in its endpoint's backlog, before it has a descriptor
 * @cm: the handshake's side
 * @qp: the data's side
 * @watch: looks whether the other side still answers
 *
 * One owner: the backlog of its endpoint, then its descriptor. No count.
 */
struct rpma_conn {
	struct rpma_ctx *ctx;
	struct rpma_hw hw;
	struct rpma_peer *peer;
	struct list_head node;
	struct rpma_cm cm;
	struct rpma_qp qp;
	struct rpma_watch watch;
};

/**
 * rpma_conn_alloc - a connection without queues
 * @ctx: whose
 * @peer: the caller's reference goes over to the connection, also on failure
 *
 * Return: the connection, to be freed with rpma_conn_free(), or NULL.
 */
struct rpma_conn *rpma_conn_alloc(struct rpma_ctx *ctx, struct rpma_peer *peer);

/**
 * rpma_conn_forget - free a connection that nobody else has seen
 * @conn: fresh, or adopted by a request that fails: rdma_cm keeps the id
 *
 * Context: also rdma_cm's handler, where rpma_conn_free() would deadlock.
 */
void rpma_conn_forget(struct rpma_conn *conn);

/**
 * rpma_conn_free - the one way a connection ends
 * @conn: in any state, without descriptor
 *
 * Revokes it unless removal of the device did, and frees it. A request that
 * was not answered is rejected, an established connection disconnected, what
 * is in flight completes ABORTED.
 */
void rpma_conn_free(struct rpma_conn *conn);

/**
 * rpma_conn_build - make the queue pair
 * @conn: its @cm has a device
 * @queues: as the user gave them
 *
 * Context: between rpma_device_begin() and rpma_device_end().
 *
 * Return: 0 or an errno; then the connection is as it was before.
 */
int rpma_conn_build(struct rpma_conn *conn,
		    const struct rpma_conn_queues *queues);

/* Undo rpma_conn_build(), keeping the handshake open. */
void rpma_conn_unbuild(struct rpma_conn *conn);

/**
 * rpma_conn_getfile - make the descriptor's file
 * @conn: built; the file owns it on success
 *
 * Return: the file or ERR_PTR.
 */
struct file *rpma_conn_getfile(struct rpma_conn *conn);

/**
 * rpma_conn_publish - from now on removal of the device revokes it
 * @conn: built, and owned by its file
 *
 * Context: between rpma_device_begin() and rpma_device_end().
 */
void rpma_conn_publish(struct rpma_conn *conn);

int rpma_conn_create_ioctl(struct rpma_ucmd *ucmd);
int rpma_conn_connect_ioctl(struct rpma_ucmd *ucmd);
int rpma_conn_accept_ioctl(struct rpma_ucmd *ucmd);
int rpma_conn_reject_ioctl(struct rpma_ucmd *ucmd);
int rpma_conn_disconnect_ioctl(struct rpma_ucmd *ucmd);
int rpma_conn_query_ioctl(struct rpma_ucmd *ucmd);
int rpma_conn_modify_ioctl(struct rpma_ucmd *ucmd);

#endif /* RPMA_CONN_H */
