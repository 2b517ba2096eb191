// Clocks of this machine, in nanoseconds.
#pragma once

#include <stdint.h>
#include <time.h>

#define NS_PER_MS 1000000ull
#define NS_PER_S 1000000000ull

static inline uint64_t clock_ns(clockid_t id)
{
	struct timespec t;

	clock_gettime(id, &t);
	return (uint64_t)t.tv_sec * NS_PER_S + (uint64_t)t.tv_nsec;
}

// For deadlines.
static inline uint64_t mono_ns(void)
{
	return clock_ns(CLOCK_MONOTONIC);
}

// The clock that agents are compared with: no NTP slewing, as theirs.
static inline uint64_t raw_ns(void)
{
	return clock_ns(CLOCK_MONOTONIC_RAW);
}

// Milliseconds left until a deadline of mono_ns(), 0 when it is over, at most cap.
static inline int ms_left(uint64_t deadline_ns, int cap)
{
	uint64_t now = mono_ns();

	if (now >= deadline_ns)
		return 0;
	uint64_t ms = (deadline_ns - now) / NS_PER_MS + 1;
	return ms < (uint64_t)cap ? (int)ms : cap;
}

static inline void sleep_ns(uint64_t ns)
{
	struct timespec t = { .tv_sec = (time_t)(ns / NS_PER_S), .tv_nsec = (long)(ns % NS_PER_S) };

	nanosleep(&t, NULL);
}
