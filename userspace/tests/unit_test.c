// SPDX-License-Identifier: BSD-3-Clause
/* The library on a make-believe kernel: what it asks of it and makes of it. */
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>

#include "unit_test.h"

char memory[4096];

struct rpma_peer *make_peer(void)
{
	struct rpma_peer *peer = NULL;
	struct ibv_context *ctx;

	if (rpma_utils_get_ibv_context("127.0.0.1", RPMA_UTIL_IBV_CONTEXT_LOCAL, &ctx) ||
	    rpma_peer_new(ctx, &peer))
		abort();
	return peer;
}

struct rpma_conn *make_conn(struct rpma_peer *peer, const struct rpma_conn_cfg *cfg)
{
	struct rpma_conn_req *req;
	struct rpma_conn *conn;

	if (rpma_conn_req_new(peer, "127.0.0.1", "7204", cfg, &req) ||
	    rpma_conn_req_connect(&req, NULL, &conn))
		abort();
	return conn;
}

struct rpma_mr_local *make_local(struct rpma_peer *peer, int usage)
{
	struct rpma_mr_local *mr;

	if (rpma_mr_reg(peer, memory, sizeof(memory), usage, &mr))
		abort();
	return mr;
}

struct rpma_mr_remote *make_remote(uint8_t usage)
{
	uint8_t desc[21] = { 0x88, 0x77, 0x66, 0x55, 0x44, 0x33, 0x22, 0x11,
			     0x00, 0x10, 0, 0, 0, 0, 0, 0, 0xd4, 0xc3, 0xb2, 0xa1, usage };
	struct rpma_mr_remote *mr;

	if (rpma_mr_remote_from_descriptor(desc, sizeof(desc), &mr))
		abort();
	return mr;
}

char logged[LOGGED_SIZE];
enum rpma_log_level logged_level;

void keep_log(enum rpma_log_level level, const char *file_name, const int line_no,
	      const char *function_name, const char *message_format, ...)
{
	va_list args;

	(void)file_name;
	(void)line_no;
	(void)function_name;
	va_start(args, message_format);
	vsnprintf(logged, sizeof(logged), message_format, args);
	va_end(args);
	logged_level = level;
	errno = EDOM;
}

int main(void)
{
	struct rpma_peer *peer;

	setvbuf(stdout, NULL, _IOLBF, 0);
	test_names();
	test_log();
	test_log_default();
	test_peer_cfg();
	test_conn_cfg();
	test_srq_cfg();
	test_context();

	fake_reset();
	peer = make_peer();
	test_mr(peer);
	test_persistent_by_read();
	test_mr_remote();
	test_mr_advise(peer);
	test_conn_req(peer);
	test_conn_req_sizes(peer);
	fake_reset();
	test_ep(peer);
	fake_reset();
	test_conn(peer);
	test_peer_timeout();
	test_requests(peer);
	test_foreign_region(peer);
	test_flush(peer);
	fake_reset();
	test_flush_method();
	fake_reset();
	test_split(peer);
	fake_reset();
	test_srq(peer);
	fake_reset();
	test_cq(peer);
	test_channel(peer);
	test_cq_threads(peer);
	fake_reset();
	test_nomem(peer);
	test_threads(peer);
	rpma_peer_delete(&peer);
	ok(!fake.fds && !fake.peers && !fake.mrs && !fake.maps && !fake.srqs, "nothing is left behind");
	return tap_done();
}
