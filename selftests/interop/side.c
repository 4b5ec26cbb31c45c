// SPDX-License-Identifier: GPL-2.0
/* Memory, connections and completions of one side. */
#include <sys/mman.h>

#include "interop.h"

/* ---- memory ---- */

struct rpma_peer *new_peer(const struct side *s)
{
	struct ibv_context *context = NULL;
	struct rpma_peer *peer = NULL;

	OK(rpma_utils_get_ibv_context(s->addr, s->server ? RPMA_UTIL_IBV_CONTEXT_LOCAL :
							   RPMA_UTIL_IBV_CONTEXT_REMOTE,
				      &context));
	OK(rpma_peer_new(context, &peer));
	return peer;
}

struct memory memory_new(struct rpma_peer *peer, size_t size, int usage)
{
	struct memory m = { .size = size };

	m.ptr = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	TRUE(m.ptr != MAP_FAILED);
	OK(rpma_mr_reg(peer, m.ptr, size, usage, &m.mr));
	return m;
}

void memory_free(struct memory *m)
{
	OK(rpma_mr_dereg(&m->mr));
	IS(0, munmap(m->ptr, m->size));
}

void fill(void *ptr, size_t size, unsigned int seed)
{
	unsigned char *p = ptr;

	/* Seeds are small, and what the bytes are made of is far above their bits. */
	seed *= 0x85ebca6bu;
	for (size_t i = 0; i < size; i++)
		p[i] = (seed += 0x9e3779b1u) >> 24;
}

void offer(const struct memory *m)
{
	char desc[DESC_SIZE];

	OK(rpma_mr_get_descriptor(m->mr, desc));
	put(desc, sizeof(desc));
}

struct rpma_mr_remote *take_offer(void)
{
	struct rpma_mr_remote *remote = NULL;
	char desc[DESC_SIZE];

	get(desc, sizeof(desc));
	OK(rpma_mr_remote_from_descriptor(desc, sizeof(desc), &remote));
	return remote;
}

/* ---- connections ---- */

struct rpma_conn_cfg *new_cfg(void)
{
	struct rpma_conn_cfg *cfg = NULL;

	OK(rpma_conn_cfg_new(&cfg));
	OK(rpma_conn_cfg_set_timeout(cfg, 10000));
	return cfg;
}

struct rpma_conn_req *request(struct side *s, const struct rpma_conn_cfg *cfg)
{
	struct rpma_conn_req *req = NULL;

	if (s->server)
		OK(rpma_ep_next_conn_req(s->ep, cfg, &req));
	else
		OK(rpma_conn_req_new(s->peer, s->addr, s->port, cfg, &req));
	return req;
}

void event_is(struct rpma_conn *conn, enum rpma_conn_event want)
{
	enum rpma_conn_event event = RPMA_CONN_UNDEFINED;

	OK(rpma_conn_next_event(conn, &event));
	if (event != want)
		die(__FILE__, __LINE__, "the event is \"%s\", not \"%s\"",
		    rpma_utils_conn_event_2str(event), rpma_utils_conn_event_2str(want));
}

void adopt(struct rpma_conn *conn, struct line *l)
{
	*l = (struct line) { .conn = conn };
	event_is(conn, RPMA_CONN_ESTABLISHED);
	OK(rpma_conn_get_cq(conn, &l->cq));
	OK(rpma_conn_get_rcq(conn, &l->rcq));
	OK(rpma_conn_get_qp_num(conn, &l->qp_num));
}

void establish(struct rpma_conn_req *req, const struct rpma_conn_private_data *pdata,
	       struct line *l)
{
	struct rpma_conn *conn = NULL;

	OK(rpma_conn_req_connect(&req, pdata, &conn));
	TRUE(req == NULL);
	adopt(conn, l);
}

void connect_line(struct side *s, const struct rpma_conn_cfg *cfg, struct line *l)
{
	struct rpma_conn_cfg *defaults = NULL;

	if (!cfg)
		cfg = defaults = new_cfg();
	establish(request(s, cfg), NULL, l);
	OK(rpma_conn_cfg_delete(&defaults));
}

void disconnect_line(const struct side *s, bool by_server, struct line *l)
{
	SYNC();
	if (s->server == by_server)
		OK(rpma_conn_disconnect(l->conn));
	event_is(l->conn, RPMA_CONN_CLOSED);
	if (s->server != by_server)
		OK(rpma_conn_disconnect(l->conn));
}

void close_line(const struct side *s, struct line *l)
{
	disconnect_line(s, false, l);
	OK(rpma_conn_delete(&l->conn));
	TRUE(l->conn == NULL);
}

/* ---- completions ---- */

/* A wake-up may be for nothing. */
struct ibv_wc reap(struct rpma_cq *cq)
{
	struct ibv_wc wc = { 0 };
	int ret;

	while ((ret = rpma_cq_get_wc(cq, 1, &wc, NULL)) == RPMA_E_NO_COMPLETION)
		OK(rpma_cq_wait(cq));
	OK(ret);
	return wc;
}

void check_wc(const char *file, int line, const struct ibv_wc *wc, const struct line *l,
	      const void *context, enum ibv_wc_status status, unsigned int opcode)
{
	if (wc->wr_id != (uintptr_t)context || wc->status != status ||
	    wc->qp_num != l->qp_num || (status == IBV_WC_SUCCESS && wc->opcode != opcode))
		die(file, line, "completion %#llx status %d opcode %d queue pair %u, "
		    "not %#llx status %d opcode %u queue pair %u",
		    (unsigned long long)wc->wr_id, wc->status, wc->opcode, wc->qp_num,
		    (unsigned long long)(uintptr_t)context, status, opcode, l->qp_num);
}

void no_more(struct rpma_cq *cq)
{
	struct ibv_wc wc;

	IS(RPMA_E_NO_COMPLETION, rpma_cq_get_wc(cq, 1, &wc, NULL));
}
