#include "shuffle.h"

static uint64_t next(struct shuffle *s)
{
	uint64_t z = s->state += 0x9e3779b97f4a7c15;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
	z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
	return z ^ (z >> 31);
}

// 0..n-1 without the bias of a bare remainder: what lies beyond its last whole round is drawn
// again.
static uint32_t below(struct shuffle *s, uint32_t n)
{
	uint64_t excess = -(uint64_t)n % n, draw;

	do
		draw = next(s);
	while (draw < excess);
	return (uint32_t)(draw % n);
}

void shuffle_order(struct shuffle *s, uint32_t *order, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		uint32_t j = below(s, i + 1);

		if (j != i)
			order[i] = order[j];
		order[j] = i;
	}
}
