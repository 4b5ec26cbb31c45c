// SPDX-License-Identifier: BSD-3-Clause
/* Requests on a connection. Flush has its own file. */
#include <arpa/inet.h>
#include <string.h>

#include "conn.h"
#include "err.h"
#include "mr.h"
#include "request.h"

/*
 * @mr: the local region, NULL for none. Its number means something on its own
 * peer's /dev/rpma file only, and another region on another's.
 */
static inline int post(const struct rpma_conn *conn, const struct rpma_mr_local *mr,
		       const struct rpma_request *req, const char *what)
{
	int ret;

	if (mr && mr->fd != conn->peer_fd)
		return err_post(EXDEV, what);
	ret = kernel_post(conn->fd, req);
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
	return post(conn, dst, &req, "read");
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
	return post(conn, src, &req, "write");
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
	return post(conn, src, &req, "write with immediate");
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
	return post(conn, NULL, &req, "atomic write");
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

bool request_is_message(const struct rpma_mr_local *mr, size_t offset, size_t len)
{
	return mr || (!offset && !len);
}

int rpma_send(struct rpma_conn *conn, const struct rpma_mr_local *src, size_t offset, size_t len,
	      int flags, const void *op_context)
{
	struct rpma_request req;

	if (!conn || !flags || !request_is_message(src, offset, len))
		return RPMA_E_INVAL;
	message(&req, RPMA_OP_SEND, src, offset, len, conn_request_flags(flags), op_context);
	return post(conn, src, &req, "send");
}

int rpma_send_with_imm(struct rpma_conn *conn, const struct rpma_mr_local *src, size_t offset,
		       size_t len, int flags, uint32_t imm, const void *op_context)
{
	struct rpma_request req;

	if (!conn || !flags || !request_is_message(src, offset, len))
		return RPMA_E_INVAL;
	message(&req, RPMA_OP_SEND_WITH_IMM, src, offset, len, conn_request_flags(flags),
		op_context);
	req.imm_data = htonl(imm);
	return post(conn, src, &req, "send with immediate");
}

void request_recv(struct rpma_request *req, const struct rpma_mr_local *dst, size_t offset,
		  size_t len, const void *op_context)
{
	message(req, RPMA_OP_RECV, dst, offset, len, 0, op_context);
}

int conn_recv(struct rpma_conn *conn, const struct rpma_mr_local *dst, size_t offset, size_t len,
	      const void *op_context)
{
	struct rpma_request req;

	if (!conn->takes_recvs) {
		log_error(conn->srq ? "receive: messages of this connection arrive in the shared "
				      "receive queue it was made with, see rpma_srq_recv()" :
				      "receive: this connection was made with a receive queue of "
				      "size 0");
		errno = EINVAL;
		return RPMA_E_PROVIDER;
	}
	request_recv(&req, dst, offset, len, op_context);
	return post(conn, dst, &req, "receive");
}

int rpma_recv(struct rpma_conn *conn, struct rpma_mr_local *dst, size_t offset, size_t len,
	      const void *op_context)
{
	if (!conn || !request_is_message(dst, offset, len))
		return RPMA_E_INVAL;
	return conn_recv(conn, dst, offset, len, op_context);
}
