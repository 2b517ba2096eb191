// The matrix as written: what the YAML says, with defaults filled in and nothing decided yet. Only
// this module knows YAML's shape; every error is `file:line:col: what, the value, the right form`.
#pragma once

#include "hostcfg.h"

#include "err.h"
#include "parse.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HOSTS_MAX 4096

enum transport { TRANSPORT_SSH, TRANSPORT_LOCAL };
enum pattern { PATTERN_MESH, PATTERN_CELLS, PATTERN_COUNT };
extern const char *const pattern_name[PATTERN_COUNT];

struct pos {
	int line, col; // from 1
};

struct matrix_host {
	char name[NAME_MAX_BYTES];
	char ssh[256];     // [user@]address[:port]; "" with transport local
	char device[DEVICE_MAX_BYTES]; // PCI address, kernel interface, or net_xxx[,devargs] vdev
	char driver[NAME_MAX_BYTES];   // profile; "" = from the device
	char role[16];     // "server" | "client" | "": for cabled vdevs (memif, vhost/virtio)
	uint32_t addr;
	unsigned prefix_len;
	uint32_t gateway;  // 0 = none
	unsigned queues;
	uint16_t lcores[LCORES_MAX];
	size_t lcore_count;
	unsigned mtu;      // 0 = profile's / 1500
	enum huge_policy hugepages;
	enum idle_policy idle;
	bool idle_set;
	struct pos pos;
};

struct matrix_cell { // explicit flow; a cell that is blank or 0 is not listed
	uint32_t src, dst; // host indexes
	struct rate rate;
	struct pos pos;
};

struct matrix {
	char file[4096];
	char name[NAME_MAX_BYTES];
	char sha256[65]; // of the file's bytes, hex
	enum transport transport;
	struct {
		char user[64];         // "" = ssh_config / current user
		uint16_t port;         // 0 = ssh_config / 22
		char identity[4096];   // "" = agent and default keys
		char config[4096];     // ssh_config file, "" = default
		char known_hosts[4096];
		bool sudo;             // run the agent by `sudo -n`
		uint64_t connect_ns;   // time-out
	} ssh;
	char remote_dir[256];  // default /var/tmp/pmx
	struct matrix_host *host; // owned
	size_t host_count;
	struct {
		uint32_t req_bytes, rep_bytes; // UDP payload
		uint16_t port;
		uint32_t streams;
		enum pattern pattern;
		struct rate rate;       // of each pair, for patterns
		struct matrix_cell *cell; // owned; PATTERN_CELLS
		size_t cell_count;
	} traffic;
	struct {
		uint64_t warmup_ns, duration_ns, drain_ns, interval_ns, lease_ns, resolve_ns, max_ns;
	} timing;
	struct {
		double loss_pct;     // -1 = none set; over it `run`/`summarize` exit 1
		double rtt_p99_us;   // -1
		double achieved_pct; // -1: sent / target, under it exit 1
	} limits;
};

int matrix_load(const char *path, struct matrix *m, struct err *e);
int matrix_parse(const char *file, const char *text, size_t len, struct matrix *m, struct err *e);
void matrix_free(struct matrix *m);
