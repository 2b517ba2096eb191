#include "exam.h"

#include "cpus.h"
#include "parse.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *const health_name[HEALTH_COUNT] = {
	[HEALTH_NONE] = "none", [HEALTH_OK] = "ok",	      [HEALTH_UNKNOWN] = "unknown",
	[HEALTH_NOTE] = "note", [HEALTH_WARNING] = "warning", [HEALTH_BLOCKER] = "blocker",
};

void found(struct finding *f, enum health h, const char *fmt, ...)
{
	va_list ap;

	f->health = h;
	va_start(ap, fmt);
	vsnprintf(f->text, sizeof(f->text), fmt, ap);
	va_end(ap);
}

void mend(struct finding *f, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(f->fix, sizeof(f->fix), fmt, ap);
	va_end(ap);
}

bool exam_local(const struct exam *x)
{
	return x->matrix->transport == TRANSPORT_LOCAL;
}

bool exam_root(const struct exam *x, bool *known)
{
	uint64_t uid;

	*known = fact_u64(x->facts, &uid, "cmd/uid");
	return *known && uid == 0;
}

const char *exam_user(const struct exam *x)
{
	const char *user = fact(x->facts, "cmd/user");

	return user != NULL ? user : "USER";
}

static const char *or_none(const char *s)
{
	return s != NULL ? s : "";
}

const char *exam_iface(const struct exam *x)
{
	return or_none(fact(x->facts, "dev/iface"));
}

const char *exam_pci(const struct exam *x)
{
	return or_none(fact(x->facts, "dev/pci"));
}

bool exam_is_pci(const struct exam *x)
{
	return x->cfg->port.pci[0] != '\0';
}

// A tap, whose MTU is the port's, is made by the agent.
bool exam_on_iface(const struct exam *x)
{
	return x->profile->bind == BIND_KERNEL && x->profile->mtu_by == MTU_BY_KERNEL;
}

bool exam_has_iface(const struct exam *x)
{
	return exam_on_iface(x) || exam_iface(x)[0] != '\0';
}

bool exam_capabilities(const struct exam *x, uint64_t *mask)
{
	const char *text = fact(x->facts, "proc/self/status");
	char hex[32], *end;

	if (text == NULL || fact_line(text, "CapEff", hex, sizeof(hex)) == NULL)
		return false;
	*mask = strtoull(hex, &end, 16);
	return end != hex && *end == '\0';
}

size_t exam_node_count(const struct exam *x)
{
	size_t at = 0, n = 0;

	while (fact_next(x->facts, "sys/devices/system/node/node*/cpulist", &at) != NULL)
		n++;
	return n;
}

bool exam_node(const struct exam *x, unsigned *node)
{
	int64_t n;

	if (exam_pci(x)[0] == '\0' ||
	    !fact_i64(x->facts, &n, "sys/bus/pci/devices/%s/numa_node", exam_pci(x)))
		return false;
	if (n < 0 && exam_node_count(x) != 1)
		return false; // -1: the firmware did not say
	*node = n < 0 ? 0 : (unsigned)n;
	return true;
}

bool exam_cpus(const char *list, cpu_set_t *set)
{
	uint16_t cpu[CPU_SETSIZE];
	size_t n = 0;

	CPU_ZERO(set);
	if (list == NULL)
		return false;
	if (list[0] != '\0' && parse_cpulist(list, cpu, CPU_SETSIZE, &n, NULL) < 0)
		return false;
	for (size_t i = 0; i < n; i++)
		if (cpu[i] < CPU_SETSIZE)
			CPU_SET(cpu[i], set);
	return true;
}

bool exam_lcores(const struct exam *x, uint16_t cpu[LCORES_MAX])
{
	const char *text = fact(x->facts, "proc/self/status");
	cpu_set_t allowed;
	char list[4096];

	if (x->cfg->lcore_count < x->cfg->port.queues &&
	    (text == NULL || fact_line(text, "Cpus_allowed_list", list, sizeof(list)) == NULL ||
	     !exam_cpus(list, &allowed) || CPU_COUNT(&allowed) == 0))
		return false;
	cpus_choose(x->cfg, &allowed, cpu);
	return true;
}

char *exam_cpus_str(const cpu_set_t *set, char *buf, size_t size)
{
	size_t n = 0;

	buf[0] = '\0';
	for (int c = 0; c < CPU_SETSIZE && n < size; c++) {
		int last = c;

		if (!CPU_ISSET(c, set))
			continue;
		while (last + 1 < CPU_SETSIZE && CPU_ISSET(last + 1, set))
			last++;
		n += (size_t)snprintf(buf + n, size - n, "%s%d", n > 0 ? "," : "", c);
		if (last > c && n < size)
			n += (size_t)snprintf(buf + n, size - n, "%c%d", last > c + 1 ? '-' : ',',
					      last);
		c = last;
	}
	return buf;
}

bool exam_free_huge(const struct exam *x, int node, uint64_t *bytes)
{
	char pattern[128];
	const struct fact *item;
	size_t at = 0, n = 0;

	if (node < 0)
		snprintf(pattern, sizeof(pattern), "sys/kernel/mm/hugepages/*/free_hugepages");
	else
		snprintf(pattern, sizeof(pattern),
			 "sys/devices/system/node/node%d/hugepages/*/free_hugepages", node);
	*bytes = 0;
	while ((item = fact_next(x->facts, pattern, &at)) != NULL) {
		unsigned long long kib;
		uint64_t pages;

		if (sscanf(strstr(item->path, "/hugepages-") ? strstr(item->path, "/hugepages-")
							     : "",
			   "/hugepages-%llukB", &kib) != 1 ||
		    parse_u64(item->text, 0, UINT32_MAX, &pages, NULL) < 0)
			continue;
		*bytes += pages * kib * 1024;
		n++;
	}
	return n > 0;
}

bool exam_uses_huge(const struct exam *x, bool *known)
{
	uint64_t bytes;

	*known = true;
	if (x->cfg->hugepages != HUGE_AUTO)
		return x->cfg->hugepages == HUGE_YES;
	*known = exam_free_huge(x, -1, &bytes);
	return *known && bytes >= x->need_bytes;
}
