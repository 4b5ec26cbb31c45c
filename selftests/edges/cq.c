// SPDX-License-Identifier: GPL-2.0
/* Completion queues: waiting and fetching. */
#include "edges.h"

#include <limits.h>

static void write_one(struct world *w, uintptr_t context)
{
	must(rpma_write(w->c.conn, w->c.remote, 0, w->c.mr, 0, 1, ALWAYS, CONTEXT(context)));
}

static void arguments(struct world *w)
{
	int fd = -1, nr = 77, ret;
	struct ibv_wc wc[4];

	TRY(rpma_cq_get_fd, "cq=NULL", NULL, &fd);
	TRY(rpma_cq_get_fd, "fd=NULL", w->c.cq, NULL);
	TRY(rpma_cq_get_fd, "both NULL", NULL, NULL);
	if (edge("rpma_cq_get_fd", "ok")) {
		ret = got(rpma_cq_get_fd(w->c.cq, &fd));
		outcome(ret, "fd=%s", fd >= 0 ? "some" : "none");
	}
	TRY(rpma_cq_wait, "cq=NULL", NULL);
	TRY(rpma_cq_get_wc, "cq=NULL", NULL, 1, wc, &nr);
	TRY(rpma_cq_get_wc, "wc=NULL", w->c.cq, 1, NULL, &nr);
	TRY(rpma_cq_get_wc, "num_entries=0", w->c.cq, 0, wc, &nr);
	TRY(rpma_cq_get_wc, "num_entries=-1", w->c.cq, -1, wc, &nr);
	TRY(rpma_cq_get_wc, "num_entries=INT_MIN", w->c.cq, INT_MIN, wc, &nr);
	TRY(rpma_cq_get_wc, "num_entries=2 got=NULL", w->c.cq, 2, wc, NULL);
	TRY(rpma_cq_get_wc, "all NULL", NULL, 1, NULL, NULL);
}

static void empty(struct world *w)
{
	static const int nrs[] = { 1, 2, 4, INT_MAX };
	struct ibv_wc wc[4];
	int got_nr, fd, ret;

	for (size_t i = 0; i < ARRAY_SIZE(nrs); i++)
		if (edge("rpma_cq_get_wc", "empty, num_entries=%d", nrs[i])) {
			memset(wc, 0x55, sizeof(wc));
			got_nr = 77;
			ret = got(rpma_cq_get_wc(w->c.cq, nrs[i], wc, &got_nr));
			outcome(ret, "got=%s wc=%s", got_nr == 77 ? "kept" : "changed",
				wc[0].wr_id == 0x5555555555555555 ? "kept" : "changed");
		}
	TRY(rpma_cq_get_wc, "empty, got=NULL", w->c.cq, 1, wc, NULL);
	must(rpma_cq_get_fd(w->c.cq, &fd));
	if (edge("rpma_cq_get_fd", "poll, empty"))
		outcome(0, "readable=%d", readable(fd, 0));
	nonblock(fd);
	if (edge("rpma_cq_wait", "O_NONBLOCK, empty")) {
		ret = got(rpma_cq_wait(w->c.cq));
		outcome(ret, "errno=%s", edge_errno == EAGAIN ? "EAGAIN" : "another");
	}
}

static void fetching(struct world *w)
{
	static const int nrs[] = { 1, 2, 3, 4 };
	struct ibv_wc wc[4];
	int got_nr = 0, ret;

	if (edge("rpma_cq_get_wc", "one there, got=NULL")) {
		write_one(w, 1);
		must(rpma_cq_wait(w->c.cq));
		ret = got(rpma_cq_get_wc(w->c.cq, 1, wc, NULL));
		outcome(ret, "%s", wc_text(w->c.conn, wc));
	}
	for (size_t i = 0; i < ARRAY_SIZE(nrs); i++)
		if (edge("rpma_cq_get_wc", "three there, num_entries=%d", nrs[i])) {
			for (int j = 1; j <= 3; j++)
				write_one(w, j);
			usleep(300000);
			ret = got(rpma_cq_get_wc(w->c.cq, nrs[i], wc, &got_nr));
			outcome(ret, "got=%d first=%llu last=%llu", got_nr,
				(unsigned long long)wc[0].wr_id,
				(unsigned long long)wc[got_nr - 1].wr_id);
			while (!rpma_cq_get_wc(w->c.cq, 1, wc, NULL))
				;
		}
}

static void waiting(struct world *w)
{
	struct ibv_wc wc;
	int fd, ret;

	must(rpma_cq_get_fd(w->c.cq, &fd));
	if (edge("rpma_cq_get_fd", "poll, one there")) {
		write_one(w, 1);
		outcome(0, "readable=%d", readable(fd, 10000));
		must(rpma_cq_wait(w->c.cq));
		reap(w->c.cq);
	}
	if (edge("rpma_cq_wait", "one there")) {
		write_one(w, 2);
		ret = got(rpma_cq_wait(w->c.cq));
		wc = reap(w->c.cq);
		outcome(ret, "%s", wc_text(w->c.conn, &wc));
	}
	if (edge("rpma_cq_wait", "fetched already")) {
		write_one(w, 3);
		must(!readable(fd, 10000));
		reap(w->c.cq);
		outcome(got(rpma_cq_wait(w->c.cq)), NULL);
	}
	nonblock(fd);
	if (edge("rpma_cq_wait", "O_NONBLOCK, one there")) {
		write_one(w, 4);
		must(!readable(fd, 10000));
		ret = got(rpma_cq_wait(w->c.cq));
		wc = reap(w->c.cq);
		outcome(ret, "%s", wc_text(w->c.conn, &wc));
	}
	if (edge("rpma_cq_wait", "O_NONBLOCK, event consumed"))
		outcome(got(rpma_cq_wait(w->c.cq)), NULL);
	if (edge("rpma_cq_get_fd", "poll, event consumed"))
		outcome(0, "readable=%d", readable(fd, 0));
	if (edge("rpma_cq_get_fd", "poll, one there behind a waited one")) {
		write_one(w, 5);
		must(!readable(fd, 10000));
		must(rpma_cq_wait(w->c.cq));
		write_one(w, 6);
		usleep(300000);
		outcome(0, "readable=%d", readable(fd, 10000));
		reap(w->c.cq);
		reap(w->c.cq);
	}
}

static void world_rcq(struct world *w)
{
	world_listening(w);
	world_connect(w, cfg_with(10, 10, 10, 10));
}

/* With a receive queue of its own each side of things has its events. */
static void two_queues(struct world *w)
{
	struct rpma_cq *rcq = NULL;
	int fd, rfd, ret;
	struct ibv_wc wc;

	must(rpma_conn_get_rcq(w->c.conn, &rcq));
	must(rpma_cq_get_fd(w->c.cq, &fd));
	if (edge("rpma_cq_get_fd", "receive queue")) {
		ret = got(rpma_cq_get_fd(rcq, &rfd));
		outcome(ret, "%s", fd == rfd ? "the same" : "another");
	}
	must(rpma_cq_get_fd(rcq, &rfd));
	if (edge("rpma_cq_get_wc", "receive queue, empty"))
		outcome(got(rpma_cq_get_wc(rcq, 1, &wc, NULL)), NULL);
	if (edge("rpma_cq_wait", "receive queue, a message")) {
		must(rpma_recv(w->c.conn, w->c.mr, 0, 64, CONTEXT(1)));
		must(rpma_send(w->s.conn, w->s.mr, 0, 3, ON_ERROR, NULL));
		ret = got(rpma_cq_wait(rcq));
		wc = reap(rcq);
		outcome(ret, "%s main readable=%d", wc_text(w->c.conn, &wc), readable(fd, 0));
	}
	if (edge("rpma_cq_wait", "main queue, a write")) {
		write_one(w, 2);
		ret = got(rpma_cq_wait(w->c.cq));
		wc = reap(w->c.cq);
		outcome(ret, "%s receive readable=%d", wc_text(w->c.conn, &wc), readable(rfd, 0));
	}
}

const struct scene scenes_cq[] = {
	{ "cq_arguments", .run = arguments, .setup = world_connected },
	{ "cq_empty", .run = empty, .setup = world_connected },
	{ "cq_fetching", .run = fetching, .setup = world_connected },
	{ "cq_waiting", .run = waiting, .setup = world_connected },
	{ "cq_two", .run = two_queues, .setup = world_rcq },
	{ }
};
