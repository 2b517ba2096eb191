#include "agent_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static int find(char *path, struct err *e)
{
	static const char *const beside[] = { "pmx-agent", "../agent/pmx-agent",
					      "../libexec/pmx/pmx-agent" };
	const char *env = getenv("PMX_AGENT");
	char self[PATH_MAX] = "", candidate[PATH_MAX + 32];

	if (env != NULL && env[0] != '\0') {
		if (realpath(env, path) == NULL || access(path, X_OK) < 0)
			return err_set(e, errno, "PMX_AGENT '%s': %s", env, strerror(errno));
		return 0;
	}
	if (readlink("/proc/self/exe", self, sizeof(self) - 1) < 0)
		return err_set(e, errno, "/proc/self/exe: %s", strerror(errno));
	*(strrchr(self, '/') + 1) = '\0';
	for (size_t i = 0; i < sizeof(beside) / sizeof(beside[0]); i++) {
		snprintf(candidate, sizeof(candidate), "%s%s", self, beside[i]);
		if (realpath(candidate, path) != NULL && access(path, X_OK) == 0)
			return 0;
	}
	return err_set(e, ENOENT,
		       "no pmx-agent next to %spmx, in ../agent or in ../libexec/pmx: name it by "
		       "PMX_AGENT",
		       self);
}

int agent_file_open(struct agent_file *a, struct err *e)
{
	struct stat st;
	int fd, rc;

	*a = (struct agent_file){ 0 };
	rc = find(a->path, e);
	if (rc < 0)
		return rc;
	fd = open(a->path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_size == 0) {
		rc = err_set(e, ENOEXEC, "%s: not a file that can be run", a->path);
		if (fd >= 0)
			close(fd);
		return rc;
	}
	a->len = (size_t)st.st_size;
	a->data = mmap(NULL, a->len, PROT_READ, MAP_PRIVATE, fd, 0);
	close(fd);
	if (a->data == MAP_FAILED) {
		a->data = NULL;
		return err_set(e, ENOMEM, "%s: %s", a->path, strerror(ENOMEM));
	}
	sha256_hex(a->data, a->len, a->sha256);
	return 0;
}

void agent_file_close(struct agent_file *a)
{
	if (a->data != NULL)
		munmap(a->data, a->len);
	*a = (struct agent_file){ 0 };
}
