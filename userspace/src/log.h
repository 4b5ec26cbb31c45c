/* SPDX-License-Identifier: BSD-3-Clause */
/* Messages. A log call leaves errno alone and costs one load when not wanted. */
#ifndef RPMA_LOG_H
#define RPMA_LOG_H

#include <stdatomic.h>

#include "api.h"

/* RPMA_LOG_THRESHOLD and RPMA_LOG_THRESHOLD_AUX. */
extern _Atomic(enum rpma_log_level) log_thresholds[RPMA_LOG_THRESHOLD_MAX];

extern _Atomic(rpma_log_function *) log_function;

#define log_at(level, fmt, ...)								\
	do {										\
		if ((level) <= atomic_load_explicit(&log_thresholds[RPMA_LOG_THRESHOLD],	\
						    memory_order_relaxed)) {		\
			int log_errno = errno;						\
			rpma_log_function *log_f = atomic_load(&log_function);		\
											\
			log_f((level), __FILE__, __LINE__, __func__, fmt "\n",		\
			      ##__VA_ARGS__);						\
			errno = log_errno;						\
		}									\
	} while (0)

#define log_error(fmt, ...) log_at(RPMA_LOG_LEVEL_ERROR, fmt, ##__VA_ARGS__)
#define log_warning(fmt, ...) log_at(RPMA_LOG_LEVEL_WARNING, fmt, ##__VA_ARGS__)
#define log_notice(fmt, ...) log_at(RPMA_LOG_LEVEL_NOTICE, fmt, ##__VA_ARGS__)
#define log_info(fmt, ...) log_at(RPMA_LOG_LEVEL_INFO, fmt, ##__VA_ARGS__)
#define log_debug(fmt, ...) log_at(RPMA_LOG_LEVEL_DEBUG, fmt, ##__VA_ARGS__)

#endif /* RPMA_LOG_H */
