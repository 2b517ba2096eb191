// What a transport does: a table of functions: private to remote*.c.
#pragma once

#include "remote.h"

#include "clock.h"

#include <sys/types.h>

#define CANCEL_POLL_MS 50 // how soon a wait sees that it is cancelled

struct carrier {
	int (*open)(struct remote *r, struct err *e);
	void (*close)(struct remote *r);
	// Runs a command of shell_command; the script gives stdin, limits and the time-out.
	int (*exec)(struct remote *r, const char *command, const struct script *s, struct output *o,
		    struct err *e);
	int (*attach)(struct remote *r, const char *agent, const char *dir, struct err *e);
	int (*send)(struct remote *r, const void *data, size_t len, uint64_t deadline_ns,
		    struct err *e);
	// Bytes read; -EPIPE at the end of the stream.
	ssize_t (*recv)(struct remote *r, void *buf, size_t size, uint64_t deadline_ns,
			struct err *e);
	void (*detach)(struct remote *r);
};

extern const struct carrier carrier_ssh, carrier_local, carrier_dry;

struct remote {
	const struct carrier *carrier;
	const struct matrix *matrix; // borrowed
	size_t host;
	const atomic_int *cancel; // borrowed, or NULL
	void *impl;		  // the transport's own, owned by it
	bool attached;
	bool suspect; // did not answer in time once: no long waits any more
	char *line;   // received of the session and not yet used; owned
	size_t line_len, line_cap;
};

#define SUSPECT_NS (5 * NS_PER_S)

// A time-out that knows what the host has shown.
static inline uint64_t remote_patience(const struct remote *r, uint64_t timeout_ns)
{
	return r->suspect && timeout_ns > SUSPECT_NS ? SUSPECT_NS : timeout_ns;
}

static inline bool remote_cancelled(const struct remote *r)
{
	return r->cancel != NULL && atomic_load_explicit(r->cancel, memory_order_relaxed) != 0;
}

// The command that joins an SSH channel to the agent in `dir`; owned, NULL on no memory.
char *relay_command(const struct remote *r, const char *agent, const char *dir);

// Collects a stream up to max bytes, counts the rest as cut. 0 or -ENOMEM.
struct capture {
	char *data; // owned, NUL-terminated once anything was added
	size_t len, cap, max;
	bool cut;
};
int capture_add(struct capture *c, const void *data, size_t len);
// Hands over the text (never NULL unless out of memory).
char *capture_take(struct capture *c, size_t *len);
