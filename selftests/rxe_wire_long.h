/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A WRITE of so many packets that, on a slow wire, the first of them arrives
 * before the last is sent.
 */
#ifndef _RXE_WIRE_LONG_H
#define _RXE_WIRE_LONG_H

#include "rxe_wire.h"

#define LONG_MTU 256
#define LONG_PACKETS 80
#define LONG_LAST (LONG_PACKETS - 1)
#define LONG_SIZE (LONG_PACKETS * LONG_MTU)

static inline __u8 long_opcode(__u32 psn)
{
	if (!psn)
		return OP_WRITE_FIRST;
	return psn < LONG_LAST ? OP_WRITE_MIDDLE : OP_WRITE_LAST;
}

/* Whenever it is sent a packet has the number, and the bytes, that are its own. */
static inline struct wire_packet long_packet(struct __test_metadata *_metadata, struct wire *w,
					     const __u8 *mem)
{
	struct wire_packet p = wire_receive(_metadata, w);
	size_t head = p.psn ? 0 : 16;

	ASSERT_GE(LONG_LAST, p.psn)
		TH_LOG("opcode %02x with %zu bytes", p.opcode, p.len);
	ASSERT_EQ(long_opcode(p.psn), p.opcode);
	ASSERT_EQ(head + LONG_MTU, p.len);
	ASSERT_EQ(0, memcmp(mem + p.psn * LONG_MTU, p.body + head, LONG_MTU));
	return p;
}

static inline void long_write_ends(struct __test_metadata *_metadata, struct wire *w,
				   const __u8 *mem)
{
	while (long_packet(_metadata, w, mem).psn != LONG_LAST)
		;
}

/*
 * It had arrived, what said so was lost. That is said again when the first
 * packet comes again, which the others are still behind.
 */
static inline void long_write_answered_early(struct __test_metadata *_metadata, struct wire *w,
					     const __u8 *mem)
{
	struct wire_packet ack = wire_answer(OP_ACK, LONG_LAST);

	wire_slow(_metadata, true);
	ASSERT_EQ(0, long_packet(_metadata, w, mem).psn);
	wire_send(_metadata, w, &ack);
	wire_slow(_metadata, false);
}

#endif /* _RXE_WIRE_LONG_H */
