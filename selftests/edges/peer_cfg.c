// SPDX-License-Identifier: GPL-2.0
/* Peer configurations. */
#include "edges.h"

static struct rpma_peer_cfg *make(bool direct)
{
	struct rpma_peer_cfg *pcfg = NULL;

	must(rpma_peer_cfg_new(&pcfg));
	if (direct)
		must(rpma_peer_cfg_set_direct_write_to_pmem(pcfg, direct));
	return pcfg;
}

static void life(struct world *w)
{
	struct rpma_peer_cfg *pcfg = POISON, *none = NULL;
	bool direct = true;
	int ret;

	TRY(rpma_peer_cfg_new, "pcfg_ptr=NULL", NULL);
	if (edge("rpma_peer_cfg_new", "ok")) {
		ret = got(rpma_peer_cfg_new(&pcfg));
		rpma_peer_cfg_get_direct_write_to_pmem(pcfg, &direct);
		outcome(ret, "pcfg=%s direct=%d", state_of(pcfg), direct);
	}
	TRY(rpma_peer_cfg_delete, "pcfg_ptr=NULL", NULL);
	TRY(rpma_peer_cfg_delete, "*pcfg_ptr=NULL", &none);
	pcfg = make(true);
	if (edge("rpma_peer_cfg_delete", "ok")) {
		ret = got(rpma_peer_cfg_delete(&pcfg));
		outcome(ret, "pcfg=%s", state_of(pcfg));
	}
	TRY(rpma_peer_cfg_delete, "twice", &pcfg);
}

static void arguments(struct world *w)
{
	struct rpma_peer_cfg *pcfg = make(false);
	size_t size = 77;
	bool direct = 0;
	char desc = 77;
	int ret;

	TRY(rpma_peer_cfg_set_direct_write_to_pmem, "pcfg=NULL false", NULL, false);
	TRY(rpma_peer_cfg_set_direct_write_to_pmem, "pcfg=NULL true", NULL, true);
	TRY(rpma_peer_cfg_get_direct_write_to_pmem, "pcfg=NULL", NULL, &direct);
	TRY(rpma_peer_cfg_get_direct_write_to_pmem, "supported=NULL", pcfg, NULL);
	TRY(rpma_peer_cfg_get_direct_write_to_pmem, "both NULL", NULL, NULL);
	TRY(rpma_peer_cfg_get_descriptor, "pcfg=NULL", NULL, &desc);
	TRY(rpma_peer_cfg_get_descriptor, "desc=NULL", pcfg, NULL);
	TRY(rpma_peer_cfg_get_descriptor, "both NULL", NULL, NULL);
	TRY(rpma_peer_cfg_get_descriptor_size, "pcfg=NULL", NULL, &size);
	TRY(rpma_peer_cfg_get_descriptor_size, "size=NULL", pcfg, NULL);
	TRY(rpma_peer_cfg_get_descriptor_size, "both NULL", NULL, NULL);
	if (edge("rpma_peer_cfg_get_descriptor_size", "ok")) {
		ret = got(rpma_peer_cfg_get_descriptor_size(pcfg, &size));
		outcome(ret, "size=%zu", size);
	}
}

static void values(struct world *w)
{
	struct rpma_peer_cfg *pcfg = make(false);
	uint8_t desc[2];
	bool direct;
	int ret;

	for (int i = 0; i < 2; i++) {
		if (edge("rpma_peer_cfg_set_direct_write_to_pmem", "%d", i)) {
			ret = got(rpma_peer_cfg_set_direct_write_to_pmem(pcfg, i));
			outcome(ret, NULL);
		}
		if (edge("rpma_peer_cfg_get_direct_write_to_pmem", "after %d", i)) {
			direct = !i;
			ret = got(rpma_peer_cfg_get_direct_write_to_pmem(pcfg, &direct));
			outcome(ret, "direct=%d", direct);
		}
		if (edge("rpma_peer_cfg_get_descriptor", "after %d", i)) {
			desc[0] = desc[1] = 0x55;
			ret = got(rpma_peer_cfg_get_descriptor(pcfg, desc));
			outcome(ret, "bytes=%02x behind=%02x", desc[0], desc[1]);
		}
	}
}

static void descriptors(struct world *w)
{
	static const size_t sizes[] = { 0, 1, 2, 21, 4096, SIZE_MAX };
	static const uint8_t bytes[] = { 0, 1, 2, 0x7f, 0x80, 0xff };
	struct rpma_peer_cfg *pcfg;
	uint8_t desc[4096] = { 1 };
	uint8_t back = 0x55;
	bool direct = 0;
	int ret;

	TRY(rpma_peer_cfg_from_descriptor, "desc=NULL", NULL, 1, &pcfg);
	TRY(rpma_peer_cfg_from_descriptor, "desc=NULL size=0", NULL, 0, &pcfg);
	TRY(rpma_peer_cfg_from_descriptor, "pcfg_ptr=NULL", desc, 1, NULL);
	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++)
		if (edge("rpma_peer_cfg_from_descriptor", "size=%zu", sizes[i])) {
			pcfg = POISON;
			ret = got(rpma_peer_cfg_from_descriptor(desc, sizes[i], &pcfg));
			outcome(ret, "pcfg=%s", state_of(pcfg));
		}
	for (size_t i = 0; i < ARRAY_SIZE(bytes); i++)
		if (edge("rpma_peer_cfg_from_descriptor", "byte=%02x", bytes[i])) {
			ret = got(rpma_peer_cfg_from_descriptor(&bytes[i], 1, &pcfg));
			must(rpma_peer_cfg_get_direct_write_to_pmem(pcfg, &direct));
			must(rpma_peer_cfg_get_descriptor(pcfg, &back));
			outcome(ret, "direct=%d back=%02x", direct, back);
		}
}

const struct scene scenes_peer_cfg[] = {
	{ "peer_cfg_life", .run = life },
	{ "peer_cfg_arguments", .run = arguments },
	{ "peer_cfg_values", .run = values },
	{ "peer_cfg_descriptors", .run = descriptors },
	{ }
};
