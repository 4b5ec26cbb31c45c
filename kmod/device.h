/* SPDX-License-Identifier: GPL-2.0 */
/* One RDMA device, and everything that must let go of it when it leaves. */
#ifndef RPMA_DEVICE_H
#define RPMA_DEVICE_H

#include <linux/kref.h>
#include <linux/list.h>
#include <linux/rwsem.h>
#include <linux/spinlock.h>
#include <linux/wait.h>
#include <rdma/ib_verbs.h>

#include "ioctl.h"

/*
 * Who holds hardware. The order is that of removal: listeners stop first,
 * queue pairs die before the queues they use, regions before the protection
 * domain.
 */
enum rpma_hw_kind {
	RPMA_HW_EP,
	RPMA_HW_CONN,
	RPMA_HW_CQ,
	RPMA_HW_SRQ,
	RPMA_HW_MR,
	RPMA_HW_PEER,
	RPMA_HW_NR,
};

enum rpma_hw_state {
	RPMA_HW_OFF,		/* holds nothing (yet, or any more) */
	RPMA_HW_ON,		/* on its device's list */
	RPMA_HW_REVOKING,	/* taken off it by whoever runs @revoke now */
};

/**
 * struct rpma_hw - an object's hold on its device
 * @node: on dev->hw[kind] while ON
 * @dev: the device; held by the peer of the object
 * @kind: enum rpma_hw_kind
 * @state: enum rpma_hw_state, under dev->lock
 * @revoke: give back everything that belongs to the device. Runs once.
 */
struct rpma_hw {
	struct list_head node;
	struct rpma_device *dev;
	enum rpma_hw_kind kind;
	enum rpma_hw_state state;
	void (*revoke)(struct rpma_hw *hw);
};

/**
 * struct rpma_device - one ib_device that we may use
 * @ref: freed by the last put; ib_client holds one, each peer another
 * @node: on the list of devices until it leaves
 * @ibdev: valid until @gone
 * @number: its name towards user space, never reused
 * @max_msg_size: largest transfer that every port takes
 * @max_mr_size: largest memory region
 * @use: read: build hardware on it; write: it is leaving
 * @gone: it has left; under @use
 * @lock: the lists below
 * @hw: who holds hardware
 * @nr: those, and those being revoked
 * @wait: somebody in @nr finished
 */
struct rpma_device {
	struct kref ref;
	struct list_head node;
	struct ib_device *ibdev;
	u32 number;
	u32 max_msg_size;
	u64 max_mr_size;

	struct rw_semaphore use;
	bool gone;

	spinlock_t lock; /* hw, nr, and the state of those on hw */
	struct list_head hw[RPMA_HW_NR];
	unsigned int nr[RPMA_HW_NR];
	wait_queue_head_t wait;
};

/* Entries of a completion queue that we may need beyond those asked for. */
#define RPMA_DEVICE_SPARE_CQE 64

int rpma_device_init(void);
void rpma_device_exit(void);

/**
 * rpma_device_get - find a device that the caller's namespace may use
 * @number: its number
 *
 * Return: the device, to be given back with rpma_device_put(), or NULL.
 */
struct rpma_device *rpma_device_get(u32 number);
void rpma_device_put(struct rpma_device *dev);

/* Number of an ib_device, 0 if it is not one of ours. */
u32 rpma_device_number(const struct ib_device *ibdev);

/* How many devices the caller's namespace may use. */
u32 rpma_device_count(void);

/* Was memory registration by the kernel seen or read to work with its driver? */
bool rpma_device_is_tried(const struct rpma_device *dev);

/**
 * rpma_device_begin - keep the device from leaving while building on it
 * @dev: the device
 *
 * Return: true, and rpma_device_end() must follow; false if it is gone.
 */
bool rpma_device_begin(struct rpma_device *dev);
void rpma_device_end(struct rpma_device *dev);

/**
 * rpma_hw_on - from now on removal of the device revokes this object
 * @hw: the object's hold; @hw->revoke is set
 * @dev: the device
 * @kind: when its turn is
 *
 * Context: between rpma_device_begin() and rpma_device_end().
 */
void rpma_hw_on(struct rpma_hw *hw, struct rpma_device *dev,
		enum rpma_hw_kind kind);

/**
 * rpma_hw_off - the object dies: revoke it, unless that happened
 * @hw: the object's hold, also one that was never on
 *
 * Waits while a removal revokes it. Afterwards nobody touches @hw.
 */
void rpma_hw_off(struct rpma_hw *hw);

int rpma_device_query_ioctl(struct rpma_ucmd *ucmd);

#endif /* RPMA_DEVICE_H */
