// SPDX-License-Identifier: GPL-2.0
/*
 * Connection states, events and handshakes: the only door to rdma_cm.
 *
 * A connection has at most two events, ESTABLISHED and a last one, so they
 * need no queue. State changes in rpma_cm_set_state_locked() only, which
 * wakes: whatever the woken look at is written before.
 */

#include <linux/in.h>
#include <linux/in6.h>
#include <linux/nsproxy.h>
#include <linux/sched.h>
#include <rdma/ib_cm.h>
#include <linux/string.h>

#include "cm.h"

/* As librpma: try for ever; a dead peer is found by the connection's clock. */
#define RPMA_CM_RETRY_COUNT 7

/* READs in flight we ask for; each costs the responder memory. */
#define RPMA_CM_READ_DEPTH 16

#define RPMA_CM_TIMEOUT_MS 1000

/*
 * The handshake has a bit for end-to-end flow control that no RDMA stack acts
 * on. librpma sets it. We do not, and so tell each other that a region
 * registered for flushing can also be read; private data belong to the users.
 */
#define RPMA_CM_FLOW_CONTROL 0

/* From state (row) to states (bits). ENDED and GONE are entered once. */
static const u8 rpma_cm_next[] = {
	[RPMA_CONN_STATE_NEW] = BIT(RPMA_CONN_STATE_CONNECTING) |
				BIT(RPMA_CONN_STATE_ENDED) |
				BIT(RPMA_CONN_STATE_GONE),
	[RPMA_CONN_STATE_CONNECTING] = BIT(RPMA_CONN_STATE_ESTABLISHED) |
				       BIT(RPMA_CONN_STATE_ENDED) |
				       BIT(RPMA_CONN_STATE_GONE),
	[RPMA_CONN_STATE_ESTABLISHED] = BIT(RPMA_CONN_STATE_ENDED) |
					BIT(RPMA_CONN_STATE_GONE),
	[RPMA_CONN_STATE_ENDED] = BIT(RPMA_CONN_STATE_GONE),
	[RPMA_CONN_STATE_GONE] = 0,
};

static bool rpma_cm_may_enter_locked(struct rpma_cm *cm,
				     enum rpma_conn_state state)
{
	lockdep_assert_held(&cm->lock);
	return rpma_cm_next[cm->state] & BIT(state);
}

static void rpma_cm_set_state_locked(struct rpma_cm *cm,
				     enum rpma_conn_state state)
{
	lockdep_assert_held(&cm->lock);
	cm->state = state;
	wake_up_all(&cm->wait);
}

/* The first last event counts; a device that leaves later adds none. */
static void rpma_cm_set_last(struct rpma_cm *cm, enum rpma_conn_state state,
			     u32 type, int status)
{
	spin_lock(&cm->lock);
	if (rpma_cm_may_enter_locked(cm, state)) {
		if (!cm->last.type) {
			cm->last.type = type;
			cm->last.status = status;
			cm->last_unread = true;
		}
		rpma_cm_set_state_locked(cm, state);
	}
	spin_unlock(&cm->lock);
}

/* ---- the handler ---- */

static void rpma_cm_keep_private_data(struct rpma_cm *cm,
				      const struct rdma_conn_param *param)
{
	spin_lock(&cm->lock);
	cm->private_data_len = param->private_data_len;
	if (param->private_data_len)
		memcpy(cm->private_data, param->private_data,
		       param->private_data_len);
	spin_unlock(&cm->lock);
}

/* Only InfiniBand's handshake, also that of RoCE, has the bit. */
static void rpma_cm_keep_peer(struct rpma_cm *cm, const struct rdma_cm_id *id,
			      const struct rdma_conn_param *param)
{
	WRITE_ONCE(cm->peer_readable,
		   rdma_cap_ib_cm(id->device, id->port_num) &&
		   param->flow_control == RPMA_CM_FLOW_CONTROL);
	rpma_cm_keep_private_data(cm, param);
}

static void rpma_cm_set_resolved(struct rpma_cm *cm, int status)
{
	spin_lock(&cm->lock);
	cm->resolved = min(status, 0);
	wake_up_all(&cm->wait);
	spin_unlock(&cm->lock);
}

static void rpma_cm_on_established(struct rpma_cm *cm,
				   const struct rdma_conn_param *param)
{
	if (!cm->passive) {
		rpma_cm_keep_peer(cm, cm->id, param);
		WRITE_ONCE(cm->read_depth, min(param->initiator_depth,
					       cm->offered.initiator_depth));
	}
	/* ORDER: may post before the user can know that it may. */
	cm->ops->established(cm);
	spin_lock(&cm->lock);
	if (rpma_cm_may_enter_locked(cm, RPMA_CONN_STATE_ESTABLISHED)) {
		cm->established_unread = true;
		rpma_cm_set_state_locked(cm, RPMA_CONN_STATE_ESTABLISHED);
	}
	spin_unlock(&cm->lock);
}

/*
 * The queue pair goes to the error state with it, so that everything in
 * flight completes; nothing else would tell the adapter.
 */
static void rpma_cm_on_end(struct rpma_cm *cm, struct rdma_cm_id *id, u32 type,
			   int status)
{
	rpma_cm_set_last(cm, RPMA_CONN_STATE_ENDED, type, status);
	rdma_disconnect(id);
}

/*
 * Who hangs up was connected, even if the message that said so was overtaken.
 * What it answered before may not have been looked at yet, and the error state
 * would deny it.
 */
static void rpma_cm_on_disconnected(struct rpma_cm *cm, struct rdma_cm_id *id)
{
	bool may_have_sent = READ_ONCE(cm->state) == RPMA_CONN_STATE_ESTABLISHED;

	if (cm->passive)
		rpma_cm_on_established(cm, NULL);
	rpma_cm_set_last(cm, RPMA_CONN_STATE_ENDED, RPMA_EVENT_CLOSED, 0);
	if (!may_have_sent || !cm->ops->disconnected(cm))
		rdma_disconnect(id);
}

/* Who accepted and went before it knew that we did rejects as well. */
static void rpma_cm_on_rejected(struct rpma_cm *cm, struct rdma_cm_id *id,
				const struct rdma_cm_event *event)
{
	if (READ_ONCE(cm->state) == RPMA_CONN_STATE_ESTABLISHED) {
		rpma_cm_on_end(cm, id, RPMA_EVENT_CLOSED, 0);
		return;
	}
	rpma_cm_keep_private_data(cm, &event->param.conn);
	rpma_cm_on_end(cm, id, RPMA_EVENT_REJECTED, event->status);
}

static int rpma_cm_handler(struct rdma_cm_id *id, struct rdma_cm_event *event)
{
	struct rpma_cm *cm = id->context;

	switch (event->event) {
	case RDMA_CM_EVENT_CONNECT_REQUEST:
		return cm->ops->request(cm, id, &event->param.conn);
	case RDMA_CM_EVENT_ADDR_RESOLVED:
	case RDMA_CM_EVENT_ROUTE_RESOLVED:
		rpma_cm_set_resolved(cm, 0);
		break;
	case RDMA_CM_EVENT_ADDR_ERROR:
		rpma_cm_set_resolved(cm, event->status ?: -EHOSTUNREACH);
		break;
	case RDMA_CM_EVENT_ROUTE_ERROR:
		rpma_cm_set_resolved(cm, event->status ?: -ENETUNREACH);
		break;
	case RDMA_CM_EVENT_ESTABLISHED:
		rpma_cm_on_established(cm, &event->param.conn);
		break;
	case RDMA_CM_EVENT_REJECTED:
		rpma_cm_on_rejected(cm, id, event);
		break;
	case RDMA_CM_EVENT_UNREACHABLE:
		/* Also said of a connection whose neighbour has moved away. */
		rpma_cm_on_end(cm, id, READ_ONCE(cm->state) ==
				       RPMA_CONN_STATE_ESTABLISHED ?
				       RPMA_EVENT_LOST : RPMA_EVENT_UNREACHABLE,
			       event->status);
		break;
	case RDMA_CM_EVENT_DISCONNECTED:
		rpma_cm_on_disconnected(cm, id);
		break;
	case RDMA_CM_EVENT_TIMEWAIT_EXIT:
		rpma_cm_on_end(cm, id, RPMA_EVENT_CLOSED, 0);
		break;
	case RDMA_CM_EVENT_CONNECT_ERROR:
	case RDMA_CM_EVENT_ADDR_CHANGE:
		rpma_cm_on_end(cm, id, RPMA_EVENT_LOST, event->status);
		break;
	case RDMA_CM_EVENT_DEVICE_REMOVAL:
		/* Ours is the ib_client; only one who resolves waits here. */
		rpma_cm_set_resolved(cm, -ENODEV);
		break;
	default:
		break;
	}
	return 0;
}

/* ---- birth ---- */

void rpma_cm_init(struct rpma_cm *cm, const struct rpma_cm_ops *ops)
{
	cm->ops = ops;
	mutex_init(&cm->mutex);
	spin_lock_init(&cm->lock);
	init_waitqueue_head(&cm->wait);
}

void rpma_cm_adopt(struct rpma_cm *cm, struct rdma_cm_id *id,
		   const struct rdma_conn_param *param)
{
	cm->id = id;
	cm->passive = true;
	cm->offered.responder_resources = param->responder_resources;
	cm->offered.initiator_depth = param->initiator_depth;
	rpma_cm_keep_peer(cm, id, param);
	id->context = cm;
}

const struct sockaddr *rpma_addr_get(const u8 *bytes)
{
	const struct sockaddr *addr = (const struct sockaddr *)bytes;
	size_t size;

	if (addr->sa_family == AF_INET)
		size = sizeof(struct sockaddr_in);
	else if (addr->sa_family == AF_INET6)
		size = sizeof(struct sockaddr_in6);
	else
		return ERR_PTR(-EAFNOSUPPORT);
	if (memchr_inv(bytes + size, 0, RPMA_ADDR_SIZE - size))
		return ERR_PTR(-EINVAL);
	return addr;
}

static int rpma_cm_create_id(struct rpma_cm *cm)
{
	struct rdma_cm_id *id;

	id = rdma_create_id(current->nsproxy->net_ns, rpma_cm_handler, cm,
			    RDMA_PS_TCP, IB_QPT_RC);
	if (IS_ERR(id))
		return PTR_ERR(id);
	cm->id = id;
	return 0;
}

static int rpma_cm_wait_resolved(struct rpma_cm *cm)
{
	int ret = wait_event_interruptible(cm->wait,
					   READ_ONCE(cm->resolved) <= 0);

	return ret ?: READ_ONCE(cm->resolved);
}

int rpma_cm_resolve(struct rpma_cm *cm, const struct sockaddr *addr,
		    u32 timeout_ms, bool route)
{
	struct sockaddr_storage dst = {};
	int ret;

	memcpy(&dst, addr, RPMA_ADDR_SIZE);
	timeout_ms = timeout_ms ?: RPMA_CM_TIMEOUT_MS;
	ret = rpma_cm_create_id(cm);
	if (ret)
		return ret;
	cm->resolved = 1;
	ret = rdma_resolve_addr(cm->id, NULL, (struct sockaddr *)&dst,
				timeout_ms);
	if (!ret)
		ret = rpma_cm_wait_resolved(cm);
	if (ret || !route)
		return ret;
	cm->resolved = 1;
	ret = rdma_resolve_route(cm->id, timeout_ms);
	return ret ?: rpma_cm_wait_resolved(cm);
}

int rpma_cm_bind(struct rpma_cm *cm, const struct sockaddr *addr)
{
	struct sockaddr_storage src = {};
	int ret;

	memcpy(&src, addr, RPMA_ADDR_SIZE);
	ret = rpma_cm_create_id(cm);
	return ret ?: rdma_bind_addr(cm->id, (struct sockaddr *)&src);
}

int rpma_cm_listen(struct rpma_cm *cm, u32 backlog, u8 *addr)
{
	const struct sockaddr *src;
	int ret = rdma_listen(cm->id, backlog);

	if (ret)
		return ret;
	src = (const struct sockaddr *)&cm->id->route.addr.src_addr;
	memset(addr, 0, RPMA_ADDR_SIZE);
	memcpy(addr, src, src->sa_family == AF_INET ?
			  sizeof(struct sockaddr_in) :
			  sizeof(struct sockaddr_in6));
	return 0;
}

struct ib_device *rpma_cm_ibdev(struct rpma_cm *cm)
{
	return cm->id->device;
}

int rpma_cm_create_qp(struct rpma_cm *cm, struct ib_pd *pd,
		      struct ib_qp_init_attr *attr)
{
	return rdma_create_qp(cm->id, pd, attr);
}

void rpma_cm_destroy_qp(struct rpma_cm *cm)
{
	guard(mutex)(&cm->mutex);
	if (cm->id && cm->id->qp)
		rdma_destroy_qp(cm->id);
}

/* ---- handshakes ---- */

/*
 * Both depths must not be 0: rdma_cm grants remote reads and flushes only
 * then. What we ask for is bounded by the device, what we answer by the offer.
 */
static void rpma_cm_fill_param(struct rpma_cm *cm, struct rdma_conn_param *param,
			       const void *data, u8 len)
{
	const struct ib_device_attr *attrs = &cm->id->device->attrs;
	int resources = min(attrs->max_qp_rd_atom, RPMA_CM_READ_DEPTH);
	int depth = min(attrs->max_qp_init_rd_atom, RPMA_CM_READ_DEPTH);

	if (cm->passive) {
		resources = min_t(int, cm->offered.responder_resources,
				  attrs->max_qp_rd_atom);
		depth = min_t(int, cm->offered.initiator_depth,
			      attrs->max_qp_init_rd_atom);
	}
	*param = (struct rdma_conn_param) {
		.private_data = len ? data : NULL,
		.private_data_len = len,
		.responder_resources = max(resources, 1),
		.initiator_depth = max(depth, 1),
		.flow_control = RPMA_CM_FLOW_CONTROL,
		.retry_count = RPMA_CM_RETRY_COUNT,
		.rnr_retry_count = RPMA_CM_RETRY_COUNT,
	};
	if (cm->passive)
		cm->read_depth = param->initiator_depth;
	else
		cm->offered.initiator_depth = param->initiator_depth;
}

/* Claims the handshake: only one caller gets from NEW to CONNECTING. */
static int rpma_cm_begin(struct rpma_cm *cm, bool passive)
{
	int ret = 0;

	lockdep_assert_held(&cm->mutex);
	if (!cm->id)
		return -ENODEV;
	spin_lock(&cm->lock);
	if (cm->passive == passive &&
	    rpma_cm_may_enter_locked(cm, RPMA_CONN_STATE_CONNECTING))
		rpma_cm_set_state_locked(cm, RPMA_CONN_STATE_CONNECTING);
	else
		ret = -ENOTCONN;
	spin_unlock(&cm->lock);
	return ret;
}

/* A handshake that ends here leaves the queue pair to us: RECVs complete. */
static void rpma_cm_abort_qp(struct rpma_cm *cm)
{
	struct ib_qp_attr attr = { .qp_state = IB_QPS_ERR };

	lockdep_assert_held(&cm->mutex);
	if (cm->id->qp)
		ib_modify_qp(cm->id->qp, &attr, IB_QP_STATE);
}

int rpma_cm_connect(struct rpma_cm *cm, const void *data, u8 len)
{
	struct rdma_conn_param param;
	int ret;

	guard(mutex)(&cm->mutex);
	ret = rpma_cm_begin(cm, false);
	if (ret)
		return ret;
	rpma_cm_fill_param(cm, &param, data, len);
	ret = rdma_connect(cm->id, &param);
	if (ret) {
		rpma_cm_set_last(cm, RPMA_CONN_STATE_ENDED, RPMA_EVENT_LOST,
				 ret);
		rpma_cm_abort_qp(cm);
	}
	return ret;
}

int rpma_cm_accept(struct rpma_cm *cm, const void *data, u8 len)
{
	struct rdma_conn_param param;
	int ret;

	guard(mutex)(&cm->mutex);
	ret = rpma_cm_begin(cm, true);
	if (ret)
		return ret;
	rpma_cm_fill_param(cm, &param, data, len);
	rdma_lock_handler(cm->id);
	ret = rdma_accept(cm->id, &param);
	rdma_unlock_handler(cm->id);
	if (ret)
		rpma_cm_set_last(cm, RPMA_CONN_STATE_ENDED, RPMA_EVENT_LOST,
				 ret);
	else
		/* What is sent now arrives behind the answer. */
		cm->ops->established(cm);
	return ret;
}

int rpma_cm_reject(struct rpma_cm *cm, const void *data, u8 len)
{
	int ret;

	guard(mutex)(&cm->mutex);
	ret = rpma_cm_begin(cm, true);
	if (ret)
		return ret;
	ret = rdma_reject(cm->id, len ? data : NULL, len,
			  IB_CM_REJ_CONSUMER_DEFINED);
	rpma_cm_set_last(cm, RPMA_CONN_STATE_ENDED, RPMA_EVENT_REJECTED, 0);
	rpma_cm_abort_qp(cm);
	return ret;
}

int rpma_cm_disconnect(struct rpma_cm *cm)
{
	guard(mutex)(&cm->mutex);
	if (!cm->id)
		return -ENODEV;
	switch (READ_ONCE(cm->state)) {
	case RPMA_CONN_STATE_ESTABLISHED:
	case RPMA_CONN_STATE_ENDED:
		/* Again, if the other side hung up and ours is still waited for. */
		rdma_disconnect(cm->id);
		return 0;
	default:
		return -ENOTCONN;
	}
}

void rpma_cm_lose(struct rpma_cm *cm, int status)
{
	guard(mutex)(&cm->mutex);
	if (!cm->id)
		return;
	rpma_cm_on_end(cm, cm->id, RPMA_EVENT_LOST, status);
}

void rpma_cm_hang_up(struct rpma_cm *cm)
{
	guard(mutex)(&cm->mutex);
	if (cm->id)
		rdma_disconnect(cm->id);
}

void rpma_cm_notify_established(struct rpma_cm *cm)
{
	rdma_notify(cm->id, IB_EVENT_COMM_EST);
}

/* ---- death ---- */

void rpma_cm_close(struct rpma_cm *cm, bool gone)
{
	guard(mutex)(&cm->mutex);
	if (!cm->id)
		return;
	/* The handler does not take our mutex: destroying may wait for it. */
	rdma_destroy_id(cm->id);
	cm->id = NULL;
	if (gone)
		rpma_cm_set_last(cm, RPMA_CONN_STATE_GONE, RPMA_EVENT_LOST,
				 -ENODEV);
}

/* ---- events ---- */

int rpma_cm_next_event(struct rpma_cm *cm, struct rpma_event *event)
{
	int ret = 1;

	spin_lock(&cm->lock);
	if (cm->established_unread) {
		cm->established_unread = false;
		*event = (struct rpma_event) { .type = RPMA_EVENT_ESTABLISHED };
	} else if (cm->last_unread) {
		cm->last_unread = false;
		*event = cm->last;
	} else {
		ret = cm->last.type ? 0 : -EAGAIN;
	}
	spin_unlock(&cm->lock);
	return ret;
}

void rpma_cm_return_event(struct rpma_cm *cm, const struct rpma_event *event)
{
	spin_lock(&cm->lock);
	if (event->type == RPMA_EVENT_ESTABLISHED)
		cm->established_unread = true;
	else
		cm->last_unread = true;
	wake_up_all(&cm->wait);
	spin_unlock(&cm->lock);
}

void rpma_cm_query(struct rpma_cm *cm, struct rpma_ioc_conn_query *cmd)
{
	memset(cmd->out_private_data, 0, sizeof(cmd->out_private_data));
	spin_lock(&cm->lock);
	cmd->out_state = cm->state;
	cmd->out_read_depth = cm->state == RPMA_CONN_STATE_ESTABLISHED ?
			      cm->read_depth : 0;
	cmd->out_private_data_len = cm->private_data_len;
	memcpy(cmd->out_private_data, cm->private_data, cm->private_data_len);
	cmd->out_peer_flags = READ_ONCE(cm->peer_readable) ?
			      RPMA_CONN_PEER_F_READABLE : 0;
	spin_unlock(&cm->lock);
}

bool rpma_cm_has_ended(struct rpma_cm *cm)
{
	return READ_ONCE(cm->state) >= RPMA_CONN_STATE_ENDED;
}

bool rpma_cm_has_event(struct rpma_cm *cm)
{
	return READ_ONCE(cm->established_unread) || READ_ONCE(cm->last_unread);
}
