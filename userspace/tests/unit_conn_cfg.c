// SPDX-License-Identifier: BSD-3-Clause
/* Connection configurations. */
#include "unit_test.h"

void test_conn_cfg(void)
{
	static const struct {
		const char *name;
		int (*set)(struct rpma_conn_cfg *cfg, uint32_t size);
		int (*get)(const struct rpma_conn_cfg *cfg, uint32_t *size);
		uint32_t initial;
	} sizes[] = {
		{ "cq", rpma_conn_cfg_set_cq_size, rpma_conn_cfg_get_cq_size, 10 },
		{ "rcq", rpma_conn_cfg_set_rcq_size, rpma_conn_cfg_get_rcq_size, 0 },
		{ "sq", rpma_conn_cfg_set_sq_size, rpma_conn_cfg_get_sq_size, 10 },
		{ "rq", rpma_conn_cfg_set_rq_size, rpma_conn_cfg_get_rq_size, 10 },
	};
	struct rpma_conn_cfg *cfg = NULL;
	int timeout = 0;
	unsigned int i;
	uint32_t size;

	ok(rpma_conn_cfg_new(NULL) == RPMA_E_INVAL, "conn_cfg: no result");
	ok(!rpma_conn_cfg_new(&cfg) && cfg, "conn_cfg: made");
	ok(!rpma_conn_cfg_get_timeout(cfg, &timeout) && timeout == 1000, "conn_cfg: 1000 ms");
	ok(!rpma_conn_cfg_set_timeout(cfg, 0) && !rpma_conn_cfg_get_timeout(cfg, &timeout) &&
	   timeout == 0, "conn_cfg: 0 ms");
	ok(rpma_conn_cfg_set_timeout(cfg, -1) == RPMA_E_INVAL &&
	   rpma_conn_cfg_set_timeout(NULL, 1) == RPMA_E_INVAL &&
	   rpma_conn_cfg_get_timeout(NULL, &timeout) == RPMA_E_INVAL &&
	   rpma_conn_cfg_get_timeout(cfg, NULL) == RPMA_E_INVAL, "conn_cfg: bad timeouts");
	for (i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		size = 77;
		ok(!sizes[i].get(cfg, &size) && size == sizes[i].initial, "conn_cfg: %s at first",
		   sizes[i].name);
		ok(!sizes[i].set(cfg, UINT32_MAX) && !sizes[i].get(cfg, &size) &&
		   size == UINT32_MAX, "conn_cfg: %s set", sizes[i].name);
		ok(sizes[i].set(NULL, 1) == RPMA_E_INVAL &&
		   sizes[i].get(NULL, &size) == RPMA_E_INVAL &&
		   sizes[i].get(cfg, NULL) == RPMA_E_INVAL, "conn_cfg: %s of NULL", sizes[i].name);
	}
	ok(!rpma_conn_cfg_delete(&cfg) && !cfg && !rpma_conn_cfg_delete(&cfg) &&
	   rpma_conn_cfg_delete(NULL) == RPMA_E_INVAL, "conn_cfg: delete, none, NULL");
}
