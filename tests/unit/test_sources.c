// A host that asks from many addresses: each stream has one, and no other will do.
#include "any_ends.h"
#include "eal_run.h"

// The last 32 bits of an address in a frame without tags.
static uint32_t end_of_addr(bool v6, const struct rte_mbuf *m, bool dst)
{
	const uint8_t *d = rte_pktmbuf_mtod(m, const uint8_t *) + 14;
	return rte_be_to_cpu_32(load32(d + (v6 ? 20 + 16 * dst : 12 + 4 * dst)));
}

// Each stream asks from its address and is answered there; another of the same peer is refused.
static void from_many_addresses(void **state)
{
	for (sources = 1; sources <= STREAMS; sources++)
		every_layout_and_size(state);
	for (int v6 = 0; v6 < 2; v6++) {
		struct form f = { v6, 0, 19, 512, NULL };
		struct ip_addr first = first_source(v6);
		sources = 2;
		struct end *a = end_make(&f, 0, 0), *b = end_make(&f, 1, 1);
		meet(a, b);
		assert_false(a->q->plain || b->q->plain);
		for (uint32_t s = 0; s < STREAMS; s++) {
			uint32_t want = ip4_of(&first) + s % sources;
			struct rte_mbuf *m = ask(a, s);
			assert_int_equal(end_of_addr(v6, m, false), want);
			give(b->q, carry(b, m));
			m = take_out(b->q);
			assert_non_null(m);
			assert_int_equal(end_of_addr(v6, m, true), want);
			rte_pktmbuf_free(m);
		}
		// the other address of the same peer
		struct rte_mbuf *m = carry(b, ask(a, 0)), *other = ask(a, 1);
		memcpy(rte_pktmbuf_mtod(m, uint8_t *) + 14, rte_pktmbuf_mtod(other, uint8_t *) + 14,
		       v6 ? 40 : 20);
		rte_pktmbuf_free(other);
		give(b->q, m);
		assert_null(take_out(b->q));
		assert_int_equal(drops(b->q), b->q->drop[DROP_STREAM]);
		assert_int_equal(drops(b->q), 1);
		end_drop(a);
		end_drop(b);
	}
	sources = 3;
	one_wrong_bit_is_refused(state);
	sources = 0;
}

static int run(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(from_many_addresses),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

int main(void)
{
	return eal_run("test_sources", run);
}
