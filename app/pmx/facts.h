// Facts: what a host's files and commands said, by path. The host's answer is a row of records,
//
//   PATH NUL LINE LF
//
// as `grep -HZ ''` prints them; lines of one path that follow each other are one text. Paths are
// relative to the host's root ("sys/class/net/eth1/mtu"); outputs of commands stand under "cmd/",
// their exit statuses under "cmd/NAME.status". A path that is not there is not known, never empty.
#pragma once

#include "err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FACTS_MAX 65536
#define FACTS_BYTES_MAX (4u << 20)
#define FACT_PATH_MAX 512

struct fact {
	const char *path;
	const char *text; // lines joined by LF, none at the end
};

struct facts {
	char *data; // owned
	size_t len, cap;
	struct fact *item; // owned, by path
	size_t count;
};

// Reads an answer. Records that are none (no NUL, no path, too long a path) are skipped. -EINVAL
// when there are more than the limits allow or when the last record is not FACT_END: it was cut
// off. On failure *f is empty.
#define FACT_END "pmx/end"
int facts_read(const char *answer, size_t len, struct facts *f, struct err *e);
void facts_free(struct facts *f);

// The text at a path, or NULL.
const char *fact(const struct facts *f, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
// A whole number that is the whole text: false when it is not there or is something else.
bool fact_u64(const struct facts *f, uint64_t *v, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
bool fact_i64(const struct facts *f, int64_t *v, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
// The facts whose path matches a shell pattern ('*' never crosses a '/'), one a call, in the order
// of the paths: *at is 0 at first. NULL when there is no more.
const struct fact *fact_next(const struct facts *f, const char *pattern, size_t *at);
// What stands behind "KEY" and blanks, or "KEY:" and blanks, in the line that begins with it. Into
// buf; NULL when there is no such line.
const char *fact_line(const char *text, const char *key, char *buf, size_t size);
