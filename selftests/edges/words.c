// SPDX-License-Identifier: GPL-2.0
/* Words, logging, and what finds a device. */
#include "edges.h"

#include <limits.h>
#include <stdio.h>

static void errors(struct world *w)
{
	static const int rets[] = {
		0, 1, -1, INT_MIN, INT_MAX, -99999, -100000, -100001, -100002, -100003, -100004,
		-100005, -100006, -100007, -100008, -100009, -100010, 100004,
	};

	for (size_t i = 0; i < ARRAY_SIZE(rets); i++)
		if (edge("rpma_err_2str", "%d", rets[i]))
			outcome(0, "\"%s\"", rpma_err_2str(rets[i]));
}

static void events(struct world *w)
{
	for (int i = -3; i <= 6; i++)
		if (edge("rpma_utils_conn_event_2str", "%d", i))
			outcome(0, "\"%s\"", rpma_utils_conn_event_2str(i));
}

/* ---- logging ---- */

static const int levels[] = { INT_MIN, -2, -1, 0, 1, 2, 3, 4, 5, 6, INT_MAX };

static void thresholds(struct world *w)
{
	enum rpma_log_level level;
	int ret;

	for (int which = -1; which <= 3; which++)
		for (size_t i = 0; i < ARRAY_SIZE(levels); i++)
			if (edge("rpma_log_set_threshold", "threshold=%d level=%d", which,
				 levels[i])) {
				ret = got(rpma_log_set_threshold(which, levels[i]));
				level = 77;
				if (which == 0 || which == 1)
					rpma_log_get_threshold(which, &level);
				outcome(ret, "then=%d", level);
				rpma_log_set_threshold(RPMA_LOG_THRESHOLD, RPMA_LOG_DISABLED);
			}
	for (int which = -1; which <= 3; which++)
		if (edge("rpma_log_get_threshold", "threshold=%d", which)) {
			level = 77;
			ret = got(rpma_log_get_threshold(which, &level));
			/* The children begin by setting the first one. */
			outcome(ret, "level=%d", which ? (int)level : 0);
		}
	TRY(rpma_log_get_threshold, "level=NULL", RPMA_LOG_THRESHOLD, NULL);
	TRY(rpma_log_get_threshold, "aux level=NULL", RPMA_LOG_THRESHOLD_AUX, NULL);
}

static void defaults(struct world *w)
{
	enum rpma_log_level level = 77;
	int ret;

	if (edge("rpma_log_get_threshold", "aux at first")) {
		ret = got(rpma_log_get_threshold(RPMA_LOG_THRESHOLD_AUX, &level));
		outcome(ret, "level=%d", level);
	}
}

static int messages, message_level;

static void take(enum rpma_log_level level, const char *file_name, const int line_no,
		 const char *function_name, const char *message_format, ...)
{
	messages++;
	message_level = level;
}

/* A call that fails with a message of level ERROR. */
static void fail_loudly(void)
{
	struct rpma_mr_remote *remote;
	char desc[DESC_SIZE] = "";

	messages = 0;
	rpma_mr_remote_from_descriptor(desc, 1, &remote);
}

static void function(struct world *w)
{
	int ret;

	for (int level = -1; level <= 5; level++)
		if (edge("rpma_log_set_function", "ours, an ERROR at threshold %d", level)) {
			ret = got(rpma_log_set_function(take));
			rpma_log_set_threshold(RPMA_LOG_THRESHOLD, level);
			fail_loudly();
			rpma_log_set_threshold(RPMA_LOG_THRESHOLD, RPMA_LOG_DISABLED);
			outcome(ret, "called=%s level=%d", messages ? "yes" : "no",
				messages ? message_level : 0);
		}
	if (edge("rpma_log_set_function", "NULL, the default again")) {
		rpma_log_set_function(take);
		ret = got(rpma_log_set_function(NULL));
		rpma_log_set_threshold(RPMA_LOG_THRESHOLD, RPMA_LOG_LEVEL_ERROR);
		fail_loudly();
		rpma_log_set_threshold(RPMA_LOG_THRESHOLD, RPMA_LOG_DISABLED);
		outcome(ret, "called=%s", messages ? "yes" : "no");
	}
}

/* ---- devices ---- */

static const char *name_of(const struct ibv_context *context)
{
	if (!context || context == POISON)
		return state_of(context);
	return context->device->name;
}

static void find(const char *name, const char *addr, int type)
{
	struct ibv_context *context = POISON;
	int ret;

	if (edge("rpma_utils_get_ibv_context", "%s type=%d", name, type)) {
		ret = got(rpma_utils_get_ibv_context(addr, type, &context));
		outcome(ret, "context=%s", name_of(context));
	}
}

static void contexts(struct world *w)
{
	const char *addr6 = getenv("RPMA_TEST_ADDR6");

	for (int type = -1; type <= 2; type++) {
		find("addr=NULL", NULL, type);
		find("own address", address(), type);
	}
	for (int type = 0; type <= 1; type++) {
		find("own IPv6 address", addr6 ? addr6 : "fd07::1", type);
		find("empty address", "", type);
		find("no address", "10.7.7", type);
		find("256.1.1.1", "256.1.1.1", type);
		find("no such host", "no-such-host", type);
		find("no route", "192.0.2.1", type);
		find("no device there", "127.0.0.1", type);
		find("any address", "0.0.0.0", type);
		find("a neighbour's address", "10.7.7.99", type);
	}
	for (int type = -1; type <= 2; type++)
		if (edge("rpma_utils_get_ibv_context", "context=NULL type=%d", type))
			outcome(got(rpma_utils_get_ibv_context(address(), type, NULL)), NULL);
}

static void context_kept(struct world *w)
{
	struct ibv_context *a = POISON, *b = NULL;
	int ret;

	if (edge("rpma_utils_get_ibv_context", "twice")) {
		ret = got(rpma_utils_get_ibv_context(address(), 0, &a) ||
			  rpma_utils_get_ibv_context(address(), 1, &b));
		outcome(ret, "%s", a == b ? "same context" : "two contexts");
	}
}

static void odp(struct world *w)
{
	int capable = 77, ret;

	TRY(rpma_utils_ibv_context_is_odp_capable, "context=NULL", NULL, &capable);
	TRY(rpma_utils_ibv_context_is_odp_capable, "capable=NULL", w->context, NULL);
	TRY(rpma_utils_ibv_context_is_odp_capable, "both NULL", NULL, NULL);
	if (edge("rpma_utils_ibv_context_is_odp_capable", "rxe")) {
		ret = got(rpma_utils_ibv_context_is_odp_capable(w->context, &capable));
		outcome(ret, "capable=%d", capable);
	}
}

const struct scene scenes_words[] = {
	{ "errors", .run = errors },
	{ "event_words", .run = events },
	{ "log_default", .run = defaults },
	{ "log_thresholds", .run = thresholds },
	{ "log_function", .run = function },
	{ "contexts", .run = contexts },
	{ "context_kept", .run = context_kept },
	{ "odp", .run = odp, .setup = world_peer },
	{ }
};
