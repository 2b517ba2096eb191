#include "spew.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static int spew_stdout(const char *text, size_t len, struct err *e)
{
	if (fwrite(text, 1, len, stdout) == len && fflush(stdout) == 0)
		return 0;
	return err_set(e, errno != 0 ? errno : EIO, "cannot write to stdout: %s", strerror(errno));
}

int spew(const char *path, const char *text, size_t len, struct err *e)
{
	char temporary[PATH_MAX];

	if (strcmp(path, "-") == 0)
		return spew_stdout(text, len, e);
	if ((size_t)snprintf(temporary, sizeof(temporary), "%s.%d.tmp", path, (int)getpid()) >=
	    sizeof(temporary))
		return err_set(e, ENAMETOOLONG, "file name too long: %.200s...", path);

	FILE *f = fopen(temporary, "wxe");
	if (f == NULL)
		return err_set(e, errno, "cannot write '%s': %s", path, strerror(errno));
	bool whole = fwrite(text, 1, len, f) == len;
	if (fclose(f) != 0 || !whole || rename(temporary, path) < 0) {
		int code = errno != 0 ? errno : EIO;

		unlink(temporary);
		return err_set(e, code, "cannot write '%s': %s", path, strerror(code));
	}
	return 0;
}
