// SPDX-License-Identifier: GPL-2.0
/* Connections: what they tell of themselves, and the channel of two queues. */
#include "edges.h"

static void getters(struct world *w)
{
	struct rpma_conn_private_data pdata = { POISON, 77 };
	struct rpma_conn *conn = w->c.conn;
	struct rpma_cq *cq = POISON;
	uint32_t nr = 0, other = 0;
	int fd = -1, ret;

	TRY(rpma_conn_get_event_fd, "conn=NULL", NULL, &fd);
	TRY(rpma_conn_get_event_fd, "fd=NULL", conn, NULL);
	TRY(rpma_conn_get_event_fd, "both NULL", NULL, NULL);
	TRY(rpma_conn_get_private_data, "conn=NULL", NULL, &pdata);
	TRY(rpma_conn_get_private_data, "pdata=NULL", conn, NULL);
	TRY(rpma_conn_get_private_data, "both NULL", NULL, NULL);
	TRY(rpma_conn_get_qp_num, "conn=NULL", NULL, &nr);
	TRY(rpma_conn_get_qp_num, "qp_num=NULL", conn, NULL);
	TRY(rpma_conn_get_qp_num, "both NULL", NULL, NULL);
	TRY(rpma_conn_get_cq, "conn=NULL", NULL, &cq);
	TRY(rpma_conn_get_cq, "cq_ptr=NULL", conn, NULL);
	TRY(rpma_conn_get_cq, "both NULL", NULL, NULL);
	TRY(rpma_conn_get_rcq, "conn=NULL", NULL, &cq);
	TRY(rpma_conn_get_rcq, "rcq_ptr=NULL", conn, NULL);
	TRY(rpma_conn_get_rcq, "both NULL", NULL, NULL);
	TRY(rpma_conn_get_compl_fd, "conn=NULL", NULL, &fd);
	TRY(rpma_conn_get_compl_fd, "fd=NULL", conn, NULL);
	TRY(rpma_conn_get_compl_fd, "both NULL", NULL, NULL);
	if (edge("rpma_conn_get_qp_num", "of both sides")) {
		ret = got(rpma_conn_get_qp_num(conn, &nr) ||
			  rpma_conn_get_qp_num(w->s.conn, &other));
		outcome(ret, "%s", nr && other && nr != other ? "two numbers" : "?");
	}
	if (edge("rpma_conn_get_cq", "ok")) {
		ret = got(rpma_conn_get_cq(conn, &cq));
		outcome(ret, "cq=%s", state_of(cq));
	}
	if (edge("rpma_conn_get_rcq", "none configured")) {
		cq = POISON;
		ret = got(rpma_conn_get_rcq(conn, &cq));
		outcome(ret, "rcq=%s", state_of(cq));
	}
	if (edge("rpma_conn_get_compl_fd", "not shared")) {
		fd = 77;
		ret = got(rpma_conn_get_compl_fd(conn, &fd));
		outcome(ret, "fd=%s", fd == 77 ? "kept" : "changed");
	}
	if (edge("rpma_conn_get_event_fd", "ok")) {
		ret = got(rpma_conn_get_event_fd(conn, &fd));
		outcome(ret, "fd=%s", fd >= 0 && fd != 77 ? "some" : "none");
	}
	if (edge("rpma_conn_get_private_data", "none sent")) {
		ret = got(rpma_conn_get_private_data(conn, &pdata));
		outcome(ret, "ptr=%s len=%u", state_of(pdata.ptr), pdata.len);
	}
	if (edge("rpma_conn_get_private_data", "none sent, passive")) {
		pdata.ptr = POISON;
		ret = got(rpma_conn_get_private_data(w->s.conn, &pdata));
		outcome(ret, "ptr=%s len=%u", state_of(pdata.ptr), pdata.len);
	}
}

static void early_getters(struct world *w)
{
	struct rpma_conn_req *req = world_knock(w, NULL);
	struct rpma_conn_private_data pdata = { POISON, 77 };
	struct rpma_cq *cq = POISON;
	uint32_t nr = 0;
	int ret;

	if (edge("rpma_conn_get_qp_num", "before ESTABLISHED")) {
		ret = got(rpma_conn_get_qp_num(w->c.conn, &nr));
		outcome(ret, "nr=%s", nr ? "some" : "0");
	}
	if (edge("rpma_conn_get_cq", "before ESTABLISHED")) {
		ret = got(rpma_conn_get_cq(w->c.conn, &cq));
		outcome(ret, "cq=%s", state_of(cq));
	}
	if (edge("rpma_conn_get_private_data", "before ESTABLISHED")) {
		ret = got(rpma_conn_get_private_data(w->c.conn, &pdata));
		outcome(ret, "ptr=%s len=%u", state_of(pdata.ptr), pdata.len);
	}
	must(rpma_conn_req_delete(&req));
}

static void apply(struct world *w)
{
	struct rpma_peer_cfg *pcfg = NULL;

	must(rpma_peer_cfg_new(&pcfg));
	TRY(rpma_conn_apply_remote_peer_cfg, "conn=NULL", NULL, pcfg);
	TRY(rpma_conn_apply_remote_peer_cfg, "pcfg=NULL", w->c.conn, NULL);
	TRY(rpma_conn_apply_remote_peer_cfg, "both NULL", NULL, NULL);
	TRY(rpma_conn_apply_remote_peer_cfg, "ok", w->c.conn, pcfg);
	must(rpma_peer_cfg_set_direct_write_to_pmem(pcfg, true));
	TRY(rpma_conn_apply_remote_peer_cfg, "direct write", w->c.conn, pcfg);
	TRY(rpma_conn_apply_remote_peer_cfg, "twice", w->c.conn, pcfg);
}

static void apply_early(struct world *w)
{
	struct rpma_conn_req *req = world_knock(w, NULL);
	struct rpma_peer_cfg *pcfg = NULL;

	must(rpma_peer_cfg_new(&pcfg));
	TRY(rpma_conn_apply_remote_peer_cfg, "before ESTABLISHED", w->c.conn, pcfg);
	must(rpma_conn_req_connect(&req, NULL, &w->s.conn));
	must(next_event(w->c.conn) != RPMA_CONN_ESTABLISHED);
	must(next_event(w->s.conn) != RPMA_CONN_ESTABLISHED);
	world_disconnect(w);
	TRY(rpma_conn_apply_remote_peer_cfg, "after CLOSED", w->c.conn, pcfg);
}

/* ---- a channel for one queue ---- */

static void not_shared(struct world *w)
{
	struct rpma_cq *cq = POISON;
	bool is_rcq = false;
	int ret;

	TRY(rpma_conn_wait, "conn=NULL", NULL, 0, &cq, &is_rcq);
	TRY(rpma_conn_wait, "cq=NULL", w->c.conn, 0, NULL, &is_rcq);
	TRY(rpma_conn_wait, "all NULL", NULL, 0, NULL, NULL);
	if (edge("rpma_conn_wait", "not shared")) {
		ret = got(rpma_conn_wait(w->c.conn, 0, &cq, &is_rcq));
		outcome(ret, "cq=%s", state_of(cq));
	}
	TRY(rpma_conn_wait, "not shared, is_rcq=NULL", w->c.conn, 0, &cq, NULL);
	TRY(rpma_conn_wait, "not shared, flags", w->c.conn, RPMA_W_WAIT_FOR_COMPLETION, &cq,
	    &is_rcq);
}

/* ---- a channel for two ---- */

static void world_shared(struct world *w, uint32_t rcq)
{
	struct rpma_conn_cfg *cfg = cfg_with(10, 10, 10, rcq);

	must(rpma_conn_cfg_set_compl_channel(cfg, true));
	world_listening(w);
	world_connect(w, cfg);
}

static void with_rcq(struct world *w)
{
	world_shared(w, 10);
}


/* Only these cases may block for ever, so a completion is on its way. */
static void wait_one(struct world *w, const char *name, int flags, bool want_is_rcq)
{
	struct rpma_cq *cq = POISON, *rcq = NULL;
	bool is_rcq = true;
	int ret;

	if (!edge("rpma_conn_wait", "%s", name))
		return;
	must(rpma_write(w->c.conn, w->c.remote, 0, w->c.mr, 0, 1, ALWAYS, CONTEXT(1)));
	ret = got(rpma_conn_wait(w->c.conn, flags, &cq, want_is_rcq ? &is_rcq : NULL));
	must(rpma_conn_get_rcq(w->c.conn, &rcq));
	outcome(ret, "%s is_rcq=%d", cq == w->c.cq ? "cq" : cq == rcq ? "rcq" : "?", is_rcq);
	reap(w->c.cq);
}

static void shared(struct world *w)
{
	struct rpma_cq *rcq = NULL, *cq = POISON;
	int fd = -1, same = -1, ret;

	if (edge("rpma_conn_get_compl_fd", "shared")) {
		ret = got(rpma_conn_get_compl_fd(w->c.conn, &fd));
		must(rpma_cq_get_fd(w->c.cq, &same));
		outcome(ret, "%s", fd == same ? "that of the queue" : "another");
	}
	must(rpma_conn_get_compl_fd(w->c.conn, &fd));
	must(rpma_conn_get_rcq(w->c.conn, &rcq));
	if (edge("rpma_conn_get_compl_fd", "poll, nothing there"))
		outcome(0, "readable=%d", readable(fd, 0));
	TRY(rpma_cq_wait, "shared channel", w->c.cq);
	if (rcq)
		TRY(rpma_cq_wait, "shared channel, receive queue", rcq);
	wait_one(w, "a write is done", 0, true);
	wait_one(w, "a write is done, flags=1", RPMA_W_WAIT_FOR_COMPLETION, true);
	wait_one(w, "a write is done, flags=-1", -1, true);
	wait_one(w, "a write is done, is_rcq=NULL", 0, false);
	if (edge("rpma_conn_get_compl_fd", "poll, a write is done")) {
		must(rpma_write(w->c.conn, w->c.remote, 0, w->c.mr, 0, 1, ALWAYS, CONTEXT(1)));
		outcome(0, "readable=%d", readable(fd, 10000));
		must(rpma_conn_wait(w->c.conn, 0, &cq, NULL));
		reap(w->c.cq);
	}
	nonblock(fd);
	if (edge("rpma_conn_wait", "O_NONBLOCK, nothing there")) {
		cq = POISON;
		ret = got(rpma_conn_wait(w->c.conn, 0, &cq, NULL));
		outcome(ret, "cq=%s errno=%s", state_of(cq),
			edge_errno == EAGAIN ? "EAGAIN" : "another");
	}
}

static void shared_receive(struct world *w)
{
	struct rpma_cq *rcq = NULL, *cq = POISON;
	bool is_rcq = false;
	int ret;

	must(rpma_conn_get_rcq(w->c.conn, &rcq));
	if (edge("rpma_conn_wait", "a message has come")) {
		struct ibv_wc wc;

		must(rpma_recv(w->c.conn, w->c.mr, 0, 64, CONTEXT(2)));
		must(rpma_send(w->s.conn, w->s.mr, 0, 5, ON_ERROR, NULL));
		ret = got(rpma_conn_wait(w->c.conn, 0, &cq, &is_rcq));
		must(cq != rcq);
		wc = reap(rcq);
		outcome(ret, "rcq is_rcq=%d %s", is_rcq, wc_text(w->c.conn, &wc));
	}
}

const struct scene scenes_conn[] = {
	{ "conn_getters", .run = getters, .setup = world_connected },
	{ "conn_early", .run = early_getters, .setup = world_listening },
	{ "conn_apply", .run = apply, .setup = world_connected },
	{ "conn_apply_early", .run = apply_early, .setup = world_listening },
	{ "conn_not_shared", .run = not_shared, .setup = world_connected },
	{ "conn_shared", .run = shared, .setup = with_rcq },
	{ "conn_shared_receive", .run = shared_receive, .setup = with_rcq },
	{ }
};
