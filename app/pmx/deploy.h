// What is done on one host outside the session with its agent: the directory, the binary, the
// config, the launch, and the end. Each is one script (deploy.c, deploy_end.c); none asks the
// matrix.
#pragma once

#include "agent_file.h"
#include "matrix.h"
#include "remote.h"

#include "err.h"

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

struct site {		      // where an agent lives on its host
	char base[256];	      // the one directory
	char dir[384];	      // the session's files: base, or base/<host> of several on one machine
	char agent[PATH_MAX]; // the binary: base/pmx-agent, or where it stands on this machine
};

// `agent` is the local binary's path, or NULL where a verb launches nothing. Refused: a directory
// too long for the session's socket.
int site_of(const struct matrix *m, size_t host, const char *agent, struct site *s, struct err *e);

// Makes the directory (refused: a link, somebody else's, one with files that are not pmx's),
// refuses while an agent runs in it (one that is done is sent away), removes the last session's
// files, puts the binary there unless the same one is.
int deploy_prepare(struct remote *r, const struct site *s, const struct agent_file *a,
		   bool *uploaded, struct err *e);
// Writes the host config and starts the agent, which goes on by itself; returns when its session
// answers.
int deploy_launch(struct remote *r, const struct site *s, const char *config, size_t len,
		  struct err *e);

struct site_state {
	bool deployed;	// the directory is there
	bool running;	// an agent runs in it
	bool result;	// a result was written
	char ended[64]; // how the last agent ended: "exit 0", "signal 9", "" = not known
};
int deploy_state(struct remote *r, const struct site *s, struct site_state *state, struct err *e);

// After the agent of one life in the run has gone: its result, report and log get the life's number
// (result.1.json, ...), and the sequences must be there for the next.
int deploy_rotate(struct remote *r, const struct site *s, struct err *e);
// The results of earlier lives, one after the other; owned, "" when there was no reload.
int deploy_lives(struct remote *r, const struct site *s, char **text, size_t *len, struct err *e);

// The last lines of the agent's log (owned, "" when there is none) and how it ended, waiting
// shortly for the latter when the agent is just dying.
int deploy_log(struct remote *r, const struct site *s, unsigned lines, char **log, char *ended,
	       size_t ended_size, struct err *e);
// "ended with exit status 3", "was killed by signal 9 (Killed)" of what agent.exit says; "" of "".
char *ended_str(const char *ended, char *buf, size_t size);

enum stop_how { STOP_NOT_RUNNING, STOP_STOPPED, STOP_KILLED, STOP_HOWS };
extern const char *const stop_how_name[STOP_HOWS];

// Waits until no agent runs in the directory; after wait_s seconds by SIGTERM, then SIGKILL. The
// session's own way (stop, quit) is the caller's and comes first.
int deploy_stop(struct remote *r, const struct site *s, unsigned wait_s, enum stop_how *how,
		struct err *e);
// Removes the directory if pmx made it, looks afterwards: 0 only when it is gone and no agent runs.
int deploy_clean(struct remote *r, const struct site *s, bool *was_there, struct err *e);
