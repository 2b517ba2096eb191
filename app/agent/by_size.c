#include "by_size.h"

#include <stdbool.h>

#define PLACES (UINT64_C(1) << 32)

// A run of places, of which each cycle has the same: whole ones, and places from `at` to `end`,
// which is in the next cycle where it is above z->cycle.
struct part {
	uint64_t whole;
	uint32_t at, end;
};

// The first of n packets from place *from on that are of one run: places begin anew after 2^32, in
// the middle of a cycle. Both go on by it.
static struct part next_part(const struct sizes *z, uint64_t *from, uint64_t *n)
{
	uint64_t run = *n < PLACES - *from ? *n : PLACES - *from;
	struct part p = { .whole = run / z->cycle, .at = (uint32_t)(*from % z->cycle) };
	p.end = p.at + (uint32_t)(run % z->cycle);
	*n -= run;
	*from = 0;
	return p;
}

void by_size_add(uint64_t *change, const struct sizes *z, uint32_t place, uint64_t n)
{
	uint64_t from = place;
	while (n > 0) {
		struct part p = next_part(z, &from, &n);
		bool round = p.end > z->cycle;
		change[0] += p.whole + round;
		change[p.at]++;
		change[round ? p.end - z->cycle : p.end]--;
	}
}

void by_size_take(uint64_t *change, const struct sizes *z, uint64_t *count)
{
	uint64_t here = 0;
	for (uint32_t i = 0; i < z->cycle; i++) {
		here += change[i];
		count[z->turn[i]] += here;
		change[i] = 0;
	}
	change[z->cycle] = 0;
}

uint64_t by_size_sum(const uint64_t *before, const struct sizes *z, uint32_t place, uint64_t n)
{
	uint64_t from = place, cycle = before[z->cycle], sum = 0;
	while (n > 0) {
		struct part p = next_part(z, &from, &n);
		bool round = p.end > z->cycle;
		sum += (p.whole + round) * cycle - before[p.at] +
		       before[round ? p.end - z->cycle : p.end];
	}
	return sum;
}
