#include "pacing.h"

#include "testlib.h"

#include <math.h>

// The integral of the share, by adding up small pieces of what the words say.
static double summed(const struct ramp *r, double over, double t)
{
	double sum = 0, piece = over / 20000;

	for (double at = piece / 2; at < t; at += piece) {
		double share = 1;
		if (at < over && r->steps == 0)
			share = r->from + (1 - r->from) * at / over;
		else if (at < over)
			share = r->from +
				(1 - r->from) * floor(at / over * r->steps) / (r->steps - 1);
		sum += share * piece;
	}
	return sum;
}

static const struct ramp ramps[] = {
	{ .from = 0 },
	{ .from = 0.1 },
	{ .from = 0.999999 },
	{ .from = 0, .steps = 2 },
	{ .from = 0.25, .steps = 4 },
	{ .from = 0.1, .steps = 5 },
	{ .from = 0.001, .steps = 1000 },
};

static void sent_is_the_integral(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT_OF(ramps); i++)
		for (double t = 0; t < 15; t += 0.37)
			assert_near(ramp_sent(&ramps[i], 10, t), summed(&ramps[i], 10, t), 2e-3);
}

static void at_is_the_inverse(void **state)
{
	const double over = 3e10; // 10 s of a 3 GHz clock

	(void)state;
	for (size_t i = 0; i < COUNT_OF(ramps); i++) {
		double last = -INFINITY;
		for (double sent = 1; sent < 1.2 * over; sent = sent * 1.01 + 77) {
			double t = ramp_at(&ramps[i], over, sent);
			assert_true(t > last);
			assert_near(ramp_sent(&ramps[i], over, t), sent, 1e-4);
			last = t;
		}
	}
}

// 25, 50, 75 and 100 % for a quarter of the time each.
static void steps_are_levels(void **state)
{
	const struct ramp r = { .from = 0.25, .steps = 4 };
	const struct {
		double t, sent;
	} t[] = { { 0, 0 }, { 1, 0.25 }, { 2, 0.75 }, { 3, 1.5 }, { 4, 2.5 }, { 5, 3.5 } };

	(void)state;
	for (size_t i = 0; i < COUNT_OF(t); i++) {
		assert_near(ramp_sent(&r, 4, t[i].t), t[i].sent, 1e-12);
		assert_near(ramp_at(&r, 4, t[i].sent), t[i].t, 1e-12);
	}
}

// Before the window it is the share that the window begins with; from nothing, nothing is due.
static void before_the_window(void **state)
{
	const struct ramp tenth = { .from = 0.1 }, none = { .from = 0 },
			  silent = { .from = 0, .steps = 2 };

	(void)state;
	assert_near(ramp_sent(&tenth, 10, -2), -0.2, 1e-12);
	assert_near(ramp_at(&tenth, 10, -0.2), -2, 1e-12);
	assert_near(ramp_sent(&none, 10, -2), 0, 0);
	assert_true(isinf(ramp_at(&none, 10, -0.2)));
	assert_near(ramp_at(&none, 10, 0), 0, 0);
	assert_near(ramp_at(&silent, 10, 0), 5, 1e-12); // the second step begins
}

static void share_is_the_mean(void **state)
{
	const struct ramp none = { 0 }, r = { .over_ns = 4000000000 };

	(void)state;
	assert_near(ramp_share(&none, 0, 1e9), 1, 0);
	assert_near(ramp_share(&r, 0, 4e9), 0.5, 1e-12);
	assert_near(ramp_share(&r, 0, 8e9), 0.75, 1e-12);
	assert_near(ramp_share(&r, 1e9, 2e9), 0.375, 1e-12);
	assert_near(ramp_share(&r, 5e9, 6e9), 1, 1e-12);
	assert_near(ramp_share(&r, 5e9, 5e9), 1, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sent_is_the_integral), cmocka_unit_test(at_is_the_inverse),
		cmocka_unit_test(steps_are_levels),	cmocka_unit_test(before_the_window),
		cmocka_unit_test(share_is_the_mean),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
