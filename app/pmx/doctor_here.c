// The machine that controls: its agent, keys, room and limits.
#include "doctor.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/statvfs.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#define ROOM_BYTES (256u << 20) // results of a large fleet
#define FILES_SPARE 64		// besides a connection a host
#define FILES_EACH 4		// a jump host's ssh has pipes
#define KEY_FILES "id_ed25519", "id_ecdsa", "id_rsa"

static void here_agent(const struct doctor *d, struct finding *f)
{
	char command[PATH_MAX + 64], line[256] = "";

	if (d->file.path[0] == '\0' || !d->elf_known) {
		found(f, HEALTH_BLOCKER, "%s%s%.300s", d->file.path,
		      d->file.path[0] != '\0' ? ": " : "", d->agent_fault);
		mend(f, "build it (meson compile), or name one by PMX_AGENT");
		return;
	}
	// the path goes by the environment, so that the shell need not be told how to read it
	setenv("PMX_AGENT", d->file.path, 1);
	snprintf(command, sizeof(command), "\"$PMX_AGENT\" --version 2>&1");
	FILE *p = popen(command, "r");
	if (p != NULL && fgets(line, sizeof(line), p) != NULL)
		line[strcspn(line, "\n")] = '\0';
	int status = p != NULL ? pclose(p) : -1;
	if (status == 0)
		found(f, HEALTH_OK, "%.200s is %.120s", d->file.path, line);
	else if (d->matrix->transport == TRANSPORT_SSH)
		found(f, HEALTH_NOTE, "%.200s does not run on this machine: %.150s", d->file.path,
		      line);
	else
		found(f, HEALTH_BLOCKER, "%.200s does not run: %.150s", d->file.path, line);
	if (status != 0)
		mend(f, "ldd %s says what it lacks; or name another by PMX_AGENT", d->file.path);
}

static void here_linkage(const struct doctor *d, struct finding *f)
{
	static const char *const libc[] = { "libc.so", "libm.so", "ld-linux" };
	char others[300] = "";
	size_t n = 0;

	if (!d->elf_known)
		return;
	for (const char *p = d->elf.libs; *p != '\0'; p += strspn(p, " ")) {
		size_t len = strcspn(p, " ");
		bool plain = false;

		for (size_t i = 0; i < sizeof(libc) / sizeof(libc[0]); i++)
			plain |= strncmp(p, libc[i], strlen(libc[i])) == 0;
		if (!plain && n < sizeof(others))
			n += (size_t)snprintf(others + n, sizeof(others) - n, " %.*s", (int)len, p);
		p += len;
	}
	if (others[0] == '\0') {
		found(f, HEALTH_OK, "the agent needs libc alone, %u.%u or newer", d->elf.glibc[0],
		      d->elf.glibc[1]);
		return;
	}
	found(f, HEALTH_WARNING, "the agent needs shared libraries on every host:%s", others);
	mend(f, "meson configure BUILD -Dagent_static=true");
}

static bool agent_answers(const char *path)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	snprintf(a.sun_path, sizeof(a.sun_path), "%s", path);
	bool well = fd >= 0 && connect(fd, (struct sockaddr *)&a, sizeof(a)) == 0;
	if (fd >= 0)
		close(fd);
	return well;
}

static bool has_key_file(void)
{
	static const char *const file[] = { KEY_FILES };
	const char *home = getenv("HOME");
	char path[PATH_MAX];

	for (size_t i = 0; home != NULL && i < sizeof(file) / sizeof(file[0]); i++) {
		snprintf(path, sizeof(path), "%s/.ssh/%s", home, file[i]);
		if (access(path, R_OK) == 0)
			return true;
	}
	return false;
}

static void here_keys(const struct doctor *d, struct finding *f)
{
	const char *identity = d->matrix->ssh.identity, *socket = getenv("SSH_AUTH_SOCK");
	const char *home = getenv("HOME");
	char path[PATH_MAX];

	if (d->matrix->transport != TRANSPORT_SSH)
		return;
	bool tilde = strncmp(identity, "~/", 2) == 0 && home != NULL;
	snprintf(path, sizeof(path), "%s%s", tilde ? home : "", identity + tilde);
	bool agent = socket != NULL && socket[0] != '\0' && agent_answers(socket);
	if (identity[0] != '\0' && access(path, R_OK) < 0) {
		found(f, HEALTH_BLOCKER, "identity %s: %s", path, strerror(errno));
		mend(f, "ssh: {identity: FILE} in the matrix");
	} else if (identity[0] != '\0') {
		found(f, HEALTH_OK, "the key is %s%s", path, agent ? ", and an SSH agent" : "");
	} else if (agent) {
		found(f, HEALTH_OK, "an SSH agent answers");
	} else if (has_key_file()) {
		found(f, HEALTH_OK, "key files are in ~/.ssh");
	} else {
		found(f, HEALTH_WARNING,
		      "no SSH agent answers and ~/.ssh has no key: only "
		      "ssh_config may name one");
		mend(f, "eval $(ssh-agent) && ssh-add, or ssh: {identity: FILE} in the matrix");
	}
}

static void here_plan(const struct doctor *d, struct finding *f)
{
	found(f, HEALTH_OK, "%s: %zu hosts, %zu flows", d->matrix->file, d->matrix->host_count,
	      d->plan->flow_count);
}

static void here_room(const struct doctor *d, struct finding *f)
{
	struct statvfs fs;

	(void)d;
	if (statvfs(".", &fs) < 0) {
		found(f, HEALTH_UNKNOWN, "the free space here is not known: %s", strerror(errno));
		return;
	}
	unsigned long long bytes = (unsigned long long)fs.f_bavail * fs.f_frsize;
	found(f, bytes < ROOM_BYTES ? HEALTH_WARNING : HEALTH_OK,
	      "%llu MB free in the current directory", bytes >> 20);
	if (bytes < ROOM_BYTES)
		mend(f, "free some, or --output and --report elsewhere");
}

static void here_files(const struct doctor *d, struct finding *f)
{
	size_t need = d->matrix->host_count * FILES_EACH + FILES_SPARE;
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) < 0) {
		found(f, HEALTH_UNKNOWN, "the limit of open files is not known");
		return;
	}
	found(f, limit.rlim_cur < need ? HEALTH_BLOCKER : HEALTH_OK,
	      "%llu open files allowed, up to %zu needed", (unsigned long long)limit.rlim_cur,
	      need);
	if (limit.rlim_cur < need)
		mend(f, "ulimit -n %zu", need);
}

static const struct {
	const char *name;
	void (*run)(const struct doctor *d, struct finding *f);
} here_table[] = {
	{ "agent", here_agent }, { "linkage", here_linkage }, { "keys", here_keys },
	{ "plan", here_plan },	 { "room", here_room },	      { "files", here_files },
};

void doctor_here(struct doctor *d, struct err *e)
{
	for (size_t i = 0; i < sizeof(here_table) / sizeof(here_table[0]); i++) {
		struct finding f = { 0 };

		here_table[i].run(d, &f);
		if (doctor_add(&d->here, here_table[i].name, &f) < 0)
			err_set(e, ENOMEM, "out of memory");
	}
	doctor_sort(&d->here);
}
