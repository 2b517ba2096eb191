// The session's socket: takes lines, gives answers (lib/session.h).
#pragma once

#include "agent.h"

#include "err.h"

#define SERVE_CLIENTS 8

struct serve {
	int fd;
	struct {
		int fd;	   // -1 = free
		char *buf; // owned
		size_t len;
	} client[SERVE_CLIENTS];
};

// Listens on SESSION_SOCKET in the current directory, for its owner only.
int serve_open(struct serve *s, struct err *e);
// Waits at most timeout_ms for lines, without a->lock, and answers them.
void serve_poll(struct serve *s, struct agent *a, int timeout_ms);
void serve_close(struct serve *s);
