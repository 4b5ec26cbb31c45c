/* SPDX-License-Identifier: BSD-3-Clause */
/* What file_to_pmem_client shows: progress, and figures at the end. */
#ifndef EXAMPLES_FIGURES_H
#define EXAMPLES_FIGURES_H

#include <time.h>
#include <unistd.h>

#include "common.h"

static inline uint64_t now_ns(void)
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

static inline void add_latency(struct figures *fig, uint64_t ns)
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
static inline uint32_t crc32_add(uint32_t crc, const unsigned char *p, size_t len)
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
static inline void show_progress(struct figures *fig)
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

static inline int by_value(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

static inline double percentile_us(const struct figures *fig, int percent)
{
	return fig->flushes ? fig->latency_ns[(fig->flushes - 1) * percent / 100] / 1e3 : 0;
}

static inline void show_summary(struct figures *fig, const char *file, bool persistent)
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

#endif /* EXAMPLES_FIGURES_H */
