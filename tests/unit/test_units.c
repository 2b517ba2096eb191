#include "units.h"

#include "testlib.h"

#include <math.h>

static void frames(void **state)
{
	static const struct {
		uint32_t payload, frame;
	} t[] = {
		{ 0, 64 },   { 18, 64 },   { 19, 65 },	   { 82, 128 },
		{ 64, 110 }, { 512, 558 }, { 1472, 1518 }, { 65507, 65553 },
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(t); i++) {
		assert_int_equal(frame_bytes(t[i].payload), t[i].frame);
		assert_int_equal(l1_bytes(t[i].payload), t[i].frame + 20);
	}
}

// pps_max = R / (8 (F + 20)), rounded down.
static void line_rates(void **state)
{
	static const uint32_t frame[] = { 64, 128, 256, 512, 1024, 1280, 1518, 9000 };
	static const struct {
		unsigned gbps;
		uint32_t pps[COUNT_OF(frame)];
	} t[] = {
		{ 10, { 14880952, 8445945, 4528985, 2349624, 1197318, 961538, 812743, 138580 } },
		{ 25,
		  { 37202380, 21114864, 11322463, 5874060, 2993295, 2403846, 2031859, 346452 } },
		{ 100,
		  { 148809523, 84459459, 45289855, 23496240, 11973180, 9615384, 8127438,
		    1385809 } },
		{ 400,
		  { 595238095, 337837837, 181159420, 93984962, 47892720, 38461538, 32509752,
		    5543237 } },
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(t); i++)
		for (size_t j = 0; j < COUNT_OF(frame); j++) {
			double pps = line_rate_pps(t[i].gbps * 1e9, frame[j] - 46);
			assert_int_equal((uint64_t)floor(pps), t[i].pps[j]);
		}
}

static void bit_rates(void **state)
{
	(void)state;
	assert_true(l1_bps(1000, 18) == 1000 * 84 * 8);
	assert_true(l2_bps(1000, 18) == 1000 * 64 * 8);
	assert_true(payload_bps(1000, 18) == 1000 * 18 * 8);
	assert_true(l1_bps(line_rate_pps(1e11, 82), 82) == 1e11);
	assert_true(l2_bps(2.5, 1472) == 2.5 * 1518 * 8);
}

static void numbers_shown(void **state)
{
	static const struct {
		double v;
		const char *text;
	} t[] = {
		{ 0, "0" },
		{ 1, "1" },
		{ 0.5, "0.5" },
		{ 12.5, "12.5" },
		{ 980, "980" },
		{ 999, "999" },
		{ 999.4, "999" },
		{ 999.6, "1.00 k" },
		{ 1000, "1.00 k" },
		{ 12500, "12.5 k" },
		{ 9994, "9.99 k" },
		{ 9996, "10.0 k" },
		{ 99940, "99.9 k" },
		{ 99960, "100 k" },
		{ 999400, "999 k" },
		{ 999500, "1.00 M" },
		{ 1234567, "1.23 M" },
		{ 14880952, "14.9 M" },
		{ 4e11, "400 G" },
		{ 1.5e12, "1.50 T" },
		{ 1e18, "1e+06 T" },
		{ -1500, "-1.50 k" },
		{ 1.8446e19, "1.84e+07 T" },
	};
	char buf[16];

	(void)state;
	for (size_t i = 0; i < COUNT_OF(t); i++)
		assert_string_equal(si_str(t[i].v, buf, sizeof(buf)), t[i].text);
	assert_string_equal(si_str(NAN, buf, sizeof(buf)), "");
	assert_ptr_equal(si_str(1, buf, sizeof(buf)), buf);
}

static void times_shown(void **state)
{
	static const struct {
		double ns;
		const char *text;
	} t[] = {
		{ 0, "0 ns" },
		{ 850, "850 ns" },
		{ 1.5, "1.5 ns" },
		{ 999.6, "1.00 us" },
		{ 12345, "12.3 us" },
		{ 4.56e6, "4.56 ms" },
		{ 1.2e9, "1.20 s" },
		{ 999.9e6, "1.00 s" },
		{ 137e9, "137 s" },
		{ 3600e9, "3600 s" },
		{ 31536000e9, "3.15e+07 s" },
	};
	char buf[16];

	(void)state;
	for (size_t i = 0; i < COUNT_OF(t); i++)
		assert_string_equal(ns_str(t[i].ns, buf, sizeof(buf)), t[i].text);
	assert_string_equal(ns_str(-1, buf, sizeof(buf)), "");
	assert_string_equal(ns_str(NAN, buf, sizeof(buf)), "");
}

static void counts_shown(void **state)
{
	static const struct {
		uint64_t v;
		const char *text;
	} t[] = {
		{ 0, "0" },
		{ 999, "999" },
		{ 1000, "1,000" },
		{ 1234567, "1,234,567" },
		{ 100000, "100,000" },
		{ UINT64_MAX, "18,446,744,073,709,551,615" },
	};
	char buf[28];

	(void)state;
	for (size_t i = 0; i < COUNT_OF(t); i++)
		assert_string_equal(count_str(t[i].v, buf, sizeof(buf)), t[i].text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(frames),      cmocka_unit_test(line_rates),
		cmocka_unit_test(bit_rates),   cmocka_unit_test(numbers_shown),
		cmocka_unit_test(times_shown), cmocka_unit_test(counts_shown),
	};

	return cmocka_run_group_tests_name("units", tests, NULL, NULL);
}
