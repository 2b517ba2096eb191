#include "seqwin.h"

#include "testlib.h"

#include <string.h>

#define SPAN 4096

struct window {
	uint64_t seen[SEQWIN_WORDS];
	uint32_t next;
};

static enum seq_class take(struct window *w, uint32_t seq)
{
	return seqwin_accept(w->seen, &w->next, seq);
}

static void in_order_is_new(void **state)
{
	struct window w = { 0 };
	(void)state;
	for (uint32_t i = 0; i < 3 * SEQWIN_BITS; i++)
		assert_int_equal(take(&w, i), SEQ_NEW);
}

static void duplicates_are_told_wherever_they_are_known(void **state)
{
	struct window w = { 0 };
	(void)state;
	for (uint32_t i = 0; i <= 1000; i++)
		take(&w, i);
	for (uint32_t back = 0; back < SEQWIN_KNOWN; back++)
		assert_int_equal(take(&w, 1000 - back), SEQ_DUPLICATE);
	assert_int_equal(take(&w, 1000 - SEQWIN_BITS), SEQ_OLD);
}

static void holes_are_filled_once(void **state)
{
	struct window w = { 0 };
	(void)state;
	take(&w, 0);
	assert_int_equal(take(&w, 150), SEQ_NEW);
	for (uint32_t i = 1; i < 150; i++) {
		assert_int_equal(take(&w, i), SEQ_REORDERED);
		assert_int_equal(take(&w, i), SEQ_DUPLICATE);
	}
}

static void a_jump_forgets_nothing_it_should_know(void **state)
{
	(void)state;
	for (uint32_t from = 0; from < 130; from++) {
		for (uint32_t jump = 1; jump < 600; jump++) {
			struct window w = { 0 };
			for (uint32_t i = 0; i < from; i++)
				take(&w, i);
			uint32_t top = from + jump;
			assert_int_equal(take(&w, top), SEQ_NEW);
			assert_int_equal(take(&w, top), SEQ_DUPLICATE);
			assert_int_equal(take(&w, top - 1), SEQ_REORDERED);
			if (from > 0 && jump + 2 <= SEQWIN_KNOWN)
				assert_int_equal(take(&w, from - 1), SEQ_DUPLICATE);
		}
	}
}

static void numbers_wrap(void **state)
{
	struct window w = { .next = UINT32_MAX - 10 };
	(void)state;
	for (uint32_t i = 0; i < 2 * SEQWIN_BITS; i++)
		assert_int_equal(take(&w, UINT32_MAX - 10 + i), SEQ_NEW);
	assert_int_equal(take(&w, w.next - 5), SEQ_DUPLICATE);
}

// A run that was only counted leaves the window as if each number had been taken.
static void a_run_is_as_good_as_its_numbers(void **state)
{
	(void)state;
	for (uint32_t from = 0; from < 300; from += 7) {
		for (uint32_t len = 0; len < 700; len += 13) {
			struct window a = { 0 }, b = { 0 };
			for (uint32_t i = 0; i < from + len; i++)
				take(&a, i);
			for (uint32_t i = 0; i < from; i++)
				take(&b, i);
			b.next = from + len;
			seqwin_run(b.seen, from, b.next);
			assert_int_equal(take(&a, from + len + 9), take(&b, from + len + 9));
			for (uint32_t back = 0; back <= SEQWIN_KNOWN && back <= from + len; back++)
				assert_int_equal(take(&a, from + len + 9 - back),
						 take(&b, from + len + 9 - back));
		}
	}
}

// Against a plain list of what was seen: random order, loss and duplication.
static void agrees_with_a_plain_list(void **state)
{
	struct rng r = rng_open("seqwin");
	static bool seen[SPAN];
	(void)state;
	for (int round = 0; round < 50; round++) {
		struct window w = { 0 };
		uint32_t high = 0;
		memset(seen, 0, sizeof(seen));
		while (high < SPAN - 400) {
			uint32_t seq = high + (uint32_t)rng_below(&r, 300);
			seq = seq < 250 ? seq : seq - (uint32_t)rng_below(&r, 250);
			enum seq_class c = take(&w, seq);
			if (seq >= high)
				assert_int_equal(c, SEQ_NEW);
			else if (high - seq <= SEQWIN_KNOWN)
				assert_int_equal(c, seen[seq] ? SEQ_DUPLICATE : SEQ_REORDERED);
			else if (c != SEQ_OLD)
				assert_int_equal(c, seen[seq] ? SEQ_DUPLICATE : SEQ_REORDERED);
			if (c != SEQ_OLD)
				seen[seq] = true;
			high = seq >= high ? seq + 1 : high;
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(in_order_is_new),
		cmocka_unit_test(duplicates_are_told_wherever_they_are_known),
		cmocka_unit_test(holes_are_filled_once),
		cmocka_unit_test(a_jump_forgets_nothing_it_should_know),
		cmocka_unit_test(numbers_wrap),
		cmocka_unit_test(a_run_is_as_good_as_its_numbers),
		cmocka_unit_test(agrees_with_a_plain_list),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
