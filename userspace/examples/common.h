/* SPDX-License-Identifier: BSD-3-Clause */
/* What all examples need: an exit with a reason, a device, events, completions. */
#ifndef EXAMPLES_COMMON_H
#define EXAMPLES_COMMON_H

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <librpma.h>

enum { EXIT_USAGE = 2 };

__attribute__((noreturn, format(printf, 1, 2)))
static inline void die(const char *fmt, ...)
{
	va_list args;

	fflush(stdout);
	va_start(args, fmt);
	vfprintf(stderr, fmt, args);
	va_end(args);
	fputc('\n', stderr);
	exit(EXIT_FAILURE);
}

/* @args: what the program wants to be called with. */
__attribute__((noreturn))
static inline void die_usage(const char *name, const char *args)
{
	fprintf(stderr, "usage: %s %s\n", name, args);
	exit(EXIT_USAGE);
}

/* Ends the program if a librpma function failed. */
static inline void check(int ret, const char *what)
{
	int err = errno;

	if (!ret)
		return;
	if (ret == RPMA_E_PROVIDER && err)
		die("%s: %s: %s", what, rpma_err_2str(ret), strerror(err));
	die("%s: %s", what, rpma_err_2str(ret));
}

/* Errors of the library in words, on stderr. */
static inline void show_errors(void)
{
	rpma_log_set_threshold(RPMA_LOG_THRESHOLD_AUX, RPMA_LOG_LEVEL_WARNING);
}

/* A server says that clients may come. */
static inline void say_ready(const char *addr, const char *port)
{
	printf("ready at %s port %s\n", addr, port);
	fflush(stdout);
}

/* The peer on the device that has the local, or reaches the remote, address. */
static inline struct rpma_peer *open_peer(const char *addr, enum rpma_util_ibv_context_type type)
{
	struct ibv_context *ctx;
	struct rpma_peer *peer;

	check(rpma_utils_get_ibv_context(addr, type, &ctx), "finding the RDMA device");
	check(rpma_peer_new(ctx, &peer), "opening the RDMA device");
	return peer;
}

/* ---- connections ------------------------------------------------------------- */

static inline void expect_event(struct rpma_conn *conn, enum rpma_conn_event wanted)
{
	enum rpma_conn_event event;

	check(rpma_conn_next_event(conn, &event), "waiting for a connection event");
	if (event != wanted)
		die("%s", rpma_utils_conn_event_2str(event));
}

/* Ends our side of a connection and waits for the other. */
static inline void hang_up(struct rpma_conn *conn)
{
	check(rpma_conn_disconnect(conn), "disconnecting");
	expect_event(conn, RPMA_CONN_CLOSED);
	check(rpma_conn_delete(&conn), "ending the connection");
}

/* Waits until the other side hangs up, and ends ours. */
static inline void wait_for_hang_up(struct rpma_conn *conn)
{
	expect_event(conn, RPMA_CONN_CLOSED);
	check(rpma_conn_disconnect(conn), "disconnecting");
	check(rpma_conn_delete(&conn), "ending the connection");
}

/* ---- completions ------------------------------------------------------------- */

/* The examples post each request with its name, a string, as the context. */
static inline void check_completion(const struct ibv_wc *wc)
{
	const char *name = (const char *)(uintptr_t)wc->wr_id;

	switch (wc->status) {
	case IBV_WC_SUCCESS:
		return;
	case IBV_WC_REM_ACCESS_ERR:
		die("the %s failed: the other side does not let its memory be used so", name);
	case IBV_WC_RETRY_EXC_ERR:
		die("the %s failed: the other machine does not answer", name);
	case IBV_WC_RNR_RETRY_EXC_ERR:
		die("the %s failed: the other side has posted no receive for it", name);
	case IBV_WC_WR_FLUSH_ERR:
		die("the %s was given up: the connection has ended", name);
	default:
		die("the %s failed with status %d of enum ibv_wc_status", name, wc->status);
	}
}

/* Waits for a completion of a success; ends the program if it is a failure's. */
static inline struct ibv_wc next_completion(struct rpma_cq *cq)
{
	struct ibv_wc wc;
	int ret;

	/* A wait may end with nothing to fetch: what came was fetched before. */
	while ((ret = rpma_cq_get_wc(cq, 1, &wc, NULL)) == RPMA_E_NO_COMPLETION) {
		ret = rpma_cq_wait(cq);
		if (ret != RPMA_E_NO_COMPLETION)
			check(ret, "waiting for a completion");
	}
	check(ret, "fetching a completion");
	check_completion(&wc);
	return wc;
}

#endif /* EXAMPLES_COMMON_H */
