#include "pos.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>

int pos_fail(const char *file, struct pos pos, struct err *e, const char *fmt, ...)
{
	char msg[ERR_MAX];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(msg, sizeof(msg), fmt, ap);
	va_end(ap);
	return err_set(e, EINVAL, "%s:%d:%d: %s", file, pos.line, pos.col, msg);
}
