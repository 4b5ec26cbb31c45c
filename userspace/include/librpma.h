/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * librpma.h - remote (persistent) memory access over RDMA.
 *
 * The programming interface of librpma 1.3.0, served by /dev/rpma. Programs
 * written for librpma compile against this header and run unchanged.
 *
 * Every function that returns int returns 0 or one of RPMA_E_*; the comments
 * name them without that prefix. After a failure:
 *
 * - PROVIDER: errno says what the kernel said. With other errors errno means
 *   something only where the comment says so.
 * - What the function stores is untouched, and so are the objects it was given,
 *   unless the comment says otherwise.
 * - What it began to make is undone: no descriptor and no memory stays behind.
 *
 * Functions that make an object store it in the last argument; the caller owns
 * it. Functions that end an object take the address of the pointer, set it to
 * NULL, and do nothing when it is NULL already.
 *
 * Threads: every function may be called by any number of threads at a time, on
 * the same objects too. Only ending an object that another thread still uses is
 * a mistake. Comments say more where calls share something.
 */
#ifndef LIBRPMA_H
#define LIBRPMA_H 1

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <infiniband/verbs.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- errors -------------------------------------------------------------- */

#define RPMA_E_UNKNOWN		(-100000) /* nothing else fits */
#define RPMA_E_NOSUPP		(-100001) /* not supported here */
#define RPMA_E_PROVIDER		(-100002) /* the kernel refused: see errno */
#define RPMA_E_NOMEM		(-100003) /* out of memory */
#define RPMA_E_INVAL		(-100004) /* an argument has no meaning */
#define RPMA_E_NO_COMPLETION	(-100005) /* no completion to fetch now */
#define RPMA_E_NO_EVENT		(-100006) /* no event to fetch now */
#define RPMA_E_AGAIN		(-100007) /* try once more */
#define RPMA_E_SHARED_CHANNEL	(-100008) /* the queue's channel is shared */
#define RPMA_E_NOT_SHARED_CHNL	(-100009) /* the channel is not shared */

/* Names an RPMA_E_* value (or 0) in English. Never NULL, never freed. */
const char *rpma_err_2str(int ret);

/* ---- device -------------------------------------------------------------- */

/* For rpma_conn_wait(). */
#define RPMA_W_WAIT_FOR_COMPLETION (1)

/* How long an address is looked for unless a configuration says otherwise. */
#define RPMA_DEFAULT_TIMEOUT_MS 1000

/* Whose address rpma_utils_get_ibv_context() is given. */
enum rpma_util_ibv_context_type {
	RPMA_UTIL_IBV_CONTEXT_LOCAL,	/* one of this machine's addresses */
	RPMA_UTIL_IBV_CONTEXT_REMOTE	/* an address reached through the device */
};

/*
 * Finds the RDMA device behind an IPv4 or IPv6 address or host name. The
 * context is a token for rpma_peer_new(): it belongs to the library, stays
 * valid until the process ends and is no good for ibv_*() functions; the same
 * device gives the same one. INVAL: NULL argument, unknown type. NOMEM.
 * PROVIDER: no such device, no such name, or /dev/rpma cannot be opened; the
 * log says what to do.
 */
int rpma_utils_get_ibv_context(const char *addr, enum rpma_util_ibv_context_type type,
			       struct ibv_context **ibv_ctx_ptr);

/*
 * Stores 0: nothing is registered without being pinned, whatever the device
 * could do. INVAL: NULL argument.
 */
int rpma_utils_ibv_context_is_odp_capable(struct ibv_context *ibv_ctx, int *is_odp_capable);

/* ---- peer configuration: what this machine promises to others ------------ */

struct rpma_peer_cfg;

/* Makes a configuration without direct write. INVAL: NULL. NOMEM. */
int rpma_peer_cfg_new(struct rpma_peer_cfg **pcfg_ptr);

/*
 * Frees a configuration; connections it was applied to keep what it said.
 * INVAL: NULL address.
 */
int rpma_peer_cfg_delete(struct rpma_peer_cfg **pcfg_ptr);

/*
 * Declares that this machine's adapter writes to persistent memory past the
 * processor's caches, so that remote flushes may be PERSISTENT. INVAL: NULL.
 */
int rpma_peer_cfg_set_direct_write_to_pmem(struct rpma_peer_cfg *pcfg, bool supported);

/* Asks for that declaration. INVAL: NULL argument. */
int rpma_peer_cfg_get_direct_write_to_pmem(const struct rpma_peer_cfg *pcfg, bool *supported);

/*
 * Writes the form of a configuration that is sent to another machine; @desc
 * has room for rpma_peer_cfg_get_descriptor_size() bytes. INVAL: NULL argument.
 */
int rpma_peer_cfg_get_descriptor(const struct rpma_peer_cfg *pcfg, void *desc);

/* Stores the size of that form in bytes. INVAL: NULL argument. */
int rpma_peer_cfg_get_descriptor_size(const struct rpma_peer_cfg *pcfg, size_t *desc_size);

/*
 * Makes a configuration from bytes received; bytes behind the first are
 * ignored. Whoever can change them on their way decides how durable writes
 * are. INVAL: NULL, no bytes. NOMEM.
 */
int rpma_peer_cfg_from_descriptor(const void *desc, size_t desc_size,
				  struct rpma_peer_cfg **pcfg_ptr);

/* ---- peer: an RDMA device in use ----------------------------------------- */

struct rpma_peer;

/*
 * Opens the device of a context. RPMA_PERSISTENT_BY_READ, RPMA_FLUSH_METHOD
 * and RPMA_PEER_TIMEOUT_MS in the environment are read now and hold for the
 * peer's regions and connections, see librpma(7). INVAL: NULL, or not a context of
 * rpma_utils_get_ibv_context(). NOMEM. PROVIDER: the device is gone, its
 * driver untried, or a limit is reached.
 */
int rpma_peer_new(struct ibv_context *ibv_ctx, struct rpma_peer **peer_ptr);

/*
 * Ends a peer. Its regions, shared receive queues, connections, requests and
 * endpoints go first: else PROVIDER with errno EBUSY, and the peer stays, as
 * librpma's manual has it (librpma itself loses it). INVAL: NULL address.
 */
int rpma_peer_delete(struct rpma_peer **peer_ptr);

/* ---- memory regions ------------------------------------------------------ */

struct rpma_mr_local;
struct rpma_mr_remote;

/* What a region is for; any combination. */
#define RPMA_MR_USAGE_READ_SRC			(1 << 0) /* others read from it */
#define RPMA_MR_USAGE_READ_DST			(1 << 1) /* our reads arrive in it */
#define RPMA_MR_USAGE_WRITE_SRC			(1 << 2) /* our writes come from it */
#define RPMA_MR_USAGE_WRITE_DST			(1 << 3) /* others write to it */
#define RPMA_MR_USAGE_FLUSH_TYPE_VISIBILITY	(1 << 4) /* others flush it to visibility */
#define RPMA_MR_USAGE_FLUSH_TYPE_PERSISTENT	(1 << 5) /* others flush it to durability */
#define RPMA_MR_USAGE_SEND			(1 << 6) /* our messages come from it */
#define RPMA_MR_USAGE_RECV			(1 << 7) /* messages arrive in it */

/*
 * Registers @size bytes at @ptr (any alignment). They are pinned, and must
 * stay mapped, until rpma_mr_dereg(). INVAL: NULL, size 0, usage 0 or
 * unknown. NOMEM. PROVIDER: see errno; ENOMEM is the limit of locked memory
 * (ulimit -l), EOPNOTSUPP says that this memory cannot be registered for this
 * usage, EFAULT that it is not mapped or not writable.
 */
int rpma_mr_reg(struct rpma_peer *peer, void *ptr, size_t size, int usage,
		struct rpma_mr_local **mr_ptr);

/*
 * Deregisters a region. Remote access ends when the call returns; requests
 * that still use the region fail. A device that is gone is no error. INVAL:
 * NULL address. PROVIDER: it is still registered and stays.
 */
int rpma_mr_dereg(struct rpma_mr_local **mr_ptr);

/*
 * Writes the form of a region that is sent to another machine; @desc has room
 * for rpma_mr_get_descriptor_size() bytes. INVAL: NULL argument.
 */
int rpma_mr_get_descriptor(const struct rpma_mr_local *mr, void *desc);

/* Stores the size of that form in bytes. INVAL: NULL argument. */
int rpma_mr_get_descriptor_size(const struct rpma_mr_local *mr, size_t *desc_size);

/* Stores the start of a local region. INVAL: NULL argument. */
int rpma_mr_get_ptr(const struct rpma_mr_local *mr, void **ptr);

/* Stores the bytes of a local region. INVAL: NULL argument. */
int rpma_mr_get_size(const struct rpma_mr_local *mr, size_t *size);

/*
 * Makes a remote region from bytes received; bytes behind the description are
 * ignored. Whoever can change them on their way decides where writes land.
 * INVAL: NULL, too few bytes, no usage. NOSUPP: the region would reach past the
 * end of the address space, which librpma finds out from a lost connection.
 * NOMEM.
 */
int rpma_mr_remote_from_descriptor(const void *desc, size_t desc_size,
				   struct rpma_mr_remote **mr_ptr);

/* Stores the bytes of a remote region. INVAL: NULL argument. */
int rpma_mr_remote_get_size(const struct rpma_mr_remote *mr, size_t *size);

/* Stores the RPMA_MR_USAGE_FLUSH_TYPE_* bits of a remote region. INVAL: NULL. */
int rpma_mr_remote_get_flush_type(const struct rpma_mr_remote *mr, int *flush_type);

/*
 * Frees a remote region; the other machine is not told, requests in flight are
 * not touched. INVAL: NULL address.
 */
int rpma_mr_remote_delete(struct rpma_mr_remote **mr_ptr);

/*
 * Advises how part of a region will be used, see ibv_advise_mr(3). There is no
 * paging on demand that could take advice, so this never succeeds. INVAL: NULL,
 * a range outside the region, unknown flags, or writing advised of a region
 * that is only read. NOSUPP, with errno EOPNOTSUPP: all else.
 */
int rpma_mr_advise(struct rpma_mr_local *mr, size_t offset, size_t len, int advice,
		   uint32_t flags);

/* ---- connection configuration -------------------------------------------- */

/*
 * Configurations take any size. What cannot be had is PROVIDER, with errno
 * EINVAL, where a connection is made: 0 completions in the main queue, or more
 * than the device or the module's limits allow. A queue is as large as asked
 * for, and larger if else a completion could be lost.
 */

struct rpma_conn_cfg;
struct rpma_srq;

/*
 * Makes a configuration with the defaults: 1000 ms, send, receive and
 * completion queue of 10 entries, no receive completion queue, nothing
 * shared. INVAL: NULL. NOMEM.
 */
int rpma_conn_cfg_new(struct rpma_conn_cfg **cfg_ptr);

/* Frees a configuration; connections made with it keep theirs. INVAL: NULL. */
int rpma_conn_cfg_delete(struct rpma_conn_cfg **cfg_ptr);

/*
 * How long to look for the other machine; 0 is no time at all, so that
 * rpma_conn_req_new() fails. INVAL: NULL, less than 0.
 */
int rpma_conn_cfg_set_timeout(struct rpma_conn_cfg *cfg, int timeout_ms);

/* INVAL: NULL argument. */
int rpma_conn_cfg_get_timeout(const struct rpma_conn_cfg *cfg, int *timeout_ms);

/* Completions that the main completion queue holds, at least 1. INVAL: NULL. */
int rpma_conn_cfg_set_cq_size(struct rpma_conn_cfg *cfg, uint32_t cq_size);

/* INVAL: NULL argument. */
int rpma_conn_cfg_get_cq_size(const struct rpma_conn_cfg *cfg, uint32_t *cq_size);

/*
 * Completions that the receive completion queue holds; 0: there is none and
 * the main queue reports receives too. INVAL: NULL.
 */
int rpma_conn_cfg_set_rcq_size(struct rpma_conn_cfg *cfg, uint32_t rcq_size);

/* INVAL: NULL argument. */
int rpma_conn_cfg_get_rcq_size(const struct rpma_conn_cfg *cfg, uint32_t *rcq_size);

/*
 * Writes, reads, flushes and sends in flight at a time; 0 is taken for 1.
 * INVAL: NULL.
 */
int rpma_conn_cfg_set_sq_size(struct rpma_conn_cfg *cfg, uint32_t sq_size);

/* INVAL: NULL argument. */
int rpma_conn_cfg_get_sq_size(const struct rpma_conn_cfg *cfg, uint32_t *sq_size);

/*
 * Receives in flight at a time; means nothing with a shared receive queue.
 * INVAL: NULL.
 */
int rpma_conn_cfg_set_rq_size(struct rpma_conn_cfg *cfg, uint32_t rq_size);

/* INVAL: NULL argument. */
int rpma_conn_cfg_get_rq_size(const struct rpma_conn_cfg *cfg, uint32_t *rq_size);

/*
 * Whether both completion queues share one channel, see rpma_conn_wait(). Not
 * together with a shared receive queue that has its own completion queue:
 * INVAL where the connection is made. INVAL here: NULL.
 */
int rpma_conn_cfg_set_compl_channel(struct rpma_conn_cfg *cfg, bool shared);

/* INVAL: NULL argument. */
int rpma_conn_cfg_get_compl_channel(const struct rpma_conn_cfg *cfg, bool *shared);

/*
 * A receive queue shared with other connections of the same peer. It must live
 * as long as connections are made with this configuration, which holds a bare
 * pointer. There is no way back to none. INVAL: NULL argument.
 */
int rpma_conn_cfg_set_srq(struct rpma_conn_cfg *cfg, struct rpma_srq *srq);

/* Stores the shared receive queue; NULL: none. INVAL: NULL argument. */
int rpma_conn_cfg_get_srq(const struct rpma_conn_cfg *cfg, struct rpma_srq **srq_ptr);

/* ---- connection ---------------------------------------------------------- */

struct rpma_conn;
struct rpma_cq;

/* What became of a connection. */
enum rpma_conn_event {
	RPMA_CONN_UNDEFINED = -1,	/* nothing known */
	RPMA_CONN_ESTABLISHED,		/* requests may be posted */
	RPMA_CONN_CLOSED,		/* one side disconnected */
	RPMA_CONN_LOST,			/* device, route or other side is gone */
	RPMA_CONN_REJECTED,		/* the other side said no */
	RPMA_CONN_UNREACHABLE		/* the other side does not answer */
};

/* Names an event in English. Never NULL, never freed. */
const char *rpma_utils_conn_event_2str(enum rpma_conn_event conn_event);

/* A few bytes that travel with the handshake: not secret, not authentic. */
struct rpma_conn_private_data {
	void *ptr;
	uint8_t len;
};

/*
 * Stores the descriptor that is readable while an event waits. The connection
 * owns it; made O_NONBLOCK, rpma_conn_next_event() does not wait. INVAL:
 * NULL argument.
 */
int rpma_conn_get_event_fd(const struct rpma_conn *conn, int *fd);

/*
 * Waits for the next event; of several threads one gets it. INVAL: NULL
 * argument. NO_EVENT: none now and the descriptor is O_NONBLOCK (errno EAGAIN),
 * or none will ever come (ENODATA), where librpma waits for ever. UNKNOWN: an
 * event without a name here. PROVIDER: a signal came (EINTR).
 */
int rpma_conn_next_event(struct rpma_conn *conn, enum rpma_conn_event *event);

/*
 * Stores what the other side sent with its request or answer; NULL and 0 if
 * nothing, or nothing yet: the answer comes with RPMA_CONN_ESTABLISHED. The
 * bytes live as long as the connection. The wire pads with zeros: 56 bytes come
 * with a request, 196 with an answer. INVAL: NULL argument.
 */
int rpma_conn_get_private_data(const struct rpma_conn *conn,
			       struct rpma_conn_private_data *pdata);

/*
 * Tells a connection what the other machine promised, see
 * rpma_peer_cfg_from_descriptor(); the last word holds, for flushes posted
 * after it. INVAL: NULL argument. PROVIDER.
 */
int rpma_conn_apply_remote_peer_cfg(struct rpma_conn *conn, const struct rpma_peer_cfg *pcfg);

/* Stores the number that completions carry as qp_num. INVAL: NULL. */
int rpma_conn_get_qp_num(const struct rpma_conn *conn, uint32_t *qp_num);

/* Stores the main completion queue; the connection owns it. INVAL: NULL. */
int rpma_conn_get_cq(const struct rpma_conn *conn, struct rpma_cq **cq_ptr);

/*
 * Stores the receive completion queue; owned likewise. NULL: receives complete
 * in the main one, or in that of a shared receive queue. INVAL: NULL.
 */
int rpma_conn_get_rcq(const struct rpma_conn *conn, struct rpma_cq **rcq_ptr);

/*
 * Stores the descriptor of the channel that both completion queues share.
 * INVAL: NULL argument. NOT_SHARED_CHNL.
 */
int rpma_conn_get_compl_fd(const struct rpma_conn *conn, int *fd);

/*
 * Waits on the shared channel and stores the queue to fetch from, and whether
 * it is the receive one (@is_rcq may be NULL). When both have something, the
 * main one comes first, but not for ever. Of several threads one gets each
 * event. @flags mean nothing. INVAL: NULL. NOT_SHARED_CHNL. NO_COMPLETION: none
 * now and the descriptor is O_NONBLOCK (errno EAGAIN), or a signal came
 * (EINTR). UNKNOWN: never. PROVIDER: the device is gone; stores NULL in @cq.
 */
int rpma_conn_wait(struct rpma_conn *conn, int flags, struct rpma_cq **cq, bool *is_rcq);

/*
 * Disconnects once what was posted is done, or gives that up after a second;
 * RPMA_CONN_CLOSED follows on both sides. Also after RPMA_CONN_CLOSED, when
 * there is nothing left to do, and before RPMA_CONN_ESTABLISHED, where nothing
 * is done. INVAL: NULL. PROVIDER: a signal came first (errno EINTR).
 */
int rpma_conn_disconnect(struct rpma_conn *conn);

/*
 * Ends a connection in any state, and its completion queues; what they hold is
 * lost, and so is what is still in flight. INVAL: NULL address.
 */
int rpma_conn_delete(struct rpma_conn **conn_ptr);

/* ---- connection requests ------------------------------------------------- */

struct rpma_conn_req;

/*
 * Makes a request to connect to @addr (host name, IPv4, IPv6) and @port
 * (number or service name). @cfg NULL: the defaults. INVAL: another NULL, or a
 * shared channel and a shared receive queue with its own completion queue.
 * NOMEM. NOSUPP: RPMA_FLUSH_METHOD in the environment asks for what cannot be
 * had. PROVIDER: unknown, unreachable, or a queue size that cannot be had.
 */
int rpma_conn_req_new(struct rpma_peer *peer, const char *addr, const char *port,
		      const struct rpma_conn_cfg *cfg, struct rpma_conn_req **req_ptr);

/*
 * Ends a request; an incoming one is rejected, and if its sender is gone
 * already that is no error. INVAL: NULL address.
 */
int rpma_conn_req_delete(struct rpma_conn_req **req_ptr);

/*
 * Connects, or accepts an incoming request, and stores the connection; an
 * event tells how it went. @pdata may be NULL; at most 56 bytes connect and
 * 196 accept, more are PROVIDER with errno EINVAL. The request is gone and its
 * pointer NULL in every outcome, and after a failure an incoming one was
 * rejected. INVAL: no request, no @conn_ptr, or no bytes in @pdata. NOMEM.
 * PROVIDER.
 */
int rpma_conn_req_connect(struct rpma_conn_req **req_ptr,
			  const struct rpma_conn_private_data *pdata,
			  struct rpma_conn **conn_ptr);

/*
 * As rpma_recv(), before the connection is established; @dst must be given.
 * INVAL: NULL, a range outside its region. PROVIDER.
 */
int rpma_conn_req_recv(struct rpma_conn_req *req, struct rpma_mr_local *dst, size_t offset,
		       size_t len, const void *op_context);

/*
 * Stores what came with an incoming request; lives as long, and the connection
 * has it then. NULL and 0 if nothing, or the request is one's own. INVAL: NULL.
 */
int rpma_conn_req_get_private_data(const struct rpma_conn_req *req,
				   struct rpma_conn_private_data *pdata);

/* ---- endpoint: waiting for others to connect ----------------------------- */

struct rpma_ep;

/*
 * Listens on an address and port of this machine. INVAL: NULL argument.
 * NOMEM. PROVIDER: in use, or not ours; see errno.
 */
int rpma_ep_listen(struct rpma_peer *peer, const char *addr, const char *port,
		   struct rpma_ep **ep_ptr);

/*
 * Stops listening; connections made stay, requests not taken are rejected.
 * INVAL: NULL address.
 */
int rpma_ep_shutdown(struct rpma_ep **ep_ptr);

/*
 * Stores the descriptor that is readable while a request waits; the endpoint
 * owns it. INVAL: NULL argument.
 */
int rpma_ep_get_fd(const struct rpma_ep *ep, int *fd);

/*
 * Waits for a request to connect; of several threads one gets it. @cfg NULL:
 * the defaults. When its queues cannot be made, it waits on for a call with
 * another @cfg. INVAL: another NULL, or a @cfg that rpma_conn_req_new() would
 * not take either. NO_EVENT: none now and the descriptor is O_NONBLOCK (errno
 * EAGAIN). NOMEM. NOSUPP: as of rpma_conn_req_new(); it was rejected. PROVIDER.
 */
int rpma_ep_next_conn_req(struct rpma_ep *ep, const struct rpma_conn_cfg *cfg,
			  struct rpma_conn_req **req_ptr);

/* ---- shared receive queue ------------------------------------------------ */

struct rpma_srq_cfg;

/*
 * Makes a configuration. It says 20 receives and 20 completions, as librpma's
 * does; there is room for 100, as librpma's manual has it. INVAL: NULL. NOMEM.
 */
int rpma_srq_cfg_new(struct rpma_srq_cfg **cfg_ptr);

/* Frees a configuration; queues made with it keep theirs. INVAL: NULL address. */
int rpma_srq_cfg_delete(struct rpma_srq_cfg **cfg_ptr);

/*
 * Receives in flight at a time, at least 1; up to 100 cost nothing. INVAL:
 * NULL.
 */
int rpma_srq_cfg_set_rq_size(struct rpma_srq_cfg *cfg, uint32_t rq_size);

/* INVAL: NULL argument. */
int rpma_srq_cfg_get_rq_size(const struct rpma_srq_cfg *cfg, uint32_t *rq_size);

/* Completions its own queue holds; 0: each connection's queue. INVAL: NULL. */
int rpma_srq_cfg_set_rcq_size(struct rpma_srq_cfg *cfg, uint32_t rcq_size);

/* INVAL: NULL argument. */
int rpma_srq_cfg_get_rcq_size(const struct rpma_srq_cfg *cfg, uint32_t *rcq_size);

/*
 * Makes a shared receive queue. @cfg NULL: the defaults. INVAL: another NULL.
 * NOMEM. PROVIDER: a size that cannot be had (errno EINVAL), or a limit.
 */
int rpma_srq_new(struct rpma_peer *peer, struct rpma_srq_cfg *cfg, struct rpma_srq **srq_ptr);

/*
 * Ends a shared receive queue; receives that no message took are dropped. Its
 * pointer is NULL in every outcome. INVAL: NULL address. PROVIDER with errno
 * EBUSY: connections or requests use it. They may go on, and it ends with the
 * last of them, while librpma would lose it.
 */
int rpma_srq_delete(struct rpma_srq **srq_ptr);

/*
 * As rpma_recv(), for whichever connection a message arrives on; the qp_num of
 * the completion tells which. INVAL. PROVIDER; with errno EAGAIN the queue is
 * full until messages come.
 */
int rpma_srq_recv(struct rpma_srq *srq, struct rpma_mr_local *dst, size_t offset, size_t len,
		  const void *op_context);

/*
 * Stores the completion queue that all its receives complete in; the shared
 * queue owns it. NULL: they complete where those of each connection would.
 * INVAL: NULL.
 */
int rpma_srq_get_rcq(const struct rpma_srq *srq, struct rpma_cq **rcq_ptr);

/* ---- requests ------------------------------------------------------------ */

/*
 * @flags of a request: report its failure only, or its success too. A request
 * that is not reported keeps its place in the send queue until a later one
 * completes.
 *
 * Common to all requests: they are carried out in the order they were posted,
 * @op_context comes back as wr_id of struct ibv_wc, and a call that fails has
 * posted nothing and hurt nothing. A full send queue makes the caller wait as
 * long as room comes without his help. INVAL: NULL, no flags, a range outside
 * its region (librpma loses the connection). PROVIDER: not connected
 * (ENOTCONN), a region that is not for this (EACCES) or another peer's (EXDEV),
 * or the queues are full until completions are fetched (EAGAIN).
 */
#define RPMA_F_COMPLETION_ON_ERROR	(1 << 0)
#define RPMA_F_COMPLETION_ALWAYS	(1 << 1 | RPMA_F_COMPLETION_ON_ERROR)

/* Reads remote memory. Regions NULL and all numbers 0: reads nothing. */
int rpma_read(struct rpma_conn *conn, struct rpma_mr_local *dst, size_t dst_offset,
	      const struct rpma_mr_remote *src, size_t src_offset, size_t len, int flags,
	      const void *op_context);

/* Writes remote memory. Regions NULL and all numbers 0: writes nothing. */
int rpma_write(struct rpma_conn *conn, struct rpma_mr_remote *dst, size_t dst_offset,
	       const struct rpma_mr_local *src, size_t src_offset, size_t len, int flags,
	       const void *op_context);

/* Writes, and completes a receive of the other side with @imm. */
int rpma_write_with_imm(struct rpma_conn *conn, struct rpma_mr_remote *dst, size_t dst_offset,
			const struct rpma_mr_local *src, size_t src_offset, size_t len,
			int flags, uint32_t imm, const void *op_context);

/* rpma_atomic_write() writes to multiples of this. */
#define RPMA_ATOMIC_WRITE_ALIGNMENT 8

/*
 * Writes 8 bytes that no reader sees in part, after all flushes posted
 * before: as ATOMIC WRITE where flushes travel natively, else as a write.
 * INVAL also: @dst_offset is not a multiple of 8.
 */
int rpma_atomic_write(struct rpma_conn *conn, struct rpma_mr_remote *dst, size_t dst_offset,
		      const char src[8], int flags, const void *op_context);

/* How far a flush goes. */
enum rpma_flush_type {
	RPMA_FLUSH_TYPE_PERSISTENT,	/* survives a loss of power */
	RPMA_FLUSH_TYPE_VISIBILITY	/* seen by every reader over there */
};

/*
 * Flushes the writes of this connection to a range of remote memory; its
 * completion means that they are there. Checked in this order. INVAL: NULL,
 * no flags, unknown type. NOSUPP: PERSISTENT, and the other machine did not
 * declare direct write (rpma_conn_apply_remote_peer_cfg()); or the region was
 * not registered for this type; or, with errno EOPNOTSUPP, the flush would
 * travel as a READ that the other side may refuse, which would end the
 * connection, or the other side agreed to no reads: see rpma_flush(3). Then as
 * all requests. NOMEM: only of more than 2^31 bytes. PROVIDER also: EMSGSIZE, a
 * range that travels as more requests than the send queue has room for.
 */
int rpma_flush(struct rpma_conn *conn, struct rpma_mr_remote *dst, size_t dst_offset, size_t len,
	       enum rpma_flush_type type, int flags, const void *op_context);

/* Sends a message to a receive of the other side. @src NULL: an empty one. */
int rpma_send(struct rpma_conn *conn, const struct rpma_mr_local *src, size_t offset, size_t len,
	      int flags, const void *op_context);

/* Sends a message together with @imm. */
int rpma_send_with_imm(struct rpma_conn *conn, const struct rpma_mr_local *src, size_t offset,
		       size_t len, int flags, uint32_t imm, const void *op_context);

/*
 * Makes room for one message; always reported. @dst NULL: for an empty one.
 * PROVIDER with errno EINVAL: the connection has a shared receive queue, see
 * rpma_srq_recv().
 */
int rpma_recv(struct rpma_conn *conn, struct rpma_mr_local *dst, size_t offset, size_t len,
	      const void *op_context);

/* ---- completions --------------------------------------------------------- */

/*
 * Stores the descriptor that is readable when completions may be fetched; the
 * queue owns it; made O_NONBLOCK, rpma_cq_wait() does not wait. Queues that
 * share a channel have the channel's. INVAL: NULL.
 */
int rpma_cq_get_fd(const struct rpma_cq *cq, int *fd);

/*
 * Waits until completions arrive; they may have been fetched meanwhile.
 * INVAL: NULL. NO_COMPLETION: none now and O_NONBLOCK (errno EAGAIN), or a
 * signal came (EINTR). SHARED_CHANNEL: use rpma_conn_wait(). PROVIDER: the
 * device is gone.
 */
int rpma_cq_wait(struct rpma_cq *cq);

/*
 * Fetches up to @num_entries completions into @wc, oldest first, without
 * waiting, and stores how many; @num_entries_got may be NULL for one. Of a
 * failed request only wr_id, status, qp_num and vendor_err mean something. Of
 * several threads one gets each completion. @wc may be written to without
 * success too. INVAL: NULL, less than 1. NO_COMPLETION: none now. UNKNOWN:
 * never. PROVIDER: the device is gone and all was fetched.
 */
int rpma_cq_get_wc(struct rpma_cq *cq, int num_entries, struct ibv_wc *wc, int *num_entries_got);

/* ---- logging ------------------------------------------------------------- */

/* How serious a message is. */
enum rpma_log_level {
	RPMA_LOG_DISABLED = -1,		/* as a threshold: no message */
	RPMA_LOG_LEVEL_FATAL,		/* the library cannot go on */
	RPMA_LOG_LEVEL_ERROR,		/* a call failed */
	RPMA_LOG_LEVEL_WARNING,		/* worth a look */
	RPMA_LOG_LEVEL_NOTICE,		/* life of connections */
	RPMA_LOG_LEVEL_INFO,		/* what the library decided */
	RPMA_LOG_LEVEL_DEBUG		/* everything */
};

enum rpma_log_threshold {
	RPMA_LOG_THRESHOLD,		/* what is logged at all; WARNING at first */
	RPMA_LOG_THRESHOLD_AUX,		/* what goes to stderr too; DISABLED at first */
	RPMA_LOG_THRESHOLD_MAX
};

/*
 * Sets a threshold, for all threads from now on. INVAL: no such threshold or
 * level. AGAIN: never.
 */
int rpma_log_set_threshold(enum rpma_log_threshold threshold, enum rpma_log_level level);

/* Stores a threshold. INVAL: no such threshold, NULL. */
int rpma_log_get_threshold(enum rpma_log_threshold threshold, enum rpma_log_level *level);

/*
 * Takes a message: where it comes from (@file_name may be NULL, then the next
 * two mean nothing) and its text as for printf(3). Called from any thread.
 */
typedef void rpma_log_function(enum rpma_log_level level, const char *file_name,
			       const int line_no, const char *function_name,
			       const char *message_format, ...);

/* The library's own function: to syslog(3) and stderr. */
#define RPMA_LOG_USE_DEFAULT_FUNCTION (NULL)

/*
 * Sets who takes the messages up to RPMA_LOG_THRESHOLD; NULL is the library's
 * own. Another thread may still be in the last one when this returns. AGAIN:
 * never.
 */
int rpma_log_set_function(rpma_log_function *log_function);

#ifdef __cplusplus
}
#endif

#endif /* LIBRPMA_H */
