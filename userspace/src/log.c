// SPDX-License-Identifier: BSD-3-Clause
/*
 * Logging: who takes messages, and the function that takes them by default.
 *
 * As librpma does: syslog under the identity "rpma" and facility local7 for
 * all that passes the main threshold, stderr besides for what passes the
 * auxiliary one.
 */
#define _GNU_SOURCE

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <syslog.h>
#include <time.h>
#include <unistd.h>

#include "log.h"

static rpma_log_function log_default;

_Atomic(enum rpma_log_level) log_thresholds[RPMA_LOG_THRESHOLD_MAX] = {
	[RPMA_LOG_THRESHOLD] = RPMA_LOG_LEVEL_WARNING,
	[RPMA_LOG_THRESHOLD_AUX] = RPMA_LOG_DISABLED,
};

_Atomic(rpma_log_function *) log_function = log_default;

static const struct {
	const char *name;
	int priority;
} levels[] = {
	[RPMA_LOG_LEVEL_FATAL] = { "*FATAL* ", LOG_CRIT },
	[RPMA_LOG_LEVEL_ERROR] = { "*ERROR* ", LOG_ERR },
	[RPMA_LOG_LEVEL_WARNING] = { "*WARN*  ", LOG_WARNING },
	[RPMA_LOG_LEVEL_NOTICE] = { "*NOTE*  ", LOG_NOTICE },
	[RPMA_LOG_LEVEL_INFO] = { "*INFO*  ", LOG_INFO },
	[RPMA_LOG_LEVEL_DEBUG] = { "*DEBUG* ", LOG_DEBUG },
};

static void print(const char *level, const char *where, const char *message)
{
	char date[32] = "";
	struct timespec now;
	struct tm tm;

	clock_gettime(CLOCK_REALTIME, &now);
	if (localtime_r(&now.tv_sec, &tm))
		strftime(date, sizeof(date), "%b %d %H:%M:%S", &tm);
	fprintf(stderr, "%s.%06ld [%d] %s%s%s", date, now.tv_nsec / 1000, (int)gettid(), level,
		where, message);
}

static void log_default(enum rpma_log_level level, const char *file_name, const int line_no,
			const char *function_name, const char *message_format, ...)
{
	char message[1024], where[256] = "";
	const char *base;
	va_list args;
	int ret;

	if (level < RPMA_LOG_LEVEL_FATAL || level > RPMA_LOG_LEVEL_DEBUG)
		return;

	va_start(args, message_format);
	ret = vsnprintf(message, sizeof(message), message_format, args);
	va_end(args);
	if (ret < 0)
		return;

	if (file_name) {
		base = strrchr(file_name, '/');
		snprintf(where, sizeof(where), "%s: %3d: %s: ", base ? base + 1 : file_name,
			 line_no, function_name);
	}

	if (level <= atomic_load(&log_thresholds[RPMA_LOG_THRESHOLD_AUX]))
		print(levels[level].name, where, message);
	syslog(levels[level].priority, "%s%s%s", levels[level].name, where, message);
}

__attribute__((constructor)) static void log_init(void)
{
	openlog("rpma", LOG_PID, LOG_LOCAL7);
}

/* syslog(3) keeps a pointer to the identity, which goes with the library. */
__attribute__((destructor)) static void log_exit(void)
{
	closelog();
}

static bool is_threshold(enum rpma_log_threshold threshold)
{
	return threshold == RPMA_LOG_THRESHOLD || threshold == RPMA_LOG_THRESHOLD_AUX;
}

int rpma_log_set_threshold(enum rpma_log_threshold threshold, enum rpma_log_level level)
{
	if (!is_threshold(threshold) || level < RPMA_LOG_DISABLED || level > RPMA_LOG_LEVEL_DEBUG)
		return RPMA_E_INVAL;
	atomic_store(&log_thresholds[threshold], level);
	return 0;
}

int rpma_log_get_threshold(enum rpma_log_threshold threshold, enum rpma_log_level *level)
{
	if (!is_threshold(threshold) || !level)
		return RPMA_E_INVAL;
	*level = atomic_load(&log_thresholds[threshold]);
	return 0;
}

int rpma_log_set_function(rpma_log_function *function)
{
	atomic_store(&log_function, function ? function : log_default);
	return 0;
}
