#include "err.h"

#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

// A message is one line whatever it quotes, and what did not fit is seen to be cut.
static void tidy(char msg[ERR_MAX], bool cut)
{
	if (cut) {
		size_t end = ERR_MAX - 4;
		while (end > 0 && ((unsigned char)msg[end] & 0xc0) == 0x80)
			end--; // not within a UTF-8 sequence
		memcpy(msg + end, "...", 4);
	}
	for (unsigned char *p = (unsigned char *)msg; *p != '\0'; p++)
		if (*p < 0x20 || *p == 0x7f)
			*p = '?';
}

static bool format(char buf[ERR_MAX], const char *fmt, va_list ap)
{
	int n = vsnprintf(buf, ERR_MAX, fmt, ap);

	if (n < 0)
		buf[0] = '\0';
	return n >= ERR_MAX;
}

int err_set(struct err *e, int code, const char *fmt, ...)
{
	if (e == NULL)
		return -code;

	char buf[ERR_MAX]; // the arguments may quote e->msg
	va_list ap;
	va_start(ap, fmt);
	bool cut = format(buf, fmt, ap);
	va_end(ap);
	tidy(buf, cut);
	e->code = code;
	memcpy(e->msg, buf, sizeof(buf));
	return -code;
}

int err_wrap(struct err *e, const char *fmt, ...)
{
	if (e == NULL)
		return -EINVAL;

	char buf[ERR_MAX];
	va_list ap;
	va_start(ap, fmt);
	bool cut = format(buf, fmt, ap);
	va_end(ap);
	size_t used = strlen(buf);
	int n = snprintf(buf + used, sizeof(buf) - used, ": %s", e->msg);
	tidy(buf, cut || n >= (int)(sizeof(buf) - used));
	memcpy(e->msg, buf, sizeof(buf));
	return -e->code;
}
