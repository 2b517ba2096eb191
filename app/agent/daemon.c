#include "daemon.h"

#include "eal.h"
#include "fanout.h"
#include "iface.h"
#include "xdp.h"

#include "hostcfg.h"
#include "session.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define READY_TIMEOUT_MS 60000
#define PROCESSES_MAX 1000 // to find one whose fan-out id is free

static void write_file(const char *name, const char *text)
{
	char temp[64];
	snprintf(temp, sizeof(temp), "%s.tmp", name);
	FILE *f = fopen(temp, "we");
	if (f == NULL)
		return;
	fputs(text, f);
	if (fclose(f) == 0)
		rename(temp, name);
}

// The pid of an agent that lives in this directory, or 0.
static long live_agent(void)
{
	long pid = 0;
	FILE *f = fopen(SESSION_PID, "re");
	if (f == NULL)
		return 0;
	if (fscanf(f, "%ld", &pid) != 1 || pid <= 0 || kill((pid_t)pid, 0) != 0)
		pid = 0;
	fclose(f);
	return pid;
}

static void redirect(void)
{
	int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
	int log = open(SESSION_LOG, O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0600);
	dup2(null, STDIN_FILENO);
	dup2(log, STDOUT_FILENO);
	dup2(log, STDERR_FILENO);
}

struct device {
	// The kernel interface whose XDP program is the agent's: it had none before. "" = none.
	char xdp[NAME_MAX_BYTES];
	char vdev[DEVICE_MAX_BYTES];
};

static void read_device(struct device *d)
{
	struct hostcfg cfg;
	*d = (struct device){ 0 };
	if (hostcfg_load(SESSION_CONFIG, &cfg, NULL) != 0)
		return;
	if (iface_xdp(cfg.port.all_queues_of) == 0)
		snprintf(d->xdp, sizeof(d->xdp), "%s", cfg.port.all_queues_of);
	snprintf(d->vdev, sizeof(d->vdev), "%s", cfg.port.vdev);
	hostcfg_free(&cfg);
}

// One process of the agent, to its end: its status, as of wait(2); -1 = it cannot be.
static int live(int (*run)(int ready_fd), int ready_fd, const char *vdev)
{
	char text[64];
	int status = 0;
	pid_t pid = fork();
	if (pid == 0)
		_exit(fanout_claim(vdev) ? run(ready_fd) : FANOUT_TAKEN);
	if (pid < 0)
		return -1;
	signal(SIGTERM, SIG_IGN);
	signal(SIGINT, SIG_IGN);
	snprintf(text, sizeof(text), "%d\n", (int)pid);
	write_file(SESSION_PID, text);
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return status;
}

static bool is_taken(int status)
{
	return status >= 0 && WIFEXITED(status) && WEXITSTATUS(status) == FANOUT_TAKEN;
}

static int supervise(int (*run)(int ready_fd), int ready_fd)
{
	char text[64];
	struct device d;
	xdp_take_off(); // of an agent that was killed here together with its supervisor
	read_device(&d);
	int status = live(run, ready_fd, d.vdev);
	for (int n = 1; is_taken(status) && n < PROCESSES_MAX; n++)
		status = live(run, ready_fd, d.vdev);
	if (is_taken(status)) // whatever it comes to
		status = live(run, ready_fd, "");
	if (status < 0)
		return 1;
	if (WIFSIGNALED(status))
		snprintf(text, sizeof(text), "signal %d\n", WTERMSIG(status));
	else
		snprintf(text, sizeof(text), "exit %d\n", WEXITSTATUS(status));
	// one that died before it wrote its program down
	if (xdp_take_off() == -ENOENT && d.xdp[0] != '\0' && iface_xdp(d.xdp) > 0 &&
	    iface_xdp_off(d.xdp) == 0)
		fprintf(stderr, "pmx-agent: the XDP program left on %s is taken off\n", d.xdp);
	write_file(SESSION_EXIT, text);
	unlink(SESSION_SOCKET);
	unlink(SESSION_PID);
	eal_remove_dir();
	return 0;
}

static int wait_ready(int fd)
{
	char line[1024];
	size_t n = 0;
	struct pollfd p = { .fd = fd, .events = POLLIN };
	while (n < sizeof(line) - 1 && poll(&p, 1, READY_TIMEOUT_MS) > 0) {
		ssize_t r = read(fd, line + n, sizeof(line) - 1 - n);
		if (r < 0 && errno == EINTR)
			continue;
		if (r <= 0)
			break;
		n += (size_t)r;
		if (line[n - 1] == '\n')
			break;
	}
	line[n] = '\0';
	line[strcspn(line, "\n")] = '\0';
	if (strcmp(line, "ok") == 0)
		return 0;
	fprintf(stderr, "pmx-agent: %s\n",
		n > 0 ? line : "ended or hung while starting: " SESSION_LOG " says more");
	return 1;
}

int daemon_start(int (*run)(int ready_fd))
{
	int fd[2];
	long pid = live_agent();
	if (pid != 0) {
		fprintf(stderr,
			"pmx-agent: an agent (pid %ld) runs in this directory: stop it first\n",
			pid);
		return 1;
	}
	unlink(SESSION_EXIT);
	unlink(SESSION_RESULT);
	unlink(SESSION_REPORT);
	unlink(SESSION_SOCKET);
	eal_remove_dir();
	if (pipe2(fd, O_CLOEXEC) != 0) {
		fprintf(stderr, "pmx-agent: no pipe: %s\n", strerror(errno));
		return 1;
	}
	pid_t child = fork();
	if (child < 0) {
		fprintf(stderr, "pmx-agent: cannot fork: %s\n", strerror(errno));
		return 1;
	}
	if (child == 0) {
		close(fd[0]);
		setsid();
		redirect();
		_exit(supervise(run, fd[1]));
	}
	close(fd[1]);
	return wait_ready(fd[0]);
}
