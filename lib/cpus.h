// Which CPUs an agent's lcores get. The agent chooses by it, and doctor looks at those CPUs.
#pragma once

#include "hostcfg.h"

#include <sched.h>
#include <stdint.h>

// CPU of each queue's lcore: the config's, then the process's allowed CPUs, the last first, so that
// CPU 0 stays free as long as it can, and none that other agents of the machine have by name or by
// this rule before it, while there are others. `allowed` is not empty, unless the config names all.
void cpus_choose(const struct hostcfg *cfg, const cpu_set_t *allowed, uint16_t cpu[LCORES_MAX]);
