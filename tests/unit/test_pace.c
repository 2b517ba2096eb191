#include "pace.h"

#include "testlib.h"

#define HZ 2445434000.0

static struct pace one_group(double pps)
{
	struct pace p;
	assert_int_equal(pace_alloc(&p, 1), 0);
	p.group[0].count = 1;
	pace_set_rate(&p.group[0], pps, HZ);
	p.slack = (uint64_t)(PACE_SLACK_NS * 1e-9 * HZ);
	return p;
}

// Everything that may go at `now`; at most `max`.
static uint64_t drain(struct pace *p, uint64_t now, uint64_t max)
{
	uint64_t n = 0;
	struct pace_group *g;
	while (n < max && (g = pace_top(p, now)) != NULL) {
		uint32_t k = pace_take(p, g, now, 32);
		pace_sift_down(p);
		n += k;
	}
	return n;
}

// A window of whole intervals holds exactly rate x time packets, for odd rates, long and short.
static void counts_are_exact(void **state)
{
	static const double rates[] = { 3, 7, 1000, 5000, 99999, 1e6, 4999999 };
	(void)state;
	for (size_t i = 0; i < COUNT_OF(rates); i++) {
		for (double phase = 0.05; phase < 1; phase += 0.3) {
			struct pace p = one_group(rates[i]);
			uint64_t start = 1000000, end = start + (uint64_t)HZ;
			uint64_t step = p.group[0].interval.tsc / 2 + 1, n = 0;
			pace_open(&p, start, end, phase, false);
			for (uint64_t now = start; now < end + 2 * step; now += step)
				n += drain(&p, now, UINT64_MAX);
			assert_int_equal(n, (uint64_t)rates[i]);
			assert_int_equal(p.heap_count, 0);
			pace_free(&p);
		}
	}
}

static void back_to_back_windows_lose_nothing(void **state)
{
	struct pace p = one_group(5000);
	uint64_t second = (uint64_t)HZ, at = 77;
	(void)state;
	for (int trial = 0; trial < 5; trial++) {
		uint64_t n = 0;
		pace_open(&p, at, at + second, 0.3, trial > 0);
		for (uint64_t now = at; now < at + second + 1000000; now += 10000)
			n += drain(&p, now, UINT64_MAX);
		assert_int_equal(n, 5000);
		at += second;
	}
	pace_free(&p);
}

// Stalled for 300 ms at 1 kpps: what was missed comes, but never at more than twice the rate.
static void catches_up_at_twice_the_rate(void **state)
{
	struct pace p = one_group(1000);
	uint64_t ms = (uint64_t)(HZ / 1e3), stall = 300, n = 0;
	(void)state;
	pace_open(&p, 0, (uint64_t)HZ, 0.5, false);
	for (uint64_t now = 0; now < 100 * ms; now += ms / 100)
		n += drain(&p, now, UINT64_MAX);
	for (uint64_t bin = 100 + stall; bin < 1000; bin++) {
		uint64_t in_bin = 0;
		for (uint64_t k = 0; k < 100; k++)
			in_bin += drain(&p, bin * ms + k * (ms / 100), UINT64_MAX);
		assert_true(in_bin <= 3); // 2 and the one on the edge
		n += in_bin;
	}
	n += drain(&p, (uint64_t)HZ + 1, UINT64_MAX);
	assert_int_equal(n, 1000);
	pace_free(&p);
}

static void backlog_is_what_did_not_go(void **state)
{
	struct pace p = one_group(123457);
	uint64_t end = (uint64_t)HZ, sent;
	(void)state;
	pace_open(&p, 0, end, 0.2, false);
	sent = drain(&p, end / 2, 1000);
	struct pace_group *g = &p.group[0];
	uint64_t left = pace_backlog(g, end);
	assert_int_equal(sent + left, 123457);
	pace_skip(g, left);
	assert_true(g->due.tsc >= end);
	assert_int_equal(pace_backlog(g, end), 0);
	pace_free(&p);
}

// Groups of different rates share the heap; each gets its own count.
static void groups_do_not_disturb_each_other(void **state)
{
	static const double rates[] = { 10, 333, 5000, 77777, 250000 };
	uint64_t count[COUNT_OF(rates)] = { 0 }, end = (uint64_t)HZ;
	struct pace p;
	struct pace_group *g;
	(void)state;
	assert_int_equal(pace_alloc(&p, COUNT_OF(rates)), 0);
	for (size_t i = 0; i < COUNT_OF(rates); i++) {
		p.group[i].count = 1;
		pace_set_rate(&p.group[i], rates[i], HZ);
	}
	p.slack = 100000;
	pace_open(&p, 0, end, 0.5, false);
	for (uint64_t now = 0; now < end + 10000; now += 5000) {
		while ((g = pace_top(&p, now)) != NULL) {
			count[g - p.group] += pace_take(&p, g, now, 32);
			pace_sift_down(&p);
		}
	}
	for (size_t i = 0; i < COUNT_OF(rates); i++)
		assert_int_equal(count[i], (uint64_t)rates[i]);
	pace_free(&p);
}

static void unpaced_takes_what_there_is_room_for(void **state)
{
	struct pace p;
	(void)state;
	assert_int_equal(pace_alloc(&p, 1), 0);
	p.group[0].count = 1;
	pace_open(&p, 100, 200, 0.5, false);
	struct pace_group *g = pace_top(&p, 150);
	assert_non_null(g);
	assert_int_equal(pace_take(&p, g, 150, 32), 32);
	assert_non_null(pace_top(&p, 199));
	assert_null(pace_top(&p, 200));
	assert_int_equal(pace_backlog(&p.group[0], 200), 0);
	pace_free(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(counts_are_exact),
		cmocka_unit_test(back_to_back_windows_lose_nothing),
		cmocka_unit_test(catches_up_at_twice_the_rate),
		cmocka_unit_test(backlog_is_what_did_not_go),
		cmocka_unit_test(groups_do_not_disturb_each_other),
		cmocka_unit_test(unpaced_takes_what_there_is_room_for),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
