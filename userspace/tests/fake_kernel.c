// SPDX-License-Identifier: BSD-3-Clause
/* See fake_kernel.h. All queues share one ring. */
#include <errno.h>
#include <pthread.h>
#include <string.h>

#include "fake_kernel.h"

struct fake_kernel fake = { .read_depth = 16 };

/* For what is noted; tests read the notes when no other thread runs. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

#define note(to, what)							\
	do {								\
		pthread_mutex_lock(&lock);				\
		(to) = (what);						\
		pthread_mutex_unlock(&lock);				\
	} while (0)

#define count(of, how_many) __atomic_add_fetch(&(of), how_many, __ATOMIC_RELAXED)

static struct {
	struct rpma_cq_ring head;
	uint64_t entries[FAKE_RING_ENTRIES][sizeof(struct rpma_completion) / sizeof(uint64_t)];
} ring = {
	.head.entries = FAKE_RING_ENTRIES,
	.head.entry_size = sizeof(struct rpma_completion),
	.head.first_offset = sizeof(struct rpma_cq_ring),
};

static uint32_t head;
static struct rpma_completion unpolled[FAKE_RING_ENTRIES];
static uint32_t nr_unpolled;

void fake_reset(void)
{
	struct fake_kernel left = fake;

	memset(&fake, 0, sizeof(fake));
	fake.fds = left.fds;
	fake.peers = left.peers;
	fake.mrs = left.mrs;
	fake.maps = left.maps;
	fake.srqs = left.srqs;
	fake.read_depth = 16;
	fake_ring_start(0);
}

void fake_ring_start(uint32_t nr)
{
	head = nr;
	ring.head.tail = nr;
	nr_unpolled = 0;
}

void fake_complete(const struct rpma_completion *completion)
{
	uint32_t tail = __atomic_load_n(&ring.head.tail, __ATOMIC_RELAXED);
	uint64_t words[sizeof(*completion) / sizeof(uint64_t)];
	size_t i;

	memcpy(words, completion, sizeof(words));
	for (i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		__atomic_store_n(&ring.entries[tail % FAKE_RING_ENTRIES][i], words[i],
				 __ATOMIC_RELAXED);
	__atomic_store_n(&ring.head.tail, tail + 1, __ATOMIC_RELEASE);
}

void fake_complete_on_poll(const struct rpma_completion *completion)
{
	unpolled[nr_unpolled++] = *completion;
}

uint32_t fake_ring_room(void)
{
	uint32_t read = __atomic_load_n(&head, __ATOMIC_ACQUIRE);

	return FAKE_RING_ENTRIES - (__atomic_load_n(&ring.head.tail, __ATOMIC_ACQUIRE) - read);
}

/* Descriptors that are nobody's. */
static int new_fd(int ret)
{
	if (ret)
		return ret;
	return 100000 + count(fake.fds, 1);
}

const char *kernel_device_path(void)
{
	return "/dev/rpma";
}

int kernel_open(void)
{
	return new_fd(fake.open_ret);
}

void kernel_close(int fd)
{
	(void)fd;
	count(fake.fds, -1);
}

int kernel_query(int fd, struct rpma_ioc_query *query)
{
	(void)fd;
	memset(query, 0, sizeof(*query));
	query->out_max_queue_size = FAKE_MAX_QUEUE_SIZE;
	return 0;
}

int kernel_device_query(int fd, uint32_t position, struct rpma_ioc_device_query *query)
{
	(void)fd;
	if (position > 1)
		return -ENOENT;
	memset(query, 0, sizeof(*query));
	query->out_device = 7 + position + fake.first_device;
	strcpy((char *)query->out_name, position ? "rxe1" : "rxe0");
	return 0;
}

/* Device 8 has the address 127.0.0.2, device 7 all others. */
int kernel_device_resolve(int fd, const struct sockaddr *addr, socklen_t len, bool remote,
			  uint32_t timeout_ms, uint32_t *device)
{
	(void)fd;
	(void)remote;
	(void)timeout_ms;
	if (fake.resolve_ret)
		return fake.resolve_ret;
	*device = len >= 8 && ((const unsigned char *)addr)[7] == 2 ? 8 : 7;
	*device += fake.first_device;
	return 0;
}

int kernel_peer_create(int fd, struct rpma_ioc_peer_create *peer)
{
	(void)fd;
	if (fake.peer_create_ret)
		return fake.peer_create_ret;
	peer->out_peer = 11;
	peer->out_flush_method = RPMA_FLUSH_METHOD_READ;
	count(fake.peers, 1);
	return 0;
}

int kernel_peer_destroy(int fd, uint32_t id)
{
	(void)fd;
	(void)id;
	count(fake.peers, -!fake.peer_destroy_ret);
	return fake.peer_destroy_ret;
}

int kernel_mr_reg(int fd, struct rpma_ioc_mr_reg *mr)
{
	(void)fd;
	note(fake.mr_reg, *mr);
	if (fake.mr_reg_ret)
		return fake.mr_reg_ret;
	mr->out_mr = 21;
	mr->out_rkey = 0xa1b2c3d4;
	count(fake.mrs, 1);
	return 0;
}

int kernel_mr_destroy(int fd, uint32_t id)
{
	(void)fd;
	(void)id;
	count(fake.mrs, -!fake.mr_destroy_ret);
	return fake.mr_destroy_ret;
}

int kernel_cq_create(int fd, uint32_t peer, uint32_t entries, struct kernel_channel_place place,
		     uint32_t *ring_bytes)
{
	(void)fd;
	(void)peer;
	pthread_mutex_lock(&lock);
	fake.places[1] = fake.places[0];
	fake.places[0] = place;
	fake.cq_entries[1] = fake.cq_entries[0];
	fake.cq_entries[0] = entries;
	pthread_mutex_unlock(&lock);
	count(fake.cqs, 1);
	*ring_bytes = sizeof(ring);
	return new_fd(fake.cq_create_ret);
}

int kernel_cq_map(int cq_fd, size_t ring_bytes, const struct rpma_cq_ring **r, uint32_t **h)
{
	(void)cq_fd;
	(void)ring_bytes;
	if (fake.cq_map_ret)
		return fake.cq_map_ret;
	*r = &ring.head;
	*h = &head;
	count(fake.maps, 1);
	return 0;
}

void kernel_cq_unmap(const struct rpma_cq_ring *r, size_t ring_bytes, uint32_t *h)
{
	(void)r;
	(void)ring_bytes;
	(void)h;
	count(fake.maps, -1);
}

int kernel_cq_poll(int cq_fd)
{
	uint32_t i;

	(void)cq_fd;
	count(fake.polls, 1);
	if (fake.cq_poll_ret)
		return fake.cq_poll_ret;
	if (nr_unpolled) {
		for (i = 0; i < nr_unpolled; i++)
			fake_complete(&unpolled[i]);
		nr_unpolled = 0;
	}
	return FAKE_RING_ENTRIES - fake_ring_room();
}

int kernel_cq_wait(int cq_fd)
{
	(void)cq_fd;
	return fake.cq_wait_ret;
}

int kernel_channel_create(int fd)
{
	(void)fd;
	return new_fd(fake.channel_create_ret);
}

int kernel_channel_wait(int channel_fd)
{
	(void)channel_fd;
	return fake.channel_wait_ret;
}

int kernel_srq_create(int fd, uint32_t peer, uint32_t entries, uint32_t *id)
{
	(void)fd;
	(void)peer;
	note(fake.srq_entries, entries);
	if (fake.srq_create_ret)
		return fake.srq_create_ret;
	count(fake.srqs, 1);
	*id = FAKE_SRQ;
	return 0;
}

int kernel_srq_destroy(int fd, uint32_t id)
{
	(void)fd;
	(void)id;
	count(fake.srqs, -!fake.srq_destroy_ret);
	return fake.srq_destroy_ret;
}

int kernel_srq_post(int fd, uint32_t id, const struct rpma_request *request)
{
	(void)fd;
	note(fake.srq_posted_to, id);
	note(fake.request, *request);
	count(fake.posts, 1);
	return fake.post_ret;
}

int kernel_ep_listen(int fd, uint32_t peer, const struct sockaddr *addr, socklen_t len)
{
	(void)fd;
	(void)peer;
	(void)addr;
	(void)len;
	return new_fd(fake.listen_ret);
}

int kernel_ep_wait(int ep_fd)
{
	(void)ep_fd;
	return fake.ep_wait_ret;
}

int kernel_ep_take(int fd, int ep_fd, const struct rpma_conn_queues *queues)
{
	(void)fd;
	(void)ep_fd;
	note(fake.queues, *queues);
	return new_fd(fake.take_ret);
}

int kernel_conn_create(int fd, uint32_t peer, const struct sockaddr *addr, socklen_t len,
		       uint32_t timeout_ms, const struct rpma_conn_queues *queues)
{
	(void)fd;
	(void)peer;
	(void)addr;
	(void)len;
	note(fake.queues, *queues);
	note(fake.timeout_ms, timeout_ms);
	return new_fd(fake.conn_create_ret);
}

static int handshake(const void *private_data, size_t len, bool accepted)
{
	pthread_mutex_lock(&lock);
	fake.handshake_len = len;
	if (len && len <= sizeof(fake.handshake_data))
		memcpy(fake.handshake_data, private_data, len);
	fake.accepted = accepted;
	pthread_mutex_unlock(&lock);
	return fake.handshake_ret;
}

int kernel_conn_connect(int fd, int conn_fd, const void *private_data, size_t len)
{
	(void)fd;
	(void)conn_fd;
	return handshake(private_data, len, false);
}

int kernel_conn_accept(int fd, int conn_fd, const void *private_data, size_t len)
{
	(void)fd;
	(void)conn_fd;
	return handshake(private_data, len, true);
}

int kernel_conn_disconnect(int fd, int conn_fd, uint32_t linger_ms)
{
	(void)fd;
	(void)conn_fd;
	note(fake.linger_ms, linger_ms);
	return fake.disconnect_ret;
}

int kernel_conn_query(int fd, int conn_fd, struct rpma_ioc_conn_query *query)
{
	(void)fd;
	(void)conn_fd;
	if (fake.query_ret)
		return fake.query_ret;
	memset(query, 0, sizeof(*query));
	query->out_qp_num = 0x123;
	query->out_state = fake.state;
	query->out_flush_method = fake.conn_method;
	query->out_read_depth = fake.read_depth;
	query->out_peer_flags = fake.peer_flags;
	query->out_private_data_len = fake.private_data_len;
	if (fake.private_data_len)
		memcpy(query->out_private_data, fake.private_data, fake.private_data_len);
	return 0;
}

int kernel_conn_direct_write(int fd, int conn_fd, bool direct_write)
{
	(void)fd;
	(void)conn_fd;
	note(fake.direct_write, direct_write);
	return fake.modify_ret;
}

int kernel_conn_flush_method(int fd, int conn_fd, enum rpma_flush_method method)
{
	(void)fd;
	(void)conn_fd;
	note(fake.flush_method, method);
	return fake.flush_method_ret;
}

int kernel_conn_event(int conn_fd, struct rpma_event *event)
{
	(void)conn_fd;
	pthread_mutex_lock(&lock);
	*event = fake.event;
	fake.event.type = 0;
	pthread_mutex_unlock(&lock);
	return event->type ? 1 : fake.event_ret;
}

int kernel_post(int conn_fd, const struct rpma_request *request)
{
	(void)conn_fd;
	note(fake.request, *request);
	count(fake.posts, 1);
	return fake.post_ret;
}

int kernel_post_several(int conn_fd, const struct rpma_request *requests, uint32_t nr)
{
	(void)conn_fd;
	pthread_mutex_lock(&lock);
	if (fake.signals && fake.nr_pieces >= fake.signals_at) {
		fake.signals--;
		pthread_mutex_unlock(&lock);
		return -EINTR;
	}
	if (fake.post_at_once && nr > fake.post_at_once)
		nr = fake.post_at_once;
	if (fake.post_limited && nr > fake.post_left)
		nr = fake.post_left;
	fake.post_left -= fake.post_limited ? nr : 0;
	memcpy(&fake.pieces[fake.nr_pieces], requests, nr * sizeof(*requests));
	fake.nr_pieces += nr;
	pthread_mutex_unlock(&lock);
	return nr ? (int)nr : fake.post_ret;
}

int kernel_flush(int conn_fd, struct rpma_ioc_flush *flush)
{
	(void)conn_fd;
	if (fake.flush_max && flush->len > fake.flush_max)
		return -EMSGSIZE;
	note(fake.flush, *flush);
	count(fake.posts, 1);
	return fake.post_ret;
}
