#include "cpus.h"

// Those that no agent of the machine was given by name, while there are any.
static cpu_set_t open_cpus(const struct hostcfg *cfg, const cpu_set_t *allowed)
{
	cpu_set_t open = *allowed;

	for (size_t i = 0; i < cfg->lcore_taken_count; i++)
		if (cfg->lcores_taken[i] < CPU_SETSIZE)
			CPU_CLR(cfg->lcores_taken[i], &open);
	return CPU_COUNT(&open) > 0 ? open : *allowed;
}

static int next_below(int last, const cpu_set_t *set)
{
	do {
		last = last > 0 ? last - 1 : CPU_SETSIZE - 1;
	} while (!CPU_ISSET(last, set));
	return last;
}

void cpus_choose(const struct hostcfg *cfg, const cpu_set_t *allowed, uint16_t cpu[LCORES_MAX])
{
	cpu_set_t open;
	int last = CPU_SETSIZE;

	CPU_ZERO(&open);
	if (cfg->lcore_count < cfg->port.queues) {
		open = open_cpus(cfg, allowed);
		for (uint32_t i = 0; i < cfg->lcores_before; i++)
			last = next_below(last, &open);
	}

	for (size_t q = 0; q < cfg->port.queues; q++) {
		if (q < cfg->lcore_count) {
			cpu[q] = cfg->lcores[q];
			continue;
		}
		last = next_below(last, &open);
		cpu[q] = (uint16_t)last;
	}
}
