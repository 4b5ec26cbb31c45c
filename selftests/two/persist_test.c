// SPDX-License-Identifier: GPL-2.0
/*
 * A PERSISTENT flush to the other machine's NVDIMM, and its power cut at the
 * moment of the completion: after the restart the data are there. What this
 * proves is that no completion comes early; an emulated NVDIMM has no caches
 * that could be lost.
 */
#include "../rpma_pair.h"
#include "far.h"

#define PIECES 64
#define PIECE (FAR_BIG / PIECES)

FIXTURE(persist) {
	struct pair p;
	struct region big;
};

FIXTURE_SETUP(persist)
{
	struct pair *p = &self->p;
	struct rpma_ioc_conn_query q;
	const __u8 *desc;

	SKIP_WITHOUT_RPMA();
	p->opts = (struct pair_opts){ .addr = test_env("PEER4", "10.7.7.1"), .sq_size = 16,
				      .cq_entries = 32, .length = FAR_BIG, .access = ACCESS_ALL };
	p->port = FAR_PORT_NR;
	p->ep = -1;
	p->fd = rpma_open(_metadata);
	p->peer = peer_new(_metadata, p->fd);
	side_init(_metadata, p, &p->client);
	client_create(_metadata, p, &p->client);
	ioc_conn_connect(p->fd, .conn_fd = p->client.conn);
	expect_event(p->client.conn, RPMA_EVENT_ESTABLISHED);

	q = ioc_conn_query(p->fd, .conn_fd = p->client.conn);
	desc = q.out_private_data + (FAR_REGIONS - 1) * FAR_DESC_SIZE;
	memcpy(&self->big.addr, desc, 8);
	memcpy(&self->big.length, desc + 8, 8);
	memcpy(&self->big.rkey, desc + 16, 4);
	self->big.access = desc[20];
	ASSERT_EQ(FAR_BIG, self->big.length);
}

FIXTURE_TEARDOWN(persist)
{
	side_close(&self->p.client);
	close(self->p.fd);
}

/* The first word that a command prints. */
static void first_word(struct __test_metadata *_metadata, const char *command, char word[128])
{
	FILE *f = popen(command, "r");

	ASSERT_NE(NULL, f);
	ASSERT_EQ(1, fscanf(f, "%127s", word));
	pclose(f);
}

TEST_F_TIMEOUT(persist, data_survive_the_power_cut, 2 * WAIT_SECONDS)
{
	struct pair *p = &self->p;
	char ours[128], theirs[128];
	FILE *f;

	for (size_t i = 0; i < FAR_BIG; i++)
		p->client.mem.addr[i] = i * 2654435761u >> 13;
	ioc_conn_modify(p->fd, .conn_fd = p->client.conn, .mask = RPMA_CONN_MODIFY_DIRECT_WRITE,
			.direct_write = 1);
	for (int i = 0; i < PIECES; i++) {
		__u64 at = i * PIECE;
		struct rpma_request r[2] = {
			req_write(i, 0, &p->client.mem, at, &self->big, at, PIECE),
			req_flush(i, SIGNALED, &self->big, at, PIECE),
		};

		r[1].placement = RPMA_FLUSH_PERSISTENT;
		ioc_post(p->client.conn, r, 2);
		expect_completion(p->client.cq, i, RPMA_OP_FLUSH, 0);
	}
	ASSERT_EQ(0, system("bash -c 'cue kill target && cue start target' >/dev/null"));

	f = popen("sha256sum >/tmp/ours", "w");
	ASSERT_NE(NULL, f);
	ASSERT_EQ(FAR_BIG, fwrite(p->client.mem.addr, 1, FAR_BIG, f));
	ASSERT_EQ(0, pclose(f));
	first_word(_metadata, "cat /tmp/ours", ours);
	first_word(_metadata, "bash -c 'cue wait sum'", theirs);
	EXPECT_STREQ(ours, theirs);
}

TEST_HARNESS_MAIN
