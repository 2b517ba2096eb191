#include "jsonmap.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int jsonmap_parse(const char *name, const char *text, size_t len, json_t **root, struct err *e)
{
	json_error_t je;

	*root = json_loadb(text, len, JSON_REJECT_DUPLICATES, &je);
	if (*root == NULL)
		return err_set(e, EINVAL, "%s:%d:%d: not JSON as expected: %s", name, je.line,
			       je.column, je.text);
	return 0;
}

// The whole file; it must not grow meanwhile.
static int slurp(int fd, const char *path, size_t max_bytes, char **text, size_t *len,
		 struct err *e)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return err_set(e, errno, "%s: %s", path, strerror(errno));
	if (!S_ISREG(st.st_mode))
		return err_set(e, EINVAL, "%s: expected a regular file", path);
	if ((uint64_t)st.st_size > max_bytes)
		return err_set(e, EFBIG, "%s: %lld bytes, expected at most %zu", path,
			       (long long)st.st_size, max_bytes);
	*text = malloc((size_t)st.st_size + 1);
	if (*text == NULL)
		return err_set(e, ENOMEM, "%s: no memory for %lld bytes", path,
			       (long long)st.st_size);
	*len = 0;
	while (*len < (size_t)st.st_size) {
		ssize_t n = read(fd, *text + *len, (size_t)st.st_size - *len);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0) {
			int code = errno;
			free(*text);
			return err_set(e, code, "%s: %s", path, strerror(code));
		}
		if (n == 0)
			break;
		*len += (size_t)n;
	}
	(*text)[*len] = '\0';
	return 0;
}

int jsonmap_slurp(const char *path, size_t max_bytes, char **text, size_t *len, struct err *e)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); // a FIFO is refused, not waited for

	*text = NULL;
	*len = 0;
	if (fd < 0)
		return err_set(e, errno, "%s: %s", path, strerror(errno));
	int ret = slurp(fd, path, max_bytes, text, len, e);
	close(fd);
	return ret;
}

int jsonmap_load(const char *path, size_t max_bytes, json_t **root, struct err *e)
{
	char *text;
	size_t len;

	*root = NULL;
	int ret = jsonmap_slurp(path, max_bytes, &text, &len, e);
	if (ret < 0)
		return ret;
	ret = jsonmap_parse(path, text, len, root, e);
	free(text);
	return ret;
}
