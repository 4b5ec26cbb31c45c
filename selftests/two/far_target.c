// SPDX-License-Identifier: GPL-2.0
/*
 * The other machine of far_test: offers regions to whoever connects, rejects
 * at a second port, until it is killed.
 *
 * usage: far_target ADDR...		offer anonymous memory
 *	  far_target -p PATH ADDR	offer PATH, for PERSISTENT flushes too
 *	  far_target -d PATH BYTES	write the first BYTES of PATH to stdout
 */
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <librpma.h>

#include "far.h"

#define MAX_FDS 64

#define USAGE (RPMA_MR_USAGE_READ_SRC | RPMA_MR_USAGE_WRITE_DST | \
	       RPMA_MR_USAGE_FLUSH_TYPE_VISIBILITY)

static void check(int ret, const char *what)
{
	if (ret) {
		fprintf(stderr, "%s: %s\n", what, rpma_err_2str(ret));
		exit(1);
	}
}

static void *map(const char *path, size_t size)
{
	int fd = path ? open(path, O_RDWR) : -1;
	void *p = mmap(NULL, size, PROT_READ | PROT_WRITE,
		       path ? MAP_SHARED : MAP_PRIVATE | MAP_ANONYMOUS, fd, 0);

	if ((path && fd < 0) || p == MAP_FAILED) {
		perror(path ? path : "mmap");
		exit(1);
	}
	return p;
}

static int dump(const char *path, size_t bytes)
{
	size_t whole = (bytes + (2 << 20) - 1) & ~((2UL << 20) - 1);

	return fwrite(map(path, whole), 1, bytes, stdout) == bytes ? 0 : 1;
}

static void make_offer(struct rpma_peer *peer, const char *path, uint8_t *offer)
{
	uint8_t *memory = map(path, 4UL << 20);
	int usage = USAGE | (path ? RPMA_MR_USAGE_FLUSH_TYPE_PERSISTENT : 0);

	for (size_t i = 0; i < FAR_REGIONS; i++) {
		/* The big one starts at 0, the others lie behind it, a page apart. */
		uint8_t *end = far_sizes[i] == FAR_BIG ? memory + FAR_BIG :
			       memory + FAR_BIG + (i + 1) * 8192;
		struct rpma_mr_local *mr;

		check(rpma_mr_reg(peer, end - far_sizes[i], far_sizes[i], usage, &mr),
		      "registering");
		check(rpma_mr_get_descriptor(mr, offer + i * FAR_DESC_SIZE), "describing");
	}
}

struct listener {
	struct rpma_ep *ep;
	int rejects;
};

static struct rpma_conn *answer(const struct listener *l, uint8_t *offer)
{
	struct rpma_conn_private_data pdata = { .ptr = offer, .len = FAR_OFFER_SIZE };
	struct rpma_conn_req *req = NULL;
	struct rpma_conn *conn = NULL;

	if (rpma_ep_next_conn_req(l->ep, NULL, &req))
		return NULL;
	if (l->rejects)
		rpma_conn_req_delete(&req);
	else
		rpma_conn_req_connect(&req, &pdata, &conn);
	return conn;
}

/* Everything but the established event ends a connection. */
static int has_ended(struct rpma_conn *conn)
{
	enum rpma_conn_event event;

	return rpma_conn_next_event(conn, &event) || event != RPMA_CONN_ESTABLISHED;
}

static void serve(struct listener *listeners, int nr_listeners, uint8_t *offer)
{
	struct rpma_conn *conns[MAX_FDS] = {};
	struct pollfd fds[MAX_FDS];
	int nr = nr_listeners;

	for (int i = 0; i < nr; i++) {
		fds[i].events = POLLIN;
		check(rpma_ep_get_fd(listeners[i].ep, &fds[i].fd), "ep fd");
	}
	for (;;) {
		poll(fds, nr, -1);
		for (int i = nr - 1; i >= nr_listeners; i--) {
			if (!fds[i].revents || !has_ended(conns[i]))
				continue;
			rpma_conn_disconnect(conns[i]);
			rpma_conn_delete(&conns[i]);
			nr--;
			conns[i] = conns[nr];
			fds[i] = fds[nr];
		}
		for (int i = 0; i < nr_listeners; i++) {
			struct rpma_conn *conn = fds[i].revents ? answer(&listeners[i], offer) :
								  NULL;

			if (!conn || nr == MAX_FDS)
				continue;
			conns[nr] = conn;
			fds[nr] = (struct pollfd){ .events = POLLIN };
			check(rpma_conn_get_event_fd(conn, &fds[nr].fd), "event fd");
			nr++;
		}
	}
}

int main(int argc, char *argv[])
{
	struct listener listeners[8] = {};
	uint8_t offer[FAR_OFFER_SIZE];
	struct ibv_context *context;
	const char *path = NULL;
	struct rpma_peer *peer;
	int nr = 0, first = 1;

	if (argc == 4 && !strcmp(argv[1], "-d"))
		return dump(argv[2], strtoul(argv[3], NULL, 0));
	if (argc > 3 && !strcmp(argv[1], "-p")) {
		path = argv[2];
		first = 3;
	}
	check(rpma_utils_get_ibv_context(argv[first], RPMA_UTIL_IBV_CONTEXT_LOCAL, &context),
	      "finding the device");
	check(rpma_peer_new(context, &peer), "opening the device");
	make_offer(peer, path, offer);
	for (int i = first; i < argc && nr < 8; i++) {
		check(rpma_ep_listen(peer, argv[i], FAR_PORT, &listeners[nr++].ep), "listening");
		listeners[nr].rejects = 1;
		check(rpma_ep_listen(peer, argv[i], FAR_PORT_REJECTING, &listeners[nr++].ep),
		      "listening");
	}
	puts("ready");
	fflush(stdout);
	serve(listeners, nr, offer);
	return 0;
}
