#include "testlib.h"

#include "mesh_run.h"
#include "names.h"
#include "pairs.h"

static void test_pairs(void **state)
{
	struct pairs p;
	uint32_t rank = 0;

	(void)state;
	assert_int_equal(pairs_init(&p, 130, NULL), 0);
	for (uint32_t src = 0; src < 130; src++)
		for (uint32_t dst = src % 3; dst < 130; dst += 3)
			pairs_add(&p, src, dst);
	pairs_rank(&p);
	for (uint32_t src = 0; src < 130; src++)
		for (uint32_t dst = 0; dst < 130; dst++) {
			uint32_t want = dst % 3 == src % 3 ? rank++ : PAIR_NONE;
			assert_int_equal(pairs_index(&p, src, dst), want);
		}
	assert_int_equal(p.count, rank);
	pairs_free(&p);
}

static void test_names(void **state)
{
	struct mesh_run r;
	struct names n;

	(void)state;
	mesh_run_make(&r, &(struct mesh_spec){ .hosts = 100, .pps = 1 });
	assert_int_equal(names_init(&n, &r.matrix, NULL), 0);
	for (uint32_t i = 0; i < 100; i++)
		assert_int_equal(names_find(&n, r.matrix.host[i].name), i);
	assert_int_equal(names_find(&n, "host0100"), NAME_NONE);
	assert_int_equal(names_find(&n, ""), NAME_NONE);
	names_free(&n);
	mesh_run_free(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_pairs),
		cmocka_unit_test(test_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
