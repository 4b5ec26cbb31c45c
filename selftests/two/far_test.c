// SPDX-License-Identifier: GPL-2.0
/*
 * Against another machine (far_target at PEER4 and PEER6): data, what a flush
 * looks like on the wire, answers of hosts that say no, and the other
 * machine's death. That one comes last: nobody is there afterwards.
 */
#include "../rpma_pair.h"
#include "../wire/roce.h"
#include "far.h"

#define DEEP 64

FIXTURE(far) {
	struct pair p;
	struct side *c;
	struct region there[FAR_REGIONS];
};

FIXTURE_VARIANT(far) {
	bool ipv6;
};

FIXTURE_VARIANT_ADD(far, ipv4) { .ipv6 = false };
FIXTURE_VARIANT_ADD(far, ipv6) { .ipv6 = true };

/* Everything but a listener and the other side's half. */
static void far_prepare(struct __test_metadata *_metadata, struct pair *p, bool ipv6)
{
	memset(p, 0, sizeof(*p));
	p->opts = (struct pair_opts){
		.addr = test_env(ipv6 ? "PEER6" : "PEER4", ipv6 ? "fd07::1" : "10.7.7.1"),
		.sq_size = DEEP,
		.rq_size = 4,
		.cq_entries = 128,
		.length = FAR_BIG,
		.access = ACCESS_ALL,
		.peer_timeout_ms = 2000,
	};
	p->port = FAR_PORT_NR;
	p->ep = -1;
	p->fd = rpma_open(_metadata);
	p->peer = peer_new(_metadata, p->fd);
	side_init(_metadata, p, &p->client);
}

/* The regions that came with the answer. */
static void far_learn(struct __test_metadata *_metadata, struct pair *p, struct region *there)
{
	struct rpma_ioc_conn_query q = ioc_conn_query(p->fd, .conn_fd = p->client.conn);

	ASSERT_LE(FAR_OFFER_SIZE, q.out_private_data_len);
	for (size_t i = 0; i < FAR_REGIONS; i++) {
		const __u8 *desc = q.out_private_data + i * FAR_DESC_SIZE;

		memcpy(&there[i].addr, desc, 8);
		memcpy(&there[i].length, desc + 8, 8);
		memcpy(&there[i].rkey, desc + 16, 4);
		there[i].access = desc[20];
		ASSERT_EQ(far_sizes[i], there[i].length);
	}
}

static void far_connect(struct __test_metadata *_metadata, struct pair *p, struct region *there)
{
	client_create(_metadata, p, &p->client);
	ioc_conn_connect(p->fd, .conn_fd = p->client.conn);
	expect_event(p->client.conn, RPMA_EVENT_ESTABLISHED);
	far_learn(_metadata, p, there);
}

static void far_close(struct pair *p)
{
	side_close(&p->client);
	close(p->fd);
}

FIXTURE_SETUP(far)
{
	SKIP_WITHOUT_RPMA();
	far_prepare(_metadata, &self->p, variant->ipv6);
	far_connect(_metadata, &self->p, self->there);
	self->c = &self->p.client;
}

FIXTURE_TEARDOWN(far)
{
	far_close(&self->p);
}

#define BIG (FAR_REGIONS - 1)

static void pattern(__u8 *to, __u64 len, unsigned int seed)
{
	for (__u64 i = 0; i < len; i++)
		to[i] = (seed = seed * 1103515245 + 12345) >> 16;
}

TEST_F_TIMEOUT(far, what_was_flushed_reads_back, WAIT_SECONDS)
{
	const __u64 lens[] = { 1, 7, 8, 9, 1000, 4095, 4096, 4097, 65536, 300000 };
	struct region *big = &self->there[BIG];
	const __u64 half = FAR_BIG / 2;

	for (int i = 0; i < 10; i++) {
		__u64 len = lens[i];
		struct rpma_request r[3] = {
			req_write(1, 0, &self->c->mem, 0, big, 100 + i, len),
			req_flush(2, SIGNALED, big, 100 + i, len),
			req_read(3, SIGNALED, &self->c->mem, half, big, 100 + i, len),
		};

		pattern(self->c->mem.addr, len, i);
		ioc_post(self->c->conn, r, 3);
		expect_completion(self->c->cq, 2, RPMA_OP_FLUSH, 0);
		expect_completion(self->c->cq, 3, RPMA_OP_READ, 0);
		ASSERT_EQ(0, memcmp(self->c->mem.addr, self->c->mem.addr + half, len));
	}
}

/* ---- the wire ---- */

static const char *test_link(void)
{
	return test_env("RPMA_TEST_NETDEV", "eth0");
}

static void wire_forget(int wire)
{
	struct roce_packet p;

	while (roce_next_sent(wire, &p))
		;
}

/* One READ request of 1 to 8 bytes inside the flushed range, and no other request. */
static void expect_flush_on_wire(struct __test_metadata *_metadata, int wire,
				 const struct region *to, __u64 offset, __u64 len)
{
	__u64 start = (uintptr_t)to->addr, end = start + to->length;
	struct roce_packet p, read = {};
	int reads = 0;

	while (roce_next_sent(wire, &p)) {
		if (p.opcode == ROCE_ACKNOWLEDGE)
			continue;
		ASSERT_EQ(ROCE_READ_REQUEST, p.opcode);
		read = p;
		reads++;
	}
	ASSERT_EQ(1, reads);
	EXPECT_EQ(to->rkey, read.rkey);
	EXPECT_LE(1, read.len);
	EXPECT_GE(8, read.len);
	EXPECT_LE(start, read.va);
	EXPECT_GE(end, read.va + read.len);
	if (len) {
		EXPECT_LE(start + offset, read.va);
		EXPECT_GE(start + offset + len, read.va + read.len);
	}
}

TEST_F_TIMEOUT(far, flush_stays_inside_its_range_on_the_wire, WAIT_SECONDS)
{
	const __u64 lens[] = { 0, 1, 7, 8, 9, 4095, 4096, FAR_BIG };
	int wire = roce_listen(test_link());

	ASSERT_LE(0, wire);
	for (size_t region = 0; region < FAR_REGIONS; region++) {
		struct region *to = &self->there[region];

		for (int i = 0; i < 8 && lens[i] <= to->length; i++) {
			for (int at_end = 0; at_end < 2; at_end++) {
				__u64 offset = at_end ? to->length - lens[i] : 0;
				struct rpma_request r = req_flush(i, SIGNALED, to, offset,
								  lens[i]);

				wire_forget(wire);
				ioc_post(self->c->conn, &r, 1);
				expect_completion(self->c->cq, i, RPMA_OP_FLUSH, 0);
				expect_flush_on_wire(_metadata, wire, to, offset, lens[i]);
			}
		}
	}
	close(wire);
}

TEST_F_TIMEOUT(far, what_is_refused_does_not_reach_the_wire, WAIT_SECONDS)
{
	const __u64 max = ~0ULL, two32 = 1ULL << 32, two63 = 1ULL << 63;
	const struct { __u64 offset, len; } bad[] = {
		{ FAR_BIG, 1 }, { FAR_BIG - 7, 8 }, { two32 - 1, 2 }, { two32, 0 },
		{ two63, two63 }, { max, 1 }, { 1, max }, { max - 7, 8 }, { max, max },
	};
	int wire = roce_listen(test_link());
	struct rpma_request r;
	struct roce_packet p;

	ASSERT_LE(0, wire);
	wire_forget(wire);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		r = req_flush(1, SIGNALED, &self->there[BIG], bad[i].offset, bad[i].len);
		ioc_err_post(EINVAL, self->c->conn, &r, 1);
		r = req_write(1, SIGNALED, &self->c->mem, 0, &self->there[BIG], bad[i].offset, 8);
		if (bad[i].offset > FAR_BIG - 8)
			ioc_err_post(EINVAL, self->c->conn, &r, 1);
	}
	r = req_flush(1, SIGNALED, &self->there[BIG], 0, 8);
	r.placement = RPMA_FLUSH_PERSISTENT;
	ioc_err_post(EOPNOTSUPP, self->c->conn, &r, 1);
	usleep(200000);
	while (roce_next_sent(wire, &p))
		ASSERT_EQ(ROCE_ACKNOWLEDGE, p.opcode);
	close(wire);
}

/* The READ stands behind the WRITEs it covers: later in the sequence. */
TEST_F_TIMEOUT(far, flush_follows_its_writes_on_the_wire, WAIT_SECONDS)
{
	struct region *big = &self->there[BIG];
	int wire = roce_listen(test_link());
	struct rpma_request r[4];
	uint32_t last_write = 0, read_psn = 0, first = 0;
	struct roce_packet p;
	int writes = 0, reads = 0;

	ASSERT_LE(0, wire);
	for (int i = 0; i < 3; i++)
		r[i] = req_write(i, 0, &self->c->mem, 0, big, i * 8192, 6000);
	r[3] = req_flush(3, SIGNALED, big, 0, 3 * 8192);
	wire_forget(wire);
	ioc_post(self->c->conn, r, 4);
	expect_completion(self->c->cq, 3, RPMA_OP_FLUSH, 0);
	while (roce_next_sent(wire, &p)) {
		if (p.opcode == ROCE_ACKNOWLEDGE)
			continue;
		if (!writes && !reads)
			first = p.psn;
		if (p.opcode == ROCE_READ_REQUEST) {
			read_psn = (p.psn - first) & 0xffffff;
			reads++;
		} else {
			last_write = (p.psn - first) & 0xffffff;
			writes++;
		}
	}
	EXPECT_LE(3, writes);
	ASSERT_EQ(1, reads);
	EXPECT_LT(last_write, read_psn);
	close(wire);
}

/* ---- those who say no ---- */

TEST_F_TIMEOUT(far, rejection_and_closed_port_are_told_apart, 2 * WAIT_SECONDS)
{
	struct side no = side_new(_metadata, &self->p), closed = side_new(_metadata, &self->p);
	struct pair p = self->p;
	struct rpma_event event;

	p.port = FAR_PORT_REJECTING_NR;
	client_create(_metadata, &p, &no);
	ioc_conn_connect(p.fd, .conn_fd = no.conn);
	event = next_event(_metadata, no.conn);
	EXPECT_EQ(RPMA_EVENT_REJECTED, event.type);
	EXPECT_EQ(28, event.status);

	p.port = 7399;
	client_create(_metadata, &p, &closed);
	ioc_conn_connect(p.fd, .conn_fd = closed.conn);
	event = next_event(_metadata, closed.conn);
	EXPECT_EQ(RPMA_EVENT_REJECTED, event.type);
	EXPECT_EQ(8, event.status);

	side_close(&no);
	side_close(&closed);
}

/* On a real link a host that is off does not even resolve. */
TEST_F_TIMEOUT(far, host_that_is_off_is_unreachable, WAIT_SECONDS)
{
	struct rpma_ioc_conn_create cmd = { .peer = self->p.peer, .timeout_ms = 20000 };
	struct side dead = side_new(_metadata, &self->p);

	cmd.queues = side_queues(&dead, &self->p.opts);
	addr_set(cmd.addr, variant->ipv6 ? "fd07::dead" : "10.7.7.222", FAR_PORT_NR);
	ASSERT_EQ(-1, _ioc_conn_create(self->p.fd, &cmd));
	EXPECT_TRUE(errno == EHOSTUNREACH || errno == ETIMEDOUT)
		TH_LOG("%s", strerror(errno));
	side_close(&dead);
}

/* ---- death of the other machine ---- */

FIXTURE(death) {
	struct pair p;
	struct region there[FAR_REGIONS];
};

FIXTURE_SETUP(death)
{
	SKIP_WITHOUT_RPMA();
	far_prepare(_metadata, &self->p, false);
	far_connect(_metadata, &self->p, self->there);
}

FIXTURE_TEARDOWN(death)
{
	far_close(&self->p);
}

/* Keeps DEEP flushes in flight until none of them comes back any more. */
TEST_F_TIMEOUT(death, completes_all_in_flight_once_and_says_so, 2 * WAIT_SECONDS)
{
	struct pair *p = &self->p;
	__u64 posted = 0, reaped = 0;
	bool failed = false;
	pid_t killer;

	killer = fork();
	ASSERT_LE(0, killer);
	if (!killer)
		_exit(system("bash -c 'cue kill target'") ? 1 : 0);
	while (!failed || reaped < posted) {
		struct rpma_request r = req_flush(posted, SIGNALED, &self->there[BIG], 0, 8);
		struct rpma_completion c;

		if (!failed && _ioc_post(p->client.conn, &r, 1) == 1) {
			posted++;
			continue;
		}
		c = reap(_metadata, p->client.cq);
		ASSERT_EQ(reaped++, c.context);
		ASSERT_TRUE(!failed || c.status == RPMA_STATUS_ABORTED);
		if (c.status) {
			/* The queue was full when it happened. */
			if (!failed)
				EXPECT_EQ(DEEP, posted - reaped + 1);
			failed = true;
		}
	}
	expect_no_completion(p->client.cq);
	expect_event(p->client.conn, RPMA_EVENT_LOST);
	expect_no_more_events(p->client.conn);
	ASSERT_EQ(0, close(p->client.conn));
	p->client.conn = -1;
}

TEST_HARNESS_MAIN
