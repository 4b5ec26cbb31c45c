// SPDX-License-Identifier: BSD-3-Clause
/* Shared receive queues. */
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "cq.h"
#include "err.h"
#include "mr.h"
#include "peer.h"
#include "request.h"
#include "srq.h"
#include "srq_cfg.h"

/*
 * librpma's manual promises 100 receives by default, the library itself says
 * 20. Whoever believes either is served.
 */
#define ENTRIES_MIN 100

struct rpma_srq {
	int fd;			/* its peer's /dev/rpma file */
	uint32_t id;
	uint32_t entries;
	struct rpma_cq *rcq;	/* NULL: there is none */
	atomic_uint holders;	/* the application, and connections */
};

/* ---- birth and death ----------------------------------------------------- */

static uint32_t enough(const struct rpma_peer *peer, uint32_t asked)
{
	uint32_t least = peer->max_queue_size < ENTRIES_MIN ? peer->max_queue_size : ENTRIES_MIN;

	return asked && asked < least ? least : asked;
}

int rpma_srq_new(struct rpma_peer *peer, struct rpma_srq_cfg *cfg, struct rpma_srq **srq_ptr)
{
	uint32_t rq_size, rcq_size;
	struct rpma_srq *srq;
	int ret;

	if (!peer || !srq_ptr)
		return RPMA_E_INVAL;
	srq_cfg_sizes(cfg, &rq_size, &rcq_size);

	srq = calloc(1, sizeof(*srq));
	if (!srq)
		return RPMA_E_NOMEM;
	srq->fd = peer->fd;
	srq->entries = enough(peer, rq_size);
	atomic_init(&srq->holders, 1);

	ret = kernel_srq_create(peer->fd, peer->id, srq->entries, &srq->id);
	if (ret) {
		free(srq);
		return err_report(-ret, "making a shared receive queue of %u entries", rq_size);
	}
	if (rcq_size)
		ret = cq_new(peer, rcq_size, srq->entries, (struct kernel_channel_place){},
			     &srq->rcq);
	if (ret) {
		srq_put(srq);
		return ret;
	}
	*srq_ptr = srq;
	return 0;
}

void srq_get(struct rpma_srq *srq)
{
	atomic_fetch_add(&srq->holders, 1);
}

/* Completions that wait for room keep the kernel's queue busy: so theirs first. */
int srq_put(struct rpma_srq *srq)
{
	int ret;

	if (atomic_fetch_sub(&srq->holders, 1) > 1)
		return -EBUSY;
	cq_delete(srq->rcq);
	ret = kernel_srq_destroy(srq->fd, srq->id);
	free(srq);
	/* When the device is gone, so is the queue. */
	return ret == -ENODEV ? 0 : ret;
}

int rpma_srq_delete(struct rpma_srq **srq_ptr)
{
	struct rpma_srq *srq;
	int ret;

	if (!srq_ptr)
		return RPMA_E_INVAL;
	srq = *srq_ptr;
	if (!srq)
		return 0;
	*srq_ptr = NULL;
	ret = srq_put(srq);
	if (ret == -EBUSY)
		return err_report(EBUSY, "deleting a shared receive queue while connections or "
				  "requests use it; it ends with the last of them");
	return ret ? err_report(-ret, "deleting a shared receive queue") : 0;
}

/* ---- properties ---------------------------------------------------------- */

bool srq_is_of(const struct rpma_srq *srq, const struct rpma_peer *peer)
{
	return srq->fd == peer->fd;
}

uint32_t srq_id(const struct rpma_srq *srq)
{
	return srq->id;
}

uint32_t srq_entries(const struct rpma_srq *srq)
{
	return srq->entries;
}

struct rpma_cq *srq_rcq(const struct rpma_srq *srq)
{
	return srq->rcq;
}

int rpma_srq_get_rcq(const struct rpma_srq *srq, struct rpma_cq **rcq_ptr)
{
	if (!srq || !rcq_ptr)
		return RPMA_E_INVAL;
	*rcq_ptr = srq->rcq;
	return 0;
}

/* ---- requests ------------------------------------------------------------ */

int rpma_srq_recv(struct rpma_srq *srq, struct rpma_mr_local *dst, size_t offset, size_t len,
		  const void *op_context)
{
	struct rpma_request req;
	int ret;

	if (!srq || !request_is_message(dst, offset, len))
		return RPMA_E_INVAL;
	if (dst && dst->fd != srq->fd)
		return err_post(EXDEV, "shared receive");
	request_recv(&req, dst, offset, len, op_context);
	ret = kernel_srq_post(srq->fd, srq->id, &req);
	return ret ? err_post(-ret, "shared receive") : 0;
}
