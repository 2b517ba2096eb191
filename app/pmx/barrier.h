// The common start: how far each agent's clock is from ours, when to begin, and how far apart they
// began. Pure functions; clocks are CLOCK_MONOTONIC_RAW in ns, "ours" that of pmx.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct clock_sample {		       // one question for the time
	uint64_t sent_ns, received_ns; // ours
	uint64_t theirs_ns;
};

struct clock_offset {
	int64_t offset_ns; // theirs - ours
	uint64_t error_ns; // the truth is at most this far away
};

// Of the sample with the shortest round trip: theirs was read somewhere within it, so the middle is
// wrong by half of it at most (as NTP, RFC 5905 section 8). false when there is no sane sample.
bool clock_offset_of(const struct clock_sample *sample, size_t n, struct clock_offset *out);
uint64_t clock_theirs(const struct clock_offset *o, uint64_t ours_ns);

#define BARRIER_LEAD_NS 500000000ull

// When to start, on our clock: far enough ahead that every host has been told, `jobs` at a time,
// even if each takes some round trips of the worst.
uint64_t barrier_start(uint64_t now_ns, uint64_t worst_rtt_ns, size_t hosts, size_t jobs);

struct barrier_host {		      // on the agent's clock
	uint64_t due_ns, first_tx_ns; // first request due, and sent; 0 = none
	uint64_t told_ns;	      // the start it was armed with
	struct clock_offset offset;
};

struct skew {
	double ns, error_ns; // between the first and the last host to begin; NAN = fewer than two
};

// A host began when its first request left, less the phase at which that was due after the start.
struct skew barrier_skew(const struct barrier_host *host, size_t n);
