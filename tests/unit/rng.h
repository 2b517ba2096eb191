// A seeded generator (splitmix64): the same numbers on every machine.
#pragma once

#include <stdint.h>

struct rng {
	uint64_t state;
};

// Seeds from $PMX_SEED or the clock and prints the seed, so that a failure can be repeated.
struct rng rng_open(const char *what);
uint64_t rng_next(struct rng *r);
// 0..n-1
uint64_t rng_below(struct rng *r, uint64_t n);
