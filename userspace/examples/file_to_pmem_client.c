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
#include <time.h>

#include "common.h"

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

/* ---- figures ----------------------------------------------------------------- */

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000000ULL + ts.tv_nsec;
}

struct figures {
	uint64_t bytes, total, start_ns;
	uint64_t *latency_ns;		/* of each flush */
	size_t flushes, room;
	uint32_t crc;
	enum ibv_wc_opcode opcode;	/* of the last flush */
	int percent;			/* shown last, and when */
	uint64_t shown_ns;
};

static void add_latency(struct figures *fig, uint64_t ns)
{
	if (fig->flushes == fig->room) {
		fig->room = fig->room ? 2 * fig->room : 1024;
		fig->latency_ns = realloc(fig->latency_ns, fig->room * sizeof(uint64_t));
		if (!fig->latency_ns)
			die("out of memory");
	}
	fig->latency_ns[fig->flushes++] = ns;
}

/* CRC-32 as of zlib, gzip and crc32(1). */
static uint32_t crc32_add(uint32_t crc, const unsigned char *p, size_t len)
{
	static uint32_t table[256];
	uint32_t i, bit;

	for (i = 0; i < 256 && !table[255]; i++) {
		table[i] = i;
		for (bit = 0; bit < 8; bit++)
			table[i] = table[i] >> 1 ^ (table[i] & 1 ? 0xedb88320 : 0);
	}
	crc = ~crc;
	while (len--)
		crc = crc >> 8 ^ table[(crc ^ *p++) & 0xff];
	return ~crc;
}

/* A line that is written over on a terminal; elsewhere every tenth part or two seconds. */
static void show_progress(struct figures *fig)
{
	int percent = fig->total ? 100 * fig->bytes / fig->total : 100;
	bool tty = isatty(STDOUT_FILENO);
	uint64_t now = now_ns();

	if (percent == fig->percent ||
	    (!tty && percent / 10 == fig->percent / 10 && now - fig->shown_ns < 2000000000ULL))
		return;
	fig->percent = percent;
	fig->shown_ns = now;
	printf("%s%3d%%  %.1f of %.1f MB%s", tty ? "\r" : "", percent, fig->bytes / 1e6,
	       fig->total / 1e6, tty && percent < 100 ? "" : "\n");
	fflush(stdout);
}

static int by_value(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

static double percentile_us(const struct figures *fig, int percent)
{
	return fig->flushes ? fig->latency_ns[(fig->flushes - 1) * percent / 100] / 1e3 : 0;
}

static void show_summary(struct figures *fig, const char *file, bool persistent)
{
	double seconds = (now_ns() - fig->start_ns) / 1e9;

	qsort(fig->latency_ns, fig->flushes, sizeof(uint64_t), by_value);
	printf("file        %s\n"
	       "bytes       %llu\n"
	       "crc32       %08x\n"
	       "flushes     %zu %s\n"
	       "method      %s\n"
	       "latency     p50 %.1f us, p99 %.1f us\n"
	       "rate        %.1f MB/s\n",
	       file, (unsigned long long)fig->bytes, fig->crc, fig->flushes,
	       persistent ? "PERSISTENT" : "VISIBILITY (not durable)",
	       !fig->flushes ? "none" :
	       fig->opcode == IBV_WC_RDMA_READ ? "READ after WRITE" : "native FLUSH",
	       percentile_us(fig, 50), percentile_us(fig, 99), fig->bytes / 1e6 / seconds);
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
	size_t chunk, half;
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

int main(int argc, char *argv[])
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
	size_t chunk = 64 << 10, batch = 16, buf_size, room;
	struct transfer t = { 0 };
	struct figures fig = { .percent = -1 };
	bool allow_visibility = false, hold = false, persistent;
	unsigned int retry_s = 0;
	struct rpma_peer *peer;
	const char *path;
	struct stat st;
	int opt;

	while ((opt = getopt_long(argc, argv, "", options, NULL)) != -1) {
		switch (opt) {
		case 'c':
			chunk = parse_size(optarg);
			break;
		case 'b':
			batch = parse_size(optarg);
			break;
		case 'r':
			retry_s = parse_size(optarg);
			break;
		case 'v':
			allow_visibility = true;
			break;
		case 'o':
			hold = true;
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
	if (!chunk || chunk > 1 << 30 || !batch || batch > 8192) {
		fprintf(stderr, "%s: --chunk is 1 to 1G, --batch is 1 to 8192\n", argv[0]);
		return EXIT_USAGE;
	}
	path = argv[optind + 2];
	show_errors();

	t.file = fopen(path, "rb");
	if (!t.file || fstat(fileno(t.file), &st))
		die("%s: %s", path, strerror(errno));
	if (!S_ISREG(st.st_mode))
		die("%s: not a regular file", path);
	fig.total = st.st_size;

	peer = open_peer(argv[optind], RPMA_UTIL_IBV_CONTEXT_REMOTE);
	t.chunk = chunk;
	t.half = chunk * batch;
	buf_size = 2 * t.half;
	t.buf = map_memory(NULL, &buf_size);
	check(rpma_mr_reg(peer, t.buf, buf_size, RPMA_MR_USAGE_WRITE_SRC, &t.local),
	      "registering the buffer (a smaller --chunk or --batch needs less)");

	t.conn = connect_to(peer, argv[optind], argv[optind + 1], batch + 1, retry_s);
	check(rpma_conn_get_cq(t.conn, &t.cq), "rpma_conn_get_cq");
	t.remote = offer_take(t.conn, &persistent);
	if (!persistent && !allow_visibility)
		die("the server offers no PERSISTENT flush; --allow-visibility goes on without");
	t.type = persistent ? RPMA_FLUSH_TYPE_PERSISTENT : RPMA_FLUSH_TYPE_VISIBILITY;
	check(rpma_mr_remote_get_size(t.remote, &room), "rpma_mr_remote_get_size");
	if (room < fig.total)
		die("%s has %llu bytes, the server has room for %zu", path,
		    (unsigned long long)fig.total, room);

	printf("%s: %.1f MB in chunks of %zu bytes, a flush every %zu\n", path, fig.total / 1e6,
	       chunk, batch);
	fig.start_ns = now_ns();
	run(&t, &fig);
	if (fig.bytes != fig.total)
		die("%s changed its size meanwhile", path);
	show_summary(&fig, path, persistent);
	if (hold) {
		wait_for_end_of_input();
		check(rpma_conn_delete(&t.conn), "ending the connection");
	} else {
		hang_up(t.conn);
	}
	check(rpma_mr_remote_delete(&t.remote), "rpma_mr_remote_delete");
	check(rpma_mr_dereg(&t.local), "rpma_mr_dereg");
	check(rpma_peer_delete(&peer), "rpma_peer_delete");
	munmap(t.buf, buf_size);
	fclose(t.file);
	free(fig.latency_ns);
	return EXIT_SUCCESS;
}
