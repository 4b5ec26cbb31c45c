// SPDX-License-Identifier: BSD-3-Clause
/* Endpoints: listening, and taking what comes in. */
#include <stdlib.h>
#include <string.h>

#include "addr.h"
#include "conn.h"
#include "conn_cfg.h"
#include "conn_req.h"
#include "err.h"
#include "peer.h"

struct rpma_ep {
	const struct rpma_peer *peer;
	int fd;
};

/* The first address that can be listened on. */
static int listen_on(const struct rpma_peer *peer, const struct addrinfo *list)
{
	const struct addrinfo *ai;
	int fd = -EADDRNOTAVAIL;

	for (ai = list; ai; ai = ai->ai_next) {
		fd = kernel_ep_listen(peer->fd, peer->id, ai->ai_addr, ai->ai_addrlen);
		if (fd >= 0)
			break;
	}
	return fd;
}

int rpma_ep_listen(struct rpma_peer *peer, const char *addr, const char *port,
		   struct rpma_ep **ep_ptr)
{
	struct addrinfo *list;
	struct rpma_ep *ep;
	int fd, ret;

	if (!peer || !addr || !port || !ep_ptr)
		return RPMA_E_INVAL;

	ret = addr_lookup(addr, port, true, &list);
	if (ret)
		return ret;
	fd = listen_on(peer, list);
	freeaddrinfo(list);
	if (fd < 0)
		return err_report(-fd, "listening on %s port %s", addr, port);

	ep = malloc(sizeof(*ep));
	if (!ep) {
		kernel_close(fd);
		return RPMA_E_NOMEM;
	}
	ep->peer = peer;
	ep->fd = fd;
	log_notice("listening on %s port %s", addr, port);
	*ep_ptr = ep;
	return 0;
}

int rpma_ep_shutdown(struct rpma_ep **ep_ptr)
{
	struct rpma_ep *ep;

	if (!ep_ptr)
		return RPMA_E_INVAL;
	ep = *ep_ptr;
	if (!ep)
		return 0;
	kernel_close(ep->fd);
	free(ep);
	*ep_ptr = NULL;
	return 0;
}

int rpma_ep_get_fd(const struct rpma_ep *ep, int *fd)
{
	if (!ep || !fd)
		return RPMA_E_INVAL;
	*fd = ep->fd;
	return 0;
}

/* Makes queues only when somebody knocks: asking in vain stays cheap. */
int rpma_ep_next_conn_req(struct rpma_ep *ep, const struct rpma_conn_cfg *cfg,
			  struct rpma_conn_req **req_ptr)
{
	struct conn_params params;
	struct rpma_conn *conn;
	int ret;

	if (!ep || !req_ptr)
		return RPMA_E_INVAL;

	ret = kernel_ep_wait(ep->fd);
	if (ret == -EAGAIN) {
		errno = EAGAIN;
		return RPMA_E_NO_EVENT;
	}
	if (ret == -EINTR) {
		errno = EINTR;
		return RPMA_E_PROVIDER;
	}
	if (ret)
		return err_report(-ret, "waiting for an incoming connection");

	conn_cfg_params(cfg, &params);
	ret = conn_new_passive(ep->peer, ep->fd, &params, &conn);
	if (ret)
		return ret;
	return conn_req_wrap(conn, true, req_ptr);
}
