// Driver profile: the facts about one PMD, read from drivers-config/NAME.yaml. Data only; folded
// into the host config by the plan.
#pragma once

#include "matrix.h"

#include "err.h"
#include "hostcfg.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define PROFILE_DIRS_MAX 4
#define PROFILE_KEYS_MAX 40
#define PCI_IDS_MAX 96
#define PROFILE_MODELS_MAX 12
#define PROFILE_FAULTS_MAX 8

// How DPDK comes to the device.
enum bind_mode {
	BIND_NONE,	     // it is no device of the host
	BIND_KERNEL,	     // it sits on an interface of the kernel
	BIND_BIFURCATED,     // on PCI, and the kernel's own driver stays
	BIND_VFIO_PCI,	     // on PCI, bound to vfio-pci
	BIND_UIO_HV_GENERIC, // on VMBus, bound to uio_hv_generic
	BIND_MODES,
};
extern const char *const bind_mode_name[BIND_MODES];

// Who sets the MTU of the device.
enum mtu_by { MTU_BY_PORT, MTU_BY_KERNEL, MTU_BY_RING, MTU_BYS };
extern const char *const mtu_by_name[MTU_BYS];

// One port model whose limit is known.
struct profile_model {
	char name[64];
	uint32_t id[4]; // PCI ids, as in profile.pci_id; 0 = none
	double speed_gbps, rated_mpps;
	char source[160]; // where the rating was read
};

struct profile_fault {
	char ref[48]; // where it was reported, as a project and its number; "" = nowhere
	char text[400];
};

struct profile {
	char name[NAME_MAX_BYTES]; // file name without .yaml
	char file[512];		   // where it was read
	struct pos
		at[PROFILE_KEYS_MAX];	// of each key's value, by the table's row; line 0 = default
	char pmd[NAME_MAX_BYTES];	// DPDK's driver name: net_af_packet, net_memif, ...
	bool virtual;			// made by --vdev; else probed on a bus
	uint32_t pci_id[PCI_IDS_MAX];	// vendor << 16 | device; ends with 0 unless full
	char devargs[DEVICE_MAX_BYTES]; // template of the device, see device.h; "" = as written
	char unlink[DEVICE_MAX_BYTES];	// template of a stale socket to remove when role is server;
					// or ""
	// A cable to one other agent on the same machine, and the profile at its other end (memif:
	// itself); "" = a port on a network.
	char peer[NAME_MAX_BYTES];
	char role[16]; // the role that this end always has; "" = either
	enum bind_mode bind;
	char kernel_driver[NAME_MAX_BYTES]; // the kernel's own driver of such devices; "" = any
	uint16_t rxd, txd, burst;
	uint16_t queues_max;
	uint16_t mtu_max;
	enum mtu_by mtu_by;
	uint32_t offloads; // bit set by offload_name
	enum csum_mode csum;
	enum rss_mode rss;
	uint32_t rss_fields;	// bit set by rss_field_name
	char rss_key[161];	// hex; "" = the PMD's own
	uint16_t rss_key_bytes; // that the device takes; 0 = unknown
	uint16_t reta_size; // entries of the redirection table; 0 = none, or the driver's affair
	enum steering steering;
	uint16_t queue_stats_max; // queues that the PMD's own per-queue counters cover
	uint64_t capabilities;	  // of Linux, that it needs: capability.h; 0 = none, or root
	bool makes_iface;	  // the agent makes the interface: nobody looks for it before
	bool all_queues; // queues must be as many as the interface has: it loses the others' frames
	bool counts_missed;	 // the port counts imissed; else it is unknown, not 0
	bool restart_until_link; // the client end: stop and start the port until the link is up
	bool single_file_segments;
	bool quiet;	   // `pmx prepare` keeps the kernel from what it receives there in vain
	double rated_mpps; // each way; -1 = unknown
	double speed_gbps; // link to assume where the PMD tells none; -1 = unknown
	struct profile_model model[PROFILE_MODELS_MAX]; // ends with name "" unless full
	struct profile_fault fault[PROFILE_FAULTS_MAX]; // ends with text "" unless full
	char notes[2048];
};

// Looks in dirs (ends with NULL) in order, the user's first. Errors name file:line:col, or the
// profiles there are.
int profile_load(const char *name, const char *const *dirs, struct profile *p, struct err *e);
int profile_parse(const char *name, const char *file, const char *text, size_t len,
		  struct profile *p, struct err *e);
// The first profile that lists the PCI id (vendor << 16 | device), by name, with the rating of its
// model if that is listed; else `default`.
int profile_load_pci(uint32_t id, const char *const *dirs, struct profile *p, struct err *e);
// Of one host: by its `driver`, else by what its `device` says. Errors point into the matrix.
int profile_load_host(const struct matrix *m, const struct matrix_host *h, const char *const *dirs,
		      struct profile *p, struct err *e);
// The profile of every host: by its `driver`, else by what its `device` says. *out is
// [m->host_count], owned by the caller. Errors point into the matrix.
int profile_load_all(const struct matrix *m, const char *const *dirs, struct profile **out,
		     struct err *e);

// The profile as YAML that reads back equal; behind each value its line in the file, or "default".
void profile_show(FILE *f, const struct profile *p);
// Names of all profiles in dirs, sorted, once each: owned strings, at most PROFILES_MAX.
#define PROFILES_MAX 256
size_t profile_names(const char *const *dirs, char **name);
void profile_names_free(char **name, size_t n);

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
