/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What kernels do not have in common, by what their headers say: Kbuild looks
 * for names and never at versions.
 *
 * A provider with the patches of patches/linux may run on a kernel whose
 * headers do not have them. So what they add to ib_verbs.h is repeated here.
 */
#ifndef RPMA_COMPAT_H
#define RPMA_COMPAT_H

#include <rdma/ib_verbs.h>

#ifndef RPMA_HAS_IB_FLUSH_WR
struct ib_flush_wr {
	struct ib_send_wr wr;
	u64 remote_addr;
	u32 length;
	u32 rkey;
	u8 type;
	u8 level;
};
#endif

/* Where a header uses these bits for something else, no provider has them. */
#ifndef RPMA_HAS_IBK_FLUSH
#ifdef RPMA_IBK_FLUSH_IS_TAKEN
#define IBK_FLUSH 0ULL
#else
#define IBK_FLUSH BIT_ULL(9)
#endif
#endif

#ifndef RPMA_HAS_IBK_ATOMIC_WRITE
#ifdef RPMA_IBK_ATOMIC_WRITE_IS_TAKEN
#define IBK_ATOMIC_WRITE 0ULL
#else
#define IBK_ATOMIC_WRITE BIT_ULL(10)
#endif
#endif

#endif /* RPMA_COMPAT_H */
