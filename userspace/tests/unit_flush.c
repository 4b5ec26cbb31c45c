// SPDX-License-Identifier: BSD-3-Clause
/* Flush. */
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "unit_test.h"

void test_flush(struct rpma_peer *peer)
{
	const enum rpma_flush_type persistent = RPMA_FLUSH_TYPE_PERSISTENT;
	const enum rpma_flush_type visible = RPMA_FLUSH_TYPE_VISIBILITY;
	const int always = RPMA_F_COMPLETION_ALWAYS;
	struct rpma_mr_remote *both = make_remote(0x38), *p = make_remote(0x28);
	struct rpma_mr_remote *v = make_remote(0x18), *none = make_remote(0x08);
	struct rpma_conn *c = make_conn(peer, NULL);
	struct rpma_peer_cfg *cfg;
	int posts = fake.posts;

	ok(rpma_flush(NULL, both, 0, 8, visible, always, NULL) == RPMA_E_INVAL, "flush: no conn");
	ok(rpma_flush(c, NULL, 0, 8, visible, always, NULL) == RPMA_E_INVAL, "flush: no region");
	ok(rpma_flush(c, both, 0, 8, persistent, 0, NULL) == RPMA_E_INVAL,
	   "flush: no flags comes before no direct write");
	ok(rpma_flush(c, none, 0, 8, 2, always, NULL) == RPMA_E_INVAL,
	   "flush: unknown type comes before the region's");
	ok(rpma_flush(c, both, 0, 8, -1, always, NULL) == RPMA_E_INVAL, "flush: negative type");
	ok(rpma_flush(c, both, 0, 8, persistent, always, NULL) == RPMA_E_NOSUPP &&
	   strstr(logged, "apply_remote_peer_cfg"), "flush: no direct write, and what to do");
	ok(rpma_flush(c, none, 0, 8, visible, always, NULL) == RPMA_E_NOSUPP &&
	   rpma_flush(c, p, 0, 8, visible, always, NULL) == RPMA_E_NOSUPP,
	   "flush: region without VISIBILITY");

	rpma_peer_cfg_new(&cfg);
	rpma_conn_apply_remote_peer_cfg(c, cfg);
	ok(rpma_flush(c, both, 0, 8, persistent, always, NULL) == RPMA_E_NOSUPP,
	   "flush: a peer that declares no direct write");
	rpma_peer_cfg_set_direct_write_to_pmem(cfg, true);
	rpma_conn_apply_remote_peer_cfg(c, cfg);
	ok(rpma_flush(c, none, 0, 8, persistent, always, NULL) == RPMA_E_NOSUPP &&
	   rpma_flush(c, v, 0, 8, persistent, always, NULL) == RPMA_E_NOSUPP,
	   "flush: region without PERSISTENT");
	ok(fake.posts == posts, "flush: what cannot be never reaches the kernel");

	ok(!rpma_flush(c, p, 32, 100, persistent, always, CONTEXT) &&
	   fake.flush.placement == RPMA_FLUSH_PERSISTENT && fake.flush.offset == 32 &&
	   fake.flush.len == 100 && fake.flush.flags == RPMA_REQ_F_SIGNALED &&
	   fake.flush.context == (uintptr_t)CONTEXT && remote_is_given(&fake.flush.remote) &&
	   fake.flush.remote.access == 0x28, "flush: PERSISTENT");
	ok(!rpma_flush(c, v, 4096, 0, visible, RPMA_F_COMPLETION_ON_ERROR, NULL) &&
	   fake.flush.placement == RPMA_FLUSH_GLOBAL && fake.flush.offset == 4096 &&
	   !fake.flush.len && !fake.flush.flags, "flush: VISIBILITY of nothing, on error");

	fake.post_ret = -EINVAL;
	ok(rpma_flush(c, v, 4095, 2, visible, always, NULL) == RPMA_E_INVAL,
	   "flush: past the region's end");
	fake.post_ret = -EAGAIN;
	ok(rpma_flush(c, v, 0, 8, visible, always, NULL) == RPMA_E_PROVIDER && errno == EAGAIN,
	   "flush: queues are full");
	fake.post_ret = -ENODEV;
	ok(rpma_flush(c, v, 0, 8, visible, always, NULL) == RPMA_E_PROVIDER && errno == ENODEV,
	   "flush: device is gone");
	fake.post_ret = -EOPNOTSUPP;
	ok(rpma_flush(c, v, 0, 8, visible, always, NULL) == RPMA_E_NOSUPP &&
	   errno == EOPNOTSUPP && strstr(logged, "RPMA_MR_USAGE_READ_SRC") &&
	   strstr(logged, "RPMA_FLUSH_METHOD=read"),
	   "flush: may not be readable over there, and both ways out");
	fake.read_depth = 0;
	logged[0] = '\0';
	ok(rpma_flush(c, v, 0, 8, visible, always, NULL) == RPMA_E_NOSUPP &&
	   errno == EOPNOTSUPP && strstr(logged, "agreed to no reads") &&
	   !strstr(logged, "READ_SRC"), "flush: the other side agreed to no reads, in words");
	fake.read_depth = 16;
	fake.post_ret = 0;

	rpma_peer_cfg_delete(&cfg);
	rpma_conn_delete(&c);
	rpma_mr_remote_delete(&both);
	rpma_mr_remote_delete(&p);
	rpma_mr_remote_delete(&v);
	rpma_mr_remote_delete(&none);
}

#define NOT_ASKED ((enum rpma_flush_method)99)

static struct rpma_peer *make_peer_with(const char *word)
{
	struct rpma_peer *peer;

	setenv("RPMA_FLUSH_METHOD", word, 1);
	peer = make_peer();
	unsetenv("RPMA_FLUSH_METHOD");
	fake.flush_method = NOT_ASKED;
	return peer;
}

static void flush_method_read(void)
{
	struct rpma_peer *peer = make_peer_with("read");
	struct rpma_conn_req *req;
	struct rpma_ep *ep;

	ok(!rpma_conn_req_new(peer, "127.0.0.1", "1", NULL, &req) &&
	   fake.flush_method == RPMA_FLUSH_METHOD_READ, "flush method: read, connecting");
	rpma_conn_req_delete(&req);
	rpma_ep_listen(peer, "127.0.0.1", "1", &ep);
	fake.flush_method = NOT_ASKED;
	ok(!rpma_ep_next_conn_req(ep, NULL, &req) && fake.flush_method == RPMA_FLUSH_METHOD_READ,
	   "flush method: read, accepting");
	rpma_conn_req_delete(&req);
	rpma_ep_shutdown(&ep);
	rpma_peer_delete(&peer);
}

static void flush_method_native(void)
{
	struct rpma_peer *peer = make_peer_with("native");
	struct rpma_conn_req *req = NULL;
	struct rpma_ep *ep;
	int fds;

	rpma_ep_listen(peer, "127.0.0.1", "1", &ep);
	fds = fake.fds;
	fake.flush_method_ret = -EOPNOTSUPP;
	ok(rpma_conn_req_new(peer, "127.0.0.1", "1", NULL, &req) == RPMA_E_NOSUPP &&
	   errno == EOPNOTSUPP && fake.flush_method == RPMA_FLUSH_METHOD_NATIVE && !req &&
	   strstr(logged, "RPMA_FLUSH_METHOD=native") && strstr(logged, "set auto"),
	   "flush method: native cannot be, connecting, and what to do");
	fake.flush_method = NOT_ASKED;
	logged[0] = '\0';
	ok(rpma_ep_next_conn_req(ep, NULL, &req) == RPMA_E_NOSUPP && errno == EOPNOTSUPP &&
	   fake.flush_method == RPMA_FLUSH_METHOD_NATIVE && !req &&
	   strstr(logged, "RPMA_FLUSH_METHOD=native"), "flush method: native cannot be, accepting");
	ok(fake.fds == fds, "flush method: nothing left behind");
	fake.flush_method_ret = 0;
	ok(!rpma_conn_req_new(peer, "127.0.0.1", "1", NULL, &req),
	   "flush method: native on a kernel that can");
	rpma_conn_req_delete(&req);
	rpma_ep_shutdown(&ep);
	rpma_peer_delete(&peer);
}

static void flush_method_auto(const char *word)
{
	struct rpma_peer *peer = make_peer_with(word);
	struct rpma_conn_req *req;

	ok(!rpma_conn_req_new(peer, "127.0.0.1", "1", NULL, &req) &&
	   fake.flush_method == NOT_ASKED, "flush method: \"%s\" is left to the kernel", word);
	rpma_conn_req_delete(&req);
	rpma_peer_delete(&peer);
}

/* ---- what a connection says of its method ---------------------------------- */

static char method_logged[LOGGED_SIZE];
static enum rpma_log_level method_level;
static int method_lines;

static void keep_method(enum rpma_log_level level, const char *file_name, const int line_no,
			const char *function_name, const char *message_format, ...)
{
	char message[LOGGED_SIZE];
	va_list args;

	(void)file_name;
	(void)line_no;
	(void)function_name;
	va_start(args, message_format);
	vsnprintf(message, sizeof(message), message_format, args);
	va_end(args);
	if (!strstr(message, "flushes of this connection"))
		return;
	strcpy(method_logged, message);
	method_level = level;
	method_lines++;
}

static bool says(const char *word, enum rpma_flush_method method, uint32_t peer_flags,
		 const char *how, const char *why)
{
	struct rpma_peer *peer = make_peer_with(word);
	enum rpma_conn_event event;
	struct rpma_conn *conn;
	bool good;

	method_lines = 0;
	rpma_log_set_function(keep_method);
	fake.conn_method = method;
	fake.peer_flags = peer_flags;
	conn = make_conn(peer, NULL);
	good = !method_lines;
	fake.state = RPMA_CONN_STATE_ESTABLISHED;
	fake.event.type = RPMA_EVENT_ESTABLISHED;
	good = good && !rpma_conn_next_event(conn, &event) && method_lines == 1 &&
	       method_level == RPMA_LOG_LEVEL_NOTICE && strstr(method_logged, how) &&
	       strstr(method_logged, why);
	fake.state = RPMA_CONN_STATE_NEW;
	rpma_log_set_function(keep_log);
	rpma_conn_delete(&conn);
	rpma_peer_delete(&peer);
	return good;
}

static void flush_method_in_the_log(void)
{
	const enum rpma_flush_method native = RPMA_FLUSH_METHOD_NATIVE, by = RPMA_FLUSH_METHOD_READ;
	const uint32_t readable = RPMA_CONN_PEER_F_READABLE;

	ok(says("auto", native, readable, "as FLUSH, ", "driver carries"),
	   "flush method: native, and why");
	ok(says("auto", by, readable, "as READ after WRITE, ", "carries no FLUSH") &&
	   !strstr(method_logged, "does not run rpma"), "flush method: READ, and why");
	ok(says("auto", by, 0, "as READ after WRITE, ", "does not run rpma"),
	   "flush method: READ, of one that may refuse it");
	ok(says("read", by, readable, "as READ after WRITE, ", "RPMA_FLUSH_METHOD"),
	   "flush method: READ, by the environment");
	ok(says("native", native, 0, "as FLUSH, ", "RPMA_FLUSH_METHOD"),
	   "flush method: native, by the environment");
}

void test_flush_method(void)
{
	flush_method_in_the_log();
	flush_method_read();
	flush_method_native();
	flush_method_auto("auto");
	flush_method_auto("");
	logged[0] = '\0';
	rpma_log_set_threshold(RPMA_LOG_THRESHOLD, RPMA_LOG_LEVEL_ERROR);
	flush_method_auto("READ");
	ok(strstr(logged, "RPMA_FLUSH_METHOD=READ") && logged_level == RPMA_LOG_LEVEL_ERROR,
	   "flush method: an unknown word is an error in the log");
	logged[0] = '\0';
	flush_method_auto("nativ");
	ok(!logged[0], "flush method: once");
	rpma_log_set_threshold(RPMA_LOG_THRESHOLD, RPMA_LOG_LEVEL_DEBUG);
}
