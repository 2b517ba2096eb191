#include "healthy.h"

#define CPU "sys/devices/system/cpu/"
#define NODE "sys/devices/system/node/"
#define CLOCK "sys/devices/system/clocksource/clocksource0/"
#define PCI "sys/bus/pci/devices/0000:"
#define LINK(iface)                                                                                \
	{ "sys/class/net/" iface "/flags", "0x1003" }, { "sys/class/net/" iface "/carrier", "1" }, \
		{ "sys/class/net/" iface "/mtu", "1500" },                                         \
	{                                                                                          \
		"sys/class/net/" iface "/speed", "100000"                                          \
	}
#define SLOT(address, vendor, device, kernel, group)                                 \
	{ PCI address "/vendor", vendor }, { PCI address "/device", device },        \
		{ PCI address "/numa_node", "0" },                                   \
		{ PCI address "/current_link_speed", "16.0 GT/s PCIe" },             \
		{ PCI address "/current_link_width", "16" },                         \
		{ PCI address "/max_link_speed", "16.0 GT/s PCIe" },                 \
		{ PCI address "/max_link_width", "16" },                             \
		{ PCI address "/driver", "../../../../bus/pci/drivers/" kernel },    \
	{                                                                            \
		PCI address "/iommu_group", "../../../../kernel/iommu_groups/" group \
	}
#define CORE(n)                                                        \
	{ CPU "cpu" n "/topology/thread_siblings_list", n },           \
	{                                                              \
		CPU "cpu" n "/cpufreq/scaling_governor", "performance" \
	}

const struct known healthy[] = {
	{ "pmx/noise", "0" },
	{ "pmx/sudo", "ok" },
	{ "pmx/before", "1000000.0" },
	{ "pmx/after", "1000001.0" },
	{ "cmd/date", "1000000.5" },
	{ "cmd/uid", "0" },
	{ "cmd/user", "root" },
	{ "cmd/groups", "0" },
	{ "cmd/uname", "x86_64" },
	{ "cmd/kernel", "6.1.0-18-amd64" },
	{ "cmd/libc", "glibc 2.36" },
	{ "cmd/libc.status", "0" },
	{ "cmd/libs", " libc.so.6 libm.so.6" },
	{ "cmd/sshd", "port 22\nmaxsessions 10\nmaxstartups 10:30:100" },
	{ "cmd/there", "directory:0:/var/tmp" },
	{ "cmd/writable", "/var/tmp" },
	{ "cmd/df", "Filesystem 1024-blocks Used Available Capacity Mounted on\n"
		    "/dev/sda 9000000 1000000 8000000 12% /" },
	{ "cmd/agents", "" },
	{ "cmd/ssh", "192.0.2.254 40000 192.0.2.1 22" },
	{ "cmd/addr", "1: lo    inet 127.0.0.1/8 scope host lo\n"
		      "2: eth0    inet 192.0.2.1/24 brd 192.0.2.255 scope global eth0\n"
		      "2: eth0    inet6 2001:db8::1/64 scope global" },
	{ "cmd/route", "default via 192.0.2.254 dev eth0 proto dhcp" },
	{ "cmd/link", "3: eth1: <BROADCAST,UP> mtu 1500 qdisc mq state UP mode DEFAULT" },
	{ "cmd/info", "driver: ice\nversion: 6.1\nfirmware-version: 4.20 0x8001778b 1.3346.0" },
	{ "cmd/info.status", "0" },
	{ "cmd/pause", "Pause parameters for eth1:\nAutonegotiate:\toff\nRX:\t\toff\nTX:\t\toff" },
	{ "cmd/pause.status", "0" },
	{ "cmd/offload", "Features for eth1:\nrx-checksumming: on\ngeneric-receive-offload: off\n"
			 "large-receive-offload: off [fixed]\nrx-gro-hw: off\nrx-gro-list: off\n"
			 "rx-udp-gro-forwarding: off" },
	{ "cmd/offload.status", "0" },
	{ "cmd/vfio", "/dev/vfio/vfio 0 0 666\n/dev/vfio/12 0 0 600" },
	{ "proc/meminfo", "MemTotal: 65000000 kB\nMemAvailable:   60000000 kB" },
	{ "proc/filesystems", "nodev\tsysfs\nnodev\thugetlbfs\n\text4" },
	{ "proc/self/mounts", "/dev/sda / ext4 rw,relatime 0 0\n"
			      "hugetlbfs /dev/hugepages hugetlbfs rw,pagesize=2M 0 0" },
	{ "proc/self/cgroup", "0::/user.slice/session-1.scope" },
	{ "proc/self/limits", "Limit  Soft Limit  Hard Limit  Units\n"
			      "Max locked memory         8388608              8388608      bytes" },
	{ "proc/self/status", "CapEff:\t000001ffffffffff\nCpus_allowed_list:\t0-3\n"
			      "Mems_allowed_list:\t0-1" },
	{ "proc/stat", "cpu  1000 0 1000 98000 0 0 0 0 0 0" },
	{ "proc/cpuinfo", "flags\t\t: fpu tsc constant_tsc nonstop_tsc avx2" },
	{ "proc/1/comm", "systemd" },
	{ CPU "online", "0-3" },
	{ CPU "isolated", "1-3" },
	CORE("0"),
	CORE("1"),
	CORE("2"),
	CORE("3"),
	{ CPU "intel_pstate/no_turbo", "1" },
	{ CPU "cpu0/cpuidle/state0/latency", "0" },
	{ CPU "cpu0/cpuidle/state0/disable", "0" },
	{ CPU "cpu0/cpuidle/state1/latency", "2" },
	{ CPU "cpu0/cpuidle/state1/disable", "0" },
	{ CPU "cpu0/cpuidle/state2/latency", "170" },
	{ CPU "cpu0/cpuidle/state2/disable", "1" },
	{ CLOCK "current_clocksource", "tsc" },
	{ CLOCK "available_clocksource", "tsc hpet acpi_pm" },
	{ NODE "node0/cpulist", "0-3" },
	{ NODE "node1/cpulist", "4-7" },
	{ NODE "node0/hugepages/hugepages-2048kB/free_hugepages", "512" },
	{ NODE "node0/hugepages/hugepages-2048kB/nr_hugepages", "512" },
	{ NODE "node1/hugepages/hugepages-2048kB/free_hugepages", "512" },
	{ NODE "node1/hugepages/hugepages-2048kB/nr_hugepages", "512" },
	{ "sys/kernel/mm/hugepages/hugepages-2048kB/free_hugepages", "1024" },
	{ "sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages", "1024" },
	{ "sys/kernel/security/lockdown", "[none] integrity confidentiality" },
	LINK("eth1"),
	LINK("eth2"),
	{ "sys/class/net/eth1/queues/rx-0", "1" },
	{ "sys/class/net/eth1/queues/rx-1", "1" },
	SLOT("3b:00.0", "0x8086", "0x1592", "vfio-pci", "12"),
	SLOT("3b:00.1", "0x8086", "0x1592", "ice", "13"),
	SLOT("5e:00.0", "0x15b3", "0x1017", "mlx5_core", "14"),
};
const unsigned healthy_count = sizeof(healthy) / sizeof(healthy[0]);

#define TWO(transport, a, b)                                                              \
	"pmx: 1\n" transport "hosts:\n  a: {ssh: root@192.0.2.1, addr: 198.18.0.1/24, " a \
	", lcores: '2-3', queues: 2%s}\n  b: {ssh: 192.0.2.2, addr: 198.18.0.2/24, " b    \
	", lcores: '2-3', queues: 2}\ntraffic: {rate: 1k}\n"

#define SSH "transport: ssh\nssh: {sudo: yes}\n"
const char healthy_packet[] =
	TWO(SSH, "driver: af_packet, device: eth1", "driver: af_packet, device: eth1");
const char healthy_xdp[] = TWO(SSH, "driver: af_xdp, device: eth1", "driver: af_xdp, device: eth1");
const char healthy_pci[] =
	TWO(SSH, "driver: ice, device: '3B:00.0'", "driver: ice, device: '3b:00.0'");
const char healthy_mlx[] =
	TWO(SSH, "driver: mlx5, device: '5e:00.0'", "driver: mlx5, device: '5e:00.0'");
const char healthy_local[] = "pmx: 1\ntransport: local\nhosts:\n"
			     "  a: {addr: 198.18.0.1/24, driver: memif, lcores: 2%s}\n"
			     "  b: {addr: 198.18.0.2/24, driver: memif, lcores: 3}\n"
			     "traffic: {rate: 1k}\n";
