#include "cpus.h"

void cpus_choose(const struct hostcfg *cfg, const cpu_set_t *allowed, uint16_t cpu[LCORES_MAX])
{
	int last = CPU_SETSIZE;

	for (size_t q = 0; q < cfg->port.queues; q++) {
		if (q < cfg->lcore_count) {
			cpu[q] = cfg->lcores[q];
			continue;
		}
		do {
			last = last > 0 ? last - 1 : CPU_SETSIZE - 1;
		} while (!CPU_ISSET(last, allowed));
		cpu[q] = (uint16_t)last;
	}
}
