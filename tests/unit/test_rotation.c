#include "rotation.h"

#include "testlib.h"

static const struct rotation none;

static void without_one_all_is_on(void **state)
{
	(void)state;
	assert_true(rotation_ok(&none));
	assert_true(rotation_has(&none, 0));
	assert_false(rotation_has(&none, 1));
	assert_int_equal(rotation_layer(&none, 12345), 0);
	assert_int_equal(rotation_on_ns(&none, 0, 12345), 12345);
}

static void in_range(void **state)
{
	static const struct {
		struct rotation r;
		bool ok;
	} t[] = {
		{ { 0, 1 }, false },
		{ { 1, 0 }, false },
		{ { 1, ROTATION_DWELL_MIN_NS - 1 }, false },
		{ { 1, ROTATION_DWELL_MIN_NS }, true },
		{ { ROTATION_LAYERS_MAX, ROTATION_DWELL_MAX_NS }, true },
		{ { ROTATION_LAYERS_MAX, ROTATION_DWELL_MAX_NS + 1 }, false },
		{ { ROTATION_LAYERS_MAX + 1, ROTATION_DWELL_MAX_NS }, false },
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(t); i++)
		assert_int_equal(rotation_ok(&t[i].r), t[i].ok);
}

static void layers_take_turns(void **state)
{
	const struct rotation r = { .layers = 3, .dwell_ns = 10000000 };

	(void)state;
	assert_int_equal(rotation_layer(&r, 0), 0);
	assert_int_equal(rotation_layer(&r, 9999999), 0);
	assert_int_equal(rotation_layer(&r, 10000000), 1);
	assert_int_equal(rotation_layer(&r, 29999999), 2);
	assert_int_equal(rotation_layer(&r, 30000000), 0);
	assert_int_equal(rotation_on_ns(&r, 1, 10000000), 0);
	assert_int_equal(rotation_on_ns(&r, 1, 10000007), 7);
	assert_int_equal(rotation_on_ns(&r, 1, 25000000), 10000000);
	assert_int_equal(rotation_on_ns(&r, 0, 34000000), 14000000);
	assert_int_equal(rotation_on_ns(&r, 2, 34000000), 10000000);
}

// One layer is on at any time, so what they were on for adds up; and a layer's time goes on only
// while it is the one.
static void their_times_add_up(void **state)
{
	struct rng g = rng_open("rotation");

	(void)state;
	for (int i = 0; i < 20000; i++) {
		struct rotation r = {
			.layers = 1 + (uint32_t)rng_below(&g, 40),
			.dwell_ns = ROTATION_DWELL_MIN_NS + rng_below(&g, 5000000000),
		};
		uint64_t t = rng_below(&g, UINT64_C(1) << 50), sum = 0;
		uint32_t now = rotation_layer(&r, t);

		for (uint32_t l = 0; l < r.layers; l++) {
			uint64_t on = rotation_on_ns(&r, l, t);

			assert_int_equal(rotation_on_ns(&r, l, t + 1) - on, l == now);
			sum += on;
		}
		assert_int_equal(sum, t);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(without_one_all_is_on),
		cmocka_unit_test(in_range),
		cmocka_unit_test(layers_take_turns),
		cmocka_unit_test(their_times_add_up),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
