// pmx-agent: one per host under test. `start` detaches, `run` stays, `relay` joins a session.
#include "agent.h"
#include "daemon.h"
#include "relay.h"
#include "serve.h"

#include <rte_version.h>

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define POLL_MS 5

static _Atomic int stop_signal;

static void on_signal(int sig)
{
	atomic_store_explicit(&stop_signal, sig, memory_order_relaxed);
}

static void say(int fd, const char *line)
{
	if (fd < 0)
		return;
	dprintf(fd, "%s\n", line);
	close(fd);
}

static void loop(struct agent *a, struct serve *s)
{
	for (;;) {
		serve_poll(s, a, POLL_MS);
		uint64_t now = clock_now_ns();
		if (atomic_load_explicit(&stop_signal, memory_order_relaxed) != 0) {
			agent_stop(a, 0, "signal", now);
			a->quit = true;
		}
		if (!agent_tick(a, now))
			return;
	}
}

static int agent_run(int ready_fd)
{
	static struct agent a; // large, and all zero at first
	struct serve s = { .fd = -1 };
	struct err e = { 0 };
	char dir[4096];
	struct sigaction stop = { .sa_handler = on_signal };
	sigaction(SIGTERM, &stop, NULL);
	sigaction(SIGINT, &stop, NULL);
	signal(SIGPIPE, SIG_IGN);
	pthread_mutex_init(&a.lock, NULL);
	pthread_mutex_lock(&a.lock);

	int r = getcwd(dir, sizeof(dir)) == NULL ? err_set(&e, errno, "no current directory")
						 : agent_open(&a, dir, &e);
	if (r == 0)
		r = serve_open(&s, &e);
	if (r != 0) {
		fprintf(stderr, "pmx-agent: %s\n", e.msg);
		say(ready_fd, e.msg);
		return 1;
	}
	say(ready_fd, "ok");
	loop(&a, &s);
	serve_close(&s);
	agent_close(&a);
	return 0;
}

static int run_detached(void)
{
	return daemon_start(agent_run);
}

static int run_foreground(void)
{
	return agent_run(-1);
}

static const struct {
	const char *name;
	int (*run)(void);
	const char *help;
} verbs[] = {
	{ "start", run_detached, "run detached; returns when the port is up or why it is not" },
	{ "run", run_foreground, "run in the foreground" },
	{ "relay", relay_run, "join standard input and output to a running agent" },
};

// pmx reads the list in the file (app/pmx/agent_elf.c), which may be for another machine.
#ifdef PMX_PMDS
static const char pmds[] = "pmx-agent PMDs: " PMX_PMDS;
#else
static const char pmds[] = "pmx-agent PMDs are those of the shared DPDK";
#endif

static void print_usage(FILE *f)
{
	fprintf(f, "usage: pmx-agent VERB --dir DIR\n"
		   "       pmx-agent --version | --drivers | --help\n"
		   "DIR holds " SESSION_CONFIG ", and all that the agent writes.\n");
	for (size_t i = 0; i < sizeof(verbs) / sizeof(verbs[0]); i++)
		fprintf(f, "  %-6s  %s\n", verbs[i].name, verbs[i].help);
}

static int usage(void)
{
	print_usage(stderr);
	return 2;
}

int main(int argc, char **argv)
{
	if (argc == 2 && strcmp(argv[1], "--version") == 0) {
		printf("pmx-agent %s (%s)\n", PMX_VERSION, rte_version());
		return 0;
	}
	if (argc == 2 && strcmp(argv[1], "--drivers") == 0) {
		puts(pmds);
		return 0;
	}
	if (argc == 2 && strcmp(argv[1], "--help") == 0) {
		print_usage(stdout);
		return 0;
	}
	if (argc != 4 || strcmp(argv[2], "--dir") != 0)
		return usage();
	for (size_t i = 0; i < sizeof(verbs) / sizeof(verbs[0]); i++) {
		if (strcmp(argv[1], verbs[i].name) != 0)
			continue;
		if (chdir(argv[3]) != 0) {
			fprintf(stderr, "pmx-agent: cannot enter '%s': %s\n", argv[3],
				strerror(errno));
			return 1;
		}
		return verbs[i].run();
	}
	fprintf(stderr, "pmx-agent: unknown verb '%s'\n", argv[1]);
	return usage();
}
