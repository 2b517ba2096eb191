#include "doctor_script.h"

#include "deploy_sh.h"
#include "facts.h"

#include "session.h"

#include <stdio.h>
#include <stdlib.h>

// Every file by one grep for many: a process for each would take seconds on a large host. What
// varies is in arguments: $1 root, $2 remote_dir, $3 the agent's directory, $4 the agent, $5
// interface, $6 PCI address, $7 libraries that the agent needs.

// g FILE...: the files' lines. say PATH TEXT. l LINK...: where links point. c NAME COMMAND...: what
// it prints, and its status; another root has files there instead.
#define TOOLS                                                                                    \
	SH_PIDS "LC_ALL=C; export LC_ALL; PATH=$PATH:/usr/sbin:/sbin; "                          \
		"g() { grep -asHZ -d skip \"\" \"$@\"; }; say() { printf \"%s\\0%s\\n\" \"$1\" " \
		"\"$2\"; }; "                                                                    \
		"l() { for f; do t=$(readlink \"$f\") && say \"$f\" \"$t\"; done; }; "           \
		"c() { n=cmd/$1; shift; o=$(timeout 5 \"$@\" 2>&1 < /dev/null); s=$?; "          \
		"[ -z \"$o\" ] || printf \"%s\\n\" \"$o\" | grep -aHZ --label=\"$n\" \"\"; "     \
		"say \"$n.status\" $s; }; "

#define PROCESS                                                                           \
	"g proc/meminfo proc/cmdline proc/filesystems proc/self/cgroup proc/self/limits " \
	"proc/self/mounts proc/1/comm proc/sys/vm/nr_overcommit_hugepages; "              \
	"grep -asHZ -E \"^(Cap(Eff|Bnd)|Cpus_allowed_list|Mems_allowed_list):\" "         \
	"proc/self/status; "                                                              \
	"grep -asHZ -m 1 \"^cpu \" proc/stat; "                                           \
	"grep -asHZ -m 1 \"^flags\" proc/cpuinfo; "                                       \
	"grep -asHZx irqbalance proc/[0-9]*/comm; "

// The limits of every group from the process's own up to the root.
#define CGROUP                                                                         \
	"up() { b=$1; p=${2%/}; shift 2; while :; do for x; do g \"$b$p/\"$x; done; "  \
	"[ -n \"$p\" ] || break; p=${p%/*}; done; }; "                                 \
	"[ ! -r proc/self/cgroup ] || while IFS=: read -r n k p; do case $n:,$k, in "  \
	"0:,,) up sys/fs/cgroup \"$p\" \"hugetlb.*.max\" memory.max cpu.max;; "        \
	"*,hugetlb,*) up sys/fs/cgroup/hugetlb \"$p\" \"hugetlb.*.limit_in_bytes\";; " \
	"*,memory,*) up sys/fs/cgroup/memory \"$p\" memory.limit_in_bytes;; "          \
	"esac; done < proc/self/cgroup; "

#define CPUS                                                                                  \
	"s=sys/devices/system; g $s/cpu/online $s/cpu/isolated $s/cpu/smt/active "            \
	"$s/cpu/cpu[0-9]*/topology/thread_siblings_list "                                     \
	"$s/cpu/cpu[0-9]*/cpufreq/scaling_governor $s/cpu/cpufreq/boost "                     \
	"$s/cpu/intel_pstate/no_turbo $s/cpu/cpu0/cpuidle/state*/name "                       \
	"$s/cpu/cpu0/cpuidle/state*/latency $s/cpu/cpu0/cpuidle/state*/disable "              \
	"$s/clocksource/clocksource0/current_clocksource "                                    \
	"$s/clocksource/clocksource0/available_clocksource $s/node/node[0-9]*/cpulist "       \
	"$s/node/node[0-9]*/hugepages/*/free_hugepages "                                      \
	"$s/node/node[0-9]*/hugepages/*/nr_hugepages sys/kernel/mm/hugepages/*/nr_hugepages " \
	"sys/kernel/mm/hugepages/*/free_hugepages; "

// Maps that primaries left in hugetlbfs, and those that somebody has open (as root).
#define MAPS                                                                                      \
	"k=; [ ! -r proc/self/mounts ] || while read -r d m t o; do "                             \
	"[ \"$t\" = hugetlbfs ] || continue; m=${m#/}; [ -r \"$m\" ] || say dpdk/unread \"$m\"; " \
	"for f in \"$m\"/*map_[0-9]*; do [ -f \"$f\" ] || continue; k=1; say dpdk/map \"$f\"; "   \
	"done; "                                                                                  \
	"done < proc/self/mounts; "                                                               \
	"for f in run/dpdk/*/config; do [ ! -f \"$f\" ] || { k=1; say dpdk/config \"$f\"; }; "    \
	"done; "                                                                                  \
	"[ -z \"$k\" ] || for f in $(grep -hos -E \"/[^ ]*(map_[0-9]+|/dpdk/[^ ]*/config)\" "     \
	"proc/[0-9]*/maps | sort -u); do say dpdk/used \"${f#/}\"; done; "

#define DEVICE                                                                                   \
	"[ -n \"$i\" ] || { [ -n \"$pci\" ] && for f in sys/bus/pci/devices/$pci/net/* "         \
	"sys/bus/pci/devices/$pci/virtio*/net/*; do "                                            \
	"[ ! -e \"$f\" ] || i=${f##*/}; done; }; "                                               \
	"if [ -n \"$i\" ]; then n=sys/class/net/$i; "                                            \
	"[ -n \"$pci\" ] || { pci=$(readlink -f $n/device); case $pci in */virtio*) "            \
	"pci=${pci%/*};; esac; pci=${pci##*/}; "                                                 \
	"case $pci in *:*:*.*) ;; *) pci=;; esac; }; "                                           \
	"g $n/operstate $n/carrier $n/mtu $n/speed $n/flags $n/address; l $n/master; "           \
	"for f in $n/queues/rx-* $n/lower_* $n/upper_*; do [ ! -e \"$f\" ] || say \"$f\" 1; "    \
	"done; fi; "                                                                             \
	"say dev/iface \"$i\"; say dev/pci \"$pci\"; "                                           \
	"if [ -n \"$pci\" ]; then n=sys/bus/pci/devices/$pci; "                                  \
	"g $n/vendor $n/device $n/numa_node $n/current_link_speed $n/current_link_width "        \
	"$n/max_link_speed $n/max_link_width $n/local_cpulist $n/iommu_group/type; "             \
	"l $n/driver $n/iommu_group; "                                                           \
	"for d in $n/iommu_group/devices/*; do g $d/class; l $d/driver; done; fi; "              \
	"g sys/module/vfio/parameters/enable_unsafe_noiommu_mode sys/kernel/security/lockdown; " \
	"for f in sys/module/vfio_pci sys/class/iommu/*; do [ ! -e \"$f\" ] || say \"$f\" 1; "   \
	"done; "

// Of this process, log-in and machine: with another root these are files.
#define COMMANDS                                                                                 \
	"c uid id -u; c user id -un; c uname uname -m; c kernel uname -r; c date date +%s.%N; "  \
	"c libc getconf GNU_LIBC_VERSION; "                                                      \
	"d=$dir; while [ ! -e \"$d\" ] && [ \"$d\" != / ]; do d=${d%/*}; d=${d:-/}; done; "      \
	"c there stat -c \"%F:%u:%n\" \"$d\"; c df df -Pk \"$d\"; "                              \
	"[ ! -L \"$dir\" ] || say cmd/symlink \"$dir\"; [ ! -w \"$d\" ] || say cmd/writable "    \
	"\"$d\"; "                                                                               \
	"[ ! -e \"$dir/" SH_MARK "\" ] || say cmd/mark \"$dir\"; "                               \
	"[ ! -d \"$dir\" ] || say cmd/files $(ls -A \"$dir\" | wc -l); "                         \
	"[ ! -r \"$sess/" SESSION_XDP "\" ] || { read -r k n o < \"$sess/" SESSION_XDP "\"; "    \
	"[ \"$k\" != \"$(cat /proc/sys/kernel/random/boot_id)\" ] || say cmd/xdp \"$n\"; }; "    \
	"say cmd/agents \"$(pids \"$sess\" \"$agent\")\"; "                                      \
	"o=$(ldconfig -p 2>/dev/null); [ -z \"$o\" ] || { k=; for f in $libs; do case $o in "    \
	"*\"$f \"*) k=\"$k $f\";; esac; done; say cmd/libs \"$k\"; }; "                          \
	"c addr ip -o addr; c route ip -o route show default; "                                  \
	"k=$SSH_CONNECTION; p=$PPID; while [ -z \"$k\" ] && [ \"${p:-0}\" -gt 1 ]; do "          \
	"k=$(grep -asz \"^SSH_CONNECTION=\" /proc/$p/environ | tr -d \"\\0\"); k=${k#*=}; "      \
	"p=$(sed -n \"s/^PPid:[^0-9]*//p\" /proc/$p/status 2>/dev/null); done; "                 \
	"say cmd/ssh \"$k\"; "                                                                   \
	"c sshd sshd -T; "                                                                       \
	"[ -z \"$i\" ] || { c link ip -d -o link show dev \"$i\"; c info ethtool -i \"$i\"; "    \
	"c offload ethtool -k \"$i\"; c channels ethtool -l \"$i\"; c pause ethtool -a \"$i\"; " \
	"}; "                                                                                    \
	"k=$(readlink \"/sys/bus/pci/devices/$pci/iommu_group\"); k=${k##*/}; "                  \
	"[ -z \"$pci\" ] || c vfio stat -c \"%n %u %g %a\" /dev/vfio/vfio "                      \
	"\"/dev/vfio/${k:-noiommu-0}\"; "                                                        \
	"c groups id -G; "                                                                       \
	"for f in /sys/firmware/efi/efivars/SecureBoot-*; do [ ! -r \"$f\" ] || "                \
	"c secureboot od -An -tu1 -j4 -N1 \"$f\"; done; "

// ISO C promises no literal longer than 4095 bytes.
static const char *const part[] = {
	TOOLS,	  "r=$1; dir=$2; sess=$3; agent=$4; i=$5; pci=$6; libs=$7; cd \"$r\" || exit 1; ",
	PROCESS,  CGROUP,
	CPUS,	  MAPS,
	DEVICE,	  "if [ \"$r\" = / ]; then ",
	COMMANDS, "else g cmd/* pmx/*; fi; say " FACT_END " ok",
};

char *doctor_script(void)
{
	char *text = NULL;
	size_t len = 0;
	FILE *f = open_memstream(&text, &len);

	if (f == NULL)
		return NULL;
	for (size_t i = 0; i < sizeof(part) / sizeof(part[0]); i++)
		fputs(part[i], f);
	if (fclose(f) != 0) {
		free(text);
		return NULL;
	}
	return text;
}
