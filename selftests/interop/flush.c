// SPDX-License-Identifier: GPL-2.0
/*
 * Flushes. librpma on rxe flushes natively, and a region of it that is for
 * flushes grants no READ. Our client flushes by READ, so of such a region it
 * says at once that it cannot. Our server's regions serve both.
 */
#include <fcntl.h>
#include <sys/mman.h>

#include "interop.h"

#define SIZE 8195
#define DAX_SIZE (2UL << 20)
#define IN_FLIGHT 200	/* more than the two sides agreed to have on the wire */

#define VISIBILITY RPMA_FLUSH_TYPE_VISIBILITY
#define PERSISTENT RPMA_FLUSH_TYPE_PERSISTENT

#define FLUSH_BITS (RPMA_MR_USAGE_WRITE_DST | RPMA_MR_USAGE_FLUSH_TYPE_VISIBILITY)
#define READABLE RPMA_MR_USAGE_READ_SRC
#define PERSISTENT_BIT RPMA_MR_USAGE_FLUSH_TYPE_PERSISTENT

/* The last byte of a region alone; less than 8 bytes; all of it. */
static const struct { size_t at, len; } ranges[] = {
	{ 0, 1 }, { SIZE - 1, 1 }, { SIZE - 5, 5 }, { 4000, 4096 }, { 0, SIZE },
};

#define RANGES (sizeof(ranges) / sizeof(ranges[0]))

struct flush {
	struct line l;
	struct memory m;		/* the client's source, the server's target */
	struct memory plain;		/* the server's: for reads and writes only */
	struct rpma_mr_remote *target;
	struct rpma_mr_remote *writable;
};

struct memory dax_new(struct side *s, size_t used)
{
	struct memory m = { .size = DAX_SIZE };
	int fd = open("/dev/dax0.0", O_RDWR | O_CLOEXEC);

	TRUE(fd >= 0);
	m.ptr = mmap(NULL, DAX_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, s->dax_offset);
	TRUE(m.ptr != MAP_FAILED);
	close(fd);
	memset(m.ptr, 0, used);
	return m;
}

static struct memory target_new(struct side *s, int usage, bool dax)
{
	struct memory m;

	if (!dax)
		return memory_new(s->peer, SIZE, usage);
	m = dax_new(s, SIZE);
	OK(rpma_mr_reg(s->peer, m.ptr, m.size, usage, &m.mr));
	return m;
}

static void flush_open(struct side *s, struct flush *f, int usage, bool dax)
{
	struct rpma_conn_cfg *cfg = new_cfg();

	*f = (struct flush) { 0 };
	OK(rpma_conn_cfg_set_sq_size(cfg, 2 * IN_FLIGHT));
	OK(rpma_conn_cfg_set_cq_size(cfg, 2 * IN_FLIGHT));
	connect_line(s, cfg, &f->l);
	OK(rpma_conn_cfg_delete(&cfg));
	if (s->server) {
		f->m = target_new(s, usage, dax);
		f->plain = memory_new(s->peer, 64, RPMA_MR_USAGE_WRITE_DST | READABLE);
		offer(&f->m);
		offer(&f->plain);
		return;
	}
	f->m = memory_new(s->peer, SIZE, RPMA_MR_USAGE_WRITE_SRC | RPMA_MR_USAGE_READ_DST);
	f->target = take_offer();
	f->writable = take_offer();
}

static void flush_close(struct side *s, struct flush *f)
{
	close_line(s, &f->l);
	if (s->server) {
		memory_free(&f->plain);
	} else {
		OK(rpma_mr_remote_delete(&f->target));
		OK(rpma_mr_remote_delete(&f->writable));
	}
	memory_free(&f->m);
}

/* Writes and flushes of every range; the server looks once all are done. */
static void write_and_flush(struct side *s, struct flush *f, enum rpma_flush_type type)
{
	unsigned int opcode = s->ours ? IBV_WC_RDMA_READ : IBV_WC_FLUSH;
	char image[SIZE];

	for (unsigned int i = 0; !s->server && i < RANGES; i++) {
		fill(f->m.ptr, SIZE, i);
		OK(rpma_write(f->l.conn, f->target, ranges[i].at, f->m.mr, ranges[i].at,
			      ranges[i].len, ALWAYS, CONTEXT(i)));
		OK(rpma_flush(f->l.conn, f->target, ranges[i].at, ranges[i].len, type, ALWAYS,
			      CONTEXT(100 + i)));
		EXPECT_WC(&f->l, f->l.cq, CONTEXT(i), IBV_WC_RDMA_WRITE);
		IS(ranges[i].len,
		   EXPECT_WC(&f->l, f->l.cq, CONTEXT(100 + i), opcode).byte_len);
		SYNC();
		SYNC();	/* the server has looked */
	}
	for (unsigned int i = 0; s->server && i < RANGES; i++) {
		SYNC();
		fill(image, SIZE, i);
		SAME(image + ranges[i].at, f->m.ptr + ranges[i].at, ranges[i].len);
		SYNC();
	}
}

/* Our client and a region that it cannot flush: a word in time, no dead connection. */
static void cannot_flush(struct side *s, struct flush *f, enum rpma_flush_type type)
{
	char *ptr = f->m.ptr;

	if (s->server)
		return;
	last_error();
	IS(RPMA_E_NOSUPP, rpma_flush(f->l.conn, f->target, 0, 8, type, ALWAYS, CONTEXT(1)));
	/* What the other side can do about it. */
	TRUE(strstr(last_error(), "RPMA_MR_USAGE_READ_SRC"));
	no_more(f->l.cq);
	fill(ptr, 64, 7);
	OK(rpma_write(f->l.conn, f->writable, 0, f->m.mr, 0, 64, ALWAYS, CONTEXT(2)));
	EXPECT_WC(&f->l, f->l.cq, CONTEXT(2), IBV_WC_RDMA_WRITE);
	OK(rpma_read(f->l.conn, f->m.mr, 64, f->writable, 0, 64, ALWAYS, CONTEXT(3)));
	EXPECT_WC(&f->l, f->l.cq, CONTEXT(3), IBV_WC_RDMA_READ);
	SAME(ptr, ptr + 64, 64);
}

/* Each flush comes behind its write and before the next one. */
static void in_flight(struct side *s)
{
	unsigned int opcode = s->ours ? IBV_WC_RDMA_READ : IBV_WC_FLUSH;
	char image[SIZE] = { 0 };
	struct flush f;

	flush_open(s, &f, FLUSH_BITS | READABLE, false);
	fill(image, IN_FLIGHT * 8, 3);
	if (!s->server)
		memcpy(f.m.ptr, image, SIZE);
	for (int i = 0; !s->server && i < IN_FLIGHT; i++) {
		OK(rpma_write(f.l.conn, f.target, i * 8, f.m.mr, i * 8, 8, ON_ERROR, NULL));
		OK(rpma_flush(f.l.conn, f.target, i * 8, 8, VISIBILITY, ALWAYS, CONTEXT(i)));
	}
	for (int i = 0; !s->server && i < IN_FLIGHT; i++)
		EXPECT_WC(&f.l, f.l.cq, CONTEXT(i), opcode);
	SYNC();
	if (s->server)
		SAME(image, f.m.ptr, SIZE);
	no_more(f.l.cq);
	flush_close(s, &f);
}

/* Whether the client here or there is ours and the server librpma's. */
static bool ours_to_real(const struct side *s)
{
	return s->server ? s->peer_ours && !s->ours : s->ours && !s->peer_ours;
}

static void visibility(struct side *s)
{
	struct flush f;

	flush_open(s, &f, FLUSH_BITS, false);
	if (ours_to_real(s))
		cannot_flush(s, &f, VISIBILITY);
	else
		write_and_flush(s, &f, VISIBILITY);
	flush_close(s, &f);
}

static void visibility_readable(struct side *s)
{
	struct flush f;

	flush_open(s, &f, FLUSH_BITS | READABLE, false);
	write_and_flush(s, &f, VISIBILITY);
	flush_close(s, &f);
}

/* Who insists on READ gets it, and learns what the other side thinks of it. */
static void insisting_on_read(struct side *s)
{
	struct rpma_peer *peer = s->peer;
	struct flush f;

	setenv("RPMA_FLUSH_METHOD", "read", 1);
	if (!s->server)
		s->peer = new_peer(s);
	flush_open(s, &f, FLUSH_BITS, false);
	if (!ours_to_real(s)) {
		write_and_flush(s, &f, VISIBILITY);
	} else if (!s->server) {
		OK(rpma_flush(f.l.conn, f.target, 0, 8, VISIBILITY, ALWAYS, CONTEXT(1)));
		EXPECT_ERROR(&f.l, f.l.cq, CONTEXT(1), IBV_WC_REM_ACCESS_ERR);
		no_more(f.l.cq);
	}
	flush_close(s, &f);
	unsetenv("RPMA_FLUSH_METHOD");
	if (!s->server) {
		OK(rpma_peer_delete(&s->peer));
		s->peer = peer;
	}
}

/* ---- persistent ---- */

void exchange_peer_cfg(struct side *s, struct rpma_conn *conn, bool direct)
{
	struct rpma_peer_cfg *pcfg = NULL;
	bool there = !direct;
	size_t size = 0;
	char desc = -1;

	if (s->server) {
		OK(rpma_peer_cfg_new(&pcfg));
		OK(rpma_peer_cfg_set_direct_write_to_pmem(pcfg, direct));
		OK(rpma_peer_cfg_get_descriptor_size(pcfg, &size));
		IS(1, size);
		OK(rpma_peer_cfg_get_descriptor(pcfg, &desc));
		IS(direct, desc);
		put(&desc, 1);
	} else {
		get(&desc, 1);
		OK(rpma_peer_cfg_from_descriptor(&desc, 1, &pcfg));
		OK(rpma_peer_cfg_get_direct_write_to_pmem(pcfg, &there));
		IS(direct, there);
		OK(rpma_conn_apply_remote_peer_cfg(conn, pcfg));
	}
	OK(rpma_peer_cfg_delete(&pcfg));
}

static void persistent(struct side *s, int usage, bool possible)
{
	struct flush f;

	flush_open(s, &f, FLUSH_BITS | PERSISTENT_BIT | usage, true);
	exchange_peer_cfg(s, f.l.conn, true);
	if (possible) {
		write_and_flush(s, &f, PERSISTENT);
		write_and_flush(s, &f, VISIBILITY);
	} else {
		cannot_flush(s, &f, PERSISTENT);
	}
	flush_close(s, &f);
}

static void persistent_flush_only(struct side *s)
{
	persistent(s, 0, !ours_to_real(s));
}

static void persistent_readable(struct side *s)
{
	persistent(s, READABLE, true);
}

/* A region like the server's, but for what it says of its usage. */
static struct rpma_mr_remote *pretend(struct memory *m, struct side *s, int usage)
{
	struct rpma_mr_remote *remote = NULL;
	char desc[DESC_SIZE];

	if (s->server) {
		offer(m);
		return NULL;
	}
	get(desc, sizeof(desc));
	desc[DESC_SIZE - 1] = usage;
	OK(rpma_mr_remote_from_descriptor(desc, sizeof(desc), &remote));
	return remote;
}

/* Checked here, before anything is sent: the region is only said to be persistent. */
static void what_is_not_declared(struct side *s)
{
	struct rpma_mr_remote *persistent, *visible;
	struct flush f;

	flush_open(s, &f, FLUSH_BITS | READABLE, false);
	persistent = pretend(&f.m, s, READABLE | PERSISTENT_BIT);
	visible = pretend(&f.m, s, READABLE | RPMA_MR_USAGE_FLUSH_TYPE_VISIBILITY);
	for (int direct = -1; direct < 2; direct++) {
		if (direct >= 0)
			exchange_peer_cfg(s, f.l.conn, direct);
		if (s->server)
			continue;
		IS(RPMA_E_NOSUPP, rpma_flush(f.l.conn, direct == 1 ? visible : persistent, 0, 8,
					     PERSISTENT, ALWAYS, NULL));
	}
	if (!s->server) {
		IS(RPMA_E_NOSUPP, rpma_flush(f.l.conn, persistent, 0, 8, VISIBILITY, ALWAYS, NULL));
		no_more(f.l.cq);
	}
	OK(rpma_mr_remote_delete(&persistent));
	OK(rpma_mr_remote_delete(&visible));
	write_and_flush(s, &f, VISIBILITY);
	flush_close(s, &f);
}

const struct scenario flush_scenarios[] = {
	{ "flush_visibility", visibility, 0 },
	{ "flush_visibility_readable", visibility_readable, 0 },
	{ "flush_insisting_on_read", insisting_on_read, 0 },
	{ "flush_persistent", persistent_flush_only, NEEDS_DAX },
	{ "flush_persistent_readable", persistent_readable, NEEDS_DAX },
	{ "flush_not_declared", what_is_not_declared, 0 },
	{ "flushes_in_flight", in_flight, 0 },
	{ 0 }
};
