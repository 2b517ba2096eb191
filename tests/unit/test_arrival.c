// Schedules of bursts, random gaps and ramps. Random ones are drawn with fixed seeds, so that a
// bound holds always or never; bounds are those of a chance below 1 in 1,000,000.
#include "arrival.h"

#include "testlib.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define HZ 2445434000.0
#define SECOND ((uint64_t)HZ)
#define START UINT64_C(123456789012)
#define DRAWN 200000

static struct pace one_group(const struct pacing *pacing, double pps, uint32_t streams)
{
	struct pace p;
	assert_int_equal(pace_alloc(&p, 1), 0);
	assert_int_equal(arrival_alloc(&p, pacing, 7), 0);
	p.group[0].count = streams;
	p.slack = (uint64_t)(PACE_SLACK_NS * 1e-9 * HZ);
	p.ramp_start = START;
	p.ramp_tsc = (double)pacing->ramp.over_ns * 1e-9 * HZ;
	arrival_set_rate(&p, &p.group[0], pps, HZ);
	return p;
}

// What may go at `now`, at most max; counted by stream where `by` is not NULL.
static uint64_t drain(struct pace *p, uint64_t now, uint64_t max, uint64_t *by)
{
	uint32_t stream[32];
	uint64_t n = 0;
	struct pace_group *g;
	while (n < max && (g = pace_top(p, now)) != NULL) {
		uint32_t k = arrival_take(p, g, now, 32, stream);
		pace_sift_down(p);
		for (uint32_t i = 0; i < k && by != NULL; i++)
			by[stream[i]]++;
		n += k;
	}
	return n;
}

// The instants at which bursts of one group are due, in cycles since the window began.
static double *dues(struct pace *p, uint32_t n)
{
	double *due = calloc(n, sizeof(*due));
	struct pace_group *g = &p->group[0];
	uint32_t stream;
	assert_non_null(due);
	pace_open(p, START, UINT64_MAX, 0.5, false);
	for (uint32_t i = 0; i < n; i++) {
		due[i] = (double)(g->due.tsc - START) + g->due.frac * 0x1p-32;
		assert_int_equal(arrival_skip(p, g, &stream), p->pacing.burst);
	}
	return due;
}

static int by_size(const void *a, const void *b)
{
	const double *x = a, *y = b;
	return (*x > *y) - (*x < *y);
}

struct moments {
	double mean, cv; // standard deviation / mean
	double ks;	 // greatest distance of the distribution from F
};

static double f_exponential(double x)
{
	return 1 - exp(-x);
}

static double f_uniform(double x)
{
	return fmin(x / 2, 1);
}

// Of n numbers whose mean should be `mean`; sorts them.
static struct moments moments_of(double *x, uint32_t n, double mean, double (*f)(double))
{
	struct moments m = { 0 };
	double squares = 0;
	for (uint32_t i = 0; i < n; i++)
		m.mean += x[i] / n;
	for (uint32_t i = 0; i < n; i++)
		squares += (x[i] - m.mean) * (x[i] - m.mean) / n;
	m.cv = sqrt(squares) / m.mean;
	qsort(x, n, sizeof(*x), by_size);
	for (uint32_t i = 0; i < n; i++) {
		double at = f(x[i] / mean);
		m.ks = fmax(m.ks, fmax((double)(i + 1) / n - at, at - (double)i / n));
	}
	m.mean /= mean;
	return m;
}

// 2.7 / sqrt(n): Kolmogorov's statistic exceeds it once in a million.
static double ks_bound(uint32_t n)
{
	return 2.7 / sqrt(n);
}

static const struct {
	enum spacing spacing;
	double cv;
	double (*f)(double);
} drawn[] = {
	{ SPACING_POISSON, 1, f_exponential },
	{ SPACING_UNIFORM, 0.577350269, f_uniform },
};

static void gaps_have_their_distribution(void **state)
{
	static const double rates[] = { 0.7, 1000, 3e6 };
	(void)state;
	for (size_t i = 0; i < COUNT_OF(drawn); i++) {
		for (size_t r = 0; r < COUNT_OF(rates); r++) {
			const struct pacing pacing = { 1, drawn[i].spacing, .seed = 42 + r };
			struct pace p = one_group(&pacing, rates[r], 1);
			double *x = dues(&p, DRAWN + 1);
			for (uint32_t k = 0; k < DRAWN; k++)
				x[k] = x[k + 1] - x[k];
			struct moments m = moments_of(x, DRAWN, HZ / rates[r], drawn[i].f);
			assert_near(m.mean, 1, 5 * drawn[i].cv / sqrt(DRAWN));
			assert_near(m.cv, drawn[i].cv, 0.015);
			assert_true(m.ks < ks_bound(DRAWN));
			free(x);
			pace_free(&p);
		}
	}
}

// Four streams of one group: the gaps of each are exponential, too, and each has its share.
static void streams_of_a_group_are_poisson_each(void **state)
{
	const struct pacing pacing = { 1, SPACING_POISSON, .seed = 5 };
	struct pace p = one_group(&pacing, 4000, 4);
	struct pace_group *g = &p.group[0];
	double *gap[4], last[4] = { 0 };
	uint32_t n[4] = { 0 }, stream;
	(void)state;
	for (int s = 0; s < 4; s++)
		gap[s] = calloc(DRAWN, sizeof(double));
	pace_open(&p, START, UINT64_MAX, 0.5, false);
	for (uint32_t i = 0; i < DRAWN; i++) {
		double due = (double)(g->due.tsc - START);
		assert_int_equal(arrival_skip(&p, g, &stream), 1);
		gap[stream][n[stream]++] = due - last[stream];
		last[stream] = due;
	}
	for (int s = 0; s < 4; s++) {
		struct moments m = moments_of(gap[s], n[s], HZ / 1000, f_exponential);
		assert_near(n[s], DRAWN / 4.0, 5 * sqrt(DRAWN * 3 / 16.0));
		assert_near(m.cv, 1, 0.03);
		assert_true(m.ks < ks_bound(n[s]));
		free(gap[s]);
	}
	pace_free(&p);
}

// Windows of any length hold rate x time on the average, also short ones: the first gap is that of
// a process that was there before.
static void windows_expect_rate_times_time(void **state)
{
	static const double lengths[] = { 0.3, 1, 2.5 };
	(void)state;
	for (size_t i = 0; i < COUNT_OF(drawn); i++) {
		for (size_t l = 0; l < COUNT_OF(lengths); l++) {
			const uint32_t runs = 20000;
			double sum = 0;
			for (uint32_t seed = 0; seed < runs; seed++) {
				const struct pacing pacing = { 1, drawn[i].spacing, .seed = seed };
				struct pace p = one_group(&pacing, 1, 1);
				uint32_t stream;
				pace_open(&p, START, START + (uint64_t)(lengths[l] * HZ), 0.5,
					  false);
				while (arrival_skip(&p, &p.group[0], &stream) > 0)
					sum++;
				pace_free(&p);
			}
			assert_near(sum / runs, lengths[l], 5 * sqrt(lengths[l] / runs));
		}
	}
}

static void a_seed_is_a_schedule(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT_OF(drawn); i++) {
		const struct pacing pacing = { 1, drawn[i].spacing, .seed = 9 },
				    other = { 1, drawn[i].spacing, .seed = 10 };
		struct pace p = one_group(&pacing, 1000, 1), again = one_group(&pacing, 1000, 1),
			    not = one_group(&other, 1000, 1);
		double *x = dues(&p, 1000), *y = dues(&again, 1000), *z = dues(&not, 1000);
		assert_memory_equal(x, y, 1000 * sizeof(*x));
		for (int k = 0; k < 1000; k++)
			assert_true(x[k] != z[k]);
		free(x);
		free(y);
		free(z);
		pace_free(&p);
		pace_free(&again);
		pace_free(&not );
	}
}

// 32 of one stream at once, then 32 of the next, the mean rate exact.
static void bursts_are_whole(void **state)
{
	static const double rates[] = { 320, 32000, 3.2e6 };
	(void)state;
	for (size_t r = 0; r < COUNT_OF(rates); r++) {
		const struct pacing pacing = { 32, SPACING_EVEN, .seed = 0 };
		struct pace p = one_group(&pacing, rates[r], 4);
		uint64_t by[4] = { 0 }, n = 0;
		pace_open(&p, START, START + SECOND, 0.5, false);
		while (p.heap_count > 0) {
			uint64_t due = p.group[0].due.tsc;
			assert_int_equal(drain(&p, due - 1, UINT64_MAX, by), 0);
			uint64_t before = p.group[0].cursor, got = drain(&p, due, UINT64_MAX, by);
			if (got == 0)
				break;
			assert_int_equal(got, 32);
			assert_int_equal(p.group[0].cursor, (before + 1) % 4);
			n += got;
		}
		assert_int_equal(n, (uint64_t)rates[r]);
		for (int s = 0; s < 4; s++)
			assert_true(fabs((double)by[s] - rates[r] / 4) <= 32);
		pace_free(&p);
	}
}

// A port that takes few at a time: the burst goes on where it was, and nothing is counted twice.
static void a_burst_in_pieces(void **state)
{
	const struct pacing pacing = { 100, SPACING_EVEN, .seed = 0 };
	struct pace p = one_group(&pacing, 1000, 2);
	uint32_t stream[32];
	(void)state;
	pace_open(&p, START, START + SECOND, 0.5, false);
	struct pace_group *g = &p.group[0];
	uint64_t now = g->due.tsc;
	assert_int_equal(arrival_take(&p, g, now, 7, stream), 7);
	assert_int_equal(arrival_take(&p, g, now, 32, stream), 32);
	assert_int_equal(stream[31], 0);
	assert_int_equal(arrival_skip(&p, g, stream), 61);
	assert_int_equal(arrival_take(&p, g, now, 32, stream), 0);
	assert_int_equal(arrival_take(&p, g, g->due.tsc, 32, stream), 32);
	assert_int_equal(stream[0], 1);
	pace_free(&p);
}

// What went and what is skipped at the end are the schedule, whatever the spacing.
static void sent_and_skipped_are_the_schedule(void **state)
{
	const struct ramp ramp = { .from = 0.2, .over_ns = 500000000 };
	(void)state;
	for (int kind = 0; kind < 2 * SPACINGS; kind++) {
		const struct pacing pacing = { 1 + 2 * (kind % 2), kind / 2, 3, ramp };
		struct pace p = one_group(&pacing, 10000, 1), all = one_group(&pacing, 10000, 1);
		uint64_t want = 0, got;
		uint32_t stream, n;
		pace_open(&all, START, START + SECOND, 0.3, false);
		while ((n = arrival_skip(&all, &all.group[0], &stream)) > 0)
			want += n;
		pace_open(&p, START, START + SECOND, 0.3, false);
		got = drain(&p, START + SECOND / 2, 1000, NULL);
		assert_true(got > 0);
		while ((n = arrival_skip(&p, &p.group[0], &stream)) > 0)
			got += n;
		assert_int_equal(got, want);
		pace_free(&p);
		pace_free(&all);
	}
}

// A sender on time is never held off by what keeps one that was stalled from a burst; after a stall
// the schedule is replayed at no more than twice its speed.
static void catches_up_at_twice_its_speed(void **state)
{
	(void)state;
	for (int kind = 0; kind < 2 * SPACINGS; kind++) {
		const struct pacing pacing = { kind % 2 ? 5 : 1, kind / 2, .seed = 17 };
		struct pace p = one_group(&pacing, 20000, 1), plan = one_group(&pacing, 20000, 1);
		uint64_t step = SECOND / 1000000, now = START, n = 0, due = 0;
		plan.slack = SECOND; // never holds back
		pace_open(&p, START, UINT64_MAX, 0.5, false);
		pace_open(&plan, START, UINT64_MAX, 0.5, false);
		for (; now < START + SECOND / 10; now += step) {
			n += drain(&p, now, UINT64_MAX, NULL);
			due += drain(&plan, now, UINT64_MAX, NULL);
			assert_int_equal(n, due);
		}
		// 100 ms of nothing: what the plan had due by the time that is made good by now
		uint64_t back = now + SECOND / 10, next = p.group[0].due.tsc;
		for (now = back; now < back + SECOND / 4; now += step) {
			// half a gap is rounded down: a cycle for each packet
			uint64_t replayed = next + 2 * (now - back) + 2 * p.slack + n;
			n += drain(&p, now, UINT64_MAX, NULL);
			due += drain(&plan, replayed < now ? replayed : now, UINT64_MAX, NULL);
			assert_true(n <= due + pacing.burst);
		}
		assert_int_equal(n, due);
		pace_free(&p);
		pace_free(&plan);
	}
}

// Of a window that is longer than its ramp every second has the integral's packets.
static void a_ramp_is_exact(void **state)
{
	static const struct {
		struct ramp ramp;
		uint64_t second[6];
	} t[] = {
		{ { 0, 4000000000, 0 }, { 1250, 3750, 6250, 8750, 10000, 10000 } },
		{ { 0.2, 4000000000, 0 }, { 3000, 5000, 7000, 9000, 10000, 10000 } },
		{ { 0.25, 4000000000, 4 }, { 2500, 5000, 7500, 10000, 10000, 10000 } },
		{ { 0, 2000000000, 2 }, { 0, 10000, 10000, 10000, 10000, 10000 } },
	};
	(void)state;
	for (size_t i = 0; i < COUNT_OF(t); i++) {
		const struct pacing pacing = { 1, SPACING_EVEN, 0, t[i].ramp };
		struct pace p = one_group(&pacing, 10000, 3);
		uint64_t all = 0, want = 0;
		pace_open(&p, START, START + (uint64_t)(6 * HZ), 0.5, false);
		for (int s = 0; s < 6; s++) {
			uint64_t n = 0;
			for (double ms = 0; ms < 1000; ms++)
				n += drain(&p, START + (uint64_t)((s + (ms + 1) / 1000) * HZ) - 1,
					   UINT64_MAX, NULL);
			assert_true(llabs((long long)(n - t[i].second[s])) <= 1);
			all += n;
			want += t[i].second[s];
		}
		assert_int_equal(all, want);
		pace_free(&p);
	}
}

// A warm-up goes at the share that the ramp begins with, and the window goes on with its schedule.
static void a_ramp_begins_with_the_window(void **state)
{
	static const double from[] = { 0, 0.5 };
	(void)state;
	for (size_t i = 0; i < COUNT_OF(from); i++) {
		const struct pacing pacing = { 1, SPACING_EVEN, 0, { from[i], 2000000000, 0 } };
		struct pace p = one_group(&pacing, 1000, 1);
		uint64_t n = 0;
		pace_open(&p, START - SECOND, START, 0.5, false);
		for (int ms = -1000; ms < 0; ms++)
			n += drain(&p, START + (uint64_t)(int64_t)(ms * (HZ / 1000)), UINT64_MAX,
				   NULL);
		assert_int_equal(n, (uint64_t)(1000 * from[i]));
		pace_open(&p, START, START + 2 * SECOND, 0.5, true);
		n = 0;
		for (int ms = 0; ms <= 2000; ms++)
			n += drain(&p, START + (uint64_t)(int64_t)(ms * (HZ / 1000)), UINT64_MAX,
				   NULL);
		assert_int_equal(n, (uint64_t)(1000 + 1000 * from[i]));
		pace_free(&p);
	}
}

// Exponential gaps in the time of a ramp: the counts of its halves are those of the integral.
static void a_ramp_of_random_gaps(void **state)
{
	const struct pacing pacing = { 1, SPACING_POISSON, 77, { 0, 10000000000, 0 } };
	struct pace p = one_group(&pacing, 100000, 1);
	uint32_t stream;
	double half[2] = { 0 };
	(void)state;
	for (int i = 0; i < 2; i++) {
		pace_open(&p, START, START + (uint64_t)((i + 1) * 5 * HZ), 0.5, i > 0);
		while (arrival_skip(&p, &p.group[0], &stream) > 0)
			half[i]++;
	}
	assert_near(half[0], 125000, 5 * sqrt(125000));
	assert_near(half[1], 375000, 5 * sqrt(375000));
	pace_free(&p);
}

// A layer's clock stands still while others send: no packet comes or goes by it.
static void a_shift_keeps_the_schedule(void **state)
{
	(void)state;
	for (int s = 0; s < SPACINGS; s++) {
		const struct pacing pacing = { 2, s, .seed = 3 };
		struct pace p = one_group(&pacing, 5000, 1), whole = one_group(&pacing, 5000, 1);
		uint64_t n = 0, want = 0, at = START;
		uint32_t stream, k;
		pace_open(&whole, START, START + 10 * (SECOND / 10), 0.5, false);
		while ((k = arrival_skip(&whole, &whole.group[0], &stream)) > 0)
			want += k;
		for (int dwell = 0; dwell < 10; dwell++, at += 3 * (SECOND / 10)) {
			if (dwell > 0)
				pace_shift(&p, at - 2 * (SECOND / 10), at);
			pace_open(&p, at, at + SECOND / 10, 0.5, dwell > 0);
			while ((k = arrival_skip(&p, &p.group[0], &stream)) > 0)
				n += k;
		}
		assert_int_equal(n, want);
		pace_free(&p);
		pace_free(&whole);
	}
}

static void first_due_is_the_first(void **state)
{
	const struct ramp ramps[] = { { 0 }, { 0, 1000000000, 0 }, { 0.3, 1000000000, 3 } };
	(void)state;
	for (int s = 0; s < SPACINGS; s++) {
		for (size_t r = 0; r < COUNT_OF(ramps); r++) {
			const struct pacing pacing = { 4, s, 1, ramps[r] };
			struct pace p = one_group(&pacing, 300, 2);
			uint64_t due = pace_first_due(&p, &p.group[0], START, 0.25);
			pace_open(&p, START, UINT64_MAX, 0.25, false);
			assert_int_equal(p.group[0].due.tsc, due);
			assert_true(due >= START);
			pace_free(&p);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(gaps_have_their_distribution),
		cmocka_unit_test(streams_of_a_group_are_poisson_each),
		cmocka_unit_test(windows_expect_rate_times_time),
		cmocka_unit_test(a_seed_is_a_schedule),
		cmocka_unit_test(bursts_are_whole),
		cmocka_unit_test(a_burst_in_pieces),
		cmocka_unit_test(sent_and_skipped_are_the_schedule),
		cmocka_unit_test(catches_up_at_twice_its_speed),
		cmocka_unit_test(a_ramp_is_exact),
		cmocka_unit_test(a_ramp_begins_with_the_window),
		cmocka_unit_test(a_ramp_of_random_gaps),
		cmocka_unit_test(a_shift_keeps_the_schedule),
		cmocka_unit_test(first_due_is_the_first),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
