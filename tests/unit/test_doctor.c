// The script on a tree of files, and what is said of hosts.
#include "doctor.h"

#include "healthy.h"

#include "planlib.h"

#include <ftw.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

// --- a host as a tree

static void make_parents(const char *path)
{
	char part[512];

	for (const char *p = strchr(path + 1, '/'); p != NULL; p = strchr(p + 1, '/')) {
		snprintf(part, sizeof(part), "%.*s", (int)(p - path), path);
		mkdir(part, 0755);
	}
}

static bool is_link(const char *path)
{
	static const char *const end[] = { "/driver", "/iommu_group", "/master", "/device" };

	for (size_t i = 0; i < COUNT_OF(end); i++)
		if (strlen(path) > strlen(end[i]) &&
		    strcmp(path + strlen(path) - strlen(end[i]), end[i]) == 0)
			return i < 3 || strncmp(path, "sys/class/net/", 14) == 0;
	return false;
}

static void plant(const char *root, const char *path, const char *text)
{
	char full[512];

	snprintf(full, sizeof(full), "%s/%s", root, path);
	make_parents(full);
	if (is_link(path)) {
		assert_int_equal(symlink(text, full), 0);
		return;
	}
	FILE *f = fopen(full, "w");
	assert_non_null(f);
	fprintf(f, "%s\n", text);
	fclose(f);
}

static int fell(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st;
	(void)type;
	(void)ftw;
	return remove(path);
}

static void tree_make(char root[64])
{
	snprintf(root, 64, "/tmp/pmx-test-XXXXXX");
	assert_non_null(mkdtemp(root));
	for (unsigned i = 0; i < healthy_count; i++)
		plant(root, healthy[i].path, healthy[i].text);
	plant(root, "sys/class/net/eth1/device", "../../../0000:3b:00.1");
	plant(root, "dev/hugepages/other", "");
	plant(root, "sys/bus/pci/devices/0000:5e:00.0/net/eth2/flags", "0x1003");
}

static void tree_remove(const char *root)
{
	assert_int_equal(nftw(root, fell, 16, FTW_DEPTH | FTW_PHYS), 0);
}

// --- asking it

struct visit {
	struct planned p;
	struct matrix local;
	struct doctor d;
	size_t file_len;
};

static void visit_begin(struct visit *v, const char *matrix, const char *root)
{
	char text[1024];
	struct err e = { 0 };

	snprintf(text, sizeof(text), "%s", matrix);
	char *at = strstr(text, "%s");
	memmove(at, at + 2, strlen(at + 2) + 1);
	planned_good(&v->p, text);
	v->local = v->p.matrix;
	v->local.transport = TRANSPORT_LOCAL;
	assert_int_equal(doctor_begin(&v->d, &v->p.matrix, v->p.profile, &v->p.plan, root, &e), 0);
	v->d.elf = (struct agent_elf){ .machine = "x86_64",
				       .libs = "libm.so.6 libc.so.6",
				       .glibc = { 2, 34 },
				       .pmds = "af_packet af_xdp memif ice mlx5" };
	v->d.elf_known = true;
	v->file_len = v->d.file.len;
	v->d.file.len = 14u << 20;
}

static int visit_ask(struct visit *v, struct err *e)
{
	struct remote *r;

	assert_int_equal(remote_open(&v->local, 0, REMOTE_LIVE, NULL, &r, e), 0);
	int rc = doctor_ask(&v->d, 0, r, "/var/tmp/pmx", "/var/tmp/pmx/pmx-agent", e);
	remote_close(r);
	return rc;
}

static void visit_end(struct visit *v)
{
	v->d.file.len = v->file_len;
	doctor_end(&v->d);
	planned_free(&v->p);
}

static const struct diagnosis *said(const struct doctor_host *h, const char *probe)
{
	for (size_t i = 0; i < h->count; i++)
		if (strcmp(h->list[i].probe, probe) == 0)
			return &h->list[i];
	return NULL;
}

// What the probes ask for, the script brings: of a host that is well nothing stays unknown.
static void script_brings_all(void **state)
{
	static const struct {
		const char *matrix;
		size_t unknown; // a device on vfio-pci hides its link and its speed
	} visit_table[] = {
		{ healthy_packet, 0 }, { healthy_xdp, 0 },   { healthy_pci, 2 },
		{ healthy_mlx, 0 },    { healthy_local, 0 },
	};
	char root[64];

	(void)state;
	tree_make(root);
	for (size_t i = 0; i < COUNT_OF(visit_table); i++) {
		struct visit v;
		struct err e = { 0 };
		size_t unknown = 0;

		visit_begin(&v, visit_table[i].matrix, root);
		if (visit_ask(&v, &e) < 0)
			fail_msg("%s", e.msg);
		assert_true(v.d.host[0].asked);
		assert_true(v.d.host[0].count > 20);
		for (size_t j = 0; j < v.d.host[0].count; j++) {
			const struct diagnosis *g = &v.d.host[0].list[j];

			unknown += g->finding.health == HEALTH_UNKNOWN;
			if (g->finding.health > HEALTH_UNKNOWN)
				fail_msg("matrix %zu: %s: %s", i, g->probe, g->finding.text);
		}
		if (unknown != visit_table[i].unknown)
			fail_msg("matrix %zu: %zu unknown, the first is %s: %s", i, unknown,
				 v.d.host[0].list[0].probe, v.d.host[0].list[0].finding.text);
		visit_end(&v);
	}
	tree_remove(root);
}

// Faults that only a tree can have: groups, maps, processes, names with blanks.
static void script_finds(void **state)
{
	static const struct {
		const char *path, *text, *matrix, *probe, *says;
	} fault[] = {
		{ "proc/77/comm", "irqbalance", healthy_packet, "irqbalance", "irqbalance runs" },
		{ "sys/fs/cgroup/user.slice/memory.max", "1048576", healthy_packet, "cgroup",
		  "1 MB of memory" },
		{ "sys/fs/cgroup/user.slice/session-1.scope/hugetlb.2MB.max", "0", healthy_packet,
		  "cgroup", "0 MB in hugepages" },
		{ "dev/hugepages/rtemap_3", "x", healthy_packet, "stale",
		  "dev/hugepages/rtemap_3" },
		{ "run/dpdk/rte/config", "x", healthy_packet, "stale", "run/dpdk/rte" },
		{ "sys/class/net/eth1/upper_eth0", "x", healthy_packet, "management", "eth0" },
		{ "sys/class/net/eth1/master", "../../virtual/net/eth0", healthy_packet,
		  "management", "eth0" },
		{ "sys/class/net/eth1/queues/rx-2", "x", healthy_xdp, "queues", "3 receive" },
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(fault); i++) {
		char root[64];
		struct visit v;
		struct err e = { 0 };

		tree_make(root);
		plant(root, fault[i].path, fault[i].text);
		visit_begin(&v, fault[i].matrix, root);
		assert_int_equal(visit_ask(&v, &e), 0);
		const struct diagnosis *g = said(&v.d.host[0], fault[i].probe);
		if (g == NULL || g->finding.health < HEALTH_NOTE ||
		    strstr(g->finding.text, fault[i].says) == NULL)
			fail_msg("%s: %s", fault[i].path, g != NULL ? g->finding.text : "nothing");
		assert_ptr_equal(g, &v.d.host[0].list[0]); // the worst stands first
		visit_end(&v);
		tree_remove(root);
	}
}

static void no_such_root(void **state)
{
	struct visit v;
	struct err e = { 0 };

	(void)state;
	visit_begin(&v, healthy_packet, "/nonexistent/root");
	assert_true(visit_ask(&v, &e) < 0);
	assert_non_null(strstr(e.msg, "/nonexistent/root"));
	assert_false(v.d.host[0].asked);
	visit_end(&v);
}

// --- saying it

static void add(struct doctor_host *h, const char *probe, enum health health, const char *text,
		const char *mends)
{
	struct finding f = { 0 };

	found(&f, health, "%s", text);
	mend(&f, "%s", mends);
	assert_int_equal(doctor_add(h, probe, &f), 0);
}

static const char shown[] =
	"(here): WARNING room: 3 MB\n"
	"(here):         fix: free some [doctor-room]\n"
	"a: BLOCKER mtu: too small\n"
	"a:         fix: ip link [doctor-mtu]\n"
	"a: note    turbo: on\n"
	"a:         fix: echo [doctor-turbo]\n"
	"b: UNREACHABLE: no route\n"
	"NOT READY: 2 hosts, 1 of them not asked; 1 blocker, 1 warning, 1 note, 1 unknown, 2 ok "
	"(--all shows them)\n";

static void told(void **state)
{
	const bool both[] = { true, true }, one[] = { true, false }, other[] = { false, true };
	struct visit v;
	struct doctor_counts c;
	char *text = NULL;
	size_t len = 0;

	(void)state;
	visit_begin(&v, healthy_packet, NULL);
	add(&v.d.here, "room", HEALTH_WARNING, "3 MB", "free some");
	v.d.host[0].asked = true;
	add(&v.d.host[0], "turbo", HEALTH_NOTE, "on", "echo");
	add(&v.d.host[0], "sudo", HEALTH_NONE, "", "");
	add(&v.d.host[0], "login", HEALTH_OK, "silent", "");
	add(&v.d.host[0], "steal", HEALTH_UNKNOWN, "not known", "");
	add(&v.d.host[0], "mtu", HEALTH_BLOCKER, "too small", "ip link");
	add(&v.d.host[0], "tsc", HEALTH_OK, "well", "");
	doctor_sort(&v.d.host[0]);
	snprintf(v.d.host[1].why, sizeof(v.d.host[1].why), "no route");

	FILE *f = open_memstream(&text, &len);
	doctor_text(f, &v.d, both, false, false);
	fclose(f);
	assert_string_equal(text, shown);
	free(text);

	doctor_count(&v.d, both, &c);
	assert_int_equal(doctor_exit(&c), 3);
	doctor_count(&v.d, one, &c);
	assert_int_equal(doctor_exit(&c), 1);
	v.d.host[1].asked = true;
	doctor_count(&v.d, other, &c);
	assert_int_equal(doctor_exit(&c), 0); // a warning, here

	text = doctor_json(&v.d, both);
	json_t *root = json_loads(text, 0, NULL), *first;
	assert_non_null(root);
	assert_int_equal(json_integer_value(json_object_get(root, "exit")), 1);
	assert_true(json_is_false(json_object_get(root, "ready")));
	first = json_array_get(json_object_get(root, "hosts"), 0);
	assert_string_equal(json_string_value(json_object_get(first, "host")), "a");
	assert_true(json_is_null(json_object_get(first, "why")));
	assert_int_equal(json_array_size(json_object_get(first, "findings")), 5);
	first = json_array_get(json_object_get(first, "findings"), 0);
	assert_string_equal(json_string_value(json_object_get(first, "probe")), "mtu");
	assert_string_equal(json_string_value(json_object_get(first, "doc")), "doctor-mtu");
	assert_string_equal(json_string_value(json_object_get(first, "fix")), "ip link");
	json_decref(root);
	free(text);
	visit_end(&v);
}

static enum health firmware_after(const struct doctor_host *h)
{
	return said(h, "firmware")->finding.health;
}

// Cards of one driver are compared, and only where they tell.
static void compared(void **state)
{
	static const char text[] = "pmx: 1\nhosts:\n"
				   "  a: {addr: 198.18.0.1/24, driver: af_packet, device: eth1}\n"
				   "  b: {addr: 198.18.0.2/24, driver: af_packet, device: eth1}\n"
				   "  c: {addr: 198.18.0.3/24, driver: af_packet, device: eth1}\n"
				   "  d: {addr: 198.18.0.4/24, driver: af_packet, device: eth1}\n"
				   "  e: {addr: 198.18.0.5/24, driver: af_packet, device: eth1%s}\n"
				   "traffic: {rate: 1k}\n";
	struct visit v;

	(void)state;
	visit_begin(&v, text, NULL);
	add(&v.d.host[0], "firmware", HEALTH_OK, "mlx5_core, firmware 2", "");
	add(&v.d.host[1], "firmware", HEALTH_OK, "mlx5_core, firmware 1", "");
	add(&v.d.host[2], "firmware", HEALTH_OK, "mlx5_core, firmware 1", "");
	add(&v.d.host[3], "firmware", HEALTH_OK, "ice, firmware 2", "");
	add(&v.d.host[4], "firmware", HEALTH_UNKNOWN, "the firmware's version is not known", "");
	doctor_compare(&v.d);
	assert_int_equal(firmware_after(&v.d.host[0]), HEALTH_NOTE);
	assert_non_null(
		strstr(v.d.host[0].list[0].finding.fix, "most (2) have mlx5_core, firmware 1"));
	for (size_t i = 1; i < 4; i++)
		assert_int_equal(firmware_after(&v.d.host[i]), HEALTH_OK);
	assert_int_equal(firmware_after(&v.d.host[4]), HEALTH_UNKNOWN);
	visit_end(&v);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(script_brings_all), cmocka_unit_test(script_finds),
		cmocka_unit_test(no_such_root),	     cmocka_unit_test(told),
		cmocka_unit_test(compared),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
