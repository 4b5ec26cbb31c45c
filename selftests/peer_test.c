// SPDX-License-Identifier: GPL-2.0
/* Peers: a device and a protection domain, named by an id. */
#include "rpma_pair.h"

FIXTURE(peer) {
	int fd;
	__u32 device;
};

FIXTURE_SETUP(peer)
{
	SKIP_WITHOUT_RPMA();
	self->fd = rpma_open(_metadata);
	self->device = _resolve(self->fd, test_addr4());
	ASSERT_NE(0, self->device);
}

FIXTURE_TEARDOWN(peer)
{
	close(self->fd);
}

TEST_F(peer, create_and_destroy)
{
	struct rpma_ioc_peer_create p = ioc_peer_create(self->fd, .device = self->device);

	ASSERT_NE(0, p.out_peer);
	EXPECT_EQ(test_method(), p.out_flush_method);
	ioc_destroy(self->fd, .id = p.out_peer);
	ioc_err_destroy(ENOENT, self->fd, .id = p.out_peer);
}

TEST_F(peer, unknown_device_is_enodev)
{
	ioc_err_peer_create(ENODEV, self->fd, .device = 0);
	ioc_err_peer_create(ENODEV, self->fd, .device = 0x7fffffff);
}

TEST_F(peer, unknown_id_is_enoent)
{
	ioc_err_destroy(ENOENT, self->fd, .id = 0);
	ioc_err_destroy(ENOENT, self->fd, .id = 0x7fffffff);
	ioc_err_cq_create(ENOENT, self->fd, .peer = 0x7fffffff, .entries = 1);
	ioc_err_mr_reg(ENOENT, self->fd, .peer = 0x7fffffff, .access = RPMA_ACCESS_READ_SRC,
		       .addr = (uintptr_t)self, .length = 1);
}

TEST_F(peer, force_is_not_for_peers)
{
	__u32 peer = peer_new(_metadata, self->fd);

	ioc_err_destroy(EOPNOTSUPP, self->fd, .id = peer, .flags = RPMA_DESTROY_F_FORCE);
	ioc_destroy(self->fd, .id = peer);
}

TEST_F(peer, id_means_nothing_on_another_file)
{
	int other = rpma_open(_metadata);
	__u32 peer = peer_new(_metadata, self->fd);

	ioc_err_destroy(ENOENT, other, .id = peer);
	ioc_err_cq_create(ENOENT, other, .peer = peer, .entries = 1);
	ioc_destroy(self->fd, .id = peer);
	close(other);
}

TEST_F(peer, busy_while_a_region_is_registered)
{
	__u32 peer = peer_new(_metadata, self->fd);
	struct region r = region_new(_metadata, self->fd, peer, 4096, RPMA_ACCESS_WRITE_SRC);

	ioc_err_destroy(EBUSY, self->fd, .id = peer);
	ioc_destroy(self->fd, .id = r.mr);
	ioc_destroy(self->fd, .id = peer);
}

TEST_F(peer, busy_while_a_queue_is_open)
{
	__u32 peer = peer_new(_metadata, self->fd);
	int cq = cq_new(_metadata, self->fd, peer, 4);

	ioc_err_destroy(EBUSY, self->fd, .id = peer);
	close(cq);
	ioc_destroy(self->fd, .id = peer);
}

TEST_F(peer, busy_while_an_endpoint_is_open)
{
	__u32 peer = peer_new(_metadata, self->fd);
	__u16 port;
	int ep = ep_new(_metadata, self->fd, peer, test_addr4(), &port);

	ioc_err_destroy(EBUSY, self->fd, .id = peer);
	close(ep);
	ioc_destroy(self->fd, .id = peer);
}

TEST_F(peer, busy_while_a_connection_is_open)
{
	struct pair p;

	pair_open(_metadata, &p, (struct pair_opts){});
	ioc_destroy(p.fd, .id = p.client.mem.mr);
	ioc_destroy(p.fd, .id = p.server.mem.mr);
	close(p.ep);
	close(p.client.cq);
	close(p.server.cq);
	ioc_err_destroy(EBUSY, p.fd, .id = p.peer);
	close(p.client.conn);
	ioc_err_destroy(EBUSY, p.fd, .id = p.peer);
	close(p.server.conn);
	ioc_destroy(p.fd, .id = p.peer);
	close(p.fd);
}

TEST_F(peer, several_on_one_device_are_apart)
{
	__u32 a = peer_new(_metadata, self->fd);
	__u32 b = peer_new(_metadata, self->fd);

	ASSERT_NE(a, b);
	ioc_destroy(self->fd, .id = a);
	close(cq_new(_metadata, self->fd, b, 1));
	ioc_destroy(self->fd, .id = b);
}

TEST_F(peer, close_of_the_file_ends_everything)
{
	int fd = rpma_open(_metadata);
	__u32 peer = peer_new(_metadata, fd);

	for (int i = 0; i < 16; i++)
		region_new(_metadata, fd, peer, 8192, ACCESS_ALL);
	ASSERT_EQ(0, close(fd));
}

TEST_HARNESS_MAIN
