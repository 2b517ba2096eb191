#include "testlib.h"

#include "summary.h"
#include "table.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct thing {
	char name[8];
	uint32_t small;
	uint64_t count;
	int64_t loss;
	double value;
};

static struct cell twice(const void *ctx, const void *item)
{
	const struct thing *t = item;

	return cell_real(*(const double *)ctx * t->value);
}

static const struct column column[] = {
	{ .key = "name", .source = SOURCE_TEXT, .offset = offsetof(struct thing, name) },
	{ .key = "small", .source = SOURCE_U32, .offset = offsetof(struct thing, small) },
	{ .key = "count", .source = SOURCE_U64, .offset = offsetof(struct thing, count) },
	{ .key = "loss", .source = SOURCE_I64, .offset = offsetof(struct thing, loss) },
	{ .key = "value_k",
	  .source = SOURCE_DOUBLE,
	  .offset = offsetof(struct thing, value),
	  .scale = 1000,
	  .decimals = 3 },
	{ .key = "twice", .make = twice, .decimals = 1 },
};

static void test_row(void **state)
{
	static const struct thing thing[] = {
		{ "one", 1, 2, -3, 4567.8 },
		{ "", 0, COUNTER_UNKNOWN, LOSS_UNKNOWN, NAN },
	};
	static const uint32_t order[] = { 1, 0 };
	const double two = 2;
	struct table t = {
		.column = column,
		.columns = COUNT_OF(column),
		.rows = 2,
		.item = (const char *)thing,
		.item_bytes = sizeof(thing[0]),
		.ctx = &two,
	};
	struct cell c[COUNT_OF(column)];

	(void)state;
	table_row(&t, 0, c);
	assert_string_equal(c[0].text, "one");
	assert_true(c[1].kind == CELL_COUNT && c[1].count == 1);
	assert_true(c[2].kind == CELL_COUNT && c[2].count == 2);
	assert_true(c[3].kind == CELL_INT && c[3].integer == -3);
	assert_true(c[4].kind == CELL_REAL && c[4].real == 4.568); // rounded once, for all
	assert_true(c[5].kind == CELL_REAL && c[5].real == 9135.6);
	table_row(&t, 1, c);
	assert_true(c[1].kind == CELL_COUNT && c[1].count == 0); // 0 is a count
	for (size_t i = 0; i < COUNT_OF(column); i++)
		if (i != 1)
			assert_int_equal(c[i].kind, CELL_NONE);
	t.order = order;
	table_row(&t, 1, c);
	assert_string_equal(c[0].text, "one");
	assert_int_equal(table_find(&t, "loss"), 3);
	assert_true(table_find(&t, "gain") == SIZE_MAX);
}

static void shows(struct column c, struct cell cell, const char *text, const char *unit,
		  const char *plain)
{
	char buf[CELL_TEXT_MAX];

	assert_string_equal(cell_str(&c, &cell, buf, sizeof(buf)), text);
	assert_string_equal(cell_unit_str(&c, &cell, buf, sizeof(buf)), unit);
	assert_string_equal(cell_plain(&c, &cell, buf, sizeof(buf)), plain);
}

static void test_forms(void **state)
{
	const struct column count = { .form = FORM_COUNT };
	const struct column pps = { .form = FORM_SI, .unit = "pps", .decimals = 3 };
	const struct column gbps = { .form = FORM_GBPS, .unit = "bps", .decimals = 9 };
	const struct column mbps = { .form = FORM_MBPS, .unit = "bps", .decimals = 6 };
	const struct column us = { .form = FORM_US, .decimals = 3 };
	const struct column pct = {
		.form = FORM_PCT, .unit = "%", .decimals = 9, .text_decimals = 3
	};
	const struct column real = {
		.form = FORM_REAL, .unit = "s", .decimals = 6, .text_decimals = 2
	};
	const struct column yes = { .form = FORM_BOOL };
	const struct column text = { .form = FORM_TEXT, .unit = "never" };

	(void)state;
	shows(count, cell_count(1234567), "1,234,567", "1,234,567", "1234567");
	shows(count, cell_count(0), "0", "0", "0");
	shows(count, cell_count(UINT64_MAX - 1), "18,446,744,073,709,551,614",
	      "18,446,744,073,709,551,614", "18446744073709551614");
	shows(count, cell_int(-1234), "-1,234", "-1,234", "-1234");
	shows(count, cell_int(INT64_MIN + 1), "-9,223,372,036,854,775,807",
	      "-9,223,372,036,854,775,807", "-9223372036854775807");
	shows(pps, cell_real(1234567.891), "1.23 M", "1.23 Mpps", "1234567.891");
	shows(pps, cell_real(980), "980", "980 pps", "980");
	shows(gbps, cell_real(0.148), "148 M", "148 Mbps", "0.148");
	shows(mbps, cell_real(3.36), "3.36 M", "3.36 Mbps", "3.36");
	shows(us, cell_real(12.345), "12.3 us", "12.3 us", "12.345");
	shows(us, cell_real(0), "0 ns", "0 ns", "0");
	shows(real, cell_real(10.005), "10.01", "10.01 s", "10.005");
	shows(yes, cell_bool(true), "yes", "yes", "true");
	shows(yes, cell_bool(false), "no", "no", "false");
	shows(text, cell_text("a, b"), "a, b", "a, b", "a, b");
	shows(pct, cell_real(0), "0", "0 %", "0");
	shows(pct, cell_real(100), "100", "100 %", "100");
	shows(pct, cell_real(1), "1.000", "1.000 %", "1");
	shows(pct, cell_real(-0.5), "-0.500", "-0.500 %", "-0.5");
	// one lost in a thousand million is not no loss, and not all delivered
	shows(pct, cell_real(1e-7), "<0.001", "<0.001 %", "0.0000001");
	shows(pct, cell_real(100 - 1e-7), ">99.999", ">99.999 %", "99.9999999");
	shows(pct, cell_real(0.0006), "0.001", "0.001 %", "0.0006");
}

static void test_not_measured(void **state)
{
	const struct column c = { .form = FORM_PCT, .unit = "%" };

	(void)state;
	shows(c, cell_count(COUNTER_UNKNOWN), "", "-", "");
	shows(c, cell_int(LOSS_UNKNOWN), "", "-", "");
	shows(c, cell_real(NAN), "", "-", "");
	shows(c, cell_real(INFINITY), "", "-", "");
	shows(c, cell_text(""), "", "-", "");
	shows(c, cell_text(NULL), "", "-", "");
}

// What is printed and read back is the value of the cell, to the bit.
static void test_plain_is_exact(void **state)
{
	struct column c = { .key = "x", .source = SOURCE_DOUBLE };
	double value;
	struct table t = {
		.column = &c,
		.columns = 1,
		.rows = 1,
		.item = (const char *)&value,
		.item_bytes = sizeof(value),
	};
	struct rng rng = rng_open("plain numbers");

	(void)state;
	for (int i = 0; i < 200000; i++) {
		char buf[CELL_TEXT_MAX], *end;
		struct cell cell;
		uint64_t r = rng_next(&rng);

		c.decimals = (uint8_t)(r % 10);
		value = ((double)(r >> 12) - 0x1p51) / pow(10, (double)(r / 16 % 22));
		table_row(&t, 0, &cell);
		const char *s = cell_plain(&c, &cell, buf, sizeof(buf));
		assert_true(strtod(s, &end) == cell.real && *end == '\0' && *s != '\0');
		assert_null(strchr(s, ','));
		// half a digit, and what the double itself leaves out
		assert_true(fabs(cell.real - value) <=
			    0.5000001 * pow(10, -c.decimals) + fabs(value) * 0x1p-51);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_row),
		cmocka_unit_test(test_forms),
		cmocka_unit_test(test_not_measured),
		cmocka_unit_test(test_plain_is_exact),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
