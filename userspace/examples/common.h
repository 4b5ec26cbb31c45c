/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What all examples need: an exit with a reason, memory to offer, and the few
 * bytes of private data in which a server describes it to its client.
 */
#ifndef EXAMPLES_COMMON_H
#define EXAMPLES_COMMON_H

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <librpma.h>

enum { EXIT_USAGE = 2 };

__attribute__((noreturn, format(printf, 1, 2)))
static inline void die(const char *fmt, ...)
{
	va_list args;

	fflush(stdout);
	va_start(args, fmt);
	vfprintf(stderr, fmt, args);
	va_end(args);
	fputc('\n', stderr);
	exit(EXIT_FAILURE);
}

/* Ends the program if a librpma function failed. */
static inline void check(int ret, const char *what)
{
	int err = errno;

	if (!ret)
		return;
	if (ret == RPMA_E_PROVIDER && err)
		die("%s: %s: %s", what, rpma_err_2str(ret), strerror(err));
	die("%s: %s", what, rpma_err_2str(ret));
}

/* Errors of the library in words, on stderr. */
static inline void show_errors(void)
{
	rpma_log_set_threshold(RPMA_LOG_THRESHOLD_AUX, RPMA_LOG_LEVEL_WARNING);
}

/* The peer on the device that has the local, or reaches the remote, address. */
static inline struct rpma_peer *open_peer(const char *addr, enum rpma_util_ibv_context_type type)
{
	struct ibv_context *ctx;
	struct rpma_peer *peer;

	check(rpma_utils_get_ibv_context(addr, type, &ctx), "finding the RDMA device");
	check(rpma_peer_new(ctx, &peer), "opening the RDMA device");
	return peer;
}

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

/* ---- memory -------------------------------------------------------------- */

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

/* ---- the offer: a region and what its machine promises --------------------- */

struct offer {
	uint8_t mr_size;
	uint8_t cfg_size;
	uint8_t bytes[48];
};

/* @direct_write: see rpma_peer_cfg_set_direct_write_to_pmem(). */
static inline void offer_make(struct offer *offer, const struct rpma_mr_local *mr,
			      bool direct_write)
{
	struct rpma_peer_cfg *cfg;
	size_t mr_size, cfg_size;

	check(rpma_peer_cfg_new(&cfg), "rpma_peer_cfg_new");
	check(rpma_peer_cfg_set_direct_write_to_pmem(cfg, direct_write), "rpma_peer_cfg_set");
	check(rpma_mr_get_descriptor_size(mr, &mr_size), "rpma_mr_get_descriptor_size");
	check(rpma_peer_cfg_get_descriptor_size(cfg, &cfg_size), "rpma_peer_cfg_get_descriptor_size");
	if (mr_size + cfg_size > sizeof(offer->bytes))
		die("the region's description is larger than thought");

	memset(offer, 0, sizeof(*offer));
	offer->mr_size = mr_size;
	offer->cfg_size = cfg_size;
	check(rpma_mr_get_descriptor(mr, offer->bytes), "rpma_mr_get_descriptor");
	check(rpma_peer_cfg_get_descriptor(cfg, offer->bytes + mr_size),
	      "rpma_peer_cfg_get_descriptor");
	rpma_peer_cfg_delete(&cfg);
}

/*
 * Reads the offer that came with a connection, tells the connection what the
 * other machine promises, and returns the region. *@persistent: flushes to it
 * can be PERSISTENT.
 */
static inline struct rpma_mr_remote *offer_take(struct rpma_conn *conn, bool *persistent)
{
	struct rpma_conn_private_data pdata;
	struct rpma_mr_remote *mr;
	struct rpma_peer_cfg *cfg;
	struct offer offer;
	int flush_type;
	bool direct;

	check(rpma_conn_get_private_data(conn, &pdata), "rpma_conn_get_private_data");
	if (!pdata.ptr || pdata.len < sizeof(offer))
		die("the server offers no memory");
	memcpy(&offer, pdata.ptr, sizeof(offer));
	if (offer.mr_size + offer.cfg_size > (int)sizeof(offer.bytes))
		die("the server's offer makes no sense");

	check(rpma_mr_remote_from_descriptor(offer.bytes, offer.mr_size, &mr), "the remote region");
	check(rpma_peer_cfg_from_descriptor(offer.bytes + offer.mr_size, offer.cfg_size, &cfg),
	      "the remote machine's configuration");
	check(rpma_conn_apply_remote_peer_cfg(conn, cfg), "rpma_conn_apply_remote_peer_cfg");
	check(rpma_peer_cfg_get_direct_write_to_pmem(cfg, &direct), "rpma_peer_cfg_get");
	rpma_peer_cfg_delete(&cfg);

	check(rpma_mr_remote_get_flush_type(mr, &flush_type), "rpma_mr_remote_get_flush_type");
	*persistent = direct && (flush_type & RPMA_MR_USAGE_FLUSH_TYPE_PERSISTENT);
	return mr;
}

/* ---- connections ------------------------------------------------------------- */

static inline void expect_event(struct rpma_conn *conn, enum rpma_conn_event wanted)
{
	enum rpma_conn_event event;

	check(rpma_conn_next_event(conn, &event), "waiting for a connection event");
	if (event != wanted)
		die("%s", rpma_utils_conn_event_2str(event));
}

/* Ends our side of a connection and waits for the other. */
static inline void hang_up(struct rpma_conn *conn)
{
	check(rpma_conn_disconnect(conn), "disconnecting");
	expect_event(conn, RPMA_CONN_CLOSED);
	check(rpma_conn_delete(&conn), "ending the connection");
}

#endif /* EXAMPLES_COMMON_H */
