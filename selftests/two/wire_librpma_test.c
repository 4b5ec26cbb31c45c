// SPDX-License-Identifier: GPL-2.0
/*
 * WRITE and FLUSH of librpma's users on the wire and at the target
 * (wire_target at PEER4). The same program runs on Debian's library
 * (WIRE_LIBRARY=debian, variant auto only), which flushes natively from user
 * space on every kernel: what ours sends natively is the same.
 */
#include "../librpma_ends.h"
#include "wire_seen.h"

/* In the header of rdma-core 56 and later. */
#define WC_FLUSH 8

#define WRITTEN 64

FIXTURE(library) {
	struct wire w;
	struct rpma_peer *peer;
	struct rpma_conn *conn;
	struct rpma_cq *cq;
	struct rpma_mr_local *mr;
	struct rpma_mr_remote *there;
	void *memory;
	uint64_t base;		/* where the region starts over there */
	uint32_t rkey;
};

/* RPMA_FLUSH_METHOD */
FIXTURE_VARIANT(library) {
	const char *environment;
};

FIXTURE_VARIANT_ADD(library, auto) { .environment = "auto" };
FIXTURE_VARIANT_ADD(library, read) { .environment = "read" };
FIXTURE_VARIANT_ADD(library, native) { .environment = "native" };

static uint32_t method_expected(const char *environment)
{
	if (!strcmp(test_env("WIRE_LIBRARY", "ours"), "debian"))
		return RPMA_FLUSH_METHOD_NATIVE;
	if (!strcmp(environment, "auto") && wire_kernel_is_patched())
		return RPMA_FLUSH_METHOD_NATIVE;
	return strcmp(environment, "native") ? RPMA_FLUSH_METHOD_READ : RPMA_FLUSH_METHOD_NATIVE;
}

static bool works(const char *environment)
{
	return strcmp(environment, "native") || wire_kernel_is_patched();
}

static void library_connect(struct __test_metadata *_metadata, struct rpma_conn_req *req,
			    struct rpma_conn **conn, struct rpma_mr_remote **there,
			    uint64_t *base, uint32_t *rkey)
{
	struct rpma_conn_private_data offer;
	const uint8_t *desc;

	ASSERT_EQ(0, rpma_conn_req_connect(&req, NULL, conn));
	EXPECT_EVENT(*conn, RPMA_CONN_ESTABLISHED);
	ASSERT_EQ(0, rpma_conn_get_private_data(*conn, &offer));
	ASSERT_LE(WIRE_DESC_SIZE, offer.len);
	desc = offer.ptr;
	ASSERT_EQ(0, rpma_mr_remote_from_descriptor(desc, WIRE_DESC_SIZE, there));
	memcpy(base, desc, 8);
	memcpy(rkey, desc + 16, 4);
}

FIXTURE_SETUP(library)
{
	struct rpma_conn_req *req = NULL;
	uint32_t our_qp = 0;

	if (!works(variant->environment))
		SKIP(return, "this kernel does not carry FLUSH");
	setenv("RPMA_FLUSH_METHOD", variant->environment, 1);
	self->peer = lib_peer(_metadata);
	self->memory = map_pages(_metadata, PAGE);
	ASSERT_EQ(0, rpma_mr_reg(self->peer, self->memory, PAGE, RPMA_MR_USAGE_WRITE_SRC,
				 &self->mr));
	wire_open(_metadata, &self->w);
	ASSERT_EQ(0, rpma_conn_req_new(self->peer, test_env("PEER4", "10.7.7.1"), WIRE_PORT,
				       NULL, &req));
	library_connect(_metadata, req, &self->conn, &self->there, &self->base, &self->rkey);
	ASSERT_EQ(0, rpma_conn_get_cq(self->conn, &self->cq));
	ASSERT_EQ(0, rpma_conn_get_qp_num(self->conn, &our_qp));
	wire_connected(_metadata, &self->w, our_qp);
	apply_direct_write(_metadata, self->conn, true);
}

FIXTURE_TEARDOWN(library)
{
	rpma_conn_disconnect(self->conn);
	rpma_conn_delete(&self->conn);
	rpma_mr_remote_delete(&self->there);
	wire_close(&self->w);
	rpma_mr_dereg(&self->mr);
	rpma_peer_delete(&self->peer);
}

static void expect_write(struct __test_metadata *_metadata, const struct roce_packet *p,
			 uint64_t va, uint32_t rkey, const void *data)
{
	EXPECT_EQ(1, p->sent);
	EXPECT_EQ(ROCE_WRITE_ONLY, p->opcode);
	EXPECT_EQ(va, p->va);
	EXPECT_EQ(rkey, p->rkey);
	EXPECT_EQ(WRITTEN, p->len);
	EXPECT_EQ(WRITTEN, p->payload);
	EXPECT_EQ(0, memcmp(data, p->data, sizeof(p->data)));
}

/* WRITE and FLUSH, and the completion as the program sees it. */
#define write_and_flush(f, type)							\
	({										\
		struct ibv_wc __wc;							\
		ASSERT_EQ(0, rpma_write(self->conn, self->there, 0, self->mr, 0, WRITTEN,	\
					ON_ERROR, NULL));				\
		ASSERT_EQ(0, rpma_flush(self->conn, self->there, (f)->va - self->base,	\
					(f)->len, type, ALWAYS, CONTEXT((f)->va)));	\
		__wc = expect_wc(self->cq, (f)->va, IBV_WC_SUCCESS);			\
		EXPECT_EQ((f)->method == RPMA_FLUSH_METHOD_NATIVE ? WC_FLUSH :		\
			  IBV_WC_RDMA_READ, (int)__wc.opcode);				\
		EXPECT_EQ((f)->len, __wc.byte_len);					\
	})

TEST_F_TIMEOUT(library, write_and_flush_is_what_was_asked_for, WAIT_SECONDS)
{
	struct wire_flush f = { .method = method_expected(variant->environment) };
	/* Stock rxe does not survive that a FLUSH is repeated: not many. */
	unsigned int lens = wire_kernel_is_patched() || f.method == RPMA_FLUSH_METHOD_READ ?
			    WIRE_LENS : 3;

	f.rkey = self->rkey;
	for (unsigned int i = 0; i < 4 * lens; i++) {
		struct wire_seen seen;
		int at_end = i & 1, persistent = i >> 1 & 1;

		f.len = wire_lens[WIRE_LENS - 1 - i / 4];
		f.va = self->base + (at_end ? WIRE_LENGTH - f.len : 0);
		f.placement = persistent ? RPMA_FLUSH_PERSISTENT : RPMA_FLUSH_GLOBAL;
		memset(self->memory, i + 1, WRITTEN);
		write_and_flush(&f, persistent ? RPMA_FLUSH_TYPE_PERSISTENT :
						 RPMA_FLUSH_TYPE_VISIBILITY);
		seen = wire_look(_metadata, &self->w);
		ASSERT_EQ(4, seen.nr);	/* two requests, two answers */
		expect_write(_metadata, &seen.packet[0], self->base, self->rkey, self->memory);
		wire_expect_flush(_metadata, &seen, (seen.packet[0].psn + 1) & 0xffffff, &f);
		wire_expect_write_back(_metadata, &self->w, &f, self->base);
	}
}

TEST(native_is_refused_where_the_kernel_does_not_carry_it)
{
	struct rpma_conn_req *req = NULL;
	struct rpma_peer *peer;

	if (works("native"))
		SKIP(return, "this kernel carries FLUSH");
	setenv("RPMA_FLUSH_METHOD", "native", 1);
	peer = lib_peer(_metadata);
	ASSERT_EQ(RPMA_E_NOSUPP, rpma_conn_req_new(peer, test_env("PEER4", "10.7.7.1"), WIRE_PORT,
						   NULL, &req));
	EXPECT_EQ(EOPNOTSUPP, errno);
	EXPECT_EQ(NULL, req);
	ASSERT_EQ(0, rpma_peer_delete(&peer));
}

TEST_HARNESS_MAIN
