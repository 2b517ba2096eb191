// The reader of the matrix and the plan behind it: any bytes are read, or refused by one line that
// points into the file; and what is planned, the agent's own reader takes.
#include "fuzz.h"
#include "plan.h"

#include <stdlib.h>
#include <string.h>

#define HOSTS_PLANNED 16 // flows go with the square

static const char profile_text[] =
	"pmd: net_x\n"
	"virtual: yes\n"
	"peer: x\n"
	"devargs: net_x0,role={role},iface={iface},mtu={mtu},slot={slot},block={block},dir={dir}\n"
	"unlink: '{dir}/x.sock'\n"
	"mtu_max: 65535\n"
	"speed_gbps: 10\n";

static void one_line(const struct err *e, int ret)
{
	fuzz_require(e->code == -ret, "a refusal returns its code");
	fuzz_require(strncmp(e->msg, "input.yaml:", 11) == 0, "a refusal has its place");
	fuzz_require(strchr(e->msg, '\n') == NULL, "a refusal is one line");
}

static void config_holds(const struct hostcfg *c)
{
	struct hostcfg back;
	struct err e = { 0 };
	json_t *json = hostcfg_write(c);

	fuzz_require(json != NULL, "a config can be written");
	fuzz_require(hostcfg_read(json, &back, &e) == 0, e.msg);
	hostcfg_free(&back);
	json_decref(json);
}

static void plan_holds(const struct matrix *m)
{
	static const char *const virtual[] = { "virtual: yes", "virtual: no " };
	struct profile *profile = calloc(m->host_count, sizeof(*profile));
	struct plan_input in = {
		.matrix = m,
		.profile = profile,
		.cookie = 1,
		.run_id = "fuzz",
		.local_cpus = 4,
		.duration_ns = m->timing.duration_ns,
	};
	struct plan p;
	struct err e = { 0 };
	char text[sizeof(profile_text)];

	fuzz_require(profile != NULL, "there is memory");
	for (size_t i = 0; i < m->host_count; i++) {
		bool pci = device_kind(m->host[i].device) == DEVICE_PCI;

		memcpy(text, profile_text, sizeof(text));
		memcpy(strstr(text, virtual[0]), virtual[pci], strlen(virtual[0]));
		fuzz_require(profile_parse("x", "x.yaml", text, strlen(text), &profile[i], &e) == 0,
			     e.msg);
	}
	int ret = plan_build(&in, &p, &e);
	if (ret < 0)
		one_line(&e, ret);
	for (size_t i = 0; ret == 0 && i < p.host_count; i++)
		config_holds(&p.host[i]);
	if (ret == 0)
		plan_free(&p);
	free(profile);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct matrix m;
	struct err e = { 0 };
	int ret = matrix_parse("input.yaml", (const char *)data, size, &m, &e);

	if (ret < 0) {
		one_line(&e, ret);
		return 0;
	}
	fuzz_require(m.host_count >= 2 && m.host_count <= HOSTS_MAX, "hosts are in range");
	if (m.host_count <= HOSTS_PLANNED)
		plan_holds(&m);
	matrix_free(&m);
	return 0;
}
