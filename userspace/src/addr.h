/* SPDX-License-Identifier: BSD-3-Clause */
/* From host and service names to socket addresses. */
#ifndef RPMA_ADDR_H
#define RPMA_ADDR_H

#include <netdb.h>
#include <stdbool.h>

/*
 * All addresses of @host and @port (which may be NULL), to be tried in this
 * order and freed with freeaddrinfo(3). @passive: an address of ours.
 * Returns RPMA_E_*, having logged why.
 */
int addr_lookup(const char *host, const char *port, bool passive, struct addrinfo **list);

#endif /* RPMA_ADDR_H */
