// Log-linear histogram of nanoseconds: 128 buckets an octave, so a bucket is at most 1/128 of its
// value wide (0.8 %); 0 ns to 2^37 ns (137 s), the last bucket also takes what is longer.
// Recording allocates nothing; histograms of the same layout merge by addition, and percentiles are
// taken of the merged one, never averaged. One writer; a reader in another thread may see counts of
// a moment ago.
#pragma once

#include <stdint.h>

#define HIST_SUB_BITS 7
#define HIST_SUB (1u << HIST_SUB_BITS)
#define HIST_MAX_EXP 37
#define HIST_BUCKETS (HIST_SUB * (HIST_MAX_EXP - HIST_SUB_BITS + 1))

struct hist {
	uint64_t min_ns; // of what was recorded; UINT64_MAX when empty
	uint64_t max_ns;
	uint64_t sum_ns; // UINT64_MAX = unknown
	uint64_t count;
	uint64_t bucket[HIST_BUCKETS];
};

// The bucket of a value.
static inline uint32_t hist_index(uint64_t ns)
{
	if (ns < HIST_SUB)
		return (uint32_t)ns;
	if (ns >> HIST_MAX_EXP)
		return HIST_BUCKETS - 1;
	uint32_t shift = 63u - (uint32_t)__builtin_clzll(ns) - HIST_SUB_BITS;
	return (shift << HIST_SUB_BITS) + (uint32_t)(ns >> shift);
}

// For the hottest path: leaves `count` alone; hist_merge takes it from the buckets.
static inline void hist_add(struct hist *h, uint64_t ns)
{
	h->bucket[hist_index(ns)]++;
	h->sum_ns += ns;
	if (ns < h->min_ns)
		h->min_ns = ns;
	if (ns > h->max_ns)
		h->max_ns = ns;
}

static inline void hist_record_n(struct hist *h, uint64_t ns, uint64_t n)
{
	h->bucket[hist_index(ns)] += n;
	h->count += n;
	h->sum_ns += ns * n;
	if (ns < h->min_ns)
		h->min_ns = ns;
	if (ns > h->max_ns)
		h->max_ns = ns;
}

static inline void hist_record(struct hist *h, uint64_t ns)
{
	hist_record_n(h, ns, 1);
}

void hist_reset(struct hist *h);
// `from` may be in use by its writer: what was counted of it is consistent in `into`.
void hist_merge(struct hist *into, const struct hist *from);
// Lower and upper (exclusive) bound of a bucket in ns; the last one takes what is longer, too.
uint64_t hist_lower_ns(uint32_t bucket);
uint64_t hist_upper_ns(uint32_t bucket);
// Value below or at which `percent` (0..100) of the records lie (nearest rank): the middle of its
// bucket, clamped to min/max. -1 when the histogram is empty: no data is never 0.
double hist_percentile_ns(const struct hist *h, double percent);
// Mean, or -1 when empty or unknown.
double hist_mean_ns(const struct hist *h);

// The same without its empty buckets, as results carry it: what was recorded for one flow is a few
// dozen of 4,000. Not for recording.
struct hist_bin {
	uint32_t bucket;
	uint64_t count; // > 0
};
struct hist_packed {
	uint64_t min_ns, max_ns, sum_ns, count; // as in struct hist; count > 0
	uint32_t bins;
	struct hist_bin bin[]; // by bucket
};

// A new one, owned by the caller; NULL on no memory. `h` must not be in use and not be empty.
struct hist_packed *hist_pack(const struct hist *h);
void hist_merge_packed(struct hist *into, const struct hist_packed *from);
double hist_packed_percentile_ns(const struct hist_packed *h, double percent);
double hist_packed_mean_ns(const struct hist_packed *h);
