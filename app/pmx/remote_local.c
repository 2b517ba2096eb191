// Carrier "local": the same scripts by /bin/sh, the session by the Unix socket itself.
#include "remote.h"

#include "session.h"
#include "carrier.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#define LINGER_NS NS_PER_S // for output after the shell's end: something else holds its stdout

struct local {
	int fd; // session socket, -1 = none
};

struct child {
	pid_t pid;	  // 0 = reaped
	int in, out, err; // our ends, -1 = closed
	int status;	  // as waitpid gave it
};

static int local_open(struct remote *r, struct err *e)
{
	struct local *l = calloc(1, sizeof(*l));

	if (l == NULL)
		return err_set(e, ENOMEM, "out of memory");
	l->fd = -1;
	r->impl = l;
	return 0;
}

static void local_close(struct remote *r)
{
	free(r->impl);
}

static void close_fd(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

static void child_exec(const char *command, const int fd[3])
{
	sigset_t none;

	setpgid(0, 0); // a terminal's ^C is pmx's, which ends its children in order
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	signal(SIGPIPE, SIG_DFL);
	for (int i = 0; i < 3; i++)
		dup2(fd[i], i);
	execl("/bin/sh", "sh", "-c", command, (char *)NULL);
	_exit(127);
}

static int child_start(struct child *c, const char *command, struct err *e)
{
	int p[3][2] = { { -1, -1 }, { -1, -1 }, { -1, -1 } };
	int rc = 0;

	*c = (struct child){ .in = -1, .out = -1, .err = -1 };
	for (int i = 0; i < 3 && rc == 0; i++)
		rc = pipe2(p[i], O_CLOEXEC);
	if (rc == 0) {
		const int theirs[3] = { p[0][0], p[1][1], p[2][1] };

		c->pid = fork();
		if (c->pid == 0)
			child_exec(command, theirs);
		rc = c->pid > 0 ? 0 : -1;
	}
	if (rc < 0)
		rc = err_set(e, errno, "cannot start a shell: %s", strerror(errno));
	close_fd(&p[0][0]);
	close_fd(&p[1][1]);
	close_fd(&p[2][1]);
	if (rc < 0) {
		close_fd(&p[0][1]);
		close_fd(&p[1][0]);
		close_fd(&p[2][0]);
		return rc;
	}
	c->in = p[0][1];
	c->out = p[1][0];
	c->err = p[2][0];
	fcntl(c->in, F_SETFL, O_NONBLOCK);
	return 0;
}

static int drain_fd(int *fd, struct capture *c)
{
	char buf[65536];
	ssize_t n = read(*fd, buf, sizeof(buf));

	if (n > 0)
		return capture_add(c, buf, (size_t)n);
	if (n == 0 || errno != EINTR)
		close_fd(fd);
	return 0;
}

static void feed(struct child *c, const struct script *s, size_t *fed)
{
	ssize_t n = write(c->in, (const char *)s->in + *fed, s->in_len - *fed);

	if (n > 0)
		*fed += (size_t)n;
	if (*fed == s->in_len || (n < 0 && errno != EAGAIN && errno != EINTR))
		close_fd(&c->in);
}

// One turn of waiting for input, output or the end. 0, or -ENOMEM.
static int child_turn(struct child *c, const struct script *s, size_t *fed, struct capture *out,
		      struct capture *err)
{
	struct pollfd p[3] = {
		{ .fd = c->in, .events = POLLOUT },
		{ .fd = c->out, .events = POLLIN },
		{ .fd = c->err, .events = POLLIN },
	};
	int rc = 0;

	if (poll(p, 3, CANCEL_POLL_MS) > 0) {
		if (p[0].revents != 0)
			feed(c, s, fed);
		if (p[1].revents != 0)
			rc = drain_fd(&c->out, out);
		if (p[2].revents != 0 && rc == 0)
			rc = drain_fd(&c->err, err);
	}
	if (c->pid > 0 && waitpid(c->pid, &c->status, WNOHANG) == c->pid)
		c->pid = 0;
	return rc;
}

static int child_wait(struct remote *r, struct child *c, const struct script *s,
		      struct capture *out, struct capture *err, struct err *e)
{
	uint64_t deadline = mono_ns() + s->timeout_ns, linger = 0;
	size_t fed = 0;

	if (s->in_len == 0)
		close_fd(&c->in);
	while (c->pid > 0 || c->out >= 0 || c->err >= 0) {
		uint64_t now = mono_ns();

		if (child_turn(c, s, &fed, out, err) < 0)
			return err_set(e, ENOMEM, "out of memory");
		if (c->pid == 0 && linger == 0)
			linger = now + LINGER_NS;
		if (c->pid == 0 && now > linger)
			break;
		if (c->pid > 0 && now > deadline)
			return err_set(e, ETIMEDOUT, "no answer within %.0f s",
				       (double)s->timeout_ns / NS_PER_S);
		if (remote_cancelled(r))
			return err_set(e, ECANCELED, "interrupted");
	}
	return 0;
}

static int local_exec(struct remote *r, const char *command, const struct script *s,
		      struct output *o, struct err *e)
{
	struct capture out = { .max = s->out_max }, err = { .max = REMOTE_OUTPUT_MAX };
	struct child c;
	int rc = child_start(&c, command, e);

	if (rc < 0)
		return rc;
	rc = child_wait(r, &c, s, &out, &err, e);
	if (c.pid > 0) {
		kill(-c.pid, SIGKILL);
		waitpid(c.pid, &c.status, 0);
	}
	close_fd(&c.in);
	close_fd(&c.out);
	close_fd(&c.err);
	o->cut = out.cut;
	o->out = capture_take(&out, &o->out_len);
	o->err = capture_take(&err, &o->err_len);
	if (WIFSIGNALED(c.status))
		o->signal = WTERMSIG(c.status);
	o->status = WIFSIGNALED(c.status) ? 128 + o->signal : WEXITSTATUS(c.status);
	return rc;
}

static int local_attach(struct remote *r, const char *agent, const char *dir, struct err *e)
{
	struct local *l = r->impl;
	struct sockaddr_un a = { .sun_family = AF_UNIX };

	(void)agent; // no relay: the socket is on this machine
	int n = snprintf(a.sun_path, sizeof(a.sun_path), "%s/%s", dir, SESSION_SOCKET);
	if (n < 0 || (size_t)n >= sizeof(a.sun_path))
		return err_set(e, ENAMETOOLONG,
			       "%s/%s is too long for a Unix socket: choose a shorter --remote-dir",
			       dir, SESSION_SOCKET);
	l->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (l->fd < 0 || connect(l->fd, (struct sockaddr *)&a, sizeof(a)) < 0) {
		int rc = err_set(e, errno, "%s: %s", a.sun_path, strerror(errno));

		close_fd(&l->fd);
		return rc;
	}
	return 0;
}

static int wait_fd(struct remote *r, int fd, short events, uint64_t deadline_ns, struct err *e)
{
	struct pollfd p = { .fd = fd, .events = events };

	for (;;) {
		int ms = ms_left(deadline_ns, CANCEL_POLL_MS);

		if (poll(&p, 1, ms) > 0)
			return 0;
		if (remote_cancelled(r))
			return err_set(e, ECANCELED, "interrupted");
		if (ms == 0)
			return err_set(e, ETIMEDOUT, "the agent does not answer");
	}
}

static int local_send(struct remote *r, const void *data, size_t len, uint64_t deadline_ns,
		      struct err *e)
{
	struct local *l = r->impl;

	for (size_t sent = 0; sent < len;) {
		ssize_t n = send(l->fd, (const char *)data + sent, len - sent, MSG_NOSIGNAL);

		if (n > 0)
			sent += (size_t)n;
		else if (n < 0 && errno == EAGAIN && wait_fd(r, l->fd, POLLOUT, deadline_ns, e) < 0)
			return -e->code;
		else if (n < 0 && errno != EAGAIN && errno != EINTR)
			return err_set(e, EPIPE, "the agent is gone");
	}
	return 0;
}

static ssize_t local_recv(struct remote *r, void *buf, size_t size, uint64_t deadline_ns,
			  struct err *e)
{
	struct local *l = r->impl;

	for (;;) {
		ssize_t n = recv(l->fd, buf, size, 0);

		if (n > 0)
			return n;
		if (n == 0 || (errno != EAGAIN && errno != EINTR))
			return err_set(e, EPIPE, "the agent is gone");
		if (wait_fd(r, l->fd, POLLIN, deadline_ns, e) < 0)
			return -e->code;
	}
}

static void local_detach(struct remote *r)
{
	struct local *l = r->impl;

	close_fd(&l->fd);
}

const struct carrier carrier_local = {
	.open = local_open,
	.close = local_close,
	.exec = local_exec,
	.attach = local_attach,
	.send = local_send,
	.recv = local_recv,
	.detach = local_detach,
};
