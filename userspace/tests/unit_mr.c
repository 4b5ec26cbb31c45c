// SPDX-License-Identifier: BSD-3-Clause
/* Memory regions, ours and the other machine's. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "unit_test.h"

void test_mr(struct rpma_peer *peer)
{
	static const struct {
		int usage;
		uint32_t access;
	} accesses[] = {
		/* one's own memory can always be sent and written from */
		{ RPMA_MR_USAGE_READ_SRC, 0x01 | 0x44 },
		{ RPMA_MR_USAGE_READ_DST, 0x02 | 0x44 | 0x82 },
		{ RPMA_MR_USAGE_WRITE_SRC, 0x04 | 0x44 | 0x82 },
		{ RPMA_MR_USAGE_WRITE_DST, 0x08 | 0x44 | 0x82 },
		{ RPMA_MR_USAGE_FLUSH_TYPE_VISIBILITY, 0x10 | 0x44 },
		{ RPMA_MR_USAGE_FLUSH_TYPE_PERSISTENT, 0x20 | 0x44 },
		{ RPMA_MR_USAGE_SEND, 0x40 | 0x44 },
		{ RPMA_MR_USAGE_RECV, 0x80 | 0x44 | 0x82 },
	};
	const int all = 0xff;
	uint8_t desc[21], want[21];
	struct rpma_mr_local *mr = NULL;
	size_t size = 0;
	void *ptr = NULL;
	unsigned int i;

	ok(rpma_mr_reg(NULL, memory, 1, all, &mr) == RPMA_E_INVAL, "mr: no peer");
	ok(rpma_mr_reg(peer, NULL, 1, all, &mr) == RPMA_E_INVAL, "mr: no memory");
	ok(rpma_mr_reg(peer, memory, 0, all, &mr) == RPMA_E_INVAL, "mr: no bytes");
	ok(rpma_mr_reg(peer, memory, 1, 0, &mr) == RPMA_E_INVAL, "mr: no usage");
	ok(rpma_mr_reg(peer, memory, 1, 0x100, &mr) == RPMA_E_INVAL, "mr: unknown usage");
	ok(rpma_mr_reg(peer, memory, 1, all, NULL) == RPMA_E_INVAL, "mr: no result");

	fake.mr_reg_ret = -EOPNOTSUPP;
	ok(rpma_mr_reg(peer, memory, 1, RPMA_MR_USAGE_FLUSH_TYPE_PERSISTENT, &mr) ==
	   RPMA_E_PROVIDER && errno == EOPNOTSUPP && !mr &&
	   strstr(logged, "RPMA_PERSISTENT_BY_READ"),
	   "mr: not persistent memory, and what to do");
	ok(rpma_mr_reg(peer, memory, 1, RPMA_MR_USAGE_WRITE_DST, &mr) == RPMA_E_PROVIDER &&
	   errno == EOPNOTSUPP && strstr(logged, "fsdax"), "mr: memory that cannot be pinned, and what to do");
	fake.mr_reg_ret = -ENOMEM;
	ok(rpma_mr_reg(peer, memory, 1, all, &mr) == RPMA_E_PROVIDER && errno == ENOMEM && !mr,
	   "mr: locked memory is limited");
	fake.mr_reg_ret = -EFAULT;
	ok(rpma_mr_reg(peer, memory, 1, all, &mr) == RPMA_E_PROVIDER && errno == EFAULT,
	   "mr: not mapped");
	fake.mr_reg_ret = -EDQUOT;
	ok(rpma_mr_reg(peer, memory, 1, all, &mr) == RPMA_E_PROVIDER && errno == EDQUOT &&
	   strstr(logged, "parameters"), "mr: over a limit, and what to do");
	fake.mr_reg_ret = 0;

	for (i = 0; i < sizeof(accesses) / sizeof(accesses[0]); i++) {
		ok(!rpma_mr_reg(peer, memory, 1, accesses[i].usage, &mr) &&
		   fake.mr_reg.access == accesses[i].access && !fake.mr_reg.flags,
		   "mr: access for usage 0x%x", accesses[i].usage);
		ok(!rpma_mr_dereg(&mr) && !mr, "mr: deregistered");
	}

	mr = make_local(peer, 0x2a);
	ok(fake.mr_reg.addr == (uintptr_t)memory && fake.mr_reg.length == sizeof(memory) &&
	   fake.mr_reg.peer == 11, "mr: registers what it was given");
	ok(!rpma_mr_get_ptr(mr, &ptr) && ptr == memory, "mr: pointer");
	ok(!rpma_mr_get_size(mr, &size) && size == sizeof(memory), "mr: size");
	ok(!rpma_mr_get_descriptor_size(mr, &size) && size == 21, "mr: descriptor size");
	for (i = 0; i < 8; i++)
		want[i] = (uintptr_t)memory >> 8 * i;
	memcpy(want + 8, "\x00\x10\0\0\0\0\0\0\xd4\xc3\xb2\xa1\x2a", 13);
	ok(!rpma_mr_get_descriptor(mr, desc) && !memcmp(desc, want, 21),
	   "mr: descriptor is librpma's");
	ok(rpma_mr_get_ptr(NULL, &ptr) == RPMA_E_INVAL &&
	   rpma_mr_get_ptr(mr, NULL) == RPMA_E_INVAL,
	   "mr: pointer of NULL");
	ok(rpma_mr_get_size(NULL, &size) == RPMA_E_INVAL &&
	   rpma_mr_get_size(mr, NULL) == RPMA_E_INVAL, "mr: size of NULL");
	ok(rpma_mr_get_descriptor(NULL, desc) == RPMA_E_INVAL &&
	   rpma_mr_get_descriptor(mr, NULL) == RPMA_E_INVAL, "mr: descriptor of NULL");
	ok(rpma_mr_get_descriptor_size(NULL, &size) == RPMA_E_INVAL &&
	   rpma_mr_get_descriptor_size(mr, NULL) == RPMA_E_INVAL, "mr: descriptor size of NULL");

	fake.mr_destroy_ret = -EBUSY;
	ok(rpma_mr_dereg(&mr) == RPMA_E_PROVIDER && errno == EBUSY && mr,
	   "mr: stays if it cannot be deregistered");
	fake.mr_destroy_ret = -ENODEV;
	ok(!rpma_mr_dereg(&mr) && !mr, "mr: went with its device");
	fake.mrs--;
	fake.mr_destroy_ret = 0;
	ok(!rpma_mr_dereg(&mr) && rpma_mr_dereg(NULL) == RPMA_E_INVAL, "mr: deregister none, NULL");
}

void test_persistent_by_read(void)
{
	struct rpma_mr_local *mr;
	struct rpma_peer *peer;

	setenv("RPMA_PERSISTENT_BY_READ", "1", 1);
	peer = make_peer();
	unsetenv("RPMA_PERSISTENT_BY_READ");
	mr = make_local(peer, RPMA_MR_USAGE_FLUSH_TYPE_PERSISTENT);
	ok(fake.mr_reg.flags == RPMA_MR_REG_F_PERSISTENT_BY_READ, "mr: RPMA_PERSISTENT_BY_READ=1");
	rpma_mr_dereg(&mr);
	rpma_peer_delete(&peer);
}

void test_mr_remote(void)
{
	struct rpma_mr_remote *mr = NULL;
	uint8_t desc[32] = { 0 };
	size_t size = 0;
	int type = 0;

	ok(rpma_mr_remote_from_descriptor(NULL, 21, &mr) == RPMA_E_INVAL, "remote: no bytes");
	ok(rpma_mr_remote_from_descriptor(desc, 21, NULL) == RPMA_E_INVAL, "remote: no result");
	desc[20] = 0xff;
	ok(rpma_mr_remote_from_descriptor(desc, 20, &mr) == RPMA_E_INVAL && !mr,
	   "remote: too few bytes");
	ok(rpma_mr_remote_from_descriptor(desc, 0, &mr) == RPMA_E_INVAL && !mr, "remote: 0 bytes");
	desc[20] = 0;
	ok(rpma_mr_remote_from_descriptor(desc, 21, &mr) == RPMA_E_INVAL && !mr,
	   "remote: no usage");
	memset(desc, 0xff, sizeof(desc));
	ok(rpma_mr_remote_from_descriptor(desc, 21, &mr) == RPMA_E_NOSUPP && !mr,
	   "remote: end wraps around");

	memset(desc + 8, 0, 8);
	size = 1;
	ok(!rpma_mr_remote_from_descriptor(desc, sizeof(desc), &mr) &&
	   !rpma_mr_remote_get_size(mr, &size) && size == 0,
	   "remote: no bytes long, and more bytes of description than needed");
	rpma_mr_remote_delete(&mr);

	mr = make_remote(RPMA_MR_USAGE_FLUSH_TYPE_PERSISTENT | RPMA_MR_USAGE_WRITE_DST);
	ok(!rpma_mr_remote_get_size(mr, &size) && size == 4096, "remote: size");
	ok(!rpma_mr_remote_get_flush_type(mr, &type) &&
	   type == RPMA_MR_USAGE_FLUSH_TYPE_PERSISTENT, "remote: flush type");
	ok(rpma_mr_remote_get_size(NULL, &size) == RPMA_E_INVAL &&
	   rpma_mr_remote_get_size(mr, NULL) == RPMA_E_INVAL, "remote: size of NULL");
	ok(rpma_mr_remote_get_flush_type(NULL, &type) == RPMA_E_INVAL &&
	   rpma_mr_remote_get_flush_type(mr, NULL) == RPMA_E_INVAL, "remote: flush type of NULL");
	ok(!rpma_mr_remote_delete(&mr) && !mr && !rpma_mr_remote_delete(&mr) &&
	   rpma_mr_remote_delete(NULL) == RPMA_E_INVAL, "remote: delete, none, NULL");
}

void test_mr_advise(struct rpma_peer *peer)
{
	struct rpma_mr_local *mr = make_local(peer, RPMA_MR_USAGE_READ_SRC);
	struct rpma_mr_local *written = make_local(peer, RPMA_MR_USAGE_WRITE_DST);
	const int read = IBV_ADVISE_MR_ADVICE_PREFETCH;
	const int write = IBV_ADVISE_MR_ADVICE_PREFETCH_WRITE;

	ok(rpma_mr_advise(NULL, 0, 1, read, 0) == RPMA_E_INVAL, "advise: no region");
	ok(rpma_mr_advise(mr, 4097, 0, read, 0) == RPMA_E_INVAL &&
	   rpma_mr_advise(mr, 4096, 1, read, 0) == RPMA_E_INVAL &&
	   rpma_mr_advise(mr, 1, 4096, read, 0) == RPMA_E_INVAL &&
	   rpma_mr_advise(mr, 8, SIZE_MAX, read, 0) == RPMA_E_INVAL &&
	   rpma_mr_advise(mr, SIZE_MAX, 8, read, 0) == RPMA_E_INVAL, "advise: not in the region");
	ok(rpma_mr_advise(mr, 0, 4096, read, 2) == RPMA_E_INVAL &&
	   rpma_mr_advise(mr, 0, 4096, read, UINT32_MAX) == RPMA_E_INVAL, "advise: unknown flags");
	ok(rpma_mr_advise(mr, 0, 4096, write, 0) == RPMA_E_INVAL,
	   "advise: a region that is not written to");
	logged[0] = '\0';
	ok(rpma_mr_advise(mr, 0, 4096, read, 0) == RPMA_E_NOSUPP && errno == EOPNOTSUPP &&
	   strstr(logged, "pinned"), "advise: nothing to prefetch, in words");
	ok(rpma_mr_advise(mr, 4095, 1, read, IBV_ADVISE_MR_FLAG_FLUSH) == RPMA_E_NOSUPP &&
	   rpma_mr_advise(mr, 4096, 0, IBV_ADVISE_MR_ADVICE_PREFETCH_NO_FAULT, 0) ==
	   RPMA_E_NOSUPP && rpma_mr_advise(written, 0, 1, write, 0) == RPMA_E_NOSUPP &&
	   rpma_mr_advise(mr, 0, 1, 99, 0) == RPMA_E_NOSUPP, "advise: nor any other way");
	rpma_mr_dereg(&mr);
	rpma_mr_dereg(&written);
}
