// Round trip of a cache line between two CPUs: probe CPU CPU. Prints cycles of the TSC, the median
// of short rounds: how far apart the two cores are at the moment.
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <x86intrin.h>

#define ROUNDS 101
#define TRIPS 200

static _Alignas(128) _Atomic uint32_t ball;
static _Alignas(128) int cpu[2];

static void pin(int c)
{
	cpu_set_t set;
	CPU_ZERO(&set);
	CPU_SET(c, &set);
	sched_setaffinity(0, sizeof(set), &set);
}

static void *pong(void *arg)
{
	(void)arg;
	pin(cpu[1]);
	for (uint32_t i = 0; i < ROUNDS * TRIPS; i++) {
		while (atomic_load_explicit(&ball, memory_order_acquire) != 2 * i + 1)
			;
		atomic_store_explicit(&ball, 2 * i + 2, memory_order_release);
	}
	return NULL;
}

static int by_size(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;
	return *x < *y ? -1 : *x > *y;
}

int main(int argc, char **argv)
{
	uint64_t took[ROUNDS];
	pthread_t other;
	if (argc != 3) {
		fprintf(stderr, "usage: probe CPU CPU\n");
		return 2;
	}
	cpu[0] = atoi(argv[1]);
	cpu[1] = atoi(argv[2]);
	pin(cpu[0]);
	if (pthread_create(&other, NULL, pong, NULL) != 0)
		return 1;
	for (uint32_t r = 0, i = 0; r < ROUNDS; r++) {
		uint64_t begin = __rdtsc();
		for (uint32_t k = 0; k < TRIPS; k++, i++) {
			atomic_store_explicit(&ball, 2 * i + 1, memory_order_release);
			while (atomic_load_explicit(&ball, memory_order_acquire) != 2 * i + 2)
				;
		}
		took[r] = __rdtsc() - begin;
	}
	pthread_join(other, NULL);
	qsort(took, ROUNDS, sizeof(took[0]), by_size);
	printf("%.1f\n", (double)took[ROUNDS / 2] / TRIPS);
	return 0;
}
