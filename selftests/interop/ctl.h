/* SPDX-License-Identifier: GPL-2.0 */
/* The line between the two processes of a test: frames over TCP. */
#ifndef _INTEROP_CTL_H
#define _INTEROP_CTL_H

#include "interop.h"

#define TEXT_SIZE 1024

enum frame {
	FRAME_HELLO = 'H',	/* struct hello */
	FRAME_SCENARIO = 'S',	/* number: the client begins */
	FRAME_GO = 'G',		/* the server begins too */
	FRAME_SKIP = 'K',	/* text: it cannot */
	FRAME_DATA = 'D',	/* between the two functions of a scenario */
	FRAME_FAILED = 'F',	/* text */
	FRAME_PASSED = 'P',
	FRAME_END = 'E',	/* no more scenarios */
};

struct hello {
	int32_t kind;
	int32_t port;
	int64_t dax_offset;
};

/* Begins with @fd; after @seconds without ctl_alive() the scenario has failed. */
void ctl_begin(struct side *s, int fd, int seconds);
void ctl_alive(void);

void ctl_send(enum frame type, const void *data, size_t size);
/* The next frame must be @type, of at most @size bytes; returns how many. */
size_t ctl_expect(enum frame type, void *data, size_t size);
/* The next frame, whatever it is, but a failure. */
enum frame ctl_next(void *data, size_t *size);

/* For a side that has failed: what the other one says of it, if anything. */
bool ctl_last_words(char text[TEXT_SIZE]);

/* main.c: what to do with the complaint of one side: ends the process. */
__attribute__((noreturn)) void failed(bool here, const char *text);

#endif /* _INTEROP_CTL_H */
