#include "pattern.h"

#include "planlib.h"

#include <errno.h>
#include <stdio.h>

#define HOSTS                                             \
	"pmx: 1\n"                                        \
	"hosts:\n"                                        \
	"  a: {device: net_null0, addr: 198.18.0.1/24}\n" \
	"  b: {device: net_null0, addr: 198.18.0.2/24}\n" \
	"  c: {device: net_null0, addr: 198.18.0.3/24}\n"

static void matrix_of(const char *traffic, struct matrix *m)
{
	char text[2048];
	struct err e = { 0 };

	snprintf(text, sizeof(text), HOSTS "traffic: %s\n", traffic);
	if (matrix_parse("FILE", text, strlen(text), m, &e) < 0)
		fail_msg("%s", e.msg);
}

// "ab:5 ba:max ca:50%": what is in the pairs, in their order.
static void pairs_are(const char *traffic, const bool *excluded, const char *want)
{
	struct matrix m;
	struct err e = { 0 };
	struct pair *pair;
	size_t count, used = 0;
	char got[512] = "";

	matrix_of(traffic, &m);
	if (pattern_build(&m, excluded, &pair, &count, &e) < 0)
		fail_msg("%s: %s", traffic, e.msg);
	for (size_t i = 0; i < count; i++) {
		const struct pair *p = &pair[i];

		assert_true(p->pos.line > 0);
		used += (size_t)snprintf(got + used, sizeof(got) - used,
					 "%s%c%c:", i > 0 ? " " : "", 'a' + (char)p->src,
					 'a' + (char)p->dst);
		if (p->rate.max)
			used += (size_t)snprintf(got + used, sizeof(got) - used, "max");
		else
			used += (size_t)snprintf(got + used, sizeof(got) - used, "%g%s",
						 p->line_pct > 0 ? p->line_pct : p->rate.pps,
						 p->line_pct > 0 ? "%" : "");
	}
	assert_string_equal(got, want);
	free(pair);
	matrix_free(&m);
}

static void none(const char *traffic, const bool *excluded, const char *msg)
{
	struct matrix m;
	struct err e = { 0 };
	struct pair *pair;
	size_t count;

	matrix_of(traffic, &m);
	assert_int_equal(pattern_build(&m, excluded, &pair, &count, &e), -EINVAL);
	assert_string_equal(e.msg, msg);
	assert_null(pair);
	matrix_free(&m);
}

static void mesh(void **state)
{
	(void)state;
	pairs_are("{rate: 5}", NULL, "ab:5 ac:5 ba:5 bc:5 ca:5 cb:5");
	pairs_are("{rate: max}", NULL, "ab:max ac:max ba:max bc:max ca:max cb:max");
	pairs_are("{rate: 50%}", NULL, "ab:50% ac:50% ba:50% bc:50% ca:50% cb:50%");
}

static void mesh_with_cells(void **state)
{
	(void)state;
	pairs_are("{rate: 5, cells: {c: {a: 7, b: }, a: {c: 0, b: max, a: 3}, b: }}", NULL,
		  "ab:max ba:5 bc:5 ca:7");
	pairs_are("{rate: 0, cells: {b: {c: 2k}}}", NULL, "bc:2000");
	pairs_are("{rate: 5, cells: {b: {c: 1%}}}", NULL, "ab:5 ac:5 ba:5 bc:1% ca:5 cb:5");
}

static void cells(void **state)
{
	(void)state;
	pairs_are("{pattern: cells, cells: {c: {b: 1.5k, a: 7}, a: {b: max}}}", NULL,
		  "ab:max ca:7 cb:1500");
	pairs_are("{pattern: cells, cells: {c: {b: '', a: ~}, a: {b: 1}}}", NULL, "ab:1");
}

static void excluded_hosts(void **state)
{
	static const bool b_out[3] = { false, true, false };
	static const bool two_out[3] = { true, true, false };

	(void)state;
	pairs_are("{rate: 5}", b_out, "ac:5 ca:5");
	pairs_are("{rate: 5, cells: {a: {b: 7, c: 9}}}", b_out, "ac:9 ca:5");
	none("{pattern: cells, cells: {a: {b: 7}}}", b_out,
	     "FILE: no flow is left without the 1 hosts that are out");
	none("{rate: 5}", two_out, "FILE: no flow is left without the 2 hosts that are out");
}

static void empty(void **state)
{
	(void)state;
	none("{rate: 0}", NULL,
	     "FILE:6:17: every cell is empty: expected a rate above 0 for one pair or more");
	none("{pattern: cells, cells: {a: {b: 0, a: 5}}}", NULL,
	     "FILE:6:34: every cell is empty: expected a rate above 0 for one pair or more");
	none("{rate: 0%}", NULL,
	     "FILE:6:17: every cell is empty: expected a rate above 0 for one pair or more");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(mesh),	 cmocka_unit_test(mesh_with_cells),
		cmocka_unit_test(cells), cmocka_unit_test(excluded_hosts),
		cmocka_unit_test(empty),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
