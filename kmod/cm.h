/* SPDX-License-Identifier: GPL-2.0 */
/* Connection states, events and handshakes: the only door to rdma_cm. */
#ifndef RPMA_CM_H
#define RPMA_CM_H

#include <linux/mutex.h>
#include <linux/spinlock.h>
#include <linux/types.h>
#include <linux/wait.h>
#include <rdma/rdma_cm.h>
#include <uapi/linux/rpma.h>

struct rpma_cm;

/**
 * struct rpma_cm_ops - what the owner of a cm wants to hear
 * @established: requests may be posted; once accepted, and again when the
 *	other side knows
 * @disconnected: the other side hung up. Return: true if the owner will call
 *	rpma_cm_hang_up(), when what the other side has answered is seen to
 * @request: a connection arrived at a listener. 0: the owner has adopted @id
 *	with rpma_cm_adopt(); else it is rejected and destroyed.
 *
 * Context: rdma_cm's handler; must not destroy ids.
 */
struct rpma_cm_ops {
	void (*established)(struct rpma_cm *cm);
	bool (*disconnected)(struct rpma_cm *cm);
	int (*request)(struct rpma_cm *cm, struct rdma_cm_id *id,
		       const struct rdma_conn_param *param);
};

/**
 * struct rpma_cm - one rdma_cm id: a connection's or a listener's
 * @ops: the owner's
 * @id: NULL once closed; under @mutex for all but the handler
 * @mutex: one caller at a time in rdma_cm. The handler never takes it, so it
 *	may be held while the id is destroyed.
 * @lock: everything below
 * @state: enum rpma_conn_state
 * @passive: it came to us
 * @resolved: 1 while resolving, then 0 or a negative errno
 * @established_unread: that event was not read yet
 * @last: the last event; its type is 0 before it happened
 * @last_unread: it was not read yet
 * @peer_readable: it said that its regions can be read, see cm.c
 * @read_depth: READs in flight that both sides agreed on
 * @offered: what the other side proposed, before accept
 * @private_data: what the other side sent
 * @private_data_len: bytes of it
 * @wait: woken at every change
 */
struct rpma_cm {
	const struct rpma_cm_ops *ops;
	struct rdma_cm_id *id;
	struct mutex mutex; /* callers of rdma_cm */

	spinlock_t lock; /* everything below */
	enum rpma_conn_state state;
	bool passive;
	int resolved;
	bool established_unread;
	struct rpma_event last;
	bool last_unread;
	bool peer_readable;
	u8 read_depth;
	struct {
		u8 responder_resources;
		u8 initiator_depth;
	} offered;
	u8 private_data[RPMA_PRIVATE_DATA_MAX];
	u8 private_data_len;
	wait_queue_head_t wait;
};

void rpma_cm_init(struct rpma_cm *cm, const struct rpma_cm_ops *ops);

/**
 * rpma_cm_adopt - take an id that arrived at a listener
 * @cm: initialized
 * @id: becomes @cm's, unless the handler returns an error
 * @param: what came with it
 *
 * Context: ops->request of the listener.
 */
void rpma_cm_adopt(struct rpma_cm *cm, struct rdma_cm_id *id,
		   const struct rdma_conn_param *param);

/**
 * rpma_addr_get - check an address from user space
 * @bytes: RPMA_ADDR_SIZE of them
 *
 * Return: it, or ERR_PTR: -EAFNOSUPPORT, -EINVAL for bytes behind it.
 */
const struct sockaddr *rpma_addr_get(const u8 *bytes);

/**
 * rpma_cm_resolve - find the device and route to an address
 * @cm: initialized
 * @addr: the other side
 * @timeout_ms: for the address, and again for the route; 0 is 1000
 * @route: the route too
 *
 * Return: 0 or an errno. Also on failure rpma_cm_close() must follow.
 */
int rpma_cm_resolve(struct rpma_cm *cm, const struct sockaddr *addr,
		    u32 timeout_ms, bool route);

/**
 * rpma_cm_bind - find the device that has an address, or any for port 0 of any
 * @cm: initialized
 * @addr: the address
 *
 * Return: 0 or an errno. Also on failure rpma_cm_close() must follow.
 */
int rpma_cm_bind(struct rpma_cm *cm, const struct sockaddr *addr);

/**
 * rpma_cm_listen - let connections arrive
 * @cm: bound
 * @backlog: for rdma_cm
 * @addr: filled with where it listens, RPMA_ADDR_SIZE bytes
 *
 * Return: 0 or an errno.
 */
int rpma_cm_listen(struct rpma_cm *cm, u32 backlog, u8 *addr);

/* The device of a bound or resolved cm, or NULL. */
struct ib_device *rpma_cm_ibdev(struct rpma_cm *cm);

int rpma_cm_create_qp(struct rpma_cm *cm, struct ib_pd *pd,
		      struct ib_qp_init_attr *attr);
void rpma_cm_destroy_qp(struct rpma_cm *cm);

/* The three handshakes; each works once. Return: 0, -ENOTCONN, or an errno. */
int rpma_cm_connect(struct rpma_cm *cm, const void *data, u8 len);
int rpma_cm_accept(struct rpma_cm *cm, const void *data, u8 len);
int rpma_cm_reject(struct rpma_cm *cm, const void *data, u8 len);

/* End an established connection in both directions. 0 or -ENOTCONN. */
int rpma_cm_disconnect(struct rpma_cm *cm);

/**
 * rpma_cm_lose - we gave up on the other side
 * @cm: the connection
 * @status: why
 */
void rpma_cm_lose(struct rpma_cm *cm, int status);

/* The other side has hung up: nothing is sent any more, in both directions. */
void rpma_cm_hang_up(struct rpma_cm *cm);

/* Data came before the handshake's last message: that stands for it. */
void rpma_cm_notify_established(struct rpma_cm *cm);

/**
 * rpma_cm_close - destroy the id; idempotent
 * @cm: initialized
 * @gone: because the device leaves
 *
 * Whoever still reads events gets RPMA_EVENT_LOST if @gone. A request that
 * was not answered is rejected. When it returns no handler runs any more.
 */
void rpma_cm_close(struct rpma_cm *cm, bool gone);

/**
 * rpma_cm_next_event - take the next event
 * @cm: the connection
 * @event: filled in
 *
 * Return: 1, 0 if none will come any more, or -EAGAIN.
 */
int rpma_cm_next_event(struct rpma_cm *cm, struct rpma_event *event);

/* The event could not be delivered: it is unread again. */
void rpma_cm_return_event(struct rpma_cm *cm, const struct rpma_event *event);

/* Fill in state, read depth, and what the other side said. */
void rpma_cm_query(struct rpma_cm *cm, struct rpma_ioc_conn_query *cmd);

/* Is it over, so that nothing can be made of it any more? */
bool rpma_cm_has_ended(struct rpma_cm *cm);

/* Is an event unread? */
bool rpma_cm_has_event(struct rpma_cm *cm);

#endif /* RPMA_CM_H */
