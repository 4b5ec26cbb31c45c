// SPDX-License-Identifier: BSD-3-Clause
/* Names and logging. */
#include <errno.h>
#include <string.h>

#include "unit_test.h"

void test_names(void)
{
	int i, j, distinct = 1;

	for (i = RPMA_E_NOT_SHARED_CHNL; i <= RPMA_E_UNKNOWN; i++)
		for (j = RPMA_E_NOT_SHARED_CHNL; j < i; j++)
			distinct &= strcmp(rpma_err_2str(i), rpma_err_2str(j)) != 0;
	ok(distinct, "err: every code has its own name");
	ok(!strcmp(rpma_err_2str(0), "Success"), "err: success");
	ok(!strcmp(rpma_err_2str(1), rpma_err_2str(RPMA_E_UNKNOWN)), "err: anything else");
	distinct = 1;
	for (i = RPMA_CONN_UNDEFINED; i <= RPMA_CONN_UNREACHABLE + 1; i++)
		for (j = RPMA_CONN_UNDEFINED; j < i; j++)
			distinct &= strcmp(rpma_utils_conn_event_2str(i),
					   rpma_utils_conn_event_2str(j)) != 0;
	ok(distinct, "event: every event has its own name");
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
