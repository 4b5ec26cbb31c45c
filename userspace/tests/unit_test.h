/* SPDX-License-Identifier: BSD-3-Clause */
/* What the unit tests share: one unit_<noun>.c each, and unit_test.c calls them. */
#ifndef TESTS_UNIT_TEST_H
#define TESTS_UNIT_TEST_H

#include "fake_kernel.h"
#include "librpma.h"
#include "tap.h"

#define CONTEXT ((void *)0x1122334455667788)

#define LOGGED_SIZE 1024

extern char memory[4096];

/* The last message that was logged, kept by keep_log(), which spoils errno. */
extern char logged[LOGGED_SIZE];
extern enum rpma_log_level logged_level;

void keep_log(enum rpma_log_level level, const char *file_name, const int line_no,
	      const char *function_name, const char *message_format, ...);

/* These do not fail. */
struct rpma_peer *make_peer(void);
struct rpma_conn *make_conn(struct rpma_peer *peer, const struct rpma_conn_cfg *cfg);
struct rpma_mr_local *make_local(struct rpma_peer *peer, int usage);
struct rpma_mr_remote *make_remote(uint8_t usage);

/* Whether it is the region of make_remote(). */
bool remote_is_given(const struct rpma_remote *remote);

void test_names(void);
void test_log(void);
void test_log_default(void);
void test_peer_cfg(void);
void test_conn_cfg(void);
void test_srq_cfg(void);
void test_context(void);
void test_mr(struct rpma_peer *peer);
void test_persistent_by_read(void);
void test_mr_remote(void);
void test_mr_advise(struct rpma_peer *peer);
void test_conn_req(struct rpma_peer *peer);
void test_conn_req_sizes(struct rpma_peer *peer);
void test_ep(struct rpma_peer *peer);
void test_conn(struct rpma_peer *peer);
void test_peer_timeout(void);
void test_requests(struct rpma_peer *peer);
void test_foreign_region(struct rpma_peer *peer);
void test_flush(struct rpma_peer *peer);
void test_flush_method(void);
void test_split(struct rpma_peer *peer);
void test_srq(struct rpma_peer *peer);
void test_cq(struct rpma_peer *peer);
void test_channel(struct rpma_peer *peer);
void test_cq_threads(struct rpma_peer *peer);
void test_threads(struct rpma_peer *peer);
void test_nomem(struct rpma_peer *peer);

#endif /* TESTS_UNIT_TEST_H */
