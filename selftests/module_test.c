// SPDX-License-Identifier: GPL-2.0
/*
 * The module itself: it stays while a descriptor is open, goes and comes back
 * otherwise, and needs no device to load.
 */
#include <sys/stat.h>
#include <sys/syscall.h>

#include "rpma_pair.h"

FIXTURE(module) {
	struct stat node;
};

FIXTURE_SETUP(module)
{
	SKIP_WITHOUT_RPMA();
	ASSERT_EQ(0, getuid())
		TH_LOG("only root can load modules");
	ASSERT_EQ(0, stat(RPMA_DEVICE, &self->node));
}

static int unload(void)
{
	return syscall(SYS_delete_module, "rpma", O_NONBLOCK);
}

/* Owner and mode of the node are the administrator's: as they were. */
static int load(const struct stat *node)
{
	int fd = open(test_env("RPMA_TEST_MODULE", "/rpma/rpma.ko"), O_RDONLY | O_CLOEXEC), ret;

	ret = syscall(SYS_finit_module, fd, "", 0);
	close(fd);
	return ret || chown(RPMA_DEVICE, node->st_uid, node->st_gid) ||
	       chmod(RPMA_DEVICE, node->st_mode & 0777);
}

FIXTURE_TEARDOWN(module)
{
	if (access(RPMA_DEVICE, F_OK))
		load(&self->node);
}

static void expect_works(struct __test_metadata *_metadata)
{
	struct pair p;

	pair_open(_metadata, &p, (struct pair_opts){});
	expect_usable(_metadata, &p);
	pair_close(&p);
}

TEST_F(module, stays_while_a_descriptor_is_open)
{
	int fd = rpma_open(_metadata);
	struct pair p;

	EXPECT_ERRNO(EWOULDBLOCK, unload());
	close(fd);
	pair_open(_metadata, &p, (struct pair_opts){});
	/* Each kind of descriptor alone holds it. */
	close(p.fd);
	close(p.ep);
	close(p.client.conn);
	close(p.server.conn);
	close(p.server.cq);
	EXPECT_ERRNO(EWOULDBLOCK, unload());
	close(p.client.cq);
	EXPECT_EQ(0, unload());
	EXPECT_NE(0, access(RPMA_DEVICE, F_OK));
	ASSERT_EQ(0, load(&self->node));
	expect_works(_metadata);
}

TEST_F(module, stays_while_a_ring_is_mapped)
{
	int fd = rpma_open(_metadata);
	struct rpma_ioc_cq_create c = ioc_cq_create(fd, .peer = peer_new(_metadata, fd),
						    .entries = 4);
	void *ring = mmap(NULL, 4096, PROT_READ, MAP_SHARED, c.out_fd, RPMA_CQ_OFF_RING);

	ASSERT_NE(MAP_FAILED, ring);
	close(c.out_fd);
	close(fd);
	EXPECT_ERRNO(EWOULDBLOCK, unload());
	EXPECT_EQ(0, *(volatile __u32 *)ring);
	ASSERT_EQ(0, munmap(ring, 4096));
	EXPECT_EQ(0, unload());
	ASSERT_EQ(0, load(&self->node));
}

TEST_F(module, goes_and_comes_back)
{
	for (int i = 0; i < 5; i++) {
		ASSERT_EQ(0, unload());
		ASSERT_EQ(0, load(&self->node));
		expect_works(_metadata);
	}
}

TEST_F_TIMEOUT(module, needs_no_device_to_load, WAIT_SECONDS)
{
	char add[256];
	int fd;

	snprintf(add, sizeof(add), "rdma link add %s type rxe netdev %s", test_dev(),
		 test_env("RPMA_TEST_NETDEV", "dummy0"));
	ASSERT_EQ(0, unload());
	ASSERT_EQ(0, system("timeout 60 rdma link delete rxe0"));
	ASSERT_EQ(0, load(&self->node));
	fd = rpma_open(_metadata);
	EXPECT_EQ(0, ioc_query(fd).out_nr_devices);
	ioc_err_device_query(ENOENT, fd, .position = 0);
	EXPECT_EQ(0, _resolve(fd, test_addr4()));
	ASSERT_EQ(0, system(add));
	EXPECT_EQ(1, ioc_query(fd).out_nr_devices);
	close(fd);
	expect_works(_metadata);
}

TEST_HARNESS_MAIN
