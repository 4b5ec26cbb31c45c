/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Persistent memory, and how much of it the provider writes back: probes on
 * the function that does it. The machine has an NVDIMM; guest.sh makes it
 * /dev/dax0.0.
 */
#ifndef _RXE_TRACE_H
#define _RXE_TRACE_H

#include <stdio.h>

#include "rpma_utils.h"

#define TRACING "/sys/kernel/tracing/"
#define PROBE TRACING "events/kprobes/rxe_write_back/"

static inline __u8 *map_dax(struct __test_metadata *_metadata, size_t length)
{
	void *addr;
	int fd;

	if (access("/dev/dax0.0", F_OK))
		ASSERT_EQ(0, system("bash -ec setup_dax"));
	fd = open("/dev/dax0.0", O_RDWR);
	ASSERT_LE(0, fd);
	addr = mmap(NULL, length, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	ASSERT_NE(MAP_FAILED, addr)
		TH_LOG("mmap: %s", strerror(errno));
	close(fd);
	return addr;
}

static inline void trace_set(struct __test_metadata *_metadata, const char *file,
			     const char *text)
{
	int fd = open(file, O_WRONLY | O_TRUNC);

	ASSERT_LE(0, fd)
		TH_LOG("%s: %s", file, strerror(errno));
	ASSERT_EQ((ssize_t)strlen(text), write(fd, text, strlen(text)))
		TH_LOG("%s: %s", file, strerror(errno));
	close(fd);
}

/* A new probe, whose counter begins at 0, and an empty buffer. */
static inline void trace_start(struct __test_metadata *_metadata, const char *filter)
{
	trace_set(_metadata, TRACING "kprobe_events", "\n");
	trace_set(_metadata, TRACING "kprobe_events",
		  "p:rxe_write_back arch_wb_cache_pmem bytes=%si:u64\n");
	trace_set(_metadata, TRACING "trace", "\n");
	trace_set(_metadata, PROBE "filter", filter);
	trace_set(_metadata, PROBE "enable", "1");
}

/* How many bytes were written back since, which takes a short while. */
static inline __u64 trace_bytes(struct __test_metadata *_metadata)
{
	unsigned long long sum = 0, bytes;
	const char *found;
	char line[512];
	FILE *trace;

	trace_set(_metadata, PROBE "enable", "0");
	trace = fopen(TRACING "trace", "r");
	ASSERT_NE(NULL, trace);
	while (fgets(line, sizeof(line), trace)) {
		found = strstr(line, "bytes=");
		if (found && line[0] != '#' && sscanf(found, "bytes=%llu", &bytes) == 1)
			sum += bytes;
	}
	fclose(trace);
	trace_set(_metadata, TRACING "kprobe_events", "\n");
	return sum;
}

/* In how many pieces, more than a buffer holds: what the filter drops counts. */
static inline __u64 trace_pieces(struct __test_metadata *_metadata)
{
	unsigned long long hits = 0;
	char line[512];
	FILE *profile;

	trace_set(_metadata, PROBE "enable", "0");
	profile = fopen(TRACING "kprobe_profile", "r");
	ASSERT_NE(NULL, profile);
	while (fgets(line, sizeof(line), profile))
		if (sscanf(line, " rxe_write_back %llu", &hits) == 1)
			break;
	fclose(profile);
	trace_set(_metadata, TRACING "kprobe_events", "\n");
	return hits;
}

#endif /* _RXE_TRACE_H */
