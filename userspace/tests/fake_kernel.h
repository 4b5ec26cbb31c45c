/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A make-believe /dev/rpma behind kernel.h: it notes what it was asked, says
 * what it was told to, and counts what it handed out.
 */
#ifndef TESTS_FAKE_KERNEL_H
#define TESTS_FAKE_KERNEL_H

#include "kernel.h"

#define FAKE_RING_ENTRIES 16
#define FAKE_MAX_QUEUE_SIZE 4096
#define FAKE_SRQ 31
#define FAKE_PIECES 64

struct fake_kernel {
	/* what the next calls return; 0 is success, else a negative errno */
	int open_ret, resolve_ret, peer_create_ret, peer_destroy_ret, mr_reg_ret, mr_destroy_ret;
	int channel_create_ret, channel_wait_ret;
	int cq_create_ret, cq_map_ret, cq_poll_ret, cq_wait_ret;
	int listen_ret, ep_wait_ret, take_ret, conn_create_ret, handshake_ret, disconnect_ret;
	int srq_create_ret, srq_destroy_ret;
	int query_ret, modify_ret, flush_method_ret, post_ret;
	/* the connection event to read next; type 0: event_ret */
	struct rpma_event event;
	int event_ret;
	/* the longest flush; 0: any is taken */
	uint64_t flush_max;
	/* of several requests: how many one call takes; how many are taken at all, then post_ret */
	uint32_t post_at_once;
	bool post_limited;
	uint32_t post_left;
	/* once so many pieces are there, a signal comes so often before more are taken */
	uint32_t signals_at, signals;
	/* what a connection is */
	enum rpma_conn_state state;
	enum rpma_flush_method conn_method;
	uint32_t read_depth, peer_flags;
	/* added to the numbers of devices */
	uint32_t first_device;
	/* what the other side sent */
	const void *private_data;
	uint32_t private_data_len;

	/* what was asked for last */
	struct rpma_ioc_mr_reg mr_reg;
	struct rpma_request request;
	struct rpma_ioc_flush flush;
	struct rpma_request pieces[FAKE_PIECES];	/* of several requests at once */
	uint32_t nr_pieces;
	struct rpma_conn_queues queues;
	uint32_t timeout_ms;
	uint32_t srq_entries;
	uint32_t srq_posted_to;
	uint32_t cq_entries[2];		/* of the last two queues, newest first */
	struct kernel_channel_place places[2];
	size_t handshake_len;
	char handshake_data[RPMA_PRIVATE_DATA_MAX];
	bool accepted;
	bool direct_write;
	enum rpma_flush_method flush_method;
	uint32_t linger_ms;
	int posts, polls, cqs;

	/* what is still there */
	int fds, peers, mrs, maps, srqs;
};

extern struct fake_kernel fake;

/* Forgets all but the counts of what is still there. */
void fake_reset(void);

/* The ring of all queues starts to count completions at @nr. */
void fake_ring_start(uint32_t nr);

/* Completions go to the ring, or wait until the queue is polled. */
void fake_complete(const struct rpma_completion *completion);
void fake_complete_on_poll(const struct rpma_completion *completion);

/* How much room the ring has. */
uint32_t fake_ring_room(void);

#endif /* TESTS_FAKE_KERNEL_H */
