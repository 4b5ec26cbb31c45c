/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Two processes that talk by <librpma.h> alone, each on a library of its own:
 * one binary, run with ours or with librpma 1.3.0. A scenario has a function
 * for each side; a TCP connection beside the RDMA one keeps them in step and
 * carries what they have to tell each other about the test.
 */
#ifndef _INTEROP_H
#define _INTEROP_H

#include <arpa/inet.h>
#include <endian.h>
#include <errno.h>
#include <librpma.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define DESC_SIZE 21

/* How a request and a reply travel: padded with zeros to all the wire has room for. */
#define REQUEST_DATA 56
#define REPLY_DATA 196

#define ALWAYS RPMA_F_COMPLETION_ALWAYS
#define ON_ERROR RPMA_F_COMPLETION_ON_ERROR

/* Far from 0, so that an index of a request is not taken for its context. */
#define CONTEXT(n) ((const void *)(uintptr_t)(0xc0de0000u + (n)))

struct memory {
	char *ptr;
	size_t size;
	struct rpma_mr_local *mr;
};

/* One connection. */
struct line {
	struct rpma_conn *conn;
	struct rpma_cq *cq;
	struct rpma_cq *rcq;
	uint32_t qp_num;
};

enum kind {
	OURS,
	REAL,
	BY_READ,	/* ours, vouching for memory that its device does not take for persistent */
	NO_FLUSH,	/* real, registering as for an adapter without FLUSH */
	NR_KINDS,
};

struct side {
	bool server;
	bool ours;
	bool peer_ours;
	enum kind kind;
	enum kind peer_kind;
	const char *rxe;	/* "stock" or "patched": what each machine has, */
	const char *peer_rxe;	/* if the scenarios are those of methods.c */
	const struct scenario *scenario;	/* that runs */
	const char *why;	/* it is to end so, if it says */
	bool doomed;		/* a client that will be killed, not the one that reports */
	volatile bool killed;	/* the other side is expected to vanish */
	const char *addr;
	const char *dead_addr;	/* where nobody answers */
	char port[16];
	char closed_port[16];	/* where nobody listens */
	long dax_offset;	/* this side's part of /dev/dax0.0 */
	struct rpma_peer *peer;
	struct rpma_ep *ep;
};

struct scenario {
	const char *name;
	void (*run)(struct side *s);
	unsigned int flags;
};

#define NEEDS_DAX 1	/* on the server's machine */
#define DEAD_ADDR 2	/* with -u, and only when asked for by name */
#define METHODS 4	/* with -r, all of them, and none without */

extern const struct scenario msg_scenarios[], data_scenarios[], flush_scenarios[],
	life_scenarios[], methods_scenarios[];

/* life.c: the whole life of a process that client_killed starts. */
__attribute__((noreturn)) void be_doomed(struct side *s);

/* ---- ctl.c: verdicts, and the line between the two processes ---- */

__attribute__((noreturn, format(printf, 3, 4)))
void die(const char *file, int line, const char *format, ...);

void put(const void *data, size_t size);
void get(void *data, size_t size);
/* Both sides come here, and know that the other did. */
void sync_here(void);
#define SYNC() do { progress = __LINE__; sync_here(); } while (0)

/* The library's last error or warning, since this was last asked; else "". */
const char *last_error(void);

/* Where the scenario is, for when it hangs. */
extern int progress;

#define OK(call)							\
	do {								\
		int __ret;						\
									\
		progress = __LINE__;					\
		__ret = (call);						\
		if (__ret)						\
			die(__FILE__, __LINE__, "%s: %s, errno %d (%s)", #call, \
			    rpma_err_2str(__ret), errno, strerror(errno)); \
	} while (0)

#define IS(want, got)							\
	do {								\
		long long __want = (long long)(want), __got = (long long)(got); \
		if (__want != __got)					\
			die(__FILE__, __LINE__, "%s is %lld, not %s (%lld)", #got, \
			    __got, #want, __want);			\
	} while (0)

#define TRUE(condition)							\
	do {								\
		if (!(condition))					\
			die(__FILE__, __LINE__, "not true: %s", #condition); \
	} while (0)

#define SAME(want, got, size) same_bytes(__FILE__, __LINE__, #got, want, got, size)
void same_bytes(const char *file, int line, const char *what, const void *want,
		const void *got, size_t size);

/* ---- flush.c ---- */

/* Persistent memory of the server, zeroed as far as @used. */
struct memory dax_new(struct side *s, size_t used);

/* The server's word that its adapter writes past the caches, or that it does not. */
void exchange_peer_cfg(struct side *s, struct rpma_conn *conn, bool direct);

/* ---- verbs.c ---- */

/* From now on the library registers regions as on an adapter without FLUSH. */
void hide_flush(void);

/* ---- side.c: memory, connections, completions ---- */

struct rpma_peer *new_peer(const struct side *s);

struct memory memory_new(struct rpma_peer *peer, size_t size, int usage);
void memory_free(struct memory *m);
void fill(void *ptr, size_t size, unsigned int seed);

/* Tells the other side of a region, and hears of it. */
void offer(const struct memory *m);
struct rpma_mr_remote *take_offer(void);

struct rpma_conn_cfg *new_cfg(void);

/*
 * A request on either side, and the connection that it becomes, established.
 * The client's is on its way only when it is answered.
 */
struct rpma_conn_req *request(struct side *s, const struct rpma_conn_cfg *cfg);
void establish(struct rpma_conn_req *req, const struct rpma_conn_private_data *pdata,
	       struct line *l);
void connect_line(struct side *s, const struct rpma_conn_cfg *cfg, struct line *l);
void adopt(struct rpma_conn *conn, struct line *l);
void event_is(struct rpma_conn *conn, enum rpma_conn_event want);

/* Waits until both are here, then lets the client or the server disconnect. */
void disconnect_line(const struct side *s, bool by_server, struct line *l);
void close_line(const struct side *s, struct line *l);

/* The next completion, which must be this one. */
struct ibv_wc reap(struct rpma_cq *cq);
void check_wc(const char *file, int line, const struct ibv_wc *wc, const struct line *l,
	      const void *context, enum ibv_wc_status status, unsigned int opcode);
#define EXPECT_ERROR(l, cq, context, status)				\
	do {								\
		struct ibv_wc __wc = reap(cq);				\
		check_wc(__FILE__, __LINE__, &__wc, l, context, status, 0); \
	} while (0)
#define EXPECT_WC(l, cq, context, opcode)				\
	({								\
		struct ibv_wc __wc = reap(cq);				\
		check_wc(__FILE__, __LINE__, &__wc, l, context, IBV_WC_SUCCESS, opcode); \
		__wc;							\
	})
void no_more(struct rpma_cq *cq);

#endif /* _INTEROP_H */
