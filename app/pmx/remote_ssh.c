// Carrier "ssh": every script is a channel of its own, the session with the agent one more.
#include "remote.h"

#include "session.h"
#include "shell.h"
#include "ssh.h"
#include "carrier.h"

#include <errno.h>
#include <libssh/callbacks.h>
#include <libssh/libssh.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHUNK_BYTES 32768
#define FEED_BYTES (256u << 10) // written at once: libssh keeps what the socket does not take
#define LINGER_NS NS_PER_S	// for output after the exit status: something else holds the stdout
#define ATTACH_NS (20 * NS_PER_S)
#define TAIL_BYTES 4096

struct ending { // as the server reports it
	bool known;
	int status, signal;
};

struct channel {
	ssh_channel c;
	struct ssh_channel_callbacks_struct cb; // libssh keeps a pointer to it
	struct ending end;
};

struct ssh {
	ssh_session s;
	ssh_event event;	// waits for the session's socket and takes in what it has
	struct channel session; // with the agent; c is NULL when there is none
	struct capture tail;	// stderr of the relay
};

static void on_exit_status(ssh_session s, ssh_channel c, int status, void *arg)
{
	struct ending *end = arg;

	(void)s;
	(void)c;
	end->known = true;
	end->status = status;
}

// A status of -1 here once looked like success to somebody: the signal is what counts.
static void on_exit_signal(ssh_session s, ssh_channel c, const char *name, int core,
			   const char *message, const char *lang, void *arg)
{
	struct ending *end = arg;

	(void)s;
	(void)c;
	(void)core;
	(void)message;
	(void)lang;
	end->known = true;
	end->signal = SIGKILL;
	for (int i = 1; i < NSIG; i++)
		if (sigabbrev_np(i) != NULL && strcmp(sigabbrev_np(i), name) == 0)
			end->signal = i;
	end->status = 128 + end->signal;
}

static int ssh_fault(struct ssh *x, struct err *e)
{
	return err_set(e, EPIPE, "ssh connection lost: %s", ssh_get_error(x->s));
}

// Waits for the server and takes in whatever it sent. It must be this and not reading alone:
// libssh's reads take nothing in any more after the end of file, and the exit status may come
// later.
static int turn(struct remote *r, uint64_t deadline_ns, struct err *e)
{
	struct ssh *x = r->impl;
	int ms = ms_left(deadline_ns, CANCEL_POLL_MS);

	if (remote_cancelled(r))
		return err_set(e, ECANCELED, "interrupted");
	if (ms == 0)
		return err_set(e, ETIMEDOUT, "the host does not answer");
	if (ssh_event_dopoll(x->event, ms) == SSH_ERROR)
		return ssh_fault(x, e);
	return 0;
}

static void channel_end(struct channel *ch)
{
	if (ch->c == NULL)
		return;
	// libssh keeps a channel until the server has closed it too, and would call into ours
	ssh_remove_channel_callbacks(ch->c, &ch->cb);
	ssh_channel_close(ch->c);
	ssh_channel_free(ch->c);
	ch->c = NULL;
}

static int channel_start(struct remote *r, struct channel *ch, const char *command,
			 uint64_t deadline_ns, struct err *e)
{
	struct ssh *x = r->impl;
	int state;

	*ch = (struct channel){ .c = ssh_channel_new(x->s) };
	if (ch->c == NULL)
		return ssh_fault(x, e);
	ch->cb.userdata = &ch->end;
	ch->cb.channel_exit_status_function = on_exit_status;
	ch->cb.channel_exit_signal_function = on_exit_signal;
	ssh_callbacks_init(&ch->cb);
	ssh_set_channel_callbacks(ch->c, &ch->cb);
	while ((state = ssh_channel_open_session(ch->c)) == SSH_AGAIN)
		if (turn(r, deadline_ns, e) < 0)
			goto fail;
	if (state == SSH_OK)
		while ((state = ssh_channel_request_exec(ch->c, command)) == SSH_AGAIN)
			if (turn(r, deadline_ns, e) < 0)
				goto fail;
	if (state == SSH_OK)
		return 0;
	ssh_fault(x, e);
fail:
	channel_end(ch);
	return -e->code;
}

// Takes what has arrived on one of the two streams: bytes, 0, or -EPIPE, -ENOMEM.
static int pump(struct ssh *x, ssh_channel c, int is_stderr, struct capture *to, struct err *e)
{
	char buf[CHUNK_BYTES];
	int n = ssh_channel_read_nonblocking(c, buf, sizeof(buf), is_stderr);

	if (n == SSH_ERROR)
		return ssh_fault(x, e);
	if (n <= 0)
		return 0;
	if (capture_add(to, buf, (size_t)n) < 0)
		return err_set(e, ENOMEM, "out of memory");
	return n;
}

// Sends as much stdin as the window takes and libssh has sent before; then the end of file.
// Bytes, or 0. A server that has closed the channel takes no more: its exit status says why.
static int feed(struct ssh *x, struct channel *ch, const struct script *s, size_t *fed)
{
	size_t want = s->in_len - *fed;

	if (*fed > s->in_len || ch->end.known || ssh_channel_is_closed(ch->c))
		return 0;
	if (want == 0) {
		ssh_channel_send_eof(ch->c);
		*fed = s->in_len + 1;
		return 0;
	}
	if (ssh_channel_window_size(ch->c) == 0 || (ssh_get_poll_flags(x->s) & SSH_WRITE_PENDING))
		return 0;
	if (want > FEED_BYTES)
		want = FEED_BYTES;
	int n = ssh_channel_write(ch->c, (const char *)s->in + *fed, (uint32_t)want);
	if (n > 0)
		*fed += (size_t)n;
	return n > 0 ? n : 0;
}

static int channel_run(struct remote *r, struct channel *ch, const struct script *s,
		       struct capture *out, struct capture *err, uint64_t deadline_ns,
		       struct err *e)
{
	struct ssh *x = r->impl;
	uint64_t linger = 0;
	size_t fed = 0;

	for (;;) {
		int moved = 0, n;

		// stdout last: an empty read takes in what has arrived, also for the other stream
		for (int is_stderr = 1; is_stderr >= 0; is_stderr--) {
			n = pump(x, ch->c, is_stderr, is_stderr ? err : out, e);
			if (n < 0)
				return n;
			moved += n;
		}
		moved += feed(x, ch, s, &fed);
		if (moved > 0)
			continue;
		if (ssh_channel_is_closed(ch->c) || (ch->end.known && ssh_channel_is_eof(ch->c)))
			break;
		if (ch->end.known && linger == 0)
			linger = mono_ns() + LINGER_NS;
		if (linger != 0 && mono_ns() > linger)
			break;
		n = turn(r, deadline_ns, e);
		if (n == -ETIMEDOUT)
			err_set(e, ETIMEDOUT, "no answer within %.0f s",
				(double)s->timeout_ns / NS_PER_S);
		if (n < 0)
			return n;
	}
	if (!ch->end.known)
		return err_set(e, EPIPE, "ssh: the command ended without a status");
	return 0;
}

static int ssh_exec(struct remote *r, const char *command, const struct script *s, struct output *o,
		    struct err *e)
{
	struct capture out = { .max = s->out_max }, err = { .max = REMOTE_OUTPUT_MAX };
	uint64_t deadline = mono_ns() + s->timeout_ns;
	struct channel ch;
	int rc = channel_start(r, &ch, command, deadline, e);

	if (rc < 0)
		return rc;
	rc = channel_run(r, &ch, s, &out, &err, deadline, e);
	o->cut = out.cut;
	o->out = capture_take(&out, &o->out_len);
	o->err = capture_take(&err, &o->err_len);
	o->status = ch.end.status;
	o->signal = ch.end.signal;
	channel_end(&ch);
	return rc;
}

static void ssh_close(struct remote *r)
{
	struct ssh *x = r->impl;

	if (x->event != NULL) {
		ssh_event_remove_session(x->event, x->s);
		ssh_event_free(x->event);
	}
	ssh_disconnect(x->s);
	ssh_free(x->s);
	free(x);
}

static int ssh_open(struct remote *r, struct err *e)
{
	struct ssh_target t;
	struct ssh *x = calloc(1, sizeof(*x));
	int rc;

	if (x == NULL)
		return err_set(e, ENOMEM, "out of memory");
	rc = ssh_target_of(r->matrix, r->host, &t, e);
	if (rc == 0)
		rc = ssh_login(r, &t, &x->s, e);
	if (rc < 0) {
		free(x);
		return rc;
	}
	r->impl = x;
	x->event = ssh_event_new();
	if (x->event == NULL || ssh_event_add_session(x->event, x->s) != SSH_OK) {
		ssh_close(r);
		return err_set(e, ENOMEM, "out of memory");
	}
	return 0;
}

static void ssh_detach(struct remote *r)
{
	struct ssh *x = r->impl;

	channel_end(&x->session);
	free(x->tail.data);
	x->tail = (struct capture){ 0 };
}

static int relay_gone(struct ssh *x, struct err *e)
{
	char line[512] = "";

	if (x->tail.data != NULL)
		last_line(x->tail.data, line, sizeof(line));
	return err_set(e, EPIPE, "the agent is gone%s%s", line[0] != '\0' ? ": " : "", line);
}

static ssize_t ssh_recv(struct remote *r, void *buf, size_t size, uint64_t deadline_ns,
			struct err *e)
{
	struct ssh *x = r->impl;

	for (;;) {
		int n = pump(x, x->session.c, 1, &x->tail, e);

		if (n < 0)
			return n;
		n = ssh_channel_read_nonblocking(
			x->session.c, buf, (uint32_t)(size < CHUNK_BYTES ? size : CHUNK_BYTES), 0);
		if (n > 0)
			return n;
		if (n == SSH_EOF || ssh_channel_is_eof(x->session.c) ||
		    ssh_channel_is_closed(x->session.c))
			return relay_gone(x, e);
		if (n == SSH_ERROR)
			return ssh_fault(x, e);
		n = turn(r, deadline_ns, e);
		if (n == -ETIMEDOUT)
			err_set(e, ETIMEDOUT, "the agent does not answer");
		if (n < 0)
			return n;
	}
}

static int ssh_send(struct remote *r, const void *data, size_t len, uint64_t deadline_ns,
		    struct err *e)
{
	const struct script s = { .in = data, .in_len = len };
	struct ssh *x = r->impl;

	for (size_t fed = 0; fed < len;) {
		if (feed(x, &x->session, &s, &fed) > 0)
			continue;
		if (pump(x, x->session.c, 1, &x->tail, e) < 0)
			return -e->code;
		if (x->session.end.known || ssh_channel_is_closed(x->session.c))
			return relay_gone(x, e);
		if (turn(r, deadline_ns, e) < 0)
			return -e->code;
	}
	return 0;
}

// Reads up to the mark of shell_command: what a noisy login shell says is not the agent's.
static int skip_noise(struct remote *r, uint64_t deadline_ns, struct err *e)
{
	struct capture seen = { .max = REMOTE_OUTPUT_MAX };
	char buf[4096];

	for (;;) {
		ssize_t n = ssh_recv(r, buf, sizeof(buf), deadline_ns, e);
		const char *own;

		if (n > 0 && (capture_add(&seen, buf, (size_t)n) < 0 || seen.cut))
			n = err_set(e, EPROTO, "the login shell does not stop talking");
		if (n < 0) {
			free(seen.data);
			return (int)n;
		}
		own = shell_output(seen.data, seen.len);
		if (own == NULL)
			continue;
		size_t left = seen.len - (size_t)(own - seen.data);
		memmove(seen.data, own, left);
		r->line = seen.data;
		r->line_len = left;
		r->line_cap = seen.cap;
		return 0;
	}
}

static int ssh_attach(struct remote *r, const char *agent, const char *dir, struct err *e)
{
	struct ssh *x = r->impl;
	uint64_t deadline = mono_ns() + remote_patience(r, ATTACH_NS);
	char *command = relay_command(r, agent, dir);

	if (command == NULL)
		return err_set(e, ENOMEM, "out of memory");
	x->tail = (struct capture){ .max = TAIL_BYTES };
	int rc = channel_start(r, &x->session, command, deadline, e);
	free(command);
	if (rc == 0)
		rc = skip_noise(r, deadline, e);
	if (rc < 0)
		ssh_detach(r);
	return rc;
}

const struct carrier carrier_ssh = {
	.open = ssh_open,
	.close = ssh_close,
	.exec = ssh_exec,
	.attach = ssh_attach,
	.send = ssh_send,
	.recv = ssh_recv,
	.detach = ssh_detach,
};
