#include "rng.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

struct rng rng_open(const char *what)
{
	const char *given = getenv("PMX_SEED");
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	uint64_t seed = given != NULL ? strtoull(given, NULL, 0)
				      : (uint64_t)now.tv_sec * 1000000007u ^ (uint64_t)now.tv_nsec;
	printf("%s: PMX_SEED=%" PRIu64 "\n", what, seed);
	fflush(stdout);
	return (struct rng){ .state = seed };
}

uint64_t rng_next(struct rng *r)
{
	uint64_t z = r->state += UINT64_C(0x9e3779b97f4a7c15);

	z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
	return z ^ z >> 31;
}

uint64_t rng_below(struct rng *r, uint64_t n)
{
	return rng_next(r) % n;
}
