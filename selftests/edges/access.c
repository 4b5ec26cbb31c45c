// SPDX-License-Identifier: GPL-2.0
/* Every request against regions of every usage, and on connections in every state. */
#include "edges.h"

enum op { READ, WRITE, ATOMIC, FLUSH, SEND, NR_OPS };

static const char *const functions[] = {
	"rpma_read", "rpma_write", "rpma_atomic_write", "rpma_flush", "rpma_send",
};

static int request(struct world *w, enum op op, struct rpma_mr_local *local,
		   struct rpma_mr_remote *remote, int flags)
{
	struct rpma_conn *conn = w->c.conn;

	switch (op) {
	case READ:
		return got(rpma_read(conn, local, 0, remote, 0, 8, flags, CONTEXT(7)));
	case WRITE:
		return got(rpma_write(conn, remote, 0, local, 0, 8, flags, CONTEXT(7)));
	case ATOMIC:
		return got(rpma_atomic_write(conn, remote, 0, "12345678", flags, CONTEXT(7)));
	case FLUSH:
		return got(rpma_flush(conn, remote, 0, 8, VISIBILITY, flags, CONTEXT(7)));
	default:
		return got(rpma_send(conn, local, 0, 8, flags, CONTEXT(7)));
	}
}

static const char *const usages[] = {
	"READ_SRC", "READ_DST", "WRITE_SRC", "WRITE_DST", "VISIBILITY", "PERSISTENT", "SEND",
	"RECV",
};

static void at_remote(struct world *w)
{
	for (enum op op = READ; op <= ATOMIC; op++)
		for (int bit = 0; bit < 8; bit++) {
			struct rpma_mr_local *mr;
			const char *wc;
			int ret;

			if (1 << bit == P || !edge(functions[op], "remote region with %s only",
						   usages[bit]))
				continue;
			mr = region(w, w->s.buf, 4096, 1 << bit);
			ret = request(w, op, w->c.mr, remote_of(mr, -1), ALWAYS);
			wc = completion_but_opcode(w->c.conn, w->c.cq, ret);
			outcome(ret, "%s, then %s", wc, alive(w));
		}
}

static void at_local(struct world *w)
{
	static const enum op ops[] = { READ, WRITE, SEND };

	for (size_t i = 0; i < ARRAY_SIZE(ops); i++)
		for (int bit = 0; bit < 8; bit++) {
			struct rpma_mr_local *mr;
			const char *wc;
			int ret;

			if (1 << bit == P || !edge(functions[ops[i]],
						   "local region with %s only", usages[bit]))
				continue;
			mr = region(w, w->c.buf + 8192, 4096, 1 << bit);
			if (ops[i] == SEND)
				must(rpma_recv(w->s.conn, w->s.mr, 0, 64, NULL));
			ret = request(w, ops[i], mr, w->c.remote, ALWAYS);
			wc = completion(w->c.conn, w->c.cq, ret);
			outcome(ret, "%s, then %s", wc, alive(w));
		}
}

static void at_receive(struct world *w)
{
	for (int bit = 0; bit < 8; bit++) {
		struct rpma_mr_local *mr;
		struct ibv_wc wc, sent;
		int ret;

		if (1 << bit == P || !edge("rpma_recv", "region with %s only", usages[bit]))
			continue;
		mr = region(w, w->s.buf, 4096, 1 << bit);
		ret = got(rpma_recv(w->s.conn, mr, 0, 64, CONTEXT(3)));
		if (ret) {
			outcome(ret, "nothing posted, then %s", alive(w));
			continue;
		}
		must(rpma_send(w->c.conn, w->c.mr, 0, 8, ALWAYS, CONTEXT(7)));
		wc = reap(w->s.cq);
		sent = reap(w->c.cq);
		outcome(ret, "%s, there %s", wc_text(w->s.conn, &wc), wc_text(w->c.conn, &sent));
	}
}

/* ---- the state of the connection ---- */

static void in_state(struct world *w, const char *state, bool reported)
{
	for (enum op op = READ; op < NR_OPS; op++)
		for (int flags = ON_ERROR; flags <= ALWAYS; flags += 2)
			if (edge(functions[op], "%s flags=%d", state, flags)) {
				int ret = request(w, op, w->c.mr, w->c.remote, flags);

				if (reported)
					outcome(ret, "%s", completion(w->c.conn, w->c.cq, ret));
				else
					outcome(ret, NULL);
			}
	if (edge("rpma_recv", "%s", state)) {
		/* The adapter may still be aborting the others, and this one with them. */
		usleep(2000000);
		int ret = got(rpma_recv(w->c.conn, w->c.mr, 0, 8, CONTEXT(7)));

		if (reported)
			outcome(ret, "%s", completion(w->c.conn, w->c.cq, ret));
		else
			outcome(ret, NULL);
	}
}

static void early(struct world *w)
{
	world_knock(w, NULL);
	in_state(w, "before ESTABLISHED", false);
}

/* The handshake is over, only nobody has read the event. */
static void unread(struct world *w)
{
	struct rpma_conn_req *req = world_knock(w, NULL);
	int fd;

	must(rpma_conn_req_connect(&req, NULL, &w->s.conn));
	must(rpma_conn_get_event_fd(w->c.conn, &fd));
	must(!readable(fd, 10000));
	must(rpma_conn_get_cq(w->c.conn, &w->c.cq));
	if (edge("rpma_write", "ESTABLISHED not read")) {
		int ret = request(w, WRITE, w->c.mr, w->c.remote, ALWAYS);

		outcome(ret, "%s", completion(w->c.conn, w->c.cq, ret));
	}
}

static void closed(struct world *w)
{
	world_disconnect(w);
	in_state(w, "after CLOSED", true);
}

static void failed(struct world *w)
{
	struct rpma_mr_local *mr = region(w, w->s.buf, 4096, USAGE_MOST);
	struct rpma_mr_remote *gone = remote_of(mr, -1);

	must(rpma_mr_dereg(&mr));
	must(rpma_write(w->c.conn, gone, 0, w->c.mr, 0, 8, ALWAYS, CONTEXT(1)));
	must(reap(w->c.cq).status != IBV_WC_REM_ACCESS_ERR);
	in_state(w, "after an error", true);
}

/* What was posted before the end has a completion each. */
static void in_flight(struct world *w)
{
	struct ibv_wc wc;
	int ret;

	if (edge("rpma_recv", "posted before the other side disconnects")) {
		ret = got(rpma_recv(w->c.conn, w->c.mr, 0, 64, CONTEXT(3)));
		must(rpma_conn_disconnect(w->s.conn));
		must(next_event(w->c.conn) != RPMA_CONN_CLOSED);
		outcome(ret, "%s", completion(w->c.conn, w->c.cq, ret));
	}
	if (edge("rpma_recv", "posted before disconnecting")) {
		ret = got(rpma_recv(w->c.conn, w->c.mr, 0, 64, CONTEXT(3)));
		world_disconnect(w);
		wc = reap(w->c.cq);
		outcome(ret, "%s", wc_text(w->c.conn, &wc));
	}
	if (edge("rpma_write", "completed, fetched after CLOSED")) {
		ret = request(w, WRITE, w->c.mr, w->c.remote, ALWAYS);
		usleep(300000);
		world_disconnect(w);
		wc = reap(w->c.cq);
		outcome(ret, "%s", wc_text(w->c.conn, &wc));
	}
}

const struct scene scenes_access[] = {
	{ "access_remote", .run = at_remote, .setup = world_connected, .apart = true },
	{ "access_local", .run = at_local, .setup = world_connected, .apart = true },
	{ "access_receive", .run = at_receive, .setup = world_connected, .apart = true },
	{ "state_early", .run = early, .setup = world_listening },
	{ "state_unread", .run = unread, .setup = world_listening },
	{ "state_closed", .run = closed, .setup = world_connected },
	{ "state_failed", .run = failed, .setup = world_connected },
	{ "state_in_flight", .run = in_flight, .setup = world_connected, .apart = true },
	{ }
};
