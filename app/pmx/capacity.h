// Capacity: what a plan asks of every host's NIC, each way, against what it is rated at. A host
// sends its own requests and the replies that it owes, and receives the others' requests and the
// replies to its own. Of a rotation one layer is at work at a time: each host is shown in the layer
// that asks most of it. Pure.
#pragma once

#include "plan.h"
#include "profile.h"

#include "err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum fit {
	FIT_OK,
	FIT_OVER,
	FIT_UNPACED, // a flow of it takes what it gets: there is no load to compare
	FIT_UNRATED, // nothing to compare with
	FIT_COUNT,
};
extern const char *const fit_name[FIT_COUNT];

struct capacity_host {
	char name[NAME_MAX_BYTES];
	uint64_t layer; // whose flows and rates these are; COUNTER_UNKNOWN without a rotation
	uint64_t flows_out, flows_in;
	// packets/s; NAN with an unpaced flow
	double requests_pps, owed_pps; // sent: requests of its own, replies to the others'
	double tx_pps, rx_pps;
	double tx_l1_bps, rx_l1_bps;
	double rated_pps, rated_bps; // each way; NAN = unknown
	double load_pct;	     // the highest share of a rating; NAN = unknown
	char limit[16];		     // that one: "tx pps", "rx Gb/s"; "" = none
	enum fit fit;
};

struct capacity {
	struct capacity_host *host; // owned, [host_count]
	size_t host_count;
	size_t over, unpaced, unrated; // hosts
	size_t worst;		       // host with the highest load; SIZE_MAX = none known
	// Of all hosts, in the fullest layer; NAN with an unpaced flow.
	double requests_pps;
	double l1_bps; // requests and replies
	double scale;  // what every rate may be multiplied by; NAN = unknown
};

// nic_gbps (L1) and nic_mpps: rating of every NIC each way, <= 0 = the profile's. profile is
// [host_count], by host.
int capacity_build(const struct plan *p, const struct profile *profile, double nic_gbps,
		   double nic_mpps, struct capacity *c, struct err *e);
void capacity_free(struct capacity *c);
