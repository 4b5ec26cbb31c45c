// SPDX-License-Identifier: GPL-2.0
/*
 * Faults to be found, one a word: race, leak, overflow, shift, unset. As in the
 * tests, a child of the program has them and leaves by _exit(2).
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <linux/rpma.h>

static int counter;

static void *count(void *arg)
{
	for (int i = 0; i < 1000; i++)
		counter++;
	return arg;
}

static void race(void)
{
	pthread_t thread;

	pthread_create(&thread, NULL, count, NULL);
	count(NULL);
	pthread_join(thread, NULL);
}

static void *volatile kept;

static void leak(void)
{
	kept = malloc(1234);
	kept = NULL;
}

static void overflow(void)
{
	volatile size_t size = 9;
	char *bytes = malloc(8);

	memset(bytes, 1, size);
	__asm__ volatile("" : : "r"(bytes) : "memory");
	free(bytes);
}

static void shift(void)
{
	volatile int by = 40;

	counter = 1 << by;
}

/* The kernel would read a command that was never written. */
static void unset(void)
{
	struct rpma_ioc_query *query = malloc(sizeof(*query));

	query->size = sizeof(*query);
	ioctl(-1, RPMA_IOC_QUERY, query);
	free(query);
}

static const struct {
	const char *name;
	void (*plant)(void);
} faults[] = {
	{ "race", race },
	{ "leak", leak },
	{ "overflow", overflow },
	{ "shift", shift },
	{ "unset", unset },
};

int main(int argc, char **argv)
{
	int status = 0;

	if (fork() == 0) {
		for (int i = 1; i < argc; i++)
			for (size_t f = 0; f < sizeof(faults) / sizeof(faults[0]); f++)
				if (!strcmp(argv[i], faults[f].name))
					faults[f].plant();
		_exit(0);
	}
	wait(&status);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}
