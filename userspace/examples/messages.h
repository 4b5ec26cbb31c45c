/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What messages_*, rcq_*, shared_channel_* and srq_server say to each other,
 * so that each client works with each server: the client sends a number of 8
 * bytes, the server answers with the next one, and so on; an empty message
 * says goodbye.
 *
 * A side makes room for a message (receive) before it lets the other one send
 * it: before connecting for the first, before answering for the others. And
 * who has the last word hangs up: the server, when it heard the goodbye and
 * its answers have gone. A client that hung up could cut off a completion that
 * the server still waits for, and needs none for its goodbye.
 */
#ifndef EXAMPLES_MESSAGES_H
#define EXAMPLES_MESSAGES_H

#include <endian.h>
#include <stddef.h>

#include "memory.h"

/* Registered memory: where a message arrives, and where one is sent from. */
struct messages {
	uint64_t in, out;	/* big endian */
};

enum {
	MSG_IN = offsetof(struct messages, in),
	MSG_OUT = offsetof(struct messages, out),
	MSG_SIZE = sizeof(uint64_t),
};

static inline struct messages *messages_reg(struct rpma_peer *peer, size_t nr,
					    struct rpma_mr_local **mr)
{
	size_t size = nr * sizeof(struct messages);
	struct messages *msg = map_memory(NULL, &size);

	check(rpma_mr_reg(peer, msg, size, RPMA_MR_USAGE_SEND | RPMA_MR_USAGE_RECV, mr),
	      "registering memory");
	return msg;
}

/* @len: how many bytes the message has, as its completion says. */
static inline uint64_t messages_number(const struct messages *msg, uint32_t len)
{
	if (len != MSG_SIZE)
		die("a message of %u bytes: is it the program that belongs to this one?", len);
	return be64toh(msg->in);
}

#endif /* EXAMPLES_MESSAGES_H */
