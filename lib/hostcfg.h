// Host config: everything one agent must know, decided by the plan; written by pmx, read by the
// agent as JSON. The driver profile is folded in: the agent never asks which driver it drives.
#pragma once

#include "datagram.h"
#include "err.h"
#include "ip_addr.h"
#include "pacing.h"
#include "rotation.h"
#include "size_mix.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HOSTCFG_VERSION 3
#define NAME_MAX_BYTES 64
#define DEVICE_MAX_BYTES 256
#define LCORES_MAX 128
#define LCORES_TAKEN_MAX 512 // of the other agents on a machine
#define SOURCES_MAX 65536
#define BURST_MAX 64
#define FLOWS_MAX 4096	       // each way, of one host
#define SPORTS 16384	       // that source ports are taken from
#define STREAMS_MAX (1u << 22) // indexes each way, of one host
#define WINDOW_MAX (1u << 16)  // requests in flight, of one pair
#define VLANS_MAX 2	       // 802.1Q, and 802.1ad around it
#define VLAN_ID_MAX 4094
#define PCP_MAX 7
#define DSCP_MAX 63
#define RATE_UNPACED (-1.0)

// What an lcore does with an empty poll.
enum idle_policy { IDLE_SPIN, IDLE_YIELD, IDLE_SLEEP, IDLE_POLICIES };
enum huge_policy { HUGE_AUTO, HUGE_YES, HUGE_NO, HUGE_POLICIES };
enum csum_mode { CSUM_SW, CSUM_HW, CSUM_MODES }; // UDP checksum by software or by the NIC
enum rss_mode { RSS_NONE, RSS_ON, RSS_MODES };
// What brings a frame to its queue.
enum steering {
	STEER_NONE,    // nobody knows what
	STEER_RSS,     // Toeplitz hash of addresses and ports
	STEER_RULES,   // flow rules: the requester's port modulo queues
	STEER_KERNEL,  // the kernel's own hash
	STEER_LEARNED, // what comes back goes to the queue that sent
	STEER_PAIRS,   // sent on queue N, received on queue N
	STEERINGS
};
// The words for them in JSON and in YAML.
extern const char *const idle_policy_name[IDLE_POLICIES]; // spin yield sleep
extern const char *const huge_policy_name[HUGE_POLICIES]; // auto yes no
extern const char *const csum_mode_name[CSUM_MODES];	  // sw hw
extern const char *const rss_mode_name[RSS_MODES];	  // none on
extern const char *const steering_name[STEERINGS];	  // none rss rules kernel learned pairs

#define RSS_KEY_HEX_MAX 160
#define RSS_KEY_BYTES 40 // that a hash of IPv6 addresses and ports takes of a key

// How a port that has several queues chooses one by the source port of a request, so that both ends
// can choose ports by it: STEER_RSS with the key, or STEER_RULES without.
struct steer {
	enum steering by;
	uint16_t queues;
	char rss_key[RSS_KEY_HEX_MAX + 1]; // hex
};

// What one agent sends to one peer. Stream s of it (0 <= s < streams) has index tx_first + s here,
// index peer_rx_first + s at the peer, and as its source port one of the SPORTS from sport_first
// on, each its own: both ends choose it alike (app/agent/steer.h). It is sport_first + s where
// neither end's queue hangs on it.
struct flow_tx {
	char peer[NAME_MAX_BYTES];
	struct ip_addr peer_addr;
	uint32_t req_bytes, rep_bytes; // UDP payload; of a mix the largest
	uint32_t req_mix, rep_mix;     // one of `mix`, from 1 on; 0 = all are of one size
	uint8_t dscp;		       // of requests and replies
	uint32_t window;	       // unpaced: at most so many requests in flight; 0 = open loop
	double rate_pps;	       // of the flow, split over its streams; RATE_UNPACED = max
	uint32_t streams;
	uint16_t sport_first;
	uint32_t tx_first;
	uint32_t peer_rx_first;
	uint32_t
		peer_steer; // k: steer[k - 1] is how the peer's queues are chosen; 0 = not by ports
	uint32_t layer;	    // of the rotation in which it sends; 0 without one
};

static inline double flow_stream_rate(const struct flow_tx *f)
{
	return f->rate_pps == RATE_UNPACED ? RATE_UNPACED : f->rate_pps / f->streams;
}

// What one agent answers to one peer: the mirror of that peer's flow_tx.
struct flow_rx {
	char peer[NAME_MAX_BYTES];
	// Stream s asks from peer_addr + (peer_tx_first + s) % peer_sources; see src_addr.
	struct ip_addr peer_addr;
	uint32_t peer_sources;
	uint32_t req_bytes, rep_bytes;
	uint32_t req_mix, rep_mix;
	uint8_t dscp;
	uint32_t streams;
	uint16_t sport_first;
	uint32_t rx_first;
	uint32_t peer_tx_first;
	uint32_t peer_steer;
	uint32_t layer;
};

struct hostcfg {
	char host[NAME_MAX_BYTES];
	char run_id[NAME_MAX_BYTES];
	uint16_t cookie;
	uint32_t host_index, host_count; // for spreading phases

	struct {
		// Exactly one of the two is given: a DPDK vdev ("net_memif0,role=client,...") or
		// what EAL's -a takes (a PCI address with devargs).
		char vdev[DEVICE_MAX_BYTES];
		char pci[DEVICE_MAX_BYTES];
		char profile[NAME_MAX_BYTES]; // for messages only
		// stale socket to remove before the probe, or ""
		char unlink_path[DEVICE_MAX_BYTES];
		bool restart_until_link; // stop/start the port until the link is up (memif client)
		// kernel interface that must have `queues` receive queues, and whose XDP program
		// the agent's end takes off; or ""
		char all_queues_of[NAME_MAX_BYTES];
		bool counts_missed; // imissed is counted: 0 means none
		uint16_t queues, rxd, txd, burst, mtu;
		enum csum_mode csum;
		enum rss_mode rss;
		char rss_key[RSS_KEY_HEX_MAX + 1]; // hex, or "" = the PMD's own
		enum steering steering;		   // as planned; the agent says if it is not so
		bool single_file_segments;	   // EAL option that vhost-user peers need
	} port;

	enum huge_policy hugepages;
	uint32_t memory_mb; // taken where there are no hugepages; 0 = computed
	enum idle_policy idle;
	// CPU of queue q; fewer than queues = the agent chooses the rest
	uint16_t lcores[LCORES_MAX];
	size_t lcore_count;
	// Other agents on this machine: CPUs that were named for them, which this one does not
	// choose, and how many those before it choose.
	uint16_t lcores_taken[LCORES_TAKEN_MAX];
	size_t lcore_taken_count;
	uint32_t lcores_before;

	struct ip_addr addr;
	uint8_t prefix_len;
	// Requests come from src_count addresses from src_addr on, stream index i from the one at
	// i % src_count; they differ in their last 32 bits. 0 = all from addr.
	struct ip_addr src_addr;
	uint32_t src_count;
	struct ip_addr gateway;	  // none = all peers are neighbours
	uint16_t vlan[VLANS_MAX]; // ids of the tags, outer first; vlan_count of them
	size_t vlan_count;
	uint8_t pcp; // of the tags
	uint8_t ttl; // of what is sent, or hop limit
	uint16_t udp_port;
	bool stamp_each; // send instant of each packet, not of its burst

	// Trials follow each other without a gap: trial 0 is the warm-up if warmup_ns > 0, then the
	// measured one. A trial closes drain_ns after its end.
	uint64_t warmup_ns, duration_ns, drain_ns;
	// Of the measured trial; in the warm-up the first layer sends.
	struct rotation rotation;
	struct pacing pacing; // of the flows that have a rate
	uint64_t interval_ns; // of the report rows; 0 = none
	uint64_t lease_ns;    // the agent ends itself when not renewed for so long; 0 = no lease
	uint64_t resolve_ns;  // how long neighbours may take to answer

	struct size_mix *mix; // owned; what flows refer to
	size_t mix_count;
	struct steer *steer; // of the peers; owned; NULL when 0
	size_t steer_count;
	struct flow_tx *tx; // owned; NULL when 0
	size_t tx_count;
	struct flow_rx *rx;
	size_t rx_count;
};

// The address that the requests of stream index i come from, of `count` from `first` on.
struct ip_addr source_addr(const struct ip_addr *first, uint32_t count, uint32_t i);
bool source_has(const struct ip_addr *first, uint32_t count, const struct ip_addr *a);
// The same of one host: that of its stream i, and whether an address is its own.
struct ip_addr hostcfg_source(const struct hostcfg *c, uint32_t i);
bool hostcfg_owns(const struct hostcfg *c, const struct ip_addr *a);

// JSON: one key a field, named as the field; enums by their words, addresses as in ip_addr.h, no
// gateway or source is null, an unpaced rate is "max", and "version": HOSTCFG_VERSION.
//
// Reads and checks every field and range; unknown, missing and duplicate keys are refused, and so
// are streams that overlap (tx and rx stand in the order of their first index), ports above 65535,
// payloads of more frames than can be put together, and mixes that are none of `mix`. 0, or -EINVAL
// (-ENOMEM, ...) with the JSON path of the fault. On failure *c is empty. hostcfg_free ends what
// *_read filled; of an empty one it does nothing.
int hostcfg_read(json_t *root, struct hostcfg *c, struct err *e);
int hostcfg_load(const char *path, struct hostcfg *c, struct err *e);
// A new reference; keys in a fixed order, so equal configs give equal bytes (json_dumps without
// JSON_SORT_KEYS keeps it). NULL on no memory, or when a string is not UTF-8.
json_t *hostcfg_write(const struct hostcfg *c);
void hostcfg_free(struct hostcfg *c);
// What the host sends by, and whether any of its datagrams, own or received, takes more than one
// frame.
struct sender hostcfg_sender(const struct hostcfg *c);
bool hostcfg_fragments(const struct hostcfg *c);
