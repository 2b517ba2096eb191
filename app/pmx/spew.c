#include "spew.h"

#include "outfile.h"

#include <errno.h>
#include <fcntl.h>
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

// Renames, over a file that is there only if asked to.
static int put(const char *from, const char *to, bool over)
{
	if (over)
		return rename(from, to);
	if (renameat2(AT_FDCWD, from, AT_FDCWD, to, RENAME_NOREPLACE) == 0)
		return 0;
	if (errno != EINVAL && errno != ENOSYS)
		return -1;
	// a file system that cannot: as good as it gets
	if (access(to, F_OK) == 0) {
		errno = EEXIST;
		return -1;
	}
	return rename(from, to);
}

static int spew_device(const char *path, const char *text, size_t len, struct err *e)
{
	FILE *f = fopen(path, "we");
	bool whole = f != NULL && fwrite(text, 1, len, f) == len;

	if (f != NULL && fclose(f) == 0 && whole)
		return 0;
	return err_set(e, errno != 0 ? errno : EIO, "cannot write '%s': %s", path, strerror(errno));
}

static int spew_file(const char *path, const char *text, size_t len, bool over, struct err *e)
{
	char temporary[PATH_MAX];

	if (strcmp(path, "-") == 0)
		return spew_stdout(text, len, e);
	if (is_device(path))
		return spew_device(path, text, len, e);
	if ((size_t)snprintf(temporary, sizeof(temporary), "%s.%d.tmp", path, (int)getpid()) >=
	    sizeof(temporary))
		return err_set(e, ENAMETOOLONG, "file name too long: %.200s...", path);

	FILE *f = fopen(temporary, "wxe");
	if (f == NULL)
		return err_set(e, errno, "cannot write '%s': %s", path, strerror(errno));
	bool whole = fwrite(text, 1, len, f) == len;
	if (fclose(f) != 0 || !whole || put(temporary, path, over) < 0) {
		int code = errno != 0 ? errno : EIO;

		unlink(temporary);
		return err_set(e, code, "cannot write '%s': %s", path, strerror(code));
	}
	return 0;
}

int spew(const char *path, const char *text, size_t len, struct err *e)
{
	return spew_file(path, text, len, true, e);
}

int spew_new(const char *path, const char *text, size_t len, struct err *e)
{
	return spew_file(path, text, len, false, e);
}
