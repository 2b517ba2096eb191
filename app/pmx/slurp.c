#include "slurp.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_BYTES (64u << 10)

static int read_all(FILE *f, const char *path, char **text, size_t *len, struct err *e)
{
	size_t used = 0, size = FIRST_BYTES;
	char *buf = malloc(size);

	while (buf != NULL) {
		used += fread(buf + used, 1, size - 1 - used, f);
		if (used < size - 1 || used > SLURP_MAX)
			break;
		char *bigger = realloc(buf, size *= 2);
		if (bigger == NULL)
			free(buf);
		buf = bigger;
	}
	if (buf == NULL)
		return err_set(e, ENOMEM, "%s: out of memory", path);
	if (ferror(f)) {
		int code = errno;

		free(buf);
		return err_set(e, code, "%s: %s", path, strerror(code));
	}
	if (used > SLURP_MAX) {
		free(buf);
		return err_set(e, EFBIG, "%s: larger than %u MiB: expected a file of text", path,
			       SLURP_MAX >> 20);
	}
	buf[used] = '\0';
	*text = buf;
	*len = used;
	return 0;
}

int slurp(const char *path, char **text, size_t *len, struct err *e)
{
	if (strcmp(path, "-") == 0)
		return read_all(stdin, "stdin", text, len, e);

	FILE *f = fopen(path, "re");
	if (f == NULL)
		return err_set(e, errno, "%s: %s", path, strerror(errno));
	int ret = read_all(f, path, text, len, e);
	fclose(f);
	return ret;
}
