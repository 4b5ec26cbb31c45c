// SPDX-License-Identifier: GPL-2.0
/* Queues that are full. */
#include "edges.h"

/* A SEND that finds no RECV stays in the queue for ever. */
static void send_queue(struct world *w)
{
	static const int sizes[] = { 1, 10, 16 };

	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++)
		if (edge("rpma_send", "until a queue of %d is full", sizes[i])) {
			int nr = 0, ret = 0;

			world_connect(w, cfg_with(sizes[i], 10, sizes[i] + 10, 0));
			while (nr < 1000 && !ret) {
				ret = got(rpma_send(w->c.conn, w->c.mr, 0, 8, ALWAYS, CONTEXT(nr)));
				nr += !ret;
			}
			outcome(ret, "posted=%d", nr);
		}
}

/* What becomes of them once there are RECVs for them. */
static void send_queue_drains(struct world *w)
{
	int nr = 0, ret = 0, done = 0;
	struct ibv_wc wc;

	if (edge("rpma_send", "once a full queue has drained")) {
		world_connect(w, cfg_with(4, 500, 1000, 0));
		while (nr < 400 && !(ret = rpma_send(w->c.conn, w->c.mr, 0, 8, ALWAYS,
						      CONTEXT(nr))))
			nr++;
		for (int i = 0; i <= nr; i++)
			must(rpma_recv(w->s.conn, w->s.mr, 0, 64, NULL));
		for (int i = 0; i < nr; i++) {
			wc = reap(w->c.cq);
			done += wc.status == IBV_WC_SUCCESS && wc.wr_id == (uint64_t)i;
		}
		ret = got(rpma_send(w->c.conn, w->c.mr, 0, 8, ALWAYS, CONTEXT(77)));
		outcome(ret, "%s, then %s", done == nr ? "all done" : "not all done",
			completion(w->c.conn, w->c.cq, ret));
	}
}

static void receive_queue(struct world *w)
{
	static const int sizes[] = { 0, 1, 10, 16 };

	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++)
		if (edge("rpma_recv", "until a queue of %d is full", sizes[i])) {
			int nr = 0, ret = 0;

			world_connect(w, cfg_with(10, sizes[i], sizes[i] + 10, 0));
			while (nr < 1000 && !ret) {
				ret = got(rpma_recv(w->c.conn, w->c.mr, 0, 8, CONTEXT(nr)));
				nr += !ret;
			}
			outcome(ret, "posted=%d", nr);
		}
}

/* More completions than the application has room for, and nobody fetches. */
static void completion_queue(struct world *w)
{
	int nr = 0, ret = 0, fetched = 0;
	struct ibv_wc wc;

	if (edge("rpma_cq_get_wc", "40 writes, a queue of 4, nobody fetched")) {
		world_connect(w, cfg_with(64, 1, 4, 0));
		while (nr < 40 && !ret) {
			ret = got(rpma_write(w->c.conn, w->c.remote, 0, w->c.mr, 0, 8, ALWAYS,
					     CONTEXT(nr)));
			nr += !ret;
		}
		usleep(1000000);
		while (!rpma_cq_get_wc(w->c.cq, 1, &wc, NULL))
			fetched++;
		outcome(ret, "posted=%d, %s", nr, fetched == nr ? "all reported" : "some lost");
	}
	if (edge("rpma_cq_get_wc", "10 writes fail, a queue of 10")) {
		struct rpma_mr_local *mr = region(w, w->s.buf, 4096, USAGE_MOST);
		struct rpma_mr_remote *gone = remote_of(mr, -1);
		int status[2] = { 0 };

		must(rpma_mr_dereg(&mr));
		world_connect(w, cfg_with(10, 10, 10, 0));
		for (int i = 0; i < 10; i++)
			must(rpma_write(w->c.conn, gone, 0, w->c.mr, 0, 8, ON_ERROR, CONTEXT(i)));
		for (int i = 0; i < 10; i++) {
			wc = reap(w->c.cq);
			status[0] += wc.status == IBV_WC_REM_ACCESS_ERR && wc.wr_id == 0;
			status[1] += wc.status == IBV_WC_WR_FLUSH_ERR && wc.wr_id == (uint64_t)i;
		}
		outcome(0, "%d REM_ACCESS_ERR, %d WR_FLUSH_ERR", status[0], status[1]);
	}
}

/* Nobody asks for completions of success: their places come back unasked. */
static void unsignaled(struct world *w)
{
	int ret = 0, nr;
	struct ibv_wc wc;

	if (edge("rpma_write", "500 reported on error only, a queue of 10")) {
		world_connect(w, NULL);
		for (nr = 0; nr < 500 && !ret; nr++)
			for (int tries = 0; tries < 5000; tries++) {
				ret = got(rpma_write(w->c.conn, w->c.remote, 0, w->c.mr, 0, 8,
						     ON_ERROR, CONTEXT(nr)));
				if (!ret)
					break;
				usleep(1000);
			}
		outcome(ret, "posted=%d, %s", nr, rpma_cq_get_wc(w->c.cq, 1, &wc, NULL) ?
			"nothing reported" : "something reported");
	}
}

const struct scene scenes_queues[] = {
	{ "queue_send", .run = send_queue, .setup = world_listening, .apart = true },
	{ "queue_send_drains", .run = send_queue_drains, .setup = world_listening },
	{ "queue_receive", .run = receive_queue, .setup = world_listening, .apart = true },
	{ "queue_completion", .run = completion_queue, .setup = world_listening, .apart = true },
	{ "queue_unsignaled", .run = unsignaled, .setup = world_listening },
	{ }
};
