// SPDX-License-Identifier: BSD-3-Clause
/* Device contexts and peers. */
#include <errno.h>
#include <string.h>

#include "unit_test.h"

void test_context(void)
{
	struct ibv_context *a = NULL, *b = NULL, *c = NULL, foreign = { 0 };
	struct rpma_peer *peer = NULL;
	int odp = 7;

	ok(rpma_utils_get_ibv_context(NULL, RPMA_UTIL_IBV_CONTEXT_LOCAL, &a) == RPMA_E_INVAL,
	   "context: no address");
	ok(rpma_utils_get_ibv_context("127.0.0.1", RPMA_UTIL_IBV_CONTEXT_LOCAL, NULL) ==
	   RPMA_E_INVAL, "context: no result");
	ok(rpma_utils_get_ibv_context("127.0.0.1", 2, &a) == RPMA_E_INVAL && !a,
	   "context: unknown type");
	ok(rpma_utils_get_ibv_context("not an address", RPMA_UTIL_IBV_CONTEXT_LOCAL, &a) ==
	   RPMA_E_PROVIDER && !a, "context: not an address");

	fake.open_ret = -EACCES;
	ok(rpma_utils_get_ibv_context("127.0.0.1", RPMA_UTIL_IBV_CONTEXT_LOCAL, &a) ==
	   RPMA_E_PROVIDER && errno == EACCES && strstr(logged, "group rdma"),
	   "context: no permission, and what to do");
	fake.open_ret = -ENOENT;
	ok(rpma_utils_get_ibv_context("127.0.0.1", RPMA_UTIL_IBV_CONTEXT_LOCAL, &a) ==
	   RPMA_E_PROVIDER && errno == ENOENT && strstr(logged, "modprobe"),
	   "context: no device node, and what to do");
	fake.open_ret = 0;
	fake.resolve_ret = -ENODEV;
	ok(rpma_utils_get_ibv_context("127.0.0.1", RPMA_UTIL_IBV_CONTEXT_REMOTE, &a) ==
	   RPMA_E_PROVIDER && errno == ENODEV && !a, "context: no RDMA device");
	fake.resolve_ret = 0;

	ok(!rpma_utils_get_ibv_context("127.0.0.1", RPMA_UTIL_IBV_CONTEXT_LOCAL, &a) && a,
	   "context: made");
	ok(!rpma_utils_get_ibv_context("127.0.0.3", RPMA_UTIL_IBV_CONTEXT_REMOTE, &b) && a == b,
	   "context: one per device");
	ok(!rpma_utils_get_ibv_context("127.0.0.2", RPMA_UTIL_IBV_CONTEXT_LOCAL, &c) && a != c,
	   "context: another device's");
	ok(!strcmp(a->device->name, "rxe0") && !strcmp(c->device->name, "rxe1"),
	   "context: has its device's name");
	ok(fake.fds == 0, "context: keeps no descriptor");

	ok(rpma_utils_ibv_context_is_odp_capable(NULL, &odp) == RPMA_E_INVAL &&
	   rpma_utils_ibv_context_is_odp_capable(a, NULL) == RPMA_E_INVAL, "context: paging of NULL");
	ok(!rpma_utils_ibv_context_is_odp_capable(a, &odp) && odp == 0,
	   "context: no paging on demand");

	ok(rpma_peer_new(NULL, &peer) == RPMA_E_INVAL, "peer: no context");
	ok(rpma_peer_new(a, NULL) == RPMA_E_INVAL, "peer: no result");
	ok(rpma_peer_new(&foreign, &peer) == RPMA_E_INVAL && !peer, "peer: foreign context");
	ok(rpma_peer_new((void *)16, &peer) == RPMA_E_INVAL && !peer, "peer: wild context");
	fake.peer_create_ret = -ENOMEM;
	ok(rpma_peer_new(a, &peer) == RPMA_E_NOMEM && !peer && !fake.fds, "peer: out of memory");
	fake.peer_create_ret = -ENODEV;
	ok(rpma_peer_new(a, &peer) == RPMA_E_PROVIDER && errno == ENODEV && !fake.fds,
	   "peer: device is gone");
	fake.peer_create_ret = 0;

	ok(!rpma_peer_new(a, &peer) && peer, "peer: made");
	fake.peer_destroy_ret = -EBUSY;
	ok(rpma_peer_delete(&peer) == RPMA_E_PROVIDER && errno == EBUSY && peer,
	   "peer: stays while it is used");
	fake.peer_destroy_ret = 0;
	ok(!rpma_peer_delete(&peer) && !peer, "peer: deleted");
	ok(!rpma_peer_delete(&peer), "peer: deleting none");
	ok(rpma_peer_delete(NULL) == RPMA_E_INVAL, "peer: delete NULL");
}
