// How the requests of a rate are spread over time, where that is not one by one at even gaps: in
// bursts, at random gaps, at a rate that rises.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define PACING_BURST_MAX 65536
#define PACING_SEED_MAX (UINT64_C(1) << 53)
#define RAMP_STEPS_MAX 1000
#define RAMP_MAX_NS (UINT64_C(86400) * 1000000000)

// Of the gaps between the bursts of a stream; the mean is the rate's.
enum spacing {
	SPACING_EVEN,
	SPACING_UNIFORM, // from 0 to twice the mean
	SPACING_POISSON, // exponential
	SPACINGS,
};
extern const char *const spacing_name[SPACINGS]; // even uniform poisson

// The share of the rate that is sent, by the time since the measured window began: `from` before
// it, then up to 1 at `over_ns`, evenly, or in `steps` levels of the same length, `from` the first
// and 1 the last. In the time of a full rate, which stands still at 0, the schedule is as without
// a ramp; so counts stay exact and gaps keep their distribution.
struct ramp {
	double from;	  // 0..1
	uint64_t over_ns; // 0 = none
	uint32_t steps;	  // 0 = evenly, else 2..RAMP_STEPS_MAX
};

struct pacing {
	uint32_t burst; // requests of one stream back to back; 1 = one by one
	enum spacing spacing;
	uint64_t seed; // of random gaps, else 0
	struct ramp ramp;
};

// Whether there is anything to say: one by one, evenly, at once.
static inline bool pacing_is_plain(const struct pacing *p)
{
	return p->burst <= 1 && p->spacing == SPACING_EVEN && p->ramp.over_ns == 0;
}

// A time t since the window's begin <-> the time that a full rate would take for as many requests:
// the integral of the share. `over` is over_ns in the unit of t, whichever that is. Needs a ramp.
// ramp_at is the inverse: when that many are due; -INFINITY before 0 where `from` is 0.
double ramp_sent(const struct ramp *r, double over, double t);
double ramp_at(const struct ramp *r, double over, double sent);
// Mean share of the rate from one time to another; 1 without a ramp.
double ramp_share(const struct ramp *r, double from_ns, double to_ns);
