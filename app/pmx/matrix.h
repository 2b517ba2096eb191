// The matrix as written: what the YAML says, with defaults filled in and nothing decided yet. Only
// this module knows YAML's shape; every error is `file:line:col: what, the value, the right form`.
#pragma once

#include "pos.h"

#include "err.h"
#include "hostcfg.h"
#include "parse.h"
#include "rotation.h"
#include "size_mix.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MATRIX_VERSION 1
#define HOSTS_MAX 4096
#define SEED_MAX (1ull << 53) // the whole numbers of JSON
#define SOCKET_NAME_MAX 107   // sun_path without its NUL
#define SIZE_WORDS_MAX 160
#define PAIR_STREAMS_MAX 16384 // source ports of a pair: as many as 49152..65535

enum transport { TRANSPORT_SSH, TRANSPORT_LOCAL };
enum pattern {
	PATTERN_MESH, // every ordered pair, or `peers` of each host
	PATTERN_CELLS,
	PATTERN_PAIRS,	     // first and second host, third and fourth, ..., both ways
	PATTERN_ONE_TO_MANY, // each hub to every other host
	PATTERN_MANY_TO_ONE, // every other host to each hub
	PATTERN_HALVES,	     // the first half of the hosts with the second, both ways
	PATTERN_COUNT,
};
extern const char *const pattern_name[PATTERN_COUNT];
enum stamp { STAMP_BURST, STAMP_PACKET, STAMP_COUNT }; // how often the send instant is read

// What the text of `device` names.
enum device_kind {
	DEVICE_NONE,  // nothing
	DEVICE_VDEV,  // net_...: a DPDK vdev, as written
	DEVICE_PCI,   // 0000:3b:00.0 or 3b:00.0, devargs may follow a comma
	DEVICE_IFACE, // a kernel interface
	DEVICE_NET,   // a data subnet: the interface that has an address of it
	DEVICE_BAD,
};

// An endpoint: a host's data port. Of a host with `ports:` there is one for each, in a row, named
// host.port; they share the machine, and each has an agent of its own.
struct matrix_host {
	char name[NAME_MAX_BYTES];
	char machine[NAME_MAX_BYTES];  // the host's name; that of the endpoint where it is the only
				       // one
	uint32_t first, ports;	       // of the machine: its first endpoint, and how many
	char ssh[256];		       // [user@]address[:port]; "" with transport local
	char device[DEVICE_MAX_BYTES]; // PCI address, kernel interface, or net_xxx[,devargs] vdev
	uint32_t pci_id; // vendor << 16 | device of a PCI device, once its host was asked; else 0
	char driver[NAME_MAX_BYTES]; // profile; "" = from the device
	char role[16]; // "server" | "client" | "": for cabled vdevs (memif, vhost/virtio)
	struct ip_addr addr;
	unsigned prefix_len;
	struct ip_addr src_addr; // src_count addresses from here on ask; none, 0 = addr does
	uint32_t src_count;
	struct ip_addr gateway;	  // none = there is none
	uint16_t vlan[VLANS_MAX]; // outer first
	size_t vlan_count;
	unsigned pcp; // of the tags
	unsigned queues;
	uint16_t lcores[LCORES_MAX];
	size_t lcore_count;
	unsigned mtu;	   // 0 = profile's / 1500
	double speed_gbps; // of the link; 0 = the profile's
	enum huge_policy hugepages;
	enum idle_policy idle;
	bool idle_set;
	struct pos pos, machine_at; // of the names
	struct { // of the values, in the host or in defaults; line 0 = not written
		struct pos ssh, device, driver, role, addr, addrs, gateway, queues, lcores, mtu,
			idle, vlan, pcp;
	} at;
};

struct matrix_cell { // a flow of its own; with PATTERN_CELLS one that is blank or 0 is not listed
	uint32_t src, dst; // host indexes, never the same
	struct rate rate;
	double line_pct; // > 0: % of the line rate, instead of rate
	uint8_t dscp;	 // the cell's own, or the traffic's
	struct pos pos;	 // of the rate
	struct {
		struct pos rate; // in a cell that is a mapping; line 0 = not written
	} at;
};

struct matrix {
	char file[4096];
	char name[NAME_MAX_BYTES];
	char sha256[65]; // of the file's bytes, hex
	enum transport transport;
	struct {
		char user[64];	     // "" = ssh_config / current user
		uint16_t port;	     // 0 = ssh_config / 22
		char identity[4096]; // "" = agent and default keys
		char config[4096];   // ssh_config file, "" = default
		char known_hosts[4096];
		bool sudo;	     // run the agent by `sudo -n`
		uint64_t connect_ns; // time-out
	} ssh;
	char remote_dir[256];	  // default /var/tmp/pmx
	struct matrix_host *host; // owned
	size_t host_count;
	struct {
		uint32_t req_bytes, rep_bytes;	  // UDP payload; of a mix the largest
		struct size_mix req_mix, rep_mix; // no cycle = all are of one size
		// the mix as a title says it; "" = one size
		char req_words[SIZE_WORDS_MAX], rep_words[SIZE_WORDS_MAX];
		uint8_t dscp; // of requests and replies
		unsigned ttl; // or hop limit, of what is sent
		uint16_t port;
		uint32_t streams;
		uint32_t window; // unpaced pairs: at most so many requests in flight; 0 = open loop
		enum stamp stamp;
		enum pattern pattern;
		struct rate rate; // of each pair, for patterns
		double line_pct;  // > 0: % of the line rate, instead of rate
		// owned, by (src, dst): all there is with PATTERN_CELLS, else what goes before the
		// pattern for that pair (0 = no flow)
		struct matrix_cell *cell;
		size_t cell_count;
		uint32_t peers; // PATTERN_MESH: flows out and in of each host; 0 = all others
		uint64_t seed;	// of the choice of peers
		// Rotation: the layers of `peers` flows a host change every dwell_ns; 0 = none.
		uint64_t dwell_ns;
		bool equal_layers;    // the last layer is padded to `peers`
		bool *hub;	      // owned, [host_count]; NULL with patterns that have none
		struct pacing pacing; // its seed is the one above
		uint64_t gap_ns;      // between bursts: says the rate; 0 = the rate says it
		struct {
			struct pos request, reply, streams, window, pattern, rate, cells;
			struct pos peers, seed, dwell, equal_layers, hub;
			struct pos burst, gap, spacing, ramp;
		} at;
	} traffic;
	struct {
		uint64_t warmup_ns, duration_ns, drain_ns, interval_ns, lease_ns, resolve_ns,
			max_ns;
	} timing;
	struct {
		double loss_pct;     // -1 = none set; over it `run`/`summarize` exit 1
		double rtt_p99_us;   // -1
		double achieved_pct; // -1: sent / target, under it exit 1
	} limits;
};

// 0 or -errno; on failure there is nothing to free. matrix_load takes "-" for stdin.
int matrix_load(const char *path, struct matrix *m, struct err *e);
int matrix_parse(const char *file, const char *text, size_t len, struct matrix *m, struct err *e);
void matrix_free(struct matrix *m);
// The layers that the hosts and peers come to; none without a dwell.
struct rotation matrix_rotation(const struct matrix *m);
// Whether a directory may be remote_dir, which clean removes whole.
#define REMOTE_DIR_FORM \
	"an absolute path at least two deep of letters, digits and '_-+.', as /var/tmp/pmx"
bool remote_dir_ok(const char *dir);
// [user@]address[:port] with a port from 1 to 65535; an IPv6 address with a port stands in
// brackets.
bool ssh_target_ok(const char *s);
#define HOST_NAME_FORM "letters, digits, '.', '_' and '-'"
#define PORT_NAME_FORM "letters, digits, '_' and '-'"
bool host_name_ok(const char *s);
// Whether a word of len bytes names the host: as an endpoint, or as the machine of several.
bool host_is(const struct matrix_host *h, const char *word, size_t len);
// Whether two hosts stand on one machine: ports of one, or any with transport local.
bool matrix_same_machine(const struct matrix *m, size_t a, size_t b);
// Whether the agent's directory is one of its name below remote_dir, or remote_dir itself.
bool host_has_subdir(const struct matrix *m, size_t host);
enum device_kind device_kind(const char *device);
// Bytes that tags and IPv6 add to the frames of a host (encap_bytes); of any host, at most.
uint32_t host_encap(const struct matrix_host *h);
uint32_t matrix_encap(const struct matrix *m);
