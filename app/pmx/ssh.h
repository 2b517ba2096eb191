// An SSH connection that is logged in, by libssh. Private to remote_ssh.c and remote_dry.c.
#pragma once

#include "remote.h"

#include "err.h"

#include <libssh/libssh.h>
#include <stdint.h>

struct ssh_target {
	char user[64];	   // "" = ssh_config's or the current user
	char address[256]; // as ssh_config may know it
	uint16_t port;	   // 0 = ssh_config's or 22
};

// "[user@]address[:port]", "[user@][v6-address]:port" or a bare IPv6 address.
int ssh_target_read(const char *text, struct ssh_target *t, struct err *e);
// Where a host of the matrix is reached: its own entry first, then the matrix's ssh section.
int ssh_target_of(const struct matrix *m, size_t host, struct ssh_target *t, struct err *e);
// Connects, verifies the host key, logs in. The session is non-blocking and owned by the caller
// (ssh_disconnect, ssh_free). A connection that the server drops before the log-in (MaxStartups) is
// tried again, later and later.
int ssh_login(const struct remote *r, const struct ssh_target *t, ssh_session *out, struct err *e);
// Waits until the session's socket can go on, for a short time at most: the caller looks again. 0,
// -ETIMEDOUT, or -ECANCELED.
int ssh_wait(const struct remote *r, ssh_session s, uint64_t deadline_ns, struct err *e);
