// SPDX-License-Identifier: BSD-3-Clause
/*
 * Memory regions: registration and descriptors.
 *
 * A descriptor is 21 bytes, little-endian: address (8), length (8), key (4),
 * usage (1). librpma's are the same, in both directions.
 */
#include <endian.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "err.h"
#include "kernel.h"
#include "mr.h"
#include "peer.h"

#define USAGE_FLUSH (RPMA_MR_USAGE_FLUSH_TYPE_VISIBILITY | RPMA_MR_USAGE_FLUSH_TYPE_PERSISTENT)

#define USAGE_ALL (RPMA_MR_USAGE_READ_SRC | RPMA_MR_USAGE_READ_DST | RPMA_MR_USAGE_WRITE_SRC |	\
		   RPMA_MR_USAGE_WRITE_DST | USAGE_FLUSH | RPMA_MR_USAGE_SEND |			\
		   RPMA_MR_USAGE_RECV)

_Static_assert((int)RPMA_ACCESS_READ_SRC == RPMA_MR_USAGE_READ_SRC &&
	       (int)RPMA_ACCESS_READ_DST == RPMA_MR_USAGE_READ_DST &&
	       (int)RPMA_ACCESS_WRITE_SRC == RPMA_MR_USAGE_WRITE_SRC &&
	       (int)RPMA_ACCESS_WRITE_DST == RPMA_MR_USAGE_WRITE_DST &&
	       (int)RPMA_ACCESS_FLUSH_GLOBAL == RPMA_MR_USAGE_FLUSH_TYPE_VISIBILITY &&
	       (int)RPMA_ACCESS_FLUSH_PERSISTENT == RPMA_MR_USAGE_FLUSH_TYPE_PERSISTENT &&
	       (int)RPMA_ACCESS_SEND == RPMA_MR_USAGE_SEND &&
	       (int)RPMA_ACCESS_RECV == RPMA_MR_USAGE_RECV, "usage bits are access bits");

#define MR_DESC_SIZE 21

/*
 * librpma has no say in what a process does with its own memory: any region
 * can be sent and written from, and one registered for writing, or for being
 * written from, read and received into. Programs live on that, so the same is
 * asked of the kernel. What others may do stays as @usage says.
 */
static uint32_t usage_to_access(int usage)
{
	return usage | RPMA_ACCESS_WRITE_SRC | RPMA_ACCESS_SEND;
}

static int reg(struct rpma_peer *peer, struct rpma_ioc_mr_reg *cmd, int usage)
{
	const int writable = RPMA_MR_USAGE_READ_DST | RPMA_MR_USAGE_WRITE_DST |
			     RPMA_MR_USAGE_RECV;
	int ret;

	cmd->access = usage_to_access(usage);
	if (usage & (writable | RPMA_MR_USAGE_WRITE_SRC))
		cmd->access |= RPMA_ACCESS_READ_DST | RPMA_ACCESS_RECV;
	ret = kernel_mr_reg(peer->fd, cmd);
	if (ret != -EFAULT || usage & writable)
		return ret;
	/* Memory that cannot be written can still be written from. */
	cmd->access = usage_to_access(usage);
	return kernel_mr_reg(peer->fd, cmd);
}

static int reg_failed(int err, const void *ptr, size_t size, int usage)
{
	struct rlimit limit;

	switch (err) {
	case EOPNOTSUPP:
		if (usage & RPMA_MR_USAGE_FLUSH_TYPE_PERSISTENT)
			log_error("registering %zu bytes at %p for PERSISTENT flush: the device does "
				  "not take this memory for persistent, or it is a file on fsdax "
				  "that cannot be pinned. Map /dev/dax, ask for VISIBILITY, or set "
				  "RPMA_PERSISTENT_BY_READ=1 if you know better",
				  size, ptr);
		else
			log_error("registering %zu bytes at %p: this memory cannot be pinned for "
				  "long (a file on fsdax? map /dev/dax instead)", size, ptr);
		break;
	case ENOMEM:
		if (!getrlimit(RLIMIT_MEMLOCK, &limit) && limit.rlim_cur != RLIM_INFINITY)
			log_error("registering %zu bytes at %p: out of memory, or over the limit of "
				  "locked memory (RLIMIT_MEMLOCK), which is %llu KiB. See ulimit -l "
				  "and /etc/security/limits.conf",
				  size, ptr, (unsigned long long)limit.rlim_cur / 1024);
		else
			log_error("registering %zu bytes at %p: out of memory", size, ptr);
		break;
	case EFAULT:
		log_error("registering %zu bytes at %p: not all of it is mapped, or not writable "
			  "as its usage 0x%x needs", size, ptr, usage);
		break;
	default:
		log_error("registering %zu bytes at %p: %s%s", size, ptr, strerror(err),
			  err_advice(err));
	}
	errno = err;
	return RPMA_E_PROVIDER;
}

int rpma_mr_reg(struct rpma_peer *peer, void *ptr, size_t size, int usage,
		struct rpma_mr_local **mr_ptr)
{
	struct rpma_ioc_mr_reg cmd = { 0 };
	struct rpma_mr_local *mr;
	int ret;

	if (!peer || !ptr || !size || !mr_ptr || !usage || (usage & ~USAGE_ALL))
		return RPMA_E_INVAL;

	mr = malloc(sizeof(*mr));
	if (!mr)
		return RPMA_E_NOMEM;

	cmd.flags = peer->persistent_by_read ? RPMA_MR_REG_F_PERSISTENT_BY_READ : 0;
	cmd.peer = peer->id;
	cmd.addr = (uintptr_t)ptr;
	cmd.length = size;
	ret = reg(peer, &cmd, usage);
	if (ret) {
		free(mr);
		return reg_failed(-ret, ptr, size, usage);
	}

	mr->fd = peer->fd;
	mr->id = cmd.out_mr;
	mr->rkey = cmd.out_rkey;
	mr->usage = usage;
	mr->ptr = ptr;
	mr->size = size;
	*mr_ptr = mr;
	return 0;
}

int rpma_mr_dereg(struct rpma_mr_local **mr_ptr)
{
	struct rpma_mr_local *mr;
	int ret;

	if (!mr_ptr)
		return RPMA_E_INVAL;
	mr = *mr_ptr;
	if (!mr)
		return 0;

	/* When the device is gone, so is the registration. */
	ret = kernel_mr_destroy(mr->fd, mr->id);
	if (ret && ret != -ENODEV)
		return err_report(-ret, "deregistering %zu bytes at %p", mr->size, mr->ptr);

	free(mr);
	*mr_ptr = NULL;
	return 0;
}

int rpma_mr_get_descriptor(const struct rpma_mr_local *mr, void *desc)
{
	uint8_t *out = desc;
	uint64_t v64;
	uint32_t v32;

	if (!mr || !desc)
		return RPMA_E_INVAL;

	v64 = htole64((uintptr_t)mr->ptr);
	memcpy(out, &v64, 8);
	v64 = htole64(mr->size);
	memcpy(out + 8, &v64, 8);
	v32 = htole32(mr->rkey);
	memcpy(out + 16, &v32, 4);
	out[20] = mr->usage;
	return 0;
}

int rpma_mr_get_descriptor_size(const struct rpma_mr_local *mr, size_t *desc_size)
{
	if (!mr || !desc_size)
		return RPMA_E_INVAL;
	*desc_size = MR_DESC_SIZE;
	return 0;
}

int rpma_mr_get_ptr(const struct rpma_mr_local *mr, void **ptr)
{
	if (!mr || !ptr)
		return RPMA_E_INVAL;
	*ptr = mr->ptr;
	return 0;
}

int rpma_mr_get_size(const struct rpma_mr_local *mr, size_t *size)
{
	if (!mr || !size)
		return RPMA_E_INVAL;
	*size = mr->size;
	return 0;
}

int rpma_mr_remote_from_descriptor(const void *desc, size_t desc_size,
				   struct rpma_mr_remote **mr_ptr)
{
	struct rpma_remote remote = { 0 };
	struct rpma_mr_remote *mr;
	const uint8_t *in = desc;
	uint64_t v64;
	uint32_t v32;

	if (!desc || !mr_ptr)
		return RPMA_E_INVAL;
	if (desc_size < MR_DESC_SIZE) {
		log_error("%zu bytes are no description of a region, at least %d are needed",
			  desc_size, MR_DESC_SIZE);
		return RPMA_E_INVAL;
	}

	memcpy(&v64, in, 8);
	remote.addr = le64toh(v64);
	memcpy(&v64, in + 8, 8);
	remote.length = le64toh(v64);
	memcpy(&v32, in + 16, 4);
	remote.rkey = le32toh(v32);
	remote.access = in[20];

	if (!remote.access) {
		log_error("the description of a remote region names no usage");
		return RPMA_E_INVAL;
	}
	if (remote.addr + remote.length < remote.addr) {
		log_error("the description of a remote region does not fit an address space");
		return RPMA_E_NOSUPP;
	}

	mr = malloc(sizeof(*mr));
	if (!mr)
		return RPMA_E_NOMEM;
	mr->remote = remote;
	*mr_ptr = mr;
	return 0;
}

int rpma_mr_remote_get_size(const struct rpma_mr_remote *mr, size_t *size)
{
	if (!mr || !size)
		return RPMA_E_INVAL;
	*size = mr->remote.length;
	return 0;
}

int rpma_mr_remote_get_flush_type(const struct rpma_mr_remote *mr, int *flush_type)
{
	if (!mr || !flush_type)
		return RPMA_E_INVAL;
	*flush_type = mr->remote.access & USAGE_FLUSH;
	return 0;
}

int rpma_mr_remote_delete(struct rpma_mr_remote **mr_ptr)
{
	if (!mr_ptr)
		return RPMA_E_INVAL;
	free(*mr_ptr);
	*mr_ptr = NULL;
	return 0;
}

/* ---- advice -------------------------------------------------------------- */

/* Regions are pinned: there is nothing to prefetch. What is wrong is told first. */
int rpma_mr_advise(struct rpma_mr_local *mr, size_t offset, size_t len, int advice,
		   uint32_t flags)
{
	const int written = RPMA_MR_USAGE_READ_DST | RPMA_MR_USAGE_WRITE_DST | RPMA_MR_USAGE_RECV |
			    RPMA_MR_USAGE_WRITE_SRC;

	if (!mr || offset > mr->size || len > mr->size - offset)
		return RPMA_E_INVAL;
	if (flags & ~(uint32_t)IBV_ADVISE_MR_FLAG_FLUSH)
		return RPMA_E_INVAL;
	if (advice == IBV_ADVISE_MR_ADVICE_PREFETCH_WRITE && !(mr->usage & written))
		return RPMA_E_INVAL;
	log_error("advising on %zu bytes of a region: regions of /dev/rpma are pinned, not paged "
		  "on demand", len);
	errno = EOPNOTSUPP;
	return RPMA_E_NOSUPP;
}
