/* SPDX-License-Identifier: GPL-2.0 */
/* Does the other side of a connection still answer? */
#ifndef RPMA_WATCH_H
#define RPMA_WATCH_H

#include <linux/workqueue.h>

#include "cm.h"
#include "qp.h"

/**
 * struct rpma_watch - looks at a connection while requests are in flight
 * @cm: told when the other side is given up
 * @qp: looked at
 * @work: looks four times in @timeout_ms
 * @runs: it is queued or running
 * @seen: requests completed when it looked last
 * @since: when it saw the last progress, in jiffies
 * @hanging_up: the other side hung up; requests in flight may have been answered
 * @hang_up_by: how long this is waited for, in jiffies
 * @timeout_ms: how long that is
 */
struct rpma_watch {
	struct rpma_cm *cm;
	struct rpma_qp *qp;
	struct delayed_work work;
	bool runs;
	u64 seen;
	unsigned long since;
	bool hanging_up;
	unsigned long hang_up_by;
	u32 timeout_ms;
};

int rpma_watch_module_init(void);
void rpma_watch_module_exit(void);

void rpma_watch_init(struct rpma_watch *watch, struct rpma_cm *cm,
		     struct rpma_qp *qp);

/* The connection is dead and nothing is posted to it any more. */
void rpma_watch_exit(struct rpma_watch *watch);

/**
 * rpma_watch_set_timeout - how long requests may make no progress
 * @watch: the watch
 * @ms: as in struct rpma_conn_queues
 *
 * Return: 0 or -EINVAL.
 */
int rpma_watch_set_timeout(struct rpma_watch *watch, u32 ms);

/**
 * rpma_watch_hang_up - the other side hung up: see to its last answers
 * @watch: the watch
 *
 * Return: false if nothing is in flight; else the watch calls
 * rpma_cm_hang_up().
 */
bool rpma_watch_hang_up(struct rpma_watch *watch);

/* Something was posted: see to it that the watch runs. */
void rpma_watch_posted(struct rpma_watch *watch);

#endif /* RPMA_WATCH_H */
