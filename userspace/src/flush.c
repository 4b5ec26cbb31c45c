// SPDX-License-Identifier: BSD-3-Clause
/*
 * Flush. Which method carries it is the kernel's choice; whether it can mean
 * what it says is checked here first, before anything reaches the wire.
 */
#include "conn.h"
#include "err.h"
#include "mr.h"

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
static int not_readable(void)
{
	log_error("flush: it would travel as a READ, and the other side, which does not run rpma, "
		  "may not let this region be read; then the connection would end. Let the other "
		  "side register it with RPMA_MR_USAGE_READ_SRC too; or set "
		  "RPMA_FLUSH_METHOD=read here if its adapter does not flush natively");
	errno = EOPNOTSUPP;
	return RPMA_E_NOSUPP;
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
		return not_readable();
	return ret ? err_post(-ret, "flush") : 0;
}
