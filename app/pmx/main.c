// pmx: the control of a fleet of pmx-agents.
#include "agent_file.h"
#include "cmd.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

// DPDK's version is the agent's to tell: pmx links none.
static int print_version(void)
{
	struct agent_file a;
	struct err e = { 0 };
	char command[PATH_MAX + 32], line[128] = "";

	printf("pmx %s\n", PMX_VERSION);
	if (agent_file_open(&a, &e) < 0) {
		printf("%s\n", e.msg);
		return EXIT_GOOD;
	}
	// the path goes by the environment, so that the shell need not be told how to read it
	snprintf(command, sizeof(command), "%s", a.path);
	agent_file_close(&a);
	setenv("PMX_AGENT", command, 1);
	FILE *f = popen("\"$PMX_AGENT\" --version 2>&1", "r");
	if (f != NULL && fgets(line, sizeof(line), f) != NULL)
		fputs(line, stdout);
	if (f != NULL)
		pclose(f);
	return EXIT_GOOD;
}

static int print_first_step(void)
{
	opts_help_all(stderr);
	fputs("\nFirst step: pmx gen SERVERS > matrix.yaml, then pmx run matrix.yaml\n", stderr);
	return EXIT_USAGE;
}

static int dispatch(int argc, char **argv)
{
	struct opts o;
	struct err e = { 0 };
	int rc;

	if (argc < 2)
		return print_first_step();
	rc = opts_read(&o, argc, argv, &e);
	if (o.version)
		return print_version();
	if (o.help) {
		if (o.verb != NULL)
			opts_help_verb(stdout, o.verb);
		else
			opts_help_all(stdout);
		return EXIT_GOOD;
	}
	if (rc < 0) {
		complain("%s", e.msg);
		return EXIT_USAGE;
	}
	return o.verb->run(&o);
}

// Hosts by the thousand are connections by the thousand.
static void raise_file_limit(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
		return;
	limit.rlim_cur = limit.rlim_max;
	setrlimit(RLIMIT_NOFILE, &limit);
}

int main(int argc, char **argv)
{
	signal(SIGPIPE, SIG_IGN);
	raise_file_limit();
	// the ssh of a jump host must not ask on the terminal either
	setenv("SSH_ASKPASS", "/bin/false", 1);
	setenv("SSH_ASKPASS_REQUIRE", "force", 1);
	int code = dispatch(argc, argv);
	if (fflush(stdout) != 0 || ferror(stdout)) {
		complain("cannot write to standard output");
		if (code == EXIT_GOOD)
			code = EXIT_HOST;
	}
	return code;
}
