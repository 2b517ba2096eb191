#include "facts.h"

#include "testlib.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define END FACT_END "\0ok\n"
#define READ(f, text) read_well(f, text, sizeof(text) - 1)

static void read_well(struct facts *f, const char *text, size_t len)
{
	struct err e = { 0 };

	if (facts_read(text, len, f, &e) < 0)
		fail_msg("%s", e.msg);
}

static void read_back(void **state)
{
	struct facts f;
	uint64_t v;
	int64_t i;

	(void)state;
	READ(&f, "z/last\0one\n"
		 "a/b\0first line\n"
		 "a/b\0\n"
		 "a/b\0third line\n"
		 "welcome to this host\n" // of a log-in shell
		 "\0no path\n"
		 "a/n\0"
		 "42\n"
		 "a/m\0"
		 "-1\n"
		 "z/last\0again\n" END);
	assert_int_equal(f.count, 6);
	assert_string_equal(fact(&f, "a/b"), "first line\n\nthird line");
	assert_string_equal(fact(&f, "z/%s", "last"), "one"); // the first goes first
	assert_null(fact(&f, "a"));
	assert_true(fact_u64(&f, &v, "a/n") && v == 42);
	assert_true(fact_i64(&f, &i, "a/m") && i == -1);
	assert_false(fact_u64(&f, &v, "a/m"));
	assert_false(fact_u64(&f, &v, "z/last"));
	assert_false(fact_i64(&f, &i, "nowhere"));
	facts_free(&f);
}

static void empty_is_known(void **state)
{
	struct facts f;

	(void)state;
	READ(&f, "cmd/agents\0\n" END);
	assert_string_equal(fact(&f, "cmd/agents"), "");
	facts_free(&f);
}

static void patterns(void **state)
{
	struct facts f;
	const struct fact *item;
	size_t at = 0;

	(void)state;
	READ(&f, "n/node1/x\0b\nn/node0/x\0a\nn/node0/y\0-\nn/node0/z/x\0-\n" END);
	item = fact_next(&f, "n/node*/x", &at);
	assert_string_equal(item->text, "a");
	item = fact_next(&f, "n/node*/x", &at);
	assert_string_equal(item->text, "b");
	assert_null(fact_next(&f, "n/node*/x", &at));
	facts_free(&f);
}

static void lines(void **state)
{
	static const char text[] = "Mem: 5 kB\nMemAvailable:   77 kB\n\tRX:\t\ton\nmaxsessions 10";
	char buf[16];

	(void)state;
	assert_string_equal(fact_line(text, "MemAvailable", buf, sizeof(buf)), "77 kB");
	assert_string_equal(fact_line(text, "RX", buf, sizeof(buf)), "on");
	assert_string_equal(fact_line(text, "maxsessions", buf, sizeof(buf)), "10");
	assert_string_equal(fact_line(text, "Mem", buf, sizeof(buf)), "5 kB");
	assert_null(fact_line(text, "Avail", buf, sizeof(buf)));
	assert_null(fact_line("", "x", buf, sizeof(buf)));
}

static void cut_off(void **state)
{
	static const char *const text[] = { "", "a\0b\n", "a\0b", "pmx/end", "a b\n" };
	static const size_t len[] = { 0, 4, 3, 7, 4 };
	struct facts f;
	struct err e;

	(void)state;
	for (size_t i = 0; i < COUNT_OF(text); i++) {
		assert_int_equal(facts_read(text[i], len[i], &f, &e), -EINVAL);
		assert_string_equal(e.msg, "the answer stops in the middle");
		assert_null(f.item);
	}
}

static void limits(void **state)
{
	size_t len = 0, n = FACTS_MAX + 1;
	char *text = malloc(n * 16 + 64), *huge = calloc(1, FACTS_BYTES_MAX + 1);
	struct facts f;
	struct err e;

	(void)state;
	for (size_t i = 0; i < n; i++)
		len += (size_t)sprintf(text + len, "%zu%cx\n", i, '\0');
	assert_int_equal(facts_read(text, len, &f, &e), -EINVAL);
	assert_string_equal(e.msg, "more than 65536 facts");
	assert_int_equal(facts_read(huge, FACTS_BYTES_MAX + 1, &f, &e), -EINVAL);
	assert_non_null(strstr(e.msg, "expected at most"));
	free(text);
	free(huge);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(read_back), cmocka_unit_test(empty_is_known),
		cmocka_unit_test(patterns),  cmocka_unit_test(lines),
		cmocka_unit_test(cut_off),   cmocka_unit_test(limits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
