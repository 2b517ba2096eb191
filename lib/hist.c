#include "hist.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

void hist_reset(struct hist *h)
{
	memset(h, 0, sizeof(*h));
	h->min_ns = UINT64_MAX;
}

uint64_t hist_lower_ns(uint32_t bucket)
{
	if (bucket < 2 * HIST_SUB)
		return bucket;
	uint32_t shift = (bucket >> HIST_SUB_BITS) - 1;
	return (uint64_t)(HIST_SUB + bucket % HIST_SUB) << shift;
}

uint64_t hist_upper_ns(uint32_t bucket)
{
	return hist_lower_ns(bucket + 1);
}

// The largest value that a bucket takes.
static uint64_t hist_last_ns(uint32_t bucket)
{
	return bucket == HIST_BUCKETS - 1 ? UINT64_MAX - 1 : hist_upper_ns(bucket) - 1;
}

static uint64_t clamp(uint64_t v, uint64_t min, uint64_t max)
{
	return v < min ? min : v > max ? max : v;
}

// `from` may be in use by its writer: count, min and max are made to agree with the buckets read.
void hist_merge(struct hist *into, const struct hist *from)
{
	uint32_t first = HIST_BUCKETS, last = 0;
	uint64_t count = 0;

	for (uint32_t i = 0; i < HIST_BUCKETS; i++) {
		uint64_t n = from->bucket[i];
		if (n == 0)
			continue;
		first = first == HIST_BUCKETS ? i : first;
		last = i;
		count += n;
		into->bucket[i] += n;
	}
	if (count == 0)
		return;
	into->count += count;
	if (into->sum_ns == UINT64_MAX || from->sum_ns == UINT64_MAX)
		into->sum_ns = UINT64_MAX;
	else
		into->sum_ns += from->sum_ns;
	uint64_t min = clamp(from->min_ns, hist_lower_ns(first), hist_last_ns(first));
	uint64_t max = clamp(from->max_ns, hist_lower_ns(last), hist_last_ns(last));
	if (min < into->min_ns)
		into->min_ns = min;
	if (max > into->max_ns)
		into->max_ns = max;
}

// Nearest rank.
static uint64_t rank_of(double percent, uint64_t count)
{
	// 99.9 % of 1,000 is rank 999, whatever 99.9 is in binary
	double want = ceil(percent * (double)count / 100 * (1 - 1e-12));
	uint64_t rank = want < 1 ? 1 : (uint64_t)want;

	return rank > count ? count : rank;
}

// Middle of a bucket, within what was recorded.
static double middle_ns(uint32_t bucket, uint64_t min_ns, uint64_t max_ns)
{
	// whole nanoseconds: the last one in the bucket is upper - 1
	double v = ((double)hist_lower_ns(bucket) + (double)(hist_upper_ns(bucket) - 1)) / 2;

	if (v > (double)max_ns)
		v = (double)max_ns;
	if (v < (double)min_ns)
		v = (double)min_ns;
	return v;
}

static double mean_ns(uint64_t sum_ns, uint64_t count)
{
	if (count == 0 || sum_ns == UINT64_MAX)
		return -1;
	return (double)sum_ns / (double)count;
}

double hist_percentile_ns(const struct hist *h, double percent)
{
	if (h->count == 0)
		return -1;

	uint64_t rank = rank_of(percent, h->count), seen = 0;
	uint32_t i = 0;
	for (; i < HIST_BUCKETS - 1; i++) {
		seen += h->bucket[i];
		if (seen >= rank)
			break;
	}
	return middle_ns(i, h->min_ns, h->max_ns);
}

double hist_mean_ns(const struct hist *h)
{
	return mean_ns(h->sum_ns, h->count);
}

struct hist_packed *hist_pack(const struct hist *h)
{
	struct hist_packed *p;
	uint32_t bins = 0;

	for (uint32_t i = 0; i < HIST_BUCKETS; i++)
		bins += h->bucket[i] > 0;
	p = malloc(sizeof(*p) + bins * sizeof(p->bin[0]));
	if (p == NULL)
		return NULL;
	*p = (struct hist_packed){
		.min_ns = h->min_ns,
		.max_ns = h->max_ns,
		.sum_ns = h->sum_ns,
		.count = h->count,
	};
	for (uint32_t i = 0; i < HIST_BUCKETS; i++)
		if (h->bucket[i] > 0)
			p->bin[p->bins++] = (struct hist_bin){ i, h->bucket[i] };
	return p;
}

void hist_merge_packed(struct hist *into, const struct hist_packed *from)
{
	for (uint32_t i = 0; i < from->bins; i++)
		into->bucket[from->bin[i].bucket] += from->bin[i].count;
	into->count += from->count;
	if (into->sum_ns == UINT64_MAX || from->sum_ns == UINT64_MAX)
		into->sum_ns = UINT64_MAX;
	else
		into->sum_ns += from->sum_ns;
	if (from->min_ns < into->min_ns)
		into->min_ns = from->min_ns;
	if (from->max_ns > into->max_ns)
		into->max_ns = from->max_ns;
}

double hist_packed_percentile_ns(const struct hist_packed *h, double percent)
{
	uint64_t rank = rank_of(percent, h->count), seen = 0;
	uint32_t i = 0;

	for (; i + 1 < h->bins; i++) {
		seen += h->bin[i].count;
		if (seen >= rank)
			break;
	}
	return middle_ns(h->bin[i].bucket, h->min_ns, h->max_ns);
}

double hist_packed_mean_ns(const struct hist_packed *h)
{
	return mean_ns(h->sum_ns, h->count);
}
