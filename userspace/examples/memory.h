/* SPDX-License-Identifier: BSD-3-Clause */
/* Memory that examples offer and use, volatile or persistent. */
#ifndef EXAMPLES_MEMORY_H
#define EXAMPLES_MEMORY_H

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "common.h"

/* "64", "4k", "16M", "1g"; 0 if it is no size. */
static inline size_t parse_size(const char *text)
{
	unsigned long long n;
	int shift = 0;
	char *end;

	errno = 0;
	n = strtoull(text, &end, 0);
	switch (*end) {
	case 'g': case 'G':
		shift += 10;
		__attribute__((fallthrough));
	case 'm': case 'M':
		shift += 10;
		__attribute__((fallthrough));
	case 'k': case 'K':
		shift += 10;
		end++;
	}
	if (errno || *end || *text == '-' || n > SIZE_MAX >> shift)
		return 0;
	return n << shift;
}

/* The bytes of a file or, as sysfs says, of a device such as /dev/dax0.0. */
static inline size_t path_size(const struct stat *st, const char *path)
{
	unsigned long long size = 0;
	char sys[64];
	FILE *f;

	if (!S_ISCHR(st->st_mode))
		return st->st_size;
	snprintf(sys, sizeof(sys), "/sys/dev/char/%u:%u/size", major(st->st_rdev),
		 minor(st->st_rdev));
	f = fopen(sys, "r");
	if (!f || fscanf(f, "%llu", &size) != 1)
		die("%s: not a device with a size", path);
	fclose(f);
	return size;
}

/*
 * Memory to be written to from afar: @path (a /dev/dax device, or a file), or
 * DRAM if it is NULL. *@size 0 means all of @path, and is filled in.
 */
static inline void *map_memory(const char *path, size_t *size)
{
	const size_t dax_align = 2 << 20;
	struct stat st;
	size_t len;
	void *ptr;
	int fd;

	if (!path) {
		ptr = mmap(NULL, *size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		if (ptr == MAP_FAILED)
			die("%zu bytes of memory: %s", *size, strerror(errno));
		return ptr;
	}

	fd = open(path, O_RDWR);
	if (fd < 0 || fstat(fd, &st))
		die("%s: %s", path, strerror(errno));
	if (!*size)
		*size = path_size(&st, path);
	else if (!S_ISCHR(st.st_mode) && *size > (size_t)st.st_size)
		die("%s has %lld bytes only", path, (long long)st.st_size);
	len = *size;
	if (S_ISCHR(st.st_mode))
		len = (len + dax_align - 1) & ~(dax_align - 1);
	ptr = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (ptr == MAP_FAILED)
		die("mapping %zu bytes of %s: %s", len, path, strerror(errno));
	close(fd);
	return ptr;
}

/* ---- durability by this machine's own processor ---------------------------- */

/* Device-DAX knows no msync(): its cache lines are written back one by one. */
static inline void write_back_caches(const void *ptr, size_t len)
{
#ifdef __x86_64__
	const size_t line = 64;
	uintptr_t at;

	for (at = (uintptr_t)ptr & ~(line - 1); at < (uintptr_t)ptr + len; at += line)
		__builtin_ia32_clflush((const void *)at);
	__builtin_ia32_sfence();
#else
	(void)ptr;
	(void)len;
	die("this example cannot write back the caches of this processor; use a file");
#endif
}

/* Makes what this machine has in memory of map_memory() durable. */
static inline void persist(void *ptr, size_t len)
{
	uintptr_t start = (uintptr_t)ptr & ~(sysconf(_SC_PAGESIZE) - 1UL);

	if (!msync((void *)start, (uintptr_t)ptr + len - start, MS_SYNC))
		return;
	if (errno != EINVAL)
		die("msync: %s", strerror(errno));
	write_back_caches(ptr, len);
}

#endif /* EXAMPLES_MEMORY_H */
