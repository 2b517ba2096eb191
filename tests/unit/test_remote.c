// Scripts, files and sessions by the local carrier, which runs the same scripts as ssh.
#include "carrier.h"
#include "clock.h"
#include "remote.h"

#include "testlib.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

static struct matrix_host host = { .name = "a", .machine = "a", .ports = 1 };
static const struct matrix matrix = {
	.transport = TRANSPORT_LOCAL,
	.host = &host,
	.host_count = 1,
};

struct fixture {
	struct remote *r;
	char dir[64];
	struct err e;
};

static int open_fixture(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	strcpy(f->dir, "/tmp/pmx-test-XXXXXX");
	signal(SIGPIPE, SIG_IGN);
	*state = f;
	return mkdtemp(f->dir) == NULL ||
	       remote_open(&matrix, 0, REMOTE_LIVE, NULL, &f->r, &f->e) < 0;
}

static int close_fixture(void **state)
{
	struct fixture *f = *state;
	char command[96];

	remote_close(f->r);
	snprintf(command, sizeof(command), "rm -rf %s", f->dir);
	int rc = system(command);
	free(f);
	return rc;
}

static struct output run(struct fixture *f, const char *text)
{
	struct output o;

	if (remote_exec(f->r,
			&(struct script){ .what = "try", .text = text, .args = { "it's", "b c" } },
			&o, &f->e) < 0)
		fail_msg("%s", f->e.msg);
	return o;
}

static void scripts(void **state)
{
	struct output o = run(*state, "echo \"$2|$1\"; echo talk >&2; exit 3");
	char buf[64];

	assert_string_equal(o.out, "b c|it's\n");
	assert_string_equal(o.err, "talk\n");
	assert_int_equal(o.status, 3);
	assert_string_equal(status_str(o.status, buf, sizeof(buf)), "exit status 3");
	output_free(&o);

	o = run(*state, "cat; echo end"); // no stdin: no waiting for it
	assert_string_equal(o.out, "end\n");
	output_free(&o);
}

// A status of -1 or 0 here would look like success.
static void killed_by_signal(void **state)
{
	struct output o = run(*state, "kill -9 $$");
	char buf[64];

	assert_int_equal(o.status, 137);
	assert_int_equal(o.signal, 9);
	assert_string_equal(status_str(o.status, buf, sizeof(buf)), "killed by signal 9 (Killed)");
	output_free(&o);
}

// Both streams are read together: neither may fill up while the other is waited for.
static void ten_megabytes_of_talk(void **state)
{
	struct output o =
		run(*state, "head -c 10000000 /dev/zero >&2; head -c 3000000 /dev/zero; exit 7");

	assert_int_equal(o.status, 7);
	assert_int_equal(o.err_len, REMOTE_OUTPUT_MAX);
	assert_true(o.cut);
	output_free(&o);
}

static void end_of_output_is_not_the_end(void **state)
{
	struct output o = run(*state, "exec >&- 2>&-; sleep 0.3; exit 5");

	assert_int_equal(o.status, 5);
	output_free(&o);
	// the other way round: something else holds the output
	uint64_t start = mono_ns();
	o = run(*state, "sleep 20 & echo here");
	assert_string_equal(o.out, "here\n");
	assert_true(mono_ns() - start < 10 * NS_PER_S);
	output_free(&o);
}

static void timeouts(void **state)
{
	struct fixture *f = *state;
	const struct script s = { .what = "try",
				  .text = "echo begun; sleep 30",
				  .timeout_ns = 300 * NS_PER_MS };
	atomic_int cancel = 0;
	struct output o;

	assert_int_equal(remote_exec(f->r, &s, &o, &f->e), -ETIMEDOUT);
	assert_string_equal(o.out, "begun\n");
	output_free(&o);
	cancel = SIGINT;
	remote_set_cancel(f->r, &cancel);
	assert_int_equal(remote_exec(f->r, &s, &o, &f->e), -ECANCELED);
	output_free(&o);
	remote_set_cancel(f->r, NULL);
}

static void check_quotes_the_last_line(void **state)
{
	struct fixture *f = *state;
	struct output o;

	assert_true(remote_check(f->r,
				 &(struct script){ .what = "try",
						   .text = "echo a >&2; echo b >&2; exit 1" },
				 &o, &f->e) < 0);
	assert_string_equal(f->e.msg, "try: b");
	output_free(&o);
	assert_true(
		remote_check(f->r,
			     &(struct script){ .what = "try", .text = "echo b >&2; kill -15 $$" },
			     &o, &f->e) < 0);
	assert_string_equal(f->e.msg, "try: b (killed by signal 15 (Terminated))");
	output_free(&o);
	assert_true(remote_check(f->r, &(struct script){ .what = "try", .text = "exit 2" }, &o,
				 &f->e) < 0);
	assert_string_equal(f->e.msg, "try: exit status 2 without a word");
	output_free(&o);
}

static void files(void **state)
{
	struct fixture *f = *state;
	size_t len = 3000001, got_len;
	char *data = malloc(len), *got, path[96];
	struct stat st;

	for (size_t i = 0; i < len; i++)
		data[i] = (char)(i * 7 + i / 4096);
	snprintf(path, sizeof(path), "%s/it's a file", f->dir);
	assert_int_equal(remote_put(f->r, data, len, path, 0750, &f->e), 0);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0750);
	assert_int_equal(remote_get(f->r, path, len, &got, &got_len, &f->e), 0);
	assert_int_equal(got_len, len);
	assert_memory_equal(got, data, len);
	free(got);
	assert_int_equal(remote_get(f->r, path, 1000, &got, &got_len, &f->e), -EFBIG);
	assert_int_equal(remote_put(f->r, "", 0, path, 0600, &f->e), 0);
	assert_int_equal(remote_get(f->r, path, 0, &got, &got_len, &f->e), 0);
	assert_int_equal(got_len, 0);
	free(got);
	free(data);
	assert_int_equal(remote_get(f->r, "/nonexistent/x", 10, &got, &got_len, &f->e), -ENOENT);
	assert_string_equal(f->e.msg, "read /nonexistent/x: no such file");
}

// What cannot be written is an error that says why, and leaves the old file and no other.
static void unwritable(void **state)
{
	struct fixture *f = *state;
	char path[96];

	assert_true(remote_put(f->r, "x", 1, "/nonexistent/x", 0600, &f->e) < 0);
	assert_non_null(strstr(f->e.msg, "write /nonexistent/x: "));
	snprintf(path, sizeof(path), "%s/dir", f->dir);
	assert_int_equal(mkdir(path, 0700), 0);
	assert_int_equal(remote_put(f->r, "x", 1, path, 0600, &f->e), -EREMOTEIO);
	snprintf(path, sizeof(path), "%s/dir.part", f->dir);
	assert_int_equal(access(path, F_OK), -1);
}

// A binary that runs cannot be written to (ETXTBSY), but it can be replaced.
static void replace_a_running_binary(void **state)
{
	struct fixture *f = *state;
	char path[96], *sleep_bin;
	size_t len;
	struct output o;

	assert_int_equal(remote_get(f->r, "/bin/sleep", 1 << 24, &sleep_bin, &len, &f->e), 0);
	snprintf(path, sizeof(path), "%s/busy", f->dir);
	assert_int_equal(remote_put(f->r, sleep_bin, len, path, 0755, &f->e), 0);
	const struct script start = { .what = "start",
				      .text = "\"$1\" 30 > /dev/null 2>&1 & echo $!",
				      .args = { path } };
	assert_int_equal(remote_check(f->r, &start, &o, &f->e), 0);
	pid_t pid = atoi(o.out);
	output_free(&o);
	assert_int_equal(remote_put(f->r, sleep_bin, len, path, 0755, &f->e), 0);
	assert_int_equal(kill(pid, SIGKILL), 0);
	free(sleep_bin);
}

// An agent that answers each line with the next of its answers, in two pieces.
struct agent {
	int fd;
	const char *const *answer; // ends with NULL: then it is gone
};

static void *agent_run(void *arg)
{
	struct agent *a = arg;
	int fd = accept(a->fd, NULL, NULL);
	char buf[256];

	for (const char *const *answer = a->answer; *answer != NULL; answer++) {
		size_t len = strlen(*answer);

		if (read(fd, buf, sizeof(buf)) <= 0)
			break;
		if (write(fd, *answer, len / 2) < 0)
			break;
		sleep_ns(20 * NS_PER_MS);
		if (write(fd, *answer + len / 2, len - len / 2) < 0)
			break;
	}
	close(fd);
	close(a->fd);
	return NULL;
}

static pthread_t agent_start(struct agent *a, const char *dir)
{
	struct sockaddr_un at = { .sun_family = AF_UNIX };
	pthread_t t;

	snprintf(at.sun_path, sizeof(at.sun_path), "%s/agent.sock", dir);
	a->fd = socket(AF_UNIX, SOCK_STREAM, 0);
	assert_int_equal(bind(a->fd, (struct sockaddr *)&at, sizeof(at)), 0);
	assert_int_equal(listen(a->fd, 1), 0);
	assert_int_equal(pthread_create(&t, NULL, agent_run, a), 0);
	return t;
}

static int ask(struct fixture *f, json_t **answer, uint64_t timeout_ns)
{
	json_t *request = json_pack("{s:s}", "cmd", "hello");
	int rc = remote_call(f->r, request, timeout_ns, answer, &f->e);

	json_decref(request);
	return rc;
}

static void session(void **state)
{
	struct fixture *f = *state;
	static const char *const answers[] = {
		"{\"ok\":true,\"n\":1}\n",
		"{\"ok\":false,\"error\":\"not now\"}\n",
		"{\"ok\":true,\"n\":3}\n",
		"no JSON\n",
		NULL,
	};
	struct agent a = { .answer = answers };
	json_t *answer;

	assert_int_equal(ask(f, &answer, NS_PER_S), -EPIPE); // not attached
	assert_int_equal(remote_attach(f->r, "", f->dir, &f->e), -ENOENT);
	pthread_t t = agent_start(&a, f->dir);
	assert_int_equal(remote_attach(f->r, "", f->dir, &f->e), 0);
	assert_int_equal(ask(f, &answer, 5 * NS_PER_S), 0);
	assert_int_equal(json_integer_value(json_object_get(answer, "n")), 1);
	json_decref(answer);
	assert_int_equal(ask(f, &answer, 5 * NS_PER_S), -EREMOTEIO);
	assert_string_equal(f->e.msg, "not now");
	assert_true(remote_attached(f->r)); // a refusal is an answer
	assert_int_equal(ask(f, &answer, 5 * NS_PER_S), 0);
	assert_int_equal(json_integer_value(json_object_get(answer, "n")), 3);
	json_decref(answer);
	assert_int_equal(ask(f, &answer, 5 * NS_PER_S), -EPROTO);
	assert_false(remote_attached(f->r)); // what comes next could be anything
	pthread_join(t, NULL);
}

static void agent_gone_or_silent(void **state)
{
	struct fixture *f = *state;
	static const char *const nothing[] = { NULL };
	static const char *const half[] = { "{\"ok\":true", "}", NULL };
	struct agent gone = { .answer = nothing }, silent = { .answer = half };
	json_t *answer;
	char path[96];

	pthread_t t = agent_start(&gone, f->dir);
	assert_int_equal(remote_attach(f->r, "", f->dir, &f->e), 0);
	assert_int_equal(ask(f, &answer, 5 * NS_PER_S), -EPIPE);
	assert_string_equal(f->e.msg, "the agent is gone");
	pthread_join(t, NULL);
	snprintf(path, sizeof(path), "%s/agent.sock", f->dir);
	unlink(path);

	t = agent_start(&silent, f->dir);
	assert_int_equal(remote_attach(f->r, "", f->dir, &f->e), 0);
	assert_int_equal(ask(f, &answer, 200 * NS_PER_MS), -ETIMEDOUT);
	assert_string_equal(f->e.msg, "the agent does not answer");
	pthread_join(t, NULL);
}

int main(void)
{
#define WITH_FIXTURE(t) cmocka_unit_test_setup_teardown(t, open_fixture, close_fixture)
	const struct CMUnitTest tests[] = {
		WITH_FIXTURE(scripts),
		WITH_FIXTURE(killed_by_signal),
		WITH_FIXTURE(ten_megabytes_of_talk),
		WITH_FIXTURE(end_of_output_is_not_the_end),
		WITH_FIXTURE(timeouts),
		WITH_FIXTURE(check_quotes_the_last_line),
		WITH_FIXTURE(files),
		WITH_FIXTURE(unwritable),
		WITH_FIXTURE(replace_a_running_binary),
		WITH_FIXTURE(session),
		WITH_FIXTURE(agent_gone_or_silent),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
