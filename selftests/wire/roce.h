/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What goes out on the wire: RoCEv2 requests, decoded from a packet socket.
 *
 * Ethernet | IPv4 or IPv6 | UDP to port 4791 | BTH | RETH ...
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
	ROCE_ACKNOWLEDGE = 0x11,
	ROCE_FLUSH = 0x1c,
	ROCE_ATOMIC_WRITE = 0x1d,
};

struct roce_packet {
	uint8_t opcode;
	uint32_t dest_qp;
	uint32_t psn;
	/* Of those that start a transfer. */
	uint64_t va;
	uint32_t rkey;
	uint32_t len;
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

	if (len < 14 + 40 + 8)
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

/* Return: 1 for a packet of a reliable connection. */
static inline int roce_decode(const uint8_t *frame, size_t len, struct roce_packet *p)
{
	const uint8_t *udp = roce_udp(frame, len), *bth, *reth;

	if (!udp)
		return 0;
	bth = udp + 8;
	reth = bth + 12;
	if (reth > frame + len || bth[0] >= 0x20)
		return 0;
	memset(p, 0, sizeof(*p));
	p->opcode = bth[0];
	p->dest_qp = roce_be32(bth + 4) & 0xffffff;
	p->psn = roce_be32(bth + 8) & 0xffffff;
	if (p->opcode == ROCE_FLUSH)
		reth += 4;
	else if (p->opcode != ROCE_WRITE_FIRST && p->opcode != ROCE_WRITE_ONLY &&
		 p->opcode != ROCE_READ_REQUEST)
		return 1;
	if (reth + 16 > frame + len)
		return 0;
	p->va = roce_be64(reth);
	p->rkey = roce_be32(reth + 8);
	p->len = roce_be32(reth + 12);
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

/* The next packet of a reliable connection that went out: 1, or 0 for none. */
static inline int roce_next_sent(int fd, struct roce_packet *p)
{
	static uint8_t frame[65536];
	struct sockaddr_ll from;
	socklen_t from_len;
	ssize_t n;

	for (;;) {
		from_len = sizeof(from);
		n = recvfrom(fd, frame, sizeof(frame), 0, (struct sockaddr *)&from, &from_len);
		if (n < 0)
			return 0;
		if (from.sll_pkttype == PACKET_OUTGOING && roce_decode(frame, n, p))
			return 1;
	}
}

#endif /* _WIRE_ROCE_H */
