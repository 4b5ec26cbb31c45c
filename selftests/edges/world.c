// SPDX-License-Identifier: GPL-2.0
/* What cases stand on: peers, regions, two ends of a connection; and names. */
#include "edges.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>

/* How long a completion may take that may not come at all. */
#define COMPLETION_MS 8000

#define NO_OPCODE 0x7f

const char *address(void)
{
	const char *addr = getenv("RPMA_TEST_ADDR4");

	return addr ? addr : "10.7.7.1";
}

/* Every child has its own: the last one's may still be on its way out. */
const char *port(void)
{
	static char text[8];

	snprintf(text, sizeof(text), "%d", 20000 + getpid() % 10000);
	return text;
}

/* ---- setting up ---- */

struct rpma_mr_local *region(struct world *w, void *ptr, size_t size, int usage)
{
	struct rpma_mr_local *mr = NULL;

	must(rpma_mr_reg(w->peer, ptr, size, usage, &mr));
	return mr;
}

struct rpma_mr_remote *remote_of(const struct rpma_mr_local *mr, int usage)
{
	struct rpma_mr_remote *remote = NULL;
	uint8_t desc[DESC_SIZE];

	must(rpma_mr_get_descriptor(mr, desc));
	if (usage >= 0)
		desc[DESC_SIZE - 1] = usage;
	must(rpma_mr_remote_from_descriptor(desc, sizeof(desc), &remote));
	return remote;
}

static void side_memory(struct world *w, struct side *side)
{
	side->buf = mmap(NULL, BUF_SIZE, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	must(side->buf == MAP_FAILED);
	side->mr = region(w, side->buf, BUF_SIZE, USAGE_MOST);
}

void world_peer(struct world *w)
{
	must(rpma_utils_get_ibv_context(address(), RPMA_UTIL_IBV_CONTEXT_LOCAL, &w->context));
	must(rpma_peer_new(w->context, &w->peer));
	side_memory(w, &w->c);
	side_memory(w, &w->s);
	w->c.remote = remote_of(w->s.mr, -1);
	w->s.remote = remote_of(w->c.mr, -1);
}

void world_listening(struct world *w)
{
	world_peer(w);
	must(rpma_ep_listen(w->peer, address(), port(), &w->ep));
}

void world_connected(struct world *w)
{
	world_listening(w);
	world_connect(w, NULL);
}

struct rpma_conn_req *world_knock(struct world *w, const struct rpma_conn_cfg *cfg)
{
	struct rpma_conn_req *req = NULL;

	must(rpma_conn_req_new(w->peer, address(), port(), cfg, &req));
	must(rpma_conn_req_connect(&req, NULL, &w->c.conn));
	must(rpma_ep_next_conn_req(w->ep, cfg, &req));
	return req;
}

void world_connect(struct world *w, const struct rpma_conn_cfg *cfg)
{
	struct rpma_conn_req *req = world_knock(w, cfg);

	must(rpma_conn_req_connect(&req, NULL, &w->s.conn));
	must(next_event(w->c.conn) != RPMA_CONN_ESTABLISHED);
	must(next_event(w->s.conn) != RPMA_CONN_ESTABLISHED);
	must(rpma_conn_get_cq(w->c.conn, &w->c.cq));
	must(rpma_conn_get_cq(w->s.conn, &w->s.cq));
}

/* librpma tells the one who began only when the other has followed. */
void world_disconnect(struct world *w)
{
	must(rpma_conn_disconnect(w->c.conn));
	must(next_event(w->s.conn) != RPMA_CONN_CLOSED);
	must(rpma_conn_disconnect(w->s.conn));
	must(next_event(w->c.conn) != RPMA_CONN_CLOSED);
}

struct rpma_conn_cfg *cfg_with(uint32_t sq, uint32_t rq, uint32_t cq, uint32_t rcq)
{
	struct rpma_conn_cfg *cfg = NULL;

	must(rpma_conn_cfg_new(&cfg));
	must(rpma_conn_cfg_set_sq_size(cfg, sq));
	must(rpma_conn_cfg_set_rq_size(cfg, rq));
	must(rpma_conn_cfg_set_cq_size(cfg, cq));
	must(rpma_conn_cfg_set_rcq_size(cfg, rcq));
	return cfg;
}

void apply_direct_write(struct rpma_conn *conn, bool direct)
{
	struct rpma_peer_cfg *pcfg = NULL;

	must(rpma_peer_cfg_new(&pcfg));
	must(rpma_peer_cfg_set_direct_write_to_pmem(pcfg, direct));
	must(rpma_conn_apply_remote_peer_cfg(conn, pcfg));
	must(rpma_peer_cfg_delete(&pcfg));
}

/* ---- waiting ---- */

int next_event(struct rpma_conn *conn)
{
	enum rpma_conn_event event = RPMA_CONN_UNDEFINED;

	must(rpma_conn_next_event(conn, &event));
	return event;
}

const char *event_within(struct rpma_conn *conn, int timeout_ms)
{
	int fd;

	must(rpma_conn_get_event_fd(conn, &fd));
	return readable(fd, timeout_ms) ? event_name(next_event(conn)) : "nothing";
}

int readable(int fd, int timeout_ms)
{
	struct pollfd pfd = { .fd = fd, .events = POLLIN };

	must(poll(&pfd, 1, timeout_ms) < 0);
	return !!(pfd.revents & POLLIN);
}

void nonblock(int fd)
{
	must(fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK));
}

struct ibv_wc reap(struct rpma_cq *cq)
{
	struct ibv_wc wc;
	int ret;

	memset(&wc, 0, sizeof(wc));
	while ((ret = rpma_cq_get_wc(cq, 1, &wc, NULL)) == RPMA_E_NO_COMPLETION)
		usleep(1000);
	must(ret);
	return wc;
}

static const char *complete(struct rpma_conn *conn, struct rpma_cq *cq, int ret, bool opcode)
{
	struct ibv_wc wc;

	if (ret)
		return "nothing posted";
	memset(&wc, 0, sizeof(wc));
	for (int i = 0; i < COMPLETION_MS; i++) {
		ret = rpma_cq_get_wc(cq, 1, &wc, NULL);
		if (ret != RPMA_E_NO_COMPLETION)
			break;
		usleep(1000);
	}
	if (ret == RPMA_E_NO_COMPLETION)
		return "no completion";
	must(ret);
	if (!opcode)
		wc.opcode = NO_OPCODE;
	return wc_text(conn, &wc);
}

const char *completion(struct rpma_conn *conn, struct rpma_cq *cq, int ret)
{
	return complete(conn, cq, ret, true);
}

const char *completion_but_opcode(struct rpma_conn *conn, struct rpma_cq *cq, int ret)
{
	return complete(conn, cq, ret, false);
}

const char *alive(struct world *w)
{
	struct ibv_wc wc;

	w->c.buf[0]++;
	if (rpma_write(w->c.conn, w->c.remote, 0, w->c.mr, 0, 1, ON_ERROR, CONTEXT(98)) ||
	    rpma_flush(w->c.conn, w->c.remote, 0, 8, VISIBILITY, ALWAYS, CONTEXT(99)))
		return "dead";
	do
		wc = reap(w->c.cq);
	while (wc.status == IBV_WC_SUCCESS && wc.wr_id != 99);
	return wc.status == IBV_WC_SUCCESS && w->c.buf[0] == w->s.buf[0] ? "alive" : "dead";
}

/* ---- names ---- */

const char *error_name(int ret)
{
	static const char *const names[] = {
		"RPMA_E_UNKNOWN", "RPMA_E_NOSUPP", "RPMA_E_PROVIDER", "RPMA_E_NOMEM",
		"RPMA_E_INVAL", "RPMA_E_NO_COMPLETION", "RPMA_E_NO_EVENT", "RPMA_E_AGAIN",
		"RPMA_E_SHARED_CHANNEL", "RPMA_E_NOT_SHARED_CHNL",
	};
	static char number[16];

	if (ret <= RPMA_E_UNKNOWN && ret > RPMA_E_UNKNOWN - (int)ARRAY_SIZE(names))
		return names[RPMA_E_UNKNOWN - ret];
	snprintf(number, sizeof(number), "%d", ret);
	return number;
}

const char *event_name(int event)
{
	static const char *const names[] = {
		"UNDEFINED", "ESTABLISHED", "CLOSED", "LOST", "REJECTED", "UNREACHABLE",
	};

	return event >= -1 && event <= 4 ? names[event + 1] : "?";
}

const char *state_of(const void *ptr)
{
	return !ptr ? "NULL" : ptr == POISON ? "kept" : "set";
}

static const char *opcode_name(int opcode)
{
	switch (opcode) {
	case IBV_WC_SEND: return "SEND";
	case IBV_WC_RDMA_WRITE: return "RDMA_WRITE";
	case IBV_WC_RDMA_READ: return "RDMA_READ";
	case IBV_WC_RECV: return "RECV";
	case IBV_WC_RECV_RDMA_WITH_IMM: return "RECV_RDMA_WITH_IMM";
	case 8: return "FLUSH";
	case 9: return "ATOMIC_WRITE";
	case NO_OPCODE: return "";
	default: return "?";
	}
}

static const char *status_name(int status)
{
	static const char *const names[] = {
		"SUCCESS", "LOC_LEN_ERR", "LOC_QP_OP_ERR", "LOC_EEC_OP_ERR", "LOC_PROT_ERR",
		"WR_FLUSH_ERR", "MW_BIND_ERR", "BAD_RESP_ERR", "LOC_ACCESS_ERR",
		"REM_INV_REQ_ERR", "REM_ACCESS_ERR", "REM_OP_ERR", "RETRY_EXC_ERR",
		"RNR_RETRY_EXC_ERR",
	};

	return status >= 0 && status < (int)ARRAY_SIZE(names) ? names[status] : "?";
}

/* Of a failed request only these fields mean something. */
const char *wc_text(const struct rpma_conn *conn, const struct ibv_wc *wc)
{
	static char texts[4][160];
	static unsigned int turn;
	char *text = texts[turn++ % 4], imm[32] = "";
	uint32_t qp_num = 0;

	must(rpma_conn_get_qp_num(conn, &qp_num));
	if (wc->status != IBV_WC_SUCCESS) {
		snprintf(text, 160, "wc=%s wr=%llu qp=%s", status_name(wc->status),
			 (unsigned long long)wc->wr_id, wc->qp_num == qp_num ? "ours" : "?");
		return text;
	}
	if (wc->wc_flags & IBV_WC_WITH_IMM && wc->opcode & IBV_WC_RECV)
		snprintf(imm, sizeof(imm), " imm=0x%x", ntohl(wc->imm_data));
	snprintf(text, 160, "wc=SUCCESS %s%slen=%u wr=%llu qp=%s%s", opcode_name(wc->opcode), *opcode_name(wc->opcode) ? " " : "",
		 wc->byte_len, (unsigned long long)wc->wr_id,
		 wc->qp_num == qp_num ? "ours" : "?", imm);
	return text;
}
