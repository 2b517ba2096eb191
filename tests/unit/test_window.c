#include "window.h"

#include "testlib.h"

#include <stdlib.h>

// Two pairs of 3 and 2 streams, of one layer or of one each; the ring between queues is not needed
// here.
static struct window windows(uint32_t limit_a, uint32_t limit_b, bool together)
{
	struct window w = {
		.group = calloc(2, sizeof(*w.group)),
		.group_count = 2,
		.layer = calloc(2, sizeof(*w.layer)),
		.layer_count = 2,
		.silence = 1000,
	};
	w.on = w.layer;
	w.group[0] = (struct window_group){ .first = 0, .count = 3, .limit = limit_a };
	w.group[1] = (struct window_group){ .first = 3, .count = 2, .limit = limit_b };
	w.layer[0].count = together ? 2 : 1;
	w.layer[1] = (struct window_layer){ .first = w.layer[0].count, .count = !together };
	assert_int_equal(window_fill(&w), 0);
	return w;
}

static struct window two_pairs(uint32_t limit_a, uint32_t limit_b)
{
	return windows(limit_a, limit_b, true);
}

static void drop(struct window *w)
{
	free(w->group);
	free(w->layer[0].credit);
	free(w->layer[1].credit);
	free(w->layer);
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

// What comes back to a layer that is off waits there, and none of it is spent by the one that is
// on.
static void layers_keep_their_credits(void **state)
{
	struct window w = windows(4, 3, false);
	(void)state;
	for (int i = 0; i < 3; i++)
		assert_in_range(window_spend(&w), 0, 2);
	w.on = &w.layer[1];
	assert_int_equal(window_credits(&w), 3);
	window_credit(&w, 0, 2, 10); // late, of the layer before
	assert_int_equal(window_credits(&w), 3);
	while (window_credits(&w) > 0)
		assert_in_range(window_spend(&w), 3, 4);
	window_silence(&w, 5000); // one place of layer 0 is still taken, and not looked at
	assert_int_equal(w.group[0].in_flight, 1);
	assert_int_equal(w.group[1].in_flight, 0);
	w.on = &w.layer[0];
	assert_int_equal(window_credits(&w), 3);
	window_silence(&w, 5000);
	assert_int_equal(window_credits(&w), 4);
	drop(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pairs_and_streams_take_turns),
		cmocka_unit_test(a_reply_frees_its_place),
		cmocka_unit_test(in_flight_never_passes_the_limit),
		cmocka_unit_test(only_a_long_silence_frees_all),
		cmocka_unit_test(layers_keep_their_credits),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
