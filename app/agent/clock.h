// TSC against CLOCK_MONOTONIC_RAW. EAL's own estimate is rounded to 10 MHz, too coarse to pace by.
#pragma once

#include <stdint.h>

__extension__ typedef unsigned __int128 uint128;

struct clock {
	uint64_t first_tsc, first_ns; // one instant
	uint64_t last_tsc, last_ns;   // a later one
	double tsc_hz;		      // between the two
};

// CLOCK_MONOTONIC_RAW in ns.
uint64_t clock_now_ns(void);
// Takes the first instant; clock_settle takes the last and the rate, waiting until at least 100 ms
// lie between the two. Error of the rate: about 100 ns over that time.
void clock_start(struct clock *c);
void clock_settle(struct clock *c);
uint64_t clock_to_tsc(const struct clock *c, uint64_t ns);
uint64_t clock_to_ns(const struct clock *c, uint64_t tsc);

// ns of a TSC difference; mult = 2^32 / (cycles per ns).
static inline uint64_t tsc_scale_ns(uint64_t tsc, uint64_t mult)
{
	return (uint64_t)((uint128)tsc * mult >> 32);
}
