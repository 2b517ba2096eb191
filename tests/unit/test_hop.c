// When a next hop is asked, and what is known of it.
#include "hop.h"

#include "testlib.h"

#define S UINT64_C(1000000000)

static const struct rte_ether_addr first = { { 2, 0, 0, 0, 0, 1 } },
				   second = { { 2, 0, 0, 0, 0, 2 } };

// Asks whenever it is due from *now on; returns how often until `to`, and of these all.
static unsigned ask_until(struct hop *h, uint64_t *now, uint64_t to, unsigned *all)
{
	unsigned n = 0;
	*all = 0;
	for (; *now < to; *now += S / 100) {
		enum hop_ask whom = hop_due(h, *now);
		if (whom == HOP_WAIT)
			continue;
		n++;
		*all += whom == HOP_ASK_ALL;
		hop_asked(h, true, *now);
	}
	return n;
}

static void unknown_is_asked_fast_then_slowly(void **state)
{
	struct hop h = { .again_ns = 2 * S };
	uint64_t now = 0;
	unsigned all;
	(void)state;
	assert_int_equal(ask_until(&h, &now, S, &all), 10);
	assert_int_equal(all, 10);
	assert_int_equal(ask_until(&h, &now, 11 * S, &all), 10);
	assert_int_equal(hop_silent_ns(&h, now), 0); // it never answered
	assert_int_equal(h.silences, 0);
	assert_true(hop_answer(&h, &first, now));
	assert_int_equal(h.changes, 0);
}

static void known_is_asked_itself_then_all_are(void **state)
{
	struct hop h = { .again_ns = 2 * S };
	uint64_t now = S;
	unsigned all;
	(void)state;
	assert_true(hop_answer(&h, &first, now));
	assert_int_equal(ask_until(&h, &now, 3 * S, &all), 0);
	assert_int_equal(ask_until(&h, &now, 3 * S + S * 7 / 10, &all), 3);
	assert_int_equal(all, 0);
	assert_int_equal(hop_silent_ns(&h, now), 0);
	assert_int_equal(ask_until(&h, &now, 5 * S, &all), 3);
	assert_int_equal(all, 3);
	assert_int_equal(hop_silent_ns(&h, now), 0); // the last one has its time
	ask_until(&h, &now, 6 * S, &all);
	assert_int_equal(hop_silent_ns(&h, now), now - S);
	assert_int_equal(h.silences, 1);
	assert_true(rte_is_same_ether_addr(&h.mac, &first));
	assert_true(hop_answer(&h, &second, now)); // another took its place
	assert_int_equal(hop_silent_ns(&h, now), 0);
	assert_int_equal(h.changes, 1);
	assert_int_equal(h.silences, 1);
}

// What the port did not take asked nobody, however often it was tried.
static void unsent_is_no_silence(void **state)
{
	struct hop h = { .again_ns = 2 * S };
	(void)state;
	hop_answer(&h, &first, S);
	for (uint64_t now = S; now < 60 * S; now += S / 100)
		if (hop_due(&h, now) != HOP_WAIT)
			hop_asked(&h, false, now);
	assert_int_equal(hop_due(&h, 60 * S), HOP_ASK_IT);
	assert_int_equal(hop_silent_ns(&h, 60 * S), 0);
}

static void a_doubt_asks_at_once(void **state)
{
	struct hop h = { .again_ns = 2 * S };
	(void)state;
	hop_answer(&h, &first, S);
	assert_int_equal(hop_due(&h, S + 1), HOP_WAIT);
	hop_doubt(&h, S + 1);
	assert_int_equal(hop_due(&h, S + 1), HOP_ASK_IT);
	hop_asked(&h, true, S + 1);
	hop_doubt(&h, S + 2); // no storm of them
	assert_int_equal(hop_due(&h, S + 2), HOP_WAIT);
	hop_confirm(&h, S + 3);
	assert_int_equal(hop_due(&h, 2 * S), HOP_WAIT);
	assert_int_equal(h.changes, 0);
}

// Another MAC is none of its own while it may answer: three questions long.
static void another_mac_is_disputed(void **state)
{
	struct hop h = { .again_ns = 2 * S };
	(void)state;
	assert_false(hop_disputes(&h, &first));
	hop_answer(&h, &first, S);
	assert_false(hop_disputes(&h, &first));
	for (int i = 0; i < 3; i++) {
		assert_true(hop_disputes(&h, &second));
		hop_asked(&h, true, S);
	}
	assert_false(hop_disputes(&h, &second));
	hop_confirm(&h, 2 * S);
	assert_true(hop_disputes(&h, &second));
}

// The mean grows with the number, and they do not fall on one instant.
static void many_are_spread(void **state)
{
	static const struct {
		size_t count;
		uint64_t mean_s;
	} x[] = { { 1, 2 }, { 100, 2 }, { 400, 6 }, { 1000, 15 }, { 8000, 15 } };
	(void)state;
	for (size_t k = 0; k < sizeof(x) / sizeof(x[0]); k++) {
		uint64_t mean = x[k].mean_s * S;
		size_t early = 0;
		for (size_t i = 0; i < x[k].count; i++) {
			uint64_t ns = hop_again_ns(i, x[k].count);
			assert_in_range(ns, mean / 2, mean / 2 + mean);
			early += ns < mean;
		}
		if (x[k].count > 1)
			assert_in_range(early, x[k].count * 45 / 100, x[k].count * 55 / 100);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(unknown_is_asked_fast_then_slowly),
		cmocka_unit_test(known_is_asked_itself_then_all_are),
		cmocka_unit_test(unsent_is_no_silence),
		cmocka_unit_test(a_doubt_asks_at_once),
		cmocka_unit_test(another_mac_is_disputed),
		cmocka_unit_test(many_are_spread),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
