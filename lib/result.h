// Result: what one agent counted, raw. Counters and histogram buckets, never only rates.
//
// For each flow and trial, after the drain:
//   requester:  target >= sent + unsent (equal when paced)
//   across:     sent = delivered + lost forward; delivered = replied + reply_unsent;
//               replied = returned + lost back
// Duplicates, reordered, late, foreign and malformed never offset a loss.
#pragma once

#include "err.h"
#include "hist.h"
#include "hostcfg.h"
#include "rotation.h"

#include <jansson.h>
#include <stdint.h>

#define RESULT_VERSION 3
#define COUNTER_UNKNOWN UINT64_MAX // not measured: null in JSON, never 0

enum trial_kind { TRIAL_WARMUP, TRIAL_MEASURE };

struct trial {
	uint8_t id; // as on the wire
	enum trial_kind kind;
	// ns of the agent's CLOCK_MONOTONIC_RAW; 0 = did not happen (yet). `end` is when requests
	// stopped being due, also when cut short; `close` when counting ended.
	uint64_t start_ns, end_ns, close_ns;
	uint64_t rotated_ns; // of the rotation, over when it began: by an agent that joined
};

struct tx_counts { // one flow, one trial, at the requester
	uint64_t sent, unsent, returned, dup, reordered, late, off_queue;
	struct hist_packed *rtt; // owned, NULL = none recorded
	struct uints *by_size;	 // owned, NULL = no mix: `sent` of each size, then `returned`
};

struct rx_counts { // one flow, one trial, at the responder
	uint64_t delivered, replied, reply_unsent, dup, reordered, late;
	struct uints *by_size; // owned, NULL = no mix: `delivered` of each size, then `replied`
};

struct queue_counts { // one queue, one trial
	uint64_t requests_sent, requests_received, replies_sent, replies_received, off_queue;
	uint64_t tx_full;	      // bursts that the PMD did not take whole
	uint64_t busy_tsc, total_tsc; // cycles of loops with work, and of all loops
	uint64_t lcore;		      // CPU it was pinned to
};

// Frames that are none of the run's: why not. Whole run, all queues.
enum drop_reason {
	DROP_L2,	 // other MAC, EtherType
	DROP_VLAN,	 // other tags than ours
	DROP_ADDRESS,	 // IP destination is not ours
	DROP_OWN,	 // from our own address: another host has it, or the network loops
	DROP_PROTOCOL,	 // IP but neither UDP nor answered ICMP
	DROP_PORT,	 // UDP to another port
	DROP_COOKIE,	 // pmx header of another run
	DROP_STREAM,	 // stream not in the plan, or addresses/ports that are not the stream's
	DROP_MALFORMED,	 // short, bad lengths, bad version or kind
	DROP_CHECKSUM,	 // the IPv4 header's; any that the NIC marked bad
	DROP_OPTIONS,	 // IPv4 options, IPv6 extension headers but Fragment
	DROP_FRAGMENT,	 // of no datagram that the plan knows
	DROP_NEIGHBOUR,	 // ARP/ND that gives a known neighbour another MAC, while the old one may
			 // answer
	DROP_SLOW,	 // ARP/ICMP that has no answer here, or more than is taken
	DROP_NOMBUF,	 // no mbuf for a request that was due (it stays due), or for fragments
	DROP_INCOMPLETE, // fragments of a datagram that did not become whole, or had no place
	DROP_REASONS
};
extern const char *const drop_reason_name[DROP_REASONS];

struct port_counts { // as rte_eth_stats_get says, whole run; COUNTER_UNKNOWN where the PMD has none
	uint64_t ipackets, opackets, ibytes, obytes, imissed, ierrors, oerrors, rx_nombuf;
	uint64_t pause_rx, pause_tx;
	uint64_t link_mbps; // COUNTER_UNKNOWN = unknown
	uint64_t mtu;	    // in effect
};

struct icmp_counts {	      // errors that came for packets of ours, whole run
	uint64_t unreachable; // other than:
	uint64_t too_big;     // fragmentation needed, and not allowed
	uint64_t path_mtu;    // the smallest that such a one told; 0 = none did
	uint64_t expired;     // time exceeded: the TTL was too small for the path
};

struct result_hop { // a next hop: a peer of the subnet, or the gateway
	struct ip_addr addr;
	char mac[18];	    // the last known, to which frames go; "" = it never answered
	uint64_t changes;   // of the MAC after the first answer, whole run
	uint64_t silences;  // how often it stopped to answer
	uint64_t silent_ns; // for how long it has not answered; 0 = it does
};

// Each `trial` is owned and has [trial_count] elements.
//
// Counters by size: those of the request's mix in ascending order, then those of the reply's; of
// what has one size only there is none. A packet counts once in each of the two: by the size of the
// request and by that of its reply, also where the one is sent and the other never came to be. So
// for both alone, each counter by size adds up to the flow's.
struct result_flow_tx {
	char peer[NAME_MAX_BYTES];
	uint32_t req_bytes, rep_bytes, streams;
	double rate_pps; // while its layer sends
	uint32_t layer;
	uint8_t ttl_min, ttl_max;  // of the replies that came, whole run; 0 = none did
	uint32_t req_mix, rep_mix; // as in the host config
	struct tx_counts *trial;
};
struct result_flow_rx {
	char peer[NAME_MAX_BYTES];
	uint32_t req_bytes, rep_bytes;
	uint32_t layer;
	uint8_t ttl_min, ttl_max; // of the requests
	uint32_t req_mix, rep_mix;
	struct rx_counts *trial;
};
struct result_queue {
	struct queue_counts *trial;
};

struct result {
	char host[NAME_MAX_BYTES], run_id[NAME_MAX_BYTES];
	char pmx_version[32], dpdk_version[64];
	char state[16];	   // "running", "done"
	char ended_by[16]; // "plan", "stop", "reload", "lease", "signal", "unarmed", "" while
			   // running
	char driver[64], mac[18];
	// What was planned to bring replies back to the queue that asked; whether the port says
	// that it does so (always, with one queue), and why not if that is against the plan.
	enum steering steering;
	bool steered;
	char steering_why[200];
	double tsc_hz;
	struct rotation rotation; // of the measured trial
	struct trial *trial;	  // owned
	size_t trial_count;
	struct size_mix *mix; // owned; what flows refer to
	size_t mix_count;
	struct result_flow_tx *tx; // order of the host config
	size_t tx_count;
	struct result_flow_rx *rx;
	size_t rx_count;
	struct result_queue *queue;
	size_t queue_count;
	uint64_t drop[DROP_REASONS];
	struct port_counts port;
	struct hist *lateness; // measured trial, all queues; NULL = nothing paced
	double cpu_pct, cpu_max_pct, agent_cpu_pct; // of the measured trial; -1 = unknown
	uint64_t cpus;				    // of the box; 0 = unknown
	struct icmp_counts icmp;
	struct result_hop *hop; // owned; by ARP or neighbour discovery
	size_t hop_count;
};

// Widens a range of TTLs by another; a maximum of 0 = none.
static inline void ttl_join(uint8_t *min, uint8_t *max, uint8_t with_min, uint8_t with_max)
{
	if (with_max == 0)
		return;
	*min = *max == 0 || with_min < *min ? with_min : *min;
	*max = with_max > *max ? with_max : *max;
}

// JSON: one key a field, named as the field (trial -> "trials", queue -> "queues"); a counter or a
// percentage that is unknown, an instant that did not come and a histogram without records are
// null; an unpaced rate is "max"; "version": RESULT_VERSION. Counters up to INT64_MAX are exact.
//
// result_alloc makes *r an empty result with every array but the hops in place: counters 0, but
// those of the port and the CPU unknown. 0 or -ENOMEM.
int result_alloc(struct result *r, size_t trials, size_t tx, size_t rx, size_t queues);
// Same contract as hostcfg_read, _load, _write, _free. Histograms travel as in hist_json.h and may
// be in use by their writers.
int result_read(json_t *root, struct result *r, struct err *e);
int result_load(const char *path, struct result *r, struct err *e);
// The same from a text; `name` is for errors.
int result_parse(const char *name, const char *text, size_t len, struct result *r, struct err *e);
json_t *result_write(const struct result *r);
// How many counters by size a flow of these mixes has; 0 without.
uint32_t result_sizes(const struct result *r, uint32_t req_mix, uint32_t rep_mix);
// For how long a layer was on in a trial, up to end_ns.
uint64_t result_on_ns(const struct result *r, const struct trial *t, uint32_t layer,
		      uint64_t end_ns);
void result_free(struct result *r);
