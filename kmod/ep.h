/* SPDX-License-Identifier: GPL-2.0 */
/* Endpoints: listening, and the connections that wait to be taken. */
#ifndef RPMA_EP_H
#define RPMA_EP_H

#include "conn.h"

/**
 * struct rpma_ep - a listener
 * @ctx: whose; its file is held
 * @hw: @cm and the backlog's ids belong to the device
 * @peer: put when freed
 * @cm: the listening id
 * @lock: the backlog
 * @backlog: connections that nobody has taken; owned
 * @waiting: how many
 * @max_waiting: how many at most
 * @gone: revoked
 * @wait: woken when one arrives or the device is gone
 *
 * One owner: its descriptor. No count.
 */
struct rpma_ep {
	struct rpma_ctx *ctx;
	struct rpma_hw hw;
	struct rpma_peer *peer;
	struct rpma_cm cm;
	spinlock_t lock; /* the backlog */
	struct list_head backlog;
	u32 waiting;
	u32 max_waiting;
	bool gone;
	wait_queue_head_t wait;
};

/* Largest backlog; a module parameter. */
u32 rpma_ep_max_backlog(void);

int rpma_ep_listen_ioctl(struct rpma_ucmd *ucmd);
int rpma_ep_take_ioctl(struct rpma_ucmd *ucmd);

#endif /* RPMA_EP_H */
