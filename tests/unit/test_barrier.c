#include "barrier.h"

#include "testlib.h"

#include <math.h>

#define MS 1000000ull
#define DAY (86400ull * 1000000000ull)

static void best_sample_counts(void **state)
{
	// theirs is ours + 1000; the second round trip is the shortest, the others are lopsided
	const struct clock_sample s[] = {
		{ .sent_ns = 100000, .received_ns = 180000, .theirs_ns = 171000 },
		{ .sent_ns = 200000, .received_ns = 200401, .theirs_ns = 201200 },
		{ .sent_ns = 300000, .received_ns = 390000, .theirs_ns = 301000 },
	};
	struct clock_offset o;

	(void)state;
	assert_true(clock_offset_of(s, COUNT_OF(s), &o));
	assert_int_equal(o.offset_ns, 1000);
	assert_int_equal(o.error_ns, 201);
	assert_int_equal(clock_theirs(&o, 5000), 6000);
}

static void clocks_apart(void **state)
{
	// booted a day later or earlier than ours: the difference is signed
	const struct clock_sample later = { .sent_ns = 2 * DAY,
					    .received_ns = 2 * DAY + 200,
					    .theirs_ns = DAY + 100 };
	const struct clock_sample earlier = { .sent_ns = DAY,
					      .received_ns = DAY + 200,
					      .theirs_ns = 2 * DAY + 100 };
	struct clock_offset o;

	(void)state;
	assert_true(clock_offset_of(&later, 1, &o));
	assert_true(o.offset_ns == -(int64_t)DAY);
	assert_true(clock_theirs(&o, 2 * DAY + 7) == DAY + 7);
	assert_true(clock_offset_of(&earlier, 1, &o));
	assert_true(o.offset_ns == (int64_t)DAY);
}

static void random_clocks(void **state)
{
	struct rng rng = rng_open("clocks");

	(void)state;
	for (int i = 0; i < 1000; i++) {
		struct clock_sample s[10];
		uint64_t shift = rng_below(&rng, 100 * DAY);
		struct clock_offset o;

		for (size_t j = 0; j < COUNT_OF(s); j++) {
			uint64_t there = rng_below(&rng, MS), back = rng_below(&rng, MS);

			s[j].sent_ns = DAY + rng_below(&rng, DAY);
			s[j].theirs_ns = s[j].sent_ns + there + shift;
			s[j].received_ns = s[j].sent_ns + there + back;
		}
		assert_true(clock_offset_of(s, COUNT_OF(s), &o));
		int64_t wrong = o.offset_ns - (int64_t)shift;
		assert_true((uint64_t)(wrong < 0 ? -wrong : wrong) <= o.error_ns);
	}
}

static void insane_samples(void **state)
{
	const struct clock_sample back = { .sent_ns = 10, .received_ns = 9 };
	struct clock_offset o;

	(void)state;
	assert_false(clock_offset_of(NULL, 0, &o));
	assert_false(clock_offset_of(&back, 1, &o));
}

static void start_leaves_time(void **state)
{
	(void)state;
	assert_true(barrier_start(DAY, 0, 3, 64) == DAY + BARRIER_LEAD_NS);
	// 130 hosts, 64 at a time: three rounds of telling
	assert_true(barrier_start(DAY, 10 * MS, 130, 64) ==
		    DAY + BARRIER_LEAD_NS + 3 * 4 * 10 * MS);
	assert_true(barrier_start(DAY, 10 * MS, 2, 0) > DAY + BARRIER_LEAD_NS);
}

static struct barrier_host host(int64_t offset_ns, uint64_t error_ns, uint64_t phase_ns,
				uint64_t late_ns)
{
	struct barrier_host h = { .offset = { .offset_ns = offset_ns, .error_ns = error_ns } };

	h.told_ns = clock_theirs(&h.offset, 10 * DAY);
	h.due_ns = h.told_ns + phase_ns;
	h.first_tx_ns = h.due_ns + late_ns;
	return h;
}

static void skew(void **state)
{
	// phases of the plan are no skew; clocks that are days apart cancel out
	struct barrier_host h[] = {
		host(5 * (int64_t)DAY, 100, 0, 40),
		host(-3 * (int64_t)DAY, 200, 7 * MS, 1040),
		host(17, 50, 3 * MS, 500),
	};
	struct skew s = barrier_skew(h, 3);

	(void)state;
	assert_true(s.ns == 1000);
	assert_true(s.error_ns == 300);

	h[1].first_tx_ns = 0; // sends nothing
	s = barrier_skew(h, 3);
	assert_true(s.ns == 460);
	h[2].first_tx_ns = 0;
	s = barrier_skew(h, 3);
	assert_true(isnan(s.ns) && isnan(s.error_ns));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(best_sample_counts), cmocka_unit_test(clocks_apart),
		cmocka_unit_test(random_clocks),      cmocka_unit_test(insane_samples),
		cmocka_unit_test(start_leaves_time),  cmocka_unit_test(skew),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
