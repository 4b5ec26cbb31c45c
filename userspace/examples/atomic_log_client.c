// SPDX-License-Identifier: BSD-3-Clause
/*
 * Appends words to a log on another machine (see atomic_log.h). Each is
 * written and flushed, and only behind that flush the atomic write makes it
 * part of the log. All four requests go at once; the last completion speaks
 * for all. Whoever reads the log, also after a crash, finds whole entries.
 *
 *	atomic_log_server 192.0.2.1 7471 /dev/dax0.0
 *	atomic_log_client 192.0.2.1 7471 first second third
 */
#include "atomic_log.h"

struct client {
	struct log *copy;		/* registered: what comes from and goes to the log */
	struct rpma_mr_local *local;
	struct rpma_mr_remote *remote;
	struct rpma_conn *conn;
	struct rpma_cq *cq;
	enum rpma_flush_type flush_type;
	uint64_t used;
};

/* How full is the log? */
static void read_state(struct client *c)
{
	check(rpma_read(c->conn, c->local, 0, c->remote, 0, offsetof(struct log, data),
			RPMA_F_COMPLETION_ALWAYS, "read"), "reading");
	next_completion(c->cq);
	if (memcmp(c->copy->signature, LOG_SIGNATURE, sizeof(c->copy->signature)))
		die("the server offers no log");
	c->used = le64toh(c->copy->used);
	if (c->used > sizeof(c->copy->data))
		die("the server's log says that it is larger than it can be");
}

static void append(struct client *c, const char *word)
{
	const size_t at = offsetof(struct log, data) + c->used, len = strlen(word) + 1;
	uint64_t used;

	if (len > sizeof(c->copy->data) - c->used)
		die("the log has no room for %s", word);
	memcpy(c->copy->data + c->used, word, len);
	c->copy->data[c->used + len - 1] = '\n';

	check(rpma_write(c->conn, c->remote, at, c->local, at, len, RPMA_F_COMPLETION_ON_ERROR,
			 "write"), "writing");
	check(rpma_flush(c->conn, c->remote, at, len, c->flush_type, RPMA_F_COMPLETION_ON_ERROR,
			 "flush"), "flushing");
	used = htole64(c->used + len);
	check(rpma_atomic_write(c->conn, c->remote, offsetof(struct log, used), (char *)&used,
				RPMA_F_COMPLETION_ON_ERROR, "atomic write"), "writing atomically");
	check(rpma_flush(c->conn, c->remote, offsetof(struct log, used), sizeof(used),
			 c->flush_type, RPMA_F_COMPLETION_ALWAYS, "flush"), "flushing");
	next_completion(c->cq);
	c->used += len;
	printf("appended %s\n", word);
}

static void run(struct client *c, char *words[])
{
	bool persistent;
	size_t size;

	c->remote = offer_take(c->conn, &persistent);
	c->flush_type = persistent ? RPMA_FLUSH_TYPE_PERSISTENT : RPMA_FLUSH_TYPE_VISIBILITY;
	check(rpma_mr_remote_get_size(c->remote, &size), "rpma_mr_remote_get_size");
	if (size != sizeof(struct log))
		die("the server offers no log");
	check(rpma_conn_get_cq(c->conn, &c->cq), "rpma_conn_get_cq");
	read_state(c);
	for (; *words; words++)
		append(c, *words);
	check(rpma_mr_remote_delete(&c->remote), "rpma_mr_remote_delete");
}

int main(int argc, char *argv[])
{
	size_t size = sizeof(struct log);
	struct rpma_conn_req *req;
	struct rpma_peer *peer;
	struct client client;

	if (argc < 4)
		die_usage(argv[0], "ADDR PORT WORD...");
	show_errors();

	peer = open_peer(argv[1], RPMA_UTIL_IBV_CONTEXT_REMOTE);
	client.copy = map_memory(NULL, &size);
	check(rpma_mr_reg(peer, client.copy, size, RPMA_MR_USAGE_WRITE_SRC | RPMA_MR_USAGE_READ_DST,
			  &client.local), "registering memory");

	check(rpma_conn_req_new(peer, argv[1], argv[2], NULL, &req), "looking for the server");
	check(rpma_conn_req_connect(&req, NULL, &client.conn), "connecting");
	expect_event(client.conn, RPMA_CONN_ESTABLISHED);
	run(&client, argv + 3);
	hang_up(client.conn);

	check(rpma_mr_dereg(&client.local), "rpma_mr_dereg");
	check(rpma_peer_delete(&peer), "rpma_peer_delete");
	return EXIT_SUCCESS;
}
