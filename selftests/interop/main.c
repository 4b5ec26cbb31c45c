// SPDX-License-Identifier: GPL-2.0
/*
 * usage: interop server ADDRESS PORT KIND
 *        interop client ADDRESS PORT KIND KIND [OPTION...] [SCENARIO...]
 *
 * A kind is "ours" or "real"; of a server also "by_read", ours with
 * RPMA_PERSISTENT_BY_READ=1 in its environment, and "no_flush", real, which
 * takes its adapter for one without FLUSH.
 * The last word but one of the client says which library it expects the server
 * to have, the one before what itself runs on. The server takes any number of
 * clients. The client prints KTAP, with the complaints of both sides.
 *   -d OFFSET   of /dev/dax0.0 on the server's machine: 4 MiB for this client
 *   -u ADDRESS  where nobody answers
 *   -r HERE,THERE  "patched" or "stock", the rxe of the client and of the server:
 *               the scenarios of methods.c and no other; RPMA_FLUSH_METHOD counts
 * A process lives as long as its scenarios pass; behind a failure another one
 * goes on with the next scenario.
 */
#include <arpa/inet.h>
#include <dlfcn.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "ctl.h"

#define PATIENCE 100
#define SCENARIOS_MAX 100
#define NO_SERVER 3

static const struct scenario *scenarios[SCENARIOS_MAX];
static int nr_scenarios;

/* What has been reported, also when the process that did it is gone. */
static struct {
	int next;		/* in chosen[] */
	int failures;
} *report;
static int chosen[SCENARIOS_MAX], nr_chosen;

static struct side side;

/* ---- the log of the library ---- */

static char logged[512];

static void on_log(enum rpma_log_level level, const char *file, const int line,
		   const char *function, const char *format, ...)
{
	va_list args;

	if (level > RPMA_LOG_LEVEL_WARNING)
		return;
	va_start(args, format);
	vsnprintf(logged, sizeof(logged), format, args);
	va_end(args);
	logged[strcspn(logged, "\n")] = '\0';
}

const char *last_error(void)
{
	static char words[sizeof(logged)];

	memcpy(words, logged, sizeof(words));
	logged[0] = '\0';
	return words;
}

/* ---- verdicts ---- */

static const char *const kinds[NR_KINDS] = {
	[OURS] = "ours", [REAL] = "real", [BY_READ] = "by_read", [NO_FLUSH] = "no_flush",
};

static bool is_ours(enum kind kind)
{
	return kind == OURS || kind == BY_READ;
}

/* Who talks to whom: "ours->real", or "ours@patched,native->real@stock". */
static const char *pair(void)
{
	const char *method = getenv("RPMA_FLUSH_METHOD");
	static char text[100];

	if (!side.rxe)
		snprintf(text, sizeof(text), "%s->%s", kinds[side.kind], kinds[side.peer_kind]);
	else
		snprintf(text, sizeof(text), "%s@%s%s%s->%s@%s", kinds[side.kind], side.rxe,
			 method ? "," : "", method ? method : "", kinds[side.peer_kind],
			 side.peer_rxe);
	return text;
}

static const char *name_of(int nr)
{
	return nr < nr_chosen ? scenarios[chosen[nr]]->name : "everything_can_be_deleted";
}

static void result(const char *verdict, const char *why)
{
	printf("%s %d %s.%s%s%s%s\n", verdict, report->next + 1, pair(), name_of(report->next),
	       side.why ? ", " : "", side.why ? side.why : "", why);
	report->next++;
	report->failures += verdict[0] == 'n';
}

static void complain(bool server, const char *text)
{
	printf("# %s.%s, %s (%s): %s\n", pair(), name_of(report->next),
	       server ? "server" : "client",
	       kinds[server ? side.peer_kind : side.kind], text);
}

/* A server tells the client, who tells the world. */
void failed(bool here, const char *text)
{
	char theirs[TEXT_SIZE];

	if (side.doomed) {
		printf("# the client to be killed: %s\n", text);
		_exit(1);
	}
	if (here)
		ctl_send(FRAME_FAILED, text, strlen(text) + 1);
	if (!side.server) {
		complain(!here, text);
		/* It may be the cause. */
		if (here && ctl_last_words(theirs))
			complain(true, theirs);
		result("not ok", "");
	}
	_exit(1);
}

/* ---- both ---- */

static void gather(const struct scenario *list)
{
	for (; list->name; list++) {
		if (nr_scenarios == SCENARIOS_MAX)
			abort();
		scenarios[nr_scenarios++] = list;
	}
}

/* Debian's lives in /usr/lib; ours is never installed there in the tests. */
static bool this_library_is_ours(void)
{
	Dl_info info;

	if (!dladdr(rpma_flush, &info))
		abort();
	return strncmp(info.dli_fname, "/usr/lib/", 9) && strncmp(info.dli_fname, "/lib/", 5);
}

static int tcp(const char *addr, const char *port, bool server)
{
	struct addrinfo hints = { .ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICHOST };
	struct addrinfo *ai;
	int fd, one = 1;

	if (getaddrinfo(addr, port, &hints, &ai))
		return -1;
	fd = socket(ai->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	if (server ? bind(fd, ai->ai_addr, ai->ai_addrlen) || listen(fd, 8) :
		     connect(fd, ai->ai_addr, ai->ai_addrlen)) {
		close(fd);
		fd = -1;
	}
	freeaddrinfo(ai);
	return fd;
}

static void set_ports(int port)
{
	snprintf(side.port, sizeof(side.port), "%d", port);
	/* Beyond all that this server will listen on. */
	snprintf(side.closed_port, sizeof(side.closed_port), "%d", port + 1000);
}

static void run(int nr)
{
	ctl_alive();
	last_error();
	side.scenario = scenarios[nr];
	side.why = NULL;
	side.scenario->run(&side);
}

/* ---- the server ---- */

static const char *cannot(const struct scenario *sc)
{
	if ((sc->flags & NEEDS_DAX) && access("/dev/dax0.0", R_OK | W_OK))
		return " # SKIP the server has no /dev/dax0.0";
	return NULL;
}

static void serve(int fd, int port)
{
	struct hello hello;
	const char *why;
	enum frame type;
	size_t size;
	int nr;

	ctl_begin(&side, fd, PATIENCE);
	ctl_expect(FRAME_HELLO, &hello, sizeof(hello));
	side.peer_kind = hello.kind;
	side.peer_ours = is_ours(hello.kind);
	side.dax_offset = hello.dax_offset;
	set_ports(port);
	side.peer = new_peer(&side);
	OK(rpma_ep_listen(side.peer, side.addr, side.port, &side.ep));
	hello = (struct hello) { .kind = side.kind, .port = port };
	ctl_send(FRAME_HELLO, &hello, sizeof(hello));
	while (size = sizeof(nr), (type = ctl_next(&nr, &size)) == FRAME_SCENARIO) {
		why = cannot(scenarios[nr]);
		if (why) {
			ctl_send(FRAME_SKIP, why, strlen(why) + 1);
			continue;
		}
		ctl_send(FRAME_GO, NULL, 0);
		run(nr);
		ctl_send(FRAME_PASSED, NULL, 0);
	}
	IS(FRAME_END, type);
	OK(rpma_ep_shutdown(&side.ep));
	OK(rpma_peer_delete(&side.peer));
	ctl_send(FRAME_PASSED, NULL, 0);
	_exit(0);
}

static int server(const char *addr, const char *port)
{
	int listening = tcp(addr, port, true), nr = 0, fd;

	if (listening < 0) {
		perror("listening");
		return 1;
	}
	signal(SIGCHLD, SIG_IGN);
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	while ((fd = accept4(listening, NULL, NULL, SOCK_CLOEXEC)) >= 0) {
		if (fork() == 0) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			serve(fd, atoi(port) + ++nr);
		}
		nr++;
		close(fd);
	}
	return 1;
}

/* ---- the client ---- */

static void one_scenario(int nr)
{
	char text[TEXT_SIZE];
	size_t size = sizeof(text);
	enum frame type;

	ctl_send(FRAME_SCENARIO, &nr, sizeof(nr));
	type = ctl_next(text, &size);
	if (type == FRAME_SKIP) {
		result("ok", text);
		return;
	}
	IS(FRAME_GO, type);
	run(nr);
	if (side.killed)
		OK(rpma_peer_delete(&side.peer));
	else
		ctl_expect(FRAME_PASSED, NULL, 0);
	result("ok", "");
}

static void work(const char *addr, const char *port)
{
	struct hello hello = { .kind = side.kind, .dax_offset = side.dax_offset };
	int fd;

	/* The server may be slow to start. */
	for (int i = 0; (fd = tcp(addr, port, false)) < 0 && i < 300; i++)
		usleep(100000);
	if (fd < 0)
		_exit(NO_SERVER);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	ctl_begin(&side, fd, PATIENCE);
	ctl_send(FRAME_HELLO, &hello, sizeof(hello));
	ctl_expect(FRAME_HELLO, &hello, sizeof(hello));
	IS(side.peer_kind, hello.kind);
	set_ports(hello.port);
	side.peer = new_peer(&side);
	while (report->next < nr_chosen && !side.killed)
		one_scenario(chosen[report->next]);
	if (!side.killed) {
		side.why = NULL;
		side.killed = true;
		ctl_send(FRAME_END, NULL, 0);
		ctl_expect(FRAME_PASSED, NULL, 0);
		OK(rpma_peer_delete(&side.peer));
		result("ok", "");
	}
	_exit(0);
}

static int choose(char *names[])
{
	for (int i = 0; i < nr_scenarios; i++) {
		bool wanted = !*names && !(scenarios[i]->flags & DEAD_ADDR) &&
			      !(scenarios[i]->flags & METHODS) == !side.rxe;

		for (char **name = names; *name; name++)
			wanted |= !strcmp(*name, scenarios[i]->name);
		if (wanted)
			chosen[nr_chosen++] = i;
	}
	return nr_chosen;
}

static int client(const char *addr, const char *port)
{
	int status;
	pid_t pid;

	report = mmap(NULL, sizeof(*report), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
		      -1, 0);
	printf("TAP version 13\n1..%d\n", nr_chosen + 1);
	while (report->next <= nr_chosen) {
		int before = report->next;

		pid = fork();
		if (!pid)
			work(addr, port);
		if (pid < 0 || waitpid(pid, &status, 0) != pid)
			return 1;
		if (WIFEXITED(status) && WEXITSTATUS(status) == NO_SERVER) {
			printf("Bail out! no server at %s port %s\n", addr, port);
			return 1;
		}
		/* Neither a result nor a word. */
		if (WIFSIGNALED(status) || report->next == before) {
			complain(false, "ended without a word");
			result("not ok", "");
		}
	}
	return report->failures != 0;
}

static enum kind kind_of(const char *word)
{
	for (int i = 0; i < NR_KINDS; i++)
		if (!strcmp(word, kinds[i]))
			return i;
	fprintf(stderr, "%s is no kind of side\n", word);
	exit(2);
}

/* "HERE,THERE" */
static void set_rxe(char *words)
{
	side.rxe = words;
	side.peer_rxe = strchr(words, ',');
	if (!side.peer_rxe)
		exit(2);
	words[side.peer_rxe++ - words] = '\0';
}

int main(int argc, char *argv[])
{
	int option;

	setvbuf(stdout, NULL, _IOLBF, 0);
	gather(msg_scenarios);
	gather(data_scenarios);
	gather(flush_scenarios);
	gather(life_scenarios);
	gather(methods_scenarios);
	if (argc < 5 || (!strcmp(argv[1], "client") && argc < 6))
		return 2;
	side.addr = argv[2];
	side.kind = kind_of(argv[4]);
	side.ours = is_ours(side.kind);
	if (side.ours != this_library_is_ours()) {
		printf("Bail out! this process has the wrong library\n");
		return 1;
	}
	rpma_log_set_function(on_log);
	if (!strcmp(argv[1], "doomed")) {
		side.doomed = true;
		set_ports(atoi(argv[3]));
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		be_doomed(&side);
	}
	if (!strcmp(argv[1], "server")) {
		side.server = true;
		if (side.kind == BY_READ)
			setenv("RPMA_PERSISTENT_BY_READ", "1", 1);
		if (side.kind == NO_FLUSH)
			hide_flush();
		return server(argv[2], argv[3]);
	}
	optind = 6;
	while ((option = getopt(argc, argv, "+d:u:r:")) != -1) {
		if (option == 'd')
			side.dax_offset = atol(optarg);
		else if (option == 'u')
			side.dead_addr = optarg;
		else if (option == 'r')
			set_rxe(optarg);
		else
			return 2;
	}
	side.peer_kind = kind_of(argv[5]);
	side.peer_ours = is_ours(side.peer_kind);
	if (!choose(argv + optind))
		return 2;
	for (int i = 0; i < nr_chosen; i++)
		if ((scenarios[chosen[i]]->flags & DEAD_ADDR) && !side.dead_addr)
			return 2;
	return client(argv[2], argv[3]);
}
