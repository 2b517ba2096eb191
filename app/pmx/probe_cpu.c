#include "probes.h"

#include <stdio.h>
#include <string.h>

#define CPU "sys/devices/system/cpu/"
#define NODE "sys/devices/system/node/"
#define EAL_LCORES_MAX 128 // RTE_MAX_LCORE of DPDK's packages; the main thread takes one
#define LIST_MAX 1024

static void set_of(const uint16_t *cpu, size_t n, cpu_set_t *set)
{
	CPU_ZERO(set);
	for (size_t i = 0; i < n; i++)
		if (cpu[i] < CPU_SETSIZE)
			CPU_SET(cpu[i], set);
}

static bool allowed_cpus(const struct exam *x, cpu_set_t *set)
{
	const char *text = fact(x->facts, "proc/self/status");
	char list[LIST_MAX];

	return text != NULL && fact_line(text, "Cpus_allowed_list", list, sizeof(list)) != NULL &&
	       exam_cpus(list, set);
}

// Named CPUs that are not in a set, as a list; "" = none.
static char *named_outside(const struct exam *x, const cpu_set_t *set, char *buf, size_t size)
{
	cpu_set_t out;

	CPU_ZERO(&out);
	for (size_t i = 0; i < x->cfg->lcore_count; i++)
		if (x->cfg->lcores[i] < CPU_SETSIZE && !CPU_ISSET(x->cfg->lcores[i], set))
			CPU_SET(x->cfg->lcores[i], &out);
	return exam_cpus_str(&out, buf, size);
}

// Lcores are numbered by pmx (--lcores N@CPU), so DPDK's limit is on their number, not on the
// CPU's.
static size_t beyond(const struct exam *x)
{
	for (size_t i = 0; i < x->cfg->lcore_count; i++)
		if (x->cfg->lcores[i] >= CPU_SETSIZE)
			return x->cfg->lcores[i];
	return 0;
}

// Of all agents on the machine.
static unsigned all_queues(const struct exam *x)
{
	unsigned n = 0;

	for (size_t i = 0; i < x->matrix->host_count; i++)
		if (matrix_same_machine(x->matrix, x->host, i))
			n += x->matrix->host[i].queues;
	return n;
}

void probe_lcores(const struct exam *x, struct finding *f)
{
	unsigned queues = x->cfg->port.queues, all = all_queues(x);
	cpu_set_t online, allowed;
	char list[LIST_MAX], cpus[LIST_MAX];

	if (!exam_cpus(fact(x->facts, CPU "online"), &online) || !allowed_cpus(x, &allowed) ||
	    CPU_COUNT(&allowed) == 0) {
		found(f, HEALTH_UNKNOWN, "the host's CPUs are not known");
		return;
	}
	exam_cpus_str(&allowed, cpus, sizeof(cpus));
	mend(f, "lcores: of %.300s in the matrix", cpus);
	if (beyond(x) > 0) {
		found(f, HEALTH_BLOCKER, "lcores: CPU %zu: only those below %d can be used",
		      beyond(x), CPU_SETSIZE);
	} else if (named_outside(x, &online, list, sizeof(list))[0] != '\0') {
		found(f, HEALTH_BLOCKER, "lcores: CPU %.100s is not there or offline", list);
	} else if (named_outside(x, &allowed, list, sizeof(list))[0] != '\0') {
		found(f, HEALTH_BLOCKER,
		      "lcores: CPU %.100s is not allowed to the log-in (cpuset: %.200s)", list,
		      cpus);
	} else if (queues + 1 > EAL_LCORES_MAX) {
		found(f, HEALTH_BLOCKER, "%u queues: DPDK has at most %d lcores, one of them pmx's",
		      queues, EAL_LCORES_MAX);
		mend(f, "queues: %d in the matrix", EAL_LCORES_MAX - 1);
	} else if (!exam_local(x) && all > (unsigned)CPU_COUNT(&allowed)) {
		found(f, HEALTH_WARNING, "%u queues%s on %d CPUs: lcores take turns", all,
		      all > queues ? " of all ports" : "", CPU_COUNT(&allowed));
		mend(f, "queues: %d in the matrix, or idle: yield", CPU_COUNT(&allowed));
	} else {
		uint16_t cpu[LCORES_MAX];
		cpu_set_t used;

		exam_lcores(x, cpu);
		set_of(cpu, queues, &used);
		found(f, HEALTH_OK, "%u queue%s on CPU%s %.300s", queues, queues > 1 ? "s" : "",
		      queues > 1 ? "s" : "", exam_cpus_str(&used, list, sizeof(list)));
		mend(f, "%s", "");
	}
}

void probe_numa(const struct exam *x, struct finding *f)
{
	uint16_t cpu[LCORES_MAX];
	cpu_set_t near;
	unsigned node;
	char list[LIST_MAX];
	size_t far = 0, nodes = exam_node_count(x);

	if (!exam_is_pci(x) && exam_pci(x)[0] == '\0')
		return;
	if (!exam_node(x, &node)) {
		found(f, HEALTH_UNKNOWN, "the NUMA node of the device is not known%s",
		      nodes > 1 ? " (-1): the firmware did not say" : "");
		return;
	}
	if (!exam_cpus(fact(x->facts, NODE "node%u/cpulist", node), &near) ||
	    !exam_lcores(x, cpu)) {
		found(f, HEALTH_UNKNOWN, "the CPUs of NUMA node %u are not known", node);
		return;
	}
	for (size_t q = 0; q < x->cfg->port.queues; q++)
		far += cpu[q] >= CPU_SETSIZE || !CPU_ISSET(cpu[q], &near);
	exam_cpus_str(&near, list, sizeof(list));
	if (far == 0) {
		found(f, HEALTH_OK, "device and lcores are on NUMA node %u", node);
		return;
	}
	found(f, HEALTH_WARNING, "%zu of %u lcores are not on the device's NUMA node %u", far,
	      x->cfg->port.queues, node);
	mend(f, "lcores: of %.300s in the matrix", list);
}

void probe_siblings(const struct exam *x, struct finding *f)
{
	uint16_t cpu[LCORES_MAX];
	cpu_set_t used, core, idle;
	char list[LIST_MAX];
	size_t known = 0;

	if (!exam_lcores(x, cpu)) {
		found(f, HEALTH_UNKNOWN, "the CPUs of the lcores are not known");
		return;
	}
	set_of(cpu, x->cfg->port.queues, &used);
	CPU_ZERO(&idle);
	for (size_t q = 0; q < x->cfg->port.queues; q++) {
		cpu_set_t both;

		if (!exam_cpus(fact(x->facts, CPU "cpu%u/topology/thread_siblings_list", cpu[q]),
			       &core))
			continue;
		known++;
		CPU_AND(&both, &core, &used);
		if (CPU_COUNT(&both) > 1) {
			found(f, HEALTH_WARNING, "lcores on CPUs %.300s are threads of one core",
			      exam_cpus_str(&both, list, sizeof(list)));
			mend(f, "lcores: one CPU of each core, in the matrix");
			return;
		}
		CPU_OR(&idle, &idle, &core);
	}
	for (int c = 0; c < CPU_SETSIZE; c++)
		if (CPU_ISSET(c, &used))
			CPU_CLR(c, &idle);
	if (known < x->cfg->port.queues) {
		found(f, HEALTH_UNKNOWN, "which CPUs are threads of one core is not known");
	} else if (CPU_COUNT(&idle) > 0 && x->cfg->idle == IDLE_SPIN) {
		exam_cpus_str(&idle, list, sizeof(list));
		found(f, HEALTH_NOTE,
		      "CPUs %.300s share the lcores' cores: what runs there slows "
		      "them",
		      list);
		mend(f, "for c in %.200s: echo 0 > /sys/devices/system/cpu/cpu$c/online", list);
	} else {
		found(f, HEALTH_OK, "no lcore shares its core with another");
	}
}

void probe_isolated(const struct exam *x, struct finding *f)
{
	uint16_t cpu[LCORES_MAX];
	cpu_set_t isolated, used;
	char list[LIST_MAX];
	size_t open = 0;

	if (x->cfg->idle != IDLE_SPIN)
		return; // it gives its CPU away anyhow
	if (!exam_cpus(fact(x->facts, CPU "isolated"), &isolated) || !exam_lcores(x, cpu)) {
		found(f, HEALTH_UNKNOWN, "which CPUs are isolated is not known");
		return;
	}
	for (size_t q = 0; q < x->cfg->port.queues; q++)
		open += cpu[q] >= CPU_SETSIZE || !CPU_ISSET(cpu[q], &isolated);
	if (open == 0) {
		found(f, HEALTH_OK, "the lcores' CPUs are isolated");
		return;
	}
	set_of(cpu, x->cfg->port.queues, &used);
	exam_cpus_str(&used, list, sizeof(list));
	found(f, HEALTH_NOTE,
	      "%zu of %u lcores are on CPUs that the kernel gives to others, too: tails of RTT are "
	      "the scheduler's",
	      open, x->cfg->port.queues);
	mend(f, "on the kernel's command line: isolcpus=%.100s nohz_full=%.100s rcu_nocbs=%.100s",
	     list, list, list);
}

void probe_irqbalance(const struct exam *x, struct finding *f)
{
	size_t at = 0, n = 0, all = 0;
	const struct fact *item;

	while ((item = fact_next(x->facts, "proc/[0-9]*/comm", &at)) != NULL) {
		n += strcmp(item->text, "irqbalance") == 0;
		all++;
	}
	if (all == 0) {
		found(f, HEALTH_UNKNOWN, "whether irqbalance runs is not known");
	} else if (n == 0) {
		found(f, HEALTH_OK, "irqbalance does not run");
	} else {
		found(f, HEALTH_NOTE,
		      "irqbalance runs: it may put interrupts on the CPUs of the lcores");
		mend(f, "systemctl stop irqbalance");
	}
}
