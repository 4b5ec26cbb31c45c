// SPDX-License-Identifier: BSD-3-Clause
/*
 * Offers persistent memory to file_to_pmem_client, and waits until it hangs
 * up. The client needs no help meanwhile; this program may even be killed
 * with the machine, and what the client flushed is there.
 */
#include <getopt.h>

#include "common.h"

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

int main(int argc, char *argv[])
{
	static const struct option options[] = {
		{ "size", required_argument, NULL, 's' },
		{ "volatile", no_argument, NULL, 'v' },
		{ "forever", no_argument, NULL, 'f' },
		{ "help", no_argument, NULL, 'h' },
		{ 0 },
	};
	int mr_usage = RPMA_MR_USAGE_WRITE_DST | RPMA_MR_USAGE_FLUSH_TYPE_VISIBILITY;
	bool persistent = true, forever = false;
	struct rpma_mr_local *mr;
	struct rpma_peer *peer;
	struct offer offer;
	struct rpma_ep *ep;
	size_t size = 0;
	void *ptr;
	int opt;

	while ((opt = getopt_long(argc, argv, "", options, NULL)) != -1) {
		switch (opt) {
		case 's':
			size = parse_size(optarg);
			if (!size) {
				fprintf(stderr, "%s: --size %s is no size\n", argv[0], optarg);
				return EXIT_USAGE;
			}
			break;
		case 'v':
			persistent = false;
			break;
		case 'f':
			forever = true;
			break;
		case 'h':
			usage(stdout, argv[0]);
			return EXIT_SUCCESS;
		default:
			usage(stderr, argv[0]);
			return EXIT_USAGE;
		}
	}
	if (argc - optind != 3) {
		usage(stderr, argv[0]);
		return EXIT_USAGE;
	}
	show_errors();

	ptr = map_memory(argv[optind + 2], &size);
	peer = open_peer(argv[optind], RPMA_UTIL_IBV_CONTEXT_LOCAL);
	if (persistent)
		mr_usage |= RPMA_MR_USAGE_FLUSH_TYPE_PERSISTENT;
	check(rpma_mr_reg(peer, ptr, size, mr_usage, &mr), "registering the memory");
	offer_make(&offer, mr, persistent);

	check(rpma_ep_listen(peer, argv[optind], argv[optind + 1], &ep), "listening");
	printf("ready: %zu bytes of %s, flushes are %s\n", size, argv[optind + 2],
	       persistent ? "PERSISTENT" : "for VISIBILITY only");
	fflush(stdout);
	do {
		serve(ep, &offer);
	} while (forever);

	check(rpma_ep_shutdown(&ep), "rpma_ep_shutdown");
	check(rpma_mr_dereg(&mr), "rpma_mr_dereg");
	check(rpma_peer_delete(&peer), "rpma_peer_delete");
	return EXIT_SUCCESS;
}
