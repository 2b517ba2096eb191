// Cycles of sizes: exactly their weights, evenly spread, the same every time.
#include "size_mix.h"

#include "testlib.h"

#include <stdlib.h>
#include <string.h>

static void cycle_is(const struct mix_size *part, size_t parts, const char *want)
{
	struct uints *c = mix_interleave(part, parts);
	char got[512] = "";
	assert_non_null(c);
	for (uint32_t i = 0; i < c->count; i++)
		snprintf(got + strlen(got), sizeof(got) - strlen(got), "%s%u", i > 0 ? " " : "",
			 (unsigned)c->v[i]);
	assert_string_equal(got, want);
	free(c);
}

static void orders(void **state)
{
	static const struct mix_size imix[] = { { 64, 7 }, { 594, 4 }, { 1518, 1 } },
				     two[] = { { 9, 1 }, { 5, 1 } }, lone[] = { { 7, 1 } },
				     rare[] = { { 1, 6 }, { 2, 1 } };
	(void)state;
	cycle_is(imix, 3, "64 594 64 64 594 64 1518 594 64 64 594 64");
	cycle_is(two, 2, "9 5");
	cycle_is(lone, 1, "7");
	cycle_is(rare, 2, "1 1 1 2 1 1 1");
}

// In any part of a cycle a size is as often as its share says, but for less than one packet on
// either side for each of the others.
static void spread_evenly(void **state)
{
	struct rng g = rng_open("mixes");
	(void)state;
	for (int round = 0; round < 300; round++) {
		struct mix_size part[8], got[1024];
		size_t parts = 1 + rng_below(&g, COUNT_OF(part));
		uint32_t total = 0;
		for (size_t i = 0; i < parts; i++) {
			part[i] = (struct mix_size){ (uint32_t)(18 + i),
						     1 + (uint32_t)rng_below(&g, 50) };
			total += part[i].weight;
		}
		struct size_mix m = { mix_interleave(part, parts) };
		assert_non_null(m.cycle);
		assert_int_equal(m.cycle->count, total);
		assert_int_equal(mix_check(&m, NULL), 0);
		assert_int_equal(mix_sizes(&m, got), parts);
		assert_int_equal(mix_size_count(&m), parts);
		assert_int_equal(mix_largest(&m), 17 + parts);
		uint32_t seen[8] = { 0 };
		for (uint32_t i = 0; i < total; i++) {
			seen[mix_find(got, parts, (uint32_t)m.cycle->v[i])]++;
			for (size_t k = 0; k < parts; k++) {
				double due = (double)part[k].weight * (i + 1) / total;
				assert_true(seen[k] < due + (double)parts &&
					    seen[k] + (double)parts > due);
			}
		}
		for (size_t k = 0; k < parts; k++) {
			assert_int_equal(seen[k], part[k].weight);
			assert_int_equal(got[k].weight, part[k].weight);
		}
		assert_int_equal(mix_find(got, parts, 17), parts);
		free(m.cycle);
	}
}

static void limits(void **state)
{
	struct size_mix m = { uints_new(MIX_CYCLE_MAX + 1) };
	struct err e = { 0 };
	(void)state;
	assert_non_null(m.cycle);
	for (uint32_t i = 0; i <= MIX_CYCLE_MAX; i++)
		m.cycle->v[i] = 18 + i % MIX_SIZES_MAX;
	assert_true(mix_check(&m, &e) < 0);
	assert_string_equal(e.msg, "cycle: expected 1 to 16384 sizes");
	m.cycle->count = MIX_CYCLE_MAX;
	assert_int_equal(mix_check(&m, &e), 0);
	m.cycle->v[7] = 60000;
	m.cycle->v[7 + MIX_SIZES_MAX] = 18 + 7;
	assert_true(mix_check(&m, &e) < 0);
	assert_string_equal(e.msg, "cycle: 2049 different sizes: expected at most 2048");
	free(m.cycle);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(orders),
		cmocka_unit_test(spread_evenly),
		cmocka_unit_test(limits),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
