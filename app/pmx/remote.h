// One host, reached over SSH (libssh) or as a local process: run a command, put and get files, and
// hold the session with its agent. The two transports are two tables of functions behind one struct.
// A remote is used by one thread at a time. All calls block, each with a time-out, and none ever
// prompts. Errors name the host, what was tried and the fix.
#pragma once

#include "matrix.h"

#include "err.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct remote;

struct output {    // of a command; owned strings, NUL-terminated, cut at 1 MiB each
	char *out, *err;
	int status;    // exit status, or 128 + signal
};

int remote_open(const struct matrix *m, size_t host, struct remote **r, struct err *e);
void remote_close(struct remote *r);
// 0 when the command ran, whatever its status; -ETIMEDOUT, -EIO, ... otherwise.
int remote_exec(struct remote *r, const char *command, uint64_t timeout_ns, struct output *o,
		struct err *e);
void output_free(struct output *o);
// Writes to a temporary name in the same directory, checks the size and SHA-256, renames.
int remote_put(struct remote *r, const void *data, size_t len, const char *path, unsigned mode,
	       struct err *e);
int remote_get(struct remote *r, const char *path, char **data, size_t *len, struct err *e);
// The agent's session (lib/session.h). remote_call sends one line and returns the one answer (owned);
// an answer with "ok": false is an error with the agent's own words.
int remote_attach(struct remote *r, const char *dir, struct err *e);
int remote_call(struct remote *r, json_t *request, json_t **answer, uint64_t timeout_ns, struct err *e);
void remote_detach(struct remote *r);
