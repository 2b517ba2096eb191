// The directory's guards and the end of processes, by the local carrier. The agent here is a copy
// of the shell that sleeps: what counts is its name, its command line and how it takes signals.
#include "clock.h"
#include "deploy.h"

#include "session.h"

#include "testlib.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static struct matrix_host host = { .name = "a", .machine = "a", .ports = 1 };
static struct matrix matrix = { .transport = TRANSPORT_LOCAL, .host = &host, .host_count = 1 };

struct fixture {
	struct remote *r;
	struct site site;
	struct agent_file agent;
	char root[64];
	struct err e;
};

static int open_fixture(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));
	char command[256];

	*state = f;
	strcpy(f->root, "/tmp/pmx-test-XXXXXX");
	if (mkdtemp(f->root) == NULL)
		return 1;
	snprintf(matrix.remote_dir, sizeof(matrix.remote_dir), "%s/dir", f->root);
	snprintf(f->agent.path, sizeof(f->agent.path), "%s/pmx-agent", f->root);
	snprintf(command, sizeof(command), "cp /bin/sh %s/pmx-agent", f->root);
	return system(command) != 0 || site_of(&matrix, 0, f->agent.path, &f->site, &f->e) < 0 ||
	       remote_open(&matrix, 0, REMOTE_LIVE, NULL, &f->r, &f->e) < 0;
}

static int close_fixture(void **state)
{
	struct fixture *f = *state;
	char command[96];

	remote_close(f->r);
	snprintf(command, sizeof(command), "rm -rf %s", f->root);
	int rc = system(command);
	free(f);
	return rc;
}

static void prepare(struct fixture *f)
{
	bool uploaded;

	if (deploy_prepare(f->r, &f->site, &f->agent, &uploaded, &f->e) < 0)
		fail_msg("%s", f->e.msg);
	assert_false(uploaded); // a local agent runs in place
}

static void put_file(const char *dir, const char *name, const char *text)
{
	char path[512];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	f = fopen(path, "w");
	assert_non_null(f);
	fputs(text, f);
	fclose(f);
}

static bool exists(const char *dir, const char *name)
{
	char path[512];

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	return access(path, F_OK) == 0;
}

static void refused(struct fixture *f, const char *why)
{
	bool uploaded;

	assert_true(deploy_prepare(f->r, &f->site, &f->agent, &uploaded, &f->e) < 0);
	if (strstr(f->e.msg, why) == NULL)
		fail_msg("'%s' does not say '%s'", f->e.msg, why);
}

static void makes_and_removes(void **state)
{
	struct fixture *f = *state;
	struct site_state s;
	struct stat st;
	bool was;

	assert_int_equal(deploy_state(f->r, &f->site, &s, &f->e), 0);
	assert_false(s.deployed || s.running || s.result);
	prepare(f);
	assert_int_equal(stat(matrix.remote_dir, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0700);
	put_file(f->site.dir, SESSION_RESULT, "{}");
	put_file(f->site.dir, SESSION_EXIT, "signal 11\n");
	assert_int_equal(deploy_state(f->r, &f->site, &s, &f->e), 0);
	assert_true(s.deployed && s.result && !s.running);
	assert_string_equal(s.ended, "signal 11");
	prepare(f); // again: the last session's files go
	assert_false(exists(f->site.dir, SESSION_RESULT));
	assert_int_equal(deploy_clean(f->r, &f->site, &was, &f->e), 0);
	assert_true(was);
	assert_int_equal(access(matrix.remote_dir, F_OK), -1);
	assert_int_equal(deploy_clean(f->r, &f->site, &was, &f->e), 0);
	assert_false(was);
}

// What pmx did not make it neither fills nor removes.
static void strangers_directory(void **state)
{
	struct fixture *f = *state;
	bool was;

	assert_int_equal(mkdir(matrix.remote_dir, 0700), 0);
	put_file(matrix.remote_dir, "thesis.tex", "years of work");
	refused(f, "holds files, and pmx did not make it");
	assert_int_equal(deploy_clean(f->r, &f->site, &was, &f->e), -EREMOTEIO);
	assert_non_null(strstr(f->e.msg, "pmx did not make"));
	assert_true(exists(matrix.remote_dir, "thesis.tex"));
	assert_false(exists(matrix.remote_dir, ".pmx"));
}

static void empty_directory_is_taken(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(mkdir(matrix.remote_dir, 0755), 0);
	prepare(f);
	assert_true(exists(matrix.remote_dir, ".pmx"));
}

static void link_is_refused(void **state)
{
	struct fixture *f = *state;
	bool was;

	assert_int_equal(symlink("/tmp", matrix.remote_dir), 0);
	refused(f, "is a symbolic link");
	assert_true(deploy_clean(f->r, &f->site, &was, &f->e) < 0);
	assert_int_equal(access("/tmp", F_OK), 0);
}

static void no_place_for_it(void **state)
{
	struct fixture *f = *state;

	put_file(f->root, "dir", "a file");
	refused(f, "choose another --remote-dir");
}

// Another local agent's directory keeps the base.
static void neighbours_stay(void **state)
{
	struct fixture *f = *state;
	char other[512];
	bool was;

	prepare(f);
	snprintf(other, sizeof(other), "%s/b", matrix.remote_dir);
	assert_int_equal(mkdir(other, 0700), 0);
	assert_int_equal(deploy_clean(f->r, &f->site, &was, &f->e), 0);
	assert_false(exists(matrix.remote_dir, "a"));
	assert_true(exists(matrix.remote_dir, "b"));
}

// Returns when it has done what is to be done first, say a trap, and is seen to run.
static pid_t agent_start(struct fixture *f, const char *first, const char *script)
{
	struct site_state s = { 0 };
	char text[256], up[128];

	snprintf(up, sizeof(up), "%s/up", f->root);
	snprintf(text, sizeof(text), "%s : >%s; %s", first, up, script);
	pid_t pid = fork();
	if (pid == 0) {
		execl(f->agent.path, f->agent.path, "-c", text, "start", "--dir", f->site.dir,
		      (char *)NULL);
		_exit(127);
	}
	for (int i = 0; i < 2000 && access(up, F_OK) != 0; i++)
		sleep_ns(10 * NS_PER_MS);
	assert_int_equal(unlink(up), 0);
	assert_int_equal(deploy_state(f->r, &f->site, &s, &f->e), 0);
	assert_true(s.running);
	return pid;
}

// waitpid in the parent of a daemon is init's; here it is ours.
static void *reap(void *arg)
{
	waitpid(*(pid_t *)arg, NULL, 0);
	return NULL;
}

static enum stop_how stop(struct fixture *f, pid_t pid, unsigned wait_s)
{
	enum stop_how how = STOP_HOWS;
	pthread_t t;

	assert_int_equal(pthread_create(&t, NULL, reap, &pid), 0);
	if (deploy_stop(f->r, &f->site, wait_s, &how, &f->e) < 0)
		fail_msg("%s", f->e.msg);
	pthread_join(t, NULL);
	return how;
}

static void stops(void **state)
{
	struct fixture *f = *state;
	enum stop_how how;

	prepare(f);
	assert_int_equal(deploy_stop(f->r, &f->site, 1, &how, &f->e), 0);
	assert_int_equal(how, STOP_NOT_RUNNING);
	pid_t pid = agent_start(f, "", "sleep 2; :");
	assert_int_equal(stop(f, pid, 10), STOP_STOPPED); // it went by itself
	pid = agent_start(f, "", "while :; do sleep 0.1; done");
	assert_int_equal(stop(f, pid, 0), STOP_STOPPED); // SIGTERM was enough
	pid = agent_start(f, "trap : TERM;", "while :; do sleep 0.1; done");
	assert_int_equal(stop(f, pid, 0), STOP_KILLED);
}

static void no_second_agent(void **state)
{
	struct fixture *f = *state;
	bool was;

	prepare(f);
	pid_t pid = agent_start(f, "", "while :; do sleep 0.1; done");
	refused(f, "an agent runs in");
	assert_true(deploy_clean(f->r, &f->site, &was, &f->e) < 0);
	assert_non_null(strstr(f->e.msg, "an agent still runs"));
	stop(f, pid, 0);
}

static void logs(void **state)
{
	struct fixture *f = *state;
	char ended[64], how[64], *log;

	prepare(f);
	assert_int_equal(deploy_log(f->r, &f->site, 2, &log, ended, sizeof(ended), &f->e), 0);
	assert_string_equal(log, "");
	free(log);
	put_file(f->site.dir, SESSION_LOG, "one\ntwo\nthree\n");
	put_file(f->site.dir, SESSION_EXIT, "signal 9\n");
	assert_int_equal(deploy_log(f->r, &f->site, 2, &log, ended, sizeof(ended), &f->e), 0);
	assert_string_equal(log, "two\nthree\n");
	assert_string_equal(ended_str(ended, how, sizeof(how)), "was killed by signal 9 (Killed)");
	assert_string_equal(ended_str("exit 3", how, sizeof(how)), "ended with exit status 3");
	free(log);
}

int main(void)
{
#define WITH_FIXTURE(t) cmocka_unit_test_setup_teardown(t, open_fixture, close_fixture)
	const struct CMUnitTest tests[] = {
		WITH_FIXTURE(makes_and_removes),
		WITH_FIXTURE(strangers_directory),
		WITH_FIXTURE(empty_directory_is_taken),
		WITH_FIXTURE(link_is_refused),
		WITH_FIXTURE(no_place_for_it),
		WITH_FIXTURE(neighbours_stay),
		WITH_FIXTURE(stops),
		WITH_FIXTURE(no_second_agent),
		WITH_FIXTURE(logs),
	};

	signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
