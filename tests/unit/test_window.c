#include "window.h"

#include "testlib.h"

#include <stdlib.h>

// Two pairs of 3 and 2 streams; the ring between queues is not needed here.
static struct window two_pairs(uint32_t limit_a, uint32_t limit_b)
{
	struct window w = {
		.group = calloc(2, sizeof(*w.group)),
		.group_count = 2,
		.credit = calloc(64, sizeof(*w.credit)),
		.mask = 63,
		.silence = 1000,
	};
	w.group[0] = (struct window_group){ .first = 0, .count = 3, .limit = limit_a };
	w.group[1] = (struct window_group){ .first = 3, .count = 2, .limit = limit_b };
	window_fill(&w);
	return w;
}

static void drop(struct window *w)
{
	free(w->group);
	free(w->credit);
}

static void pairs_and_streams_take_turns(void **state)
{
	static const uint32_t want[] = { 0, 3, 1, 4, 2, 3 };
	struct window w = two_pairs(3, 3);
	(void)state;
	for (size_t i = 0; i < COUNT_OF(want); i++)
		assert_int_equal(window_spend(&w), want[i]);
	assert_int_equal(window_credits(&w), 0);
	drop(&w);
}

static void a_reply_frees_its_place(void **state)
{
	struct window w = two_pairs(2, 2);
	(void)state;
	while (window_credits(&w) > 0)
		window_spend(&w);
	window_credit(&w, 1, 1, 10);
	assert_int_equal(window_credits(&w), 1);
	assert_int_equal(w.group[1].in_flight, 1);
	assert_in_range(window_spend(&w), 3, 4);
	drop(&w);
}

// Places given up and then answered late do not make the window grow.
static void in_flight_never_passes_the_limit(void **state)
{
	struct rng r = rng_open("window");
	struct window w = two_pairs(7, 5);
	(void)state;
	for (int i = 0; i < 100000; i++) {
		if (rng_below(&r, 2) && window_credits(&w) > 0)
			window_spend(&w);
		else
			window_credit(&w, (uint32_t)rng_below(&r, 2), (uint32_t)rng_below(&r, 9),
				      1);
		assert_true(w.group[0].in_flight <= 7 && w.group[1].in_flight <= 5);
		assert_int_equal(window_credits(&w) + w.group[0].in_flight + w.group[1].in_flight,
				 12);
	}
	drop(&w);
}

static void only_a_long_silence_frees_all(void **state)
{
	struct window w = two_pairs(2, 2);
	(void)state;
	w.passed = NULL;
	while (window_credits(&w) > 0)
		window_spend(&w);
	w.group[0].heard = w.group[1].heard = 5000;
	window_silence(&w, 6000);
	assert_int_equal(window_credits(&w), 0);
	w.group[1].heard = 5999;
	window_silence(&w, 6001);
	assert_int_equal(window_credits(&w), 2);
	assert_int_equal(w.group[0].in_flight, 0);
	assert_int_equal(w.group[1].in_flight, 2);
	drop(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pairs_and_streams_take_turns),
		cmocka_unit_test(a_reply_frees_its_place),
		cmocka_unit_test(in_flight_never_passes_the_limit),
		cmocka_unit_test(only_a_long_silence_frees_all),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
