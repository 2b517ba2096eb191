// Driver profile: the facts about one PMD, read from drivers-config/NAME.yaml. Data only; folded
// into the host config by the plan.
#pragma once

#include "matrix.h"

#include "err.h"
#include "hostcfg.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PROFILE_DIRS_MAX 4

struct profile {
	char name[NAME_MAX_BYTES];	// file name without .yaml
	char pmd[NAME_MAX_BYTES];	// DPDK's driver name: net_af_packet, net_memif, ...
	bool virtual;			// made by --vdev; else probed on a bus
	char devargs[DEVICE_MAX_BYTES]; // template of the device, see device.h; "" = as written
	char unlink[DEVICE_MAX_BYTES];	// template of a stale socket to remove when role is server;
					// or ""
	// A cable to one other agent on the same machine, and the profile at its other end (memif:
	// itself); "" = a port on a network.
	char peer[NAME_MAX_BYTES];
	char role[16]; // the role that this end always has; "" = either
	uint16_t rxd, txd, burst;
	uint16_t queues_max;
	uint16_t mtu_max;
	enum csum_mode csum;
	enum rss_mode rss;
	char rss_key[161];     // hex; "" = the PMD's own
	uint64_t capabilities; // of Linux, that it needs: capability.h; 0 = none, or root
	bool all_queues; // queues must be as many as the interface has: it loses the others' frames
	bool counts_missed;	 // the port counts imissed; else it is unknown, not 0
	bool restart_until_link; // the client end: stop and start the port until the link is up
	bool single_file_segments;
	double rated_mpps; // each way; -1 = unknown
	double speed_gbps; // link to assume where the PMD tells none; -1 = unknown
	char notes[2048];
};

// Looks in dirs (ends with NULL) in order, the user's first. Errors name file:line:col, or the
// profiles there are.
int profile_load(const char *name, const char *const *dirs, struct profile *p, struct err *e);
int profile_parse(const char *name, const char *file, const char *text, size_t len,
		  struct profile *p, struct err *e);
// The profile of every host: by its `driver`, else by what its `device` says. *out is
// [m->host_count], owned by the caller. Errors point into the matrix.
int profile_load_all(const struct matrix *m, const char *const *dirs, struct profile **out,
		     struct err *e);

// Whether a host with this profile must name its device, and whether that is a kernel interface.
bool profile_wants_iface(const struct profile *p);
bool profile_needs_device(const struct profile *p);

// Where profiles are looked for: `first` (--drivers; may be NULL), the installed ones, and those of
// the source tree that pmx was built from.
struct profile_dirs {
	const char *dir[PROFILE_DIRS_MAX]; // ends with NULL
	char installed[4096];
};
void profile_dirs_find(const char *first, struct profile_dirs *d);
