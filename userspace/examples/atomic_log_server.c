// SPDX-License-Identifier: BSD-3-Clause
/*
 * Keeps a log (see atomic_log.h) in PATH, a /dev/dax device or a file, or in
 * DRAM without one, to which a client appends without any help from here;
 * prints it when the client has hung up. A log that is there already stays.
 *
 *	atomic_log_server 192.0.2.1 7471 /dev/dax0.0
 *	atomic_log_client 192.0.2.1 7471 first second third
 */
#include "atomic_log.h"

static void log_open(struct log *log)
{
	if (!memcmp(log->signature, LOG_SIGNATURE, sizeof(log->signature)))
		return;
	log->used = htole64(0);
	persist(log, sizeof(*log));

	/* The signature last: half a log is none. */
	memcpy(log->signature, LOG_SIGNATURE, sizeof(log->signature));
	persist(log, sizeof(*log));
}

static void log_show(const struct log *log)
{
	uint64_t used = le64toh(log->used);

	if (used > sizeof(log->data))
		die("this log says that it is larger than it can be");
	printf("%llu bytes in the log\n%.*s", (unsigned long long)used, (int)used, log->data);
}

int main(int argc, char *argv[])
{
	/*
	 * READ_SRC: the client reads how much is used. It also lets clients flush
	 * by reading, as rpma-kmod does, when this program runs on librpma 1.3.
	 */
	int usage = RPMA_MR_USAGE_WRITE_DST | RPMA_MR_USAGE_READ_SRC |
		    RPMA_MR_USAGE_FLUSH_TYPE_VISIBILITY;
	const char *path = argc == 4 ? argv[3] : NULL;
	struct rpma_conn_private_data pdata;
	size_t size = sizeof(struct log);
	struct rpma_conn_req *req;
	struct rpma_mr_local *mr;
	struct rpma_conn *conn;
	struct rpma_peer *peer;
	struct offer offer;
	struct rpma_ep *ep;
	struct log *log;

	if (argc < 3 || argc > 4)
		die_usage(argv[0], "ADDR PORT [PATH]");
	show_errors();

	peer = open_peer(argv[1], RPMA_UTIL_IBV_CONTEXT_LOCAL);
	log = map_memory(path, &size);
	log_open(log);
	if (path)
		usage |= RPMA_MR_USAGE_FLUSH_TYPE_PERSISTENT;
	check(rpma_mr_reg(peer, log, size, usage, &mr), "registering memory");

	/* Persistent memory is of use only if the adapter writes past the caches. */
	offer_make(&offer, mr, path != NULL);
	pdata.ptr = &offer;
	pdata.len = sizeof(offer);

	check(rpma_ep_listen(peer, argv[1], argv[2], &ep), "listening");
	say_ready(argv[1], argv[2]);
	check(rpma_ep_next_conn_req(ep, NULL, &req), "waiting for a client");
	check(rpma_conn_req_connect(&req, &pdata, &conn), "accepting the client");
	expect_event(conn, RPMA_CONN_ESTABLISHED);
	wait_for_hang_up(conn);
	log_show(log);

	check(rpma_ep_shutdown(&ep), "rpma_ep_shutdown");
	check(rpma_mr_dereg(&mr), "rpma_mr_dereg");
	check(rpma_peer_delete(&peer), "rpma_peer_delete");
	return EXIT_SUCCESS;
}
