// Pacing: open loop by schedule. Streams of one rate form a group that sends them in turn, one
// every `interval`; groups wait in a heap by the instant at which they may send next, so a group
// that is not due costs nothing and nothing is divided on the way. Of a rotation's groups only
// those of the layer that sends are in the heap.
//
// A sender that was stalled is late, which is recorded, and catches up at no more than twice its
// rate (`gate`): no burst of hoarded credit. What is still not sent when a trial's grace is over is
// unsent, never lost.
//
// A group that does not send one by one at even gaps has an `arrival` (arrival.h), which says when
// it is due next.
#pragma once

#include "pacing.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// The gate forgives gaps between polls up to this, so a burst of catching up is at most what is due
// in twice the time: at 1 kpps two packets, and never more than twice the plan in any ms above
// that.
#define PACE_SLACK_NS 500e3

// 64.32 fixed point: below 1e-9 of an interval of error a packet would already be 1 ppm at 10 Mpps.
struct pace_time {
	uint64_t tsc;
	uint32_t frac;
};

static inline void pace_add(struct pace_time *t, const struct pace_time *d)
{
	uint32_t frac = t->frac + d->frac;
	t->tsc += d->tsc + (frac < t->frac);
	t->frac = frac;
}

struct pace_group {
	struct pace_time due;	   // of the next packet
	struct pace_time interval; // of the group: 1 / (streams x rate of one); 0 = unpaced, or
				   // what the arrival says
	uint64_t gate;		   // while catching up: not before
	uint32_t first, count;	   // range of the queue's transmit streams
	uint32_t cursor;	   // next of them, 0..count-1
	bool parked;		   // nothing more due in this window
	struct arrival *arrival;   // NULL = one by one at even gaps, or unpaced
};
_Static_assert(sizeof(struct pace_group) == 64, "one cache line");

struct pace {
	struct pace_group *group; // owned
	uint32_t group_count;
	uint32_t *heap; // owned: groups that are not parked, least key first
	uint32_t heap_count;
	uint64_t end;	       // packets due before it are of this window
	uint64_t slack;	       // jitter of polling that the gate forgives
	uint32_t first, count; // groups that may send: a range of `group`
	// where some group has an arrival, else NULL and unused
	struct arrival *arrival; // owned: [group_count]
	struct pacing pacing;
	double ramp_tsc;     // pacing.ramp.over_ns
	uint64_t ramp_start; // TSC
};

static inline bool pace_unpaced(const struct pace_group *g)
{
	return g->interval.tsc == 0 && g->arrival == NULL;
}

static inline bool pace_even(const struct pace_group *g)
{
	return g->interval.tsc != 0;
}

// When a group may send next.
static inline uint64_t pace_key(const struct pace_group *g)
{
	return g->due.tsc > g->gate ? g->due.tsc : g->gate;
}

// Sets the interval of a group that sends `pps` packets a second.
void pace_set_rate(struct pace_group *g, double pps, double tsc_hz);
// Only these groups may send from now on; nothing does before pace_open. All do after pace_alloc.
void pace_select(struct pace *p, uint32_t first, uint32_t count);
// Opens a window [start, end): the first packet of each paced group is due at start + phase x
// interval (0 <= phase < 1), or keeps its place when `keep` (trials back to back).
void pace_open(struct pace *p, uint64_t start, uint64_t end, double phase, bool keep);
// Moves the schedule over a time in which nothing was due: the groups' clock stood still.
void pace_shift(struct pace *p, uint64_t from, uint64_t to);
// When the first packet of a window that starts then is due.
uint64_t pace_first_due(const struct pace *p, const struct pace_group *g, uint64_t start,
			double phase);
// A new, earlier or later, end.
void pace_move_end(struct pace *p, uint64_t end);
void pace_sift_down(struct pace *p);
void pace_park_top(struct pace *p);
// Packets of an even group that were due before the end and did not go.
uint64_t pace_backlog(const struct pace_group *g, uint64_t end);
// Moves its schedule on by n packets that will never go.
void pace_skip(struct pace_group *g, uint64_t n);
int pace_alloc(struct pace *p, uint32_t groups);
void pace_free(struct pace *p);

// The group at the top if it may send at `now`, else NULL. Groups that reached the end are parked
// on the way.
static inline struct pace_group *pace_top(struct pace *p, uint64_t now)
{
	while (p->heap_count > 0) {
		struct pace_group *g = &p->group[p->heap[0]];
		if (g->due.tsc >= p->end || (pace_unpaced(g) && now >= p->end)) {
			pace_park_top(p);
			continue;
		}
		return pace_key(g) <= now ? g : (struct pace_group *)0;
	}
	return (struct pace_group *)0;
}

// How many of an even group's packets may go at `now`, at most `max`; moves the schedule past them.
// g is the top; call pace_sift_down afterwards.
static inline uint32_t pace_take_even(struct pace *p, struct pace_group *g, uint64_t now,
				      uint32_t max)
{
	uint64_t half = g->interval.tsc / 2;
	uint64_t gate = g->gate + p->slack > now ? g->gate : now - p->slack;
	uint32_t n = 0;
	while (n < max && g->due.tsc <= now && gate <= now && g->due.tsc < p->end) {
		pace_add(&g->due, &g->interval);
		gate += half;
		n++;
	}
	g->gate = gate;
	return n;
}

static inline uint32_t pace_take_unpaced(struct pace_group *g, uint64_t now, uint32_t max)
{
	g->due.tsc = now; // behind every paced group that is due
	return max;
}

// The same of any group without an arrival.
static inline uint32_t pace_take(struct pace *p, struct pace_group *g, uint64_t now, uint32_t max)
{
	return pace_even(g) ? pace_take_even(p, g, now, max) : pace_take_unpaced(g, now, max);
}
