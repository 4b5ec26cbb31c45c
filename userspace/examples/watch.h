/* SPDX-License-Identifier: BSD-3-Clause */
/* For servers of many clients: one thread that waits for all descriptors. */
#ifndef EXAMPLES_WATCH_H
#define EXAMPLES_WATCH_H

#include <sys/epoll.h>

#include "common.h"

static int watch_epoll = -1;

/* Once closed, a descriptor is forgotten. */
static inline void watch(int fd)
{
	struct epoll_event event = { .events = EPOLLIN, .data.fd = fd };

	if (watch_epoll < 0)
		watch_epoll = epoll_create1(EPOLL_CLOEXEC);
	if (epoll_ctl(watch_epoll, EPOLL_CTL_ADD, fd, &event))
		die("epoll_ctl: %s", strerror(errno));
}

/* One at a time, so that none is of a connection that has just ended. */
static inline int watch_wait(void)
{
	struct epoll_event event;

	if (epoll_wait(watch_epoll, &event, 1, -1) < 0)
		die("epoll_wait: %s", strerror(errno));
	return event.data.fd;
}

#endif /* EXAMPLES_WATCH_H */
