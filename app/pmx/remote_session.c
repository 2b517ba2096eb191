// The agent's session over any transport: one line of JSON out, one line back.
#include "remote.h"

#include "session.h"
#include "carrier.h"
#include "shell.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define RECV_BYTES 65536

char *relay_command(const struct remote *r, const char *agent, const char *dir)
{
	static const char relay[] = "exec \"$1\" relay --dir \"$2\"";
	const char *const args[] = { agent, dir, NULL };

	return shell_command(relay, args, r->matrix->ssh.sudo);
}

int remote_attach(struct remote *r, const char *agent, const char *dir, struct err *e)
{
	remote_detach(r);
	int rc = r->carrier->attach(r, agent, dir, e);
	r->suspect |= rc == -ETIMEDOUT;
	r->attached = rc == 0;
	return rc;
}

void remote_detach(struct remote *r)
{
	if (r->attached)
		r->carrier->detach(r);
	r->attached = false;
	free(r->line);
	r->line = NULL;
	r->line_len = r->line_cap = 0;
}

bool remote_attached(const struct remote *r)
{
	return r->attached;
}

static int make_room(struct remote *r, struct err *e)
{
	if (r->line_cap - r->line_len >= RECV_BYTES)
		return 0;
	if (r->line_len >= SESSION_LINE_MAX)
		return err_set(e, EPROTO, "the agent's answer is longer than %u bytes",
			       SESSION_LINE_MAX);
	size_t cap = r->line_cap * 2 + RECV_BYTES;
	char *line = realloc(r->line, cap);
	if (line == NULL)
		return err_set(e, ENOMEM, "out of memory");
	r->line = line;
	r->line_cap = cap;
	return 0;
}

// Receives until a whole line stands at the front of r->line; its length in *len.
static int recv_line(struct remote *r, uint64_t deadline_ns, size_t *len, struct err *e)
{
	size_t searched = 0;

	for (;;) {
		char *end = r->line_len > searched
				    ? memchr(r->line + searched, '\n', r->line_len - searched)
				    : NULL;

		if (end != NULL) {
			*len = (size_t)(end - r->line);
			return 0;
		}
		searched = r->line_len;
		if (make_room(r, e) < 0)
			return -e->code;
		ssize_t n = r->carrier->recv(r, r->line + r->line_len, r->line_cap - r->line_len,
					     deadline_ns, e);
		if (n < 0)
			return (int)n;
		r->line_len += (size_t)n;
	}
}

static int take_answer(struct remote *r, size_t len, json_t **answer, struct err *e)
{
	json_error_t fault;
	json_t *root = json_loadb(r->line, len, JSON_REJECT_DUPLICATES, &fault);

	r->line_len -= len + 1;
	memmove(r->line, r->line + len + 1, r->line_len);
	if (r->line_len == 0 &&
	    r->line_cap > 4 * RECV_BYTES) { // a result came: do not keep its room
		free(r->line);
		r->line = NULL;
		r->line_cap = 0;
	}
	if (root == NULL)
		return err_set(e, EPROTO, "the agent's answer is no JSON: %s at column %d",
			       fault.text, fault.column);
	if (!json_is_true(json_object_get(root, "ok"))) {
		const char *why = json_string_value(json_object_get(root, "error"));
		int rc =
			err_set(e, EREMOTEIO, "%s", why != NULL ? why : "refused without a reason");

		json_decref(root);
		return rc;
	}
	*answer = root;
	return 0;
}

int remote_call(struct remote *r, json_t *request, uint64_t timeout_ns, json_t **answer,
		struct err *e)
{
	uint64_t deadline = mono_ns() + remote_patience(r, timeout_ns);
	size_t len = 0;

	*answer = NULL;
	if (!r->attached)
		return err_set(e, EPIPE, "no session with the agent");
	char *text = json_dumps(request, JSON_COMPACT | JSON_SORT_KEYS);
	char *line = text != NULL ? realloc(text, strlen(text) + 2) : NULL;
	if (line == NULL) {
		free(text);
		return err_set(e, ENOMEM, "out of memory");
	}
	strcat(line, "\n");
	int rc = r->carrier->send(r, line, strlen(line), deadline, e);
	if (rc == 0)
		rc = recv_line(r, deadline, &len, e);
	if (rc == 0)
		rc = take_answer(r, len, answer, e);
	free(line);
	r->suspect |= rc == -ETIMEDOUT;
	// after anything but a plain refusal, answers could no longer be told apart
	if (rc < 0 && rc != -EREMOTEIO)
		remote_detach(r);
	return rc;
}
