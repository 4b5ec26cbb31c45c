// SPDX-License-Identifier: GPL-2.0
/*
 * Completion queues: nothing lost, nothing twice, whichever way it is read;
 * the mapped ring; poll and wait.
 */
#include <signal.h>
#include <sys/wait.h>

#include "rpma_pair.h"
#include "rpma_ring.h"

/* ---- creation and mapping ---- */

FIXTURE(cq) {
	int fd;
	__u32 peer;
};

FIXTURE_SETUP(cq)
{
	SKIP_WITHOUT_RPMA();
	self->fd = rpma_open(_metadata);
	self->peer = peer_new(_metadata, self->fd);
}

FIXTURE_TEARDOWN(cq)
{
	close(self->fd);
}

TEST_F(cq, size_is_a_power_of_two)
{
	for (__u32 entries = 1; entries <= 33; entries++) {
		struct rpma_ioc_cq_create c;

		c = ioc_cq_create(self->fd, .peer = self->peer, .entries = entries);
		ASSERT_LE(entries, c.out_entries);
		ASSERT_EQ(0, c.out_entries & (c.out_entries - 1));
		ASSERT_LE(sizeof(struct rpma_cq_ring) +
			  c.out_entries * sizeof(struct rpma_completion), c.out_ring_bytes);
		close(c.out_fd);
	}
}

TEST_F(cq, size_out_of_bounds_is_einval)
{
	__u32 most = ioc_query(self->fd).out_max_queue_size;

	ioc_err_cq_create(EINVAL, self->fd, .peer = self->peer, .entries = 0);
	ioc_err_cq_create(EINVAL, self->fd, .peer = self->peer, .entries = most + 1);
	ioc_err_cq_create(EINVAL, self->fd, .peer = self->peer, .entries = ~0u);
}

TEST_F(cq, ring_head_describes_the_ring)
{
	struct rpma_ioc_cq_create c = ioc_cq_create(self->fd, .peer = self->peer, .entries = 5);
	struct ring r;

	ring_map(_metadata, &r, c.out_fd, c.out_ring_bytes);
	EXPECT_EQ(0, r.map->tail);
	EXPECT_EQ(0, *r.head);
	EXPECT_EQ(0, r.map->gone);
	EXPECT_EQ(c.out_entries, r.map->entries);
	EXPECT_LE(sizeof(struct rpma_completion), r.map->entry_size);
	EXPECT_LE(sizeof(struct rpma_cq_ring), r.map->first_offset);
	EXPECT_GE(c.out_ring_bytes, r.map->first_offset + r.map->entries * r.map->entry_size);
	ring_unmap(&r);
	close(c.out_fd);
}

TEST_F(cq, ring_cannot_be_written)
{
	struct rpma_ioc_cq_create c = ioc_cq_create(self->fd, .peer = self->peer, .entries = 4);
	void *map;

	EXPECT_EQ(MAP_FAILED, mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, c.out_fd,
				   RPMA_CQ_OFF_RING));
	map = mmap(NULL, 4096, PROT_READ, MAP_SHARED, c.out_fd, RPMA_CQ_OFF_RING);
	ASSERT_NE(MAP_FAILED, map);
	EXPECT_ERRNO(EACCES, mprotect(map, 4096, PROT_READ | PROT_WRITE));
	munmap(map, 4096);
	close(c.out_fd);
}

TEST_F(cq, mappings_stay_in_bounds)
{
	struct rpma_ioc_cq_create c = ioc_cq_create(self->fd, .peer = self->peer, .entries = 4);
	size_t pages = (c.out_ring_bytes + 4095) & ~4095UL;

	EXPECT_EQ(MAP_FAILED, mmap(NULL, pages + 4096, PROT_READ, MAP_SHARED, c.out_fd,
				   RPMA_CQ_OFF_RING));
	EXPECT_EQ(MAP_FAILED, mmap(NULL, 4096, PROT_READ, MAP_SHARED, c.out_fd,
				   RPMA_CQ_OFF_RING + pages));
	EXPECT_EQ(MAP_FAILED, mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_SHARED, c.out_fd,
				   RPMA_CQ_OFF_HEAD));
	EXPECT_EQ(MAP_FAILED, mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, c.out_fd,
				   RPMA_CQ_OFF_HEAD + 4096));
	close(c.out_fd);
}

TEST_F(cq, mapping_outlives_the_descriptor)
{
	struct rpma_ioc_cq_create c = ioc_cq_create(self->fd, .peer = self->peer, .entries = 4);
	struct ring r;

	ring_map(_metadata, &r, c.out_fd, c.out_ring_bytes);
	close(c.out_fd);
	EXPECT_EQ(0, r.map->tail);
	*r.head = 0;
	ring_unmap(&r);
}

TEST_F(cq, empty_queue_says_eagain_and_zero)
{
	int cq = cq_new(_metadata, self->fd, self->peer, 4);
	struct rpma_completion c;

	EXPECT_EQ(0, _ioc_cq_poll(cq));
	EXPECT_ERRNO(EAGAIN, read(cq, &c, sizeof(c)));
	ioc_err_cq_wait(EAGAIN, cq);
	EXPECT_EQ(0, poll_for(cq, POLLIN, 0));
	close(cq);
}

/* ---- completions ---- */

FIXTURE(cq_of) {
	struct pair p;
	struct ring ring;
};

FIXTURE_VARIANT(cq_of) {
	__u32 entries;
};

#define CQ_OF(n) FIXTURE_VARIANT_ADD(cq_of, n) { .entries = n }
CQ_OF(1);
CQ_OF(2);
CQ_OF(3);
CQ_OF(4);
CQ_OF(5);
CQ_OF(7);
CQ_OF(8);
CQ_OF(10);

FIXTURE_SETUP(cq_of)
{
	struct rpma_ioc_cq_create c;
	struct pair *p = &self->p;

	SKIP_WITHOUT_RPMA();
	pair_prepare(_metadata, p, (struct pair_opts){ .sq_size = variant->entries,
						       .cq_entries = 16 });
	/* The client reports to a queue of exactly the variant's size. */
	close(p->client.cq);
	c = ioc_cq_create(p->fd, .peer = p->peer, .entries = variant->entries);
	set_nonblock(c.out_fd);
	p->client.cq = c.out_fd;
	ring_map(_metadata, &self->ring, c.out_fd, c.out_ring_bytes);
	p->opts.rq_size = 0;
	sides_connect(_metadata, p, &p->client, &p->server);
}

FIXTURE_TEARDOWN(cq_of)
{
	ring_unmap(&self->ring);
	pair_close(&self->p);
}

/*
 * Post flushes with contexts from @first until the kernel says EAGAIN for good:
 * all posted ones have completed and none was read. Returns how many went.
 */
static int fill(struct __test_metadata *_metadata, struct pair *p, __u64 first)
{
	long long end = now_ms() + WAIT_MS;
	int posted = 0;

	while (now_ms() < end) {
		struct rpma_request r = req_flush(first + posted, SIGNALED, &p->server.mem, 0, 8);
		bool all_done = _ioc_cq_poll(p->client.cq) == posted;

		if (_ioc_post(p->client.conn, &r, 1) == 1) {
			/* No variant has a larger queue. */
			ASSERT_GE(16, ++posted);
			continue;
		}
		ASSERT_EQ(EAGAIN, errno);
		if (all_done)
			return posted;
	}
	ASSERT_TRUE(false)
		TH_LOG("the queue of %d never filled", posted);
	return -1;
}

TEST_F_TIMEOUT(cq_of, full_queue_loses_nothing, WAIT_SECONDS)
{
	for (int round = 0; round < 5; round++) {
		int posted = fill(_metadata, &self->p, round * 100);

		ASSERT_EQ(self->ring.map->entries, posted);
		for (int i = 0; i < posted; i++) {
			struct rpma_completion c = expect_completion(self->p.client.cq,
								     round * 100 + i,
								     RPMA_OP_FLUSH, 0);

			ASSERT_EQ(8, c.len);
			ASSERT_EQ(test_method(), c.method);
		}
		ASSERT_EQ(0, _ioc_cq_poll(self->p.client.cq));
	}
	expect_no_completion(self->p.client.cq);
}

TEST_F_TIMEOUT(cq_of, each_completion_read_makes_room_for_one, WAIT_SECONDS)
{
	struct rpma_request r = req_flush(1, SIGNALED, &self->p.server.mem, 0, 8);
	int posted = fill(_metadata, &self->p, 0);

	for (int i = 0; i < 3; i++) {
		reap(_metadata, self->p.client.cq);
		ioc_post(self->p.client.conn, &r, 1);
		ioc_err_post(EAGAIN, self->p.client.conn, &r, 1);
	}
	for (int i = 0; i < posted; i++)
		reap(_metadata, self->p.client.cq);
	expect_no_completion(self->p.client.cq);
}

static void wait_until_asleep(struct __test_metadata *_metadata, pid_t pid)
{
	long long end = now_ms() + WAIT_MS;
	char path[32], state;
	FILE *stat;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	do {
		ASSERT_GT(end, now_ms());
		usleep(10000);
		stat = fopen(path, "r");
		ASSERT_NE(NULL, stat);
		ASSERT_EQ(1, fscanf(stat, "%*d (%*[^)]) %c", &state));
		fclose(stat);
	} while (state != 'S');
}

TEST_F_TIMEOUT(cq_of, completion_read_wakes_who_waits_for_room, WAIT_SECONDS)
{
	int ready[2], status;
	char byte;
	pid_t pid;

	fill(_metadata, &self->p, 0);
	EXPECT_EQ(0, poll_for(self->p.client.conn, POLLOUT, 0));
	ASSERT_EQ(0, pipe(ready));
	pid = fork();
	ASSERT_LE(0, pid);
	if (pid == 0) {
		if (write(ready[1], "", 1) != 1 ||
		    poll_for(self->p.client.conn, POLLOUT, -1) != POLLOUT ||
		    write(ready[1], "", 1) != 1)
			_exit(1);
		_exit(0);
	}
	ASSERT_EQ(1, read(ready[0], &byte, 1));
	wait_until_asleep(_metadata, pid);
	expect_completion(self->p.client.cq, 0, RPMA_OP_FLUSH, 0);
	/* No timeout of its own, which would let it look once more. */
	if (!poll_for(ready[0], POLLIN, WAIT_MS))
		kill(pid, SIGKILL);
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_EQ(0, status);
	close(ready[0]);
	close(ready[1]);
}

TEST_F_TIMEOUT(cq_of, ring_wraps_in_order, WAIT_SECONDS)
{
	__u32 n = 10 * self->ring.map->entries + 3;
	__u64 next = 0;

	for (__u64 i = 0; i < n; i++) {
		struct rpma_request r = req_flush(i, SIGNALED, &self->p.server.mem, 0, 8);

		while (_ioc_post(self->p.client.conn, &r, 1) != 1) {
			ASSERT_EQ(EAGAIN, errno);
			ASSERT_EQ(next, ring_take(_metadata, &self->ring,
						  self->p.client.cq).context);
			next++;
		}
	}
	while (next < n) {
		ASSERT_EQ(next, ring_take(_metadata, &self->ring, self->p.client.cq).context);
		next++;
	}
	EXPECT_EQ(n, self->ring.map->tail);
	EXPECT_EQ(0, _ioc_cq_poll(self->p.client.cq));
}

TEST_F_TIMEOUT(cq_of, read_and_ring_take_each_once, WAIT_SECONDS)
{
	__u64 next = 0;

	for (int round = 0; round < 8; round++) {
		int posted = fill(_metadata, &self->p, next);

		for (int i = 0; i < posted; i++, next++) {
			struct rpma_completion c;

			if (next % 3)
				c = ring_take(_metadata, &self->ring, self->p.client.cq);
			else
				c = reap(_metadata, self->p.client.cq);
			ASSERT_EQ(next, c.context);
		}
	}
	EXPECT_EQ(next, *self->ring.head);
}

TEST_F_TIMEOUT(cq_of, bogus_head_harms_only_its_owner, WAIT_SECONDS)
{
	const __u32 bogus[] = { 1u << 31, ~0u, 1000, 0x80000001 };
	struct rpma_request r = req_flush(99, SIGNALED, &self->p.server.mem, 0, 8);
	struct side client, server;
	__u64 next = 0;

	for (int i = 0; i < 4; i++) {
		__u32 head = *self->ring.head;
		int posted = fill(_metadata, &self->p, next);

		*self->ring.head = head + bogus[i];
		ioc_err_post(EAGAIN, self->p.client.conn, &r, 1);
		_ioc_cq_poll(self->p.client.cq);
		*self->ring.head = head;
		for (int n = 0; n < posted; n++, next++)
			ASSERT_EQ(next, ring_take(_metadata, &self->ring,
						  self->p.client.cq).context);
	}
	*self->ring.head = 0x12345678;
	self->p.opts.cq_entries = 32;
	pair_add(_metadata, &self->p, &client, &server);
	ioc_post(client.conn, &r, 1);
	expect_completion(client.cq, 99, RPMA_OP_FLUSH, 0);
	side_close(&client);
	side_close(&server);
}

/* ---- poll and wait ---- */

FIXTURE(cq_wait) {
	struct pair p;
};

FIXTURE_SETUP(cq_wait)
{
	SKIP_WITHOUT_RPMA();
	pair_open(_metadata, &self->p, (struct pair_opts){ .cq_entries = 64 });
}

FIXTURE_TEARDOWN(cq_wait)
{
	pair_close(&self->p);
}

static void post_flush(struct __test_metadata *_metadata, struct pair *p, __u64 context)
{
	struct rpma_request r = req_flush(context, SIGNALED, &p->server.mem, 0, 8);

	ioc_post(p->client.conn, &r, 1);
}

TEST_F_TIMEOUT(cq_wait, pollin_while_unread, WAIT_SECONDS)
{
	int cq = self->p.client.cq;

	EXPECT_EQ(0, poll_for(cq, POLLIN, 0));
	post_flush(_metadata, &self->p, 1);
	ASSERT_EQ(POLLIN, poll_for(cq, POLLIN, WAIT_MS));
	ASSERT_EQ(POLLIN, poll_for(cq, POLLIN, 0));
	EXPECT_EQ(1, _ioc_cq_wait(cq));
	EXPECT_EQ(POLLIN, poll_for(cq, POLLIN, 0));
	expect_completion(cq, 1, RPMA_OP_FLUSH, 0);
	_ioc_cq_wait(cq);
	EXPECT_EQ(0, poll_for(cq, POLLIN, 0));
	ioc_err_cq_wait(EAGAIN, cq);
}

TEST_F_TIMEOUT(cq_wait, wait_blocks_until_a_completion, WAIT_SECONDS)
{
	int cq = self->p.client.cq;

	fcntl(cq, F_SETFL, 0);
	for (int i = 0; i < 50; i++) {
		struct rpma_completion c;

		post_flush(_metadata, &self->p, i);
		while (_ioc_cq_wait(cq) == 0)
			;
		ASSERT_EQ((ssize_t)sizeof(c), read(cq, &c, sizeof(c)));
		ASSERT_EQ(i, c.context);
	}
}

TEST_F_TIMEOUT(cq_wait, read_blocks_until_a_completion, WAIT_SECONDS)
{
	int cq = self->p.client.cq;

	fcntl(cq, F_SETFL, 0);
	for (int i = 0; i < 50; i++) {
		struct rpma_completion c;

		post_flush(_metadata, &self->p, i);
		ASSERT_EQ((ssize_t)sizeof(c), read(cq, &c, sizeof(c)));
		ASSERT_EQ(i, c.context);
	}
}

TEST_F_TIMEOUT(cq_wait, read_gives_whole_completions_only, WAIT_SECONDS)
{
	struct rpma_completion c[4];
	int cq = self->p.client.cq;

	for (int i = 0; i < 3; i++)
		post_flush(_metadata, &self->p, i);
	while (_ioc_cq_poll(cq) < 3)
		;
	EXPECT_ERRNO(EINVAL, read(cq, c, sizeof(c[0]) - 1));
	ASSERT_EQ((ssize_t)sizeof(c[0]), read(cq, c, 2 * sizeof(c[0]) - 1));
	EXPECT_EQ(0, c[0].context);
	ASSERT_EQ(2 * (ssize_t)sizeof(c[0]), read(cq, c, sizeof(c)));
	EXPECT_EQ(1, c[0].context);
	EXPECT_EQ(2, c[1].context);
}

TEST_F_TIMEOUT(cq_wait, read_to_a_bad_pointer_loses_nothing, WAIT_SECONDS)
{
	__u8 *gone = map_pages(_metadata, 4096);
	int cq = self->p.client.cq;

	post_flush(_metadata, &self->p, 5);
	while (_ioc_cq_poll(cq) < 1)
		;
	ASSERT_EQ(0, munmap(gone, 4096));
	EXPECT_ERRNO(EFAULT, read(cq, gone, sizeof(struct rpma_completion)));
	expect_completion(cq, 5, RPMA_OP_FLUSH, 0);
}

TEST_F_TIMEOUT(cq_wait, queue_stays_with_its_connections, WAIT_SECONDS)
{
	close(self->p.client.cq);
	post_flush(_metadata, &self->p, 1);
	close(self->p.client.conn);
	self->p.client.conn = -1;
	self->p.client.cq = cq_new(_metadata, self->p.fd, self->p.peer, 1);
}

TEST_F_TIMEOUT(cq_wait, send_and_recv_share_a_queue, WAIT_SECONDS)
{
	struct side *c = &self->p.client, *s = &self->p.server;
	int sends = 0, recvs = 0;

	for (int i = 0; i < 8; i++) {
		struct rpma_request recv = req_recv(100 + i, &c->mem, i * 64, 64);
		struct rpma_request send = req_send(200 + i, SIGNALED, &c->mem, 4096, 16);
		struct rpma_request peers_recv = req_recv(300 + i, &s->mem, i * 64, 64);

		ioc_post(c->conn, &recv, 1);
		ioc_post(s->conn, &peers_recv, 1);
		ioc_post(c->conn, &send, 1);
		send = req_send(400 + i, 0, &s->mem, 4096, 16);
		ioc_post(s->conn, &send, 1);
	}
	for (int i = 0; i < 16; i++) {
		struct rpma_completion got = reap(_metadata, c->cq);

		ASSERT_EQ(0, got.status);
		ASSERT_EQ(16, got.len);
		if (got.op == RPMA_OP_RECV) {
			ASSERT_EQ(100 + recvs++, got.context);
		} else {
			ASSERT_EQ(200 + sends++, got.context);
		}
	}
	EXPECT_EQ(8, sends);
	EXPECT_EQ(8, recvs);
	expect_no_completion(c->cq);
}

TEST_F_TIMEOUT(cq_wait, recv_queue_of_its_own, WAIT_SECONDS)
{
	struct pair p;
	struct rpma_request recv, send;

	pair_open(_metadata, &p, (struct pair_opts){ .recv_cq = true });
	recv = req_recv(1, &p.server.mem, 0, 64);
	send = req_send(2, SIGNALED, &p.client.mem, 0, 64);
	ioc_post(p.server.conn, &recv, 1);
	ioc_post(p.client.conn, &send, 1);
	expect_completion(p.server.rcq, 1, RPMA_OP_RECV, 0);
	expect_completion(p.client.cq, 2, RPMA_OP_SEND, 0);
	expect_no_completion(p.server.cq);
	expect_no_completion(p.client.rcq);
	pair_close(&p);
}

/* ---- accounting of random mixes ---- */

TEST_F_TIMEOUT(cq_wait, random_mixes_complete_exactly_once, 2 * WAIT_SECONDS)
{
	const unsigned int seed = 20240607;
	struct pair *p = &self->p;
	__u64 posted = 0, next_signaled[4096];
	struct rpma_request last;
	int signaled = 0, reaped = 0;

	TH_LOG("seed %u", seed);
	srandom(seed);
	while (posted < 4000) {
		struct rpma_request r[8];
		int n = 1 + random() % 8, ret;

		for (int i = 0; i < n; i++) {
			__u32 flags = random() % 3 ? 0 : SIGNALED;
			__u32 len = random() % 2000;

			r[i] = random() % 2 ?
				req_write(posted + i, flags, &p->client.mem, 0, &p->server.mem,
					  random() % 4096, len) :
				req_flush(posted + i, flags, &p->server.mem, random() % 4096, len);
		}
		ret = _ioc_post(p->client.conn, r, n);
		if (ret < 0) {
			ASSERT_EQ(EAGAIN, errno);
		}
		for (int i = 0; i < ret; i++)
			if (r[i].flags)
				next_signaled[signaled++] = posted + i;
		posted += ret > 0 ? ret : 0;
		while (reaped < signaled && (ret < n || random() % 2)) {
			struct rpma_completion c = reap(_metadata, p->client.cq);

			ASSERT_EQ(0, c.status);
			ASSERT_EQ(next_signaled[reaped], c.context);
			reaped++;
		}
	}
	while (reaped < signaled)
		ASSERT_EQ(next_signaled[reaped++], reap(_metadata, p->client.cq).context);
	/* Only silent ones are left: they make room by themselves. */
	last = req_flush(posted, SIGNALED, &p->server.mem, 0, 8);
	ASSERT_EQ(1, _ioc_post_flags(p->client.conn, &last, 1, RPMA_POST_F_WAIT));
	ASSERT_EQ(posted, reap(_metadata, p->client.cq).context);
	expect_no_completion(p->client.cq);
	EXPECT_EQ(posted + 1, ioc_conn_query(p->fd, .conn_fd = p->client.conn).out_completed);
}

TEST_HARNESS_MAIN
