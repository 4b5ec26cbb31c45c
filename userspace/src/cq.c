// SPDX-License-Identifier: BSD-3-Clause
/*
 * Completion queues: waiting for completions and fetching them.
 *
 * The kernel puts completions into a ring that is mapped here read-only, so
 * fetching costs no system call while the ring has any. It is mapped when it
 * is first looked at: who only serves remote memory never does. Readers take
 * no lock. Each copies what is there and then claims it by moving the head;
 * when another reader was faster, the copy is thrown away.
 */
#include <netinet/in.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "cq.h"
#include "err.h"
#include "peer.h"
#include "split.h"

/* The numbers that newer <infiniband/verbs.h> call IBV_WC_FLUSH, _ATOMIC_WRITE. */
#define WC_FLUSH 8
#define WC_ATOMIC_WRITE 9

struct ring {
	const struct rpma_cq_ring *ring;
	const char *entries;
	_Atomic(uint32_t) *head;
	uint32_t mask;
	uint32_t entry_size;
	uint32_t bytes;
};

struct rpma_cq {
	int fd;
	int channel_fd;			/* where its events show; -1: here */
	uint32_t ring_bytes;
	_Atomic(struct ring *) ring;
	_Atomic(struct splits *) splits;	/* NULL: no flush was split yet */
};

_Static_assert(sizeof(_Atomic(uint32_t)) == sizeof(uint32_t), "the head is a plain word");

_Static_assert(sizeof(struct rpma_completion) % sizeof(uint64_t) == 0, "copied word by word");

_Static_assert((int)RPMA_STATUS_SUCCESS == IBV_WC_SUCCESS &&
	       (int)RPMA_STATUS_LOC_LEN_ERR == IBV_WC_LOC_LEN_ERR &&
	       (int)RPMA_STATUS_LOC_QP_OP_ERR == IBV_WC_LOC_QP_OP_ERR &&
	       (int)RPMA_STATUS_LOC_PROT_ERR == IBV_WC_LOC_PROT_ERR &&
	       (int)RPMA_STATUS_ABORTED == IBV_WC_WR_FLUSH_ERR &&
	       (int)RPMA_STATUS_REM_INV_REQ_ERR == IBV_WC_REM_INV_REQ_ERR &&
	       (int)RPMA_STATUS_REM_ACCESS_ERR == IBV_WC_REM_ACCESS_ERR &&
	       (int)RPMA_STATUS_REM_OP_ERR == IBV_WC_REM_OP_ERR &&
	       (int)RPMA_STATUS_RETRY_EXC_ERR == IBV_WC_RETRY_EXC_ERR &&
	       (int)RPMA_STATUS_RNR_RETRY_EXC_ERR == IBV_WC_RNR_RETRY_EXC_ERR,
	       "a completion's status is that of verbs");

/* ---- birth and death ----------------------------------------------------- */

int cq_new(const struct rpma_peer *peer, uint32_t asked, uint64_t in_flight,
	   struct kernel_channel_place place, struct rpma_cq **cq_ptr)
{
	uint32_t entries = asked;
	struct rpma_cq *cq;
	int ret;

	/* None at all is the one size that librpma refuses. */
	if (!asked)
		return err_report(EINVAL, "making a completion queue of 0 entries");
	if (in_flight > peer->max_queue_size)
		in_flight = peer->max_queue_size;
	if (entries < in_flight)
		entries = in_flight;

	cq = calloc(1, sizeof(*cq));
	if (!cq)
		return RPMA_E_NOMEM;

	ret = kernel_cq_create(peer->fd, peer->id, entries, place, &cq->ring_bytes);
	if (ret < 0) {
		free(cq);
		return err_report(-ret, "making a completion queue of %u entries", entries);
	}
	cq->fd = ret;
	cq->channel_fd = place.queue == KERNEL_CHANNEL_NONE ? -1 : place.channel_fd;
	*cq_ptr = cq;
	return 0;
}

static void ring_delete(struct ring *ring)
{
	kernel_cq_unmap(ring->ring, ring->bytes, (uint32_t *)ring->head);
	free(ring);
}

void cq_delete(struct rpma_cq *cq)
{
	struct ring *ring;

	if (!cq)
		return;
	ring = atomic_load(&cq->ring);
	if (ring)
		ring_delete(ring);
	splits_delete(atomic_load(&cq->splits));
	kernel_close(cq->fd);
	free(cq);
}

int cq_fd(const struct rpma_cq *cq)
{
	return cq ? cq->fd : -1;
}

static int ring_new(const struct rpma_cq *cq, struct ring **ring_ptr)
{
	struct ring *ring;
	uint32_t *head;
	int ret;

	ring = calloc(1, sizeof(*ring));
	if (!ring)
		return -ENOMEM;
	ret = kernel_cq_map(cq->fd, cq->ring_bytes, &ring->ring, &head);
	if (ret) {
		free(ring);
		return ret;
	}
	ring->head = (_Atomic(uint32_t) *)head;
	ring->entries = (const char *)ring->ring + ring->ring->first_offset;
	ring->mask = ring->ring->entries - 1;
	ring->entry_size = ring->ring->entry_size;
	ring->bytes = cq->ring_bytes;
	*ring_ptr = ring;
	return 0;
}

static int ring_get(struct rpma_cq *cq, struct ring **ring_ptr)
{
	struct ring *ring, *other = NULL;
	int ret;

	ring = atomic_load_explicit(&cq->ring, memory_order_acquire);
	if (!ring) {
		ret = ring_new(cq, &ring);
		if (ret)
			return ret;
		/* Another thread may have mapped the same pages meanwhile. */
		if (!atomic_compare_exchange_strong(&cq->ring, &other, ring)) {
			ring_delete(ring);
			ring = other;
		}
	}
	*ring_ptr = ring;
	return 0;
}

struct splits *cq_splits(struct rpma_cq *cq)
{
	struct splits *splits = atomic_load(&cq->splits), *other = NULL;

	if (splits)
		return splits;
	splits = splits_new(cq->ring_bytes / sizeof(struct rpma_completion));
	if (splits && !atomic_compare_exchange_strong(&cq->splits, &other, splits)) {
		splits_delete(splits);
		splits = other;
	}
	return splits;
}

/* ---- fetching ------------------------------------------------------------ */

/* The opcode of what was sent, as librpma has it. */
static enum ibv_wc_opcode wc_opcode(const struct rpma_completion *c)
{
	bool native = c->method == RPMA_FLUSH_METHOD_NATIVE;

	switch (c->op) {
	case RPMA_OP_READ:
		return IBV_WC_RDMA_READ;
	case RPMA_OP_FLUSH:
		return native ? (enum ibv_wc_opcode)WC_FLUSH : IBV_WC_RDMA_READ;
	case RPMA_OP_ATOMIC_WRITE:
		return native ? (enum ibv_wc_opcode)WC_ATOMIC_WRITE : IBV_WC_RDMA_WRITE;
	case RPMA_OP_SEND:
	case RPMA_OP_SEND_WITH_IMM:
		return IBV_WC_SEND;
	case RPMA_OP_RECV:
		return c->flags & RPMA_COMPLETION_F_RDMA ? IBV_WC_RECV_RDMA_WITH_IMM : IBV_WC_RECV;
	default:
		return IBV_WC_RDMA_WRITE;
	}
}

static void to_wc(const struct rpma_completion *c, struct ibv_wc *wc)
{
	*wc = (struct ibv_wc) {
		.wr_id = c->context,
		.status = (enum ibv_wc_status)c->status,
		.opcode = wc_opcode(c),
		.vendor_err = c->vendor_err,
		.byte_len = c->len > UINT32_MAX ? UINT32_MAX : c->len,
		.qp_num = c->qp_num,
	};
	if (c->flags & RPMA_COMPLETION_F_IMM) {
		wc->imm_data = c->imm_data;
		wc->wc_flags = IBV_WC_WITH_IMM;
	}
}

union entry {
	struct rpma_completion completion;
	uint64_t words[sizeof(struct rpma_completion) / sizeof(uint64_t)];
};

/*
 * Copies entry number @nr. If another reader takes it meanwhile, the kernel may
 * overwrite it while it is copied: hence word by word, and trusted only once
 * it is claimed.
 */
static void ring_copy(const struct ring *ring, uint32_t nr, union entry *to)
{
	const uint64_t *from = (const uint64_t *)(ring->entries +
						  (size_t)(nr & ring->mask) * ring->entry_size);
	size_t i;

	for (i = 0; i < sizeof(to->words) / sizeof(to->words[0]); i++)
		to->words[i] = __atomic_load_n(&from[i], __ATOMIC_RELAXED);
}

/* NULL, or what the method may have caused, and what to do. */
static const char *refusal(const struct rpma_completion *c)
{
	bool native = c->method == RPMA_FLUSH_METHOD_NATIVE;
	bool access = c->status == RPMA_STATUS_REM_ACCESS_ERR && c->op == RPMA_OP_FLUSH;

	if (access && !native)
		return "a flush by READ was refused by the other side: its region is gone, or "
		       "cannot be flushed this way. If its librpma flushes natively, let it "
		       "register the region with RPMA_MR_USAGE_READ_SRC too; or flush natively here, if the "
		       "driver can and RPMA_FLUSH_METHOD is not read";
	if (!native || (!access && c->status != RPMA_STATUS_REM_INV_REQ_ERR))
		return NULL;
	if (c->op == RPMA_OP_ATOMIC_WRITE)
		return "an ATOMIC WRITE was refused by the other side, whose adapter may not know "
		       "it. If so set RPMA_FLUSH_METHOD=read here, and it travels as an ordinary "
		       "write";
	return "a FLUSH was refused by the other side: its region is gone; or can be flushed by "
	       "READ only, as memory can for PERSISTENT that is not persistent to its adapter; or "
	       "its adapter does not know FLUSH. Unless it is gone set RPMA_FLUSH_METHOD=read here";
}

static bool is_failed_flush(const struct ibv_wc *wc)
{
	return wc->status != IBV_WC_SUCCESS && (int)wc->opcode == WC_FLUSH;
}

/* Those that the caller is to see, of @nr. */
static uint32_t without_hidden(struct splits *splits, struct ibv_wc *wc, uint32_t nr)
{
	uint32_t i, kept = 0;

	for (i = 0; i < nr; i++)
		if (!is_failed_flush(&wc[i]) || !splits_hide(splits, &wc[i]))
			wc[kept++] = wc[i];
	return kept;
}

/*
 * Copies at most @max; @advice is on one of them. True: a FLUSH failed, which may
 * be a piece of a longer one.
 */
static bool ring_look(const struct ring *ring, uint32_t head, uint32_t max, struct ibv_wc *wc,
		      uint32_t *nr, const char **advice)
{
	bool failed = false;
	union entry entry;
	uint32_t i;

	/* ORDER: tail before entries. Pairs with the kernel's release of tail. */
	*nr = __atomic_load_n(&ring->ring->tail, __ATOMIC_ACQUIRE) - head;
	if (*nr > max)
		*nr = max;
	*advice = NULL;
	for (i = 0; i < *nr; i++) {
		ring_copy(ring, head + i, &entry);
		to_wc(&entry.completion, &wc[i]);
		failed |= is_failed_flush(&wc[i]);
		if (entry.completion.status != RPMA_STATUS_SUCCESS && !*advice)
			*advice = refusal(&entry.completion);
	}
	return failed;
}

/*
 * How many of at most @max are taken from the ring; @seen of them are the
 * caller's. Pieces of flushes that failed are claimed and judged by one reader
 * at a time, so that it is the first that is reported.
 */
static uint32_t ring_claim(struct rpma_cq *cq, struct ring *ring, uint32_t max,
			   struct ibv_wc *wc, uint32_t *seen)
{
	struct splits *splits = NULL;
	const char *advice;
	uint32_t head, nr;

	head = atomic_load_explicit(ring->head, memory_order_relaxed);
	do {
		if (ring_look(ring, head, max, wc, &nr, &advice) && !splits) {
			/* There before any of the pieces was, so seen behind them. */
			splits = atomic_load(&cq->splits);
			if (splits)
				splits_lock(splits);
		}
		/* ORDER: entries before head, behind which the kernel puts new ones. */
	} while (nr && !atomic_compare_exchange_weak_explicit(ring->head, &head, head + nr,
							      memory_order_release,
							      memory_order_relaxed));
	*seen = nr;
	if (splits) {
		*seen = without_hidden(splits, wc, nr);
		splits_unlock(splits);
	}
	if (advice)
		log_warning("%s", advice);
	return nr;
}

/* How many of at most @max were taken; 0: the ring is empty. */
static uint32_t ring_take(struct rpma_cq *cq, struct ring *ring, uint32_t max, struct ibv_wc *wc)
{
	uint32_t seen;

	while (ring_claim(cq, ring, max, wc, &seen) && !seen)
		;
	return seen;
}

int rpma_cq_get_wc(struct rpma_cq *cq, int num_entries, struct ibv_wc *wc, int *num_entries_got)
{
	struct ring *ring;
	uint32_t nr;
	int ret;

	if (!cq || num_entries < 1 || !wc || (num_entries > 1 && !num_entries_got))
		return RPMA_E_INVAL;

	ret = ring_get(cq, &ring);
	if (ret) {
		err_report(-ret, "mapping the ring of completions");
		return RPMA_E_PROVIDER;
	}

	nr = ring_take(cq, ring, num_entries, wc);
	if (!nr) {
		ret = kernel_cq_poll(cq->fd);
		if (ret > 0)
			nr = ring_take(cq, ring, num_entries, wc);
		else if (ret < 0)
			return err_report(-ret, "fetching completions");
	}
	if (!nr)
		return RPMA_E_NO_COMPLETION;
	if (num_entries_got)
		*num_entries_got = nr;
	return 0;
}

/* ---- waiting ------------------------------------------------------------- */

int rpma_cq_wait(struct rpma_cq *cq)
{
	int ret;

	if (!cq)
		return RPMA_E_INVAL;
	if (cq->channel_fd >= 0)
		return RPMA_E_SHARED_CHANNEL;
	ret = kernel_cq_wait(cq->fd);
	if (ret >= 0)
		return 0;
	if (ret == -EAGAIN || ret == -EINTR) {
		errno = -ret;
		return RPMA_E_NO_COMPLETION;
	}
	return err_report(-ret, "waiting for completions");
}

int rpma_cq_get_fd(const struct rpma_cq *cq, int *fd)
{
	if (!cq || !fd)
		return RPMA_E_INVAL;
	*fd = cq->channel_fd >= 0 ? cq->channel_fd : cq->fd;
	return 0;
}
