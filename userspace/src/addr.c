// SPDX-License-Identifier: BSD-3-Clause
/* The only file that asks the resolver. */
#define _GNU_SOURCE

#include <sys/socket.h>

#include "addr.h"
#include "err.h"

static int gai_errno(int gai)
{
	switch (gai) {
	case EAI_SYSTEM:
		return errno;
	case EAI_MEMORY:
		return ENOMEM;
	case EAI_AGAIN:
		return EAGAIN;
	case EAI_SERVICE:
		return EINVAL;
	case EAI_FAMILY:
		return EAFNOSUPPORT;
	default:
		return EADDRNOTAVAIL;
	}
}

int addr_lookup(const char *host, const char *port, bool passive, struct addrinfo **list)
{
	const struct addrinfo hints = {
		.ai_family = AF_UNSPEC,
		.ai_socktype = SOCK_STREAM,
		.ai_flags = passive ? AI_PASSIVE : 0,
	};
	int gai, err;

	gai = getaddrinfo(host, port, &hints, list);
	if (!gai)
		return 0;
	err = gai_errno(gai);
	log_error("looking up host \"%s\", port \"%s\": %s", host, port ? port : "", gai_strerror(gai));
	return err_control(err);
}
