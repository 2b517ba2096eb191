// One host, reached over SSH (libssh) or as a local process: run a script, put and get files, and
// hold the session with its agent. The transports are tables of functions (carrier.h) behind one
// struct. A remote is used by one thread at a time. All calls block, each with a time-out, and none
// ever prompts. Errors say what was tried and the fix; the caller adds the host.
#pragma once

#include "matrix.h"

#include "err.h"

#include <jansson.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define REMOTE_OUTPUT_MAX (1u << 20)

struct remote;

struct script {
	const char *what;    // is done, in words: for --dry-run and errors
	const char *text;    // POSIX shell, see shell_command
	const char *args[8]; // $1, $2, ...; ended by NULL
	const void *in;	     // its stdin; NULL = empty
	size_t in_len;
	uint64_t timeout_ns; // 0 = 30 s
	bool as_login;	     // not by sudo, whatever the matrix says
	size_t out_max;	     // of stdout; 0 = REMOTE_OUTPUT_MAX. More is read and dropped
};

struct output { // of a script; owned strings, NUL-terminated; stderr is cut at REMOTE_OUTPUT_MAX
	char *out, *err;
	size_t out_len, err_len;
	size_t noise; // bytes that the log-in shell said before, cut off
	bool cut;     // there was more on stdout than out_max
	int status;   // exit status, or 128 + signal
	int signal;   // that ended it, or 0
};

enum remote_mode {
	REMOTE_LIVE,
	REMOTE_DRY, // prints what would be run and written on stdout; touches and answers nothing
};

// `cancel`, when not NULL, is looked at while waiting: not 0 ends the call with -ECANCELED. It is
// borrowed and may be changed by remote_set_cancel.
int remote_open(const struct matrix *m, size_t host, enum remote_mode mode,
		const atomic_int *cancel, struct remote **r, struct err *e);
void remote_close(struct remote *r);
void remote_set_cancel(struct remote *r, const atomic_int *cancel);
bool remote_is_dry(const struct remote *r);
// Whether the host failed to answer in time once; it is given short time-outs since.
bool remote_is_suspect(const struct remote *r);

// 0 when the script ran to its end, whatever its status; -ETIMEDOUT, -ECANCELED, -EIO otherwise.
// *o is filled in any case and is the caller's to free.
int remote_exec(struct remote *r, const struct script *s, struct output *o, struct err *e);
// The same, and a status other than 0 is an error that quotes the last line of stderr.
int remote_check(struct remote *r, const struct script *s, struct output *o, struct err *e);
void output_free(struct output *o);
// The last line that says something, without its newline; "" when there is none. Into buf.
char *last_line(const char *text, char *buf, size_t size);
// "exit status 3" or "killed by signal 9 (Killed)", as output.status says. Into buf.
char *status_str(int status, char *buf, size_t size);

// Writes to a temporary name in the same directory, checks the size and SHA-256, renames: a binary
// that runs may be replaced, and no half file is ever seen.
int remote_put(struct remote *r, const void *data, size_t len, const char *path, unsigned mode,
	       struct err *e);
// At most max bytes; owned by the caller, with a NUL behind. -ENOENT when there is no such file.
int remote_get(struct remote *r, const char *path, size_t max, char **data, size_t *len,
	       struct err *e);

// The agent's session (lib/session.h). `agent` is the binary that serves as relay. remote_call
// sends one line and returns the one answer (owned); an answer with "ok": false is -EREMOTEIO with
// the agent's own words; -EPIPE when the agent is gone.
int remote_attach(struct remote *r, const char *agent, const char *dir, struct err *e);
int remote_call(struct remote *r, json_t *request, uint64_t timeout_ns, json_t **answer,
		struct err *e);
void remote_detach(struct remote *r);
bool remote_attached(const struct remote *r);
