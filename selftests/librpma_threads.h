/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the tests with threads share: 16 threads that start together, and a look
 * at what they left in the kernel.
 *
 * RPMA_TEST_DIVIDE=n in the environment divides the rounds by n, for tools
 * that make programs slow.
 */
#ifndef _LIBRPMA_THREADS_H
#define _LIBRPMA_THREADS_H

#include "librpma_ends.h"

#include <dirent.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

#define THREADS 16

struct worker {
	struct ends *e;
	int nr;
	int (*run)(struct worker *w);
	pthread_t thread;
	int line;		/* where it failed, 0: nowhere */
};

static atomic_bool stop;
static pthread_barrier_t barrier;

/* In a thread no assertion of the harness works: failures are line numbers. */
#define TRY(cond)							\
	do {								\
		if (!(cond) || atomic_load(&stop))			\
			return __LINE__;				\
	} while (0)

#define DO(call)							\
	do {								\
		int __line = (call);					\
									\
		if (__line)						\
			return __line;					\
	} while (0)

static inline int rounds(int n)
{
	n /= atoi(test_env("RPMA_TEST_DIVIDE", "1"));
	return n < 1 ? 1 : n;
}

static inline void *work(void *arg)
{
	struct worker *w = arg;

	pthread_barrier_wait(&barrier);
	w->line = w->run(w);
	if (w->line) {
		/* At once: the others may wait for this one until the test is killed. */
		fprintf(stderr, "# thread %d failed in line %d: %s\n", w->nr, w->line,
			strerror(errno));
		atomic_store(&stop, true);
	}
	return NULL;
}

static inline void run_threads(struct __test_metadata *_metadata, struct ends *e,
			       int (*even)(struct worker *w), int (*odd)(struct worker *w))
{
	struct worker w[THREADS];

	ASSERT_EQ(0, pthread_barrier_init(&barrier, NULL, THREADS));
	for (int i = 0; i < THREADS; i++) {
		w[i] = (struct worker){ .e = e, .nr = i, .run = i % 2 ? odd : even };
		ASSERT_EQ(0, pthread_create(&w[i].thread, NULL, work, &w[i]));
	}
	for (int i = 0; i < THREADS; i++)
		ASSERT_EQ(0, pthread_join(w[i].thread, NULL));
	for (int i = 0; i < THREADS; i++)
		EXPECT_EQ(0, w[i].line);
	pthread_barrier_destroy(&barrier);
}

/* ---- nothing is left ---- */

struct left {
	int fds;
	long pinned_kb;
	int module_users;
};

/* What the module holds of all RDMA devices. */
static inline int kernel_objects(void)
{
	FILE *f = popen("for type in pd cq qp mr cm_id; do rdma resource show $type; done |"
			" grep -c '\\[rpma\\]'", "r");
	int n = -1;

	if (!f || fscanf(f, "%d", &n) != 1)
		n = -1;
	if (f)
		pclose(f);
	return n;
}

static inline long number_in(const char *path, const char *format)
{
	FILE *f = fopen(path, "r");
	char line[128];
	long n = -1;

	while (f && fgets(line, sizeof(line), f) && sscanf(line, format, &n) != 1)
		;
	if (f)
		fclose(f);
	return n;
}

static inline struct left left_now(void)
{
	struct left left = {
		.pinned_kb = number_in("/proc/self/status", "VmPin: %ld"),
		.module_users = number_in("/sys/module/rpma/refcnt", "%ld"),
	};
	DIR *d = opendir("/proc/self/fd");

	while (d && readdir(d))
		left.fds++;
	closedir(d);
	return left;
}

/* The kernel ends connections behind our back, but soon. */
static inline void expect_nothing_left(struct __test_metadata *_metadata, const struct left *before)
{
	long long end = now_ms() + WAIT_MS;
	struct left after;

	while (kernel_objects() && now_ms() < end)
		poll(NULL, 0, 50);
	EXPECT_EQ(0, kernel_objects());
	after = left_now();
	EXPECT_EQ(before->fds, after.fds);
	EXPECT_EQ(before->pinned_kb, after.pinned_kb);
	EXPECT_EQ(before->module_users, after.module_users);
}

#endif /* _LIBRPMA_THREADS_H */
