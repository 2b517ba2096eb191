// Verbs: one table that the parser, `pmx help`, man pages and completion read; one file a verb.
#pragma once

#include "matrix.h"
#include "opt.h"

#include "err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum pmx_exit {
	EXIT_GOOD = 0,
	EXIT_LIMIT = 1,	  // a limit missed, a problem found
	EXIT_USAGE = 2,	  // usage or bad input
	EXIT_HOST = 3,	  // a host or the set-up failed
	EXIT_PARTIAL = 4, // results are partial
	EXIT_SIGINT = 130,
	EXIT_SIGTERM = 143,
};

enum verb_id {
	VERB_GEN = 1 << 0,
	VERB_CHECK = 1 << 1,
	VERB_RUN = 1 << 2,
	VERB_START = 1 << 3,
	VERB_STATUS = 1 << 4,
	VERB_SUMMARIZE = 1 << 5,
	VERB_COLLECT = 1 << 6,
	VERB_LOGS = 1 << 7,
	VERB_STOP = 1 << 8,
	VERB_CLEAN = 1 << 9,
	VERB_HELP = 1 << 10,
	VERB_RELOAD = 1 << 11,
	VERB_HINTS = 1 << 19,
	VERB_DOCTOR = 1 << 12,
	VERB_PROFILE = 1 << 20,
	VERB_PREPARE = 1 << 21,
	VERB_RESTORE = 1 << 22,
	VERB_EXPORT = 1 << 23,
};

struct verb_arg {	  // the one positional argument
	const char *name; // what help calls it
	const char *env;  // gives it where the command line does not; or NULL
	bool required;
	const char *help;
};

struct verb {
	enum verb_id id;
	const char *name;
	const struct verb_arg *arg;  // NULL = takes none
	const struct verb_arg *more; // a second argument; NULL = takes one at most
	const char *brief;	     // one line, no full stop
	const char *text; // what it does, for help and the man page; lines of at most 80 columns
	int (*run)(struct opts *o); // returns enum pmx_exit; has printed whatever there is to say
};

extern const struct verb verb_table[];
extern const size_t verb_count;

const struct verb *verb_find(const char *name);

int cmd_check(struct opts *o);
int cmd_clean(struct opts *o);
int cmd_collect(struct opts *o);
int cmd_doctor(struct opts *o);
int cmd_export(struct opts *o);
int cmd_gen(struct opts *o);
int cmd_help(struct opts *o);
int cmd_hints(struct opts *o);
int cmd_logs(struct opts *o);
int cmd_prepare(struct opts *o);
int cmd_profile(struct opts *o);
int cmd_reload(struct opts *o);
int cmd_restore(struct opts *o);
int cmd_run(struct opts *o);
int cmd_start(struct opts *o);
int cmd_status(struct opts *o);
int cmd_stop(struct opts *o);
int cmd_summarize(struct opts *o);

// What verbs share.

// One line on stderr with "pmx: " in front: what went wrong.
void complain(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
// One line on stderr, unless --quiet or --dry-run: what is going on.
void note(const struct opts *o, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
// Reads the matrix of o->arg and lays the options over it that mean the same (--user, --remote-dir,
// --for, --warmup, --scale). 0, or EXIT_USAGE after saying why; then there is nothing to free.
int cmd_load(const struct opts *o, struct matrix *m);
