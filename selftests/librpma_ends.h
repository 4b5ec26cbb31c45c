/* SPDX-License-Identifier: GPL-2.0 */
/* Two ends of a librpma connection in one process, made through <librpma.h> only. */
#ifndef _LIBRPMA_ENDS_H
#define _LIBRPMA_ENDS_H

#include <librpma.h>
#include <linux/rpma.h>

#include "rpma_utils.h"

#define PORT "7204"
#define BUF_SIZE 65536
#define DESC_SIZE 21

#define USAGE_ALL (RPMA_MR_USAGE_READ_SRC | RPMA_MR_USAGE_READ_DST | RPMA_MR_USAGE_WRITE_SRC | \
		   RPMA_MR_USAGE_WRITE_DST | RPMA_MR_USAGE_SEND | RPMA_MR_USAGE_RECV | \
		   RPMA_MR_USAGE_FLUSH_TYPE_VISIBILITY | RPMA_MR_USAGE_FLUSH_TYPE_PERSISTENT)

#define ALWAYS RPMA_F_COMPLETION_ALWAYS
#define ON_ERROR RPMA_F_COMPLETION_ON_ERROR

#define CONTEXT(n) ((const void *)(uintptr_t)(n))

/* One end: its memory, and how it sees the other end's. */
struct end {
	struct rpma_conn *conn;
	struct rpma_cq *cq;
	__u8 *buf;
	struct rpma_mr_local *mr;
	struct rpma_mr_remote *remote;
};

struct ends {
	struct rpma_peer *peer;
	struct rpma_ep *ep;
	struct end c;
	struct end s;
};

#define EXPECT_EVENT(conn, want)					\
	({								\
		enum rpma_conn_event __event = RPMA_CONN_UNDEFINED;	\
		ASSERT_EQ(0, rpma_conn_next_event(conn, &__event));	\
		ASSERT_EQ(want, __event);				\
	})

static inline struct rpma_peer *lib_peer(struct __test_metadata *_metadata)
{
	struct ibv_context *context = NULL;
	struct rpma_peer *peer = NULL;

	ASSERT_EQ(0, rpma_utils_get_ibv_context(test_addr4(), RPMA_UTIL_IBV_CONTEXT_LOCAL,
						&context));
	ASSERT_EQ(0, rpma_peer_new(context, &peer));
	return peer;
}

/* The region of @mr as the other end gets to know it. */
static inline struct rpma_mr_remote *lib_remote(struct __test_metadata *_metadata,
						const struct rpma_mr_local *mr)
{
	struct rpma_mr_remote *remote = NULL;
	__u8 desc[DESC_SIZE];
	size_t size = 0;

	ASSERT_EQ(0, rpma_mr_get_descriptor_size(mr, &size));
	ASSERT_EQ(DESC_SIZE, size);
	ASSERT_EQ(0, rpma_mr_get_descriptor(mr, desc));
	ASSERT_EQ(0, rpma_mr_remote_from_descriptor(desc, size, &remote));
	return remote;
}

static inline void end_memory(struct __test_metadata *_metadata, struct rpma_peer *peer,
			      struct end *e)
{
	e->buf = map_pages(_metadata, BUF_SIZE);
	ASSERT_EQ(0, rpma_mr_reg(peer, e->buf, BUF_SIZE, USAGE_ALL, &e->mr));
}

static inline void end_established(struct __test_metadata *_metadata, struct end *e)
{
	EXPECT_EVENT(e->conn, RPMA_CONN_ESTABLISHED);
	ASSERT_EQ(0, rpma_conn_get_cq(e->conn, &e->cq));
}

static inline void ends_prepare(struct __test_metadata *_metadata, struct ends *ends)
{
	memset(ends, 0, sizeof(*ends));
	/* So that DRAM can be flushed PERSISTENT; read when a peer is made. */
	setenv("RPMA_PERSISTENT_BY_READ", "1", 1);
	ends->peer = lib_peer(_metadata);
	ASSERT_EQ(0, rpma_ep_listen(ends->peer, test_addr4(), PORT, &ends->ep));
	end_memory(_metadata, ends->peer, &ends->c);
	end_memory(_metadata, ends->peer, &ends->s);
	ends->c.remote = lib_remote(_metadata, ends->s.mr);
	ends->s.remote = lib_remote(_metadata, ends->c.mr);
}

static inline void ends_connect(struct __test_metadata *_metadata, struct ends *ends,
				const struct rpma_conn_cfg *cfg)
{
	struct rpma_conn_req *req = NULL;

	ASSERT_EQ(0, rpma_conn_req_new(ends->peer, test_addr4(), PORT, cfg, &req));
	ASSERT_EQ(0, rpma_conn_req_connect(&req, NULL, &ends->c.conn));
	ASSERT_EQ(NULL, req);
	ASSERT_EQ(0, rpma_ep_next_conn_req(ends->ep, cfg, &req));
	ASSERT_EQ(0, rpma_conn_req_connect(&req, NULL, &ends->s.conn));
	end_established(_metadata, &ends->c);
	end_established(_metadata, &ends->s);
}

/* Where the peer's environment says how its flushes travel. */
static inline void ends_prepare_with(struct __test_metadata *_metadata, struct ends *ends,
				     const char *method)
{
	setenv("RPMA_FLUSH_METHOD", method, 1);
	ends_prepare(_metadata, ends);
	unsetenv("RPMA_FLUSH_METHOD");
}

static inline void end_close(struct end *e)
{
	rpma_conn_delete(&e->conn);
	rpma_mr_remote_delete(&e->remote);
	rpma_mr_dereg(&e->mr);
	munmap(e->buf, BUF_SIZE);
}

static inline void ends_close(struct ends *ends)
{
	end_close(&ends->c);
	end_close(&ends->s);
	rpma_ep_shutdown(&ends->ep);
	rpma_peer_delete(&ends->peer);
}

/* Waits and fetches as the manual says: a wake-up may be for nothing. */
static inline struct ibv_wc lib_reap(struct __test_metadata *_metadata, struct rpma_cq *cq)
{
	struct ibv_wc wc = {};
	int ret;

	while ((ret = rpma_cq_get_wc(cq, 1, &wc, NULL)) == RPMA_E_NO_COMPLETION)
		ASSERT_EQ(0, rpma_cq_wait(cq));
	ASSERT_EQ(0, ret);
	return wc;
}

#define expect_wc(cq, context, want)					\
	({								\
		struct ibv_wc __wc = lib_reap(_metadata, cq);		\
		ASSERT_EQ((__u64)(context), __wc.wr_id);		\
		ASSERT_EQ(want, __wc.status);				\
		__wc;							\
	})

static inline void apply_direct_write(struct __test_metadata *_metadata, struct rpma_conn *conn,
				      bool direct)
{
	struct rpma_peer_cfg *pcfg = NULL;

	ASSERT_EQ(0, rpma_peer_cfg_new(&pcfg));
	ASSERT_EQ(0, rpma_peer_cfg_set_direct_write_to_pmem(pcfg, direct));
	ASSERT_EQ(0, rpma_conn_apply_remote_peer_cfg(conn, pcfg));
	ASSERT_EQ(0, rpma_peer_cfg_delete(&pcfg));
}

#endif /* _LIBRPMA_ENDS_H */
