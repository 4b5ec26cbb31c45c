/* SPDX-License-Identifier: GPL-2.0 */
/*
 * For the tests of the wire: what was seen on the link since one looked last,
 * what the target says, and what a flush must have been there.
 */
#ifndef _TWO_WIRE_SEEN_H
#define _TWO_WIRE_SEEN_H

#include "../rpma_utils.h"
#include "../wire/roce.h"
#include "wire.h"

#define WIRE_MAX_PACKETS 64
#define PAGE 4096

struct wire {
	int link;	/* a packet socket */
	int reports;	/* from the target */
	uint32_t our_qp;
	uint32_t their_qp;
	bool looked;
	uint32_t next_psn;	/* of a request, once one has looked */
};

/* A flush as it was asked for. */
struct wire_flush {
	uint32_t method;	/* enum rpma_flush_method that has to carry it */
	uint32_t placement;
	uint64_t va;
	uint64_t len;
	uint32_t rkey;
};

struct wire_seen {
	int nr;
	struct roce_packet packet[WIRE_MAX_PACKETS];
};

static const uint64_t wire_lens[] = { 0, 1, 7, 8, 4095, 4096, 1 << 20 };

#define WIRE_LENS (sizeof(wire_lens) / sizeof(wire_lens[0]))

/* Does the provider of this machine carry FLUSH of kernel consumers? */
static inline bool wire_kernel_is_patched(void)
{
	return strstr(test_env("KERNEL", ""), "+flush");
}

static inline struct wire_report wire_ask(struct __test_metadata *_metadata, struct wire *w)
{
	struct wire_report report;

	ASSERT_EQ(1, write(w->reports, "", 1));
	ASSERT_EQ((ssize_t)sizeof(report), recv(w->reports, &report, sizeof(report), MSG_WAITALL));
	return report;
}

/* Before the RDMA connection is made: the target waits for both. */
static inline void wire_open(struct __test_metadata *_metadata, struct wire *w)
{
	struct sockaddr_in in = { .sin_family = AF_INET, .sin_port = htons(WIRE_REPORT_PORT) };

	w->link = roce_listen(test_env("RPMA_TEST_NETDEV", "eth0"));
	ASSERT_LE(0, w->link);
	inet_pton(AF_INET, test_env("PEER4", "10.7.7.1"), &in.sin_addr);
	w->reports = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	ASSERT_EQ(0, connect(w->reports, (struct sockaddr *)&in, sizeof(in)))
		TH_LOG("no reports from the target: %s", strerror(errno));
}

static inline void wire_connected(struct __test_metadata *_metadata, struct wire *w,
				  uint32_t our_qp)
{
	w->our_qp = our_qp;
	w->their_qp = wire_ask(_metadata, w).qp_num;
}

static inline void wire_close(struct wire *w)
{
	close(w->reports);
	close(w->link);
}

/*
 * A busy machine is slow to answer, and is asked again: such a packet has the
 * number of an earlier one. It must be the same bytes and does not count.
 */
static inline bool wire_is_repeated(struct __test_metadata *_metadata, const struct wire *w,
				    const struct wire_seen *seen, const struct roce_packet *p)
{
	if (w->looked && (p->psn - w->next_psn) & 0x800000)
		return true;
	for (int i = 0; i < seen->nr; i++) {
		if (seen->packet[i].sent != p->sent || seen->packet[i].psn != p->psn)
			continue;
		ASSERT_EQ(0, memcmp(&seen->packet[i], p, sizeof(*p)))
			TH_LOG("packet %u differs when it is repeated", p->psn);
		return true;
	}
	return false;
}

/* Each packet belongs to our connection. */
static inline struct wire_seen wire_look(struct __test_metadata *_metadata, struct wire *w)
{
	struct wire_seen seen = {};
	struct roce_packet p;

	while (roce_next(w->link, &p)) {
		ASSERT_EQ(p.sent ? w->their_qp : w->our_qp, p.dest_qp);
		if (wire_is_repeated(_metadata, w, &seen, &p))
			continue;
		ASSERT_LT(seen.nr, WIRE_MAX_PACKETS);
		seen.packet[seen.nr++] = p;
	}
	for (int i = 0; i < seen.nr; i++) {
		if (!seen.packet[i].sent)
			continue;
		w->looked = true;
		w->next_psn = (seen.packet[i].psn + 1) & 0xffffff;
	}
	return seen;
}

/* The place of packet @psn, one that was @sent or one that came. */
static inline int wire_find(struct __test_metadata *_metadata, const struct wire_seen *seen,
			    int sent, uint32_t psn)
{
	for (int i = 0; i < seen->nr; i++)
		if (seen->packet[i].sent == sent && seen->packet[i].psn == psn)
			return i;
	ASSERT_TRUE(false)
		TH_LOG("no packet %u %s", psn, sent ? "went out" : "came in");
	return 0;
}

static inline void wire_expect_native(struct __test_metadata *_metadata,
				      const struct roce_packet *p, const struct wire_flush *f)
{
	ASSERT_EQ(ROCE_FLUSH, p->opcode);
	EXPECT_EQ(f->placement, p->placement);
	EXPECT_EQ(0, p->selectivity);	/* range */
	EXPECT_EQ(0, p->feth_reserved);
	EXPECT_EQ(f->va, p->va);
	EXPECT_EQ(f->rkey, p->rkey);
	EXPECT_EQ(f->len, p->len);
	EXPECT_EQ(36, p->udp_payload);
}

/* For a range of no bytes the caller checks where it reads. */
static inline void wire_expect_read(struct __test_metadata *_metadata,
				    const struct roce_packet *p, const struct wire_flush *f)
{
	ASSERT_EQ(ROCE_READ_REQUEST, p->opcode);
	EXPECT_EQ(f->rkey, p->rkey);
	EXPECT_LE(1, p->len);
	EXPECT_GE(8, p->len);
	if (f->len) {
		EXPECT_LE(f->va, p->va);
		EXPECT_GE(f->va + f->len, p->va + p->len);
	}
	EXPECT_EQ(ROCE_BTH + ROCE_RETH + ROCE_ICRC, p->udp_payload);
}

/* Packet @psn that went out is this flush, and one packet answers it. */
static inline void wire_expect_flush(struct __test_metadata *_metadata,
				     const struct wire_seen *seen, uint32_t psn,
				     const struct wire_flush *f)
{
	const struct roce_packet *p = &seen->packet[wire_find(_metadata, seen, 1, psn)];
	const struct roce_packet *answer = &seen->packet[wire_find(_metadata, seen, 0, psn)];

	EXPECT_LT(p, answer);
	ASSERT_EQ(ROCE_READ_RESPONSE_ONLY, answer->opcode);
	EXPECT_GE(31, answer->syndrome);
	if (f->method == RPMA_FLUSH_METHOD_NATIVE) {
		wire_expect_native(_metadata, p, f);
		EXPECT_EQ(0, answer->payload);
	} else {
		wire_expect_read(_metadata, p, f);
		EXPECT_EQ(p->len, answer->payload);
	}
}

/* The pieces are the range page by page, each byte once, and nothing else. */
static inline void wire_expect_pieces(struct __test_metadata *_metadata,
				      const struct wire_report *report, uint64_t start,
				      uint64_t len)
{
	uint64_t at = start, end = start + len;

	for (uint32_t i = 0; i < report->nr_pieces; i++) {
		const struct wire_span *piece = &report->pieces[i];
		uint64_t left_of_page = PAGE - (WIRE_START + at) % PAGE;

		ASSERT_EQ(at, piece->start);
		ASSERT_EQ(end - at < left_of_page ? end - at : left_of_page, piece->len);
		at += piece->len;
	}
	ASSERT_EQ(end, at);
}

/*
 * Only a PERSISTENT flush by FLUSH writes caches back at the target, and that
 * over its range. @base is where the region begins.
 */
static inline void wire_expect_write_back(struct __test_metadata *_metadata, struct wire *w,
					  const struct wire_flush *f, uint64_t base)
{
	struct wire_report report = wire_ask(_metadata, w);

	EXPECT_EQ(0, report.strange);
	if (f->method != RPMA_FLUSH_METHOD_NATIVE || !(f->placement & RPMA_FLUSH_PERSISTENT)) {
		EXPECT_EQ(0, report.nr_flushes);
		EXPECT_EQ(0, report.nr_pieces);
		return;
	}
	/* For no bytes rxe may call it or not. */
	ASSERT_GE(1, report.nr_flushes);
	ASSERT_TRUE(report.nr_flushes || !f->len);
	if (report.nr_flushes) {
		EXPECT_EQ(f->va, report.flushes[0].start);
		EXPECT_EQ(f->len, report.flushes[0].len);
	}
	wire_expect_pieces(_metadata, &report, f->va - base, f->len);
}

#endif /* _TWO_WIRE_SEEN_H */
