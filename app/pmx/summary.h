// Summary: what the run says. A pure function of the matrix, the plan's flows and the results of
// the hosts (NULL where a host gave none). All renderers show the cells of this struct.
#pragma once

#include "matrix.h"
#include "result.h"

#include "err.h"

// Not measured: shown blank, null in JSON. Doubles use NAN for it, counters COUNTER_UNKNOWN.

struct sum_flow {
	uint32_t src, dst;
	uint32_t req_bytes, rep_bytes;
	double target_pps;  // NAN = unpaced
	uint64_t target;    // packets due in the window; COUNTER_UNKNOWN = unpaced or not measured
	uint64_t sent, unsent, delivered, replied, reply_unsent, returned;
	uint64_t lost_forward, lost_back;
	uint64_t dup_forward, dup_back, reordered_forward, reordered_back, late_forward, late_back;
	double sent_pps, returned_pps, loss_pct, loss_forward_pct, loss_back_pct;
	double rtt_avg_ns, rtt_p50_ns, rtt_p99_ns, rtt_p999_ns, rtt_max_ns;
};

struct sum_queue {
	uint32_t index;
	uint64_t lcore;
	uint64_t requests_sent, requests_received, replies_sent, replies_received, off_queue, tx_full;
	double busy_pct;
};

struct sum_host {
	uint32_t host;        // index in the matrix
	bool measured;
	char failure[ERR_MAX]; // why not, "" if unknown
	double window_s;
	uint64_t sent, unsent, delivered_to, returned, served, replied; // delivered_to: its requests, at the peers
	uint64_t lost_forward, lost_back;
	double sent_pps, returned_pps, served_pps, egress_l1_bps, ingress_l1_bps;
	double loss_pct, rtt_p99_ns, cpu_pct, cpu_max_pct, busy_pct; // busy_pct: busiest queue's lcore
	uint32_t busiest_queue;
	double lateness_p99_ns, lateness_max_ns;
	struct sum_queue *queue; // owned
	size_t queue_count;
	uint64_t drop[DROP_REASONS];
	struct port_counts port;
};

struct summary {
	const struct matrix *matrix; // borrowed
	char run_id[NAME_MAX_BYTES];
	double window_s;      // mean of the hosts' measured windows
	double skew_ns, skew_error_ns; // of the start, NAN = unknown
	bool partial;         // a host or a flow is missing
	bool running;         // live figures: the identity is not closed yet
	size_t host_count, flow_count, measured_hosts;
	struct sum_host *host; // owned, matrix order
	struct sum_flow *flow; // owned, by (src, dst)
	struct sum_flow total; // src/dst unused; percentiles of the merged histogram
	uint32_t rtt_worst_flow; // index; UINT32_MAX = none
	double request_l1_bps, request_payload_bps, reply_l1_bps, reply_payload_bps;
	bool identity;        // the accounting identity closed for every complete flow
};

struct summary_input {
	const struct matrix *matrix;
	const struct result *const *result; // [host_count]; NULL = none
	const char *const *failure;         // [host_count]; NULL = none
	double skew_ns, skew_error_ns;
};

int summary_build(const struct summary_input *in, struct summary *s, struct err *e);
void summary_free(struct summary *s);
