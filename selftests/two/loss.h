/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What loss_target offers to loss_test and order_test: two regions, described
 * in its answer, and a TCP connection on which it does as it is told.
 */
#ifndef _TWO_LOSS_H
#define _TWO_LOSS_H

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define LOSS_PORT "7320"
#define LOSS_PORT_NR 7320
#define LOSS_CONTROL_PORT 7321

#define LOSS_REGION (1UL << 20)
#define LOSS_DESC_SIZE 21

enum loss_region {
	LOSS_DRAM,
	LOSS_PMEM,	/* only where the target was given one */
	LOSS_REGIONS,
};

/*
 * Generations in a region, for order_test: the word that commits them stands
 * in front, slot N % ORDER_SLOTS has the data of generation N.
 */
#define ORDER_SLOTS 64
#define ORDER_FIRST_SLOT 4096
#define ORDER_SLOT 8192
#define ORDER_WORDS (ORDER_SLOT / 8)

static inline uint64_t order_slot(uint64_t generation)
{
	return ORDER_FIRST_SLOT + generation % ORDER_SLOTS * ORDER_SLOT;
}

static inline uint64_t order_word(uint64_t generation, unsigned int i)
{
	return generation * 0x9e3779b97f4a7c15ULL + i;
}

enum loss_command_type {
	LOSS_QP = 1,	/* value: number of the queue pair of the newest connection */
	LOSS_DROP,	/* lets @skip packets with @opcode to that queue pair pass, drops @drop */
	LOSS_DROPPED,	/* value: how many with @opcode were dropped */
	LOSS_PEEK,	/* data: what is at @offset of @region */
	LOSS_CLEAR,	/* zeroes @region */
	LOSS_NETEM,	/* loses and reorders what it sends: @drop is 1 or 0 */
	LOSS_OBSERVE,	/* starts the observer of @region */
	LOSS_OBSERVED,	/* what it saw so far */
	LOSS_UNOBSERVE,	/* ends it */
};

struct loss_command {
	uint32_t type;
	uint32_t region;
	uint32_t opcode;
	uint32_t skip;
	uint32_t drop;
	uint32_t offset;
};

struct loss_observed {
	uint64_t generations;	/* distinct ones, looked at in full */
	uint64_t violations;	/* of these, those whose data were not all there */
	uint64_t overtaken;	/* new data may have come while it looked */
	uint64_t latest;	/* generation */
};

struct loss_answer {
	uint64_t value;
	struct loss_observed observed;
	uint8_t data[4096];
};

static inline int loss_whole(int fd, void *data, size_t size, int out)
{
	for (size_t done = 0; done < size;) {
		ssize_t n = out ? write(fd, (char *)data + done, size - done) :
			    read(fd, (char *)data + done, size - done);

		if (n <= 0)
			return -1;
		done += n;
	}
	return 0;
}

/* Return: a connection to the target at @addr, which takes commands. */
static inline int loss_control(const char *addr)
{
	struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons(LOSS_CONTROL_PORT) };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), one = 1;

	inet_pton(AF_INET, addr, &to.sin_addr);
	if (fd < 0 || connect(fd, (struct sockaddr *)&to, sizeof(to)))
		return -1;
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	return fd;
}

/* What both machines do to what they send. A full queue would end connections on rxe. */
#define LOSS_NETEM_ON							\
	"tc qdisc replace dev eth0 root netem limit 100000 delay 1ms reorder 25% loss 5%"
#define LOSS_NETEM_OFF "tc qdisc del dev eth0 root"

#endif /* _TWO_LOSS_H */
