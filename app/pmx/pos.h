// Where something stands in a file, and how an error says so.
#pragma once

#include "err.h"

struct pos { // from 1; line 0 = nowhere
	int line, col;
};

// `file:line:col: ...`; returns -EINVAL.
int pos_fail(const char *file, struct pos pos, struct err *e, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));
