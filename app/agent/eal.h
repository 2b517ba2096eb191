// DPDK's environment for one host config: lcores, memory, the one device.
#pragma once

#include "hostcfg.h"

#include "err.h"

// CPU of each queue's lcore: the config's, then the rest of the process's CPUs, the last first, so
// that CPU 0 stays free as long as it can. Fails when the config names a CPU that is not allowed.
int eal_choose_cpus(const struct hostcfg *cfg, uint16_t cpu[LCORES_MAX], struct err *e);
// rte_eal_init; lcore 0 is this thread, on any CPU; lcore 1 + q runs queue q. EAL's own threads
// (telemetry, interrupts) keep off the CPUs of the queues' lcores where there are others. Runtime
// files go to `dir`, the current directory. stdout stays clean. Fails if EAL does, or when it finds
// no port.
int eal_start(const struct hostcfg *cfg, const char *dir, const uint16_t *cpu, struct err *e);
// EAL's runtime directory in the current one, with what an agent that was killed left in it.
void eal_remove_dir(void);
