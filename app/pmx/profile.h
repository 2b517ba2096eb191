// Driver profile: the facts about one PMD, read from drivers-config/NAME.yaml. Data only; folded
// into the host config by the plan.
#pragma once

#include "hostcfg.h"

#include "err.h"

#include <stdbool.h>
#include <stdint.h>

struct profile {
	char name[NAME_MAX_BYTES];      // file name without .yaml
	char pmd[NAME_MAX_BYTES];       // DPDK's driver name: net_af_packet, net_memif, ...
	bool virtual;                   // made by --vdev; else probed on a bus
	char devargs[DEVICE_MAX_BYTES]; // template: {iface} {queues} {mtu} {frame} {rxd} {txd} {dir} {role}
	char unlink[DEVICE_MAX_BYTES];  // template of a stale socket to remove when role is server; or ""
	uint16_t rxd, txd, burst;
	uint16_t queues_max;
	uint16_t mtu_max;
	enum csum_mode csum;
	enum rss_mode rss;
	char rss_key[161];
	bool restart_until_link, single_file_segments;
	double rated_mpps;              // -1 = unknown
	double speed_gbps;              // link to assume where the PMD tells none; -1 = unknown
	char notes[2048];
};

// Looks in dirs in order (user's first). Errors name file:line:col, or the profiles there are.
int profile_load(const char *name, const char *const *dirs, struct profile *p, struct err *e);
