// SPDX-License-Identifier: BSD-3-Clause
/*
 * Device contexts, and names of connection events.
 *
 * A context only has to name a device, so it is a stand-in: real enough for
 * programs that print the device's name, never an open verbs device. There is
 * one per device and it stays until the process ends, because librpma's
 * contexts do and programs never give them back.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "addr.h"
#include "err.h"
#include "kernel.h"
#include "peer.h"
#include "utils.h"

struct context {
	struct ibv_context ibv;
	struct ibv_device ibv_device;
	uint32_t device;
	struct context *next;
};

static pthread_mutex_t contexts_lock = PTHREAD_MUTEX_INITIALIZER;
static struct context *contexts;

/* Does not look into @ibv_ctx, which may be anything. */
uint32_t utils_context_device(const struct ibv_context *ibv_ctx)
{
	uint32_t device = 0;
	struct context *ctx;

	pthread_mutex_lock(&contexts_lock);
	for (ctx = contexts; ctx; ctx = ctx->next)
		if (&ctx->ibv == ibv_ctx)
			device = ctx->device;
	pthread_mutex_unlock(&contexts_lock);
	return device;
}

/* Fills in @name; "" when the device went away meanwhile. */
static void device_name(int fd, uint32_t device, char *name, size_t size)
{
	struct rpma_ioc_device_query query;
	uint32_t i;

	name[0] = '\0';
	for (i = 0; !kernel_device_query(fd, i, &query); i++) {
		if (query.out_device != device)
			continue;
		snprintf(name, size, "%.*s", (int)sizeof(query.out_name), query.out_name);
		return;
	}
}

static struct context *context_get(uint32_t device, const char *name)
{
	struct context *ctx;

	pthread_mutex_lock(&contexts_lock);
	for (ctx = contexts; ctx; ctx = ctx->next)
		if (ctx->device == device && !strcmp(ctx->ibv_device.name, name))
			goto out_unlock;

	ctx = calloc(1, sizeof(*ctx));
	if (!ctx)
		goto out_unlock;
	ctx->device = device;
	ctx->ibv.device = &ctx->ibv_device;
	ctx->ibv.cmd_fd = -1;
	ctx->ibv.async_fd = -1;
	ctx->ibv.num_comp_vectors = 1;
	pthread_mutex_init(&ctx->ibv.mutex, NULL);
	ctx->ibv_device.node_type = IBV_NODE_UNKNOWN;
	ctx->ibv_device.transport_type = IBV_TRANSPORT_UNKNOWN;
	snprintf(ctx->ibv_device.name, sizeof(ctx->ibv_device.name), "%s", name);
	ctx->next = contexts;
	contexts = ctx;
out_unlock:
	pthread_mutex_unlock(&contexts_lock);
	return ctx;
}

/* The device behind the first address that has one. */
static int resolve(int fd, const struct addrinfo *list, bool remote, uint32_t *device)
{
	const struct addrinfo *ai;
	int ret = -EADDRNOTAVAIL;

	for (ai = list; ai; ai = ai->ai_next) {
		ret = kernel_device_resolve(fd, ai->ai_addr, ai->ai_addrlen, remote,
					    RPMA_DEFAULT_TIMEOUT_MS, device);
		if (!ret)
			break;
	}
	return ret;
}

int rpma_utils_get_ibv_context(const char *addr, enum rpma_util_ibv_context_type type,
			       struct ibv_context **ibv_ctx_ptr)
{
	char name[IBV_SYSFS_NAME_MAX];
	struct addrinfo *list;
	struct context *ctx;
	uint32_t device;
	bool remote;
	int fd, ret;

	if (!addr || !ibv_ctx_ptr)
		return RPMA_E_INVAL;
	if (type != RPMA_UTIL_IBV_CONTEXT_LOCAL && type != RPMA_UTIL_IBV_CONTEXT_REMOTE)
		return RPMA_E_INVAL;
	remote = type == RPMA_UTIL_IBV_CONTEXT_REMOTE;

	ret = addr_lookup(addr, NULL, !remote, &list);
	if (ret)
		return ret;

	ret = peer_open_device(&fd);
	if (ret)
		goto out_free_list;

	ret = resolve(fd, list, remote, &device);
	if (ret) {
		ret = err_report(-ret, "finding the RDMA device %s address %s",
				 remote ? "that reaches" : "with", addr);
		goto out_close;
	}

	device_name(fd, device, name, sizeof(name));
	ctx = context_get(device, name);
	if (!ctx) {
		ret = RPMA_E_NOMEM;
		goto out_close;
	}
	log_info("%s address %s is on RDMA device %s", remote ? "remote" : "local", addr, name);
	*ibv_ctx_ptr = &ctx->ibv;

out_close:
	kernel_close(fd);
out_free_list:
	freeaddrinfo(list);
	return ret;
}

/* Whatever the device can do: /dev/rpma pins. */
int rpma_utils_ibv_context_is_odp_capable(struct ibv_context *ibv_ctx, int *is_odp_capable)
{
	if (!ibv_ctx || !is_odp_capable)
		return RPMA_E_INVAL;
	*is_odp_capable = 0;
	return 0;
}

const char *rpma_utils_conn_event_2str(enum rpma_conn_event conn_event)
{
	switch (conn_event) {
	case RPMA_CONN_UNDEFINED:
		return "Undefined connection event";
	case RPMA_CONN_ESTABLISHED:
		return "Connection established";
	case RPMA_CONN_CLOSED:
		return "Connection closed";
	case RPMA_CONN_LOST:
		return "Connection lost";
	case RPMA_CONN_REJECTED:
		return "Connection rejected";
	case RPMA_CONN_UNREACHABLE:
		return "Connection unreachable";
	default:
		return "Unsupported connection event";
	}
}
