// SPDX-License-Identifier: GPL-2.0
/* How connections begin and end. */
#include <signal.h>
#include <sys/wait.h>

#include "interop.h"

/* ---- private data ---- */

/* What arrives: all the room there is, with zeros behind what was sent. */
static void check_private_data(const struct rpma_conn_private_data *got, size_t room,
			       unsigned int seed, size_t len)
{
	char image[REPLY_DATA] = { 0 };

	fill(image, len, seed);
	IS(room, got->len);
	SAME(image, got->ptr, room);
}

static const struct rpma_conn_private_data *data_of(struct rpma_conn_private_data *data, char *buf,
						    unsigned int seed, size_t len)
{
	fill(buf, len, seed);
	*data = (struct rpma_conn_private_data) { .ptr = buf, .len = len };
	return len ? data : NULL;
}

static void exchange(struct side *s, size_t request_len, size_t reply_len)
{
	struct rpma_conn_private_data got, data;
	struct rpma_conn_req *req = request(s, NULL);
	char buf[REPLY_DATA];
	struct line l;

	if (s->server) {
		OK(rpma_conn_req_get_private_data(req, &got));
		check_private_data(&got, REQUEST_DATA, 1, request_len);
		establish(req, data_of(&data, buf, 2, reply_len), &l);
	} else {
		establish(req, data_of(&data, buf, 1, request_len), &l);
	}
	OK(rpma_conn_get_private_data(l.conn, &got));
	if (s->server)
		check_private_data(&got, REQUEST_DATA, 1, request_len);
	else
		check_private_data(&got, REPLY_DATA, 2, reply_len);
	close_line(s, &l);
}

static void private_data_none(struct side *s)
{
	exchange(s, 0, 0);
}

static void private_data_one_byte(struct side *s)
{
	exchange(s, 1, 1);
}

static void private_data_max(struct side *s)
{
	exchange(s, REQUEST_DATA, REPLY_DATA);
}

/* One byte too many: nothing is sent, or what was to be accepted is rejected. */
static void private_data_too_long(struct side *s)
{
	struct rpma_conn_req *req = request(s, NULL);
	struct rpma_conn_private_data data;
	struct rpma_conn *conn = NULL;
	char buf[REPLY_DATA + 1];

	if (s->server) {
		data_of(&data, buf, 1, REPLY_DATA + 1);
		IS(RPMA_E_PROVIDER, rpma_conn_req_connect(&req, &data, &conn));
		TRUE(!req && !conn);
		SYNC();
		return;
	}
	data_of(&data, buf, 1, REQUEST_DATA + 1);
	IS(RPMA_E_PROVIDER, rpma_conn_req_connect(&req, &data, &conn));
	TRUE(!req && !conn);
	req = request(s, NULL);
	OK(rpma_conn_req_connect(&req, NULL, &conn));
	event_is(conn, RPMA_CONN_REJECTED);
	SYNC();
	OK(rpma_conn_delete(&conn));
}

/* A region's description, in the private data of the reply as programs send it. */
static void descriptor(struct side *s)
{
	int usage = RPMA_MR_USAGE_WRITE_DST | RPMA_MR_USAGE_FLUSH_TYPE_VISIBILITY, types = 0;
	struct rpma_conn_private_data data = { .len = DESC_SIZE };
	struct rpma_conn_req *req = request(s, NULL);
	struct rpma_mr_remote *remote = NULL;
	unsigned char desc[DESC_SIZE], same[DESC_SIZE];
	uint64_t place[2];
	struct memory m;
	struct line l;
	size_t size;

	if (s->server) {
		m = memory_new(s->peer, 12345, usage);
		OK(rpma_mr_get_descriptor_size(m.mr, &size));
		IS(DESC_SIZE, size);
		OK(rpma_mr_get_descriptor(m.mr, desc));
		data.ptr = desc;
		establish(req, &data, &l);
		put(desc, sizeof(desc));
		place[0] = htole64((uintptr_t)m.ptr);
		place[1] = htole64(m.size);
		put(place, sizeof(place));
	} else {
		establish(req, NULL, &l);
		OK(rpma_conn_get_private_data(l.conn, &data));
		get(same, sizeof(same));
		SAME(same, data.ptr, DESC_SIZE);
		get(place, sizeof(place));
		SAME(place, same, sizeof(place));
		TRUE(same[16] | same[17] | same[18] | same[19]);
		IS(usage, same[20]);
		/* Longer than it is, as it comes out of private data. */
		OK(rpma_mr_remote_from_descriptor(data.ptr, data.len, &remote));
		OK(rpma_mr_remote_get_size(remote, &size));
		IS(12345, size);
		OK(rpma_mr_remote_get_flush_type(remote, &types));
		IS(RPMA_MR_USAGE_FLUSH_TYPE_VISIBILITY, types);
		OK(rpma_mr_remote_delete(&remote));
	}
	close_line(s, &l);
	if (s->server)
		memory_free(&m);
}

/* ---- no connection ---- */

static void client_gets(struct side *s, const char *addr, const char *port,
			enum rpma_conn_event event)
{
	struct rpma_conn_req *req = NULL;
	struct rpma_conn *conn = NULL;

	OK(rpma_conn_req_new(s->peer, addr, port, NULL, &req));
	OK(rpma_conn_req_connect(&req, NULL, &conn));
	event_is(conn, event);
	OK(rpma_conn_delete(&conn));
}

static void reject(struct side *s)
{
	struct rpma_conn_req *req;

	if (s->server) {
		req = request(s, NULL);
		OK(rpma_conn_req_delete(&req));
		TRUE(!req);
	} else {
		client_gets(s, s->addr, s->port, RPMA_CONN_REJECTED);
	}
	SYNC();
}

static void closed_port(struct side *s)
{
	if (!s->server)
		client_gets(s, s->addr, s->closed_port, RPMA_CONN_REJECTED);
}

static void no_request_to(struct side *s, const char *addr)
{
	struct rpma_conn_req *req = NULL;

	if (s->server)
		return;
	IS(RPMA_E_PROVIDER, rpma_conn_req_new(s->peer, addr, s->port, NULL, &req));
	TRUE(!req);
}

static void no_route(struct side *s)
{
	no_request_to(s, "192.0.2.1");
}

/* On a real link an address of nobody does not even resolve. */
static void host_is_off(struct side *s)
{
	no_request_to(s, s->dead_addr);
}

/* Where an address needs no resolving, only the handshake tells, after a minute. */
static void unreachable(struct side *s)
{
	if (!s->server)
		client_gets(s, s->dead_addr, s->port, RPMA_CONN_UNREACHABLE);
}

/* ---- ends ---- */

static void ends(struct side *s, bool by_server)
{
	struct memory m = memory_new(s->peer, 4096, RPMA_MR_USAGE_RECV);
	struct line l;

	connect_line(s, NULL, &l);
	for (int i = 0; i < 2; i++)
		OK(rpma_recv(l.conn, m.mr, 0, 64, CONTEXT(i)));
	disconnect_line(s, by_server, &l);
	for (int i = 0; i < 2; i++)
		EXPECT_ERROR(&l, l.cq, CONTEXT(i), IBV_WC_WR_FLUSH_ERR);
	no_more(l.cq);
	OK(rpma_conn_delete(&l.conn));
	memory_free(&m);
}

static void client_disconnects(struct side *s)
{
	ends(s, false);
}

static void server_disconnects(struct side *s)
{
	ends(s, true);
}

/* In flight for sure: nobody over there receives. */
static void server_killed(struct side *s)
{
	struct memory m = memory_new(s->peer, 4096, RPMA_MR_USAGE_SEND);
	struct line l;

	connect_line(s, NULL, &l);
	if (!s->server)
		for (int i = 0; i < 4; i++)
			OK(rpma_send(l.conn, m.mr, 0, 64, ALWAYS, CONTEXT(i)));
	s->killed = true;
	SYNC();
	if (s->server)
		raise(SIGKILL);
	event_is(l.conn, RPMA_CONN_CLOSED);
	OK(rpma_conn_disconnect(l.conn));
	for (int i = 0; i < 4; i++)
		EXPECT_ERROR(&l, l.cq, CONTEXT(i), IBV_WC_WR_FLUSH_ERR);
	no_more(l.cq);
	OK(rpma_conn_delete(&l.conn));
	memory_free(&m);
}

/* Says one thing and waits for its death, with more in flight. */
void be_doomed(struct side *s)
{
	struct memory m;
	struct line l;

	s->peer = new_peer(s);
	m = memory_new(s->peer, 4096, RPMA_MR_USAGE_SEND);
	connect_line(s, NULL, &l);
	for (int i = 0; i < 4; i++)
		OK(rpma_send(l.conn, m.mr, 0, 64, ALWAYS, CONTEXT(i)));
	for (;;)
		pause();
}

/* Not a fork, which would share what the library has open with its parent. */
static pid_t start_doomed(struct side *s)
{
	pid_t pid = fork();

	if (!pid) {
		execl("/proc/self/exe", "interop", "doomed", s->addr, s->port,
		      s->ours ? "ours" : "real", NULL);
		_exit(1);
	}
	return pid;
}

static void client_killed(struct side *s)
{
	struct memory m;
	struct line l;
	pid_t pid;
	int status;

	if (!s->server) {
		pid = start_doomed(s);
		SYNC();
		IS(0, kill(pid, SIGKILL));
		IS(pid, waitpid(pid, &status, 0));
		TRUE(WIFSIGNALED(status));
		SYNC();
		return;
	}
	m = memory_new(s->peer, 4096, RPMA_MR_USAGE_RECV);
	connect_line(s, NULL, &l);
	OK(rpma_recv(l.conn, m.mr, 0, 64, CONTEXT(0)));
	IS(64, EXPECT_WC(&l, l.cq, CONTEXT(0), IBV_WC_RECV).byte_len);
	SYNC();
	event_is(l.conn, RPMA_CONN_CLOSED);
	OK(rpma_conn_disconnect(l.conn));
	no_more(l.cq);
	OK(rpma_conn_delete(&l.conn));
	memory_free(&m);
	SYNC();
}

/* ---- several at a time ---- */

#define LINES 4

static void several(struct side *s)
{
	struct memory m = memory_new(s->peer, 4096, RPMA_MR_USAGE_RECV | RPMA_MR_USAGE_SEND);
	struct line l[LINES];
	char image[64];

	for (int i = 0; i < LINES; i++) {
		connect_line(s, NULL, &l[i]);
		for (int j = 0; j < i; j++)
			TRUE(l[i].qp_num != l[j].qp_num);
		if (s->server)
			OK(rpma_recv(l[i].conn, m.mr, i * 64, 64, CONTEXT(i)));
	}
	SYNC();
	for (int i = LINES; i-- > 0; ) {
		if (s->server) {
			IS(64, EXPECT_WC(&l[i], l[i].cq, CONTEXT(i), IBV_WC_RECV).byte_len);
			fill(image, 64, i);
			SAME(image, m.ptr + i * 64, 64);
		} else {
			fill(m.ptr + i * 64, 64, i);
			OK(rpma_send(l[i].conn, m.mr, i * 64, 64, ALWAYS, CONTEXT(i)));
			EXPECT_WC(&l[i], l[i].cq, CONTEXT(i), IBV_WC_SEND);
		}
	}
	for (int i = 0; i < LINES; i++)
		close_line(s, &l[i]);
	memory_free(&m);
}

const struct scenario life_scenarios[] = {
	{ "private_data_none", private_data_none, 0 },
	{ "private_data_one_byte", private_data_one_byte, 0 },
	{ "private_data_max", private_data_max, 0 },
	{ "private_data_too_long", private_data_too_long, 0 },
	{ "descriptor", descriptor, 0 },
	{ "reject", reject, 0 },
	{ "closed_port", closed_port, 0 },
	{ "no_route", no_route, 0 },
	{ "client_disconnects", client_disconnects, 0 },
	{ "server_disconnects", server_disconnects, 0 },
	{ "several", several, 0 },
	{ "client_killed", client_killed, 0 },
	{ "server_killed", server_killed, 0 },
	{ "unreachable", unreachable, DEAD_ADDR },
	{ "host_is_off", host_is_off, DEAD_ADDR },
	{ 0 }
};
