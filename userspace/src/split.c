// SPDX-License-Identifier: BSD-3-Clause
/*
 * Flushes in pieces: which completions of theirs the caller sees.
 *
 * Nobody says when a piece has succeeded, so entries are used again in turn.
 * That is safe: a request keeps a place in the completion queue until it has
 * succeeded or its failure is read, and behind a piece that has not succeeded
 * none does. So while a piece of a flush keeps a place, each flush behind it of
 * which anything was posted keeps another; and as there is one entry more than
 * places, the next entry is nobody's any more. One of which nothing was posted
 * keeps no place, and gives its entry back.
 */
#include <pthread.h>
#include <stdlib.h>

#include "split.h"

struct split {
	uint64_t context;		/* the caller's */
	enum {
		SPLIT_POSTED,		/* no completion was seen */
		SPLIT_LAST,		/* one was reported; the last piece's is to come */
		SPLIT_OVER,		/* what comes is not the caller's concern */
	} state;
};

struct splits {
	pthread_mutex_t lock;
	uint32_t nr;
	uint32_t newest;
	uint32_t nr_last;		/* entries that are SPLIT_LAST */
	struct split entries[];		/* their addresses are contexts, and nobody else's */
};

struct splits *splits_new(uint32_t completions)
{
	uint32_t nr = completions + 1, i;
	struct splits *splits;

	splits = calloc(1, sizeof(*splits) + nr * sizeof(splits->entries[0]));
	if (!splits)
		return NULL;
	pthread_mutex_init(&splits->lock, NULL);
	splits->nr = nr;
	for (i = 0; i < nr; i++)
		splits->entries[i].state = SPLIT_OVER;
	return splits;
}

void splits_delete(struct splits *splits)
{
	if (!splits)
		return;
	pthread_mutex_destroy(&splits->lock);
	free(splits);
}

void splits_lock(struct splits *splits)
{
	pthread_mutex_lock(&splits->lock);
}

void splits_unlock(struct splits *splits)
{
	pthread_mutex_unlock(&splits->lock);
}

static void set_state(struct splits *splits, struct split *split, int state)
{
	splits->nr_last -= split->state == SPLIT_LAST;
	splits->nr_last += state == SPLIT_LAST;
	split->state = state;
}

uint64_t splits_add(struct splits *splits, uint64_t context)
{
	struct split *split;

	splits->newest = (splits->newest + 1) % splits->nr;
	split = &splits->entries[splits->newest];
	split->context = context;
	set_state(splits, split, SPLIT_POSTED);
	return (uintptr_t)split;
}

void splits_abandon(struct splits *splits, bool posted)
{
	set_state(splits, &splits->entries[splits->newest], SPLIT_OVER);
	if (!posted)
		splits->newest = (splits->newest + splits->nr - 1) % splits->nr;
}

static struct split *of_context(struct splits *splits, uint64_t context)
{
	uint64_t offset = context - (uintptr_t)splits->entries;

	if (offset >= splits->nr * sizeof(splits->entries[0]) ||
	    offset % sizeof(splits->entries[0]))
		return NULL;
	return &splits->entries[offset / sizeof(splits->entries[0])];
}

/* A last piece has nothing of its own but the caller's context. */
static bool hide_last(struct splits *splits, uint64_t context)
{
	uint32_t i;

	for (i = 0; splits->nr_last && i < splits->nr; i++)
		if (splits->entries[i].state == SPLIT_LAST &&
		    splits->entries[i].context == context) {
			set_state(splits, &splits->entries[i], SPLIT_OVER);
			return true;
		}
	return false;
}

bool splits_hide(struct splits *splits, struct ibv_wc *wc)
{
	struct split *split = of_context(splits, wc->wr_id);

	if (!split)
		return hide_last(splits, wc->wr_id);
	if (split->state != SPLIT_POSTED)
		return true;
	set_state(splits, split, SPLIT_LAST);
	wc->wr_id = split->context;
	return false;
}
