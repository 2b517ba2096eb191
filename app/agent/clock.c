#include "clock.h"

#include <rte_cycles.h>

#include <time.h>

#define BASELINE_NS 100000000ull

uint64_t clock_now_ns(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC_RAW, &t);
	return (uint64_t)t.tv_sec * 1000000000ull + (uint64_t)t.tv_nsec;
}

// Both clocks at one instant: of some tries the one with the shortest gap between two TSC reads.
static void read_pair(uint64_t *tsc, uint64_t *ns)
{
	uint64_t best = UINT64_MAX;
	for (int i = 0; i < 32; i++) {
		uint64_t before = rte_rdtsc_precise();
		uint64_t t = clock_now_ns();
		uint64_t gap = rte_rdtsc_precise() - before;
		if (gap >= best)
			continue;
		best = gap;
		*tsc = before + gap / 2;
		*ns = t;
	}
}

void clock_start(struct clock *c)
{
	read_pair(&c->first_tsc, &c->first_ns);
	c->last_tsc = c->first_tsc;
	c->last_ns = c->first_ns;
	c->tsc_hz = (double)rte_get_tsc_hz();
}

void clock_settle(struct clock *c)
{
	uint64_t now = clock_now_ns();
	if (now < c->first_ns + BASELINE_NS) {
		struct timespec t = { .tv_nsec = (long)(c->first_ns + BASELINE_NS - now) };
		nanosleep(&t, NULL);
	}
	read_pair(&c->last_tsc, &c->last_ns);
	c->tsc_hz = (double)(c->last_tsc - c->first_tsc) * 1e9 / (double)(c->last_ns - c->first_ns);
}

uint64_t clock_to_tsc(const struct clock *c, uint64_t ns)
{
	double diff = (double)(int64_t)(ns - c->last_ns) * c->tsc_hz / 1e9;
	return c->last_tsc + (uint64_t)(int64_t)diff;
}

uint64_t clock_to_ns(const struct clock *c, uint64_t tsc)
{
	double diff = (double)(int64_t)(tsc - c->last_tsc) * 1e9 / c->tsc_hz;
	return c->last_ns + (uint64_t)(int64_t)diff;
}
