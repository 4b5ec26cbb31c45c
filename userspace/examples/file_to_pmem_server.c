// SPDX-License-Identifier: BSD-3-Clause
/*
 * Offers persistent memory to file_to_pmem_client, and waits until it hangs
 * up. The client needs no help meanwhile; this program may even be killed
 * with the machine, and what the client flushed is there.
 */
#include <getopt.h>

#include "memory.h"
#include "offer.h"

static void usage(FILE *out, const char *name)
{
	fprintf(out,
		"usage: %s [options] ADDR PORT PATH\n"
		"Offers the memory behind PATH (/dev/dax0.0, or a file that can be pinned) at\n"
		"this machine's address ADDR to a file_to_pmem_client, once.\n"
		"\n"
		"  --size N     offer the first N bytes (suffix k, M or G); default: all\n"
		"  --volatile   offer VISIBILITY only: PATH is not persistent, or the adapter\n"
		"               does not write past this machine's caches\n"
		"  --forever    serve one client after another\n"
		"  --help       print this\n"
		"\n"
		"Exit status: 0 the client was served, 1 failure, 2 wrong usage.\n",
		name);
}

static void serve(struct rpma_ep *ep, struct offer *offer)
{
	const struct rpma_conn_private_data pdata = { .ptr = offer, .len = sizeof(*offer) };
	enum rpma_conn_event event;
	struct rpma_conn_req *req;
	struct rpma_conn *conn;

	check(rpma_ep_next_conn_req(ep, NULL, &req), "waiting for a client");
	check(rpma_conn_req_connect(&req, &pdata, &conn), "accepting a client");
	check(rpma_conn_next_event(conn, &event), "waiting for a connection event");
	if (event == RPMA_CONN_ESTABLISHED) {
		printf("client connected\n");
		fflush(stdout);
		check(rpma_conn_next_event(conn, &event), "waiting for a connection event");
	}
	printf("client: %s\n", rpma_utils_conn_event_2str(event));
	fflush(stdout);
	rpma_conn_disconnect(conn);
	check(rpma_conn_delete(&conn), "ending the connection");
}

struct settings {
	const char *addr, *port, *path;
	size_t size;
	bool persistent, forever;
};

/* Ends the program unless options and arguments make sense. */
static void settings_read(struct settings *set, int argc, char *argv[])
{
	static const struct option options[] = {
		{ "size", required_argument, NULL, 's' },
		{ "volatile", no_argument, NULL, 'v' },
		{ "forever", no_argument, NULL, 'f' },
		{ "help", no_argument, NULL, 'h' },
		{ 0 },
	};
	int opt;

	while ((opt = getopt_long(argc, argv, "", options, NULL)) != -1) {
		switch (opt) {
		case 's':
			set->size = parse_size(optarg);
			if (set->size)
				break;
			fprintf(stderr, "%s: --size %s is no size\n", argv[0], optarg);
			exit(EXIT_USAGE);
		case 'v':
			set->persistent = false;
			break;
		case 'f':
			set->forever = true;
			break;
		case 'h':
			usage(stdout, argv[0]);
			exit(EXIT_SUCCESS);
		default:
			usage(stderr, argv[0]);
			exit(EXIT_USAGE);
		}
	}
	if (argc - optind != 3) {
		usage(stderr, argv[0]);
		exit(EXIT_USAGE);
	}
	set->addr = argv[optind];
	set->port = argv[optind + 1];
	set->path = argv[optind + 2];
}

int main(int argc, char *argv[])
{
	/*
	 * READ_SRC lets clients flush by reading, as rpma-kmod does. On librpma 1.3
	 * a flush usage alone does not, where the adapter knows a FLUSH of its own.
	 */
	int mr_usage = RPMA_MR_USAGE_WRITE_DST | RPMA_MR_USAGE_READ_SRC |
		       RPMA_MR_USAGE_FLUSH_TYPE_VISIBILITY;
	struct settings set = { .persistent = true };
	struct rpma_mr_local *mr;
	struct rpma_peer *peer;
	struct offer offer;
	struct rpma_ep *ep;
	void *ptr;

	settings_read(&set, argc, argv);
	show_errors();

	ptr = map_memory(set.path, &set.size);
	peer = open_peer(set.addr, RPMA_UTIL_IBV_CONTEXT_LOCAL);
	if (set.persistent)
		mr_usage |= RPMA_MR_USAGE_FLUSH_TYPE_PERSISTENT;
	check(rpma_mr_reg(peer, ptr, set.size, mr_usage, &mr), "registering the memory");
	offer_make(&offer, mr, set.persistent);

	check(rpma_ep_listen(peer, set.addr, set.port, &ep), "listening");
	printf("ready: %zu bytes of %s, flushes are %s\n", set.size, set.path,
	       set.persistent ? "PERSISTENT" : "for VISIBILITY only");
	fflush(stdout);
	do {
		serve(ep, &offer);
	} while (set.forever);

	check(rpma_ep_shutdown(&ep), "rpma_ep_shutdown");
	check(rpma_mr_dereg(&mr), "rpma_mr_dereg");
	check(rpma_peer_delete(&peer), "rpma_peer_delete");
	return EXIT_SUCCESS;
}
