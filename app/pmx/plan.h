// Plan: every flow, stream, queue, port and rate, decided. A pure function of the matrix, the
// profiles and the run's identity: same input, same plan, byte for byte.
#pragma once

#include "hostcfg.h"
#include "matrix.h"
#include "profile.h"

#include "err.h"

struct plan_flow {
	uint32_t src, dst; // host indexes of the matrix
	uint32_t layer;	   // of a rotation; 0 without one
	uint32_t req_bytes, rep_bytes;
	double rate_pps; // RATE_UNPACED = max
	uint8_t dscp;	 // of requests and replies
	uint32_t streams;
	uint16_t sport_first;
	uint32_t tx_slot, rx_slot;   // index in the source's tx[] and the destination's rx[]
	uint32_t tx_first, rx_first; // stream indexes at the source and at the destination
};

struct plan_input {
	const struct matrix *matrix;
	const struct profile *profile; // [host_count], by host
	const bool *excluded; // [host_count] or NULL: hosts left out (dead); their flows go too
	uint16_t cookie;
	char run_id[NAME_MAX_BYTES];
	unsigned local_cpus;		 // CPUs of this machine, for transport local
	uint64_t warmup_ns, duration_ns; // as decided by options or matrix
	uint64_t lease_ns;
	bool flows_only; // host configs without tx and rx: for whoever only looks at the plan
};

struct plan {
	const struct matrix *matrix; // borrowed
	struct plan_flow *flow;	     // owned, by (src, dst, layer)
	size_t flow_count;
	uint32_t layers;      // of a rotation; 1 without one
	struct hostcfg *host; // owned, [host_count]; an excluded host's has host[0] == '\0'
	size_t host_count;
};

// Errors point into the matrix (file:line:col) where a line is to blame.
int plan_build(const struct plan_input *in, struct plan *p, struct err *e);
void plan_free(struct plan *p);
