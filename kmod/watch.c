// SPDX-License-Identifier: GPL-2.0
/*
 * Does the other side of a connection still answer?
 *
 * The adapter retries a silent peer for ever (retry count 7, as librpma asks
 * for), so requests in flight that make no progress for a time end the
 * connection here. The watch runs only while something is in flight. It also
 * fetches completions and marks unsignaled requests, so that what nobody
 * polls for gives back its regions. And it hangs up after the other side did,
 * once the last answers were seen.
 */

#include "watch.h"

#define RPMA_PEER_TIMEOUT_MS 20000
#define RPMA_PEER_TIMEOUT_MIN_MS 100
#define RPMA_PEER_TIMEOUT_NEVER U32_MAX

/* How long an answer may take from the wire to the completion queue. */
#define RPMA_HANG_UP_TIMEOUT HZ
#define RPMA_HANG_UP_INTERVAL max(HZ / 100, 1)

static struct workqueue_struct *rpma_watch_wq;

int rpma_watch_module_init(void)
{
	rpma_watch_wq = alloc_workqueue("rpma", WQ_UNBOUND, 0);
	return rpma_watch_wq ? 0 : -ENOMEM;
}

void rpma_watch_module_exit(void)
{
	destroy_workqueue(rpma_watch_wq);
}

static bool rpma_watch_is_off(const struct rpma_watch *watch)
{
	return READ_ONCE(watch->timeout_ms) == RPMA_PEER_TIMEOUT_NEVER;
}

static void rpma_watch_queue(struct rpma_watch *watch)
{
	u32 ms = rpma_watch_is_off(watch) ? RPMA_PEER_TIMEOUT_MS :
					    READ_ONCE(watch->timeout_ms);

	queue_delayed_work(rpma_watch_wq, &watch->work,
			   msecs_to_jiffies(ms / 4));
}

/* A large transfer completes late without its peer being dead. */
static unsigned long rpma_watch_patience(struct rpma_watch *watch)
{
	u64 mib = min(rpma_qp_bytes_in_flight(watch->qp) >> 20, 3600ULL);

	return msecs_to_jiffies(READ_ONCE(watch->timeout_ms)) + mib * HZ;
}

/* Return: whether requests in flight may still turn out to be answered. */
static bool rpma_watch_hangs_up(struct rpma_watch *watch)
{
	/* ORDER: that, then until when. Pairs with rpma_watch_hang_up(). */
	if (!smp_load_acquire(&watch->hanging_up))
		return false;
	if (rpma_queue_in_flight(&watch->qp->sq) &&
	    time_before(jiffies, watch->hang_up_by)) {
		queue_delayed_work(rpma_watch_wq, &watch->work,
				   RPMA_HANG_UP_INTERVAL);
		return true;
	}
	WRITE_ONCE(watch->hanging_up, false);
	rpma_cm_hang_up(watch->cm);
	return false;
}

static void rpma_watch_look(struct work_struct *work)
{
	struct rpma_watch *watch = container_of(to_delayed_work(work),
						struct rpma_watch, work);
	struct rpma_queue *sq = &watch->qp->sq;
	u64 completed;

	rpma_cq_fetch(sq->cq);
	if (rpma_watch_hangs_up(watch))
		return;
	if (!rpma_queue_in_flight(sq)) {
		WRITE_ONCE(watch->runs, false);
		/* ORDER: stopped, then look again. Pairs with _posted(). */
		smp_mb();
		if (!rpma_queue_in_flight(sq) || xchg(&watch->runs, true))
			return;
	}
	/* Those at the end of the queue may have no signal to show progress. */
	rpma_qp_mark(watch->qp);

	completed = READ_ONCE(sq->head);
	if (completed != watch->seen) {
		watch->seen = completed;
		watch->since = jiffies;
	} else if (!rpma_watch_is_off(watch) &&
		   time_after(jiffies,
			      watch->since + rpma_watch_patience(watch))) {
		/* It goes on fetching what this aborts. */
		rpma_cm_lose(watch->cm, -ETIMEDOUT);
		watch->since = jiffies;
	}
	rpma_watch_queue(watch);
}

void rpma_watch_init(struct rpma_watch *watch, struct rpma_cm *cm,
		     struct rpma_qp *qp)
{
	watch->cm = cm;
	watch->qp = qp;
	watch->timeout_ms = RPMA_PEER_TIMEOUT_MS;
	INIT_DELAYED_WORK(&watch->work, rpma_watch_look);
}

void rpma_watch_exit(struct rpma_watch *watch)
{
	cancel_delayed_work_sync(&watch->work);
}

int rpma_watch_set_timeout(struct rpma_watch *watch, u32 ms)
{
	if (!ms)
		ms = RPMA_PEER_TIMEOUT_MS;
	if (ms < RPMA_PEER_TIMEOUT_MIN_MS)
		return -EINVAL;
	WRITE_ONCE(watch->timeout_ms, ms);
	/* Holds for what is in flight, too: look at once, then as often. */
	if (READ_ONCE(watch->runs))
		mod_delayed_work(rpma_watch_wq, &watch->work, 0);
	return 0;
}

bool rpma_watch_hang_up(struct rpma_watch *watch)
{
	rpma_cq_fetch(watch->qp->sq.cq);
	if (!rpma_queue_in_flight(&watch->qp->sq))
		return false;
	watch->hang_up_by = jiffies + RPMA_HANG_UP_TIMEOUT;
	/* ORDER: until when, then that. Pairs with rpma_watch_hangs_up(). */
	smp_store_release(&watch->hanging_up, true);
	WRITE_ONCE(watch->runs, true);
	mod_delayed_work(rpma_watch_wq, &watch->work, 0);
	return true;
}

void rpma_watch_posted(struct rpma_watch *watch)
{
	/* ORDER: posted, then look. Pairs with rpma_watch_look(). */
	smp_mb();
	if (READ_ONCE(watch->runs) || xchg(&watch->runs, true))
		return;
	/* The first look counts as progress, whatever it sees. */
	watch->seen = U64_MAX;
	rpma_watch_queue(watch);
}
