// SPDX-License-Identifier: BSD-3-Clause
/* Requests: what reaches the kernel. */
#include <arpa/inet.h>
#include <errno.h>
#include <string.h>

#include "unit_test.h"

bool remote_is_given(const struct rpma_remote *remote)
{
	return remote->addr == 0x1122334455667788 && remote->length == 4096 &&
	       remote->rkey == 0xa1b2c3d4;
}

/* The last request, of which @mr, @imm and the remote region are asked for. */
static bool request_is(uint32_t op, uint32_t flags, bool mr, bool remote, uint32_t imm)
{
	const struct rpma_request *r = &fake.request;

	return r->op == op && r->flags == flags && r->context == (uintptr_t)CONTEXT &&
	       r->mr == (mr ? 21 : 0) && r->mr_offset == (mr ? 16 : 0) &&
	       r->imm_data == htonl(imm) && !r->placement && !r->__reserved &&
	       (remote ? remote_is_given(&r->remote) && r->remote_offset == 32 :
	       !r->remote.addr && !r->remote.rkey && !r->remote.length && !r->remote_offset);
}

void test_requests(struct rpma_peer *peer)
{
	const int on_error = RPMA_F_COMPLETION_ON_ERROR, always = RPMA_F_COMPLETION_ALWAYS;
	struct rpma_mr_remote *r = make_remote(0xff);
	struct rpma_mr_local *l = make_local(peer, 0xff);
	struct rpma_conn *c = make_conn(peer, NULL);
	int posts;

	ok(!rpma_read(c, l, 16, r, 32, 8, always, CONTEXT) && fake.request.len == 8 &&
	   request_is(RPMA_OP_READ, RPMA_REQ_F_SIGNALED, true, true, 0), "read");
	ok(!rpma_write(c, r, 32, l, 16, 8, on_error, CONTEXT) && fake.request.len == 8 &&
	   request_is(RPMA_OP_WRITE, 0, true, true, 0), "write, on error");
	ok(!rpma_write_with_imm(c, r, 32, l, 16, 8, always, 0x01020304, CONTEXT) &&
	   request_is(RPMA_OP_WRITE_WITH_IMM, RPMA_REQ_F_SIGNALED, true, true, 0x01020304),
	   "write with immediate");
	ok(!rpma_atomic_write(c, r, 32, "12345678", always, CONTEXT) && fake.request.len == 8 &&
	   !memcmp(&fake.request.value, "12345678", 8) &&
	   request_is(RPMA_OP_ATOMIC_WRITE, RPMA_REQ_F_SIGNALED, false, true, 0), "atomic write");
	ok(!rpma_send(c, l, 16, 8, always, CONTEXT) &&
	   request_is(RPMA_OP_SEND, RPMA_REQ_F_SIGNALED, true, false, 0), "send");
	ok(!rpma_send_with_imm(c, l, 16, 8, on_error, 0x01020304, CONTEXT) &&
	   request_is(RPMA_OP_SEND_WITH_IMM, 0, true, false, 0x01020304), "send with immediate");
	ok(!rpma_recv(c, l, 16, 8, CONTEXT) && request_is(RPMA_OP_RECV, 0, true, false, 0),
	   "receive");

	ok(!rpma_read(c, NULL, 0, NULL, 0, 0, always, CONTEXT) && fake.request.len == 0 &&
	   request_is(RPMA_OP_READ, RPMA_REQ_F_SIGNALED, false, false, 0), "read nothing");
	ok(!rpma_write(c, NULL, 0, NULL, 0, 0, always, CONTEXT) &&
	   request_is(RPMA_OP_WRITE, RPMA_REQ_F_SIGNALED, false, false, 0), "write nothing");
	ok(!rpma_write_with_imm(c, NULL, 0, NULL, 0, 0, always, 5, CONTEXT) &&
	   request_is(RPMA_OP_WRITE_WITH_IMM, RPMA_REQ_F_SIGNALED, false, false, 5),
	   "write nothing with immediate");
	ok(!rpma_send(c, NULL, 0, 0, always, CONTEXT) &&
	   request_is(RPMA_OP_SEND, RPMA_REQ_F_SIGNALED, false, false, 0), "send nothing");
	ok(!rpma_recv(c, NULL, 0, 0, CONTEXT) && request_is(RPMA_OP_RECV, 0, false, false, 0),
	   "receive nothing");

	posts = fake.posts;
	ok(rpma_read(NULL, l, 0, r, 0, 1, always, NULL) == RPMA_E_INVAL &&
	   rpma_read(c, l, 0, r, 0, 1, 0, NULL) == RPMA_E_INVAL &&
	   rpma_read(c, NULL, 0, r, 0, 0, always, NULL) == RPMA_E_INVAL &&
	   rpma_read(c, l, 0, NULL, 0, 0, always, NULL) == RPMA_E_INVAL &&
	   rpma_read(c, NULL, 1, NULL, 0, 0, always, NULL) == RPMA_E_INVAL &&
	   rpma_read(c, NULL, 0, NULL, 1, 0, always, NULL) == RPMA_E_INVAL &&
	   rpma_read(c, NULL, 0, NULL, 0, 1, always, NULL) == RPMA_E_INVAL, "read: bad arguments");
	ok(rpma_write(NULL, r, 0, l, 0, 1, always, NULL) == RPMA_E_INVAL &&
	   rpma_write(c, r, 0, l, 0, 1, 0, NULL) == RPMA_E_INVAL &&
	   rpma_write(c, NULL, 0, l, 0, 0, always, NULL) == RPMA_E_INVAL &&
	   rpma_write(c, r, 0, NULL, 0, 0, always, NULL) == RPMA_E_INVAL &&
	   rpma_write(c, NULL, 1, NULL, 0, 0, always, NULL) == RPMA_E_INVAL &&
	   rpma_write(c, NULL, 0, NULL, 1, 0, always, NULL) == RPMA_E_INVAL &&
	   rpma_write(c, NULL, 0, NULL, 0, 1, always, NULL) == RPMA_E_INVAL,
	   "write: bad arguments");
	ok(rpma_write_with_imm(NULL, r, 0, l, 0, 1, always, 0, NULL) == RPMA_E_INVAL &&
	   rpma_write_with_imm(c, r, 0, l, 0, 1, 0, 0, NULL) == RPMA_E_INVAL &&
	   rpma_write_with_imm(c, NULL, 0, l, 0, 0, always, 0, NULL) == RPMA_E_INVAL &&
	   rpma_write_with_imm(c, r, 0, NULL, 0, 0, always, 0, NULL) == RPMA_E_INVAL &&
	   rpma_write_with_imm(c, NULL, 0, NULL, 0, 1, always, 0, NULL) == RPMA_E_INVAL,
	   "write with immediate: bad arguments");
	ok(rpma_atomic_write(NULL, r, 0, memory, always, NULL) == RPMA_E_INVAL &&
	   rpma_atomic_write(c, NULL, 0, memory, always, NULL) == RPMA_E_INVAL &&
	   rpma_atomic_write(c, r, 0, NULL, always, NULL) == RPMA_E_INVAL &&
	   rpma_atomic_write(c, r, 0, memory, 0, NULL) == RPMA_E_INVAL &&
	   rpma_atomic_write(c, r, 4, memory, always, NULL) == RPMA_E_INVAL,
	   "atomic write: bad arguments");
	ok(rpma_send(NULL, l, 0, 1, always, NULL) == RPMA_E_INVAL &&
	   rpma_send(c, l, 0, 1, 0, NULL) == RPMA_E_INVAL &&
	   rpma_send(c, NULL, 1, 0, always, NULL) == RPMA_E_INVAL &&
	   rpma_send(c, NULL, 0, 1, always, NULL) == RPMA_E_INVAL &&
	   rpma_send_with_imm(NULL, l, 0, 1, always, 0, NULL) == RPMA_E_INVAL &&
	   rpma_send_with_imm(c, l, 0, 1, 0, 0, NULL) == RPMA_E_INVAL &&
	   rpma_send_with_imm(c, NULL, 0, 1, always, 0, NULL) == RPMA_E_INVAL,
	   "send: bad arguments");
	ok(rpma_recv(NULL, l, 0, 1, NULL) == RPMA_E_INVAL &&
	   rpma_recv(c, NULL, 1, 0, NULL) == RPMA_E_INVAL &&
	   rpma_recv(c, NULL, 0, 1, NULL) == RPMA_E_INVAL, "receive: bad arguments");
	ok(fake.posts == posts, "bad arguments never reach the kernel");

	fake.post_ret = -EINVAL;
	ok(rpma_write(c, r, 4095, l, 0, 2, always, NULL) == RPMA_E_INVAL, "write past the end");
	fake.post_ret = -EAGAIN;
	ok(rpma_write(c, r, 0, l, 0, 1, always, NULL) == RPMA_E_PROVIDER && errno == EAGAIN,
	   "write: queues are full");
	fake.post_ret = -EACCES;
	ok(rpma_write(c, r, 0, l, 0, 1, always, NULL) == RPMA_E_PROVIDER && errno == EACCES &&
	   strstr(logged, "not registered for this"), "write: not allowed, in words");
	fake.post_ret = -ENOTCONN;
	ok(rpma_recv(c, l, 0, 1, NULL) == RPMA_E_PROVIDER && errno == ENOTCONN,
	   "receive: not connected");
	fake.post_ret = 0;

	rpma_conn_delete(&c);
	rpma_mr_dereg(&l);
	rpma_mr_remote_delete(&r);
}

/* The number of a region means another region on another peer's file. */
void test_foreign_region(struct rpma_peer *peer)
{
	const int always = RPMA_F_COMPLETION_ALWAYS;
	struct rpma_mr_remote *r = make_remote(0xff);
	struct rpma_conn *c = make_conn(peer, NULL);
	struct rpma_peer *other = make_peer();
	struct rpma_mr_local *l = make_local(other, 0xff);
	struct rpma_conn_req *req;
	int posts = fake.posts;

	rpma_conn_req_new(peer, "127.0.0.1", "1", NULL, &req);
	ok(rpma_read(c, l, 0, r, 0, 8, always, NULL) == RPMA_E_PROVIDER && errno == EXDEV &&
	   strstr(logged, "another peer"), "read: another peer's region, in words");
	errno = 0;
	ok(rpma_write(c, r, 0, l, 0, 8, always, NULL) == RPMA_E_PROVIDER && errno == EXDEV &&
	   rpma_write_with_imm(c, r, 0, l, 0, 8, always, 1, NULL) == RPMA_E_PROVIDER &&
	   rpma_send(c, l, 0, 8, always, NULL) == RPMA_E_PROVIDER &&
	   rpma_send_with_imm(c, l, 0, 8, always, 1, NULL) == RPMA_E_PROVIDER &&
	   rpma_recv(c, l, 0, 8, NULL) == RPMA_E_PROVIDER &&
	   rpma_conn_req_recv(req, l, 0, 8, NULL) == RPMA_E_PROVIDER,
	   "write, send, receive: another peer's region");
	ok(fake.posts == posts, "another peer's region never reaches the kernel");
	rpma_conn_req_delete(&req);
	rpma_conn_delete(&c);
	rpma_mr_dereg(&l);
	rpma_mr_remote_delete(&r);
	rpma_peer_delete(&other);
}
