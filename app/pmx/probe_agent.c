#include "probes.h"

#include "parse.h"

#include <stdio.h>
#include <string.h>

#define SPARE_BYTES (8u << 20) // result, report and log

void probe_machine(const struct exam *x, struct finding *f)
{
	const char *machine = fact(x->facts, "cmd/uname");

	if (machine == NULL || x->agent == NULL || x->agent->machine[0] == '\0') {
		found(f, HEALTH_UNKNOWN, "whether the agent is for this machine is not known");
	} else if (strcmp(machine, x->agent->machine) == 0) {
		found(f, HEALTH_OK, "host and agent are %s", machine);
	} else {
		found(f, HEALTH_BLOCKER, "the host is %s, the agent is for %s", machine,
		      x->agent->machine);
		mend(f, "build an agent for %s and name it by PMX_AGENT", machine);
	}
}

void probe_glibc(const struct exam *x, struct finding *f)
{
	const char *said = fact(x->facts, "cmd/libc");
	unsigned major, minor;
	uint64_t status = 0;

	if (x->agent != NULL && x->agent->glibc[0] == 0) {
		found(f, HEALTH_OK, "the agent needs no glibc");
		return;
	}
	fact_u64(x->facts, &status, "cmd/libc.status");
	if (x->agent == NULL || said == NULL || status == 127 || status == 126) {
		found(f, HEALTH_UNKNOWN, "the host's glibc is not known");
		return;
	}
	const unsigned *need = x->agent->glibc;
	if (sscanf(said, "glibc %u.%u", &major, &minor) != 2) {
		found(f, HEALTH_BLOCKER, "the host has no glibc, the agent needs %u.%u", need[0],
		      need[1]);
	} else if (major < need[0] || (major == need[0] && minor < need[1])) {
		found(f, HEALTH_BLOCKER, "glibc is %u.%u, the agent needs %u.%u", major, minor,
		      need[0], need[1]);
	} else {
		found(f, HEALTH_OK, "glibc is %u.%u, the agent needs %u.%u", major, minor, need[0],
		      need[1]);
		return;
	}
	mend(f, "build the agent on the oldest system of the fleet and name it by PMX_AGENT");
}

static bool has_word(const char *list, const char *word, size_t len)
{
	for (const char *p = list + strspn(list, " "); *p != '\0'; p += strspn(p, " ")) {
		size_t n = strcspn(p, " ");

		if (n == len && strncmp(p, word, n) == 0)
			return true;
		p += n;
	}
	return false;
}

void probe_libraries(const struct exam *x, struct finding *f)
{
	const char *have = fact(x->facts, "cmd/libs");
	char missing[256] = "";
	size_t n = 0;

	if (x->agent == NULL || (have == NULL && x->agent->libs[0] != '\0')) {
		found(f, HEALTH_UNKNOWN, "what libraries the host has is not known (ldconfig -p)");
		return;
	}
	for (const char *p = x->agent->libs; *p != '\0'; p += strspn(p, " ")) {
		size_t len = strcspn(p, " ");

		if (!has_word(have, p, len) && n < sizeof(missing))
			n += (size_t)snprintf(missing + n, sizeof(missing) - n, " %.*s", (int)len,
					      p);
		p += len;
	}
	if (missing[0] == '\0') {
		found(f, HEALTH_OK, "the libraries that the agent needs are there: %s",
		      x->agent->libs[0] != '\0' ? x->agent->libs : "none");
		return;
	}
	found(f, HEALTH_BLOCKER, "libraries that the agent needs are missing:%s", missing);
	mend(f, "build the agent static: meson configure BUILD -Dagent_static=true");
}

// DPDK's names of one driver are many: net_virtio_user, net_ixgbe_vf, mlx5_pci.
static bool is_linked(const char *list, const char *pmd)
{
	const char *own = strncmp(pmd, "net_", 4) == 0 ? pmd + 4 : pmd;

	for (size_t len = strlen(own); len > 0; len--)
		if ((own[len] == '\0' || own[len] == '_') && has_word(list, own, len))
			return true;
	return false;
}

void probe_pmd(const struct exam *x, struct finding *f)
{
	const char *pmd = x->profile->pmd;

	if (pmd[0] == '\0') // EAL finds it by the PCI id
		return;
	if (x->agent == NULL || x->agent->pmds[0] == '\0') {
		found(f, HEALTH_UNKNOWN, "whether the agent has %s is not known", pmd);
	} else if (is_linked(x->agent->pmds, pmd)) {
		found(f, HEALTH_OK, "the agent has %s", pmd);
	} else {
		found(f, HEALTH_BLOCKER, "the agent has no %s; it has %s", pmd, x->agent->pmds);
		mend(f, "meson configure BUILD -Dpmds=%s,...  (or none: all)",
		     strncmp(pmd, "net_", 4) == 0 ? pmd + 4 : pmd);
	}
}

struct place { // the directory, or what is there on the way to it
	char kind[64];
	uint64_t uid;
	const char *path;
};

static bool place_of(const struct exam *x, struct place *p)
{
	const char *said = fact(x->facts, "cmd/there"), *uid, *path;
	char number[24];

	uid = said != NULL ? strchr(said, ':') : NULL;
	path = uid != NULL ? strchr(uid + 1, ':') : NULL;
	if (path == NULL)
		return false;
	snprintf(p->kind, sizeof(p->kind), "%.*s", (int)(uid - said), said);
	snprintf(number, sizeof(number), "%.*s", (int)(path - uid - 1), uid + 1);
	p->path = path + 1;
	return parse_u64(number, 0, UINT32_MAX, &p->uid, NULL) == 0;
}

void probe_directory(const struct exam *x, struct finding *f)
{
	struct place p;
	uint64_t uid, files = 0;

	mend(f, "choose another directory: --remote-dir, or remote_dir: in the matrix");
	if (fact(x->facts, "cmd/symlink") != NULL) {
		found(f, HEALTH_BLOCKER, "%s is a symbolic link", x->dir);
		return;
	}
	if (!place_of(x, &p) || !fact_u64(x->facts, &uid, "cmd/uid")) {
		found(f, HEALTH_UNKNOWN, "what stands at %s is not known", x->dir);
		mend(f, "%s", "");
		return;
	}
	bool own = strcmp(p.path, x->dir) == 0;
	fact_u64(x->facts, &files, "cmd/files");
	if (strcmp(p.kind, "directory") != 0) {
		found(f, HEALTH_BLOCKER, "%s is a %s", p.path, p.kind);
	} else if (own && p.uid != uid) {
		found(f, HEALTH_BLOCKER, "%s belongs to user %llu, the log-in is %s", x->dir,
		      (unsigned long long)p.uid, exam_user(x));
		mend(f, "pmx clean as the user who made it, or choose another --remote-dir");
	} else if (own && files > 0 && fact(x->facts, "cmd/mark") == NULL) {
		found(f, HEALTH_BLOCKER, "%s holds %llu files, and pmx did not make it", x->dir,
		      (unsigned long long)files);
	} else if (fact(x->facts, "cmd/writable") == NULL) {
		found(f, HEALTH_BLOCKER, "%s cannot write to %s", exam_user(x), p.path);
	} else {
		found(f, HEALTH_OK, own ? "%s is pmx's" : "%s can be made", x->dir);
		mend(f, "%s", "");
	}
}

// The mount that a path is on: the last of the longest mount points.
static bool mount_of(const char *mounts, const char *dir, char *point, size_t size, char *options,
		     size_t options_size)
{
	size_t best = 0;

	for (const char *p = mounts; p != NULL && *p != '\0'; p = strchr(p, '\n')) {
		char at[256], words[256];

		p += *p == '\n';
		if (sscanf(p, "%*s %255s %*s %255s", at, words) != 2)
			continue;
		size_t n = strcmp(at, "/") == 0 ? 0 : strlen(at);
		if (strncmp(dir, at, n) != 0 || (dir[n] != '/' && dir[n] != '\0') || n + 1 < best)
			continue;
		best = n + 1;
		snprintf(point, size, "%s", at);
		snprintf(options, options_size, ",%s,", words);
	}
	return best > 0;
}

void probe_mount(const struct exam *x, struct finding *f)
{
	char point[256], options[280];
	const char *mounts = fact(x->facts, "proc/self/mounts");

	if (mounts == NULL ||
	    !mount_of(mounts, x->dir, point, sizeof(point), options, sizeof(options))) {
		found(f, HEALTH_UNKNOWN, "what %s is mounted on is not known", x->dir);
	} else if (strstr(options, ",ro,") != NULL) {
		found(f, HEALTH_BLOCKER, "%s is mounted read-only", point);
		mend(f, "mount -o remount,rw %s, or choose another --remote-dir", point);
	} else if (!exam_local(x) && strstr(options, ",noexec,") != NULL) {
		found(f, HEALTH_BLOCKER, "%s is mounted noexec: the agent could not run in %s",
		      point, x->dir);
		mend(f, "mount -o remount,exec %s, or choose another --remote-dir", point);
	} else {
		found(f, HEALTH_OK, "%s is on %s: programs can run there", x->dir, point);
	}
}

void probe_space(const struct exam *x, struct finding *f)
{
	uint64_t need = SPARE_BYTES + (exam_local(x) ? 0 : x->agent_bytes);
	const char *df = fact(x->facts, "cmd/df");
	unsigned long long kib;

	df = df != NULL ? strrchr(df, '\n') : NULL;
	if (df == NULL || sscanf(df, " %*s %*u %*u %llu", &kib) != 1) {
		found(f, HEALTH_UNKNOWN, "the free space is not known");
		return;
	}
	enum health h = kib * 1024 < need	? HEALTH_BLOCKER
			: kib * 1024 < 2 * need ? HEALTH_WARNING
						: HEALTH_OK;
	found(f, h, "%llu MB free for %s, %llu MB needed", kib / 1024, x->dir,
	      (unsigned long long)(need >> 20) + 1);
	if (h != HEALTH_OK)
		mend(f, "free some, or choose another --remote-dir");
}

void probe_running(const struct exam *x, struct finding *f)
{
	const char *pids = fact(x->facts, "cmd/agents");

	if (pids == NULL) {
		found(f, HEALTH_UNKNOWN, "whether an agent runs is not known");
	} else if (pids[0] == '\0') {
		found(f, HEALTH_OK, "no agent runs in %s", x->dir);
	} else {
		found(f, HEALTH_BLOCKER, "an agent runs in %s already (process %s)", x->dir, pids);
		mend(f, "pmx stop %s", x->matrix->file);
	}
}
