// Probes by subject; probe_table (probe_table.c) has a row for each.
#pragma once

#include "exam.h"

struct probe {
	const char *name; // in the output; its anchor in doc/troubleshooting.rst is doctor-NAME
	exam_probe run;
	const char *brief; // what it looks at
	bool machine;	   // it says the same for every port of a machine
};
// NULL when there is none.
const struct probe *probe_find(const char *name);
extern const struct probe probe_table[];
extern const size_t probe_count;

// probe_login.c: how the host is reached and what it lets one do
void probe_login(const struct exam *x, struct finding *f);
void probe_sudo(const struct exam *x, struct finding *f);
void probe_sshd(const struct exam *x, struct finding *f);
void probe_clock(const struct exam *x, struct finding *f);
// probe_agent.c: whether the agent can stand and run there
void probe_machine(const struct exam *x, struct finding *f);
void probe_glibc(const struct exam *x, struct finding *f);
void probe_libraries(const struct exam *x, struct finding *f);
void probe_pmd(const struct exam *x, struct finding *f);
void probe_directory(const struct exam *x, struct finding *f);
void probe_mount(const struct exam *x, struct finding *f);
void probe_space(const struct exam *x, struct finding *f);
void probe_running(const struct exam *x, struct finding *f);
// probe_memory.c
void probe_memory(const struct exam *x, struct finding *f);
void probe_hugepages(const struct exam *x, struct finding *f);
void probe_hugetlbfs(const struct exam *x, struct finding *f);
void probe_stale(const struct exam *x, struct finding *f);
void probe_cgroup(const struct exam *x, struct finding *f);
void probe_memlock(const struct exam *x, struct finding *f);
// probe_cpu.c: the CPUs of the lcores
void probe_lcores(const struct exam *x, struct finding *f);
void probe_numa(const struct exam *x, struct finding *f);
void probe_siblings(const struct exam *x, struct finding *f);
void probe_isolated(const struct exam *x, struct finding *f);
void probe_irqbalance(const struct exam *x, struct finding *f);
// probe_clocks.c: how fast they run and what they tell
void probe_governor(const struct exam *x, struct finding *f);
void probe_turbo(const struct exam *x, struct finding *f);
void probe_idle(const struct exam *x, struct finding *f);
void probe_tsc(const struct exam *x, struct finding *f);
void probe_clocksource(const struct exam *x, struct finding *f);
void probe_steal(const struct exam *x, struct finding *f);
// probe_pci.c: a device on PCI
void probe_device(const struct exam *x, struct finding *f);
void probe_iommu(const struct exam *x, struct finding *f);
void probe_vfio(const struct exam *x, struct finding *f);
void probe_iova(const struct exam *x, struct finding *f);
void probe_lockdown(const struct exam *x, struct finding *f);
void probe_pcie(const struct exam *x, struct finding *f);
// probe_port.c: the port, whatever drives it
void probe_rights(const struct exam *x, struct finding *f);
void probe_management(const struct exam *x, struct finding *f);
void probe_link(const struct exam *x, struct finding *f);
void probe_speed(const struct exam *x, struct finding *f);
void probe_mtu(const struct exam *x, struct finding *f);
void probe_address(const struct exam *x, struct finding *f);
// probe_iface.c: what the kernel's interface does to frames
void probe_pause(const struct exam *x, struct finding *f);
void probe_firmware(const struct exam *x, struct finding *f);
void probe_offloads(const struct exam *x, struct finding *f);
void probe_xdp(const struct exam *x, struct finding *f);
void probe_queues(const struct exam *x, struct finding *f);
