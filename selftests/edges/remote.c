// SPDX-License-Identifier: GPL-2.0
/* Memory regions of the other side, made of bytes that came over. */
#include "edges.h"

/* Well-formed: address, length, key, usage. */
static void fill(uint8_t *desc, uint64_t addr, uint64_t length, uint8_t usage)
{
	uint32_t key = 0x12345678;

	memcpy(desc, &addr, 8);
	memcpy(desc + 8, &length, 8);
	memcpy(desc + 16, &key, 4);
	desc[20] = usage;
}

static struct rpma_mr_remote *make(uint64_t addr, uint64_t length, uint8_t usage)
{
	struct rpma_mr_remote *mr = NULL;
	uint8_t desc[DESC_SIZE];

	fill(desc, addr, length, usage);
	must(rpma_mr_remote_from_descriptor(desc, sizeof(desc), &mr));
	return mr;
}

static void arguments(struct world *w)
{
	static const size_t sizes[] = { 0, 1, 20, 21, 22, 4096, SIZE_MAX };
	struct rpma_mr_remote *mr;
	uint8_t desc[4096];
	int ret;

	fill(desc, 0x1000, 4096, USAGE_MOST);
	TRY(rpma_mr_remote_from_descriptor, "desc=NULL", NULL, DESC_SIZE, &mr);
	TRY(rpma_mr_remote_from_descriptor, "desc=NULL size=0", NULL, 0, &mr);
	TRY(rpma_mr_remote_from_descriptor, "mr_ptr=NULL", desc, DESC_SIZE, NULL);
	TRY(rpma_mr_remote_from_descriptor, "both NULL", NULL, DESC_SIZE, NULL);
	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++)
		if (edge("rpma_mr_remote_from_descriptor", "size=%zu", sizes[i])) {
			mr = POISON;
			ret = got(rpma_mr_remote_from_descriptor(desc, sizes[i], &mr));
			outcome(ret, "mr=%s", state_of(mr));
		}
}

/* Nonsense must not get further than here, or do no harm further on. */
static const struct {
	const char *name;
	uint64_t addr;
	uint64_t length;
	uint8_t usage;
} nonsense[] = {
	{ "usage 0", 0x1000, 4096, 0 },
	{ "length 0", 0x1000, 0, USAGE_MOST },
	{ "address 0", 0, 4096, USAGE_MOST },
	{ "all zeros but usage", 0, 0, 1 },
	{ "length 2^32", 0x1000, 1ULL << 32, USAGE_MOST },
	{ "length 2^63", 0x1000, 1ULL << 63, USAGE_MOST },
	{ "length UINT64_MAX at 0", 0, UINT64_MAX, USAGE_MOST },
	{ "ends at 2^64", 0xfffffffffffff000, 4096, USAGE_MOST },
	{ "ends behind 2^64", 0xfffffffffffff001, 4096, USAGE_MOST },
	{ "address UINT64_MAX", UINT64_MAX, 1, USAGE_MOST },
	{ "all ones", UINT64_MAX, UINT64_MAX, 255 },
	{ "usage all", 0x1000, 4096, 255 },
};

static void from_nonsense(struct world *w)
{
	for (size_t i = 0; i < ARRAY_SIZE(nonsense); i++)
		if (edge("rpma_mr_remote_from_descriptor", "%s", nonsense[i].name)) {
			struct rpma_mr_remote *mr = POISON;
			uint8_t desc[DESC_SIZE];
			size_t size = 77;
			int ret;

			fill(desc, nonsense[i].addr, nonsense[i].length, nonsense[i].usage);
			ret = got(rpma_mr_remote_from_descriptor(desc, sizeof(desc), &mr));
			if (!ret)
				rpma_mr_remote_get_size(mr, &size);
			outcome(ret, "mr=%s size=%zu", state_of(mr), size);
		}
}

static void getters(struct world *w)
{
	struct rpma_mr_remote *mr = make(0x1000, 12345, 255);
	size_t size = 77;
	int type = 77, ret;

	TRY(rpma_mr_remote_get_size, "mr=NULL", NULL, &size);
	TRY(rpma_mr_remote_get_size, "size=NULL", mr, NULL);
	TRY(rpma_mr_remote_get_size, "both NULL", NULL, NULL);
	TRY(rpma_mr_remote_get_flush_type, "mr=NULL", NULL, &type);
	TRY(rpma_mr_remote_get_flush_type, "flush_type=NULL", mr, NULL);
	TRY(rpma_mr_remote_get_flush_type, "both NULL", NULL, NULL);
	if (edge("rpma_mr_remote_get_size", "ok")) {
		ret = got(rpma_mr_remote_get_size(mr, &size));
		outcome(ret, "size=%zu", size);
	}
	for (int bit = 0; bit < 8; bit++)
		if (edge("rpma_mr_remote_get_flush_type", "usage bit %d", bit)) {
			mr = make(0x1000, 4096, 1 << bit);
			ret = got(rpma_mr_remote_get_flush_type(mr, &type));
			outcome(ret, "type=%d", type);
		}
	if (edge("rpma_mr_remote_get_flush_type", "usage all")) {
		mr = make(0x1000, 4096, 255);
		ret = got(rpma_mr_remote_get_flush_type(mr, &type));
		outcome(ret, "type=%d", type);
	}
}

static void end(struct world *w)
{
	struct rpma_mr_remote *none = NULL, *mr = make(0x1000, 4096, 1);
	int ret;

	TRY(rpma_mr_remote_delete, "mr_ptr=NULL", NULL);
	TRY(rpma_mr_remote_delete, "*mr_ptr=NULL", &none);
	if (edge("rpma_mr_remote_delete", "ok")) {
		ret = got(rpma_mr_remote_delete(&mr));
		outcome(ret, "mr=%s", state_of(mr));
	}
	TRY(rpma_mr_remote_delete, "twice", &mr);
}

/* Bytes that name nothing over there: the completion tells, if they get so far. */
static void use_nonsense(struct world *w)
{
	for (size_t i = 0; i < ARRAY_SIZE(nonsense); i++)
		if (nonsense[i].usage &&
		    edge("rpma_write", "to nonsense: %s", nonsense[i].name)) {
			struct rpma_mr_remote *mr = NULL;
			uint8_t desc[DESC_SIZE];
			int ret;

			fill(desc, nonsense[i].addr, nonsense[i].length, nonsense[i].usage);
			ret = rpma_mr_remote_from_descriptor(desc, sizeof(desc), &mr);
			if (!ret)
				ret = got(rpma_write(w->c.conn, mr, 0, w->c.mr, 0, 8, ALWAYS,
						     CONTEXT(1)));
			outcome(ret, "%s", completion(w->c.conn, w->c.cq, ret));
		}
}

const struct scene scenes_remote[] = {
	{ "remote_arguments", .run = arguments },
	{ "remote_nonsense", .run = from_nonsense },
	{ "remote_getters", .run = getters },
	{ "remote_end", .run = end },
	{ "remote_use", .run = use_nonsense, .setup = world_connected, .apart = true },
	{ }
};
