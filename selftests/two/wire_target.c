// SPDX-License-Identifier: GPL-2.0
/*
 * The other machine of the wire's tests: offers a region of its NVDIMM, and
 * reports what its kernel traced (wire.target.sh sets the probes).
 *
 * usage: wire_target DAX ADDR
 *
 * Serves one test after the other: a TCP connection for reports, with an RDMA
 * connection beside it.
 */
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <librpma.h>

#include "wire.h"

#define USAGE (RPMA_MR_USAGE_WRITE_DST | RPMA_MR_USAGE_FLUSH_TYPE_VISIBILITY | \
	       RPMA_MR_USAGE_FLUSH_TYPE_PERSISTENT)

/* Where the kernel sees all memory begins at a multiple of it, randomized or not. */
#define DIRECT_MAP_ALIGN 0x40000000UL

static void die(const char *what)
{
	perror(what);
	exit(1);
}

static void check(int ret, const char *what)
{
	if (ret) {
		fprintf(stderr, "%s: %s\n", what, rpma_err_2str(ret));
		exit(1);
	}
}

/* ---- the trace ---- */

static FILE *trace_open(void)
{
	int fd = open("/sys/kernel/tracing/trace_pipe", O_RDONLY | O_NONBLOCK);
	FILE *trace = fd < 0 ? NULL : fdopen(fd, "r");

	if (!trace)
		die("trace_pipe");
	return trace;
}

/* The physical address of the NVDIMM's first byte that can be mapped. */
static uint64_t dax_start(const char *path)
{
	unsigned long long start;
	char name[256];
	FILE *f;

	snprintf(name, sizeof(name), "/sys/bus/dax/devices/%s/resource", strrchr(path, '/') + 1);
	f = fopen(name, "r");
	if (!f || fscanf(f, "%llx", &start) != 1)
		die(name);
	fclose(f);
	return start;
}

static void trace_line(const char *line, uint64_t region_start, struct wire_report *report)
{
	const char *flush = strstr(line, "iova=0x"), *piece = strstr(line, "addr=0x");
	unsigned long long start, len;

	if (flush && report->nr_flushes < WIRE_MAX_FLUSHES &&
	    sscanf(flush, "iova=0x%llx len=%llu", &start, &len) == 2) {
		report->flushes[report->nr_flushes++] = (struct wire_span){ start, len };
	} else if (piece && report->nr_pieces < WIRE_MAX_PIECES &&
		   sscanf(piece, "addr=0x%llx len=%llu", &start, &len) == 2) {
		start = (start - region_start) & (DIRECT_MAP_ALIGN - 1);
		report->pieces[report->nr_pieces++] = (struct wire_span){ start, len };
	} else {
		if (!report->strange++)
			fprintf(stderr, "trace: %s", line);
	}
}

/* Without @report what there is belongs to an earlier test. */
static void trace_drain(FILE *trace, uint64_t region_start, struct wire_report *report)
{
	char line[512];

	clearerr(trace);
	while (fgets(line, sizeof(line), trace))
		if (report)
			trace_line(line, region_start, report);
}

/* ---- the region and those who ask for it ---- */

static void make_offer(struct rpma_peer *peer, const char *path, uint8_t *offer)
{
	struct rpma_mr_local *mr;
	int fd = open(path, O_RDWR);
	uint8_t *memory;

	memory = mmap(NULL, 4UL << 20, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (fd < 0 || memory == MAP_FAILED)
		die(path);
	check(rpma_mr_reg(peer, memory + WIRE_START, WIRE_LENGTH, USAGE, &mr), "registering");
	check(rpma_mr_get_descriptor(mr, offer), "describing");
}

static int report_listen(const char *addr)
{
	struct sockaddr_in in = { .sin_family = AF_INET, .sin_port = htons(WIRE_REPORT_PORT) };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	inet_pton(AF_INET, addr, &in.sin_addr);
	if (bind(fd, (struct sockaddr *)&in, sizeof(in)) || listen(fd, 8))
		die("listening for those who want reports");
	return fd;
}

static struct rpma_conn *answer(struct rpma_ep *ep, uint8_t *offer)
{
	struct rpma_conn_private_data pdata = { .ptr = offer, .len = WIRE_DESC_SIZE };
	struct rpma_conn_req *req = NULL;
	struct rpma_conn *conn = NULL;
	enum rpma_conn_event event;

	check(rpma_ep_next_conn_req(ep, NULL, &req), "waiting for a connection");
	check(rpma_conn_req_connect(&req, &pdata, &conn), "accepting");
	check(rpma_conn_next_event(conn, &event), "waiting for the connection");
	return conn;
}

int main(int argc, char *argv[])
{
	uint8_t offer[WIRE_DESC_SIZE];
	struct ibv_context *context;
	struct rpma_conn *conn;
	struct rpma_peer *peer;
	struct rpma_ep *ep;
	uint64_t start;
	FILE *trace;
	int listener, to;
	char byte;

	if (argc != 3)
		return 2;
	signal(SIGPIPE, SIG_IGN);
	trace = trace_open();
	start = dax_start(argv[1]) + WIRE_START;
	check(rpma_utils_get_ibv_context(argv[2], RPMA_UTIL_IBV_CONTEXT_LOCAL, &context),
	      "finding the device");
	check(rpma_peer_new(context, &peer), "opening the device");
	make_offer(peer, argv[1], offer);
	check(rpma_ep_listen(peer, argv[2], WIRE_PORT, &ep), "listening");
	listener = report_listen(argv[2]);
	puts("ready");
	fflush(stdout);

	while ((to = accept(listener, NULL, NULL)) >= 0) {
		conn = answer(ep, offer);
		trace_drain(trace, start, NULL);
		while (read(to, &byte, 1) == 1) {
			struct wire_report report = {};

			check(rpma_conn_get_qp_num(conn, &report.qp_num), "numbering");
			trace_drain(trace, start, &report);
			if (write(to, &report, sizeof(report)) != sizeof(report))
				break;
		}
		close(to);
		rpma_conn_disconnect(conn);
		rpma_conn_delete(&conn);
	}
	die("waiting for those who want reports");
}
