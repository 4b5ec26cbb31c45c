/* SPDX-License-Identifier: BSD-3-Clause */
/* Requests to connect, on both sides. */
#ifndef RPMA_CONN_REQ_H
#define RPMA_CONN_REQ_H

#include <stdbool.h>

struct rpma_conn;
struct rpma_conn_req;

/* Wraps a connection that is its own from now on; ends it on failure. */
int conn_req_wrap(struct rpma_conn *conn, bool passive, struct rpma_conn_req **req_ptr);

#endif /* RPMA_CONN_REQ_H */
