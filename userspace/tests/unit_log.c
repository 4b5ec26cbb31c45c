// SPDX-License-Identifier: BSD-3-Clause
/* Names and logging. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "unit_test.h"

void test_names(void)
{
	static const struct {
		int err;
		const char *name;
	} errs[] = {
		/* programs print them: librpma's words */
		{ 0, "Success" },
		{ RPMA_E_UNKNOWN, "Unknown error" },
		{ RPMA_E_NOSUPP, "Not supported" },
		{ RPMA_E_PROVIDER, "Provider error occurred" },
		{ RPMA_E_NOMEM, "Out of memory" },
		{ RPMA_E_INVAL, "Invalid argument" },
		{ RPMA_E_NO_COMPLETION, "No next completion available" },
		{ RPMA_E_NO_EVENT, "No next event available" },
		{ RPMA_E_AGAIN, "Temporary error, try again" },
		{ RPMA_E_SHARED_CHANNEL, "Completion channel is shared" },
		{ RPMA_E_NOT_SHARED_CHNL, "Completion channel is not shared" },
		{ 1, "Unknown error" },
		{ -1, "Unknown error" },
		{ RPMA_E_NOT_SHARED_CHNL - 1, "Unknown error" },
	};
	static const char *const events[] = {
		"Undefined connection event", "Connection established", "Connection closed",
		"Connection lost", "Connection rejected", "Connection unreachable",
		"Unsupported connection event",
	};
	int i;

	for (i = 0; i < (int)(sizeof(errs) / sizeof(errs[0])); i++)
		ok(!strcmp(rpma_err_2str(errs[i].err), errs[i].name), "err: %d is \"%s\"",
		   errs[i].err, errs[i].name);
	for (i = RPMA_CONN_UNDEFINED; i <= RPMA_CONN_UNREACHABLE + 1; i++)
		ok(!strcmp(rpma_utils_conn_event_2str(i), events[i + 1]), "event: %d is \"%s\"", i,
		   events[i + 1]);
}

void test_log(void)
{
	enum rpma_log_level level = RPMA_LOG_LEVEL_DEBUG;

	ok(!rpma_log_get_threshold(RPMA_LOG_THRESHOLD, &level) && level == RPMA_LOG_LEVEL_WARNING,
	   "log: warnings at first");
	ok(!rpma_log_get_threshold(RPMA_LOG_THRESHOLD_AUX, &level) && level == RPMA_LOG_DISABLED,
	   "log: nothing to stderr at first");
	ok(rpma_log_set_threshold(RPMA_LOG_THRESHOLD_MAX, RPMA_LOG_LEVEL_INFO) == RPMA_E_INVAL &&
	   rpma_log_set_threshold(-1, RPMA_LOG_LEVEL_INFO) == RPMA_E_INVAL &&
	   rpma_log_set_threshold(RPMA_LOG_THRESHOLD, RPMA_LOG_DISABLED - 1) == RPMA_E_INVAL &&
	   rpma_log_set_threshold(RPMA_LOG_THRESHOLD, RPMA_LOG_LEVEL_DEBUG + 1) == RPMA_E_INVAL &&
	   rpma_log_get_threshold(RPMA_LOG_THRESHOLD_MAX, &level) == RPMA_E_INVAL &&
	   rpma_log_get_threshold(RPMA_LOG_THRESHOLD, NULL) == RPMA_E_INVAL,
	   "log: bad thresholds");

	ok(!rpma_log_set_function(keep_log), "log: a function of one's own");
	errno = ERANGE;
	rpma_mr_remote_from_descriptor("", 1, &(struct rpma_mr_remote *){ NULL });
	ok(strstr(logged, "1 bytes") && logged[strlen(logged) - 1] == '\n' &&
	   logged_level == RPMA_LOG_LEVEL_ERROR, "log: gets whole lines");
	ok(errno == ERANGE, "log: leaves errno alone");
	logged[0] = '\0';
	rpma_log_set_threshold(RPMA_LOG_THRESHOLD, RPMA_LOG_DISABLED);
	rpma_mr_remote_from_descriptor("", 1, &(struct rpma_mr_remote *){ NULL });
	ok(!logged[0], "log: nothing when disabled");
	rpma_log_set_threshold(RPMA_LOG_THRESHOLD, RPMA_LOG_LEVEL_DEBUG);
}

/* What the library's own function writes to stderr, which is a file meanwhile. */
static void to_stderr(enum rpma_log_level aux, char *text, size_t size)
{
	FILE *file = tmpfile();
	int saved = dup(STDERR_FILENO);
	size_t len;

	if (!file || saved < 0)
		abort();
	rpma_log_set_threshold(RPMA_LOG_THRESHOLD_AUX, aux);
	dup2(fileno(file), STDERR_FILENO);
	rpma_mr_remote_from_descriptor("", 1, &(struct rpma_mr_remote *){ NULL });
	dup2(saved, STDERR_FILENO);
	close(saved);
	rewind(file);
	len = fread(text, 1, size - 1, file);
	text[len] = '\0';
	fclose(file);
	rpma_log_set_threshold(RPMA_LOG_THRESHOLD_AUX, RPMA_LOG_DISABLED);
}

void test_log_default(void)
{
	enum rpma_log_level level, got;
	char text[1024];
	int same = 1;

	for (level = RPMA_LOG_DISABLED; (int)level <= RPMA_LOG_LEVEL_DEBUG; level++)
		same &= !rpma_log_set_threshold(RPMA_LOG_THRESHOLD_AUX, level) &&
			!rpma_log_get_threshold(RPMA_LOG_THRESHOLD_AUX, &got) && got == level;
	ok(same, "log: every level is a threshold");
	got = 77;
	ok(rpma_log_get_threshold(RPMA_LOG_THRESHOLD_MAX, &got) == RPMA_E_INVAL && (int)got == 77,
	   "log: a failure stores nothing");

	ok(!rpma_log_set_function(RPMA_LOG_USE_DEFAULT_FUNCTION), "log: back to the default");
	to_stderr(RPMA_LOG_LEVEL_ERROR, text, sizeof(text));
	ok(strstr(text, "*ERROR* mr.c: ") && strstr(text, ": rpma_mr_remote_from_descriptor: 1 bytes") &&
	   strchr(text, '\n') == text + strlen(text) - 1, "log: one line to stderr");
	to_stderr(RPMA_LOG_LEVEL_FATAL, text, sizeof(text));
	ok(!text[0], "log: nothing to stderr above its threshold");
	rpma_log_set_function(keep_log);
}
