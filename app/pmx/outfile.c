#include "outfile.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define FILE_BUFFER (1u << 20)

bool is_device(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && !S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode);
}

int outfile_open(struct outfile *o, const char *path, struct err *e)
{
	*o = (struct outfile){ .f = stdout, .path = path };
	if (strcmp(path, "-") == 0)
		return 0;
	if ((size_t)snprintf(o->temporary, sizeof(o->temporary), "%s.%d.tmp", path,
			     (int)getpid()) >= sizeof(o->temporary))
		return err_set(e, ENAMETOOLONG, "file name too long: %.200s...", path);
	if (is_device(path))
		o->temporary[0] = '\0';
	o->f = o->temporary[0] != '\0' ? fopen(o->temporary, "wx") : fopen(path, "w");
	if (o->f == NULL)
		return err_set(e, errno, "cannot write '%s': %s",
			       o->temporary[0] != '\0' ? o->temporary : path, strerror(errno));
	setvbuf(o->f, NULL, _IOFBF, FILE_BUFFER);
	return 0;
}

static int close_stdout(int rc, struct err *e)
{
	if (rc == 0 && (fflush(stdout) != 0 || ferror(stdout)))
		return err_set(e, errno != 0 ? errno : EIO, "cannot write to stdout: %s",
			       strerror(errno));
	return rc;
}

int outfile_close(struct outfile *o, int rc, struct err *e)
{
	if (o->f == stdout)
		return close_stdout(rc, e);
	bool failed = ferror(o->f) != 0;
	if (fclose(o->f) != 0 || failed)
		rc = rc < 0 ? rc
			    : err_set(e, EIO, "cannot write '%s': %s", o->path, strerror(errno));
	if (o->temporary[0] == '\0')
		return rc;
	if (rc == 0 && rename(o->temporary, o->path) < 0)
		rc = err_set(e, errno, "cannot write '%s': %s", o->path, strerror(errno));
	if (rc < 0)
		unlink(o->temporary);
	return rc;
}
