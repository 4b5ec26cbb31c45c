// SPDX-License-Identifier: BSD-3-Clause
/* Connections: events and properties. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "unit_test.h"

static int complaints;

/* What the kernel is told when the environment has @word. */
static uint32_t peer_timeout_with(const char *word)
{
	struct rpma_peer *peer;
	struct rpma_conn *conn;
	uint32_t ms;

	setenv("RPMA_PEER_TIMEOUT_MS", word, 1);
	logged[0] = '\0';
	peer = make_peer();
	complaints += !!strstr(logged, "RPMA_PEER_TIMEOUT_MS=");
	unsetenv("RPMA_PEER_TIMEOUT_MS");
	conn = make_conn(peer, NULL);
	ms = fake.queues.peer_timeout_ms;
	rpma_conn_delete(&conn);
	rpma_peer_delete(&peer);
	return ms;
}

void test_peer_timeout(void)
{
	static const char *const nonsense[] = { "99", "-1", "4294967295", "1e3", "1000 ms", "Never" };
	size_t i;

	ok(peer_timeout_with("") == 0, "peer timeout: the kernel's");
	ok(peer_timeout_with("100") == 100 && peer_timeout_with("4294967294") == 4294967294,
	   "peer timeout: milliseconds");
	ok(peer_timeout_with("never") == UINT32_MAX, "peer timeout: never");
	rpma_log_set_threshold(RPMA_LOG_THRESHOLD, RPMA_LOG_LEVEL_ERROR);
	for (i = 0; i < sizeof(nonsense) / sizeof(nonsense[0]); i++)
		ok(peer_timeout_with(nonsense[i]) == 0, "peer timeout: not %s", nonsense[i]);
	ok(complaints == 1, "peer timeout: complains once");
	rpma_log_set_threshold(RPMA_LOG_THRESHOLD, RPMA_LOG_LEVEL_DEBUG);
}

void test_conn(struct rpma_peer *peer)
{
	static const struct {
		uint32_t type;
		enum rpma_conn_event event;
	} events[] = {
		{ RPMA_EVENT_ESTABLISHED, RPMA_CONN_ESTABLISHED },
		{ RPMA_EVENT_CLOSED, RPMA_CONN_CLOSED },
		{ RPMA_EVENT_LOST, RPMA_CONN_LOST },
		{ RPMA_EVENT_REJECTED, RPMA_CONN_REJECTED },
		{ RPMA_EVENT_UNREACHABLE, RPMA_CONN_UNREACHABLE },
	};
	struct rpma_conn_private_data pdata = { .ptr = memory, .len = 1 };
	struct rpma_conn *conn = make_conn(peer, NULL);
	struct rpma_cq *cq = NULL, *rcq = (void *)1;
	enum rpma_conn_event event;
	struct rpma_peer_cfg *cfg;
	uint32_t qp_num = 0;
	unsigned int i;
	int fd = -1;

	fake.query_ret = -ENODEV;
	ok(!rpma_conn_get_qp_num(conn, &qp_num) && qp_num == 0x123,
	   "conn: qp_num, whatever became of the device");
	fake.query_ret = 0;
	ok(!rpma_conn_get_private_data(conn, &pdata) && !pdata.ptr && !pdata.len,
	   "conn: no private data yet");
	fake.private_data = "answer";
	fake.private_data_len = 7;
	for (i = 0; i < sizeof(events) / sizeof(events[0]); i++) {
		fake.event.type = events[i].type;
		event = RPMA_CONN_UNDEFINED;
		ok(!rpma_conn_next_event(conn, &event) && event == events[i].event,
		   "conn: event %s", rpma_utils_conn_event_2str(events[i].event));
	}
	ok(!rpma_conn_get_private_data(conn, &pdata) && pdata.len == 7 &&
	   !memcmp(pdata.ptr, "answer", 7), "conn: the answer's private data");
	fake.event.type = 99;
	event = RPMA_CONN_LOST;
	ok(rpma_conn_next_event(conn, &event) == RPMA_E_UNKNOWN && event == RPMA_CONN_LOST,
	   "conn: unknown event");
	fake.event_ret = -EAGAIN;
	ok(rpma_conn_next_event(conn, &event) == RPMA_E_NO_EVENT, "conn: no event yet");
	fake.event_ret = 0;
	ok(rpma_conn_next_event(conn, &event) == RPMA_E_NO_EVENT, "conn: no event ever");
	fake.event_ret = -EINTR;
	ok(rpma_conn_next_event(conn, &event) == RPMA_E_PROVIDER && errno == EINTR,
	   "conn: a signal came");
	fake.event_ret = 0;
	ok(rpma_conn_next_event(NULL, &event) == RPMA_E_INVAL &&
	   rpma_conn_next_event(conn, NULL) == RPMA_E_INVAL, "conn: event of NULL");

	ok(!rpma_conn_get_event_fd(conn, &fd) && fd > 0, "conn: event descriptor");
	ok(!rpma_conn_get_qp_num(conn, &qp_num) && qp_num == 0x123, "conn: qp_num");
	ok(!rpma_conn_get_cq(conn, &cq) && cq, "conn: completion queue");
	ok(!rpma_conn_get_rcq(conn, &rcq) && !rcq, "conn: no receive completion queue");
	ok(rpma_conn_get_event_fd(NULL, &fd) == RPMA_E_INVAL &&
	   rpma_conn_get_event_fd(conn, NULL) == RPMA_E_INVAL &&
	   rpma_conn_get_qp_num(NULL, &qp_num) == RPMA_E_INVAL &&
	   rpma_conn_get_qp_num(conn, NULL) == RPMA_E_INVAL &&
	   rpma_conn_get_cq(NULL, &cq) == RPMA_E_INVAL &&
	   rpma_conn_get_cq(conn, NULL) == RPMA_E_INVAL &&
	   rpma_conn_get_rcq(NULL, &rcq) == RPMA_E_INVAL &&
	   rpma_conn_get_rcq(conn, NULL) == RPMA_E_INVAL &&
	   rpma_conn_get_private_data(NULL, &pdata) == RPMA_E_INVAL &&
	   rpma_conn_get_private_data(conn, NULL) == RPMA_E_INVAL, "conn: getters of NULL");

	rpma_peer_cfg_new(&cfg);
	rpma_peer_cfg_set_direct_write_to_pmem(cfg, true);
	ok(!rpma_conn_apply_remote_peer_cfg(conn, cfg) && fake.direct_write,
	   "conn: the kernel hears of direct write");
	ok(rpma_conn_apply_remote_peer_cfg(NULL, cfg) == RPMA_E_INVAL &&
	   rpma_conn_apply_remote_peer_cfg(conn, NULL) == RPMA_E_INVAL, "conn: apply NULL");
	fake.modify_ret = -ENODEV;
	ok(!rpma_conn_apply_remote_peer_cfg(conn, cfg), "conn: apply when the device is gone");
	fake.modify_ret = 0;
	rpma_peer_cfg_delete(&cfg);

	fake.disconnect_ret = -ENODEV;
	ok(!rpma_conn_disconnect(conn), "conn: disconnect when the device is gone");
	fake.disconnect_ret = 0;
	ok(!rpma_conn_disconnect(conn) && fake.linger_ms == 1000, "conn: disconnects in order");
	fake.disconnect_ret = -ENOTCONN;
	ok(!rpma_conn_disconnect(conn), "conn: never was connected");
	fake.disconnect_ret = -EINTR;
	ok(rpma_conn_disconnect(conn) == RPMA_E_PROVIDER && errno == EINTR,
	   "conn: disconnect interrupted");
	fake.disconnect_ret = 0;
	ok(rpma_conn_disconnect(NULL) == RPMA_E_INVAL, "conn: disconnect NULL");
	rpma_conn_delete(&conn);
}
