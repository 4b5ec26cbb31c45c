/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Two RC queue pairs of one process, connected by hand through the rxe device,
 * for tests of the provider itself: A asks, B answers. No module of ours takes
 * part.
 */
#ifndef _RXE_PAIR_H
#define _RXE_PAIR_H

#include <infiniband/verbs.h>

#include "rpma_utils.h"

#define QUEUE_SIZE 1024
#define A_QP_OPS (IBV_QP_EX_WITH_RDMA_WRITE | IBV_QP_EX_WITH_RDMA_READ | IBV_QP_EX_WITH_SEND | \
		  IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP | IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD | \
		  IBV_QP_EX_WITH_FLUSH | IBV_QP_EX_WITH_ATOMIC_WRITE)
#define B_ACCESS (IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC | \
		  IBV_ACCESS_FLUSH_GLOBAL | IBV_ACCESS_FLUSH_PERSISTENT)
#define PLAIN_ACCESS (IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | \
		      IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC)

/* What a connection may be made with. */
struct rxe_opts {
	unsigned int b_access;		/* qp_access_flags of B */
	__u8 max_rd_atomic;		/* how many READs and such A may have outstanding */
	__u8 max_dest_rd_atomic;	/* and how many B remembers */
	__u8 timeout;			/* of a lost packet, 4.096 us << timeout */
	__u8 retry_cnt;
	enum ibv_mtu path_mtu;
	struct ibv_srq *srq;		/* of B */
};

/* The usual ones, but for what __VA_ARGS__ sets of o. */
#define RXE_OPTS(...)							\
	({								\
		struct rxe_opts o = { .b_access = B_ACCESS, .max_rd_atomic = 16, \
				      .max_dest_rd_atomic = 16, .timeout = 18, \
				      .retry_cnt = 7, .path_mtu = IBV_MTU_4096 }; \
									\
		__VA_ARGS__;						\
		o;							\
	})

struct rxe_end {
	struct ibv_cq *cq;
	struct ibv_qp *qp;
	struct ibv_qp_ex *ex;
};

struct rxe_pair {
	struct ibv_context *context;
	struct ibv_pd *pd;
	union ibv_gid gid;
	int gid_index;
	struct rxe_end a;
	struct rxe_end b;
};

static inline struct ibv_context *rxe_open(struct __test_metadata *_metadata, const char *name)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct ibv_context *context = NULL;

	ASSERT_NE(NULL, list);
	for (int i = 0; list[i] && !context; i++)
		if (!strcmp(ibv_get_device_name(list[i]), name))
			context = ibv_open_device(list[i]);
	ibv_free_device_list(list);
	ASSERT_NE(NULL, context);
	return context;
}

static inline union ibv_gid rxe_gid_of(const char *addr4)
{
	union ibv_gid gid = { .raw = { [10] = 0xff, [11] = 0xff } };

	inet_pton(AF_INET, addr4, gid.raw + 12);
	return gid;
}

/* The RoCE v2 entry of the address the device has. */
static inline void rxe_find_gid(struct __test_metadata *_metadata, struct rxe_pair *p,
				const char *addr4)
{
	union ibv_gid want = rxe_gid_of(addr4);
	struct ibv_gid_entry entry;

	for (p->gid_index = 0; p->gid_index < 64; p->gid_index++) {
		if (ibv_query_gid_ex(p->context, 1, p->gid_index, &entry, 0))
			continue;
		if (entry.gid_type == IBV_GID_TYPE_ROCE_V2 &&
		    !memcmp(entry.gid.raw, want.raw, sizeof(want.raw))) {
			p->gid = want;
			return;
		}
	}
	ASSERT_TRUE(false)
		TH_LOG("no GID of %s", addr4);
}

static inline void rxe_end_new(struct __test_metadata *_metadata, struct rxe_pair *p,
			       struct rxe_end *end, struct ibv_srq *srq)
{
	struct ibv_qp_init_attr_ex init = {
		.qp_type = IBV_QPT_RC,
		.cap = { .max_send_wr = QUEUE_SIZE, .max_recv_wr = 64, .max_send_sge = 1,
			 .max_recv_sge = 1, .max_inline_data = 64 },
		.srq = srq,
		.pd = p->pd,
		.send_ops_flags = A_QP_OPS,
		.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
	};

	end->cq = ibv_create_cq(p->context, 2 * QUEUE_SIZE, NULL, NULL, 0);
	ASSERT_NE(NULL, end->cq);
	init.send_cq = end->cq;
	init.recv_cq = end->cq;
	end->qp = ibv_create_qp_ex(p->context, &init);
	ASSERT_NE(NULL, end->qp);
	end->ex = ibv_qp_to_qp_ex(end->qp);
}

static inline void rxe_end_init(struct __test_metadata *_metadata, struct rxe_end *end,
				unsigned int access)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT, .port_num = 1,
				    .qp_access_flags = access };

	ASSERT_EQ(0, ibv_modify_qp(end->qp, &attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX |
				   IBV_QP_PORT | IBV_QP_ACCESS_FLAGS));
}

/* Ready to receive from and to send to PEER_QPN at DGID. */
static inline void rxe_end_connect(struct __test_metadata *_metadata, struct rxe_pair *p,
				   struct rxe_end *end, __u32 peer_qpn, const union ibv_gid *dgid,
				   const struct rxe_opts *o)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_RTR,
		.path_mtu = o->path_mtu,
		.dest_qp_num = peer_qpn,
		.max_dest_rd_atomic = o->max_dest_rd_atomic,
		.max_rd_atomic = o->max_rd_atomic,
		.min_rnr_timer = 1,
		.timeout = o->timeout,
		.retry_cnt = o->retry_cnt,
		.rnr_retry = 7,
		.ah_attr = { .is_global = 1, .port_num = 1,
			     .grh = { .dgid = *dgid, .sgid_index = p->gid_index,
				      .hop_limit = 64 } },
	};

	ASSERT_EQ(0, ibv_modify_qp(end->qp, &attr, IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU |
				   IBV_QP_DEST_QPN | IBV_QP_RQ_PSN | IBV_QP_MIN_RNR_TIMER |
				   IBV_QP_MAX_DEST_RD_ATOMIC));
	attr.qp_state = IBV_QPS_RTS;
	ASSERT_EQ(0, ibv_modify_qp(end->qp, &attr, IBV_QP_STATE | IBV_QP_TIMEOUT |
				   IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN |
				   IBV_QP_MAX_QP_RD_ATOMIC));
}

static inline void rxe_pair_device(struct __test_metadata *_metadata, struct rxe_pair *p,
				   const char *device, const char *addr4)
{
	p->context = rxe_open(_metadata, device);
	p->pd = ibv_alloc_pd(p->context);
	ASSERT_NE(NULL, p->pd);
	rxe_find_gid(_metadata, p, addr4);
}

static inline void rxe_pair_connect(struct __test_metadata *_metadata, struct rxe_pair *p,
				    struct rxe_opts o)
{
	rxe_end_new(_metadata, p, &p->a, NULL);
	rxe_end_new(_metadata, p, &p->b, o.srq);
	rxe_end_init(_metadata, &p->a, IBV_ACCESS_REMOTE_WRITE);
	rxe_end_init(_metadata, &p->b, o.b_access);
	rxe_end_connect(_metadata, p, &p->b, p->a.qp->qp_num, &p->gid, &o);
	rxe_end_connect(_metadata, p, &p->a, p->b.qp->qp_num, &p->gid, &o);
}

static inline void rxe_pair_disconnect(struct rxe_pair *p)
{
	ibv_destroy_qp(p->a.qp);
	ibv_destroy_qp(p->b.qp);
	ibv_destroy_cq(p->a.cq);
	ibv_destroy_cq(p->b.cq);
}

static inline struct ibv_mr *rxe_reg(struct __test_metadata *_metadata, struct rxe_pair *p,
				     void *addr, size_t length, unsigned int access)
{
	struct ibv_mr *mr = ibv_reg_mr(p->pd, addr, length, access);

	ASSERT_NE(NULL, mr)
		TH_LOG("reg_mr: %s", strerror(errno));
	return mr;
}

/* ---- completions ---- */

static inline int rxe_reap_within(struct ibv_cq *cq, struct ibv_wc *wc, int ms)
{
	long long end = now_ms() + ms;

	while (!ibv_poll_cq(cq, 1, wc)) {
		if (now_ms() >= end)
			return 0;
		usleep(200);
	}
	return 1;
}

static inline struct ibv_wc rxe_reap(struct __test_metadata *_metadata, struct ibv_cq *cq)
{
	struct ibv_wc wc = {};

	ASSERT_EQ(1, rxe_reap_within(cq, &wc, WAIT_MS))
		TH_LOG("no completion came");
	return wc;
}

#define expect_wc(end, want_id, want_status)				\
	({								\
		struct ibv_wc __wc = rxe_reap(_metadata, (end)->cq);	\
		ASSERT_EQ((__u64)(want_id), __wc.wr_id);		\
		ASSERT_EQ((int)(want_status), (int)__wc.status);	\
		__wc;							\
	})

#define expect_success(end, want_id, want_opcode, want_len)		\
	({								\
		struct ibv_wc __ok = expect_wc(end, want_id, IBV_WC_SUCCESS); \
		ASSERT_EQ((int)(want_opcode), (int)__ok.opcode);	\
		ASSERT_EQ((__u32)(want_len), __ok.byte_len);		\
	})

#define expect_no_wc(end)						\
	({								\
		struct ibv_wc __none;					\
		ASSERT_EQ(0, rxe_reap_within((end)->cq, &__none, 200));	\
	})

/* ---- requests of A, each signaled ---- */

/* One request: __VA_ARGS__ is the call that builds it on ex. */
#define rxe_post_flags(end, id, flags, call)				\
	({								\
		struct ibv_qp_ex *ex = (end)->ex;			\
									\
		ibv_wr_start(ex);					\
		ex->wr_id = (id);					\
		ex->wr_flags = (flags);					\
		call;							\
		ASSERT_EQ(0, ibv_wr_complete(ex));			\
	})

#define rxe_post(end, id, call) rxe_post_flags(end, id, IBV_SEND_SIGNALED, call)

#endif /* _RXE_PAIR_H */
