// SPDX-License-Identifier: BSD-3-Clause
/*
 * Streams a file into the persistent memory that file_to_pmem_server offers.
 *
 * The file is read into two halves of a buffer in turn. Of each half the
 * chunks are written without asking for completions, then one flush covers
 * them all; while it is under way the other half is filled. When the flush
 * completes, that part of the file survives a loss of power over there.
 */
#include <getopt.h>

#include "figures.h"
#include "memory.h"
#include "offer.h"

static void usage(FILE *out, const char *name)
{
	fprintf(out,
		"usage: %s [options] ADDR PORT FILE\n"
		"Copies FILE to the start of the memory that a file_to_pmem_server at ADDR offers,\n"
		"flushing it there piece by piece.\n"
		"\n"
		"  --chunk SIZE         bytes in one write (suffix k, M or G); default 64k\n"
		"  --batch N            writes covered by one flush; default 16\n"
		"  --retry SECONDS      keep trying to connect for so long; default 0\n"
		"  --allow-visibility   go on without durability if the server offers none\n"
		"  --hold               when all is flushed, stay connected until standard input ends;\n"
		"                       then leave without a goodbye, nobody may be there to hear it\n"
		"  --help               print this\n"
		"\n"
		"Exit status: 0 all of FILE was flushed, 1 failure, 2 wrong usage.\n",
		name);
}

/* ---- the transfer -------------------------------------------------------------- */

struct transfer {
	FILE *file;
	struct rpma_conn *conn;
	struct rpma_cq *cq;
	struct rpma_mr_local *local;
	struct rpma_mr_remote *remote;
	enum rpma_flush_type type;
	unsigned char *buf;		/* two halves of @half bytes */
	size_t chunk, half, buf_size;
};

static size_t fill(struct transfer *t, unsigned int which, struct figures *fig)
{
	unsigned char *p = t->buf + which * t->half;
	size_t len = fread(p, 1, t->half, t->file);

	if (ferror(t->file))
		die("reading the file: %s", strerror(errno));
	fig->crc = crc32_add(fig->crc, p, len);
	return len;
}

/* Writes one half to @offset over there and starts to flush it. */
static void post(struct transfer *t, unsigned int which, size_t len, uint64_t offset)
{
	size_t at, n;

	for (at = 0; at < len; at += n) {
		n = len - at < t->chunk ? len - at : t->chunk;
		check(rpma_write(t->conn, t->remote, offset + at, t->local, which * t->half + at, n,
				 RPMA_F_COMPLETION_ON_ERROR, "write"), "writing");
	}
	check(rpma_flush(t->conn, t->remote, offset, len, t->type, RPMA_F_COMPLETION_ALWAYS,
			 "flush"), "flushing");
}

static void wait_for_flush(struct transfer *t, struct figures *fig)
{
	struct ibv_wc wc;
	int ret;

	while ((ret = rpma_cq_get_wc(t->cq, 1, &wc, NULL)) == RPMA_E_NO_COMPLETION) {
		ret = rpma_cq_wait(t->cq);
		if (ret && ret != RPMA_E_NO_COMPLETION)
			check(ret, "waiting for a flush");
	}
	check(ret, "fetching a completion");
	if (wc.status != IBV_WC_SUCCESS)
		die("\nafter %llu durable bytes a %s failed with status %d of enum ibv_wc_status",
		    (unsigned long long)fig->bytes, (const char *)(uintptr_t)wc.wr_id, wc.status);
	fig->opcode = wc.opcode;
}

static void run(struct transfer *t, struct figures *fig)
{
	unsigned int which = 0;
	size_t len, next;
	uint64_t posted;

	len = fill(t, which, fig);
	while (len) {
		post(t, which, len, fig->bytes);
		posted = now_ns();
		which ^= 1;
		next = fill(t, which, fig);
		wait_for_flush(t, fig);
		add_latency(fig, now_ns() - posted);
		fig->bytes += len;
		show_progress(fig);
		len = next;
	}
}

static void wait_for_end_of_input(void)
{
	fflush(stdout);
	while (getchar() != EOF)
		;
}

/* ---- the connection ----------------------------------------------------------------- */

static struct rpma_conn *try_connect(struct rpma_peer *peer, const char *addr, const char *port,
				     uint32_t sq_size, char *why, size_t why_size)
{
	enum rpma_conn_event event = RPMA_CONN_UNDEFINED;
	struct rpma_conn *conn = NULL;
	struct rpma_conn_req *req;
	struct rpma_conn_cfg *cfg;
	int ret;

	check(rpma_conn_cfg_new(&cfg), "rpma_conn_cfg_new");
	check(rpma_conn_cfg_set_sq_size(cfg, sq_size), "rpma_conn_cfg_set_sq_size");
	check(rpma_conn_cfg_set_cq_size(cfg, sq_size), "rpma_conn_cfg_set_cq_size");
	ret = rpma_conn_req_new(peer, addr, port, cfg, &req);
	rpma_conn_cfg_delete(&cfg);
	if (!ret)
		ret = rpma_conn_req_connect(&req, NULL, &conn);
	if (!ret)
		ret = rpma_conn_next_event(conn, &event);
	if (!ret && event == RPMA_CONN_ESTABLISHED)
		return conn;

	snprintf(why, why_size, "%s",
		 ret ? rpma_err_2str(ret) : rpma_utils_conn_event_2str(event));
	rpma_conn_delete(&conn);
	return NULL;
}

static struct rpma_conn *connect_to(struct rpma_peer *peer, const char *addr, const char *port,
				    uint32_t sq_size, unsigned int retry_s)
{
	uint64_t deadline = now_ns() + retry_s * 1000000000ULL;
	struct rpma_conn *conn;
	char why[80];

	while (!(conn = try_connect(peer, addr, port, sq_size, why, sizeof(why)))) {
		if (now_ns() >= deadline)
			die("connecting to %s port %s: %s", addr, port, why);
		usleep(200000);
	}
	return conn;
}

/* ---- the command line ------------------------------------------------------------- */

struct settings {
	const char *addr, *port, *path;
	size_t chunk, batch;
	unsigned int retry_s;
	bool allow_visibility, hold;
};

/* Ends the program unless options and arguments make sense. */
static void settings_read(struct settings *set, int argc, char *argv[])
{
	static const struct option options[] = {
		{ "chunk", required_argument, NULL, 'c' },
		{ "batch", required_argument, NULL, 'b' },
		{ "retry", required_argument, NULL, 'r' },
		{ "allow-visibility", no_argument, NULL, 'v' },
		{ "hold", no_argument, NULL, 'o' },
		{ "help", no_argument, NULL, 'h' },
		{ 0 },
	};
	int opt;

	while ((opt = getopt_long(argc, argv, "", options, NULL)) != -1) {
		switch (opt) {
		case 'c':
			set->chunk = parse_size(optarg);
			break;
		case 'b':
			set->batch = parse_size(optarg);
			break;
		case 'r':
			set->retry_s = parse_size(optarg);
			break;
		case 'v':
			set->allow_visibility = true;
			break;
		case 'o':
			set->hold = true;
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
	if (!set->chunk || set->chunk > 1 << 30 || !set->batch || set->batch > 8192) {
		fprintf(stderr, "%s: --chunk is 1 to 1G, --batch is 1 to 8192\n", argv[0]);
		exit(EXIT_USAGE);
	}
	set->addr = argv[optind];
	set->port = argv[optind + 1];
	set->path = argv[optind + 2];
}

/* Returns the size of the file. */
static uint64_t open_file(struct transfer *t, const char *path)
{
	struct stat st;

	t->file = fopen(path, "rb");
	if (!t->file || fstat(fileno(t->file), &st))
		die("%s: %s", path, strerror(errno));
	if (!S_ISREG(st.st_mode))
		die("%s: not a regular file", path);
	return st.st_size;
}

static void open_buffer(struct transfer *t, struct rpma_peer *peer, const struct settings *set)
{
	t->chunk = set->chunk;
	t->half = set->chunk * set->batch;
	t->buf_size = 2 * t->half;
	t->buf = map_memory(NULL, &t->buf_size);
	check(rpma_mr_reg(peer, t->buf, t->buf_size, RPMA_MR_USAGE_WRITE_SRC, &t->local),
	      "registering the buffer (a smaller --chunk or --batch needs less)");
}

/* Connects, and looks whether what the server offers will do. */
static bool open_server(struct transfer *t, struct rpma_peer *peer, const struct settings *set,
			uint64_t total)
{
	bool persistent;
	size_t room;

	t->conn = connect_to(peer, set->addr, set->port, set->batch + 1, set->retry_s);
	check(rpma_conn_get_cq(t->conn, &t->cq), "rpma_conn_get_cq");
	t->remote = offer_take(t->conn, &persistent);
	if (!persistent && !set->allow_visibility)
		die("the server offers no PERSISTENT flush; --allow-visibility goes on without");
	t->type = persistent ? RPMA_FLUSH_TYPE_PERSISTENT : RPMA_FLUSH_TYPE_VISIBILITY;
	check(rpma_mr_remote_get_size(t->remote, &room), "rpma_mr_remote_get_size");
	if (room < total)
		die("%s has %llu bytes, the server has room for %zu", set->path,
		    (unsigned long long)total, room);
	return persistent;
}

int main(int argc, char *argv[])
{
	struct settings set = { .chunk = 64 << 10, .batch = 16 };
	struct figures fig = { .percent = -1 };
	struct transfer t = { 0 };
	struct rpma_peer *peer;
	bool persistent;

	settings_read(&set, argc, argv);
	show_errors();
	fig.total = open_file(&t, set.path);
	peer = open_peer(set.addr, RPMA_UTIL_IBV_CONTEXT_REMOTE);
	open_buffer(&t, peer, &set);
	persistent = open_server(&t, peer, &set, fig.total);

	printf("%s: %.1f MB in chunks of %zu bytes, a flush every %zu\n", set.path,
	       fig.total / 1e6, set.chunk, set.batch);
	fig.start_ns = now_ns();
	run(&t, &fig);
	if (fig.bytes != fig.total)
		die("%s changed its size meanwhile", set.path);
	show_summary(&fig, set.path, persistent);
	if (set.hold) {
		wait_for_end_of_input();
		check(rpma_conn_delete(&t.conn), "ending the connection");
	} else {
		hang_up(t.conn);
	}
	check(rpma_mr_remote_delete(&t.remote), "rpma_mr_remote_delete");
	check(rpma_mr_dereg(&t.local), "rpma_mr_dereg");
	check(rpma_peer_delete(&peer), "rpma_peer_delete");
	munmap(t.buf, t.buf_size);
	fclose(t.file);
	free(fig.latency_ns);
	return EXIT_SUCCESS;
}
