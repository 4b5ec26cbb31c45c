// SPDX-License-Identifier: GPL-2.0
/*
 * Flush: make what earlier WRITEs of a connection carried visible or durable
 * on the other machine. Everything that depends on how a flush travels is in
 * the table below; peer chooses a row, mr asks for access bits, wr builds.
 *
 * What the two placements promise when the flush completes:
 *
 * GLOBAL (visibility): every reader of that machine's memory sees the data.
 * PERSISTENT: the data survive a power cut of that machine.
 *
 * What the methods rely on:
 *
 * read_after_write. IBA (o9-28 and the ordering table 79) executes a READ
 * behind the WRITEs posted before it on the same queue pair, and its response
 * cannot leave before their data were placed. PCIe carries this on: a read
 * pushes the posted writes ahead of it. So on completion the data are in the
 * memory system: GLOBAL holds. Whether that is the persistence domain is the
 * platform's affair: it is if the adapter writes past the CPU caches (DDIO
 * off for it, or caches inside the domain, eADR). The remote side declares it
 * as "direct write to pmem"; without this PERSISTENT is refused. The READ
 * orders its own connection's WRITEs only, and only with strong ordering:
 * regions are never registered with relaxed ordering.
 *
 * Not everybody grants it: librpma 1.3 registers a region on a device that knows
 * FLUSH for FLUSH alone, on any other for READ, and its description of the
 * region says neither. A READ that is not granted ends the connection, so one
 * is sent only on the strength of rpma_flush_is_granted(), or because the user
 * insists.
 *
 * native. The FLUSH operation of IBA annex A19 says itself which range is to
 * reach which placement, and the responder answers when it has: PERSISTENT
 * needs no promise about the platform, only a region whose memory the device
 * took for persistent. It covers the WRITEs before it on its queue pair, as far
 * as they went into its range and no further. (A READ drags along all of them.)
 * The range is always said: the other way of IBA, the whole region, is longer
 * than asked for, and rxe without our patches cuts its length to 32 bits. What
 * comes behind a FLUSH is not held back by it: IBA lets a later WRITE be
 * executed before the flush is, so a word that tells others that the data are
 * safe is written with ATOMIC WRITE behind a fence, or after the completion.
 * The fence holds because a provider that carries FLUSH counts it among the
 * requests that a fence waits for; so do our patches to rxe.
 *
 * Upstream has no way for a kernel consumer to hand the operands to a
 * provider: a posted IB_WR_FLUSH goes out with undefined ones although the
 * device claims the capability. The patches in patches/linux add one, and a
 * kernel capability bit by which a provider says that it has it. That bit
 * decides, never what the device claims to user space.
 *
 * What remains, and ends the connection: a peer whose adapter knows no FLUSH,
 * or that registered the region for READs only (librpma before 1.3, or ours
 * with RPMA_MR_REG_F_PERSISTENT_BY_READ), cannot be told from one that will
 * serve it. It answers with an error, or never. For such a peer the user
 * chooses read_after_write. rxe without our patches serves a FLUSH, but answers
 * it once only: if that answer is lost, the connection is.
 */

#include "flush.h"

static bool rpma_flush_read_supported(const struct ib_device *ibdev)
{
	return true;
}

/*
 * PERSIST: this READ cannot pass earlier WRITEs on the queue pair, so they
 * have reached memory. At least one byte: a READ of none is answered without
 * touching memory. At most eight, inside the range, and the range is inside
 * the region, so that the key always covers it. A range of no bytes still
 * orders; it borrows one byte of the region for that.
 */
static void rpma_flush_read_build(const struct rpma_flush *flush,
				  union rpma_flush_wr *wr, struct ib_sge *sge)
{
	u64 offset = min(flush->offset, flush->remote->length - 1);
	u64 len = clamp_t(u64, flush->len, 1, RPMA_FLUSH_SINK_SIZE);
	struct ib_rdma_wr *read = &wr->read;

	sge->addr = flush->sink;
	sge->length = len;
	sge->lkey = flush->sink_lkey;
	read->wr.opcode = IB_WR_RDMA_READ;
	read->wr.sg_list = sge;
	read->wr.num_sge = 1;
	read->remote_addr = flush->remote->addr + offset;
	read->rkey = flush->remote->rkey;
}

static bool rpma_flush_native_supported(const struct ib_device *ibdev)
{
	return ibdev->attrs.kernel_cap_flags & IBK_FLUSH;
}

/* PERSIST: the answer says that exactly this range is where it was to go. */
static void rpma_flush_native_build(const struct rpma_flush *flush,
				    union rpma_flush_wr *wr,
				    struct ib_sge *sge)
{
	struct ib_flush_wr *native = &wr->native;

	native->wr.opcode = IB_WR_FLUSH;
	native->remote_addr = flush->remote->addr + flush->offset;
	native->length = flush->len;
	native->rkey = flush->remote->rkey;
	native->level = IB_FLUSH_RANGE;
	if (flush->placement & RPMA_FLUSH_GLOBAL)
		native->type |= IB_FLUSH_GLOBAL;
	if (flush->placement & RPMA_FLUSH_PERSISTENT)
		native->type |= IB_FLUSH_PERSISTENT;
}

/* Best first. */
static const struct rpma_flush_ops rpma_flush_table[] = {
	{
		.id = RPMA_FLUSH_METHOD_NATIVE,
		.max_len = 1ULL << 31, /* IBA C9-94, of the RETH */
		.supported = rpma_flush_native_supported,
		.build = rpma_flush_native_build,
	},
	{
		.id = RPMA_FLUSH_METHOD_READ,
		.max_len = U64_MAX,
		.needs_direct_write = true,
		.supported = rpma_flush_read_supported,
		.build = rpma_flush_read_build,
	},
};

const struct rpma_flush_ops *rpma_flush_choose(const struct ib_device *ibdev)
{
	const struct rpma_flush_ops *method = rpma_flush_table;

	/* The last row works everywhere. */
	while (!method->supported(ibdev))
		method++;
	return method;
}

const struct rpma_flush_ops *rpma_flush_find(u32 methods, u32 id)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(rpma_flush_table); i++)
		if (rpma_flush_table[i].id == id && methods & 1 << id)
			return &rpma_flush_table[i];
	return NULL;
}

bool rpma_flush_is_granted(const struct rpma_flush_ops *method,
			   const struct ib_device *ibdev, u32 access,
			   bool peer_readable)
{
	if (method->id != RPMA_FLUSH_METHOD_READ)
		return true;
	return access & RPMA_ACCESS_READ_SRC || peer_readable ||
	       !rpma_flush_is_claimed(ibdev);
}

u32 rpma_flush_methods(const struct ib_device *ibdev)
{
	u32 methods = 0;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(rpma_flush_table); i++)
		if (rpma_flush_table[i].supported(ibdev))
			methods |= 1 << rpma_flush_table[i].id;
	return methods;
}

bool rpma_flush_is_claimed(const struct ib_device *ibdev)
{
	return ibdev->attrs.device_cap_flags &
	       (IB_DEVICE_FLUSH_GLOBAL | IB_DEVICE_FLUSH_PERSISTENT);
}

int rpma_flush_mr_access(const struct ib_device *ibdev, u32 access)
{
	u64 caps = ibdev->attrs.device_cap_flags;
	int ib_access = 0;

	if (access & RPMA_ACCESS_FLUSH_GLOBAL) {
		ib_access |= IB_ACCESS_REMOTE_READ;
		if (caps & IB_DEVICE_FLUSH_GLOBAL)
			ib_access |= IB_ACCESS_FLUSH_GLOBAL;
	}
	if (access & RPMA_ACCESS_FLUSH_PERSISTENT) {
		ib_access |= IB_ACCESS_REMOTE_READ;
		if (caps & IB_DEVICE_FLUSH_PERSISTENT)
			ib_access |= IB_ACCESS_FLUSH_PERSISTENT;
	}
	return ib_access;
}

u32 rpma_flush_mr_methods(int ib_access, u32 placement)
{
	int native = placement == RPMA_FLUSH_GLOBAL ?
		     IB_ACCESS_FLUSH_GLOBAL : IB_ACCESS_FLUSH_PERSISTENT;
	u32 methods = 0;

	if (ib_access & IB_ACCESS_REMOTE_READ)
		methods |= 1 << RPMA_FLUSH_METHOD_READ;
	if (ib_access & native)
		methods |= 1 << RPMA_FLUSH_METHOD_NATIVE;
	return methods;
}

bool rpma_flush_has_atomic_write(const struct rpma_flush_ops *method,
				 const struct ib_device *ibdev)
{
	return method->id == RPMA_FLUSH_METHOD_NATIVE &&
	       ibdev->attrs.kernel_cap_flags & IBK_ATOMIC_WRITE;
}
