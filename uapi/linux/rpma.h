/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note */
/*
 * /dev/rpma: make data durable or visible in another machine's memory.
 *
 * This header is the whole contract between the kernel module and user
 * space. It needs no other RDMA header and its names do not meet those of
 * librpma.h, so that both can be included in either order.
 */
#ifndef _UAPI_LINUX_RPMA_H
#define _UAPI_LINUX_RPMA_H

#include <linux/ioctl.h>
#include <linux/types.h>

/**
 * DOC: rules that hold for every command
 *
 * Objects. What one can wait on is a file descriptor: endpoints, connections,
 * completion queues and their channels. What one only names is a 32-bit id, valid on the
 * /dev/rpma file it was made with: peers, memory regions and shared receive
 * queues. An id is never 0.
 * Every descriptor handed out is close-on-exec and keeps the /dev/rpma file
 * it came from alive. Whoever holds a descriptor may use it.
 *
 * Size. Each command's structure starts with @size, the size the caller was
 * compiled with. A kernel that knows a shorter structure accepts a longer one
 * as long as the part it does not know is zero (else E2BIG); a kernel that
 * knows a longer one takes the missing part as zero. Less than the first
 * published size is EINVAL. The command's number says nothing about the
 * size. Fields named out_* are written by the kernel, their value on entry is
 * ignored, and after a failure they say nothing.
 * An unknown bit in a flags or mask field, and a byte that is not zero in a
 * __reserved field, are EOPNOTSUPP: a later kernel may give them a meaning.
 *
 * Errors. The same number means the same thing for all commands:
 *
 * =============== ==========================================================
 * EINVAL          an argument has no meaning, a range leaves its region or
 *                 overflows, or the structure is too short
 * E2BIG           the structure's unknown tail is not zero
 * EOPNOTSUPP      an unknown flag, or something this device, kernel or region
 *                 does not support
 * EFAULT          a pointer is not readable or writable; nothing was done
 * ENOENT          no object of that kind has this id
 * EBADF           not a descriptor of the kind asked for, or one that belongs
 *                 to another /dev/rpma file
 * EBUSY           others still use the object; it stays as it was
 * ENOMEM          out of memory; for RPMA_IOC_MR_REG also RLIMIT_MEMLOCK
 * ENOBUFS, ENFILE the same, as the network and the adapter's driver say it
 * EDQUOT          a limit of RPMA_IOC_QUERY is reached for this file or user
 * EAGAIN          nothing to take yet, or no room yet; nothing was done
 * ENOTCONN        the connection is not in a state that allows this
 * ENODEV          the RDMA device is gone; only close remains
 * EINTR           a signal came first; nothing was done
 * ENOTTY          no such command
 * =============== ==========================================================
 */

#define RPMA_IOC_TYPE 0xBD

/*
 * The revision rises when something is added. Nothing that works is ever
 * taken away under the same device name.
 */
#define RPMA_ABI_REVISION 1

enum {
	/* on /dev/rpma */
	RPMA_CMD_QUERY = 0x00,
	RPMA_CMD_DEVICE_QUERY = 0x01,
	RPMA_CMD_DEVICE_RESOLVE = 0x02,
	RPMA_CMD_DESTROY = 0x03,
	RPMA_CMD_PEER_CREATE = 0x10,
	RPMA_CMD_MR_REG = 0x20,
	RPMA_CMD_CQ_CREATE = 0x30,
	RPMA_CMD_CHANNEL_CREATE = 0x31,
	RPMA_CMD_EP_LISTEN = 0x40,
	RPMA_CMD_EP_TAKE = 0x41,
	RPMA_CMD_CONN_CREATE = 0x50,
	RPMA_CMD_CONN_CONNECT = 0x51,
	RPMA_CMD_CONN_ACCEPT = 0x52,
	RPMA_CMD_CONN_REJECT = 0x53,
	RPMA_CMD_CONN_DISCONNECT = 0x54,
	RPMA_CMD_CONN_QUERY = 0x55,
	RPMA_CMD_CONN_MODIFY = 0x56,
	RPMA_CMD_SRQ_CREATE = 0x60,
	RPMA_CMD_SRQ_POST = 0x61,
	/* on a completion queue's descriptor */
	RPMA_CMD_CQ_POLL = 0x80,
	RPMA_CMD_CQ_WAIT = 0x81,
	/* on a connection's descriptor */
	RPMA_CMD_POST = 0x90,
	RPMA_CMD_FLUSH = 0x91,
};

/* ---- limits and devices ------------------------------------------------ */

/**
 * struct rpma_ioc_query - ioctl(RPMA_IOC_QUERY)
 * @size: sizeof(struct rpma_ioc_query)
 * @flags: Must be 0
 * @out_abi_revision: RPMA_ABI_REVISION of the kernel module
 * @out_nr_devices: RDMA devices the caller may use now
 * @out_max_peers: peers per /dev/rpma file
 * @out_max_mrs: memory regions per /dev/rpma file
 * @out_max_cqs: completion queues per /dev/rpma file
 * @out_max_eps: endpoints per /dev/rpma file
 * @out_max_conns: connections per /dev/rpma file
 * @out_max_user_conns: connections of one user over all files
 * @out_max_queue_size: largest @sq_size, @rq_size and CQ @entries
 * @out_max_backlog: incoming connections an endpoint holds for EP_TAKE
 * @out_max_pinned_bytes: bytes in memory regions per /dev/rpma file
 * @out_max_user_pinned_bytes: bytes in memory regions of one user
 * @out_ops: bit (1 << RPMA_OP_x) for each request this kernel posts
 * @out_module_version: the module's version, NUL terminated
 * @out_max_srqs: shared receive queues per /dev/rpma file
 * @__reserved: Must be 0
 *
 * The limits are module parameters; 0 is never a limit. RLIMIT_MEMLOCK of the
 * process applies to memory regions besides.
 */
struct rpma_ioc_query {
	__u32 size;
	__u32 flags;
	__u32 out_abi_revision;
	__u32 out_nr_devices;
	__u32 out_max_peers;
	__u32 out_max_mrs;
	__u32 out_max_cqs;
	__u32 out_max_eps;
	__u32 out_max_conns;
	__u32 out_max_user_conns;
	__u32 out_max_queue_size;
	__u32 out_max_backlog;
	__aligned_u64 out_max_pinned_bytes;
	__aligned_u64 out_max_user_pinned_bytes;
	__aligned_u64 out_ops;
	__u8 out_module_version[32];
	__u32 out_max_srqs;
	__u32 __reserved;
};

#define RPMA_IOC_QUERY _IO(RPMA_IOC_TYPE, RPMA_CMD_QUERY)

/**
 * enum rpma_flush_method - how a flush travels
 * @RPMA_FLUSH_METHOD_NONE: neither (completions of other requests)
 * @RPMA_FLUSH_METHOD_READ: read_after_write: an RDMA READ of 1 to 8 bytes
 *	inside the flushed range, on the queue pair that wrote. IBA orders the
 *	response behind the WRITEs before it. Durable only if the remote
 *	machine lets the adapter write to persistent memory past its caches.
 * @RPMA_FLUSH_METHOD_NATIVE: the FLUSH operation of IBA annex A19, of the range
 *	asked for. Durable if the region is: it must be of memory that the remote
 *	device takes for persistent. Only where kernel and provider carry the
 *	operation, see @out_flush_methods of struct rpma_ioc_device_query.
 */
enum rpma_flush_method {
	RPMA_FLUSH_METHOD_NONE = 0,
	RPMA_FLUSH_METHOD_READ = 1,
	RPMA_FLUSH_METHOD_NATIVE = 2,
};

/**
 * enum rpma_flush_placement - what a flush reaches; IBA A19 placement types
 * @RPMA_FLUSH_GLOBAL: visible to every reader of the remote machine's memory
 * @RPMA_FLUSH_PERSISTENT: in the remote machine's persistence domain
 *
 * One of them or both are set in a flush.
 */
enum rpma_flush_placement {
	RPMA_FLUSH_GLOBAL = 1 << 0,
	RPMA_FLUSH_PERSISTENT = 1 << 1,
};

#define RPMA_FLUSH_ALL (RPMA_FLUSH_GLOBAL | RPMA_FLUSH_PERSISTENT)

/**
 * enum rpma_device_flags - properties of a device
 * @RPMA_DEVICE_F_UP: at least one port is active
 * @RPMA_DEVICE_F_CLAIMS_FLUSH: the device says it knows IBA FLUSH. Kernel
 *	consumers may still be unable to post it: see @out_flush_methods.
 * @RPMA_DEVICE_F_UNTRIED: memory registration from the kernel was neither
 *	seen nor read to work with this driver; the module parameter
 *	allow_untried_drivers lets one try.
 */
enum rpma_device_flags {
	RPMA_DEVICE_F_UP = 1 << 0,
	RPMA_DEVICE_F_CLAIMS_FLUSH = 1 << 1,
	RPMA_DEVICE_F_UNTRIED = 1 << 2,
};

/**
 * struct rpma_ioc_device_query - ioctl(RPMA_IOC_DEVICE_QUERY)
 * @size: sizeof(struct rpma_ioc_device_query)
 * @flags: Must be 0
 * @position: 0 up to @out_nr_devices - 1 of RPMA_IOC_QUERY
 * @out_device: the device's number, for RPMA_IOC_PEER_CREATE. Never reused
 *	while the module is loaded, never 0.
 * @out_flags: enum rpma_device_flags
 * @out_flush_methods: bit (1 << RPMA_FLUSH_METHOD_x) for each method that a
 *	connection on this device can flush with
 * @out_max_sq_size: largest send queue
 * @out_max_rq_size: largest receive queue
 * @out_max_cqe: largest completion queue
 * @out_max_read_depth: RDMA READs in flight on one connection
 * @out_max_msg_size: largest single transfer in bytes
 * @out_node_guid: as in sysfs, host byte order
 * @out_name: the device's name ("rxe0"), NUL terminated
 * @out_max_srq_size: largest shared receive queue; 0: it has none
 * @__reserved: Must be 0
 *
 * Devices come and go: ENOENT says that @position is past the last one.
 */
struct rpma_ioc_device_query {
	__u32 size;
	__u32 flags;
	__u32 position;
	__u32 out_device;
	__u32 out_flags;
	__u32 out_flush_methods;
	__u32 out_max_sq_size;
	__u32 out_max_rq_size;
	__u32 out_max_cqe;
	__u32 out_max_read_depth;
	__aligned_u64 out_max_msg_size;
	__aligned_u64 out_node_guid;
	__u8 out_name[64];
	__u32 out_max_srq_size;
	__u32 __reserved;
};

#define RPMA_IOC_DEVICE_QUERY _IO(RPMA_IOC_TYPE, RPMA_CMD_DEVICE_QUERY)

/* Room for a struct sockaddr_in or sockaddr_in6; bytes behind it must be 0. */
#define RPMA_ADDR_SIZE 64

/**
 * enum rpma_device_resolve_flags - whose address is given
 * @RPMA_DEVICE_RESOLVE_F_REMOTE: another machine's; else one of our own
 */
enum rpma_device_resolve_flags {
	RPMA_DEVICE_RESOLVE_F_REMOTE = 1 << 0,
};

/**
 * struct rpma_ioc_device_resolve - ioctl(RPMA_IOC_DEVICE_RESOLVE)
 * @size: sizeof(struct rpma_ioc_device_resolve)
 * @flags: enum rpma_device_resolve_flags
 * @timeout_ms: how long to look for a remote address; 0 is 1000
 * @out_device: the device behind that address
 * @addr: struct sockaddr_in or sockaddr_in6; the port is ignored
 *
 * Looks in the caller's network namespace. ENODEV: no RDMA device has or
 * reaches this address. ETIMEDOUT, EHOSTUNREACH, ENETUNREACH: as they say.
 * EAFNOSUPPORT: neither IPv4 nor IPv6.
 */
struct rpma_ioc_device_resolve {
	__u32 size;
	__u32 flags;
	__u32 timeout_ms;
	__u32 out_device;
	__u8 addr[RPMA_ADDR_SIZE];
};

#define RPMA_IOC_DEVICE_RESOLVE _IO(RPMA_IOC_TYPE, RPMA_CMD_DEVICE_RESOLVE)

/**
 * enum rpma_destroy_flags - how to destroy
 * @RPMA_DESTROY_F_FORCE: deregister a memory region even while requests use
 *	it. Its keys are dead when the call returns; requests still in flight
 *	complete with an error. EOPNOTSUPP for anything else.
 */
enum rpma_destroy_flags {
	RPMA_DESTROY_F_FORCE = 1 << 0,
};

/**
 * struct rpma_ioc_destroy - ioctl(RPMA_IOC_DESTROY)
 * @size: sizeof(struct rpma_ioc_destroy)
 * @flags: enum rpma_destroy_flags
 * @id: a peer, a memory region or a shared receive queue
 * @__reserved: Must be 0
 *
 * EBUSY: a peer still has regions, queues, endpoints or connections, a region
 * is used by requests in flight, or a shared receive queue by connections or
 * by messages for which a completion queue had no room yet. RECVs still posted
 * to a shared receive queue are dropped without a completion, as they are when
 * the device goes. Objects that are
 * descriptors are destroyed by close(2).
 */
struct rpma_ioc_destroy {
	__u32 size;
	__u32 flags;
	__u32 id;
	__u32 __reserved;
};

#define RPMA_IOC_DESTROY _IO(RPMA_IOC_TYPE, RPMA_CMD_DESTROY)

/* ---- peer: a device and a protection domain on it ----------------------- */

/**
 * struct rpma_ioc_peer_create - ioctl(RPMA_IOC_PEER_CREATE)
 * @size: sizeof(struct rpma_ioc_peer_create)
 * @flags: Must be 0
 * @device: @out_device of RPMA_IOC_DEVICE_QUERY or RPMA_IOC_DEVICE_RESOLVE
 * @out_peer: the new peer's id
 * @out_flush_method: enum rpma_flush_method that its connections flush with
 * @__reserved: Must be 0
 *
 * ENODEV: no such device, or not in the caller's network namespace.
 * EOPNOTSUPP: RPMA_DEVICE_F_UNTRIED and allow_untried_drivers is off.
 */
struct rpma_ioc_peer_create {
	__u32 size;
	__u32 flags;
	__u32 device;
	__u32 out_peer;
	__u32 out_flush_method;
	__u32 __reserved;
};

#define RPMA_IOC_PEER_CREATE _IO(RPMA_IOC_TYPE, RPMA_CMD_PEER_CREATE)

/* ---- mr: registered memory ---------------------------------------------- */

/**
 * enum rpma_access - what a memory region is used for
 * @RPMA_ACCESS_READ_SRC: remote reads from it
 * @RPMA_ACCESS_READ_DST: our reads arrive in it
 * @RPMA_ACCESS_WRITE_SRC: our writes are taken from it
 * @RPMA_ACCESS_WRITE_DST: remote writes arrive in it
 * @RPMA_ACCESS_FLUSH_GLOBAL: remote flushes for visibility
 * @RPMA_ACCESS_FLUSH_PERSISTENT: remote flushes for durability
 * @RPMA_ACCESS_SEND: our messages are taken from it
 * @RPMA_ACCESS_RECV: messages arrive in it
 *
 * The values are those of librpma's usage bits. A region with a flush bit is
 * readable by whoever knows its key, since one kind of peer flushes by
 * reading; such regions are never registered with relaxed ordering.
 */
enum rpma_access {
	RPMA_ACCESS_READ_SRC = 1 << 0,
	RPMA_ACCESS_READ_DST = 1 << 1,
	RPMA_ACCESS_WRITE_SRC = 1 << 2,
	RPMA_ACCESS_WRITE_DST = 1 << 3,
	RPMA_ACCESS_FLUSH_GLOBAL = 1 << 4,
	RPMA_ACCESS_FLUSH_PERSISTENT = 1 << 5,
	RPMA_ACCESS_SEND = 1 << 6,
	RPMA_ACCESS_RECV = 1 << 7,
};

/**
 * enum rpma_mr_reg_flags - what the caller vouches for
 * @RPMA_MR_REG_F_PERSISTENT_BY_READ: the caller declares that remote writes
 *	to this memory, once ordered by a READ, are durable (or that durability
 *	does not matter here). Without it RPMA_ACCESS_FLUSH_PERSISTENT on
 *	memory that a flush-capable device does not take for persistent is
 *	EOPNOTSUPP.
 */
enum rpma_mr_reg_flags {
	RPMA_MR_REG_F_PERSISTENT_BY_READ = 1 << 0,
};

/**
 * struct rpma_ioc_mr_reg - ioctl(RPMA_IOC_MR_REG)
 * @size: sizeof(struct rpma_ioc_mr_reg)
 * @flags: enum rpma_mr_reg_flags
 * @peer: the peer whose connections may use the region
 * @access: enum rpma_access, at least one bit
 * @addr: start of the memory in the caller's address space, any alignment
 * @length: bytes, not 0
 * @out_mr: the new region's id
 * @out_rkey: the key that remote machines name it with
 * @out_global_methods: bit (1 << RPMA_FLUSH_METHOD_x) for each method by
 *	which a remote machine can flush it for visibility
 * @out_persistent_methods: the same for durability
 *
 * Remote machines address the region by @addr itself. The pages are pinned
 * until the region is destroyed and counted against RLIMIT_MEMLOCK of the
 * calling process (ENOMEM). ENOMEM is also more than the device takes for one
 * region, which is 1 GiB on rxe. EFAULT: part of the range is not mapped, or not
 * writable while @access needs it to be. EOPNOTSUPP: the memory cannot be
 * pinned for long (a file on fsdax), or see RPMA_MR_REG_F_PERSISTENT_BY_READ.
 */
struct rpma_ioc_mr_reg {
	__u32 size;
	__u32 flags;
	__u32 peer;
	__u32 access;
	__aligned_u64 addr;
	__aligned_u64 length;
	__u32 out_mr;
	__u32 out_rkey;
	__u32 out_global_methods;
	__u32 out_persistent_methods;
};

#define RPMA_IOC_MR_REG _IO(RPMA_IOC_TYPE, RPMA_CMD_MR_REG)

/* ---- channel: one descriptor for several completion queues ------------------- */

/**
 * struct rpma_ioc_channel_create - ioctl(RPMA_IOC_CHANNEL_CREATE)
 * @size: sizeof(struct rpma_ioc_channel_create)
 * @flags: Must be 0
 * @out_fd: the completion channel
 * @__reserved: Must be 0
 *
 * Completion queues join it as they are made, see RPMA_CQ_CREATE_F_CHANNEL.
 * The descriptor is read with read(2): whole struct rpma_channel_event, one for
 * each queue with an event pending (as RPMA_IOC_CQ_WAIT would see it), which
 * consumes them; blocking until there is one unless O_NONBLOCK. Queues that
 * joined earlier come first, but none is passed over for ever. ENODEV: the
 * devices of all its queues are gone and every completion was read. poll(2)
 * says POLLIN while an event is pending, POLLERR once the devices are gone. It
 * counts as a completion queue in limits.
 */
struct rpma_ioc_channel_create {
	__u32 size;
	__u32 flags;
	__s32 out_fd;
	__u32 __reserved;
};

#define RPMA_IOC_CHANNEL_CREATE _IO(RPMA_IOC_TYPE, RPMA_CMD_CHANNEL_CREATE)

/**
 * struct rpma_channel_event - a completion queue has something to fetch
 * @cookie: @cookie it was made with
 * @unread: how many completions are unread; 0 when others took them
 * @__reserved: 0
 */
struct rpma_channel_event {
	__aligned_u64 cookie;
	__u32 unread;
	__u32 __reserved;
};

/* ---- cq: completions ------------------------------------------------------ */

/**
 * enum rpma_cq_create_flags - where its events show besides
 * @RPMA_CQ_CREATE_F_CHANNEL: on the channel @channel_fd
 */
enum rpma_cq_create_flags {
	RPMA_CQ_CREATE_F_CHANNEL = 1 << 0,
};

/**
 * struct rpma_ioc_cq_create - ioctl(RPMA_IOC_CQ_CREATE)
 * @size: sizeof(struct rpma_ioc_cq_create)
 * @flags: enum rpma_cq_create_flags
 * @peer: the peer whose connections report here
 * @entries: completions it holds, 1 up to @out_max_queue_size. Give at least
 *	the sum of the send and receive queue sizes that report here.
 * @out_fd: the completion queue
 * @out_entries: completions it holds, a power of two, at least @entries
 * @out_ring_bytes: length of the mapping at RPMA_CQ_OFF_RING
 * @channel_fd: with RPMA_CQ_CREATE_F_CHANNEL; else 0
 * @cookie: its name in struct rpma_channel_event; without a channel 0
 *
 * The descriptor is read with read(2): whole struct rpma_completion, oldest
 * first, blocking until there is one unless O_NONBLOCK; or through the mapped
 * ring, see struct rpma_cq_ring. A completion is taken once, whichever way.
 *
 * poll(2) says POLLIN while an event is pending: completions are unread, or
 * some arrived since the last RPMA_IOC_CQ_WAIT (as a completion channel
 * would have it). It says POLLERR once the device is gone.
 */
struct rpma_ioc_cq_create {
	__u32 size;
	__u32 flags;
	__u32 peer;
	__u32 entries;
	__s32 out_fd;
	__u32 out_entries;
	__u32 out_ring_bytes;
	__s32 channel_fd;
	__aligned_u64 cookie;
};

#define RPMA_IOC_CQ_CREATE _IO(RPMA_IOC_TYPE, RPMA_CMD_CQ_CREATE)

/**
 * RPMA_IOC_CQ_POLL - fetch completions from the adapter into the ring
 *
 * No argument (pass 0). Returns how many completions are unread; 0 is not an
 * error. Never sleeps. To be called when the mapped ring is empty: nobody
 * else moves completions for a queue that is polled.
 */
#define RPMA_IOC_CQ_POLL _IO(RPMA_IOC_TYPE, RPMA_CMD_CQ_POLL)

/**
 * RPMA_IOC_CQ_WAIT - wait for an event and consume it
 *
 * No argument (pass 0). Returns how many completions are unread, once some
 * are or some arrived since the last RPMA_IOC_CQ_WAIT; so it may be 0 when
 * another thread took them. EAGAIN: none, and the descriptor is O_NONBLOCK.
 * ENODEV: the device is gone and every completion was read.
 */
#define RPMA_IOC_CQ_WAIT _IO(RPMA_IOC_TYPE, RPMA_CMD_CQ_WAIT)

/* mmap(2) offsets on a completion queue's descriptor. */
#define RPMA_CQ_OFF_RING 0x00000000ULL	/* PROT_READ, MAP_SHARED */
#define RPMA_CQ_OFF_HEAD 0x10000000ULL	/* one page, PROT_READ | PROT_WRITE */

/**
 * enum rpma_op - what a request does
 * @RPMA_OP_WRITE: local region to remote region
 * @RPMA_OP_WRITE_WITH_IMM: the same, and consume a RECV there with @imm_data
 * @RPMA_OP_READ: remote region to local region
 * @RPMA_OP_FLUSH: make earlier WRITEs of this connection into a range visible
 *	or durable
 * @RPMA_OP_SEND: a message from a local region to a RECV of the other side
 * @RPMA_OP_SEND_WITH_IMM: the same with @imm_data
 * @RPMA_OP_RECV: take one message into a local region
 * @RPMA_OP_ATOMIC_WRITE: write 8 bytes at once, 8-byte aligned. Fenced: it stays
 *	behind every READ and FLUSH posted before it. Where flushes are NATIVE
 *	it is the ATOMIC WRITE of IBA annex A19, else an 8-byte WRITE.
 */
enum rpma_op {
	RPMA_OP_WRITE = 1,
	RPMA_OP_WRITE_WITH_IMM = 2,
	RPMA_OP_READ = 3,
	RPMA_OP_FLUSH = 4,
	RPMA_OP_SEND = 5,
	RPMA_OP_SEND_WITH_IMM = 6,
	RPMA_OP_RECV = 7,
	RPMA_OP_ATOMIC_WRITE = 8,
};

/**
 * enum rpma_status - how a request ended; the values of enum ibv_wc_status
 * @RPMA_STATUS_SUCCESS: done
 * @RPMA_STATUS_LOC_LEN_ERR: the message did not fit the RECV
 * @RPMA_STATUS_LOC_QP_OP_ERR: the adapter could not carry it out
 * @RPMA_STATUS_LOC_PROT_ERR: the local region is gone
 * @RPMA_STATUS_ABORTED: not carried out, because an earlier request failed or
 *	the connection ended
 * @RPMA_STATUS_REM_INV_REQ_ERR: the other side did not understand it
 * @RPMA_STATUS_REM_ACCESS_ERR: the remote region does not allow it
 * @RPMA_STATUS_REM_OP_ERR: the other side failed
 * @RPMA_STATUS_RETRY_EXC_ERR: the other side did not answer
 * @RPMA_STATUS_RNR_RETRY_EXC_ERR: the other side had no RECV posted
 *
 * Any other value is the adapter's own, as in enum ibv_wc_status. Every
 * status but SUCCESS ends the connection: all later requests are ABORTED.
 */
enum rpma_status {
	RPMA_STATUS_SUCCESS = 0,
	RPMA_STATUS_LOC_LEN_ERR = 1,
	RPMA_STATUS_LOC_QP_OP_ERR = 2,
	RPMA_STATUS_LOC_PROT_ERR = 4,
	RPMA_STATUS_ABORTED = 5,
	RPMA_STATUS_REM_INV_REQ_ERR = 9,
	RPMA_STATUS_REM_ACCESS_ERR = 10,
	RPMA_STATUS_REM_OP_ERR = 11,
	RPMA_STATUS_RETRY_EXC_ERR = 12,
	RPMA_STATUS_RNR_RETRY_EXC_ERR = 13,
};

/**
 * enum rpma_completion_flags - which fields say something
 * @RPMA_COMPLETION_F_IMM: @imm_data came with the message
 * @RPMA_COMPLETION_F_RDMA: of a RECV: it was consumed by a WRITE_WITH_IMM,
 *	no byte was put into its region
 */
enum rpma_completion_flags {
	RPMA_COMPLETION_F_IMM = 1 << 0,
	RPMA_COMPLETION_F_RDMA = 1 << 1,
};

/**
 * struct rpma_completion - the answer to one request
 * @context: @context of the request
 * @len: bytes transferred; for FLUSH the length asked for; 0 on failure
 * @status: enum rpma_status
 * @op: enum rpma_op of the request
 * @imm_data: network byte order, with RPMA_COMPLETION_F_IMM
 * @qp_num: the connection's queue pair number
 * @flags: enum rpma_completion_flags
 * @method: enum rpma_flush_method: how a FLUSH travelled; NATIVE also for an
 *	ATOMIC_WRITE that went out as one
 * @vendor_err: the adapter's own error code, else 0
 * @__reserved: 0
 *
 * Every accepted request completes exactly once. The requests of one
 * connection's send queue complete in the order they were posted, and so do
 * its RECVs. Those without RPMA_REQ_F_SIGNALED are silent when they succeed.
 */
struct rpma_completion {
	__aligned_u64 context;
	__aligned_u64 len;
	__u32 status;
	__u32 op;
	__u32 imm_data;
	__u32 qp_num;
	__u32 flags;
	__u32 method;
	__u32 vendor_err;
	__u32 __reserved;
};

/**
 * struct rpma_cq_ring - head of the mapping at RPMA_CQ_OFF_RING
 * @tail: completions ever put into the ring, modulo 2^32. Load-acquire it.
 * @entries: size of the ring, a power of two
 * @entry_size: distance in bytes of two entries
 * @first_offset: offset in bytes of entry 0 from the start of the mapping
 * @gone: not 0 once the device is gone: no completion will be added
 * @__reserved: 0
 *
 * Entry number n is at @first_offset + (n % @entries) * @entry_size. The
 * reader's own count of completions taken is the first __u32 of the page at
 * RPMA_CQ_OFF_HEAD: read the entries, then store-release the new count. The
 * kernel reads it only to know how much room there is; a count that is not
 * between the last one and @tail counts as "nothing read".
 */
struct rpma_cq_ring {
	__u32 tail;
	__u32 entries;
	__u32 entry_size;
	__u32 first_offset;
	__u32 gone;
	__u32 __reserved[11];
};

/* ---- ep: listening for connections ---------------------------------------- */

/**
 * struct rpma_ioc_ep_listen - ioctl(RPMA_IOC_EP_LISTEN)
 * @size: sizeof(struct rpma_ioc_ep_listen)
 * @flags: Must be 0
 * @peer: connections that arrive on another device are rejected
 * @backlog: incoming connections held until RPMA_IOC_EP_TAKE takes them;
 *	further ones are rejected. 0 or more than @out_max_backlog is that.
 * @out_fd: the endpoint
 * @__reserved: Must be 0
 * @addr: where to listen: struct sockaddr_in or sockaddr_in6; port 0 lets the
 *	kernel choose
 * @out_addr: where it listens
 *
 * Listens in the caller's network namespace. poll(2) on the endpoint says
 * POLLIN while a connection waits to be taken, POLLERR once the device is
 * gone. Errors as of bind(2) and listen(2): EADDRINUSE, EADDRNOTAVAIL,
 * EACCES (a port below ip_unprivileged_port_start), EAFNOSUPPORT. EXDEV: the
 * address is on another device than the peer's.
 */
struct rpma_ioc_ep_listen {
	__u32 size;
	__u32 flags;
	__u32 peer;
	__u32 backlog;
	__s32 out_fd;
	__u32 __reserved;
	__u8 addr[RPMA_ADDR_SIZE];
	__u8 out_addr[RPMA_ADDR_SIZE];
};

#define RPMA_IOC_EP_LISTEN _IO(RPMA_IOC_TYPE, RPMA_CMD_EP_LISTEN)

/**
 * struct rpma_conn_queues - the queues of a new connection
 * @send_cq_fd: where sends, writes, reads and flushes complete
 * @recv_cq_fd: where RECVs complete; -1 is @send_cq_fd
 * @sq_size: requests in flight, 1 up to @out_max_queue_size
 * @rq_size: RECVs in flight, 0 up to @out_max_queue_size; 0 with @srq
 * @peer_timeout_ms: requests in flight that make no progress for this long
 *	end the connection (status ABORTED, event RPMA_EVENT_LOST). Large
 *	transfers get one second more per MiB in flight. 0 is 20000; at least
 *	100; 0xffffffff is never.
 * @srq: the shared receive queue that its messages arrive in; 0: none, RECVs
 *	are posted to the connection itself. With one, that is EINVAL.
 *
 * ENOENT: no such shared receive queue. EXDEV: it, or a completion queue, is
 * another peer's. ENOSPC: a completion queue has fewer entries than the queues
 * of this connection that report to it, the shared one included and those of
 * its entries subtracted that are in use; or as many connections as it has
 * entries, or 64, send through it already.
 */
struct rpma_conn_queues {
	__s32 send_cq_fd;
	__s32 recv_cq_fd;
	__u32 sq_size;
	__u32 rq_size;
	__u32 peer_timeout_ms;
	__u32 srq;
};

/**
 * struct rpma_ioc_ep_take - ioctl(RPMA_IOC_EP_TAKE)
 * @size: sizeof(struct rpma_ioc_ep_take)
 * @flags: Must be 0
 * @ep_fd: the endpoint
 * @out_fd: the connection, not yet accepted. RECVs may be posted already.
 * @queues: its queues
 *
 * Waits for an incoming connection, or says EAGAIN when the endpoint is
 * O_NONBLOCK. Then accept it with RPMA_IOC_CONN_ACCEPT or reject it with
 * RPMA_IOC_CONN_REJECT or close(2). On failure the incoming connection waits
 * on for another try. One whose other side has given up is passed over.
 */
struct rpma_ioc_ep_take {
	__u32 size;
	__u32 flags;
	__s32 ep_fd;
	__s32 out_fd;
	struct rpma_conn_queues queues;
};

#define RPMA_IOC_EP_TAKE _IO(RPMA_IOC_TYPE, RPMA_CMD_EP_TAKE)

/* ---- conn: a connection ----------------------------------------------------- */

/* Largest private data: with a request, an accept, a reject; as received. */
#define RPMA_PRIVATE_DATA_REQUEST_MAX 56
#define RPMA_PRIVATE_DATA_REPLY_MAX 196
#define RPMA_PRIVATE_DATA_REJECT_MAX 148
#define RPMA_PRIVATE_DATA_MAX 256

/**
 * struct rpma_ioc_conn_create - ioctl(RPMA_IOC_CONN_CREATE)
 * @size: sizeof(struct rpma_ioc_conn_create)
 * @flags: Must be 0
 * @peer: the device to connect from
 * @timeout_ms: for resolving the address and again for the route; 0 is 1000
 * @out_fd: the connection, not yet connected. RECVs may be posted already.
 * @__reserved: Must be 0
 * @queues: its queues
 * @addr: whom to connect to: struct sockaddr_in or sockaddr_in6
 *
 * Resolves in the caller's network namespace and makes the queue pair;
 * nothing is sent to the other side yet. EHOSTUNREACH, ENETUNREACH,
 * ETIMEDOUT: the address cannot be resolved. EXDEV: it is reached through
 * another device than the peer's.
 *
 * The descriptor is read with read(2): whole struct rpma_event, blocking
 * until there is one unless O_NONBLOCK; 0 after the last event was read.
 * poll(2) says POLLIN while an event is unread, POLLOUT while a request could
 * be posted. A thread that sleeps for POLLOUT is not woken when another takes
 * completions from the mapped ring, which no system call tells; it is when they
 * are taken by read(2).
 */
struct rpma_ioc_conn_create {
	__u32 size;
	__u32 flags;
	__u32 peer;
	__u32 timeout_ms;
	__s32 out_fd;
	__u32 __reserved;
	struct rpma_conn_queues queues;
	__u8 addr[RPMA_ADDR_SIZE];
};

#define RPMA_IOC_CONN_CREATE _IO(RPMA_IOC_TYPE, RPMA_CMD_CONN_CREATE)

/**
 * struct rpma_ioc_conn_handshake - ioctl(RPMA_IOC_CONN_CONNECT), and of
 *	RPMA_IOC_CONN_ACCEPT and RPMA_IOC_CONN_REJECT
 * @size: sizeof(struct rpma_ioc_conn_handshake)
 * @flags: Must be 0
 * @conn_fd: the connection
 * @private_data_len: bytes of @private_data sent along: up to
 *	RPMA_PRIVATE_DATA_REQUEST_MAX with CONNECT, _REPLY_MAX with ACCEPT,
 *	_REJECT_MAX with REJECT, else EINVAL
 * @private_data: delivered to the other side as it is
 *
 * CONNECT asks the other side to accept a connection of RPMA_IOC_CONN_CREATE,
 * ACCEPT and REJECT answer one of RPMA_IOC_EP_TAKE; on another connection, or
 * a second time, they say ENOTCONN. None waits: an event tells what became of
 * it (RPMA_EVENT_ESTABLISHED, _REJECTED, _UNREACHABLE, _LOST). After a
 * failure the connection can only be closed.
 */
struct rpma_ioc_conn_handshake {
	__u32 size;
	__u32 flags;
	__s32 conn_fd;
	__u32 private_data_len;
	__u8 private_data[RPMA_PRIVATE_DATA_MAX];
};

#define RPMA_IOC_CONN_CONNECT _IO(RPMA_IOC_TYPE, RPMA_CMD_CONN_CONNECT)
#define RPMA_IOC_CONN_ACCEPT _IO(RPMA_IOC_TYPE, RPMA_CMD_CONN_ACCEPT)
#define RPMA_IOC_CONN_REJECT _IO(RPMA_IOC_TYPE, RPMA_CMD_CONN_REJECT)

/**
 * struct rpma_ioc_conn_disconnect - ioctl(RPMA_IOC_CONN_DISCONNECT)
 * @size: sizeof(struct rpma_ioc_conn_disconnect)
 * @flags: Must be 0
 * @conn_fd: an established connection
 * @linger_ms: how long requests posted before may take to finish; 0 is at
 *	once: what is in flight then completes ABORTED. At most 60000.
 *
 * Sends what is queued, then ends the connection in both directions. Posted
 * RECVs complete ABORTED. RPMA_EVENT_CLOSED follows on both sides; here, if
 * the other machine is dead, only when the connection manager gives up, which
 * takes more than a minute. Who will not wait closes the descriptor. A
 * connection that has ended already is no error. ENOTCONN: it was never
 * established.
 */
struct rpma_ioc_conn_disconnect {
	__u32 size;
	__u32 flags;
	__s32 conn_fd;
	__u32 linger_ms;
};

#define RPMA_IOC_CONN_DISCONNECT _IO(RPMA_IOC_TYPE, RPMA_CMD_CONN_DISCONNECT)

/**
 * enum rpma_conn_state - where a connection stands
 * @RPMA_CONN_STATE_NEW: made, neither connecting nor accepted yet
 * @RPMA_CONN_STATE_CONNECTING: the handshake is under way
 * @RPMA_CONN_STATE_ESTABLISHED: requests may be posted
 * @RPMA_CONN_STATE_ENDED: disconnected, rejected, unreachable or lost.
 *	Requests that are posted complete ABORTED.
 * @RPMA_CONN_STATE_GONE: the device is gone
 */
enum rpma_conn_state {
	RPMA_CONN_STATE_NEW = 0,
	RPMA_CONN_STATE_CONNECTING = 1,
	RPMA_CONN_STATE_ESTABLISHED = 2,
	RPMA_CONN_STATE_ENDED = 3,
	RPMA_CONN_STATE_GONE = 4,
};

/**
 * enum rpma_conn_peer_flags - what the other side said in the handshake
 * @RPMA_CONN_PEER_F_READABLE: regions it registers for flushing can be read:
 *	it is this module (or one that does not set the handshake's bit for flow
 *	control, as librpma does). So can they flush by READ that know nothing of their
 *	peer but its region.
 */
enum rpma_conn_peer_flags {
	RPMA_CONN_PEER_F_READABLE = 1 << 0,
};

/**
 * struct rpma_ioc_conn_query - ioctl(RPMA_IOC_CONN_QUERY)
 * @size: sizeof(struct rpma_ioc_conn_query)
 * @flags: Must be 0
 * @conn_fd: the connection
 * @out_state: enum rpma_conn_state
 * @out_qp_num: queue pair number
 * @out_flush_method: enum rpma_flush_method a flush uses
 * @out_read_depth: RDMA READs, flushes and native ATOMIC_WRITEs in flight
 *	that the two sides agreed on; 0 before ESTABLISHED
 * @out_private_data_len: bytes of @out_private_data: what the wire carried,
 *	which pads a request to 56, an answer to 196 and a rejection to 148
 * @out_posted: requests accepted so far
 * @out_completed: of these, completed
 * @out_flushes: of these, flushes
 * @out_private_data: what the other side sent with its request or answer
 * @out_peer_flags: enum rpma_conn_peer_flags; 0 before ESTABLISHED on the
 *	side that connects
 * @__reserved: Must be 0
 */
struct rpma_ioc_conn_query {
	__u32 size;
	__u32 flags;
	__s32 conn_fd;
	__u32 out_state;
	__u32 out_qp_num;
	__u32 out_flush_method;
	__u32 out_read_depth;
	__u32 out_private_data_len;
	__aligned_u64 out_posted;
	__aligned_u64 out_completed;
	__aligned_u64 out_flushes;
	__u8 out_private_data[RPMA_PRIVATE_DATA_MAX];
	__u32 out_peer_flags;
	__u32 __reserved;
};

#define RPMA_IOC_CONN_QUERY _IO(RPMA_IOC_TYPE, RPMA_CMD_CONN_QUERY)

/**
 * enum rpma_conn_modify_mask - which fields are given
 * @RPMA_CONN_MODIFY_DIRECT_WRITE: @direct_write
 * @RPMA_CONN_MODIFY_PEER_TIMEOUT: @peer_timeout_ms
 * @RPMA_CONN_MODIFY_FLUSH_METHOD: @flush_method
 */
enum rpma_conn_modify_mask {
	RPMA_CONN_MODIFY_DIRECT_WRITE = 1 << 0,
	RPMA_CONN_MODIFY_PEER_TIMEOUT = 1 << 1,
	RPMA_CONN_MODIFY_FLUSH_METHOD = 1 << 2,
};

/**
 * struct rpma_ioc_conn_modify - ioctl(RPMA_IOC_CONN_MODIFY)
 * @size: sizeof(struct rpma_ioc_conn_modify)
 * @flags: Must be 0
 * @conn_fd: the connection
 * @mask: enum rpma_conn_modify_mask
 * @direct_write: 1: the remote machine's adapter writes to its persistent
 *	memory past the caches, so that a PERSISTENT flush by READ tells the
 *	truth; 0: it does not, and such a flush is EOPNOTSUPP. 0 at first.
 * @peer_timeout_ms: as in struct rpma_conn_queues; holds for requests in
 *	flight as well
 * @flush_method: how its flushes travel, enum rpma_flush_method; NONE, as at
 *	first, leaves it to the kernel: NATIVE if the device can, else READ.
 *	EOPNOTSUPP: the device cannot flush so. Holds for requests posted later.
 * @__reserved: Must be 0
 *
 * With NATIVE, ATOMIC_WRITE travels as ATOMIC WRITE of IBA annex A19 if the device
 * can, else as an RDMA WRITE of its 8 bytes; either way behind a fence. A FLUSH
 * or ATOMIC WRITE ends the connection if the other side's adapter does not know
 * it, or if the region was registered for READs only: READ is for such peers.
 *
 * A region that another kind of machine registered for flushing may grant the
 * FLUSH operation or READ, and its description does not say which. Left to the
 * kernel, a flush by READ is sent only where READ is known or likely to be
 * granted: @remote of the flush has RPMA_ACCESS_READ_SRC, the other side said
 * RPMA_CONN_PEER_F_READABLE, or our device knows no FLUSH and so the other
 * side's hardly does. Elsewhere it is EOPNOTSUPP and nothing is sent, because
 * a READ that is not granted ends the connection. With READ it is sent
 * wherever it goes.
 */
struct rpma_ioc_conn_modify {
	__u32 size;
	__u32 flags;
	__s32 conn_fd;
	__u32 mask;
	__u32 direct_write;
	__u32 peer_timeout_ms;
	__u32 flush_method;
	__u32 __reserved;
};

#define RPMA_IOC_CONN_MODIFY _IO(RPMA_IOC_TYPE, RPMA_CMD_CONN_MODIFY)

/**
 * enum rpma_event_type - what happened to a connection
 * @RPMA_EVENT_ESTABLISHED: both sides may post
 * @RPMA_EVENT_CLOSED: one side disconnected
 * @RPMA_EVENT_LOST: the device, the route or the other side is gone
 * @RPMA_EVENT_REJECTED: the other side said no; nobody listens there
 * @RPMA_EVENT_UNREACHABLE: the other side does not answer
 *
 * All but ESTABLISHED are last events: nothing follows them.
 */
enum rpma_event_type {
	RPMA_EVENT_ESTABLISHED = 1,
	RPMA_EVENT_CLOSED = 2,
	RPMA_EVENT_LOST = 3,
	RPMA_EVENT_REJECTED = 4,
	RPMA_EVENT_UNREACHABLE = 5,
};

/**
 * struct rpma_event - one connection event
 * @type: enum rpma_event_type
 * @status: 0, a negative errno, or the reason a REJECTED one gives
 * @__reserved: 0
 */
struct rpma_event {
	__u32 type;
	__s32 status;
	__u32 __reserved[2];
};

/* ---- srq: RECVs that several connections share -------------------------------- */

/**
 * struct rpma_ioc_srq_create - ioctl(RPMA_IOC_SRQ_CREATE)
 * @size: sizeof(struct rpma_ioc_srq_create)
 * @flags: Must be 0
 * @peer: the peer whose connections may share it
 * @entries: RECVs it holds, 1 up to @out_max_srq_size of the device and
 *	@out_max_queue_size
 * @out_srq: the new shared receive queue's id
 * @__reserved: Must be 0
 *
 * Connections share it by @srq of struct rpma_conn_queues. A message takes the
 * oldest RECV posted, whichever connection it comes by, and completes in the
 * receive completion queue of that connection, with its @qp_num. Give all of
 * them the same completion queue to see messages in one order.
 *
 * Its RECVs may all complete in one of these queues, so each keeps @entries
 * places for them. A completion that finds all places unread waits until some
 * are read, and its RECV with it; nothing is lost. Only a RECV that the adapter
 * had given to a message which the end of its connection cut off may not come
 * back: rxe then keeps the entry until the queue is destroyed.
 *
 * EOPNOTSUPP: the device has no shared receive queues.
 */
struct rpma_ioc_srq_create {
	__u32 size;
	__u32 flags;
	__u32 peer;
	__u32 entries;
	__u32 out_srq;
	__u32 __reserved;
};

#define RPMA_IOC_SRQ_CREATE _IO(RPMA_IOC_TYPE, RPMA_CMD_SRQ_CREATE)

/**
 * struct rpma_ioc_srq_post - ioctl(RPMA_IOC_SRQ_POST)
 * @size: sizeof(struct rpma_ioc_srq_post)
 * @flags: Must be 0
 * @requests: address of an array of struct rpma_request, all RPMA_OP_RECV
 * @nr: entries of the array, not 0
 * @request_size: sizeof(struct rpma_request), with the same rule as @size
 * @srq: the shared receive queue
 * @__reserved: Must be 0
 *
 * Posts the RECVs in order and returns, like RPMA_IOC_POST, how many were
 * accepted. EAGAIN: every entry is taken: a RECV takes one until its message
 * has come and the completion was put into its completion queue. EINVAL: not a
 * RECV.
 */
struct rpma_ioc_srq_post {
	__u32 size;
	__u32 flags;
	__aligned_u64 requests;
	__u32 nr;
	__u32 request_size;
	__u32 srq;
	__u32 __reserved;
};

#define RPMA_IOC_SRQ_POST _IO(RPMA_IOC_TYPE, RPMA_CMD_SRQ_POST)

/* ---- requests: on a connection's descriptor -------------------------------- */

/**
 * enum rpma_request_flags - how a request completes
 * @RPMA_REQ_F_SIGNALED: report its success too; without it only its failure.
 *	A RECV is always reported.
 */
enum rpma_request_flags {
	RPMA_REQ_F_SIGNALED = 1 << 0,
};

/**
 * struct rpma_remote - a region of the other side, as its owner described it
 * @addr: where it starts there
 * @length: its bytes
 * @rkey: its key
 * @access: enum rpma_access it was registered with
 *
 * Requests are checked against it before anything is sent; the adapter over
 * there has the last word.
 */
struct rpma_remote {
	__aligned_u64 addr;
	__aligned_u64 length;
	__u32 rkey;
	__u32 access;
};

/**
 * struct rpma_request - one entry of RPMA_IOC_POST
 * @context: comes back in the completion
 * @op: enum rpma_op
 * @flags: enum rpma_request_flags
 * @mr: id of the local region; 0 where the op has none or @len is 0
 * @imm_data: network byte order; of the _WITH_IMM ops
 * @mr_offset: start in the local region
 * @len: bytes to transfer or to flush
 * @remote_offset: start in @remote
 * @remote: the remote region; of WRITE, READ, FLUSH and ATOMIC_WRITE
 * @placement: enum rpma_flush_placement; of FLUSH
 * @__reserved: Must be 0
 * @value: the 8 bytes that ATOMIC_WRITE writes, in memory order
 *
 * Fields that the op does not use must be 0 (EINVAL).
 *
 * ================ ==== ============== ======== ======== ===== =========
 * op               mr   local access   len      remote   imm   other
 * ================ ==== ============== ======== ======== ===== =========
 * WRITE            yes  WRITE_SRC      any      yes
 * WRITE_WITH_IMM   yes  WRITE_SRC      any      yes      yes
 * READ             yes  READ_DST       any      yes
 * FLUSH            no                  any      yes            placement
 * SEND             yes  SEND           any      no
 * SEND_WITH_IMM    yes  SEND           any      no       yes
 * RECV             yes  RECV           any      no
 * ATOMIC_WRITE     no                  8        yes            value
 * ================ ==== ============== ======== ======== ===== =========
 *
 * EACCES: the local or the remote region was not registered for this. EINVAL: a range
 * leaves its region. ENOENT: no such region. EXDEV: the region is another
 * peer's. EMSGSIZE: more than @out_max_msg_size of the device, or a FLUSH of
 * more than 2^31 bytes by NATIVE. EOPNOTSUPP: a READ or FLUSH where the other
 * side agreed to none (@out_read_depth 0).
 *
 * FLUSH: EOPNOTSUPP when @remote was not registered for the placement, for
 * PERSISTENT by read_after_write without RPMA_CONN_MODIFY_DIRECT_WRITE, or when
 * read_after_write is likely to be refused over there, see
 * struct rpma_ioc_conn_modify. It
 * covers every WRITE posted before it on this connection and into its range;
 * nothing about those of other connections. @len 0 is a flush that covers no
 * byte of its own: it completes behind the WRITEs before it. A WRITE posted
 * behind a FLUSH may be executed before the flush is; an ATOMIC_WRITE waits
 * for it. So WRITE, FLUSH, ATOMIC_WRITE, FLUSH is a commit: nobody sees the
 * 8 bytes before the data are where the first FLUSH puts them.
 */
struct rpma_request {
	__aligned_u64 context;
	__u32 op;
	__u32 flags;
	__u32 mr;
	__u32 imm_data;
	__aligned_u64 mr_offset;
	__aligned_u64 len;
	__aligned_u64 remote_offset;
	struct rpma_remote remote;
	__u32 placement;
	__u32 __reserved;
	__aligned_u64 value;
};

/**
 * enum rpma_post_flags - when there is no room
 * @RPMA_POST_F_WAIT: wait for room instead of saying EAGAIN, as long as it
 *	comes without the caller's help: requests in flight make room, unread
 *	completions and posted RECVs do not. A message that may find no RECV on
 *	the other side is waited for one second, and one more for each MiB in
 *	flight.
 */
enum rpma_post_flags {
	RPMA_POST_F_WAIT = 1 << 0,
};

/**
 * struct rpma_ioc_post - ioctl(RPMA_IOC_POST) on a connection's descriptor
 * @size: sizeof(struct rpma_ioc_post)
 * @flags: enum rpma_post_flags
 * @requests: address of an array of struct rpma_request
 * @nr: entries of the array, not 0
 * @request_size: sizeof(struct rpma_request), with the same rule as @size
 *
 * Posts the requests in order. Returns, like write(2), how many were
 * accepted: those and no others will complete. An errno means that the first
 * was not accepted. A short count means that the next one would give an
 * errno: post again from there to learn which.
 *
 * Each request takes an entry of the send (or receive) queue until it is done
 * and a place in the completion queue until its completion is read; EAGAIN
 * says that one of them is missing. ENOTCONN: not established yet (a RECV may
 * be posted before, and after RPMA_IOC_CONN_ACCEPT everything). After the
 * connection ended requests are accepted and complete ABORTED. ENODEV: the
 * device is gone.
 */
struct rpma_ioc_post {
	__u32 size;
	__u32 flags;
	__aligned_u64 requests;
	__u32 nr;
	__u32 request_size;
};

#define RPMA_IOC_POST _IO(RPMA_IOC_TYPE, RPMA_CMD_POST)

/**
 * struct rpma_ioc_flush - ioctl(RPMA_IOC_FLUSH) on a connection's descriptor
 * @size: sizeof(struct rpma_ioc_flush)
 * @flags: enum rpma_request_flags
 * @post_flags: enum rpma_post_flags
 * @placement: enum rpma_flush_placement
 * @context: comes back in the completion
 * @offset: start of the range in @remote
 * @len: bytes to flush; 0 see struct rpma_request
 * @remote: the remote region
 *
 * One RPMA_OP_FLUSH, without the array. Returns 0 when it was accepted, else
 * an errno as of RPMA_IOC_POST.
 */
struct rpma_ioc_flush {
	__u32 size;
	__u32 flags;
	__u32 post_flags;
	__u32 placement;
	__aligned_u64 context;
	__aligned_u64 offset;
	__aligned_u64 len;
	struct rpma_remote remote;
};

#define RPMA_IOC_FLUSH _IO(RPMA_IOC_TYPE, RPMA_CMD_FLUSH)

#endif /* _UAPI_LINUX_RPMA_H */
