// A run that never was: the matrix of a full mesh and what its agents would have counted,
// everything sent, delivered, answered and returned. Tests then take packets away.
#pragma once

#include "matrix.h"
#include "result.h"
#include "summary.h"

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct mesh_spec {
	size_t hosts;
	size_t queues;	    // of each host; 0 = 1
	double pps;	    // of each flow; RATE_UNPACED = max
	uint64_t window_ns; // of the measured trial; 0 = 10 s
	bool rtt;	    // histograms, too
};

struct mesh_run {
	struct matrix matrix;
	struct result *result;	     // [hosts]
	const struct result **given; // [hosts], what the summary gets: set one NULL for a dead host
	const char **failure;	     // [hosts]
	uint64_t *now_ns;	     // [hosts]
	double skew_ns, skew_error_ns;
	size_t hosts;
};

// Trial 0 is the warm-up, with counts of its own that must not be seen; trial 1 is measured.
#define MESH_TRIALS 2
#define MESH_MEASURED 1
#define MESH_START_NS 5000000000u

void mesh_run_make(struct mesh_run *r, const struct mesh_spec *spec);
// Three hosts with a little of everything that can go wrong.
void mesh_three_make(struct mesh_run *r);
void mesh_run_free(struct mesh_run *r);
// The measured counts of a flow, at its source and at its destination.
struct tx_counts *mesh_tx(struct mesh_run *r, size_t src, size_t dst);
struct rx_counts *mesh_rx(struct mesh_run *r, size_t src, size_t dst);
// Replaces the histogram of a flow; takes it over.
void mesh_set_rtt(struct mesh_run *r, size_t src, size_t dst, struct hist_packed *rtt);
// Takes packets away on the way there, or back, and keeps the accounts right.
void mesh_lose_forward(struct mesh_run *r, size_t src, size_t dst, uint64_t n);
void mesh_lose_back(struct mesh_run *r, size_t src, size_t dst, uint64_t n);
// Requests that were due and not sent.
void mesh_leave_unsent(struct mesh_run *r, size_t src, size_t dst, uint64_t n);
// Deals the hosts' counts out to their queues, as evenly as it goes: after all of the above.
void mesh_fill_queues(struct mesh_run *r);
// What summary_build gets of it.
struct summary_input mesh_input(const struct mesh_run *r);
// Must succeed; the caller frees.
void mesh_summarize(struct mesh_run *r, struct summary *s);
// A flow of a summary.
struct sum_flow *mesh_flow(struct summary *s, uint32_t src, uint32_t dst);
// The verdict must be this (enum pmx_exit), in a line that has these words.
void mesh_verdict_is(const struct summary *s, int want, const char *words);
