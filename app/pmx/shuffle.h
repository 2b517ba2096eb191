// A seeded order of n things: the same on every machine and in every version. Pure.
#pragma once

#include <stdint.h>

struct shuffle {
	uint64_t state; // the seed
};

// Writes 0..n-1 into order[n], every order as likely as another (Fisher-Yates over splitmix64,
// Steele et al. 2014). The next call of the same shuffle gives another order.
void shuffle_order(struct shuffle *s, uint32_t *order, uint32_t n);
