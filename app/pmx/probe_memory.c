#include "probes.h"

#include "capability.h"
#include "parse.h"

#include <linux/capability.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MB(bytes) ((unsigned long long)(((bytes) + (1u << 20) - 1) >> 20))
#define BASE_BYTES (64u << 20) // of an agent that has its mbufs in hugepages
#define PAGE_BYTES (2u << 20)
#define NODES "/sys/devices/system/node/node%u/hugepages/hugepages-2048kB/nr_hugepages"
#define ANY_NODE "/sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages"

void probe_memory(const struct exam *x, struct finding *f)
{
	const char *text = fact(x->facts, "proc/meminfo");
	unsigned long long kib;
	char word[64];
	bool known, huge = exam_uses_huge(x, &known);
	uint64_t need = huge ? BASE_BYTES : x->need_all_bytes + BASE_BYTES;

	if (text == NULL || fact_line(text, "MemAvailable", word, sizeof(word)) == NULL ||
	    sscanf(word, "%llu kB", &kib) != 1 || !known) {
		found(f, HEALTH_UNKNOWN, "the free memory is not known");
		return;
	}
	enum health h = kib * 1024 < need	    ? HEALTH_BLOCKER
			: kib * 1024 < need / 4 * 5 ? HEALTH_WARNING
						    : HEALTH_OK;
	found(f, h, "%llu MB of memory available, %llu MB needed%s", kib >> 10, MB(need),
	      huge ? " besides hugepages" : "");
	if (h != HEALTH_OK)
		mend(f, "end what takes it; or fewer queues:, a smaller mtu: in the matrix");
}

// The command that reserves what is missing. pmx prepare does it where the agent insists on pages.
static void fix_pages(const struct exam *x, struct finding *f, int node, uint64_t have)
{
	uint64_t now = 0, more = (x->need_all_bytes - have + PAGE_BYTES - 1) / PAGE_BYTES;
	char path[128], prepare[160] = "";

	if (node < 0)
		snprintf(path, sizeof(path), ANY_NODE);
	else
		snprintf(path, sizeof(path), NODES, (unsigned)node);
	fact_u64(x->facts, &now, "%s", path + 1);
	if (x->cfg->hugepages == HUGE_YES || exam_is_pci(x))
		snprintf(prepare, sizeof(prepare), "pmx prepare %.120s; or ", x->matrix->file);
	mend(f, "%secho %llu > %s", prepare, (unsigned long long)(now + more), path);
}

static void few_pages(const struct exam *x, struct finding *f, uint64_t have, int node)
{
	unsigned long long need = MB(x->need_all_bytes), free_mb = have >> 20;

	if (x->cfg->hugepages == HUGE_YES)
		found(f, HEALTH_BLOCKER,
		      "hugepages: yes needs %llu MB in hugepages, %llu MB are free", need, free_mb);
	else if (exam_is_pci(x))
		found(f, HEALTH_WARNING,
		      "%llu MB needed, %llu MB free in hugepages: ordinary memory is taken, which "
		      "a device on PCI takes by an IOMMU only, and slowly",
		      need, free_mb);
	else
		found(f, HEALTH_NOTE,
		      "%llu MB needed, %llu MB free in hugepages: ordinary memory is taken", need,
		      free_mb);
	fix_pages(x, f, node, have);
}

void probe_hugepages(const struct exam *x, struct finding *f)
{
	uint64_t have, near;
	unsigned node;

	if (x->cfg->hugepages == HUGE_NO)
		return;
	if (!exam_free_huge(x, -1, &have)) {
		found(f, HEALTH_UNKNOWN, "the free hugepages are not known");
		return;
	}
	bool placed = exam_node(x, &node) && exam_free_huge(x, (int)node, &near);
	if (have < x->need_all_bytes) {
		few_pages(x, f, have, placed ? (int)node : -1);
	} else if (placed && near < x->need_all_bytes) {
		found(f, HEALTH_WARNING,
		      "%llu MB needed on the device's NUMA node %u, %llu MB free there: memory of "
		      "another node is taken",
		      MB(x->need_all_bytes), node, (unsigned long long)(near >> 20));
		fix_pages(x, f, (int)node, near);
	} else {
		found(f, HEALTH_OK, "%llu MB needed, %llu MB free in hugepages",
		      MB(x->need_all_bytes), (unsigned long long)(have >> 20));
	}
}

// The agent takes its pages by memfd and mmap (--in-memory): no mount is needed, only the kernel's
// support.
void probe_hugetlbfs(const struct exam *x, struct finding *f)
{
	const char *types = fact(x->facts, "proc/filesystems");
	const char *mounts = fact(x->facts, "proc/self/mounts");

	if (x->cfg->hugepages == HUGE_NO)
		return;
	if (types == NULL || mounts == NULL) {
		found(f, HEALTH_UNKNOWN, "whether the kernel has hugetlbfs is not known");
	} else if (strstr(types, "\thugetlbfs") == NULL) {
		found(f, x->cfg->hugepages == HUGE_YES ? HEALTH_BLOCKER : HEALTH_NOTE,
		      "the kernel has no hugepages (CONFIG_HUGETLBFS)");
		mend(f, "hugepages: no in the matrix, or another kernel");
	} else {
		found(f, HEALTH_OK, "hugetlbfs is %s, and pmx needs no mount",
		      strstr(mounts, " hugetlbfs ") != NULL ? "mounted" : "not mounted");
	}
}

static bool is_in(const char *list, const char *path)
{
	size_t n = strlen(path);

	for (const char *p = list; p != NULL && *p != '\0'; p = strchr(p, '\n')) {
		p += *p == '\n';
		if (strncmp(p, path, n) == 0 && (p[n] == '\n' || p[n] == '\0'))
			return true;
	}
	return false;
}

// Files of a list that nobody has open.
static size_t unused(const char *files, const char *used, char *first, size_t size)
{
	char path[FACT_PATH_MAX];
	size_t n = 0;

	for (const char *p = files; p != NULL && *p != '\0'; p = strchr(p, '\n')) {
		p += *p == '\n';
		snprintf(path, sizeof(path), "%.*s", (int)strcspn(p, "\n"), p);
		if (is_in(used, path))
			continue;
		if (n++ == 0)
			snprintf(first, size, "%s", path);
	}
	return n;
}

void probe_stale(const struct exam *x, struct finding *f)
{
	const char *maps = fact(x->facts, "dpdk/map"), *configs = fact(x->facts, "dpdk/config");
	const char *used = fact(x->facts, "dpdk/used");
	char map[FACT_PATH_MAX] = "", config[FACT_PATH_MAX] = "";
	bool known, root = exam_root(x, &known), few;
	uint64_t have = 0;

	if (fact(x->facts, "proc/self/mounts") == NULL ||
	    ((maps != NULL || configs != NULL) && !root) || fact(x->facts, "dpdk/unread") != NULL) {
		found(f, HEALTH_UNKNOWN,
		      "whether dead DPDK programs left maps or locks is not known (needs root)");
		return;
	}
	size_t stale = unused(maps, used, map, sizeof(map));
	size_t locks = unused(configs, used, config, sizeof(config));
	if (stale == 0 && locks == 0) {
		found(f, HEALTH_OK, "no DPDK program that is dead left maps or locks");
		return;
	}
	few = x->cfg->hugepages != HUGE_NO && exam_free_huge(x, -1, &have) &&
	      have < x->need_all_bytes;
	if (stale > 0) {
		found(f, few ? HEALTH_WARNING : HEALTH_NOTE,
		      "%zu hugepage maps of DPDK programs that are dead, as /%.200s: they hold "
		      "pages",
		      stale, map);
		mend(f, "rm /%.*smap_*", (int)(strstr(map, "map_") - map), map);
		return;
	}
	*strrchr(config, '/') = '\0';
	found(f, HEALTH_NOTE,
	      "%zu runtime directories of DPDK programs that are dead, as /%.200s: pmx has its own",
	      locks, config);
	mend(f, "rm -r /%.300s", config);
}

// A limit of a control group: false when there is none.
static bool limit_of(const struct fact *item, uint64_t *bytes)
{
	// "max", and 9223372036854771712 of version 1, are none
	return parse_u64(item->text, 0, UINT64_MAX, bytes, NULL) == 0 && *bytes < INT64_MAX / 2;
}

struct limits {
	uint64_t memory, huge; // bytes; UINT64_MAX = none
	char memory_path[FACT_PATH_MAX], huge_path[FACT_PATH_MAX];
	double cpus; // 0 = none
	char cpus_path[FACT_PATH_MAX];
};

static void take_limit(const struct fact *item, uint64_t *least, char path[FACT_PATH_MAX])
{
	uint64_t bytes;

	if (!limit_of(item, &bytes) || bytes >= *least)
		return;
	*least = bytes;
	snprintf(path, FACT_PATH_MAX, "%s", item->path);
}

static void read_limits(const struct exam *x, struct limits *l)
{
	*l = (struct limits){ .memory = UINT64_MAX, .huge = UINT64_MAX };
	for (size_t i = 0; i < x->facts->count; i++) {
		const struct fact *item = &x->facts->item[i];
		const char *name = strrchr(item->path, '/');
		double quota, period;

		if (strncmp(item->path, "sys/fs/cgroup/", 14) != 0)
			continue;
		if (strncmp(name, "/hugetlb.2MB.", 13) == 0)
			take_limit(item, &l->huge, l->huge_path);
		else if (strncmp(name, "/memory.", 8) == 0)
			take_limit(item, &l->memory, l->memory_path);
		else if (strcmp(name, "/cpu.max") == 0 &&
			 sscanf(item->text, "%lf %lf", &quota, &period) == 2 && period > 0 &&
			 (l->cpus == 0 || quota / period < l->cpus)) {
			l->cpus = quota / period;
			snprintf(l->cpus_path, sizeof(l->cpus_path), "%s", item->path);
		}
	}
}

void probe_cgroup(const struct exam *x, struct finding *f)
{
	bool known, huge = exam_uses_huge(x, &known);
	uint64_t plain = huge ? BASE_BYTES : x->need_all_bytes + BASE_BYTES;
	struct limits l;

	if (fact(x->facts, "proc/self/cgroup") == NULL || !known) {
		found(f, HEALTH_UNKNOWN, "the limits of the control group are not known");
		return;
	}
	read_limits(x, &l);
	if (huge && l.huge < x->need_all_bytes) {
		found(f, HEALTH_BLOCKER,
		      "the control group allows %llu MB in hugepages of 2 MB, %llu MB needed",
		      (unsigned long long)(l.huge >> 20), MB(x->need_all_bytes));
		mend(f, "raise /%s", l.huge_path);
	} else if (l.memory < plain) {
		found(f, HEALTH_BLOCKER,
		      "the control group allows %llu MB of memory, %llu MB needed",
		      (unsigned long long)(l.memory >> 20), MB(plain));
		mend(f, "raise /%s", l.memory_path);
	} else if (l.cpus > 0 && l.cpus < x->cfg->port.queues) {
		found(f, HEALTH_WARNING,
		      "the control group allows the time of %.2g CPUs to %u lcores: they will be "
		      "stopped again and again",
		      l.cpus, x->cfg->port.queues);
		mend(f, "echo max > /%s", l.cpus_path);
	} else {
		found(f, HEALTH_OK, "no control group stands in the way");
	}
}

static bool kernel_before(const struct exam *x, unsigned major, unsigned minor)
{
	const char *text = fact(x->facts, "cmd/kernel");
	unsigned a, b;

	return text != NULL && sscanf(text, "%u.%u", &a, &b) == 2 &&
	       (a < major || (a == major && b < minor));
}

// VFIO counts what a device may write to; before 5.11 BPF counted an AF_XDP socket's frames.
void probe_memlock(const struct exam *x, struct finding *f)
{
	bool bpf = x->profile->capabilities >> CAP_BPF & 1;
	const char *text = fact(x->facts, "proc/self/limits");
	char word[64];
	uint64_t mask, bytes = UINT64_MAX;

	if (!exam_is_pci(x) && !bpf)
		return;
	if (!exam_capabilities(x, &mask) || text == NULL ||
	    fact_line(text, "Max locked memory", word, sizeof(word)) == NULL) {
		found(f, HEALTH_UNKNOWN, "the limit of locked memory is not known");
		return;
	}
	word[strcspn(word, " ")] = '\0';
	bool limited = parse_u64(word, 0, UINT64_MAX, &bytes, NULL) == 0 && bytes < x->need_bytes &&
		       !(mask >> CAP_IPC_LOCK & 1) && (exam_is_pci(x) || kernel_before(x, 5, 11));
	if (!limited) {
		found(f, HEALTH_OK, "locked memory: %s%s", word,
		      mask >> CAP_IPC_LOCK & 1 ? ", and CAP_IPC_LOCK" : "");
		return;
	}
	found(f, HEALTH_BLOCKER, "%llu KB of memory may be locked, %llu MB needed",
	      (unsigned long long)(bytes >> 10), MB(x->need_bytes));
	mend(f, "echo '%s - memlock unlimited' > /etc/security/limits.d/pmx.conf; log in again",
	     exam_user(x));
}
