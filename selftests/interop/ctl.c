// SPDX-License-Identifier: GPL-2.0
/*
 * The line between the two processes of a test, and a thread that watches it:
 * a side that waits in the library for what the other one will never do must
 * hear that the other one has failed. No signals, which would interrupt the
 * waiting that is tested.
 */
#include <poll.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/socket.h>
#include <time.h>

#include "ctl.h"

struct header {
	uint32_t type;
	uint32_t size;
};

static struct side *side;
static int ctl = -1;
static int patience;
static atomic_long deadline;
static pthread_mutex_t reading = PTHREAD_MUTEX_INITIALIZER;
static atomic_flag dying = ATOMIC_FLAG_INIT;
int progress;

static long seconds_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec;
}

void ctl_alive(void)
{
	atomic_store(&deadline, seconds_now() + patience);
}

static void end_with(bool here, const char *text)
{
	/* One thread complains; the other must not go on. */
	while (atomic_flag_test_and_set(&dying))
		pause();
	failed(here, text);
}

void die(const char *file, int line, const char *format, ...)
{
	const char *name = strrchr(file, '/'), *log = last_error();
	char text[TEXT_SIZE];
	va_list args;
	int n;

	n = snprintf(text, sizeof(text), "%s:%d: ", name ? name + 1 : file, line);
	va_start(args, format);
	n += vsnprintf(text + n, sizeof(text) - n, format, args);
	va_end(args);
	if (*log && n < TEXT_SIZE)
		snprintf(text + n, sizeof(text) - n, " [%s]", log);
	end_with(true, text);
	__builtin_unreachable();
}

/* ---- frames ---- */

void ctl_send(enum frame type, const void *data, size_t size)
{
	char buf[sizeof(struct header) + 4096];
	struct header h = { type, size };

	if (size > 4096)
		abort();
	memcpy(buf, &h, sizeof(h));
	if (size)
		memcpy(buf + sizeof(h), data, size);
	/* Whether it arrives is the reader's trouble. */
	send(ctl, buf, sizeof(h) + size, MSG_NOSIGNAL);
}

static bool receive(void *data, size_t size)
{
	return !size || recv(ctl, data, size, MSG_WAITALL) == (ssize_t)size;
}

/* With the mutex. A failure of the other side ends it all here. */
static enum frame next_locked(void *data, size_t *size)
{
	char text[TEXT_SIZE] = "";
	struct header h;

	if (!receive(&h, sizeof(h)))
		end_with(false, "is gone");
	if (h.type == FRAME_FAILED) {
		receive(text, h.size < sizeof(text) ? h.size : sizeof(text) - 1);
		end_with(false, text);
	}
	if (h.size > *size || !receive(data, h.size))
		end_with(false, "sent too much");
	*size = h.size;
	return h.type;
}

enum frame ctl_next(void *data, size_t *size)
{
	enum frame type;

	pthread_mutex_lock(&reading);
	type = next_locked(data, size);
	pthread_mutex_unlock(&reading);
	return type;
}

size_t ctl_expect(enum frame type, void *data, size_t size)
{
	enum frame got = ctl_next(data, &size);

	if (got != type)
		die(__FILE__, __LINE__, "the two sides are out of step: frame %c, not %c", got,
		    type);
	return size;
}

bool ctl_last_words(char text[TEXT_SIZE])
{
	struct pollfd pfd = { .fd = ctl, .events = POLLIN };
	char data[4096];
	struct header h;

	memset(text, 0, TEXT_SIZE);
	while (poll(&pfd, 1, 2000) == 1 && receive(&h, sizeof(h)) && h.size <= sizeof(data) &&
	       receive(data, h.size)) {
		if (h.type == FRAME_FAILED) {
			memcpy(text, data, h.size < TEXT_SIZE ? h.size : TEXT_SIZE - 1);
			return true;
		}
	}
	return false;
}

void put(const void *data, size_t size)
{
	ctl_send(FRAME_DATA, data, size);
}

void get(void *data, size_t size)
{
	IS(size, ctl_expect(FRAME_DATA, data, size));
}

void sync_here(void)
{
	char here = 's', there = 0;

	put(&here, 1);
	get(&there, 1);
	IS(here, there);
}

void same_bytes(const char *file, int line, const char *what, const void *want, const void *got,
		size_t size)
{
	const unsigned char *w = want, *g = got;

	for (size_t i = 0; i < size; i++) {
		if (w[i] != g[i])
			die(file, line, "%s: byte %zu of %zu is %#x, not %#x", what, i, size, g[i],
			    w[i]);
	}
}

/* ---- the watcher ---- */

static void look(void)
{
	size_t size = 0;
	struct header h;
	ssize_t n;

	if (pthread_mutex_trylock(&reading))
		return;		/* who reads will see */
	n = recv(ctl, &h, sizeof(h), MSG_PEEK | MSG_DONTWAIT);
	if ((n == 0 && !side->killed) || (n == sizeof(h) && h.type == FRAME_FAILED))
		next_locked(NULL, &size);
	pthread_mutex_unlock(&reading);
}

static void *watch(void *unused)
{
	for (;;) {
		usleep(200000);
		look();
		if (seconds_now() > atomic_load(&deadline))
			die("stuck", progress, "nothing happened for %d s", patience);
	}
	return unused;
}

void ctl_begin(struct side *s, int fd, int seconds)
{
	pthread_t thread;

	side = s;
	ctl = fd;
	patience = seconds;
	ctl_alive();
	if (pthread_create(&thread, NULL, watch, NULL))
		abort();
}
