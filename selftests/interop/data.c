// SPDX-License-Identifier: GPL-2.0
/* Reads and writes. Flushes have their own file. */
#include "interop.h"

#define MIB (1UL << 20)
#define REGION (MIB + 8192)

static const struct range {
	size_t there, here, len;
} ranges[] = {
	{ 0, 0, 1 },
	{ 4095, 17, 2 },
	{ 8191, 1, 4096 },
	{ 3, 5, MIB },
	{ REGION - 1, REGION - 1, 1 },
};

#define RANGES (sizeof(ranges) / sizeof(ranges[0]))

/* What the server's memory holds at the end. */
static void write_read_image(char *image, char *scratch)
{
	memset(image, 0, REGION);
	for (unsigned int i = 0; i < RANGES; i++) {
		fill(scratch, REGION, i);
		memcpy(image + ranges[i].there, scratch + ranges[i].here, ranges[i].len);
	}
}

static void write_read_server(struct side *s, struct line *l)
{
	struct memory m = memory_new(s->peer, REGION,
				     RPMA_MR_USAGE_WRITE_DST | RPMA_MR_USAGE_READ_SRC);
	char *image = malloc(REGION), *scratch = malloc(REGION);

	write_read_image(image, scratch);
	offer(&m);
	SYNC();
	SAME(image, m.ptr, REGION);
	free(image);
	free(scratch);
	close_line(s, l);
	memory_free(&m);
}

static void write_read(struct side *s)
{
	struct memory from, to;
	struct rpma_mr_remote *remote;
	struct line l;

	connect_line(s, NULL, &l);
	if (s->server) {
		write_read_server(s, &l);
		return;
	}
	from = memory_new(s->peer, REGION, RPMA_MR_USAGE_WRITE_SRC);
	to = memory_new(s->peer, REGION, RPMA_MR_USAGE_READ_DST);
	remote = take_offer();
	for (unsigned int i = 0; i < RANGES; i++) {
		const struct range *r = &ranges[i];

		fill(from.ptr, REGION, i);
		OK(rpma_write(l.conn, remote, r->there, from.mr, r->here, r->len, ALWAYS,
			      CONTEXT(i)));
		EXPECT_WC(&l, l.cq, CONTEXT(i), IBV_WC_RDMA_WRITE);
		memset(to.ptr, 0, REGION);
		OK(rpma_read(l.conn, to.mr, r->here, remote, r->there, r->len, ALWAYS,
			     CONTEXT(100 + i)));
		IS(r->len, EXPECT_WC(&l, l.cq, CONTEXT(100 + i), IBV_WC_RDMA_READ).byte_len);
		SAME(from.ptr + r->here, to.ptr + r->here, r->len);
	}
	SYNC();
	no_more(l.cq);
	close_line(s, &l);
	OK(rpma_mr_remote_delete(&remote));
	memory_free(&from);
	memory_free(&to);
}

/* Legal, and a way to hear that earlier requests are done. */
static void nothing_at_all(struct side *s)
{
	struct line l;

	connect_line(s, NULL, &l);
	OK(rpma_write(l.conn, NULL, 0, NULL, 0, 0, ALWAYS, CONTEXT(1)));
	EXPECT_WC(&l, l.cq, CONTEXT(1), IBV_WC_RDMA_WRITE);
	OK(rpma_read(l.conn, NULL, 0, NULL, 0, 0, ALWAYS, CONTEXT(2)));
	EXPECT_WC(&l, l.cq, CONTEXT(2), IBV_WC_RDMA_READ);
	close_line(s, &l);
}

#define IN_FLIGHT 200

/* ---- one region there, one here ---- */

#define PAGE 4096

struct pages {
	struct line l;
	struct memory m;
	struct rpma_mr_remote *remote;	/* the client's view of the server's */
};

/* The client's memory is filled, the server's is empty. */
static void pages_open(struct side *s, struct pages *p, int usage)
{
	connect_line(s, NULL, &p->l);
	p->m = memory_new(s->peer, PAGE, s->server ? usage : RPMA_MR_USAGE_WRITE_SRC |
							     RPMA_MR_USAGE_READ_DST);
	p->remote = NULL;
	if (s->server) {
		offer(&p->m);
		return;
	}
	p->remote = take_offer();
	fill(p->m.ptr, PAGE, 1);
}

static void pages_close(struct side *s, struct pages *p)
{
	close_line(s, &p->l);
	OK(rpma_mr_remote_delete(&p->remote));
	memory_free(&p->m);
}

/* Of many writes, only those that asked for it are reported. */
static void unsignaled(struct side *s)
{
	char image[PAGE];
	struct pages p;

	pages_open(s, &p, RPMA_MR_USAGE_WRITE_DST);
	if (!s->server) {
		for (int i = 0; i < PAGE / 512; i++)
			OK(rpma_write(p.l.conn, p.remote, i * 512, p.m.mr, i * 512, 512,
				      i == PAGE / 512 - 1 ? ALWAYS : ON_ERROR, CONTEXT(i)));
		EXPECT_WC(&p.l, p.l.cq, CONTEXT(PAGE / 512 - 1), IBV_WC_RDMA_WRITE);
		no_more(p.l.cq);
	}
	SYNC();
	if (s->server) {
		fill(image, PAGE, 1);
		SAME(image, p.m.ptr, PAGE);
	}
	pages_close(s, &p);
}

/* librpma does it by an ATOMIC WRITE where the adapter has that, ours by a WRITE. */
static void atomic_write(struct side *s)
{
	static const size_t places[] = { 0, 8, 4088 };
	unsigned int opcode = s->ours ? IBV_WC_RDMA_WRITE : IBV_WC_ATOMIC_WRITE;
	char image[PAGE] = { 0 };
	struct pages p;

	pages_open(s, &p, RPMA_MR_USAGE_WRITE_DST);
	for (int i = 0; i < 3; i++) {
		fill(image + places[i], 8, i);
		if (s->server)
			continue;
		OK(rpma_atomic_write(p.l.conn, p.remote, places[i], image + places[i], ALWAYS,
				     CONTEXT(i)));
		EXPECT_WC(&p.l, p.l.cq, CONTEXT(i), opcode);
	}
	if (!s->server)
		IS(RPMA_E_INVAL, rpma_atomic_write(p.l.conn, p.remote, 4, image, ALWAYS, NULL));
	SYNC();
	if (s->server)
		SAME(image, p.m.ptr, PAGE);
	pages_close(s, &p);
}

/* More reads at once than the two sides agreed to have on the wire. */
static void reads_in_flight(struct side *s)
{
	struct rpma_conn_cfg *cfg = new_cfg();
	struct rpma_mr_remote *remote = NULL;
	struct memory m;
	struct line l;

	OK(rpma_conn_cfg_set_sq_size(cfg, IN_FLIGHT));
	OK(rpma_conn_cfg_set_cq_size(cfg, IN_FLIGHT));
	connect_line(s, cfg, &l);
	m = memory_new(s->peer, IN_FLIGHT * 8, s->server ? RPMA_MR_USAGE_READ_SRC :
							   RPMA_MR_USAGE_READ_DST);
	if (s->server) {
		fill(m.ptr, m.size, 1);
		offer(&m);
	} else {
		char image[IN_FLIGHT * 8];

		remote = take_offer();
		for (int i = 0; i < IN_FLIGHT; i++)
			OK(rpma_read(l.conn, m.mr, i * 8, remote, i * 8, 8, ALWAYS, CONTEXT(i)));
		for (int i = 0; i < IN_FLIGHT; i++)
			EXPECT_WC(&l, l.cq, CONTEXT(i), IBV_WC_RDMA_READ);
		fill(image, sizeof(image), 1);
		SAME(image, m.ptr, sizeof(image));
	}
	close_line(s, &l);
	OK(rpma_mr_remote_delete(&remote));
	memory_free(&m);
	OK(rpma_conn_cfg_delete(&cfg));
}

/* ---- what the server did not allow ---- */

/* librpma asks the other side, which ends the connection. Ours knows before. */
static void refused(struct pages *p, bool ours, int ret, int want)
{
	if (ours) {
		IS(want, ret);
		no_more(p->l.cq);
		OK(rpma_write(p->l.conn, p->remote, 0, p->m.mr, 0, 8, ALWAYS, CONTEXT(2)));
		EXPECT_WC(&p->l, p->l.cq, CONTEXT(2), IBV_WC_RDMA_WRITE);
	} else {
		IS(0, ret);
		EXPECT_ERROR(&p->l, p->l.cq, CONTEXT(1), IBV_WC_REM_ACCESS_ERR);
	}
}

static void read_of_write_only(struct side *s)
{
	struct pages p;

	pages_open(s, &p, RPMA_MR_USAGE_WRITE_DST);
	if (!s->server)
		refused(&p, s->ours, rpma_read(p.l.conn, p.m.mr, 0, p.remote, 0, 8, ALWAYS,
					       CONTEXT(1)), RPMA_E_PROVIDER);
	pages_close(s, &p);
}

static void write_beyond_the_end(struct side *s)
{
	struct pages p;

	pages_open(s, &p, RPMA_MR_USAGE_WRITE_DST);
	if (!s->server)
		refused(&p, s->ours, rpma_write(p.l.conn, p.remote, PAGE - 7, p.m.mr, 0, 8, ALWAYS,
						CONTEXT(1)), RPMA_E_INVAL);
	pages_close(s, &p);
}

const struct scenario data_scenarios[] = {
	{ "write_read", write_read, 0 },
	{ "nothing_at_all", nothing_at_all, 0 },
	{ "unsignaled", unsignaled, 0 },
	{ "atomic_write", atomic_write, 0 },
	{ "reads_in_flight", reads_in_flight, 0 },
	{ "read_of_write_only", read_of_write_only, 0 },
	{ "write_beyond_the_end", write_beyond_the_end, 0 },
	{ 0 }
};
