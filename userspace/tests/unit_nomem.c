// SPDX-License-Identifier: BSD-3-Clause
/* Every function that makes an object, when there is no memory for it. */
#include <errno.h>
#include <netdb.h>
#include <stdlib.h>

#include "unit_test.h"

/* The linker puts these in the way of the library's (see the Makefile). */
void *__real_malloc(size_t size);
void *__real_calloc(size_t nr, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t nr, size_t size);

/* The library's allocation that fails; 0: none. */
static int countdown;

static bool fails(void)
{
	return countdown && !--countdown;
}

void *__wrap_malloc(size_t size)
{
	return fails() ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t nr, size_t size)
{
	return fails() ? NULL : __real_calloc(nr, size);
}

struct maker {
	const char *name;
	int (*make)(struct rpma_peer *peer, void **ptr);
	int (*end)(void **ptr);
};

static struct ibv_context *ctx;
static struct rpma_ep *ep;

#define MAKER(what, delete, call)							\
	static int new_##what(struct rpma_peer *peer, void **ptr)			\
	{										\
		struct rpma_##what **to = (struct rpma_##what **)ptr;			\
											\
		(void)peer;								\
		return call;								\
	}										\
	static int end_##what(void **ptr)						\
	{										\
		return delete((struct rpma_##what **)ptr);				\
	}

MAKER(peer_cfg, rpma_peer_cfg_delete, rpma_peer_cfg_new(to))
MAKER(conn_cfg, rpma_conn_cfg_delete, rpma_conn_cfg_new(to))
MAKER(srq_cfg, rpma_srq_cfg_delete, rpma_srq_cfg_new(to))
MAKER(srq, rpma_srq_delete, rpma_srq_new(peer, NULL, to))
MAKER(peer, rpma_peer_delete, rpma_peer_new(ctx, to))
MAKER(mr_local, rpma_mr_dereg, rpma_mr_reg(peer, memory, 8, RPMA_MR_USAGE_SEND, to))
MAKER(ep, rpma_ep_shutdown, rpma_ep_listen(peer, "127.0.0.1", "2", to))
MAKER(conn_req, rpma_conn_req_delete, rpma_conn_req_new(peer, "127.0.0.1", "1", NULL, to))

static int new_copy(struct rpma_peer *peer, void **ptr)
{
	(void)peer;
	return rpma_peer_cfg_from_descriptor("\1", 1, (struct rpma_peer_cfg **)ptr);
}

static int new_remote(struct rpma_peer *peer, void **ptr)
{
	static const uint8_t desc[21] = { [20] = 1 };

	(void)peer;
	return rpma_mr_remote_from_descriptor(desc, sizeof(desc), (struct rpma_mr_remote **)ptr);
}

static int end_remote(void **ptr)
{
	return rpma_mr_remote_delete((struct rpma_mr_remote **)ptr);
}

static int new_knock(struct rpma_peer *peer, void **ptr)
{
	(void)peer;
	return rpma_ep_next_conn_req(ep, NULL, (struct rpma_conn_req **)ptr);
}

static const struct maker makers[] = {
	{ "rpma_peer_cfg_new", new_peer_cfg, end_peer_cfg },
	{ "rpma_peer_cfg_from_descriptor", new_copy, end_peer_cfg },
	{ "rpma_conn_cfg_new", new_conn_cfg, end_conn_cfg },
	{ "rpma_srq_cfg_new", new_srq_cfg, end_srq_cfg },
	{ "rpma_srq_new", new_srq, end_srq },
	{ "rpma_peer_new", new_peer, end_peer },
	{ "rpma_mr_reg", new_mr_local, end_mr_local },
	{ "rpma_mr_remote_from_descriptor", new_remote, end_remote },
	{ "rpma_ep_listen", new_ep, end_ep },
	{ "rpma_conn_req_new", new_conn_req, end_conn_req },
	{ "rpma_ep_next_conn_req", new_knock, end_conn_req },
};

static bool left_as_it_was(const struct fake_kernel *before)
{
	return fake.fds == before->fds && fake.peers == before->peers && fake.mrs == before->mrs &&
	       fake.srqs == before->srqs;
}

/* Lets each allocation fail in turn, until there is none left to fail. */
static void fail_each(const struct maker *maker, struct rpma_peer *peer)
{
	const struct fake_kernel before = fake;
	int nth, ret, nomem = 0, clean = 0;
	void *ptr = NULL;

	for (nth = 1; ; nth++) {
		countdown = nth;
		ret = maker->make(peer, &ptr);
		if (countdown)
			break;
		nomem += ret == RPMA_E_NOMEM && !ptr;
		clean += left_as_it_was(&before);
	}
	countdown = 0;
	ok(nth > 1 && nomem == nth - 1, "nomem: %s says so, and stores nothing", maker->name);
	ok(clean == nth - 1, "nomem: %s leaves nothing behind", maker->name);
	ok(!ret && ptr && !maker->end(&ptr) && !ptr && left_as_it_was(&before),
	   "nomem: %s and its end without that", maker->name);
}

void test_nomem(struct rpma_peer *peer)
{
	struct ibv_context *new_ctx = NULL;
	struct rpma_conn *conn = make_conn(peer, NULL);
	struct rpma_mr_remote *remote = make_remote(0xff);
	struct rpma_cq *cq;
	struct ibv_wc wc;
	size_t i;

	rpma_utils_get_ibv_context("127.0.0.1", RPMA_UTIL_IBV_CONTEXT_LOCAL, &ctx);
	rpma_ep_listen(peer, "127.0.0.1", "1", &ep);
	for (i = 0; i < sizeof(makers) / sizeof(makers[0]); i++)
		fail_each(&makers[i], peer);
	rpma_ep_shutdown(&ep);

	fake.first_device = 1000;
	countdown = 1;
	ok(rpma_utils_get_ibv_context("127.0.0.1", RPMA_UTIL_IBV_CONTEXT_LOCAL, &new_ctx) ==
	   RPMA_E_NOMEM && !new_ctx, "nomem: rpma_utils_get_ibv_context of a new device");
	fake.first_device = 0;
	countdown = 1;
	rpma_conn_get_cq(conn, &cq);
	ok(rpma_cq_get_wc(cq, 1, &wc, NULL) == RPMA_E_PROVIDER && errno == ENOMEM,
	   "nomem: rpma_cq_get_wc, the first time");
	countdown = 0;
	ok(rpma_cq_get_wc(cq, 1, &wc, NULL) == RPMA_E_NO_COMPLETION,
	   "nomem: and the next");
	fake.flush_max = 1ULL << 31;
	countdown = 1;
	ok(rpma_flush(conn, remote, 0, 1ULL << 32, RPMA_FLUSH_TYPE_VISIBILITY,
		      RPMA_F_COMPLETION_ALWAYS, NULL) == RPMA_E_NOMEM && !fake.nr_pieces,
	   "nomem: rpma_flush in pieces, the first time");
	countdown = 0;
	ok(!rpma_flush(conn, remote, 0, 1ULL << 32, RPMA_FLUSH_TYPE_VISIBILITY,
		       RPMA_F_COMPLETION_ALWAYS, NULL) && fake.nr_pieces == 3,
	   "nomem: and the next");
	fake.flush_max = 0;
	rpma_mr_remote_delete(&remote);
	rpma_conn_delete(&conn);
}
