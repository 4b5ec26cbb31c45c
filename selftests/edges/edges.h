/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A recorder of edge cases: one line for each call, the same program for every
 * librpma. Written against <librpma.h> and nothing of ours.
 *
 * A scene is a function that runs in a child. Each case in it begins with
 * edge() and ends with outcome(), which prints the line. A child that dies in
 * between is a line too, CRASH or HANG, and the next child goes on behind it.
 */
#ifndef _EDGES_H
#define _EDGES_H

#include <errno.h>
#include <librpma.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define BUF_SIZE ((size_t)2 << 20)
#define DESC_SIZE 21

#define V RPMA_MR_USAGE_FLUSH_TYPE_VISIBILITY
#define P RPMA_MR_USAGE_FLUSH_TYPE_PERSISTENT
#define VISIBILITY RPMA_FLUSH_TYPE_VISIBILITY
#define PERSISTENT RPMA_FLUSH_TYPE_PERSISTENT
#define ALWAYS RPMA_F_COMPLETION_ALWAYS
#define ON_ERROR RPMA_F_COMPLETION_ON_ERROR

/* All that DRAM can be registered for on every device. */
#define USAGE_MOST (RPMA_MR_USAGE_READ_SRC | RPMA_MR_USAGE_READ_DST | RPMA_MR_USAGE_WRITE_SRC | \
		    RPMA_MR_USAGE_WRITE_DST | RPMA_MR_USAGE_SEND | RPMA_MR_USAGE_RECV | V)

#define CONTEXT(n) ((const void *)(uintptr_t)(n))
#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

/* What a pointer holds before a call that may set it. */
#define POISON ((void *)0x5ca1ab1eUL)

/* One end of a connection: its memory, and how it sees the other end's. */
struct side {
	struct rpma_conn *conn;
	struct rpma_cq *cq;
	uint8_t *buf;
	struct rpma_mr_local *mr;
	struct rpma_mr_remote *remote;
};

struct world {
	struct ibv_context *context;
	struct rpma_peer *peer;
	struct rpma_ep *ep;
	struct side c;
	struct side s;
};

struct scene {
	const char *name;
	void (*run)(struct world *w);
	void (*setup)(struct world *w);
	bool apart;		/* a child and a world for each case */
	bool slow;		/* runs beside the others from the beginning */
};

/* ---- cases (edges.c) ---- */

/* Begins a case; false: it was done before. */
bool edge(const char *function, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Ends it: the result of the call, and what else there is to see or NULL. */
void outcome(int ret, const char *format, ...) __attribute__((format(printf, 2, 3)));

extern int edge_errno;

/* The value of a call whose errno may be looked at. */
#define got(call)				\
	({					\
		int __ret;			\
		errno = 0;			\
		__ret = (call);			\
		edge_errno = errno;		\
		__ret;				\
	})

/* A case that is nothing but a call. */
#define TRY(function, name, ...)					\
	do {								\
		if (edge(#function, "%s", name))			\
			outcome(got(function(__VA_ARGS__)), NULL);	\
	} while (0)

/* What a case stands on. */
#define must(call)							\
	do {								\
		int __must = (call);					\
		if (__must)						\
			broken(__FILE__, __LINE__, #call, __must);	\
	} while (0)

void broken(const char *file, int line, const char *what, int ret) __attribute__((noreturn));

const char *error_name(int ret);
const char *event_name(int event);

/* "NULL", "kept" (POISON) or "set". */
const char *state_of(const void *ptr);

/* ---- worlds (world.c) ---- */

void world_peer(struct world *w);	/* a peer and two regions */
void world_listening(struct world *w);	/* and an endpoint */
void world_connected(struct world *w);	/* and a connection */

const char *address(void);
const char *port(void);

void world_connect(struct world *w, const struct rpma_conn_cfg *cfg);
void world_disconnect(struct world *w);

/* A request of the client's that has arrived; the client's conn is made. */
struct rpma_conn_req *world_knock(struct world *w, const struct rpma_conn_cfg *cfg);

struct rpma_mr_local *region(struct world *w, void *ptr, size_t size, int usage);

/* As the other side sees it; with @usage, if not -1, in place of its own. */
struct rpma_mr_remote *remote_of(const struct rpma_mr_local *mr, int usage);

struct rpma_conn_cfg *cfg_with(uint32_t sq, uint32_t rq, uint32_t cq, uint32_t rcq);

void apply_direct_write(struct rpma_conn *conn, bool direct);
int next_event(struct rpma_conn *conn);

/* The next event if it comes in time, else "nothing". */
const char *event_within(struct rpma_conn *conn, int timeout_ms);
int readable(int fd, int timeout_ms);
void nonblock(int fd);

/* The next completion; waits for it as long as a case may take. */
struct ibv_wc reap(struct rpma_cq *cq);

/* "SUCCESS RDMA_READ len=8 wr=1" and so on; a static buffer, four deep. */
const char *wc_text(const struct rpma_conn *conn, const struct ibv_wc *wc);

/* The text of the completion if @ret says that there will be one; it may not. */
const char *completion(struct rpma_conn *conn, struct rpma_cq *cq, int ret);

/* The same where the opcode depends on how the library does it. */
const char *completion_but_opcode(struct rpma_conn *conn, struct rpma_cq *cq, int ret);

/* Whether the client can still write and flush: "alive" or "dead". */
const char *alive(struct world *w);

/* ---- nouns ---- */

extern const struct scene scenes_words[], scenes_peer[], scenes_peer_cfg[], scenes_mr[],
	scenes_remote[], scenes_conn_cfg[], scenes_conn_req[], scenes_ep[], scenes_conn[],
	scenes_events[], scenes_cq[], scenes_flush[], scenes_io[], scenes_access[],
	scenes_message[], scenes_queues[], scenes_srq[];

#endif /* _EDGES_H */
