/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Flushes that are longer than one FLUSH may be.
 *
 * Such a flush is posted in pieces, and its caller knows of one request. When
 * they succeed that is easy: only the last piece is reported, and if asked for.
 * But every piece that fails is, and behind one that failed all do. So all but
 * the last carry a context of ours, which tells their completions from others.
 * The first to come is given the caller's context, the rest are kept from the
 * caller; or all are, if the pieces could not be posted to the last.
 */
#ifndef RPMA_SPLIT_H
#define RPMA_SPLIT_H

#include <stdbool.h>
#include <stdint.h>

#include <infiniband/verbs.h>

/* The split flushes of a connection, in its completion queue. */
struct splits;

/* @completions: at most so many are unread at a time. NULL: no memory. */
struct splits *splits_new(uint32_t completions);

/* NULL is none. */
void splits_delete(struct splits *splits);

/* Between these two what fails meanwhile is not looked at by anybody. */
void splits_lock(struct splits *splits);
void splits_unlock(struct splits *splits);

/*
 * The rest is called with the lock held. Begins a flush of a caller's
 * @context, and returns that of all its pieces but the last; the last has the
 * caller's own.
 */
uint64_t splits_add(struct splits *splits, uint64_t context);

/*
 * The flush begun last was not posted to its last piece: nobody may hear of it.
 * @posted: some of it was.
 */
void splits_abandon(struct splits *splits, bool posted);

/*
 * Whether a FLUSH that failed is to be kept from the caller; else its context
 * may have become the caller's. In the order of the completions.
 */
bool splits_hide(struct splits *splits, struct ibv_wc *wc);

#endif /* RPMA_SPLIT_H */
