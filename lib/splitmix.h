// splitmix64 (Steele, Lea, Flood 2014): 64 bits a call from a state that is any number, the same on
// every machine.
#pragma once

#include <stdint.h>

// What scatters a number: equal ones to equal, near ones far apart.
static inline uint64_t splitmix_mix(uint64_t z)
{
	z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
	return z ^ (z >> 31);
}

static inline uint64_t splitmix_next(uint64_t *state)
{
	return splitmix_mix(*state += UINT64_C(0x9e3779b97f4a7c15));
}

// (0, 1], in steps of 2^-53.
static inline double splitmix_unit(uint64_t *state)
{
	return (double)((splitmix_next(state) >> 11) + 1) * 0x1p-53;
}

// 0..n-1 without the bias of a bare remainder: what lies beyond its last whole round is drawn
// again.
static inline uint32_t splitmix_below(uint64_t *state, uint32_t n)
{
	uint64_t excess = -(uint64_t)n % n, draw;

	do
		draw = splitmix_next(state);
	while (draw < excess);
	return (uint32_t)(draw % n);
}
