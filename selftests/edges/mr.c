// SPDX-License-Identifier: GPL-2.0
/* Memory regions of this side. */
#include "edges.h"

#include <limits.h>
#include <stdio.h>

#define PAGE ((size_t)4096)
#define READ_ONLY_USAGE (RPMA_MR_USAGE_READ_SRC | RPMA_MR_USAGE_WRITE_SRC | RPMA_MR_USAGE_SEND)

static void reg(struct world *w, const char *name, void *ptr, size_t size, int usage)
{
	struct rpma_mr_local *mr = POISON;
	int ret;

	if (!edge("rpma_mr_reg", "%s", name))
		return;
	ret = got(rpma_mr_reg(w->peer, ptr, size, usage, &mr));
	outcome(ret, "mr=%s", state_of(mr));
	if (!ret)
		must(rpma_mr_dereg(&mr));
}

static void arguments(struct world *w)
{
	struct rpma_mr_local *mr = POISON;

	TRY(rpma_mr_reg, "peer=NULL", NULL, w->c.buf, PAGE, USAGE_MOST, &mr);
	TRY(rpma_mr_reg, "mr_ptr=NULL", w->peer, w->c.buf, PAGE, USAGE_MOST, NULL);
	reg(w, "ptr=NULL", NULL, PAGE, USAGE_MOST);
	reg(w, "size=0", w->c.buf, 0, USAGE_MOST);
	reg(w, "usage=0", w->c.buf, PAGE, 0);
	reg(w, "usage=256", w->c.buf, PAGE, 256);
	reg(w, "usage=257", w->c.buf, PAGE, 257);
	reg(w, "usage=-1", w->c.buf, PAGE, -1);
	reg(w, "usage=INT_MIN", w->c.buf, PAGE, INT_MIN);
	reg(w, "usage=INT_MAX", w->c.buf, PAGE, INT_MAX);
}

static void usages(struct world *w)
{
	char name[32];
	int done = 0;

	for (int bit = 0; bit < 8; bit++) {
		snprintf(name, sizeof(name), "usage bit %d", bit);
		reg(w, name, w->c.buf, PAGE, 1 << bit);
	}
	for (int usage = 1; usage < 256; usage++) {
		struct rpma_mr_local *mr = NULL;

		if (usage & P)
			continue;
		done += !rpma_mr_reg(w->peer, w->c.buf, PAGE, usage, &mr) && !rpma_mr_dereg(&mr);
	}
	if (edge("rpma_mr_reg", "every usage without PERSISTENT"))
		outcome(0, "%d of 127", done);
	reg(w, "usage all", w->c.buf, PAGE, 255);
	reg(w, "usage VISIBILITY and PERSISTENT", w->c.buf, PAGE, V | P);
}

static void sizes(struct world *w)
{
	static const size_t sizes[] = { 1, 4, 7, 8, 4095, 4096, 4097, (size_t)1 << 20, BUF_SIZE };
	char name[32];

	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		snprintf(name, sizeof(name), "size=%zu", sizes[i]);
		reg(w, name, w->c.buf, sizes[i], USAGE_MOST);
	}
	reg(w, "odd address size=1", w->c.buf + 1, 1, USAGE_MOST);
	reg(w, "last byte of the mapping", w->c.buf + BUF_SIZE - 1, 1, USAGE_MOST);
	reg(w, "size=2^32", w->c.buf, (size_t)1 << 32, USAGE_MOST);
	reg(w, "size=2^47", w->c.buf, (size_t)1 << 47, USAGE_MOST);
	reg(w, "size=2^63", w->c.buf, (size_t)1 << 63, USAGE_MOST);
	reg(w, "size=SIZE_MAX", w->c.buf, SIZE_MAX, USAGE_MOST);
	reg(w, "wraps to 0", w->c.buf, -(uintptr_t)w->c.buf, USAGE_MOST);
	reg(w, "ptr=1", (void *)1, 1, USAGE_MOST);
	reg(w, "ptr=-1", (void *)-1, 1, USAGE_MOST);
}

/* Pages that are not there, or not to be written. */
static void memory(struct world *w)
{
	char *hole = mmap(NULL, 4 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
			  0);
	char *fixed = mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char *shared = mmap(NULL, PAGE, PROT_READ, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	char *none = mmap(NULL, PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char name[64];

	must(munmap(hole + PAGE, PAGE));
	reg(w, "a hole at its start", hole + PAGE, PAGE, USAGE_MOST);
	reg(w, "a hole inside", hole, 4 * PAGE, USAGE_MOST);
	reg(w, "a hole behind it", hole, PAGE, USAGE_MOST);
	reg(w, "one byte into a hole", hole, PAGE + 1, USAGE_MOST);
	reg(w, "PROT_NONE to be read", none, PAGE, READ_ONLY_USAGE);
	reg(w, "PROT_NONE to be written", none, PAGE, RPMA_MR_USAGE_WRITE_DST);
	for (int bit = 0; bit < 8; bit++) {
		snprintf(name, sizeof(name), "private read-only memory, usage bit %d", bit);
		reg(w, name, fixed, PAGE, 1 << bit);
		snprintf(name, sizeof(name), "shared read-only memory, usage bit %d", bit);
		reg(w, name, shared, PAGE, 1 << bit);
	}
	reg(w, "the program's constants, to be read", (void *)"constant", 9,
	    RPMA_MR_USAGE_READ_SRC);
}

static void overlap(struct world *w)
{
	struct rpma_mr_local *a = NULL, *b = NULL;
	int ret;

	if (edge("rpma_mr_reg", "the same memory twice")) {
		ret = got(rpma_mr_reg(w->peer, w->c.buf, PAGE, USAGE_MOST, &a) ||
			  rpma_mr_reg(w->peer, w->c.buf, PAGE, USAGE_MOST, &b));
		outcome(ret, "%s", a == b ? "same" : "different");
	}
	if (edge("rpma_mr_dereg", "of memory that was unmapped")) {
		a = region(w, mmap(NULL, PAGE, PROT_READ | PROT_WRITE,
				   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), PAGE, USAGE_MOST);
		rpma_mr_get_ptr(a, (void **)&b);
		must(munmap(b, PAGE));
		ret = got(rpma_mr_dereg(&a));
		outcome(ret, "mr=%s", state_of(a));
	}
}

static void dereg(struct world *w)
{
	struct rpma_mr_local *none = NULL, *mr = region(w, w->c.buf, PAGE, USAGE_MOST);
	int ret;

	TRY(rpma_mr_dereg, "mr_ptr=NULL", NULL);
	TRY(rpma_mr_dereg, "*mr_ptr=NULL", &none);
	if (edge("rpma_mr_dereg", "ok")) {
		ret = got(rpma_mr_dereg(&mr));
		outcome(ret, "mr=%s", state_of(mr));
	}
	TRY(rpma_mr_dereg, "twice", &mr);
}

static void getters(struct world *w)
{
	struct rpma_mr_local *mr = w->c.mr;
	char desc[DESC_SIZE];
	size_t size = 77;
	void *ptr;
	int ret;

	TRY(rpma_mr_get_ptr, "mr=NULL", NULL, &ptr);
	TRY(rpma_mr_get_ptr, "ptr=NULL", mr, NULL);
	TRY(rpma_mr_get_ptr, "both NULL", NULL, NULL);
	TRY(rpma_mr_get_size, "mr=NULL", NULL, &size);
	TRY(rpma_mr_get_size, "size=NULL", mr, NULL);
	TRY(rpma_mr_get_size, "both NULL", NULL, NULL);
	TRY(rpma_mr_get_descriptor_size, "mr=NULL", NULL, &size);
	TRY(rpma_mr_get_descriptor_size, "size=NULL", mr, NULL);
	TRY(rpma_mr_get_descriptor_size, "both NULL", NULL, NULL);
	TRY(rpma_mr_get_descriptor, "mr=NULL", NULL, desc);
	TRY(rpma_mr_get_descriptor, "desc=NULL", mr, NULL);
	TRY(rpma_mr_get_descriptor, "both NULL", NULL, NULL);
	if (edge("rpma_mr_get_ptr", "ok")) {
		ret = got(rpma_mr_get_ptr(mr, &ptr));
		outcome(ret, "%s", ptr == w->c.buf ? "its start" : "another");
	}
	if (edge("rpma_mr_get_size", "ok")) {
		ret = got(rpma_mr_get_size(mr, &size));
		outcome(ret, "size=%zu", size);
	}
	if (edge("rpma_mr_get_descriptor_size", "ok")) {
		ret = got(rpma_mr_get_descriptor_size(mr, &size));
		outcome(ret, "size=%zu", size);
	}
}

/* Its bytes but for address and key, which differ from run to run. */
static void descriptor(struct world *w, size_t offset, size_t size, int usage)
{
	struct rpma_mr_local *mr = region(w, w->c.buf + offset, size, usage);
	uintptr_t addr = (uintptr_t)w->c.buf + offset;
	uint8_t desc[DESC_SIZE + 1] = { 0 };
	char text[64], *p = text;
	int ret;

	if (edge("rpma_mr_get_descriptor", "offset=%zu size=%zu usage=%d", offset, size, usage)) {
		memset(desc, 0x55, sizeof(desc));
		ret = got(rpma_mr_get_descriptor(mr, desc));
		for (int i = 8; i < 16; i++)
			p += sprintf(p, "%02x", desc[i]);
		outcome(ret, "address=%s length=%s key=%s usage=%02x behind=%02x",
			memcmp(desc, &addr, 8) ? "another" : "its", text,
			memcmp(desc + 16, "\0\0\0", 4) ? "some" : "0", desc[20], desc[21]);
	}
	must(rpma_mr_dereg(&mr));
}

static void descriptors(struct world *w)
{
	for (int bit = 0; bit < 8; bit++)
		if (1 << bit != P)
			descriptor(w, 0, PAGE, 1 << bit);
	descriptor(w, 0, PAGE, USAGE_MOST);
	descriptor(w, 1, 1, USAGE_MOST);
	descriptor(w, 4095, 0x12345, USAGE_MOST);
	descriptor(w, 0, BUF_SIZE, USAGE_MOST);
}

/* ---- advice ---- */

static const struct {
	const char *name;
	size_t offset;
	size_t len;
	int advice;
	uint32_t flags;
} advices[] = {
	{ "PREFETCH", 0, PAGE, IBV_ADVISE_MR_ADVICE_PREFETCH, 0 },
	{ "PREFETCH_WRITE", 0, PAGE, IBV_ADVISE_MR_ADVICE_PREFETCH_WRITE, 0 },
	{ "PREFETCH_NO_FAULT", 0, PAGE, IBV_ADVISE_MR_ADVICE_PREFETCH_NO_FAULT, 0 },
	{ "PREFETCH FLUSH", 0, PAGE, IBV_ADVISE_MR_ADVICE_PREFETCH, IBV_ADVISE_MR_FLAG_FLUSH },
	{ "PREFETCH unknown flags", 0, PAGE, IBV_ADVISE_MR_ADVICE_PREFETCH, ~0U },
	{ "unknown advice 3", 0, PAGE, 3, 0 },
	{ "unknown advice 99", 0, PAGE, 99, 0 },
	{ "unknown advice -1", 0, PAGE, -1, 0 },
	{ "len=0", 0, 0, IBV_ADVISE_MR_ADVICE_PREFETCH, 0 },
	{ "all of it", 0, BUF_SIZE, IBV_ADVISE_MR_ADVICE_PREFETCH, 0 },
	{ "last byte", BUF_SIZE - 1, 1, IBV_ADVISE_MR_ADVICE_PREFETCH, 0 },
	{ "one byte too many", 0, BUF_SIZE + 1, IBV_ADVISE_MR_ADVICE_PREFETCH, 0 },
	{ "behind its end", BUF_SIZE, 1, IBV_ADVISE_MR_ADVICE_PREFETCH, 0 },
	{ "offset=SIZE_MAX", SIZE_MAX, 1, IBV_ADVISE_MR_ADVICE_PREFETCH, 0 },
	{ "len=2^32", 0, (size_t)1 << 32, IBV_ADVISE_MR_ADVICE_PREFETCH, 0 },
	{ "len=SIZE_MAX", 0, SIZE_MAX, IBV_ADVISE_MR_ADVICE_PREFETCH, 0 },
};

static void advise(struct world *w)
{
	TRY(rpma_mr_advise, "mr=NULL", NULL, 0, PAGE, IBV_ADVISE_MR_ADVICE_PREFETCH, 0);
	for (size_t i = 0; i < ARRAY_SIZE(advices); i++)
		TRY(rpma_mr_advise, advices[i].name, w->c.mr, advices[i].offset, advices[i].len,
		    advices[i].advice, advices[i].flags);
}

const struct scene scenes_mr[] = {
	{ "mr_arguments", .run = arguments, .setup = world_peer },
	{ "mr_usages", .run = usages, .setup = world_peer },
	{ "mr_sizes", .run = sizes, .setup = world_peer },
	{ "mr_memory", .run = memory, .setup = world_peer },
	{ "mr_overlap", .run = overlap, .setup = world_peer },
	{ "mr_dereg", .run = dereg, .setup = world_peer },
	{ "mr_getters", .run = getters, .setup = world_peer },
	{ "mr_descriptors", .run = descriptors, .setup = world_peer },
	{ "mr_advise", .run = advise, .setup = world_peer },
	{ }
};
