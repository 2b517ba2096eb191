#include "eal.h"

#include "cpus.h"
#include "footprint.h"

#include <rte_eal.h>
#include <rte_errno.h>
#include <rte_ethdev.h>
#include <rte_log.h>
#include <rte_mbuf.h>

#include <dirent.h>
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/un.h>
#include <unistd.h>

#define ARGS_MAX 32
#define PREFIX "pmx"		   // of EAL's files; there is one agent to a directory
#define RUNTIME_DIR "dpdk/" PREFIX // as EAL makes it in $RUNTIME_DIRECTORY
#define TELEMETRY_SOCKET "/" RUNTIME_DIR "/dpdk_telemetry.v2"

_Static_assert(sizeof(struct rte_mbuf) == FOOTPRINT_MBUF_BYTES, "what footprint_bytes counts");
_Static_assert(RTE_PKTMBUF_HEADROOM == FOOTPRINT_HEAD_BYTES, "what footprint_data_room counts");

int eal_choose_cpus(const struct hostcfg *cfg, uint16_t cpu[LCORES_MAX], struct err *e)
{
	cpu_set_t allowed;
	CPU_ZERO(&allowed);
	if (sched_getaffinity(0, sizeof(allowed), &allowed) != 0)
		return err_set(e, errno, "cannot read the allowed CPUs: %s", strerror(errno));
	for (size_t q = 0; q < cfg->lcore_count && q < cfg->port.queues; q++)
		if (cfg->lcores[q] >= CPU_SETSIZE || !CPU_ISSET(cfg->lcores[q], &allowed))
			return err_set(e, EINVAL,
				       "lcores: CPU %u is not there or not allowed to this process",
				       cfg->lcores[q]);
	cpus_choose(cfg, &allowed, cpu);
	return 0;
}

static uint64_t read_u64(const char *path)
{
	FILE *f = fopen(path, "re");
	unsigned long long v = 0;
	if (f == NULL)
		return 0;
	if (fscanf(f, "%llu", &v) != 1)
		v = 0;
	fclose(f);
	return v;
}

static uint64_t free_hugepage_bytes(void)
{
	const char *base = "/sys/kernel/mm/hugepages";
	uint64_t bytes = 0;
	DIR *d = opendir(base);
	if (d == NULL)
		return 0;
	for (struct dirent *n; (n = readdir(d)) != NULL;) {
		unsigned long long kb;
		char path[512];
		if (sscanf(n->d_name, "hugepages-%llukB", &kb) != 1)
			continue;
		snprintf(path, sizeof(path), "%s/%s/free_hugepages", base, n->d_name);
		bytes += read_u64(path) * kb * 1024;
	}
	closedir(d);
	return bytes;
}

static bool use_hugepages(const struct hostcfg *cfg, uint64_t need)
{
	if (cfg->hugepages != HUGE_AUTO)
		return cfg->hugepages == HUGE_YES;
	return free_hugepage_bytes() >= need;
}

// EAL puts its own threads on the CPUs of no lcore, else on those of lcore 0: so that is given the
// CPUs that the queues leave, here and in the other agents of the machine.
static void lcore_map(const struct hostcfg *cfg, const uint16_t *cpu, const cpu_set_t *allowed,
		      char *s, size_t size)
{
	cpu_set_t rest = *allowed;
	for (uint16_t q = 0; q < cfg->port.queues; q++)
		CPU_CLR(cpu[q], &rest);
	cpu_set_t own = rest;
	for (size_t i = 0; i < cfg->lcore_taken_count; i++)
		if (cfg->lcores_taken[i] < CPU_SETSIZE)
			CPU_CLR(cfg->lcores_taken[i], &rest);
	if (CPU_COUNT(&rest) == 0)
		rest = CPU_COUNT(&own) > 0 ? own : *allowed;
	size_t n = (size_t)snprintf(s, size, "0@(");
	const char *sep = "";
	for (int c = 0; c < CPU_SETSIZE; c++) {
		if (CPU_ISSET(c, &rest)) {
			n += (size_t)snprintf(s + n, size - n, "%s%d", sep, c);
			sep = ",";
		}
	}
	n += (size_t)snprintf(s + n, size - n, ")");
	for (uint16_t q = 0; q < cfg->port.queues; q++)
		n += (size_t)snprintf(s + n, size - n, ",%u@%u", q + 1u, cpu[q]);
}

static bool telemetry_fits(const char *dir)
{
	const size_t most = sizeof(((struct sockaddr_un *)0)->sun_path) - 1;
	if (strlen(dir) + strlen(TELEMETRY_SOCKET) <= most)
		return true;
	fprintf(stderr,
		"pmx-agent: no telemetry: the name of its socket in '%s' would be longer than "
		"%zu bytes: a remote_dir of at most %zu bytes has room for it\n",
		dir, most, most - strlen(TELEMETRY_SOCKET));
	return false;
}

void eal_remove_dir(void)
{
	DIR *d = opendir(RUNTIME_DIR);
	if (d == NULL)
		return;
	for (struct dirent *n; (n = readdir(d)) != NULL;)
		unlinkat(dirfd(d), n->d_name, 0); // not what is a directory
	closedir(d);
	if (rmdir(RUNTIME_DIR) == 0)
		rmdir("dpdk");
}

int eal_start(const struct hostcfg *cfg, const char *dir, const uint16_t *cpu, struct err *e)
{
	char *argv[ARGS_MAX];
	int argc = 0;
	char lcores[8192], memory[24];
	cpu_set_t allowed;
	uint64_t need = footprint_bytes(cfg);
	// an element of a pool does not cross a page, so up to half of a small one is left; memory
	// that nobody touches is not taken
	uint64_t mb = cfg->memory_mb > 0 ? cfg->memory_mb : (2 * need >> 20) + 1;

	CPU_ZERO(&allowed);
	sched_getaffinity(0, sizeof(allowed), &allowed);
	lcore_map(cfg, cpu, &allowed, lcores, sizeof(lcores));
	snprintf(memory, sizeof(memory), "%llu", (unsigned long long)mb);
	argv[argc++] = "pmx-agent";
	argv[argc++] = "--lcores";
	argv[argc++] = lcores;
	argv[argc++] = "--file-prefix";
	argv[argc++] = PREFIX;
	argv[argc++] = "--log-level=lib.telemetry:error"; // that it has no socket of DPDK 20's kind
	if (!telemetry_fits(dir))
		argv[argc++] = "--no-telemetry";
	if (use_hugepages(cfg, need)) {
		argv[argc++] = "--in-memory";
	} else {
		argv[argc++] = "--no-huge";
		argv[argc++] = "-m";
		argv[argc++] = memory;
	}
	if (cfg->port.single_file_segments)
		argv[argc++] = "--single-file-segments";
	if (cfg->port.vdev[0] != '\0') {
		argv[argc++] = "--no-pci";
		argv[argc++] = "--iova-mode=va";
		argv[argc++] = "--vdev";
		argv[argc++] = (char *)cfg->port.vdev;
	} else {
		argv[argc++] = "-a";
		argv[argc++] = (char *)cfg->port.pci;
	}
	argv[argc] = NULL;

	if (cfg->port.unlink_path[0] != '\0')
		unlink(cfg->port.unlink_path);
	setenv("RUNTIME_DIRECTORY", dir, 1); // nothing outside the agent's own directory
	rte_openlog_stream(stderr);
	const char *device = cfg->port.vdev[0] != '\0' ? cfg->port.vdev : cfg->port.pci;
	if (rte_eal_init(argc, argv) < 0)
		return err_set(e, EIO,
			       "DPDK did not start with device '%s' (%s): its log says more",
			       device, rte_strerror(rte_errno));
	sched_setaffinity(0, sizeof(allowed), &allowed); // of this thread, as it was
	if (rte_eth_dev_count_avail() == 0)
		return err_set(
			e, ENODEV,
			"device '%s' gave no port: is it there, bound to its driver and free?",
			device);
	return 0;
}
