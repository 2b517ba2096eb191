// Every verdict of every probe, on facts made for it.
#include "probes.h"

#include "footprint.h"
#include "healthy.h"

#include "planlib.h"

#include <stdio.h>

#define EDITS_MAX 5
#define CPU "sys/devices/system/cpu/"
#define NODE "sys/devices/system/node/"
#define CLOCK "sys/devices/system/clocksource/clocksource0/"
#define E810 "sys/bus/pci/devices/0000:3b:00.0/"
#define CX5 "sys/bus/pci/devices/0000:5e:00.0/"
#define ETH1 "sys/class/net/eth1/"
#define PMDS "agent/pmds" // no fact: of the agent
#define HUGE "sys/kernel/mm/hugepages/hugepages-2048kB/free_hugepages"

enum variant { PACKET, XDP, DEV_PCI, MLX, LOCAL, VARIANTS };
static const struct {
	const char *matrix, *iface, *pci;
} variant_table[VARIANTS] = {
	[PACKET] = { healthy_packet, "eth1", "0000:3b:00.1" },
	[XDP] = { healthy_xdp, "eth1", "0000:3b:00.1" },
	[DEV_PCI] = { healthy_pci, "", "0000:3b:00.0" },
	[MLX] = { healthy_mlx, "eth2", "0000:5e:00.0" },
	[LOCAL] = { healthy_local, "", "" },
};

struct a_case {
	const char *probe;
	enum variant variant;
	const char *keys;	      // more of the host, as ", queues: 3"; NULL = none
	struct known edit[EDITS_MAX]; // text NULL: the fact is not there
	enum health health;
	const char *says;  // part of the text
	const char *mends; // part of the fix; NULL = there is none
};

static const struct agent_elf agent = {
	.machine = "x86_64",
	.libs = "libm.so.6 libc.so.6",
	.glibc = { 2, 34 },
	.pmds = "af_packet af_xdp memif ice mlx5",
};

static const struct a_case case_table[] = {
#include "probe_cases.inc"
};

static void put_lines(FILE *out, const char *path, const char *text)
{
	for (size_t n; n = strcspn(text, "\n"), true; text += n + 1) {
		fprintf(out, "%s%c", path, '\0');
		fwrite(text, 1, n, out);
		fputc('\n', out);
		if (text[n] == '\0')
			return;
	}
}

// The facts of the healthy host with the edits, as a host would answer.
static void facts_make(enum variant v, const struct known *edit, bool none, struct facts *f)
{
	const struct known device[] = { { "dev/iface", variant_table[v].iface },
					{ "dev/pci", variant_table[v].pci } };
	struct err e = { 0 };
	char *text = NULL;
	size_t len = 0;
	FILE *out = open_memstream(&text, &len);

	for (unsigned i = 0; i < EDITS_MAX && edit[i].path != NULL; i++)
		if (edit[i].text != NULL)
			put_lines(out, edit[i].path, edit[i].text);
	for (unsigned i = 0; i < healthy_count + COUNT_OF(device) && !none; i++) {
		const struct known *k =
			i < healthy_count ? &healthy[i] : &device[i - healthy_count];
		bool edited = false;

		for (unsigned j = 0; j < EDITS_MAX && edit[j].path != NULL; j++)
			edited |= strcmp(edit[j].path, k->path) == 0;
		if (!edited)
			put_lines(out, k->path, k->text);
	}
	fprintf(out, "%s%cok\n", FACT_END, '\0');
	fclose(out);
	if (facts_read(text, len, f, &e) < 0)
		fail_msg("%s", e.msg);
	free(text);
}

static void examine(const char *probe, enum variant v, const char *keys, const struct known *edit,
		    bool none, struct finding *f)
{
	struct planned p;
	struct facts facts;
	char matrix[1024];

	snprintf(matrix, sizeof(matrix), "%s", variant_table[v].matrix);
	char *at = strstr(matrix, "%s");
	const char *more = keys != NULL ? keys : "";
	// a key that the host has already goes before it
	char *old = strncmp(more, ", lcores", 8) == 0 || more[0] == '-'
			    ? strstr(matrix, ", lcores: '2-3'")
			    : NULL;
	if (old != NULL)
		memset(old, ' ', strlen(", lcores: '2-3'"));
	more += more[0] == '-' ? strlen("-lcores") : 0;
	old = strstr(more, "queues:") != NULL ? strstr(matrix, ", queues: 2") : NULL;
	if (old != NULL)
		memset(old, ' ', strlen(", queues: 2"));
	memmove(at + strlen(more), at + 2, strlen(at + 2) + 1);
	memcpy(at, more, strlen(more));
	planned_good(&p, matrix);
	facts_make(v, edit, none, &facts);

	struct agent_elf its = agent;
	if (edit[0].path != NULL && strcmp(edit[0].path, PMDS) == 0)
		snprintf(its.pmds, sizeof(its.pmds), "%s", edit[0].text);

	struct exam x = {
		.facts = &facts,
		.matrix = &p.matrix,
		.profile = &p.profile[0],
		.cfg = &p.plan.host[0],
		.agent = none ? NULL : &its,
		.agent_bytes = 14u << 20,
		.dir = "/var/tmp/pmx",
		.need_bytes = footprint_bytes(&p.plan.host[0]),
		.need_all_bytes = footprint_bytes(&p.plan.host[0]),
	};
	*f = (struct finding){ 0 };
	for (size_t i = 0; i < probe_count; i++)
		if (strcmp(probe_table[i].name, probe) == 0) {
			probe_table[i].run(&x, f);
			probe = NULL;
			break;
		}
	if (probe != NULL)
		fail_msg("no probe '%s'", probe);
	facts_free(&facts);
	planned_free(&p);
}

static void cases(void **state)
{
	unsigned wrong = 0;

	(void)state;
	for (size_t i = 0; i < COUNT_OF(case_table); i++) {
		const struct a_case *c = &case_table[i];
		struct finding f;

		examine(c->probe, c->variant, c->keys, c->edit, false, &f);
		if (f.health != c->health || strstr(f.text, c->says) == NULL ||
		    (c->mends != NULL ? strstr(f.fix, c->mends) == NULL : f.fix[0] != '\0'))
			print_error("%s, case %zu (%s), %u: %s: %s; fix: %s\n", c->probe, i,
				    c->says, ++wrong, health_name[f.health], f.text, f.fix);
	}
	assert_int_equal(wrong, 0);
}

static void healthy_is_well(void **state)
{
	const struct known nothing[EDITS_MAX] = { { 0 } };

	(void)state;
	for (enum variant v = 0; v < VARIANTS; v++)
		for (size_t i = 0; i < probe_count; i++) {
			struct finding f;

			examine(probe_table[i].name, v, NULL, nothing, false, &f);
			bool blind = v == DEV_PCI && (strcmp(probe_table[i].name, "link") == 0 ||
						      strcmp(probe_table[i].name, "speed") == 0);
			if (f.health > HEALTH_OK && !(blind && f.health == HEALTH_UNKNOWN))
				fail_msg("variant %d: %s: %s: %s", v, probe_table[i].name,
					 health_name[f.health], f.text);
			if (f.health == HEALTH_OK && (f.text[0] == '\0' || f.fix[0] != '\0'))
				fail_msg("%s: '%s', fix '%s'", probe_table[i].name, f.text, f.fix);
		}
}

// A host that tells nothing: never well, and never to blame.
static void nothing_is_unknown(void **state)
{
	const struct known nothing[EDITS_MAX] = { { 0 } };

	(void)state;
	for (enum variant v = 0; v < VARIANTS; v++)
		for (size_t i = 0; i < probe_count; i++) {
			struct finding f, well;

			examine(probe_table[i].name, v, NULL, nothing, true, &f);
			examine(probe_table[i].name, v, NULL, nothing, false, &well);
			if (f.health != HEALTH_NONE && f.health != HEALTH_UNKNOWN)
				fail_msg("variant %d: %s: %s: %s", v, probe_table[i].name,
					 health_name[f.health], f.text);
			if (f.health == HEALTH_UNKNOWN && f.fix[0] != '\0')
				fail_msg("%s: fix '%s'", probe_table[i].name, f.fix);
		}
}

// Every probe was seen to find something, with a fix, and to find nothing.
static void both_sides(void **state)
{
	(void)state;
	for (size_t i = 0; i < probe_count; i++) {
		bool bad = false;

		for (size_t j = 0; j < COUNT_OF(case_table); j++)
			bad |= strcmp(case_table[j].probe, probe_table[i].name) == 0 &&
			       case_table[j].health >= HEALTH_NOTE && case_table[j].mends != NULL;
		if (!bad && strcmp(probe_table[i].name, "firmware") != 0)
			fail_msg("no case in which '%s' finds something", probe_table[i].name);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(cases),
		cmocka_unit_test(healthy_is_well),
		cmocka_unit_test(nothing_is_unknown),
		cmocka_unit_test(both_sides),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
