/* SPDX-License-Identifier: BSD-3-Clause */
/* Test results, one line each, as prove(1) and the kernel's tests have them. */
#ifndef TESTS_TAP_H
#define TESTS_TAP_H

#include <stdio.h>
#include <stdlib.h>

/* Weak: a program of several files has one count. */
__attribute__((weak)) int tap_nr, tap_failed;

#define ok(cond, fmt, ...)								\
	do {										\
		int tap_ok = !!(cond);							\
											\
		tap_failed += !tap_ok;							\
		printf("%sok %d " fmt "\n", tap_ok ? "" : "not ", ++tap_nr, ##__VA_ARGS__); \
		if (!tap_ok)								\
			printf("# %s:%d: %s\n", __FILE__, __LINE__, #cond);		\
	} while (0)

/* The program's exit status. */
static inline int tap_done(void)
{
	printf("1..%d\n", tap_nr);
	return tap_failed ? EXIT_FAILURE : EXIT_SUCCESS;
}

#endif /* TESTS_TAP_H */
