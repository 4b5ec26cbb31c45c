/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The other end of a cable: a peer made of packets, so that a test can lose,
 * repeat and forge what it likes. The device is an rxe of its own on one end
 * of a veth; the frames come and go at the other.
 */
#ifndef _RXE_WIRE_H
#define _RXE_WIRE_H

#include <linux/if_packet.h>
#include <net/ethernet.h>
#include <net/if.h>
#include <netinet/ip.h>
#include <netinet/udp.h>
#include <stdio.h>
#include <sys/socket.h>

#include "rxe_pair.h"

#define WIRE_DEV "rxew"
#define WIRE_ADDR "10.7.9.1"	/* of the device, and of who is not there */
#define WIRE_PEER "10.7.9.2"
#define WIRE_QPN 0x1234
#define WIRE_PORT 4791

#define BTH_LEN 12
#define HDR_LEN (sizeof(struct iphdr) + sizeof(struct udphdr))
#define MAX_BODY 512

enum wire_opcode {
	OP_WRITE_FIRST = 0x06,
	OP_WRITE_MIDDLE = 0x07,
	OP_WRITE_LAST = 0x08,
	OP_WRITE_ONLY = 0x0a,
	OP_READ_REQUEST = 0x0c,
	OP_READ_RESPONSE_FIRST = 0x0d,
	OP_READ_RESPONSE_MIDDLE = 0x0e,
	OP_READ_RESPONSE_LAST = 0x0f,
	OP_READ_RESPONSE_ONLY = 0x10,
	OP_ACK = 0x11,
	OP_ATOMIC_ACK = 0x12,
	OP_FLUSH = 0x1c,
	OP_ATOMIC_WRITE = 0x1d,
};

#define SYN_ACK 0x1f
#define SYN_NAK_SEQUENCE 0x60
#define SYN_NAK_INVALID_REQUEST 0x61

/* A packet without its BTH: the headers that follow, the payload, no ICRC. */
struct wire_packet {
	__u8 opcode;
	__u32 qpn;
	__u32 psn;
	size_t len;
	__u8 body[MAX_BODY];
};

struct wire {
	int fd;
	__u8 mac[ETH_ALEN];	/* of the device */
	__u32 qpn;		/* whom the packets go to */
};

static const __u8 wire_peer_mac[ETH_ALEN] = { 2, 0, 0, 0, 9, 2 };

static pid_t wire_owner;

/* The device stays until the program is through. */
static inline void wire_device(struct __test_metadata *_metadata)
{
	if (!system("rdma link show " WIRE_DEV "/1 2>/dev/null | grep -q ACTIVE"))
		return;
	ASSERT_EQ(0, system("bash -ec '"
		"modprobe -qa veth sch_netem || true;"
		"ip link add wire0 mtu 4200 type veth peer name wire1 mtu 4200;"
		"ip link set wire0 up; ip link set wire1 up;"
		"ip addr add " WIRE_ADDR "/24 dev wire0;"
		"ip neigh replace " WIRE_PEER " lladdr 02:00:00:00:09:02 dev wire0 nud permanent;"
		"rdma link add " WIRE_DEV " type rxe netdev wire0'"));
}

static __attribute__((constructor)) void wire_begin(void)
{
	wire_owner = getpid();
}

static __attribute__((destructor)) void wire_end(void)
{
	if (getpid() == wire_owner && system("ip link delete wire0 2>/dev/null"))
		wire_owner = 0;
}

/*
 * While it is slow the device's packets come one in a while, and it holds back
 * what is more than 64 of them. Those that did not come yet are lost then.
 */
static inline void wire_slow(struct __test_metadata *_metadata, bool slow)
{
	ASSERT_EQ(0, system(slow ? "tc qdisc add dev wire0 root netem slot 200ms packets 1" :
				   "tc qdisc del dev wire0 root"));
}

static inline void wire_open(struct __test_metadata *_metadata, struct wire *w, __u32 qpn)
{
	struct sockaddr_ll at = { .sll_family = AF_PACKET, .sll_protocol = htons(ETH_P_IP),
				  .sll_ifindex = if_nametoindex("wire1") };
	FILE *mac = fopen("/sys/class/net/wire0/address", "r");
	__u8 *m = w->mac;

	ASSERT_NE(NULL, mac);
	ASSERT_EQ(6, fscanf(mac, "%hhx:%hhx:%hhx:%hhx:%hhx:%hhx", m, m + 1, m + 2, m + 3, m + 4,
			    m + 5));
	fclose(mac);
	w->qpn = qpn;
	w->fd = socket(AF_PACKET, SOCK_RAW, htons(ETH_P_IP));
	ASSERT_LE(0, w->fd);
	ASSERT_EQ(0, bind(w->fd, (struct sockaddr *)&at, sizeof(at)));
}

/* ---- building ---- */

static inline void put_be(__u8 *at, __u64 value, int bytes)
{
	while (bytes--) {
		at[bytes] = value;
		value >>= 8;
	}
}

static inline __u64 get_be(const __u8 *at, int bytes)
{
	__u64 value = 0;

	while (bytes--)
		value = value << 8 | *at++;
	return value;
}

static inline __u32 wire_crc(__u32 crc, const __u8 *p, size_t len)
{
	while (len--) {
		crc ^= *p++;
		for (int i = 0; i < 8; i++)
			crc = crc >> 1 ^ (crc & 1 ? 0xedb88320 : 0);
	}
	return crc;
}

/*
 * Over a masked LRH, IP and UDP with what routers change masked, and all of
 * the packet. Of a FLUSH, rxe takes the headers twice.
 */
static inline void wire_icrc(const __u8 *ip, __u8 *bth, size_t len)
{
	__u8 pseudo[HDR_LEN + BTH_LEN];
	__u32 crc = 0xdebb20e3;

	memcpy(pseudo, ip, HDR_LEN);
	pseudo[1] = 0xff;			/* TOS, TTL, checksums */
	pseudo[8] = 0xff;
	memset(pseudo + 10, 0xff, 2);
	memset(pseudo + HDR_LEN - 2, 0xff, 2);
	memcpy(pseudo + HDR_LEN, bth, BTH_LEN);
	pseudo[HDR_LEN + 4] = 0xff;		/* resv8a */
	crc = wire_crc(crc, pseudo, sizeof(pseudo));
	crc = wire_crc(crc, bth + BTH_LEN, len - BTH_LEN);
	if (bth[0] == OP_FLUSH)
		crc = wire_crc(crc, bth, len);
	crc = ~crc;
	memcpy(bth + len, &crc, 4);
}

static inline void wire_ip(__u8 *at, size_t udp_len)
{
	struct iphdr ip = { .version = 4, .ihl = 5, .ttl = 64, .protocol = IPPROTO_UDP,
			    .tot_len = htons(sizeof(ip) + udp_len), .frag_off = htons(IP_DF),
			    .saddr = inet_addr(WIRE_PEER), .daddr = inet_addr(WIRE_ADDR) };
	struct udphdr udp = { .source = htons(50000), .dest = htons(WIRE_PORT),
			      .len = htons(udp_len) };
	__u32 sum = 0;

	for (size_t i = 0; i < sizeof(ip) / 2; i++)
		sum += ((__u16 *)&ip)[i];
	sum = (sum & 0xffff) + (sum >> 16);
	ip.check = ~((sum & 0xffff) + (sum >> 16));
	memcpy(at, &ip, sizeof(ip));
	memcpy(at + sizeof(ip), &udp, sizeof(udp));
}

static inline void wire_send(struct __test_metadata *_metadata, struct wire *w,
			     const struct wire_packet *p)
{
	__u8 frame[ETH_HLEN + HDR_LEN + BTH_LEN + MAX_BODY + 4] = {};
	__u8 *ip = frame + ETH_HLEN, *bth = ip + HDR_LEN;
	ssize_t len = BTH_LEN + p->len;

	memcpy(frame, w->mac, ETH_ALEN);
	memcpy(frame + ETH_ALEN, wire_peer_mac, ETH_ALEN);
	put_be(frame + 2 * ETH_ALEN, ETH_P_IP, 2);
	wire_ip(ip, sizeof(struct udphdr) + len + 4);
	bth[0] = p->opcode;
	put_be(bth + 2, 0xffff, 2);		/* P_Key */
	put_be(bth + 5, w->qpn, 3);
	bth[8] = 0x80;				/* asks for an ACK */
	put_be(bth + 9, p->psn, 3);
	memcpy(bth + BTH_LEN, p->body, p->len);
	wire_icrc(ip, bth, len);
	len += ETH_HLEN + HDR_LEN + 4;
	ASSERT_EQ(len, send(w->fd, frame, len, 0));
}

/* ---- requests and answers ---- */

static inline void put_reth(__u8 *at, __u64 addr, __u32 rkey, __u32 len)
{
	put_be(at, addr, 8);
	put_be(at + 8, rkey, 4);
	put_be(at + 12, len, 4);
}

static inline struct wire_packet wire_flush(__u32 psn, __u8 placement, __u8 level, __u64 addr,
					    __u32 rkey, __u32 len)
{
	struct wire_packet p = { .opcode = OP_FLUSH, .psn = psn, .len = 20 };

	p.body[3] = level << 4 | placement;
	put_reth(p.body + 4, addr, rkey, len);
	return p;
}

static inline struct wire_packet wire_rdma(__u8 opcode, __u32 psn, __u64 addr, __u32 rkey,
					   __u32 len)
{
	struct wire_packet p = { .opcode = opcode, .psn = psn, .len = 16 };

	put_reth(p.body, addr, rkey, len);
	return p;
}

/* WRITE or ATOMIC WRITE of 8 bytes. */
static inline struct wire_packet wire_write(__u8 opcode, __u32 psn, __u64 addr, __u32 rkey,
					    __u64 value)
{
	struct wire_packet p = wire_rdma(opcode, psn, addr, rkey, sizeof(value));

	memcpy(p.body + p.len, &value, sizeof(value));
	p.len += sizeof(value);
	return p;
}

static inline struct wire_packet wire_answer(__u8 opcode, __u32 psn)
{
	return (struct wire_packet){ .opcode = opcode, .psn = psn, .len = 4,
				     .body = { SYN_ACK } };
}

/* ---- receiving ---- */

static inline int wire_parse(const __u8 *frame, ssize_t len, struct wire_packet *p)
{
	const __u8 *bth = frame + ETH_HLEN + HDR_LEN;
	struct iphdr ip;

	len -= ETH_HLEN + HDR_LEN + BTH_LEN + 4;
	memcpy(&ip, frame + ETH_HLEN, sizeof(ip));
	if (len < 0 || len > MAX_BODY || ip.protocol != IPPROTO_UDP ||
	    ip.daddr != inet_addr(WIRE_PEER) || get_be(bth - 6, 2) != WIRE_PORT)
		return 0;
	p->opcode = bth[0];
	p->qpn = get_be(bth + 5, 3);
	p->psn = get_be(bth + 9, 3);
	p->len = len;
	memcpy(p->body, bth + BTH_LEN, len);
	return 1;
}

static inline struct wire_packet wire_receive(struct __test_metadata *_metadata, struct wire *w)
{
	long long end = now_ms() + WAIT_MS;
	struct wire_packet p = {};
	__u8 frame[4300];

	do {
		ASSERT_LT(now_ms(), end)
			TH_LOG("no packet came");
		if (!poll_for(w->fd, POLLIN, 1000))
			continue;
		if (wire_parse(frame, recv(w->fd, frame, sizeof(frame), 0), &p))
			return p;
	} while (true);
}

#define expect_packet(w, want_opcode, want_psn)				\
	({								\
		struct wire_packet __p = wire_receive(_metadata, w);	\
		ASSERT_EQ((int)(want_opcode), (int)__p.opcode);		\
		ASSERT_EQ((__u32)(want_psn), __p.psn);			\
		ASSERT_EQ(WIRE_QPN, __p.qpn);				\
		__p;							\
	})

/* The same, behind repetitions of what is known already. */
#define expect_packet_after(w, known, want_opcode, want_psn)		\
	({								\
		struct wire_packet __q;					\
									\
		do							\
			__q = wire_receive(_metadata, w);		\
		while (__q.psn == (known)->psn && __q.opcode == (known)->opcode); \
		ASSERT_EQ((int)(want_opcode), (int)__q.opcode);		\
		ASSERT_EQ((__u32)(want_psn), __q.psn);			\
		__q;							\
	})

#define wire_say(w, ...)						\
	({								\
		struct wire_packet __say = __VA_ARGS__;			\
		wire_send(_metadata, w, &__say);			\
	})

#endif /* _RXE_WIRE_H */
