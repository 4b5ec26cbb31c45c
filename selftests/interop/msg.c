// SPDX-License-Identifier: GPL-2.0
/* Messages, immediates, and the queues where receives complete. */
#include "interop.h"

#define SIZE (128 << 10)

static const size_t sizes[] = { 0, 1, 4097, 65536 };

#define SIZES (sizeof(sizes) / sizeof(sizes[0]))

struct post {
	struct line l;
	struct memory m;
};

static void post_open(struct side *s, const struct rpma_conn_cfg *cfg, struct post *p)
{
	connect_line(s, cfg, &p->l);
	p->m = memory_new(s->peer, SIZE, RPMA_MR_USAGE_SEND | RPMA_MR_USAGE_RECV |
			  RPMA_MR_USAGE_WRITE_SRC | RPMA_MR_USAGE_WRITE_DST);
}

static void post_close(struct side *s, struct post *p)
{
	close_line(s, &p->l);
	memory_free(&p->m);
}

/* A RECV has completed: with this immediate if it came with one. */
static void check_recv(const struct ibv_wc *wc, size_t len, bool with_imm, uint32_t imm)
{
	IS(len, wc->byte_len);
	IS(with_imm, !!(wc->wc_flags & IBV_WC_WITH_IMM));
	if (with_imm)
		IS(imm, ntohl(wc->imm_data));
}

static uint32_t imm_of(unsigned int i)
{
	return 0x01020304u + i * 0x10000000u;
}

/* Messages of all sizes, one at a time, each with more room than it needs. */
static void one_way(struct side *s, struct post *p, bool receiver, bool with_imm)
{
	const struct rpma_mr_local *none = NULL;
	char *image = malloc(SIZE);

	for (unsigned int i = 0; i < SIZES; i++) {
		size_t len = sizes[i];

		if (receiver) {
			memset(p->m.ptr, 0, SIZE);
			OK(rpma_recv(p->l.conn, p->m.mr, 8, len + 10, CONTEXT(i)));
			SYNC();
			struct ibv_wc wc = EXPECT_WC(&p->l, p->l.cq, CONTEXT(i), IBV_WC_RECV);

			check_recv(&wc, len, with_imm, imm_of(i));
			memset(image, 0, SIZE);
			fill(image + 8, len, i);
			SAME(image, p->m.ptr, SIZE);
			continue;
		}
		fill(p->m.ptr, len, i);
		SYNC();
		if (with_imm)
			OK(rpma_send_with_imm(p->l.conn, len ? p->m.mr : none, 0, len, ALWAYS,
					      imm_of(i), CONTEXT(i)));
		else
			OK(rpma_send(p->l.conn, len ? p->m.mr : none, 0, len, ALWAYS, CONTEXT(i)));
		EXPECT_WC(&p->l, p->l.cq, CONTEXT(i), IBV_WC_SEND);
	}
	no_more(p->l.cq);
	free(image);
}

static void both_ways(struct side *s, bool with_imm)
{
	struct post p;

	post_open(s, NULL, &p);
	one_way(s, &p, s->server, with_imm);
	one_way(s, &p, !s->server, with_imm);
	post_close(s, &p);
}

static void send_messages(struct side *s)
{
	both_ways(s, false);
}

static void send_with_imm(struct side *s)
{
	both_ways(s, true);
}

/* The bytes go to the region, the immediate to a RECV without room. */
static void write_one_way(struct side *s, struct post *p, bool receiver)
{
	struct rpma_mr_remote *remote;
	struct ibv_wc wc;
	char image[128];

	fill(image, sizeof(image), 3);
	if (receiver) {
		memset(p->m.ptr, 0, 256);
		OK(rpma_recv(p->l.conn, NULL, 0, 0, CONTEXT(1)));
		offer(&p->m);
		wc = EXPECT_WC(&p->l, p->l.cq, CONTEXT(1), IBV_WC_RECV_RDMA_WITH_IMM);
		check_recv(&wc, 100, true, 0xfedcba98);
		SAME(image + 28, p->m.ptr + 101, 100);
		IS(0, p->m.ptr[100] | p->m.ptr[201]);
		return;
	}
	remote = take_offer();
	memcpy(p->m.ptr, image, sizeof(image));
	OK(rpma_write_with_imm(p->l.conn, remote, 101, p->m.mr, 28, 100, ALWAYS, 0xfedcba98,
			       CONTEXT(2)));
	EXPECT_WC(&p->l, p->l.cq, CONTEXT(2), IBV_WC_RDMA_WRITE);
	no_more(p->l.cq);
	OK(rpma_mr_remote_delete(&remote));
}

static void write_with_imm(struct side *s)
{
	struct post p;

	post_open(s, NULL, &p);
	write_one_way(s, &p, s->server);
	write_one_way(s, &p, !s->server);
	post_close(s, &p);
}

/* Nobody is ready to receive yet: the sender waits, and nothing is lost. */
static void send_before_recv(struct side *s)
{
	struct post p;

	post_open(s, NULL, &p);
	fill(p.m.ptr, 64, 1);
	if (!s->server) {
		OK(rpma_send(p.l.conn, p.m.mr, 0, 64, ALWAYS, CONTEXT(1)));
		no_more(p.l.cq);
	}
	SYNC();
	if (s->server) {
		OK(rpma_recv(p.l.conn, p.m.mr, 1000, 64, CONTEXT(2)));
		IS(64, EXPECT_WC(&p.l, p.l.cq, CONTEXT(2), IBV_WC_RECV).byte_len);
		SAME(p.m.ptr, p.m.ptr + 1000, 64);
	} else {
		EXPECT_WC(&p.l, p.l.cq, CONTEXT(1), IBV_WC_SEND);
	}
	post_close(s, &p);
}

/*
 * A completed SEND (1) and RECV (2) of @len bytes, which may come in either
 * order where both go to one queue.
 */
static void send_and_recv_done(const struct line *l, struct rpma_cq *cq, struct rpma_cq *rcq,
			       size_t len)
{
	struct ibv_wc wc[2] = { reap(cq), reap(rcq) };
	int first = wc[0].wr_id == (uintptr_t)CONTEXT(2);

	check_wc(__FILE__, __LINE__, &wc[first], l, CONTEXT(1), IBV_WC_SUCCESS, IBV_WC_SEND);
	check_wc(__FILE__, __LINE__, &wc[!first], l, CONTEXT(2), IBV_WC_SUCCESS, IBV_WC_RECV);
	IS(len, wc[!first].byte_len);
}

/* Both RECVs are posted before the handshake, so both may send right behind it. */
static void recv_before_connecting(struct side *s)
{
	struct memory m = memory_new(s->peer, 4096, RPMA_MR_USAGE_SEND | RPMA_MR_USAGE_RECV);
	struct rpma_conn_cfg *cfg = new_cfg();
	struct rpma_conn_req *req = request(s, cfg);
	struct line l;

	OK(rpma_conn_req_recv(req, m.mr, 100, 50, CONTEXT(2)));
	establish(req, NULL, &l);
	fill(m.ptr, 50, 5);
	OK(rpma_send(l.conn, m.mr, 0, 50, ALWAYS, CONTEXT(1)));
	send_and_recv_done(&l, l.cq, l.cq, 50);
	SAME(m.ptr, m.ptr + 100, 50);
	close_line(s, &l);
	memory_free(&m);
	OK(rpma_conn_cfg_delete(&cfg));
}

/* Both ends send to each other; RECVs complete in a queue of their own. */
static void receive_cq(struct side *s)
{
	struct rpma_conn_cfg *cfg = new_cfg();
	struct post p;

	OK(rpma_conn_cfg_set_rcq_size(cfg, 10));
	post_open(s, cfg, &p);
	TRUE(p.l.rcq && p.l.rcq != p.l.cq);
	OK(rpma_recv(p.l.conn, p.m.mr, 100, 50, CONTEXT(2)));
	SYNC();
	OK(rpma_send(p.l.conn, p.m.mr, 0, 50, ALWAYS, CONTEXT(1)));
	EXPECT_WC(&p.l, p.l.cq, CONTEXT(1), IBV_WC_SEND);
	IS(50, EXPECT_WC(&p.l, p.l.rcq, CONTEXT(2), IBV_WC_RECV).byte_len);
	no_more(p.l.cq);
	no_more(p.l.rcq);
	post_close(s, &p);
	OK(rpma_conn_cfg_delete(&cfg));
}

/* From the queue that the channel says; a wake-up may be for nothing. */
static struct ibv_wc reap_shared(struct line *l, bool *receive)
{
	struct rpma_cq *cq = NULL;
	struct ibv_wc wc;
	int ret;

	do {
		OK(rpma_conn_wait(l->conn, 0, &cq, receive));
		TRUE(cq == (*receive ? l->rcq : l->cq));
		ret = rpma_cq_get_wc(cq, 1, &wc, NULL);
	} while (ret == RPMA_E_NO_COMPLETION);
	OK(ret);
	return wc;
}

static void shared_channel(struct side *s)
{
	struct rpma_conn_cfg *cfg = new_cfg();
	int fd = -1, cq_fd = -1, rcq_fd = -1;
	struct post p;

	OK(rpma_conn_cfg_set_rcq_size(cfg, 10));
	OK(rpma_conn_cfg_set_compl_channel(cfg, true));
	post_open(s, cfg, &p);
	OK(rpma_conn_get_compl_fd(p.l.conn, &fd));
	OK(rpma_cq_get_fd(p.l.cq, &cq_fd));
	OK(rpma_cq_get_fd(p.l.rcq, &rcq_fd));
	TRUE(fd >= 0 && fd == cq_fd && fd == rcq_fd);
	IS(RPMA_E_SHARED_CHANNEL, rpma_cq_wait(p.l.cq));
	OK(rpma_recv(p.l.conn, p.m.mr, 100, 50, CONTEXT(2)));
	SYNC();
	OK(rpma_send(p.l.conn, p.m.mr, 0, 50, ALWAYS, CONTEXT(1)));
	for (int i = 0; i < 2; i++) {
		bool receive = false;
		struct ibv_wc wc = reap_shared(&p.l, &receive);

		check_wc(__FILE__, __LINE__, &wc, &p.l, CONTEXT(receive ? 2 : 1), IBV_WC_SUCCESS,
			 receive ? IBV_WC_RECV : IBV_WC_SEND);
	}
	no_more(p.l.cq);
	no_more(p.l.rcq);
	post_close(s, &p);
	OK(rpma_conn_cfg_delete(&cfg));
}

/* ---- shared receive queues ---- */

#define LINES 2
#define EACH 3

/* The holder has one queue of RECVs for two connections, which take them in turn. */
static void srq_holder(struct rpma_srq *srq, struct memory *m, struct line l[LINES])
{
	struct rpma_cq *own = NULL;
	char image[32];

	OK(rpma_srq_get_rcq(srq, &own));
	for (int i = 0; i < LINES * EACH; i++)
		OK(rpma_srq_recv(srq, m->mr, i * 32, 32, CONTEXT(i)));
	SYNC();
	for (int i = 0; i < LINES * EACH; i++) {
		int from = i % LINES;
		struct ibv_wc wc = EXPECT_WC(&l[from], own ? own : l[from].cq, CONTEXT(i),
					     IBV_WC_RECV);

		check_recv(&wc, 32, true, imm_of(i));
		fill(image, 32, i);
		SAME(image, m->ptr + i * 32, 32);
		SYNC();
	}
}

static void srq_sender(struct side *s, struct memory *m, struct line l[LINES])
{
	SYNC();
	for (int i = 0; i < LINES * EACH; i++) {
		fill(m->ptr, 32, i);
		OK(rpma_send_with_imm(l[i % LINES].conn, m->mr, 0, 32, ALWAYS, imm_of(i),
				      CONTEXT(i)));
		EXPECT_WC(&l[i % LINES], l[i % LINES].cq, CONTEXT(i), IBV_WC_SEND);
		SYNC();
	}
}

static void shared_recv_queue(struct side *s, bool holder, uint32_t rcq_size)
{
	struct memory m = memory_new(s->peer, 4096, RPMA_MR_USAGE_SEND | RPMA_MR_USAGE_RECV);
	struct rpma_conn_cfg *cfg = new_cfg();
	struct rpma_srq_cfg *srq_cfg = NULL;
	struct rpma_srq *srq = NULL;
	struct line l[LINES];

	if (holder) {
		OK(rpma_srq_cfg_new(&srq_cfg));
		OK(rpma_srq_cfg_set_rq_size(srq_cfg, LINES * EACH));
		OK(rpma_srq_cfg_set_rcq_size(srq_cfg, rcq_size));
		OK(rpma_srq_new(s->peer, srq_cfg, &srq));
		OK(rpma_srq_cfg_delete(&srq_cfg));
		OK(rpma_conn_cfg_set_srq(cfg, srq));
	}
	for (int i = 0; i < LINES; i++)
		connect_line(s, cfg, &l[i]);
	if (holder)
		srq_holder(srq, &m, l);
	else
		srq_sender(s, &m, l);
	for (int i = 0; i < LINES; i++)
		close_line(s, &l[i]);
	if (holder)
		OK(rpma_srq_delete(&srq));
	memory_free(&m);
	OK(rpma_conn_cfg_delete(&cfg));
}

static void srq_of_server(struct side *s)
{
	shared_recv_queue(s, s->server, 10);
}

static void srq_of_client(struct side *s)
{
	shared_recv_queue(s, !s->server, 10);
}

static void srq_without_rcq(struct side *s)
{
	shared_recv_queue(s, s->server, 0);
}

const struct scenario msg_scenarios[] = {
	{ "send", send_messages, 0 },
	{ "send_with_imm", send_with_imm, 0 },
	{ "write_with_imm", write_with_imm, 0 },
	{ "send_before_recv", send_before_recv, 0 },
	{ "recv_before_connecting", recv_before_connecting, 0 },
	{ "receive_cq", receive_cq, 0 },
	{ "shared_channel", shared_channel, 0 },
	{ "srq_of_server", srq_of_server, 0 },
	{ "srq_of_client", srq_of_client, 0 },
	{ "srq_without_rcq", srq_without_rcq, 0 },
	{ 0 }
};
