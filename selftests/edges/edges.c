// SPDX-License-Identifier: GPL-2.0
/*
 * usage: edges [SCENE...]	prints the cases, one a line
 *        edges -l		names the scenes
 *        edges -e | -d		prints expected.txt | differences.txt
 */
#include "edges.h"

#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/wait.h>

/* A call that has not returned by then never will. */
#define HANG_SECONDS 90
#define SLOW_HANG_SECONDS 300

#define EXIT_MORE 42
#define EXIT_BROKEN 43

/* What a child leaves behind however it ends. */
static struct {
	int nr;			/* of the case begun last */
	char label[256];	/* its name, until it has printed its line */
} *shared;

static const struct scene *playing;
static int resume, seen;
int edge_errno;

static const struct scene *const nouns[] = {
	scenes_words, scenes_peer_cfg, scenes_peer, scenes_mr, scenes_remote, scenes_conn_cfg,
	scenes_ep, scenes_conn_req, scenes_conn, scenes_events, scenes_cq, scenes_flush,
	scenes_io, scenes_access, scenes_message, scenes_queues, scenes_srq,
};

/* ---- in the child ---- */

bool edge(const char *function, const char *format, ...)
{
	int len, nr = seen++;
	va_list args;

	if (nr < resume)
		return false;
	if (playing->apart && nr > resume)
		_exit(EXIT_MORE);
	shared->nr = nr;
	len = snprintf(shared->label, sizeof(shared->label), "%s ", function);
	va_start(args, format);
	vsnprintf(shared->label + len, sizeof(shared->label) - len, format, args);
	va_end(args);
	edge_errno = 0;
	alarm(playing->slow ? SLOW_HANG_SECONDS : HANG_SECONDS);
	return true;
}

void outcome(int ret, const char *format, ...)
{
	char text[1024] = "", cause[64] = "";
	va_list args;

	if (ret == RPMA_E_PROVIDER && edge_errno)
		snprintf(cause, sizeof(cause), " errno=%s", strerrorname_np(edge_errno));
	if (format) {
		text[0] = ' ';
		va_start(args, format);
		vsnprintf(text + 1, sizeof(text) - 1, format, args);
		va_end(args);
	}
	dprintf(1, "%s -> %s%s%s\n", shared->label, error_name(ret), cause, text);
	shared->label[0] = '\0';
	alarm(HANG_SECONDS);
}

void broken(const char *file, int line, const char *what, int ret)
{
	dprintf(2, "%s:%d: %s is %s, errno %s (in %s)\n", file, line, what, error_name(ret),
		strerrorname_np(errno), shared->label[0] ? shared->label : playing->name);
	_exit(EXIT_BROKEN);
}

static void play(void)
{
	struct world w;

	memset(&w, 0, sizeof(w));
	seen = 0;
	alarm(HANG_SECONDS);
	/* Else it would be the logging whose errno is seen. */
	rpma_log_set_threshold(RPMA_LOG_THRESHOLD, RPMA_LOG_DISABLED);
	if (playing->setup)
		playing->setup(&w);
	playing->run(&w);
	_exit(0);
}

/* ---- in the parent ---- */

static void obituary(int status)
{
	const char *how = "BROKEN";

	if (WIFSIGNALED(status))
		how = WTERMSIG(status) == SIGALRM ? "HANG" : "CRASH";
	if (shared->label[0])
		dprintf(1, "%s -> %s\n", shared->label, how);
	else
		dprintf(1, "%s between cases -> %s\n", playing->name, how);
}

/* One child; false: the scene is over. */
static bool run_child(void)
{
	int status;
	pid_t pid;

	shared->nr = -1;
	shared->label[0] = '\0';
	pid = fork();
	if (pid < 0) {
		perror("fork");
		exit(1);
	}
	if (!pid)
		play();
	waitpid(pid, &status, 0);
	if (WIFEXITED(status) && !WEXITSTATUS(status))
		return false;
	if (!WIFEXITED(status) || WEXITSTATUS(status) != EXIT_MORE)
		obituary(status);
	resume = shared->nr + 1;
	return shared->nr >= 0;
}

static bool is_wanted(const struct scene *scene, char **names)
{
	if (!*names)
		return true;
	for (; *names; names++)
		if (!strcmp(*names, scene->name))
			return true;
	return false;
}

static void new_page(void)
{
	shared = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (shared == MAP_FAILED) {
		perror("mmap");
		exit(1);
	}
}

static void run_scene(void)
{
	resume = 0;
	while (run_child())
		;
}

/* The one slow scene writes into a pipe, which is read when its turn comes. */
static int slow_pipe[2] = { -1, -1 };

static void start_slow(void)
{
	if (pipe(slow_pipe)) {
		perror("pipe");
		exit(1);
	}
	if (fork()) {
		close(slow_pipe[1]);
		return;
	}
	dup2(slow_pipe[1], 1);
	new_page();
	run_scene();
	exit(0);
}

static void finish_slow(void)
{
	char text[1024];
	ssize_t len;

	while ((len = read(slow_pipe[0], text, sizeof(text))) > 0)
		if (write(1, text, len) != len)
			exit(1);
	close(slow_pipe[0]);
	wait(NULL);
}

static void for_scenes(char **names, void (*act)(void), bool slow)
{
	for (size_t i = 0; i < ARRAY_SIZE(nouns); i++)
		for (playing = nouns[i]; playing->name; playing++)
			if (is_wanted(playing, names) && (!slow || playing->slow))
				act();
}

static void act_list(void)
{
	puts(playing->name);
}

static void act_run(void)
{
	if (playing->slow)
		finish_slow();
	else
		run_scene();
}

/* The texts travel with the program, so that it is one file. */
__asm__(".section .rodata\n"
	"expected: .incbin \"edges/expected.txt\"\nexpected_end:\n"
	"differences: .incbin \"edges/differences.txt\"\ndifferences_end:\n"
	".previous\n");
extern const char expected[], expected_end[], differences[], differences_end[];

int main(int argc, char *argv[])
{
	char *all = NULL;

	if (argc == 2 && !strcmp(argv[1], "-e"))
		return !fwrite(expected, expected_end - expected, 1, stdout);
	if (argc == 2 && !strcmp(argv[1], "-d"))
		return !fwrite(differences, differences_end - differences, 1, stdout);
	if (argc == 2 && !strcmp(argv[1], "-l")) {
		for_scenes(&all, act_list, false);
		return 0;
	}
	new_page();
	for_scenes(argv + 1, start_slow, true);
	for_scenes(argv + 1, act_run, false);
	return 0;
}
