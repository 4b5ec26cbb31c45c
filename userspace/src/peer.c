// SPDX-License-Identifier: BSD-3-Clause
/* Peers: opening a device and closing it. */
#define _GNU_SOURCE

#include <stdlib.h>
#include <string.h>

#include "err.h"
#include "kernel.h"
#include "peer.h"
#include "utils.h"

static const char *open_advice(int err)
{
	switch (err) {
	case ENOENT:
	case ENXIO:
	case ENODEV:
		return ": load the kernel module (modprobe rpma, or insmod rpma.ko)";
	case EACCES:
	case EPERM:
		return ": ask to be added to group rdma (usermod -aG rdma USER) and log in again";
	default:
		return err_advice(err);
	}
}

int peer_open_device(int *fd)
{
	int ret = kernel_open();

	if (ret < 0) {
		log_error("opening %s: %s%s", kernel_device_path(), strerror(-ret),
			  open_advice(-ret));
		return err_control(-ret);
	}
	*fd = ret;
	return 0;
}

static bool persistent_by_read(void)
{
	const char *value = secure_getenv("RPMA_PERSISTENT_BY_READ");

	return value && *value && strcmp(value, "0");
}

static enum rpma_flush_method flush_method(void)
{
	const char *value = secure_getenv("RPMA_FLUSH_METHOD");
	static atomic_bool complained;

	if (!value || !*value || !strcmp(value, "auto"))
		return RPMA_FLUSH_METHOD_NONE;
	if (!strcmp(value, "read"))
		return RPMA_FLUSH_METHOD_READ;
	if (!strcmp(value, "native"))
		return RPMA_FLUSH_METHOD_NATIVE;
	if (!atomic_exchange(&complained, true))
		log_error("RPMA_FLUSH_METHOD=%s in the environment is none of auto, read, native; "
			  "it is taken for auto", value);
	return RPMA_FLUSH_METHOD_NONE;
}

/* What the kernel takes; 0 leaves it to the kernel. */
static uint32_t peer_timeout(void)
{
	const char *value = secure_getenv("RPMA_PEER_TIMEOUT_MS");
	static atomic_bool complained;
	unsigned long ms;
	char *end;

	if (!value || !*value)
		return 0;
	if (!strcmp(value, "never"))
		return UINT32_MAX;
	errno = 0;
	ms = strtoul(value, &end, 10);
	if (!errno && !*end && value[0] != '-' && ms >= 100 && ms < UINT32_MAX)
		return ms;
	if (!atomic_exchange(&complained, true))
		log_error("RPMA_PEER_TIMEOUT_MS=%s in the environment is neither a number of "
			  "milliseconds, at least 100, nor never; it is not used", value);
	return 0;
}

static int create(struct rpma_peer *peer, uint32_t device)
{
	struct rpma_ioc_peer_create cmd = { .device = device };
	struct rpma_ioc_query query;
	int ret;

	ret = kernel_query(peer->fd, &query);
	if (ret)
		return err_report(-ret, "asking %s for its limits", kernel_device_path());
	ret = kernel_peer_create(peer->fd, &cmd);
	if (ret == -EOPNOTSUPP)
		return err_report(-ret, "opening the RDMA device (its driver was never tried with "
				  "rpma; its parameter allow_untried_drivers=1 lets you)");
	if (ret)
		return err_report(-ret, "opening the RDMA device");

	peer->id = cmd.out_peer;
	peer->max_queue_size = query.out_max_queue_size;
	log_info("left to the kernel, flushes of this device travel as %s",
		 cmd.out_flush_method == RPMA_FLUSH_METHOD_NATIVE ? "FLUSH" : "READ after WRITE");
	return 0;
}

int rpma_peer_new(struct ibv_context *ibv_ctx, struct rpma_peer **peer_ptr)
{
	struct rpma_peer *peer;
	uint32_t device;
	int ret;

	if (!ibv_ctx || !peer_ptr)
		return RPMA_E_INVAL;
	device = utils_context_device(ibv_ctx);
	if (!device) {
		log_error("this context is not from rpma_utils_get_ibv_context()");
		return RPMA_E_INVAL;
	}

	peer = calloc(1, sizeof(*peer));
	if (!peer)
		return RPMA_E_NOMEM;
	peer->persistent_by_read = persistent_by_read();
	peer->peer_timeout_ms = peer_timeout();
	peer->flush_method = flush_method();

	ret = peer_open_device(&peer->fd);
	if (ret)
		goto err_free;
	ret = create(peer, device);
	if (ret)
		goto err_close;

	*peer_ptr = peer;
	return 0;

err_close:
	kernel_close(peer->fd);
err_free:
	free(peer);
	return ret;
}

int rpma_peer_delete(struct rpma_peer **peer_ptr)
{
	struct rpma_peer *peer;
	int ret;

	if (!peer_ptr)
		return RPMA_E_INVAL;
	peer = *peer_ptr;
	if (!peer)
		return 0;

	/* Any other failure means that the device is gone, and so is the peer. */
	ret = kernel_peer_destroy(peer->fd, peer->id);
	if (ret == -EBUSY)
		return err_report(-ret, "closing a peer that still has regions, connections, "
				  "requests or endpoints");

	kernel_close(peer->fd);
	free(peer);
	*peer_ptr = NULL;
	return 0;
}
