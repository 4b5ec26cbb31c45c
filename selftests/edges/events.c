// SPDX-License-Identifier: GPL-2.0
/* What becomes of connections: events, disconnecting, deleting. */
#include "edges.h"

static void arguments(struct world *w)
{
	enum rpma_conn_event event = 77;
	struct rpma_conn *none = NULL;
	int fd, ret;

	TRY(rpma_conn_next_event, "conn=NULL", NULL, &event);
	TRY(rpma_conn_next_event, "event=NULL", w->c.conn, NULL);
	TRY(rpma_conn_next_event, "both NULL", NULL, NULL);
	TRY(rpma_conn_disconnect, "conn=NULL", NULL);
	TRY(rpma_conn_delete, "conn_ptr=NULL", NULL);
	TRY(rpma_conn_delete, "*conn_ptr=NULL", &none);
	must(rpma_conn_get_event_fd(w->c.conn, &fd));
	if (edge("rpma_conn_get_event_fd", "poll, nothing there"))
		outcome(0, "readable=%d", readable(fd, 0));
	nonblock(fd);
	if (edge("rpma_conn_next_event", "O_NONBLOCK, nothing there")) {
		event = 77;
		ret = got(rpma_conn_next_event(w->c.conn, &event));
		outcome(ret, "event=%s errno=%s", (int)event == 77 ? "kept" : event_name(event),
			edge_errno == EAGAIN ? "EAGAIN" : "another");
	}
	if (edge("rpma_conn_get_event_fd", "poll, the other side disconnected")) {
		must(rpma_conn_disconnect(w->s.conn));
		outcome(0, "readable=%d", readable(fd, 10000));
	}
	if (edge("rpma_conn_next_event", "O_NONBLOCK, the other side disconnected")) {
		must(!readable(fd, 10000));
		ret = got(rpma_conn_next_event(w->c.conn, &event));
		outcome(ret, "event=%s", event_name(event));
	}
	if (edge("rpma_conn_next_event", "O_NONBLOCK, after CLOSED")) {
		event = 77;
		ret = got(rpma_conn_next_event(w->c.conn, &event));
		outcome(ret, "event=%s", (int)event == 77 ? "kept" : event_name(event));
	}
}

static void first_event(struct world *w)
{
	struct rpma_conn_req *req = NULL;
	enum rpma_conn_event event;
	int fd, ret;

	if (edge("rpma_conn_next_event", "accepted, active side")) {
		req = world_knock(w, NULL);
		must(rpma_conn_req_connect(&req, NULL, &w->s.conn));
		ret = got(rpma_conn_next_event(w->c.conn, &event));
		outcome(ret, "event=%s", event_name(event));
	}
	if (edge("rpma_conn_next_event", "accepted, passive side")) {
		req = world_knock(w, NULL);
		must(rpma_conn_req_connect(&req, NULL, &w->s.conn));
		must(next_event(w->c.conn) != RPMA_CONN_ESTABLISHED);
		ret = got(rpma_conn_next_event(w->s.conn, &event));
		outcome(ret, "event=%s", event_name(event));
	}
	if (edge("rpma_conn_next_event", "accepted, the active side has not looked")) {
		req = world_knock(w, NULL);
		must(rpma_conn_req_connect(&req, NULL, &w->s.conn));
		outcome(0, "passive side hears %s", event_within(w->s.conn, 3000));
	}
	if (edge("rpma_conn_next_event", "rejected")) {
		req = world_knock(w, NULL);
		must(rpma_conn_req_delete(&req));
		ret = got(rpma_conn_next_event(w->c.conn, &event));
		outcome(ret, "event=%s", event_name(event));
	}
	if (edge("rpma_conn_next_event", "nobody listens")) {
		must(rpma_conn_req_new(w->peer, address(), "19999", NULL, &req));
		must(rpma_conn_req_connect(&req, NULL, &w->c.conn));
		ret = got(rpma_conn_next_event(w->c.conn, &event));
		outcome(ret, "event=%s", event_name(event));
	}
	if (edge("rpma_conn_next_event", "O_NONBLOCK, not answered yet")) {
		req = world_knock(w, NULL);
		must(rpma_conn_get_event_fd(w->c.conn, &fd));
		nonblock(fd);
		ret = got(rpma_conn_next_event(w->c.conn, &event));
		outcome(ret, "readable=%d", readable(fd, 0));
	}
}

/* A machine that drops all it gets: the handshake gives up after some minutes. */
static void nobody_answers(struct world *w)
{
	struct rpma_conn_req *req = NULL;

	if (edge("rpma_conn_next_event", "nobody answers")) {
		must(rpma_conn_req_new(w->peer, "10.7.7.99", port(), NULL, &req));
		must(rpma_conn_req_connect(&req, NULL, &w->c.conn));
		outcome(0, "event=%s", event_name(next_event(w->c.conn)));
	}
}

/* ---- the end ---- */

static void end_early(struct world *w)
{
	struct rpma_conn_req *req = NULL;
	const char *first;
	int fd;
	int ret;

	if (edge("rpma_conn_disconnect", "before the answer")) {
		req = world_knock(w, NULL);
		outcome(got(rpma_conn_disconnect(w->c.conn)), NULL);
	}
	if (edge("rpma_conn_disconnect", "accepted, event not read")) {
		req = world_knock(w, NULL);
		must(rpma_conn_req_connect(&req, NULL, &w->s.conn));
		must(rpma_conn_get_event_fd(w->c.conn, &fd));
		must(!readable(fd, 10000));
		ret = got(rpma_conn_disconnect(w->c.conn));
		first = event_within(w->c.conn, 3000);
		outcome(ret, "%s, there %s", first, event_within(w->s.conn, 3000));
	}
	if (edge("rpma_conn_disconnect", "rejected")) {
		req = world_knock(w, NULL);
		must(rpma_conn_req_delete(&req));
		must(next_event(w->c.conn) != RPMA_CONN_REJECTED);
		outcome(got(rpma_conn_disconnect(w->c.conn)), NULL);
	}
	if (edge("rpma_conn_delete", "before the answer")) {
		req = world_knock(w, NULL);
		ret = got(rpma_conn_delete(&w->c.conn));
		outcome(ret, "conn=%s", state_of(w->c.conn));
	}
	if (edge("rpma_conn_req_connect", "the other side gave up")) {
		struct rpma_conn *conn = POISON;

		req = world_knock(w, NULL);
		must(rpma_conn_delete(&w->c.conn));
		usleep(300000);
		ret = got(rpma_conn_req_connect(&req, NULL, &conn));
		outcome(ret, "req=%s", state_of(req));
	}
	if (edge("rpma_conn_delete", "rejected")) {
		req = world_knock(w, NULL);
		must(rpma_conn_req_delete(&req));
		must(next_event(w->c.conn) != RPMA_CONN_REJECTED);
		ret = got(rpma_conn_delete(&w->c.conn));
		outcome(ret, "conn=%s", state_of(w->c.conn));
	}
}

static void end_both(struct world *w)
{
	const char *there;
	int ret;

	if (edge("rpma_conn_disconnect", "ok")) {
		ret = got(rpma_conn_disconnect(w->c.conn));
		there = event_name(next_event(w->s.conn));
		must(rpma_conn_disconnect(w->s.conn));
		outcome(ret, "there %s, %s", there, event_name(next_event(w->c.conn)));
	}
	if (edge("rpma_conn_disconnect", "passive side")) {
		ret = got(rpma_conn_disconnect(w->s.conn));
		there = event_name(next_event(w->c.conn));
		must(rpma_conn_disconnect(w->c.conn));
		outcome(ret, "there %s, %s", there, event_name(next_event(w->s.conn)));
	}
	if (edge("rpma_conn_disconnect", "the other side does not follow")) {
		ret = got(rpma_conn_disconnect(w->c.conn));
		there = event_name(next_event(w->s.conn));
		outcome(ret, "there %s, %s", there, event_within(w->c.conn, 3000));
	}
	if (edge("rpma_conn_disconnect", "the other side is deleted")) {
		ret = got(rpma_conn_disconnect(w->c.conn));
		must(rpma_conn_delete(&w->s.conn));
		outcome(ret, "%s", event_name(next_event(w->c.conn)));
	}
	if (edge("rpma_conn_disconnect", "twice")) {
		must(rpma_conn_disconnect(w->c.conn));
		outcome(got(rpma_conn_disconnect(w->c.conn)), NULL);
	}
	if (edge("rpma_conn_disconnect", "after CLOSED")) {
		world_disconnect(w);
		outcome(got(rpma_conn_disconnect(w->c.conn)), NULL);
	}
	if (edge("rpma_conn_disconnect", "after CLOSED by the other side")) {
		world_disconnect(w);
		outcome(got(rpma_conn_disconnect(w->s.conn)), NULL);
	}
}

static void end_for_good(struct world *w)
{
	int ret;

	if (edge("rpma_conn_delete", "established")) {
		ret = got(rpma_conn_delete(&w->c.conn));
		outcome(ret, "conn=%s, there %s", state_of(w->c.conn),
			event_name(next_event(w->s.conn)));
	}
	if (edge("rpma_conn_delete", "disconnected, event not read")) {
		must(rpma_conn_disconnect(w->c.conn));
		ret = got(rpma_conn_delete(&w->c.conn));
		outcome(ret, "conn=%s, there %s", state_of(w->c.conn),
			event_name(next_event(w->s.conn)));
	}
	if (edge("rpma_conn_delete", "after CLOSED")) {
		world_disconnect(w);
		ret = got(rpma_conn_delete(&w->c.conn));
		outcome(ret, "conn=%s", state_of(w->c.conn));
	}
	if (edge("rpma_conn_delete", "twice")) {
		must(rpma_conn_delete(&w->c.conn));
		outcome(got(rpma_conn_delete(&w->c.conn)), NULL);
	}
	if (edge("rpma_conn_delete", "both sides, then peer and all")) {
		must(rpma_conn_delete(&w->c.conn));
		must(rpma_conn_delete(&w->s.conn));
		must(rpma_ep_shutdown(&w->ep));
		must(rpma_mr_dereg(&w->c.mr));
		must(rpma_mr_dereg(&w->s.mr));
		ret = got(rpma_peer_delete(&w->peer));
		outcome(ret, "peer=%s", state_of(w->peer));
	}
}

const struct scene scenes_events[] = {
	{ "event_arguments", .run = arguments, .setup = world_connected },
	{ "event_first", .run = first_event, .setup = world_listening, .apart = true },
	{ "event_unreachable", .run = nobody_answers, .setup = world_peer, .slow = true },
	{ "end_early", .run = end_early, .setup = world_listening, .apart = true },
	{ "end", .run = end_both, .setup = world_connected, .apart = true },
	{ "end_for_good", .run = end_for_good, .setup = world_connected, .apart = true },
	{ }
};
