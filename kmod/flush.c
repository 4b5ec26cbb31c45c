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
 * native. The FLUSH operation of IBA annex A19 carries the placement itself
 * and the responder does the work. Upstream has no way for a kernel consumer
 * to hand its operands to a provider: a posted IB_WR_FLUSH goes out with
 * undefined operands although the device claims the capability. So the row
 * stays empty until the kernel says that it carries them.
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
				  struct ib_rdma_wr *wr, struct ib_sge *sge)
{
	u64 offset = min(flush->offset, flush->remote->length - 1);
	u64 len = clamp_t(u64, flush->len, 1, RPMA_FLUSH_SINK_SIZE);

	sge->addr = flush->sink;
	sge->length = len;
	sge->lkey = flush->sink_lkey;
	wr->wr.opcode = IB_WR_RDMA_READ;
	wr->wr.sg_list = sge;
	wr->wr.num_sge = 1;
	wr->remote_addr = flush->remote->addr + offset;
	wr->rkey = flush->remote->rkey;
}

/* Best first. A row without functions is not there yet. */
static const struct rpma_flush_ops rpma_flush_table[] = {
	{
		.id = RPMA_FLUSH_METHOD_NATIVE,
	},
	{
		.id = RPMA_FLUSH_METHOD_READ,
		.needs_direct_write = true,
		.supported = rpma_flush_read_supported,
		.build = rpma_flush_read_build,
	},
};

static bool rpma_flush_is_supported(const struct rpma_flush_ops *method,
				    const struct ib_device *ibdev)
{
	return method->supported && method->supported(ibdev);
}

const struct rpma_flush_ops *rpma_flush_choose(const struct ib_device *ibdev)
{
	const struct rpma_flush_ops *method = rpma_flush_table;

	/* The last row works everywhere. */
	while (!rpma_flush_is_supported(method, ibdev))
		method++;
	return method;
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
		if (rpma_flush_is_supported(&rpma_flush_table[i], ibdev))
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
