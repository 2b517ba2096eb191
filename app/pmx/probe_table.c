#include "probes.h"

#include <string.h>

#define OF_MACHINE true
#define OF_PORT false
// clang-format off
const struct probe probe_table[] = {
	{ "login", probe_login, "what the log-in shell says before a command", OF_MACHINE },
	{ "sudo", probe_sudo, "sudo -n, where the matrix asks for it", OF_MACHINE },
	{ "sshd", probe_sshd, "MaxSessions and MaxStartups", OF_MACHINE },
	{ "clock", probe_clock, "the host's clock against this machine's", OF_MACHINE },
	{ "machine", probe_machine, "the kind of processor, host and agent", OF_MACHINE },
	{ "glibc", probe_glibc, "the version there, and the one the agent needs", OF_MACHINE },
	{ "libraries", probe_libraries, "other libraries that the agent needs", OF_MACHINE },
	{ "pmd", probe_pmd, "DPDK's driver in the agent", OF_PORT },
	{ "directory", probe_directory, "remote_dir: whose it is, whether it can be written", OF_MACHINE },
	{ "mount", probe_mount, "noexec, read-only", OF_MACHINE },
	{ "space", probe_space, "free space for the agent and its results", OF_MACHINE },
	{ "running", probe_running, "an agent that is there already", OF_PORT },
	{ "memory", probe_memory, "free memory", OF_MACHINE },
	{ "hugepages", probe_hugepages, "free ones, by NUMA node, against the computed need", OF_PORT },
	{ "hugetlbfs", probe_hugetlbfs, "whether the kernel has it", OF_MACHINE },
	{ "stale", probe_stale, "maps and runtime directories of dead DPDK programs", OF_MACHINE },
	{ "cgroup", probe_cgroup, "limits of hugepages, memory and CPU time", OF_MACHINE },
	{ "memlock", probe_memlock, "the limit of locked memory", OF_PORT },
	{ "lcores", probe_lcores, "CPUs that are there and allowed (cpuset), their number", OF_PORT },
	{ "numa", probe_numa, "NUMA node of the device and of the lcores", OF_PORT },
	{ "siblings", probe_siblings, "two threads of one core", OF_PORT },
	{ "isolated", probe_isolated, "CPUs that nothing else runs on", OF_PORT },
	{ "irqbalance", probe_irqbalance, "whether it runs", OF_MACHINE },
	{ "governor", probe_governor, "the CPUs' frequency", OF_PORT },
	{ "turbo", probe_turbo, "the CPUs' boost", OF_MACHINE },
	{ "idle", probe_idle, "how long a CPU takes to wake", OF_PORT },
	{ "tsc", probe_tsc, "constant_tsc and nonstop_tsc", OF_MACHINE },
	{ "clocksource", probe_clocksource, "what the kernel takes times by", OF_MACHINE },
	{ "steal", probe_steal, "CPU time that the hypervisor took", OF_MACHINE },
	{ "device", probe_device, "whether it is there, and its kernel driver", OF_PORT },
	{ "iommu", probe_iommu, "IOMMU groups", OF_PORT },
	{ "vfio", probe_vfio, "who may use /dev/vfio", OF_PORT },
	{ "iova", probe_iova, "virtual or physical addresses, and what they need", OF_PORT },
	{ "lockdown", probe_lockdown, "kernel lockdown and secure boot", OF_MACHINE },
	{ "pcie", probe_pcie, "speed and width of the slot against the device's best", OF_PORT },
	{ "rights", probe_rights, "capabilities that the driver needs", OF_PORT },
	{ "management", probe_management, "the interface that the log-in comes by", OF_PORT },
	{ "link", probe_link, "up, with a carrier", OF_PORT },
	{ "speed", probe_speed, "the link's, against the profile's", OF_PORT },
	{ "mtu", probe_mtu, "the interface's, against the matrix's", OF_PORT },
	{ "address", probe_address, "the data address, which the kernel must not have", OF_PORT },
	{ "pause", probe_pause, "802.3x pause frames", OF_PORT },
	{ "firmware", probe_firmware, "the card's", OF_PORT },
	{ "offloads", probe_offloads, "GRO, LRO and their like", OF_PORT },
	{ "xdp", probe_xdp, "an XDP program on the interface", OF_PORT },
	{ "queues", probe_queues, "the interface's receive queues, where all must be taken", OF_PORT },
};
// clang-format on
const size_t probe_count = sizeof(probe_table) / sizeof(probe_table[0]);

const struct probe *probe_find(const char *name)
{
	for (size_t i = 0; i < probe_count; i++)
		if (strcmp(probe_table[i].name, name) == 0)
			return &probe_table[i];
	return NULL;
}
