// SPDX-License-Identifier: BSD-3-Clause
/*
 * Flush. Which method carries it is the kernel's choice; whether it can mean
 * what it says is checked here first, before anything reaches the wire.
 */
#include "conn.h"
#include "cq.h"
#include "err.h"
#include "mr.h"
#include "split.h"

/* What one FLUSH may cover; the kernel says EMSGSIZE beyond. */
#define PIECE_MAX (1ULL << 31)

/* Pieces end where large pages do, so that none is flushed twice. */
#define PIECE_ALIGN (2ULL << 20)

/* Pieces posted with one call. */
#define BATCH 4

static int no_direct_write(void)
{
	log_error("flush: PERSISTENT needs the other machine's word that its adapter writes past "
		  "the caches: see rpma_conn_apply_remote_peer_cfg()");
	return RPMA_E_NOSUPP;
}

static int no_usage(const char *type)
{
	log_error("flush: the remote region was not registered with "
		  "RPMA_MR_USAGE_FLUSH_TYPE_%s", type);
	return RPMA_E_NOSUPP;
}

/* All else that the kernel does not support was looked for before. */
static int not_supported(const struct rpma_conn *conn)
{
	struct rpma_ioc_conn_query query;

	if (!kernel_conn_query(conn->peer_fd, conn->fd, &query) && !query.out_read_depth)
		log_error("flush: the other side agreed to no reads when the connection was made, "
			  "so that it can answer neither reads nor flushes");
	else
		log_error("flush: it would travel as a READ, and the other side, which does not "
			  "run rpma, may not let this region be read; then the connection would "
			  "end. Let the other side register it with RPMA_MR_USAGE_READ_SRC too; or set "
			  "RPMA_FLUSH_METHOD=read here if its adapter does not flush natively");
	errno = EOPNOTSUPP;
	return RPMA_E_NOSUPP;
}

/* ---- a range longer than one FLUSH ---------------------------------------- */

static uint64_t piece_len(uint64_t addr, uint64_t left)
{
	return left <= PIECE_MAX ? left : PIECE_MAX - addr % PIECE_ALIGN;
}

/* The second and all behind it begin where alignment costs nothing. */
static uint64_t count_pieces(const struct rpma_ioc_flush *whole)
{
	uint64_t first = piece_len(whole->remote.addr + whole->offset, whole->len);

	return 1 + (whole->len - first + PIECE_MAX - 1) / PIECE_MAX;
}

/* The next pieces of what is left of @whole, at most BATCH. */
static uint32_t make_pieces(const struct rpma_ioc_flush *whole, uint64_t done, uint64_t context,
			    struct rpma_request *reqs)
{
	uint64_t offset, left, len;
	uint32_t nr;

	for (nr = 0; nr < BATCH && done != whole->len; nr++, done += len) {
		offset = whole->offset + done;
		left = whole->len - done;
		len = piece_len(whole->remote.addr + offset, left);
		reqs[nr] = (struct rpma_request) {
			.context = len == left ? whole->context : context,
			.op = RPMA_OP_FLUSH,
			.flags = len == left ? whole->flags : 0,
			.len = len,
			.remote_offset = offset,
			.remote = whole->remote,
			.placement = whole->placement,
		};
	}
	return nr;
}

/* @done: how many bytes the pieces that were posted cover, on failure too. */
static int post_pieces(const struct rpma_conn *conn, const struct rpma_ioc_flush *whole,
		       uint64_t context, uint64_t *done)
{
	struct rpma_request reqs[BATCH];
	int ret, i;

	*done = 0;
	while (*done != whole->len) {
		ret = kernel_post_several(conn->fd, reqs, make_pieces(whole, *done, context, reqs));
		/* A signal does not undo what is posted, so the rest follows it. */
		if (ret == -EINTR && *done)
			continue;
		if (ret < 0)
			return ret;
		for (i = 0; i < ret; i++)
			*done += reqs[i].len;
	}
	return 0;
}

/*
 * One completion tells of all pieces, see split.h. They must fit the send queue
 * together: else the failure of the first could fill the completion queue
 * before the last is posted, and that is the one which says so.
 */
static int flush_in_pieces(const struct rpma_conn *conn, const struct rpma_ioc_flush *whole)
{
	uint64_t nr = count_pieces(whole);
	struct splits *splits;
	uint64_t done;
	int ret;

	if (nr > conn->sq_size) {
		log_error("flush: %llu bytes travel as %llu requests, and the send queue has room "
			  "for %u, see rpma_conn_cfg_set_sq_size(); or flush less at a time",
			  (unsigned long long)whole->len, (unsigned long long)nr, conn->sq_size);
		errno = EMSGSIZE;
		return RPMA_E_PROVIDER;
	}
	splits = cq_splits(conn->cq);
	if (!splits)
		return RPMA_E_NOMEM;

	splits_lock(splits);
	ret = post_pieces(conn, whole, splits_add(splits, whole->context), &done);
	if (ret)
		splits_abandon(splits, done);
	splits_unlock(splits);
	return ret ? err_post(-ret, "flush") : 0;
}

int rpma_flush(struct rpma_conn *conn, struct rpma_mr_remote *dst, size_t dst_offset, size_t len,
	       enum rpma_flush_type type, int flags, const void *op_context)
{
	struct rpma_ioc_flush cmd;
	uint32_t placement;
	int ret;

	if (!conn || !dst || !flags)
		return RPMA_E_INVAL;

	switch (type) {
	case RPMA_FLUSH_TYPE_PERSISTENT:
		if (!atomic_load_explicit(&conn->direct_write, memory_order_relaxed))
			return no_direct_write();
		if (!(dst->remote.access & RPMA_ACCESS_FLUSH_PERSISTENT))
			return no_usage("PERSISTENT");
		placement = RPMA_FLUSH_PERSISTENT;
		break;
	case RPMA_FLUSH_TYPE_VISIBILITY:
		if (!(dst->remote.access & RPMA_ACCESS_FLUSH_GLOBAL))
			return no_usage("VISIBILITY");
		placement = RPMA_FLUSH_GLOBAL;
		break;
	default:
		return RPMA_E_INVAL;
	}

	cmd = (struct rpma_ioc_flush) {
		.flags = conn_request_flags(flags),
		.placement = placement,
		.context = (uintptr_t)op_context,
		.offset = dst_offset,
		.len = len,
		.remote = dst->remote,
	};
	ret = kernel_flush(conn->fd, &cmd);
	if (ret == -EOPNOTSUPP)
		return not_supported(conn);
	if (ret == -EMSGSIZE)
		return flush_in_pieces(conn, &cmd);
	return ret ? err_post(-ret, "flush") : 0;
}
