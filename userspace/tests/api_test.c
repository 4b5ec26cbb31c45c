// SPDX-License-Identifier: BSD-3-Clause
/*
 * The installed library as a program sees it on a machine without the kernel
 * module: everything that needs none works, and the rest says why it fails.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "librpma.h"
#include "tap.h"

int main(void)
{
	struct ibv_context *ctx = NULL;
	struct rpma_peer *peer = NULL;
	struct rpma_conn_cfg *cfg = NULL;
	struct rpma_peer_cfg *pcfg = NULL;
	struct rpma_mr_remote *mr = NULL;
	uint8_t desc[21] = { [20] = RPMA_MR_USAGE_WRITE_DST };

	setenv("RPMA_DEVICE", "/nonexistent/rpma", 1);

	ok(rpma_utils_get_ibv_context("127.0.0.1", RPMA_UTIL_IBV_CONTEXT_LOCAL, &ctx) ==
	   RPMA_E_PROVIDER && errno == ENOENT && !ctx, "no module: no context");
	setenv("RPMA_DEVICE", "/dev/null", 1);
	ok(rpma_utils_get_ibv_context("127.0.0.1", RPMA_UTIL_IBV_CONTEXT_LOCAL, &ctx) ==
	   RPMA_E_PROVIDER && errno == ENOTTY && !ctx, "another device: no context");
	ok(rpma_peer_new((struct ibv_context *)&ctx, &peer) == RPMA_E_INVAL && !peer,
	   "no context: no peer");
	ok(rpma_ep_listen(NULL, "127.0.0.1", "7204", &(struct rpma_ep *){ NULL }) == RPMA_E_INVAL,
	   "no peer: no endpoint");

	ok(!rpma_conn_cfg_new(&cfg) && !rpma_conn_cfg_delete(&cfg), "connection configuration");
	ok(!rpma_peer_cfg_new(&pcfg) && !rpma_peer_cfg_delete(&pcfg), "peer configuration");
	ok(!rpma_mr_remote_from_descriptor(desc, sizeof(desc), &mr) && !rpma_mr_remote_delete(&mr),
	   "remote region");
	ok(!strcmp(rpma_err_2str(RPMA_E_INVAL), "Invalid argument"), "error names");
	ok(!strcmp(rpma_utils_conn_event_2str(RPMA_CONN_LOST), "Connection lost"), "event names");
	return tap_done();
}
