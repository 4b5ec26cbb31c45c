/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What goes over the wire: RoCEv2 packets, decoded from a packet socket.
 *
 * Ethernet | IPv4 or IPv6 | UDP to port 4791 | BTH | FETH, RETH or AETH |
 * payload | pad | ICRC
 */
#ifndef _WIRE_ROCE_H
#define _WIRE_ROCE_H

#include <arpa/inet.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>

#define ROCE_PORT 4791

/* Opcodes of reliable connections, IBA table 38. */
enum roce_opcode {
	ROCE_WRITE_FIRST = 0x06,
	ROCE_WRITE_MIDDLE = 0x07,
	ROCE_WRITE_LAST = 0x08,
	ROCE_WRITE_ONLY = 0x0a,
	ROCE_READ_REQUEST = 0x0c,
	ROCE_READ_RESPONSE_FIRST = 0x0d,
	ROCE_READ_RESPONSE_MIDDLE = 0x0e,
	ROCE_READ_RESPONSE_LAST = 0x0f,
	ROCE_READ_RESPONSE_ONLY = 0x10,
	ROCE_ACKNOWLEDGE = 0x11,
	ROCE_FLUSH = 0x1c,
	ROCE_ATOMIC_WRITE = 0x1d,
};

enum {
	ROCE_BTH = 12,
	ROCE_RETH = 16,
	ROCE_FETH = 4,
	ROCE_AETH = 4,
	ROCE_ICRC = 4,
};

struct roce_packet {
	int sent;	/* went out, did not come in */
	uint8_t opcode;
	uint32_t dest_qp;
	uint32_t psn;
	uint32_t udp_payload;	/* from the BTH to the ICRC */
	/* RETH: of those that start a transfer. */
	uint64_t va;
	uint32_t rkey;
	uint32_t len;
	/* FETH: of a FLUSH. */
	uint8_t placement;
	uint8_t selectivity;
	uint32_t feth_reserved;
	/* AETH: of answers; 0 to 31 is an ACK. */
	uint8_t syndrome;
	/* What is carried, without pad bytes. */
	uint32_t payload;
	uint8_t data[8];
};

static inline uint32_t roce_be32(const uint8_t *p)
{
	return (uint32_t)p[0] << 24 | p[1] << 16 | p[2] << 8 | p[3];
}

static inline uint64_t roce_be64(const uint8_t *p)
{
	return (uint64_t)roce_be32(p) << 32 | roce_be32(p + 4);
}

/* The UDP header of a frame, or NULL. */
static inline const uint8_t *roce_udp(const uint8_t *frame, size_t len)
{
	const uint8_t *ip = frame + 14, *udp;

	if (len < 14 + 40 + 8)	/* also the shortest of IPv4 */
		return NULL;
	if (frame[12] == 0x08 && frame[13] == 0x00) {
		if (ip[9] != IPPROTO_UDP)
			return NULL;
		udp = ip + (ip[0] & 15) * 4;
	} else if (frame[12] == 0x86 && frame[13] == 0xdd) {
		if (ip[6] != IPPROTO_UDP)
			return NULL;
		udp = ip + 40;
	} else {
		return NULL;
	}
	return (udp[2] << 8 | udp[3]) == ROCE_PORT ? udp : NULL;
}

static inline int roce_has_reth(uint8_t opcode)
{
	return opcode == ROCE_FLUSH || opcode == ROCE_ATOMIC_WRITE || opcode == ROCE_WRITE_FIRST ||
	       opcode == ROCE_WRITE_ONLY || opcode == ROCE_READ_REQUEST;
}

static inline int roce_has_aeth(uint8_t opcode)
{
	return opcode == ROCE_READ_RESPONSE_FIRST || opcode == ROCE_READ_RESPONSE_LAST ||
	       opcode == ROCE_READ_RESPONSE_ONLY || opcode == ROCE_ACKNOWLEDGE;
}

/* Return: 1 for a packet of a reliable connection. */
static inline int roce_decode(const uint8_t *frame, size_t len, struct roce_packet *p)
{
	const uint8_t *udp = roce_udp(frame, len), *bth, *at, *end;

	if (!udp)
		return 0;
	bth = udp + 8;
	at = bth + ROCE_BTH;
	memset(p, 0, sizeof(*p));
	p->udp_payload = (udp[4] << 8 | udp[5]) - 8;
	end = bth + p->udp_payload;
	if (end > frame + len || p->udp_payload < ROCE_BTH + ROCE_ICRC || bth[0] >= 0x20)
		return 0;
	end -= ROCE_ICRC + (bth[1] >> 4 & 3);	/* pad count */
	p->opcode = bth[0];
	p->dest_qp = roce_be32(bth + 4) & 0xffffff;
	p->psn = roce_be32(bth + 8) & 0xffffff;
	if (p->opcode == ROCE_FLUSH) {
		uint32_t feth = roce_be32(at);

		p->placement = feth & 15;
		p->selectivity = feth >> 4 & 3;
		p->feth_reserved = feth >> 6;
		at += ROCE_FETH;
	}
	if (roce_has_reth(p->opcode)) {
		p->va = roce_be64(at);
		p->rkey = roce_be32(at + 8);
		p->len = roce_be32(at + 12);
		at += ROCE_RETH;
	} else if (roce_has_aeth(p->opcode)) {
		p->syndrome = at[0];
		at += ROCE_AETH;
	}
	if (at > end)
		return 0;
	p->payload = end - at;
	memcpy(p->data, at, p->payload < sizeof(p->data) ? p->payload : sizeof(p->data));
	return 1;
}

/* A socket that sees what goes out and comes in at @link. */
static inline int roce_listen(const char *link)
{
	struct sockaddr_ll addr = { .sll_family = AF_PACKET, .sll_protocol = htons(ETH_P_ALL) };
	int fd = socket(AF_PACKET, SOCK_RAW | SOCK_NONBLOCK, htons(ETH_P_ALL)), size = 32 << 20;

	addr.sll_ifindex = if_nametoindex(link);
	if (fd < 0 || !addr.sll_ifindex || bind(fd, (struct sockaddr *)&addr, sizeof(addr)))
		return -1;
	setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &size, sizeof(size));
	return fd;
}

/* The next packet of a reliable connection, either way: 1, or 0 for none. */
static inline int roce_next(int fd, struct roce_packet *p)
{
	static uint8_t frame[65536 + 64];	/* an answer of few bytes is decoded with room */
	struct sockaddr_ll from;
	socklen_t from_len;
	ssize_t n;

	for (;;) {
		from_len = sizeof(from);
		n = recvfrom(fd, frame, 65536, 0, (struct sockaddr *)&from, &from_len);
		if (n < 0)
			return 0;
		if (roce_decode(frame, n, p)) {
			p->sent = from.sll_pkttype == PACKET_OUTGOING;
			return 1;
		}
	}
}

/* The next one that went out. */
static inline int roce_next_sent(int fd, struct roce_packet *p)
{
	while (roce_next(fd, p))
		if (p->sent)
			return 1;
	return 0;
}

#endif /* _WIRE_ROCE_H */
