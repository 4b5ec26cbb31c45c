/* SPDX-License-Identifier: GPL-2.0 */
/* Completion channels: one descriptor that waits for several queues. */
#ifndef RPMA_CHANNEL_H
#define RPMA_CHANNEL_H

#include <linux/kref.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/wait.h>

#include "ctx.h"
#include "ioctl.h"

struct rpma_channel_member;

/**
 * struct rpma_channel_ops - what a channel asks of a completion queue
 * @arm: make sure that rpma_channel_wake() is called at the next completion
 * @has_event: is one pending?
 * @consume: it was delivered
 * @unread: how many completions are unread
 * @is_gone: will there never be one any more?
 */
struct rpma_channel_ops {
	void (*arm)(struct rpma_channel_member *member);
	bool (*has_event)(struct rpma_channel_member *member);
	void (*consume)(struct rpma_channel_member *member);
	u32 (*unread)(struct rpma_channel_member *member);
	bool (*is_gone)(struct rpma_channel_member *member);
};

/**
 * struct rpma_channel_member - a completion queue's place in its channel
 * @ops: how to ask it
 * @channel: referenced, or NULL
 * @node: on channel->members
 * @cookie: the user's name for it
 * @passed_over: how often in a row others were told and it was not
 */
struct rpma_channel_member {
	const struct rpma_channel_ops *ops;
	struct rpma_channel *channel;
	struct list_head node;
	u64 cookie;
	u32 passed_over;
};

/**
 * rpma_channel_join - from now on events of a completion queue show here
 * @member: all zero but for its ops
 * @ctx: whose channel it must be
 * @fd: the channel's descriptor
 * @cookie: the user's name for the queue
 *
 * Return: 0 or -EBADF.
 */
int rpma_channel_join(struct rpma_channel_member *member, struct rpma_ctx *ctx,
		      int fd, u64 cookie);

/* The queue dies; also of one that never joined. May sleep. */
void rpma_channel_leave(struct rpma_channel_member *member);

/* Something completed. Any context; does nothing without a channel. */
void rpma_channel_wake(struct rpma_channel_member *member);

int rpma_channel_create_ioctl(struct rpma_ucmd *ucmd);

#endif /* RPMA_CHANNEL_H */
