#include "probes.h"

#include "parse.h"

#include <stdio.h>
#include <string.h>

#define CPU "sys/devices/system/cpu/"
#define CLOCK "sys/devices/system/clocksource/clocksource0/"
#define DEEP_US 20     // an idle state that takes longer to leave shows in the RTT
#define STEAL_NOTE 0.1 // % of the time since the boot
#define STEAL_WARNING 1.0

void probe_governor(const struct exam *x, struct finding *f)
{
	uint16_t cpu[LCORES_MAX];
	size_t known = 0, slow = 0;
	const char *worst = NULL;

	for (size_t q = 0; exam_lcores(x, cpu) && q < x->cfg->port.queues; q++) {
		const char *g = fact(x->facts, CPU "cpu%u/cpufreq/scaling_governor", cpu[q]);

		known += g != NULL;
		if (g != NULL && strcmp(g, "performance") != 0) {
			slow++;
			worst = g;
		}
	}
	if (slow > 0) {
		found(f, HEALTH_WARNING, "the governor of %zu lcores' CPUs is %s", slow, worst);
		mend(f, "cpupower frequency-set -g performance");
	} else if (known < x->cfg->port.queues) {
		found(f, HEALTH_UNKNOWN, "who governs the CPUs' frequency is not known");
	} else {
		found(f, HEALTH_OK, "the governor is performance");
	}
}

void probe_turbo(const struct exam *x, struct finding *f)
{
	uint64_t off, boost;
	bool intel = fact_u64(x->facts, &off, CPU "intel_pstate/no_turbo");

	if (!intel && !fact_u64(x->facts, &boost, CPU "cpufreq/boost")) {
		found(f, HEALTH_UNKNOWN, "whether the CPUs have a turbo is not known");
	} else if (intel ? off == 1 : boost == 0) {
		found(f, HEALTH_OK, "turbo is off");
	} else {
		found(f, HEALTH_NOTE,
		      "turbo is on: rates at a queue's ceiling vary with load and heat");
		mend(f, intel ? "echo 1 > /" CPU "intel_pstate/no_turbo"
			      : "echo 0 > /" CPU "cpufreq/boost");
	}
}

// With idle: spin an lcore never idles.
void probe_idle(const struct exam *x, struct finding *f)
{
	uint64_t latency, disabled;
	unsigned deepest = 0, states = 0;

	if (x->cfg->idle == IDLE_SPIN)
		return;
	for (unsigned s = 0; s < 16; s++) {
		if (!fact_u64(x->facts, &latency, CPU "cpu0/cpuidle/state%u/latency", s))
			continue;
		states++;
		if (fact_u64(x->facts, &disabled, CPU "cpu0/cpuidle/state%u/disable", s) &&
		    disabled == 0 && latency > deepest)
			deepest = (unsigned)latency;
	}
	if (states == 0) {
		found(f, HEALTH_UNKNOWN, "the CPUs' idle states are not known");
	} else if (deepest > DEEP_US) {
		found(f, HEALTH_NOTE, "idle: %s, and a CPU may take %u us to wake: it shows in RTT",
		      idle_policy_name[x->cfg->idle], deepest);
		mend(f, "cpupower idle-set -D %d", DEEP_US);
	} else {
		found(f, HEALTH_OK, "a CPU wakes within %u us", deepest);
	}
}

static bool has_flag(const char *flags, const char *word)
{
	size_t n = strlen(word);

	for (const char *p = strstr(flags, word); p != NULL; p = strstr(p + 1, word))
		if (p > flags && (p[-1] == ' ' || p[-1] == '\t') && (p[n] == ' ' || p[n] == '\0'))
			return true;
	return false;
}

void probe_tsc(const struct exam *x, struct finding *f)
{
	const char *flags = fact(x->facts, "proc/cpuinfo");

	if (flags == NULL) {
		found(f, HEALTH_UNKNOWN, "the CPU's flags are not known");
		return;
	}
	bool constant = has_flag(flags, "constant_tsc"), nonstop = has_flag(flags, "nonstop_tsc");
	if (constant && nonstop) {
		found(f, HEALTH_OK, "the TSC is constant and never stops");
		return;
	}
	found(f, HEALTH_WARNING, "the CPU does not promise a %s TSC: times may be wrong",
	      constant ? "nonstop" : "constant");
	mend(f, has_flag(flags, "hypervisor")
			? "show the guest the host's TSC (CPU host-passthrough)"
			: "governor performance, deep idle states off");
}

void probe_clocksource(const struct exam *x, struct finding *f)
{
	const char *now = fact(x->facts, CLOCK "current_clocksource");
	const char *all = fact(x->facts, CLOCK "available_clocksource");

	if (now == NULL || all == NULL) {
		found(f, HEALTH_UNKNOWN, "the kernel's clock source is not known");
	} else if (strcmp(now, "tsc") == 0) {
		found(f, HEALTH_OK, "the kernel's clock source is the TSC");
	} else if (strstr(all, "tsc") != NULL) {
		found(f, HEALTH_NOTE, "the kernel's clock source is %s, though it takes the TSC",
		      now);
		mend(f, "echo tsc > /" CLOCK "current_clocksource");
	} else {
		found(f, HEALTH_WARNING,
		      "the kernel's clock source is %s: it does not trust the TSC, which pmx "
		      "takes times by",
		      now);
		mend(f, "dmesg | grep -i tsc says why; on a guest, let the host show its TSC");
	}
}

void probe_steal(const struct exam *x, struct finding *f)
{
	const char *text = fact(x->facts, "proc/stat");
	unsigned long long v[8] = { 0 };
	double all = 0;

	if (text == NULL || sscanf(text, "cpu %llu %llu %llu %llu %llu %llu %llu %llu", &v[0],
				   &v[1], &v[2], &v[3], &v[4], &v[5], &v[6], &v[7]) != 8) {
		found(f, HEALTH_UNKNOWN, "the time stolen from the CPUs is not known");
		return;
	}
	for (size_t i = 0; i < 8; i++)
		all += (double)v[i];
	double pct = all > 0 ? 100.0 * (double)v[7] / all : 0;
	enum health h = pct > STEAL_WARNING ? HEALTH_WARNING
			: pct > STEAL_NOTE  ? HEALTH_NOTE
					    : HEALTH_OK;
	found(f, h, "the hypervisor took %.2f %% of the CPUs' time since the boot", pct);
	if (h != HEALTH_OK)
		mend(f, "give the guest CPUs of its own (pinning)");
}
