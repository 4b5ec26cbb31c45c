/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * librpma.h for those who define what it declares: these symbols alone are
 * visible outside the library, and librpma.map names them.
 */
#ifndef RPMA_API_H
#define RPMA_API_H

#pragma GCC visibility push(default)
#include <librpma.h>
#pragma GCC visibility pop

#endif /* RPMA_API_H */
