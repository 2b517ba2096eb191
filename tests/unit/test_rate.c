// What the matrix says of rates and of how they are spread over time, and what the plan makes of
// it.
#include "plan.h"
#include "rates.h"

#include "testlib.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const char *const drivers[] = { TEST_DATA "/../../drivers-config", NULL };

struct case_plan {
	struct matrix matrix;
	struct profile profile[2];
	struct plan plan;
};

// Two hosts with that traffic; -1 and the error's text when it is refused.
static int plan_of(const char *traffic, struct case_plan *c, struct err *e)
{
	char text[1024];
	int ret;

	snprintf(text, sizeof(text),
		 "pmx: 1\n"
		 "transport: local\n"
		 "defaults: {speed_gbps: 10}\n"
		 "hosts: {a: {device: net_null0, addr: 198.18.0.1/24, speed_gbps: 25},\n"
		 "        b: {device: net_null0, addr: 198.18.0.2/24}}\n"
		 "traffic: %s\n",
		 traffic);
	*c = (struct case_plan){ 0 };
	*e = (struct err){ 0 };
	ret = matrix_parse("FILE", text, strlen(text), &c->matrix, e);
	for (int i = 0; ret == 0 && i < 2; i++)
		ret = profile_load("null", drivers, &c->profile[i], e);
	if (ret < 0)
		return ret;
	struct plan_input in = { .matrix = &c->matrix,
				 .profile = c->profile,
				 .run_id = "r",
				 .local_cpus = 4,
				 .duration_ns = 1 };
	return plan_build(&in, &c->plan, e);
}

static void case_free(struct case_plan *c)
{
	plan_free(&c->plan);
	matrix_free(&c->matrix);
}

static void pacing_of_the_matrix(void **state)
{
	static const struct {
		const char *traffic;
		struct pacing pacing;
		double pps;
	} t[] = {
		{ "{rate: 5}", { .burst = 1 }, 5 },
		{ "{rate: 5k, burst: 32}", { .burst = 32 }, 5000 },
		{ "{burst: 32, gap: 10ms}", { .burst = 32 }, 3200 },
		{ "{gap: 250us}", { .burst = 1 }, 4000 },
		{ "{rate: 5, spacing: even}", { .burst = 1 }, 5 },
		{ "{rate: 5, spacing: poisson}", { 1, SPACING_POISSON, .seed = 1 }, 5 },
		{ "{rate: 5, spacing: uniform, seed: 9}", { 1, SPACING_UNIFORM, .seed = 9 }, 5 },
		{ "{rate: 5, peers: 1, seed: 9}", { .burst = 1 }, 5 },
		{ "{rate: 5, ramp: 10s}", { 1, .ramp = { 0, 10000000000, 0 } }, 5 },
		{ "{rate: 5, ramp: {over: 500ms, from: 10%}}",
		  { 1, .ramp = { 0.1, 500000000, 0 } },
		  5 },
		{ "{rate: 5, ramp: {steps: 4, over: 20s}}",
		  { 1, .ramp = { 0.25, 20000000000, 4 } },
		  5 },
		{ "{rate: 5, ramp: {steps: 5, over: 20s, from: 0}}",
		  { 1, .ramp = { 0, 20000000000, 5 } },
		  5 },
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(t); i++) {
		const struct pacing *want = &t[i].pacing, *got;
		struct case_plan c;
		struct err e;

		if (plan_of(t[i].traffic, &c, &e) < 0)
			fail_msg("%s: %s", t[i].traffic, e.msg);
		got = &c.plan.host[1].pacing;
		assert_int_equal(got->burst, want->burst);
		assert_int_equal(got->spacing, want->spacing);
		assert_int_equal(got->seed, want->seed);
		assert_true(got->ramp.from == want->ramp.from);
		assert_int_equal(got->ramp.over_ns, want->ramp.over_ns);
		assert_int_equal(got->ramp.steps, want->ramp.steps);
		assert_true(c.plan.flow[0].rate_pps == t[i].pps);
		case_free(&c);
	}
}

// What the link carries of 64-byte frames is 84 bytes each on the wire.
static void rates_of_bits(void **state)
{
	static const struct {
		const char *traffic;
		double a_to_b, b_to_a;
	} t[] = {
		{ "{rate: 672Mbps}", 1e6, 1e6 },
		{ "{rate: 672MbpsL1}", 1e6, 1e6 },
		{ "{rate: 512MbpsL2}", 1e6, 1e6 },
		{ "{rate: 0bps, cells: {a: {b: 672b/s}}}", 1, 0 },
		{ "{pattern: cells, cells: {a: {b: 672kb/s}, b: {a: 5k}}}", 1000, 5000 },
		{ "{rate: 5, cells: {a: {b: 512kbpsL2}}}", 1000, 5 },
		{ "{rate: 1Gbps, request: 1472, reply: 18}", 1e9 / 8 / 1538, 1e9 / 8 / 1538 },
		{ "{rate: 1GbpsL2, request: '64:1, 1472:1'}", 1e9 / 8 / 814, 1e9 / 8 / 814 },
		{ "{rate: 10%}", 1e9 / 8 / 84, 1e9 / 8 / 84 }, // 10 of the slower's 10 Gb/s
		{ "{rate: max, cells: {b: {a: 50%}}}", RATE_UNPACED, 5e9 / 8 / 84 },
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(t); i++) {
		struct case_plan c;
		struct err e;

		if (plan_of(t[i].traffic, &c, &e) < 0)
			fail_msg("%s: %s", t[i].traffic, e.msg);
		assert_near(c.plan.flow[0].rate_pps, t[i].a_to_b, 1e-9 * fabs(t[i].a_to_b));
		if (c.plan.flow_count == 2)
			assert_near(c.plan.flow[1].rate_pps, t[i].b_to_a, 1e-9 * fabs(t[i].b_to_a));
		else
			assert_true(t[i].b_to_a == 0);
		case_free(&c);
	}
}

// What is written is what was read.
static void rates_as_text(void **state)
{
	static const char *const text[] = { "max",     "5",	  "12.5k",  "10G",	  "100Gbps",
					    "1GbpsL2", "1.5Mbps", "0.5bps", "10000GbpsL2" };

	(void)state;
	for (size_t i = 0; i < COUNT_OF(text); i++) {
		char got[RATE_STR_MAX];
		struct rate r;

		assert_int_equal(parse_rate(text[i], &r, NULL), 0);
		assert_string_equal(rate_text_str(&r, got, sizeof(got)), text[i]);
	}
	// of any size as many digits as are read
	for (double v = 1.0 / 3; v < RATE_MAX_BPS; v *= 10) {
		char got[RATE_STR_MAX];
		struct rate r, bits = { .bps = v };

		assert_int_equal(parse_rate(rate_text_str(&bits, got, sizeof(got)), &r, NULL), 0);
		assert_near(r.bps, v, 1e-9 + 1e-15 * v);
	}
}

static void refused(void **state)
{
	static const struct {
		const char *traffic, *msg;
	} t[] = {
		{ "{rate: 5, burst: 0}",
		  "FILE:6:27: burst '0': expected a whole number from 1 to 65536" },
		{ "{rate: 5, gap: 1ms}",
		  "FILE:6:25: gap: 'rate' stands at 6:17, and a gap of each burst says how much, "
		  "too: keep one" },
		{ "{pattern: cells, gap: 1ms, cells: {a: {b: 5}}}",
		  "FILE:6:32: gap: has no effect with 'pattern: cells': remove it, or say "
		  "'pattern: mesh'" },
		{ "{rate: 5, spacing: odd}",
		  "FILE:6:29: spacing 'odd': expected one of even, uniform, poisson" },
		{ "{rate: 5, spacing: even, seed: 2}",
		  "FILE:6:41: seed: has no effect without 'peers:' or 'spacing:', for which it "
		  "draws: remove it, or say that" },
		{ "{rate: 5, ramp: 1ms}", "FILE:6:26: ramp '1ms': expected 10ms to 24h" },
		{ "{rate: 5, ramp: [1s]}",
		  "FILE:6:26: ramp: a list given: expected a time, as 10s, or a mapping" },
		{ "{rate: 5, ramp: {from: 10%}}",
		  "FILE:6:26: ramp: over is missing: expected the time in which the rate rises, "
		  "as 'over: 10s'" },
		{ "{rate: 5, ramp: {over: 1s, from: 100%}}",
		  "FILE:6:43: from '100': a ramp from the whole rate does not rise: expected less "
		  "than 100%" },
		{ "{rate: 5, ramp: {over: 1s, steps: 1}}",
		  "FILE:6:44: steps '1': expected a whole number from 2 to 1000" },
		{ "{rate: 5, peers: 1, dwell: 1s, ramp: 1s}",
		  "FILE:6:47: ramp: with 'dwell:' each layer would be sent at another rate: keep "
		  "one of the two" },
		{ "{rate: 10000Gbps}",
		  "FILE:6:17: rate: 14880952380 packets/s of these sizes: expected at most 10G" },
		{ "{burst: 65536, gap: 1us}",
		  "FILE:6:30: rate: 65536000000 packets/s of these sizes: expected at most 10G" },
		{ "{rate: max, burst: 4}",
		  "FILE:6:29: burst: every pair is unpaced, and sends what its port takes: "
		  "expected a rate, or no burst" },
		{ "{rate: max, ramp: 4s}",
		  "FILE:6:28: ramp: every pair is unpaced, and sends what its port takes: "
		  "expected a rate, or no ramp" },
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(t); i++) {
		struct case_plan c;
		struct err e;

		if (plan_of(t[i].traffic, &c, &e) == 0)
			fail_msg("%s: taken", t[i].traffic);
		assert_string_equal(e.msg, t[i].msg);
		matrix_free(&c.matrix);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pacing_of_the_matrix),
		cmocka_unit_test(rates_of_bits),
		cmocka_unit_test(rates_as_text),
		cmocka_unit_test(refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
