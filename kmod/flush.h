/* SPDX-License-Identifier: GPL-2.0 */
/* The methods by which a flush can travel. Knows ib_device, no rpma object. */
#ifndef RPMA_FLUSH_H
#define RPMA_FLUSH_H

#include <uapi/linux/rpma.h>

#include "compat.h"

/**
 * struct rpma_flush - one flush, already checked against its region
 * @remote: the region
 * @offset: start of the range in it
 * @len: length of the range, may be 0
 * @placement: bits of enum rpma_flush_placement
 * @sink: DMA address of 8 bytes of scratch memory
 * @sink_lkey: its key
 */
struct rpma_flush {
	const struct rpma_remote *remote;
	u64 offset;
	u64 len;
	u32 placement;
	u64 sink;
	u32 sink_lkey;
};

/**
 * union rpma_flush_wr - the work requests that a flush can be
 * @send: what they begin with
 * @read: read_after_write
 * @native: FLUSH
 */
union rpma_flush_wr {
	struct ib_send_wr send;
	struct ib_rdma_wr read;
	struct ib_flush_wr native;
};

/**
 * struct rpma_flush_ops - one method: how to flush
 * @id: RPMA_FLUSH_METHOD_x
 * @max_len: the longest range in bytes
 * @needs_direct_write: the remote adapter must write past the caches for
 *	this method to reach the persistence domain
 * @supported: can connections of this device use it?
 * @build: make the work request; its cqe, opcode and flags are set, the rest is
 *	zero; @sge is the one it may use
 */
struct rpma_flush_ops {
	u32 id;
	u64 max_len;
	bool needs_direct_write;
	bool (*supported)(const struct ib_device *ibdev);
	void (*build)(const struct rpma_flush *flush, union rpma_flush_wr *wr,
		      struct ib_sge *sge);
};

/* Bytes a sink must have. */
#define RPMA_FLUSH_SINK_SIZE 8

/**
 * rpma_flush_choose - the best method that a device supports
 * @ibdev: the device
 *
 * Return: the method, never NULL.
 */
const struct rpma_flush_ops *rpma_flush_choose(const struct ib_device *ibdev);

/**
 * rpma_flush_find - a method by its number
 * @methods: as rpma_flush_methods() gave them
 * @id: RPMA_FLUSH_METHOD_x, or anything
 *
 * Return: the method, or NULL if it is none of @methods.
 */
const struct rpma_flush_ops *rpma_flush_find(u32 methods, u32 id);

/**
 * rpma_flush_is_granted - will the other side allow this method?
 * @method: the method
 * @ibdev: our device
 * @access: enum rpma_access of the remote region
 * @peer_readable: the other side said that its regions can be read
 *
 * The answer is a guess where the region says nothing, the other side said
 * nothing, and our own device must stand for what its peers are like.
 */
bool rpma_flush_is_granted(const struct rpma_flush_ops *method,
			   const struct ib_device *ibdev, u32 access,
			   bool peer_readable);

/**
 * rpma_flush_methods - all methods that a device supports
 * @ibdev: the device
 *
 * Return: bit (1 << RPMA_FLUSH_METHOD_x) for each.
 */
u32 rpma_flush_methods(const struct ib_device *ibdev);

/**
 * rpma_flush_mr_access - access bits that let others flush a region
 * @ibdev: the device it will be registered on
 * @access: enum rpma_access
 *
 * Grants both methods, whatever the peers will use, as far as the device
 * knows them: REMOTE_READ for those that read, the flush bits for those that
 * flush natively.
 *
 * Return: IB_ACCESS_x bits, 0 without a flush bit in @access.
 */
int rpma_flush_mr_access(const struct ib_device *ibdev, u32 access);

/**
 * rpma_flush_mr_methods - the methods that a registered region serves
 * @ib_access: what it was registered with
 * @placement: one bit of enum rpma_flush_placement
 *
 * Return: bit (1 << RPMA_FLUSH_METHOD_x) for each.
 */
u32 rpma_flush_mr_methods(int ib_access, u32 placement);

/**
 * rpma_flush_is_claimed - does the device say it knows IBA FLUSH?
 * @ibdev: the device
 */
bool rpma_flush_is_claimed(const struct ib_device *ibdev);

/* What an ATOMIC_WRITE is where rpma_flush_has_atomic_write(). */
#define RPMA_WR_ATOMIC_WRITE IB_WR_ATOMIC_WRITE

/**
 * rpma_flush_has_atomic_write - is the word behind a flush an ATOMIC WRITE?
 * @method: how the flush travels
 * @ibdev: the device
 *
 * Who is believed to know FLUSH is believed to know ATOMIC WRITE, its
 * companion in IBA annex A19. For others a WRITE of 8 aligned bytes must do.
 */
bool rpma_flush_has_atomic_write(const struct rpma_flush_ops *method,
				 const struct ib_device *ibdev);

#endif /* RPMA_FLUSH_H */
