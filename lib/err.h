// An error on its way up: whoever detects it names the thing, the bad value and the fix; whoever
// called adds where. Only main and cmd_* print it.
#pragma once

#define ERR_MAX 768

struct err {
	int code; // an errno value, 0 = no error
	char msg[ERR_MAX];
};

// Fills *e (may be NULL) and returns -code, so that callers write `return err_set(e, EINVAL, ...)`.
// The message is one line: control characters become '?', what does not fit ends in "...".
// Arguments may quote e->msg.
int err_set(struct err *e, int code, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

// Puts "<text>: " in front of the message and returns -e->code (-EINVAL when e is NULL).
int err_wrap(struct err *e, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
