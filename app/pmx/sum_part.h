// The part of one host in a summary: what its result says, boiled down to the figures of its flows.
// A result is read, makes its part and is freed, so that of many hosts no more than a few are in
// memory. Pure, and may run for several hosts at once.
#pragma once

#include "names.h"
#include "summary.h"

#include "err.h"
#include "hist.h"
#include "result.h"

#include <stddef.h>
#include <stdint.h>

// A mix of the result: its sizes in ascending order, and where their counters stand in by_size.
struct part_mix {
	struct mix_size *size; // owned
	size_t count;
};

struct part_tx {       // a flow, as its source says; sums over the measured trials
	uint32_t peer; // index in the matrix
	uint32_t layer;
	double on_s; // of the window, in which its layer was on
	uint32_t req_bytes, rep_bytes, streams;
	double rate_pps; // RATE_UNPACED = max
	double due;	 // of a window: requests asked for
	uint64_t sent, unsent, returned, dup, reordered, late, off_queue;
	uint8_t ttl_min, ttl_max;  // 0 = unknown
	uint32_t req_mix, rep_mix; // as in the result
	struct uints *by_size;	   // owned; as in the result, NULL = no mix, or unknown
	double rtt_avg_ns, rtt_p50_ns, rtt_p99_ns, rtt_p999_ns, rtt_max_ns; // NAN = unknown
};

struct part_rx { // as its destination says
	uint32_t peer;
	uint32_t layer;
	double on_s;
	uint32_t req_bytes, rep_bytes;
	uint64_t delivered, replied, reply_unsent, dup, reordered, late;
	uint8_t ttl_min, ttl_max;
	uint32_t req_mix, rep_mix;
	struct uints *by_size;
};

struct sum_part {
	char run_id[NAME_MAX_BYTES];
	bool done;	   // a final result, not a live one
	bool windowed;	   // of the last intervals of its report only (sum_window.h)
	double rate_share; // mean of a ramp while it was measured; 1 without. Not of a report
	struct rotation rotation;
	struct sum_host host; // what needs no other host; its queues are the part's until taken
	struct part_tx *tx;   // owned, and so are the others
	struct part_rx *rx;
	size_t tx_count, rx_count;
	struct part_mix *mix;
	size_t mix_count;
	struct hist_packed *rtt, *lateness; // of all flows; NULL = none
};

// Length of a trial, so far when it still runs; NAN when it did not begin or its end is unknown.
double trial_window_s(const struct result *r, const struct trial *t, uint64_t now_ns);
// What a ramp left of the rates in it; 1 without one, or when window_s is unknown. Who joined a run
// that was under way found the ramp partly risen; the warm-up goes at the share that it begins
// with.
double trial_rate_share(const struct trial *t, const struct ramp *ramp, double window_s);
struct sum_host host_unknown(uint32_t host); // nothing measured of it

// now_ns: as in struct summary_input. 0, -ENOMEM, or -EINVAL when the result is not of this host
// or names one that the matrix has not.
int sum_part_make(const struct names *names, uint32_t host, const struct result *r, uint64_t now_ns,
		  struct sum_part **out, struct err *e);
void sum_part_free(struct sum_part *p); // NULL is fine
