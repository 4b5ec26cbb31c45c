// SPDX-License-Identifier: BSD-3-Clause
/* Requests to connect: a connection in its first state, active or passive. */
#include <stdlib.h>
#include <string.h>

#include "conn.h"
#include "conn_cfg.h"
#include "conn_req.h"
#include "err.h"

struct rpma_conn_req {
	struct rpma_conn *conn;
	bool passive;
};

int conn_req_wrap(struct rpma_conn *conn, bool passive, struct rpma_conn_req **req_ptr)
{
	struct rpma_conn_req *req = malloc(sizeof(*req));

	if (!req) {
		conn_delete(conn);
		return RPMA_E_NOMEM;
	}
	req->conn = conn;
	req->passive = passive;
	*req_ptr = req;
	return 0;
}

int rpma_conn_req_new(struct rpma_peer *peer, const char *addr, const char *port,
		      const struct rpma_conn_cfg *cfg, struct rpma_conn_req **req_ptr)
{
	struct conn_params params;
	struct rpma_conn *conn;
	int ret;

	if (!peer || !addr || !port || !req_ptr)
		return RPMA_E_INVAL;

	conn_cfg_params(cfg, &params);
	ret = conn_new_active(peer, addr, port, &params, &conn);
	if (ret)
		return ret;
	log_notice("requesting a connection to %s port %s", addr, port);
	return conn_req_wrap(conn, false, req_ptr);
}

/* Closing a passive one is what rejects it. */
static void delete(struct rpma_conn_req *req)
{
	conn_delete(req->conn);
	free(req);
}

int rpma_conn_req_delete(struct rpma_conn_req **req_ptr)
{
	if (!req_ptr)
		return RPMA_E_INVAL;
	if (*req_ptr)
		delete(*req_ptr);
	*req_ptr = NULL;
	return 0;
}

static int connect_or_accept(const struct rpma_conn_req *req,
			     const struct rpma_conn_private_data *pdata)
{
	const struct rpma_conn *conn = req->conn;
	const void *ptr = pdata ? pdata->ptr : NULL;
	size_t len = pdata ? pdata->len : 0;
	int ret;

	if (req->passive) {
		ret = kernel_conn_accept(conn->peer_fd, conn->fd, ptr, len);
		if (ret)
			return err_report(-ret, "accepting a connection (%zu bytes of private data, "
					  "at most %d)", len, RPMA_PRIVATE_DATA_REPLY_MAX);
	} else {
		ret = kernel_conn_connect(conn->peer_fd, conn->fd, ptr, len);
		if (ret)
			return err_report(-ret, "connecting (%zu bytes of private data, at most %d)",
					  len, RPMA_PRIVATE_DATA_REQUEST_MAX);
	}
	return 0;
}

int rpma_conn_req_connect(struct rpma_conn_req **req_ptr,
			  const struct rpma_conn_private_data *pdata,
			  struct rpma_conn **conn_ptr)
{
	struct rpma_conn_req *req;
	int ret;

	if (!req_ptr || !*req_ptr)
		return RPMA_E_INVAL;
	req = *req_ptr;
	*req_ptr = NULL;

	if (!conn_ptr || (pdata && (!pdata->ptr || !pdata->len)))
		ret = RPMA_E_INVAL;
	else
		ret = connect_or_accept(req, pdata);
	if (ret) {
		delete(req);
		return ret;
	}
	*conn_ptr = req->conn;
	free(req);
	return 0;
}

int rpma_conn_req_recv(struct rpma_conn_req *req, struct rpma_mr_local *dst, size_t offset,
		       size_t len, const void *op_context)
{
	if (!req || !dst)
		return RPMA_E_INVAL;
	return conn_recv(req->conn, dst, offset, len, op_context);
}

int rpma_conn_req_get_private_data(const struct rpma_conn_req *req,
				   struct rpma_conn_private_data *pdata)
{
	if (!req || !pdata)
		return RPMA_E_INVAL;
	conn_private_data(req->conn, pdata);
	return 0;
}
