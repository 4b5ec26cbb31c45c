// SPDX-License-Identifier: GPL-2.0
/*
 * The other machine of loss_test and order_test: offers regions to whoever
 * connects, loses packets and watches its memory as it is told (loss.h).
 *
 * usage: loss_target ADDR [DAX]
 */
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

#include <librpma.h>

#include "loss.h"
#include "loss_drop.h"

#define MAX_FDS 32
#define MAPPED (2UL << 20)

#define USAGE (RPMA_MR_USAGE_READ_SRC | RPMA_MR_USAGE_WRITE_DST | \
	       RPMA_MR_USAGE_FLUSH_TYPE_VISIBILITY)

static uint8_t *regions[LOSS_REGIONS];
static uint8_t offer[LOSS_REGIONS * LOSS_DESC_SIZE];
static struct drop drop;
static uint32_t newest_qp;

static void check(int failed, const char *what)
{
	if (failed) {
		perror(what);
		exit(1);
	}
}

/* ---- memory ---- */

static void make_region(struct rpma_peer *peer, int nr, const char *path)
{
	int usage = USAGE | (path ? RPMA_MR_USAGE_FLUSH_TYPE_PERSISTENT : 0);
	int fd = path ? open(path, O_RDWR) : -1;
	struct rpma_mr_local *mr;

	regions[nr] = mmap(NULL, MAPPED, PROT_READ | PROT_WRITE,
			   path ? MAP_SHARED : MAP_SHARED | MAP_ANONYMOUS, fd, 0);
	check(regions[nr] == MAP_FAILED, "mmap");
	check(rpma_mr_reg(peer, regions[nr], LOSS_REGION, usage, &mr), "registering");
	check(rpma_mr_get_descriptor(mr, offer + nr * LOSS_DESC_SIZE), "describing");
}

/* ---- the observer: an ordinary reader of this machine's memory ---- */

static struct {
	pthread_t thread;
	uint8_t *memory;
	int running;
	struct loss_observed saw;
} observer;

static uint64_t committed(void)
{
	return __atomic_load_n((uint64_t *)observer.memory, __ATOMIC_ACQUIRE);
}

static int is_all_there(uint64_t generation)
{
	const uint64_t *words = (const void *)(observer.memory + order_slot(generation));

	for (unsigned int i = 0; i < ORDER_WORDS; i++)
		if (__atomic_load_n(&words[i], __ATOMIC_RELAXED) != order_word(generation, i))
			return 0;
	return 1;
}

/*
 * A slot is written anew behind the commitment of the generation before its
 * next one; until that is seen its data must be there, all of them.
 */
static void *observe(void *arg)
{
	uint64_t last = 0;

	while (__atomic_load_n(&observer.running, __ATOMIC_RELAXED)) {
		uint64_t generation = committed();
		int good;

		if (generation == last) {
			sched_yield();
			continue;
		}
		good = is_all_there(generation);
		__atomic_thread_fence(__ATOMIC_ACQUIRE);
		if (committed() - generation >= ORDER_SLOTS - 2) {
			observer.saw.overtaken++;
		} else {
			observer.saw.generations++;
			observer.saw.violations += !good;
		}
		observer.saw.latest = last = generation;
	}
	return NULL;
}

static void observer_stop(void)
{
	if (!observer.running)
		return;
	__atomic_store_n(&observer.running, 0, __ATOMIC_RELAXED);
	pthread_join(observer.thread, NULL);
}

static void observer_start(uint8_t *memory)
{
	observer_stop();
	memset(&observer, 0, sizeof(observer));
	observer.memory = memory;
	observer.running = 1;
	check(pthread_create(&observer.thread, NULL, observe, NULL), "observer");
}

/* ---- commands ---- */

static uint64_t obey(const struct loss_command *c, struct loss_answer *a)
{
	uint8_t *memory = regions[c->region % LOSS_REGIONS];

	switch (c->type) {
	case LOSS_QP:
		return newest_qp;
	case LOSS_DROP:
		return drop_rule(&drop, newest_qp, c->opcode, c->skip, c->drop);
	case LOSS_DROPPED:
		return drop_dropped(&drop, newest_qp, c->opcode);
	case LOSS_PEEK:
		memcpy(a->data, memory + c->offset, sizeof(a->data));
		return 0;
	case LOSS_CLEAR:
		memset(memory, 0, LOSS_REGION);
		return 0;
	case LOSS_NETEM:
		return system(c->drop ? LOSS_NETEM_ON : LOSS_NETEM_OFF);
	case LOSS_OBSERVE:
		observer_start(memory);
		return 0;
	case LOSS_UNOBSERVE:
		observer_stop();
		/* fallthrough */
	case LOSS_OBSERVED:
		a->observed = observer.saw;
		return 0;
	}
	return -1;
}

/* ---- connections ---- */

static int control_listen(void)
{
	struct sockaddr_in at = { .sin_family = AF_INET, .sin_port = htons(LOSS_CONTROL_PORT) };
	int fd = socket(AF_INET, SOCK_STREAM, 0), one = 1;

	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	check(bind(fd, (struct sockaddr *)&at, sizeof(at)) || listen(fd, 8), "control");
	return fd;
}

/* Return: 0 when who commands has gone. */
static int control_serve(int fd)
{
	struct loss_command command;
	struct loss_answer answer = {};

	if (loss_whole(fd, &command, sizeof(command), 0))
		return 0;
	answer.value = obey(&command, &answer);
	return !loss_whole(fd, &answer, sizeof(answer), 1);
}

static struct rpma_conn *take(struct rpma_ep *ep, size_t offer_size)
{
	struct rpma_conn_private_data pdata = { .ptr = offer, .len = offer_size };
	struct rpma_conn_req *req = NULL;
	struct rpma_conn *conn = NULL;

	if (rpma_ep_next_conn_req(ep, NULL, &req))
		return NULL;
	rpma_conn_req_connect(&req, &pdata, &conn);
	if (conn)
		rpma_conn_get_qp_num(conn, &newest_qp);
	return conn;
}

static int has_ended(struct rpma_conn *conn)
{
	enum rpma_conn_event event;

	return rpma_conn_next_event(conn, &event) || event != RPMA_CONN_ESTABLISHED;
}

static void hang_up(struct rpma_conn *conn)
{
	rpma_conn_disconnect(conn);
	rpma_conn_delete(&conn);
}

/* fds[0] is the endpoint, fds[1] control's listener; conns[i] is NULL for control. */
static void serve(struct rpma_ep *ep, size_t offer_size)
{
	struct rpma_conn *conns[MAX_FDS] = {};
	struct pollfd fds[MAX_FDS];
	int nr = 2;

	fds[0].events = fds[1].events = POLLIN;
	check(rpma_ep_get_fd(ep, &fds[0].fd), "ep fd");
	fds[1].fd = control_listen();
	puts("ready");
	fflush(stdout);
	while (poll(fds, nr, -1) > 0 && nr < MAX_FDS) {
		for (int i = nr - 1; i >= 2; i--) {
			if (!fds[i].revents || (conns[i] ? !has_ended(conns[i]) :
							   control_serve(fds[i].fd)))
				continue;
			if (conns[i])
				hang_up(conns[i]);
			else
				close(fds[i].fd);
			nr--;
			conns[i] = conns[nr];
			fds[i] = fds[nr];
		}
		fds[nr].events = POLLIN;
		conns[nr] = fds[0].revents ? take(ep, offer_size) : NULL;
		if (conns[nr] && !rpma_conn_get_event_fd(conns[nr], &fds[nr].fd))
			nr++;
		fds[nr].events = POLLIN;
		conns[nr] = NULL;
		if (fds[1].revents) {
			fds[nr].fd = accept(fds[1].fd, NULL, NULL);
			nr++;
		}
	}
}

int main(int argc, char *argv[])
{
	struct ibv_context *context;
	struct rpma_peer *peer;
	struct rpma_ep *ep;

	if (argc < 2)
		return 2;
	check(drop_start(&drop, "eth0"), "drop");
	check(rpma_utils_get_ibv_context(argv[1], RPMA_UTIL_IBV_CONTEXT_LOCAL, &context),
	      "finding the device");
	check(rpma_peer_new(context, &peer), "opening the device");
	make_region(peer, LOSS_DRAM, NULL);
	if (argc > 2)
		make_region(peer, LOSS_PMEM, argv[2]);
	check(rpma_ep_listen(peer, argv[1], LOSS_PORT, &ep), "listening");
	serve(ep, (argc > 2 ? 2 : 1) * LOSS_DESC_SIZE);
	return 0;
}
