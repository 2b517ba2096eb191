#include "serve.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#define REQUEST_MAX 4096

int serve_open(struct serve *s, struct err *e)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX, .sun_path = SESSION_SOCKET };
	for (int i = 0; i < SERVE_CLIENTS; i++)
		s->client[i].fd = -1;
	s->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	unlink(SESSION_SOCKET);
	mode_t old = umask(077);
	int r = s->fd < 0 || bind(s->fd, (struct sockaddr *)&addr, sizeof(addr)) != 0 ||
		listen(s->fd, SERVE_CLIENTS) != 0;
	int code = errno;
	umask(old);
	if (r == 0)
		return 0;
	serve_close(s);
	return err_set(e, code, "cannot listen on " SESSION_SOCKET ": %s", strerror(code));
}

static json_t *refuse(const char *text)
{
	return json_pack("{s:b,s:s}", "ok", 0, "error", text);
}

static json_t *cmd_hello(struct agent *a, json_t *q, uint64_t now)
{
	(void)q, (void)now;
	json_t *end = a->end_ns != 0 ? json_integer((json_int_t)a->end_ns) : json_null();
	return json_pack("{s:b,s:s,s:s,s:s,s:s,s:i,s:o}", "ok", 1, "pmx", PMX_VERSION, "host",
			 a->cfg.host, "run_id", a->cfg.run_id, "state", agent_state_name[a->state],
			 "pid", (int)getpid(), "end_ns", end);
}

static json_t *cmd_time(struct agent *a, json_t *q, uint64_t now)
{
	(void)a, (void)q, (void)now;
	return json_pack("{s:b,s:I}", "ok", 1, "mono_ns", (json_int_t)clock_now_ns());
}

static json_t *cmd_status(struct agent *a, json_t *q, uint64_t now)
{
	struct status s;
	(void)q;
	agent_status(a, &s, now);
	return status_write(&s);
}

static json_t *cmd_arm(struct agent *a, json_t *q, uint64_t now)
{
	struct err e = { 0 };
	json_t *at = json_object_get(q, "start_ns"), *gone = json_object_get(q, "elapsed_ns");
	if (!json_is_integer(at) || json_integer_value(at) <= 0)
		return refuse("arm: start_ns must be a positive integer");
	if (gone != NULL && (!json_is_integer(gone) || json_integer_value(gone) < 0))
		return refuse("arm: elapsed_ns must be an integer from 0 on");
	if (agent_arm(a, (uint64_t)json_integer_value(at), (uint64_t)json_integer_value(gone), now,
		      &e) != 0)
		return refuse(e.msg);
	return json_pack("{s:b}", "ok", 1);
}

static json_t *cmd_stop(struct agent *a, json_t *q, uint64_t now)
{
	json_t *at = json_object_get(q, "at_ns");
	if (at != NULL && (!json_is_integer(at) || json_integer_value(at) < 0))
		return refuse("stop: at_ns must be an integer, 0 = now");
	json_t *why = json_object_get(q, "why");
	const char *word = why == NULL ? "stop" : json_string_value(why);
	if (word == NULL || (strcmp(word, "stop") != 0 && strcmp(word, SESSION_RELOAD) != 0))
		return refuse("stop: why must be \"stop\" or \"" SESSION_RELOAD "\"");
	agent_stop(a, (uint64_t)json_integer_value(at), word, now);
	return json_pack("{s:b}", "ok", 1);
}

static json_t *cmd_result(struct agent *a, json_t *q, uint64_t now)
{
	(void)q, (void)now;
	json_t *r = agent_result(a);
	return r != NULL ? json_pack("{s:b,s:o}", "ok", 1, "result", r)
			 : refuse("result: no memory");
}

static json_t *cmd_quit(struct agent *a, json_t *q, uint64_t now)
{
	(void)q;
	agent_stop(a, 0, "stop", now);
	a->quit = true;
	return json_pack("{s:b}", "ok", 1);
}

static const struct {
	const char *name;
	json_t *(*answer)(struct agent *a, json_t *request, uint64_t now_ns);
} commands[] = {
	{ "hello", cmd_hello }, { "time", cmd_time }, { "status", cmd_status },
	{ "arm", cmd_arm },	{ "stop", cmd_stop }, { "result", cmd_result },
	{ "quit", cmd_quit },
};

static json_t *answer(struct agent *a, const char *line, size_t len)
{
	json_error_t je;
	json_t *out = NULL;
	json_t *q = json_loadb(line, len, JSON_REJECT_DUPLICATES, &je);
	const char *cmd = json_string_value(json_object_get(q, "cmd"));
	agent_renew(a, clock_now_ns()); // whoever speaks is there
	for (size_t i = 0; cmd != NULL && i < sizeof(commands) / sizeof(commands[0]); i++) {
		if (strcmp(cmd, commands[i].name) == 0)
			out = commands[i].answer(a, q, clock_now_ns());
	}
	if (out == NULL)
		out = refuse(q == NULL ? "not JSON" : "unknown command");
	json_decref(q);
	return out;
}

static int send_all(int fd, const char *p, size_t n)
{
	while (n > 0) {
		ssize_t w = send(fd, p, n, MSG_NOSIGNAL);
		if (w < 0 && errno == EINTR)
			continue;
		if (w <= 0)
			return -1;
		p += w;
		n -= (size_t)w;
	}
	return 0;
}

static int reply_line(struct agent *a, int fd, const char *line, size_t len)
{
	json_t *j = answer(a, line, len);
	char *text = j != NULL ? json_dumps(j, JSON_COMPACT) : NULL;
	int r = text == NULL || send_all(fd, text, strlen(text)) != 0 || send_all(fd, "\n", 1) != 0;
	free(text);
	json_decref(j);
	return r;
}

static void drop_client(struct serve *s, int i)
{
	close(s->client[i].fd);
	free(s->client[i].buf);
	s->client[i].fd = -1;
	s->client[i].buf = NULL;
}

static void accept_client(struct serve *s)
{
	int fd = accept4(s->fd, NULL, NULL, SOCK_CLOEXEC);
	if (fd < 0)
		return;
	// a client that does not read is dropped, it cannot hold the agent up
	struct timeval limit = { .tv_sec = 5 };
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
	for (int i = 0; i < SERVE_CLIENTS; i++) {
		if (s->client[i].fd >= 0)
			continue;
		s->client[i].buf = malloc(REQUEST_MAX);
		if (s->client[i].buf == NULL)
			break;
		s->client[i].fd = fd;
		s->client[i].len = 0;
		return;
	}
	close(fd);
}

static void read_client(struct serve *s, struct agent *a, int i)
{
	char *buf = s->client[i].buf;
	ssize_t n =
		recv(s->client[i].fd, buf + s->client[i].len, REQUEST_MAX - s->client[i].len, 0);
	if (n <= 0) {
		drop_client(s, i);
		return;
	}
	s->client[i].len += (size_t)n;
	for (char *end; (end = memchr(buf, '\n', s->client[i].len)) != NULL;) {
		size_t used = (size_t)(end - buf) + 1;
		if (reply_line(a, s->client[i].fd, buf, used - 1) != 0) {
			drop_client(s, i);
			return;
		}
		memmove(buf, buf + used, s->client[i].len - used);
		s->client[i].len -= used;
	}
	if (s->client[i].len == REQUEST_MAX)
		drop_client(s, i);
}

void serve_poll(struct serve *s, struct agent *a, int timeout_ms)
{
	struct pollfd p[SERVE_CLIENTS + 1] = { { .fd = s->fd, .events = POLLIN } };
	for (int i = 0; i < SERVE_CLIENTS; i++)
		p[i + 1] = (struct pollfd){ .fd = s->client[i].fd, .events = POLLIN };
	pthread_mutex_unlock(&a->lock);
	int n = poll(p, SERVE_CLIENTS + 1, timeout_ms);
	pthread_mutex_lock(&a->lock);
	if (n <= 0)
		return;
	if (p[0].revents != 0)
		accept_client(s);
	for (int i = 0; i < SERVE_CLIENTS; i++) {
		if (p[i + 1].revents != 0)
			read_client(s, a, i);
	}
}

void serve_close(struct serve *s)
{
	for (int i = 0; i < SERVE_CLIENTS; i++) {
		if (s->client[i].fd >= 0)
			drop_client(s, i);
	}
	if (s->fd >= 0)
		close(s->fd);
	s->fd = -1;
	unlink(SESSION_SOCKET);
}
