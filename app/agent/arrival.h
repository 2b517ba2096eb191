// Arrivals: the schedule of a group that does not send one by one at even gaps. Its unit is a burst
// of `pacing.burst` packets of one stream, all due at once; one follows another after a gap that is
// even or drawn. A ramp is a clock that runs slower: gaps are laid out in the time of a full rate
// (`at`), and ramp_at says when that is. So whatever was due by an instant is the integral of the
// rate, and each step is O(1).
//
// Streams of a group have exponential gaps each when the gaps of all are exponential and each burst
// draws its stream; even gaps give even ones when they take turns. Uniform ones have no such sum:
// there a group is one stream.
//
// Gaps are drawn by inversion (Devroye, Non-Uniform Random Variate Generation, 1986, II.2) of 53
// bits of splitmix64. The first is that of a process that has gone on for ever (the residual life,
// density (1 - F(x)) / mean), so that a window's expectation is rate x time whatever its length.
// What was drawn is the plan: what was due of it and did not go is unsent.
//
// After a stall the schedule is replayed at most at twice its speed, gaps and all; a burst goes
// whole.
#pragma once

#include "pace.h"

struct arrival {
	struct pace_time at;   // of the next burst in the time of a full rate, from ramp_start
	struct pace_time step; // mean gap
	double mean;	       // the same, cycles
	double first;	       // of random gaps: drawn for the window's begin
	uint64_t random;
	uint32_t left; // packets of the burst that is due
};

// Gives every group of p an arrival. hash: seeds of groups of other queues and hosts differ.
int arrival_alloc(struct pace *p, const struct pacing *pacing, uint64_t hash);
// Sets the mean gap of a group that sends `pps` packets a second; ramp_start and ramp_tsc are set.
void arrival_set_rate(struct pace *p, struct pace_group *g, double pps, double tsc_hz);
// As pace_open, pace_shift and pace_first_due, of one group.
void arrival_open(struct pace *p, struct pace_group *g, uint64_t start, double phase);
void arrival_shift(struct pace *p, struct pace_group *g, uint64_t from, uint64_t to);
uint64_t arrival_first_due(const struct pace *p, const struct pace_group *g, uint64_t start,
			   double phase);
// As pace_take; stream[] tells which of the queue's streams sends each packet.
uint32_t arrival_take(struct pace *p, struct pace_group *g, uint64_t now, uint32_t max,
		      uint32_t *stream);
// The packets of one burst that was due before the end and did not go, of *stream; moves on past
// it. 0 = none is left.
uint32_t arrival_skip(struct pace *p, struct pace_group *g, uint32_t *stream);
// All whole bursts that are left of these, counted by the mean gap, from the stream at g->cursor on
// in turns; moves on past them. In O(1): a sender that could not keep up for a day leaves more than
// can be gone through one by one.
uint64_t arrival_skip_rest(struct pace *p, struct pace_group *g);
