#include "hist.h"

#include "testlib.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static int make(void **state)
{
	struct hist *h = malloc(2 * sizeof(*h));

	assert_non_null(h);
	hist_reset(&h[0]);
	hist_reset(&h[1]);
	*state = h;
	return 0;
}

static int drop(void **state)
{
	free(*state);
	return 0;
}

// Every bucket begins where the one before ends, and takes exactly what lies in it.
static void buckets_are_contiguous(void **state)
{
	(void)state;
	assert_int_equal(hist_lower_ns(0), 0);
	for (uint32_t i = 0; i < HIST_BUCKETS; i++) {
		uint64_t lower = hist_lower_ns(i), upper = hist_upper_ns(i);
		assert_true(lower < upper);
		assert_int_equal(hist_index(lower), i);
		assert_int_equal(hist_index(upper - 1), i);
		if (i + 1 < HIST_BUCKETS) {
			assert_int_equal(hist_lower_ns(i + 1), upper);
			assert_int_equal(hist_index(upper), i + 1);
		}
		assert_true((upper - lower) * HIST_SUB <= lower || upper - lower == 1);
	}
	assert_true(hist_upper_ns(HIST_BUCKETS - 1) == UINT64_C(1) << HIST_MAX_EXP);
	assert_true(hist_upper_ns(HIST_BUCKETS - 1) > UINT64_C(100000000000));
	assert_int_equal(hist_index(UINT64_C(1) << HIST_MAX_EXP), HIST_BUCKETS - 1);
	assert_int_equal(hist_index(UINT64_MAX), HIST_BUCKETS - 1);
}

static void empty_is_no_data(void **state)
{
	struct hist *h = *state;

	assert_true(hist_percentile_ns(h, 50) == -1);
	assert_true(hist_mean_ns(h) == -1);
	hist_merge(&h[0], &h[1]);
	assert_true(h->min_ns == UINT64_MAX);
	assert_true(hist_percentile_ns(h, 0) == -1);
}

// What is packed says the same as what was recorded.
static void packed_is_the_same(void **state)
{
	static const double percent[] = { 0, 1, 50, 90, 99, 99.9, 100 };
	struct rng rng = rng_open("packed");
	struct hist *h = *state;

	for (unsigned round = 0; round < 50; round++) {
		hist_reset(&h[0]);
		hist_reset(&h[1]);
		for (uint64_t n = rng_below(&rng, 300) + 1; n > 0; n--)
			hist_record(h, rng_next(&rng) >> (20 + rng_below(&rng, 44)));
		struct hist_packed *p = hist_pack(h);
		assert_non_null(p);
		for (size_t i = 0; i < COUNT_OF(percent); i++)
			assert_true(hist_packed_percentile_ns(p, percent[i]) ==
				    hist_percentile_ns(h, percent[i]));
		assert_true(hist_packed_mean_ns(p) == hist_mean_ns(h));
		hist_merge_packed(&h[1], p);
		assert_memory_equal(&h[0], &h[1], sizeof(h[0]));
		hist_merge_packed(&h[1], p);
		assert_true(h[1].count == 2 * h[0].count);
		h[1].sum_ns = UINT64_MAX; // unknown stays unknown
		hist_merge_packed(&h[1], p);
		assert_true(hist_mean_ns(&h[1]) == -1);
		free(p);
	}
}

static void one_value_is_itself(void **state)
{
	static const uint64_t value[] = { 0,
					  1,
					  127,
					  128,
					  129,
					  255,
					  256,
					  257,
					  1000,
					  123456789,
					  UINT64_C(1) << 36,
					  UINT64_C(200000000000) };
	static const double percent[] = { 0, 50, 99.9, 100 };

	for (size_t i = 0; i < COUNT_OF(value); i++) {
		struct hist *h = *state;
		hist_reset(h);
		hist_record(h, value[i]);
		for (size_t j = 0; j < COUNT_OF(percent); j++)
			assert_true(hist_percentile_ns(h, percent[j]) == (double)value[i]);
		assert_true(hist_mean_ns(h) == (double)value[i]);
	}
}

static int compare(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

// A value spread over all octaves.
static uint64_t any_value(struct rng *r)
{
	return rng_next(r) >> (64 - HIST_MAX_EXP + rng_below(r, HIST_MAX_EXP));
}

static void percentiles_match_sorted_sample(void **state)
{
	static const double percent[] = { 0, 0.1, 1, 10, 25, 50, 75, 90, 99, 99.9, 99.99, 100 };
	struct rng r = rng_open("percentiles");
	struct hist *h = *state;
	enum { N = 10007 };
	static uint64_t v[N];

	for (unsigned round = 0; round < 20; round++) {
		size_t n = round < 10 ? round + 1 : N;
		double sum = 0;
		hist_reset(h);
		for (size_t i = 0; i < n; i++) {
			v[i] = any_value(&r);
			sum += (double)v[i];
			hist_record(h, v[i]);
		}
		qsort(v, n, sizeof(v[0]), compare);
		assert_true(h->min_ns == v[0] && h->max_ns == v[n - 1] && h->count == n);
		assert_true(fabs(hist_mean_ns(h) - sum / (double)n) <= sum / (double)n * 1e-9);
		for (size_t i = 0; i < COUNT_OF(percent); i++) {
			double rank = ceil(percent[i] / 100 * (double)n);
			uint64_t truth = v[rank < 1 ? 0 : (size_t)rank - 1];
			double got = hist_percentile_ns(h, percent[i]);
			// in the same bucket: off by less than its width
			assert_int_equal(hist_index((uint64_t)got), hist_index(truth));
			assert_true(fabs(got - (double)truth) <= (double)truth / HIST_SUB);
		}
	}
}

// 99 fast hosts and a slow one: the merged p50 is the fast one's, the merged p99.9 the slow one's.
// An average of the hosts' own percentiles would show neither.
static void merged_not_averaged(void **state)
{
	struct hist *all = *state, *one = all + 1;

	for (unsigned host = 0; host < 100; host++) {
		hist_reset(one);
		hist_record_n(one, host == 99 ? 10000000 : 10000, 1000);
		hist_merge(all, one);
	}
	assert_int_equal(all->count, 100000);
	assert_true(fabs(hist_percentile_ns(all, 50) - 1e4) <= 1e4 / HIST_SUB);
	assert_true(fabs(hist_percentile_ns(all, 99) - 1e4) <= 1e4 / HIST_SUB);
	assert_true(fabs(hist_percentile_ns(all, 99.1) - 1e7) <= 1e7 / HIST_SUB);
	assert_true(fabs(hist_percentile_ns(all, 99.9) - 1e7) <= 1e7 / HIST_SUB);
	assert_true(hist_mean_ns(all) == (99 * 1e4 + 1e7) / 100);
	assert_int_equal(all->min_ns, 10000);
	assert_int_equal(all->max_ns, 10000000);
}

static void merge_is_recording_all(void **state)
{
	struct rng r = rng_open("merge");
	struct hist *part = *state;
	struct hist *whole = malloc(2 * sizeof(*whole));

	assert_non_null(whole);
	hist_reset(&whole[0]);
	hist_reset(&whole[1]);
	for (unsigned i = 0; i < 5000; i++) {
		uint64_t v = any_value(&r), n = 1 + rng_below(&r, 5);
		hist_record_n(&whole[0], v, n);
		hist_record_n(&part[i % 2], v, n);
	}
	hist_merge(&whole[1], &part[0]);
	hist_merge(&whole[1], &part[1]);
	assert_memory_equal(&whole[0], &whole[1], sizeof(*whole));
	free(whole);
}

// A copy taken while the writer is between its stores is made consistent.
static void merge_of_a_live_one(void **state)
{
	struct hist *live = *state, *into = live + 1;

	live->bucket[hist_index(5000)] = 1; // neither count, min nor max are there yet
	hist_merge(into, live);
	assert_int_equal(into->count, 1);
	assert_int_equal(hist_index(into->min_ns), hist_index(5000));
	assert_int_equal(hist_index(into->max_ns), hist_index(5000));
}

static void longest_stay_in_the_last(void **state)
{
	struct hist *h = *state;

	hist_record(h, UINT64_C(1) << 40);
	hist_record(h, 100);
	assert_int_equal(h->bucket[HIST_BUCKETS - 1], 1);
	assert_true(hist_percentile_ns(h, 100) >= (double)hist_lower_ns(HIST_BUCKETS - 1));
	hist_merge(&h[1], &h[0]);
	assert_true(h[1].max_ns == UINT64_C(1) << 40);
}

static void ranks_are_whole(void **state)
{
	struct hist *h = *state;

	for (uint64_t i = 1; i <= 1000; i++)
		hist_record(h, i < 1000 ? 100 : 100000);
	assert_true(hist_percentile_ns(h, 99.9) == 100);
	assert_true(hist_percentile_ns(h, 100) > 90000);
	assert_true(hist_percentile_ns(h, 0.1) == 100);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(buckets_are_contiguous),
		cmocka_unit_test_setup_teardown(empty_is_no_data, make, drop),
		cmocka_unit_test_setup_teardown(packed_is_the_same, make, drop),
		cmocka_unit_test_setup_teardown(one_value_is_itself, make, drop),
		cmocka_unit_test_setup_teardown(ranks_are_whole, make, drop),
		cmocka_unit_test_setup_teardown(percentiles_match_sorted_sample, make, drop),
		cmocka_unit_test_setup_teardown(merged_not_averaged, make, drop),
		cmocka_unit_test_setup_teardown(merge_is_recording_all, make, drop),
		cmocka_unit_test_setup_teardown(merge_of_a_live_one, make, drop),
		cmocka_unit_test_setup_teardown(longest_stay_in_the_last, make, drop),
	};

	return cmocka_run_group_tests_name("hist", tests, NULL, NULL);
}
