/* SPDX-License-Identifier: GPL-2.0 */
/* Our side of connections to loss_target, and its obedience. */
#ifndef _TWO_LOSS_PAIR_H
#define _TWO_LOSS_PAIR_H

#include "../rpma_pair.h"
#include "loss.h"

struct loss_end {
	struct pair p;		/* without a listener and a server */
	struct region there;
	int control;
	bool netem;
};

#define tell(end, ...)							\
	({								\
		struct loss_command __c = { __VA_ARGS__ };		\
		struct loss_answer __a;					\
		ASSERT_EQ(0, loss_whole((end)->control, &__c, sizeof(__c), 1)); \
		ASSERT_EQ(0, loss_whole((end)->control, &__a, sizeof(__a), 0)); \
		__a;							\
	})

static inline const char *loss_peer(void)
{
	return test_env("PEER4", "10.7.7.1");
}

/* A kernel with the patched provider must have the native method. */
static inline bool loss_has_patched_provider(void)
{
	return strstr(test_env("KERNEL", ""), "+flush");
}

static inline struct region loss_learn(struct __test_metadata *_metadata, struct pair *p,
				       int conn, int nr)
{
	struct rpma_ioc_conn_query q = ioc_conn_query(p->fd, .conn_fd = conn);
	const __u8 *desc = q.out_private_data + nr * LOSS_DESC_SIZE;
	struct region r = {};

	memcpy(&r.addr, desc, 8);
	memcpy(&r.length, desc + 8, 8);
	memcpy(&r.rkey, desc + 16, 4);
	r.access = desc[20];
	ASSERT_EQ(LOSS_REGION, r.length);
	return r;
}

static inline void loss_connect(struct __test_metadata *_metadata, struct pair *p,
				struct side *side, __u32 method)
{
	client_create(_metadata, p, side);
	ioc_conn_connect(p->fd, .conn_fd = side->conn);
	expect_event(side->conn, RPMA_EVENT_ESTABLISHED);
	ioc_conn_modify(p->fd, .conn_fd = side->conn,
			.mask = RPMA_CONN_MODIFY_FLUSH_METHOD | RPMA_CONN_MODIFY_DIRECT_WRITE,
			.flush_method = method, .direct_write = 1);
}

static inline void loss_open(struct __test_metadata *_metadata, struct loss_end *end,
			     __u32 method, int region)
{
	struct pair *p = &end->p;

	memset(end, 0, sizeof(*end));
	p->opts = (struct pair_opts){ .addr = loss_peer(), .sq_size = 256, .cq_entries = 256,
				      .length = LOSS_REGION, .access = ACCESS_ALL };
	p->port = LOSS_PORT_NR;
	p->ep = -1;
	p->fd = rpma_open(_metadata);
	p->peer = peer_new(_metadata, p->fd);
	end->control = loss_control(loss_peer());
	ASSERT_LE(0, end->control);
	side_init(_metadata, p, &p->client);
	loss_connect(_metadata, p, &p->client, method);
	end->there = loss_learn(_metadata, p, p->client.conn, region);
	tell(end, .type = LOSS_CLEAR, .region = region);
}

static inline void loss_netem(struct __test_metadata *_metadata, struct loss_end *end, bool on)
{
	end->netem = on;
	EXPECT_EQ(0, system(on ? LOSS_NETEM_ON : LOSS_NETEM_OFF));
	EXPECT_EQ(0, tell(end, .type = LOSS_NETEM, .drop = on).value);
}

static inline void loss_close(struct __test_metadata *_metadata, struct loss_end *end)
{
	if (end->netem)
		loss_netem(_metadata, end, false);
	side_close(&end->p.client);
	close(end->p.fd);
	close(end->control);
}

static inline struct rpma_request req_atomic_write(__u64 context, __u32 flags,
						   const struct region *to, __u64 offset,
						   __u64 value)
{
	return (struct rpma_request){
		.op = RPMA_OP_ATOMIC_WRITE,
		.context = context,
		.flags = flags,
		.len = 8,
		.remote = remote_of(to),
		.remote_offset = offset,
		.value = value,
	};
}

/* Whatever was posted has completed. */
static inline void expect_nothing_in_flight(struct __test_metadata *_metadata, struct pair *p,
					    int conn)
{
	struct rpma_ioc_conn_query q = ioc_conn_query(p->fd, .conn_fd = conn);

	EXPECT_EQ(q.out_posted, q.out_completed);
	EXPECT_EQ(RPMA_CONN_STATE_ESTABLISHED, q.out_state);
}

#endif /* _TWO_LOSS_PAIR_H */
