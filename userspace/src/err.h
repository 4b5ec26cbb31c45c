/* SPDX-License-Identifier: BSD-3-Clause */
/* From the kernel's errno to RPMA_E_*, with a word on what to do. */
#ifndef RPMA_ERR_H
#define RPMA_ERR_H

#include <errno.h>

#include "log.h"

/*
 * What to do about an errno of /dev/rpma, starting with ": ", or "" if
 * strerror(3) says it all.
 */
const char *err_advice(int err);

/*
 * The result of a command that makes or changes an object and failed with
 * @err: NOMEM or PROVIDER. Sets errno.
 */
int err_control(int err);

/*
 * The result of a request that was refused with @err: INVAL or PROVIDER. Sets
 * errno and logs; @what names the request.
 */
int err_post(int err, const char *what);

/* err_control(), and a message: what failed, why, what to do. */
#define err_report(err, fmt, ...)							\
	({										\
		int err_nr = (err);							\
											\
		log_error(fmt ": %s%s", ##__VA_ARGS__, strerror(err_nr), err_advice(err_nr)); \
		err_control(err_nr);							\
	})

#endif /* RPMA_ERR_H */
