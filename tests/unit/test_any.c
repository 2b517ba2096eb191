// Requests and replies of every layout between two real queues, mbufs carried by hand: every
// checksum and length right, every packet accounted for, and nothing else let in.
#include "any_ends.h"

#include "collect_sizes.h"

// The tag stands beside the frame when the driver took it out.
static void a_stripped_tag_is_put_back(void **state)
{
	struct form f = { false, 1, 18, 18, NULL }, plain = { false, 0, 18, 18, NULL };
	struct end *a = end_make(&plain, 0, 0), *b = end_make(&f, 1, 1),
		   *c = end_make(&plain, 1, 2);
	(void)state;
	meet(a, b);
	meet(a, c);
	for (uint16_t id = 99; id < 102; id++) {
		struct rte_mbuf *m = carry(b, ask(a, 0));
		m->ol_flags |= RTE_MBUF_F_RX_VLAN | RTE_MBUF_F_RX_VLAN_STRIPPED;
		m->vlan_tci = id;
		give(b->q, m);
		m = take_out(b->q);
		assert_int_equal(m != NULL, id == 100);
		rte_pktmbuf_free(m);
	}
	assert_int_equal(b->q->drop[DROP_VLAN], 2);
	end_drop(a);
	end_drop(b);
	end_drop(c);
}

// A path that changes is told, and costs no packet.
static void ttls_are_kept(void **state)
{
	static const uint8_t ttl[] = { 60, 58, 58, 59, 60, 255, 1 };
	(void)state;
	for (int v6 = 0; v6 < 2; v6++) {
		struct form f = { v6, 0, 18, 18, NULL };
		struct end *a = end_make(&f, 0, 0), *b = end_make(&f, 1, 1);
		meet(a, b);
		for (size_t i = 0; i < COUNT_OF(ttl); i++) {
			struct rte_mbuf *m = carry(b, ask(a, 0));
			rte_pktmbuf_mtod(m, uint8_t *)[a->q->at.ttl] = ttl[i];
			give(b->q, m);
			m = take_out(b->q);
			assert_non_null(m);
			rte_pktmbuf_free(m);
			if (i == 4) {
				assert_int_equal(b->q->rx_flow[0].ttl.min, 58);
				assert_int_equal(b->q->rx_flow[0].ttl.max, 60);
			}
		}
		assert_int_equal(b->q->rx_flow[0].ttl.min, 1);
		assert_int_equal(b->q->rx_flow[0].ttl.max, 255);
		end_drop(a);
		end_drop(b);
	}
}

// Nothing that a peer can send takes mbufs away, whatever its layout, length or segments.
static void mbufs_come_back(void **state)
{
	struct rng g = rng_open("hostile");
	(void)state;
	for (int form = 0; form < 6; form++) {
		struct form f = { form >= 3, form % 3, 64, 200, NULL };
		struct end *a = end_make(&f, 0, 0), *b = end_make(&f, 1, 1);
		meet(a, b);
		unsigned int free_mbufs = rte_mempool_avail_count(b->q->rx_pool);
		for (int i = 0; i < 20000; i++) {
			struct rte_mbuf *m = carry(b, ask(a, (uint32_t)rng_below(&g, STREAMS)));
			uint64_t bytes = rng_below(&g, 8);
			while (bytes-- > 0)
				rte_pktmbuf_mtod(m, uint8_t *)[rng_below(&g, a->q->at.pmx + 18u)] =
					(uint8_t)rng_next(&g);
			if (rng_below(&g, 4) == 0)
				rte_pktmbuf_trim(m, (uint16_t)rng_below(&g, m->data_len + 1u));
			if (rng_below(&g, 8) == 0) {
				m->ol_flags |= RTE_MBUF_F_RX_VLAN | RTE_MBUF_F_RX_VLAN_STRIPPED;
				m->vlan_tci = (uint16_t)rng_next(&g);
			}
			if (rng_below(&g, 8) == 0)
				rte_pktmbuf_chain(m, rte_pktmbuf_alloc(b->q->rx_pool));
			give(b->q, m);
			while ((m = take_out(b->q)) != NULL)
				rte_pktmbuf_free(m);
			punted(b->q);
		}
		assert_int_equal(rte_mempool_avail_count(b->q->rx_pool), free_mbufs);
		end_drop(a);
		end_drop(b);
	}
}

static uint32_t mix_at(const struct size_mix *m, uint32_t seq, uint32_t stream)
{
	return (uint32_t)m->cycle->v[mix_place(seq, stream, m->cycle->count)];
}

// The counters by size of the only requester's trial, as a result has them; owned by the caller.
static struct uints *tx_sizes(const struct end *a)
{
	struct result r = { 0 };
	assert_int_equal(result_alloc(&r, 1, 1, 0, 1), 0);
	assert_int_equal(collect_sizes_alloc(&r, a->q), 0);
	assert_int_equal(collect_sizes(&r, a->q, 0), 0);
	struct uints *of = r.tx[0].trial[0].by_size;
	r.tx[0].trial[0].by_size = NULL;
	result_free(&r);
	return of;
}

// Every packet of a mix has the size of its place, and the counters by size say as many. With
// `lose` every fifth request and every seventh reply does not come.
static void exchange_mix(bool v6, size_t tags, const struct size_mix *mix, bool lose)
{
	enum { SIZES = 8, PACKETS = 21 * STREAMS };
	struct form f = { v6, tags, mix_largest(&mix[0]), mix_largest(&mix[1]), mix };
	struct end *a = end_make(&f, 0, 0), *b = end_make(&f, 1, 1);
	struct mix_size size[2][64];
	size_t n[2] = { mix_sizes(&mix[0], size[0]), mix_sizes(&mix[1], size[1]) };
	uint64_t sent[SIZES] = { 0 }, there[SIZES] = { 0 }, back[SIZES] = { 0 };
	meet(a, b);
	atomic_store(&a->shared.armed, true);
	trial_step(a->q, 0);
	for (uint32_t i = 0; i < PACKETS; i++) {
		uint32_t seq = i / STREAMS, stream = i % STREAMS;
		uint32_t asked = mix_at(&mix[0], seq, stream), owed = mix_at(&mix[1], seq, stream);
		size_t at[2] = { mix_find(size[0], n[0], asked),
				 n[0] + mix_find(size[1], n[1], owed) };
		struct rte_mbuf *m = ask(a, stream);
		check_head(&f, m, asked);
		sent[at[0]]++;
		sent[at[1]]++;
		if (lose && i % 5 == 0) {
			rte_pktmbuf_free(m);
			continue;
		}
		give(b->q, carry(b, m));
		m = take_out(b->q);
		if (m == NULL)
			fail_msg("no reply to %u, %lu drops", i, drops(b->q));
		check_head(&f, m, owed);
		there[at[0]]++;
		there[at[1]]++;
		if (lose && i % 7 == 0) {
			rte_pktmbuf_free(m);
			continue;
		}
		give(a->q, carry(a, m));
		back[at[0]]++;
		back[at[1]]++;
	}
	assert_int_equal(drops(a->q) + drops(b->q), 0);
	assert_int_equal(a->q->any.tx_counts, n[0] + n[1]);
	a->q->out_count = b->q->out_count = 0;
	struct uints *live = tx_sizes(a);
	trial_step(a->q, 1000000000);
	struct uints *ended = tx_sizes(a);
	trial_step(a->q, 3000000000);
	struct uints *of = tx_sizes(a);
	assert_int_equal(of->count, 2 * (n[0] + n[1]));
	assert_memory_equal(live->v, of->v, of->count * sizeof(of->v[0]));
	assert_memory_equal(ended->v, of->v, of->count * sizeof(of->v[0]));
	for (size_t i = 0; i < n[0] + n[1]; i++) {
		assert_int_equal(of->v[i], sent[i]);
		assert_int_equal(of->v[n[0] + n[1] + i], back[i]);
		assert_int_equal(b->q->trial[0].rx_size[i].delivered, there[i]);
		assert_int_equal(b->q->trial[0].rx_size[i].reply_unsent, 0);
	}
	free(live);
	free(ended);
	free(of);
	end_drop(a);
	end_drop(b);
}

static void mixes_are_exact(void **state)
{
	static const struct mix_size imix[] = { { 18, 7 }, { 548, 4 }, { 1472, 1 } },
				     back[] = { { 1472, 2 }, { 19, 1 } }, one[] = { { 100, 1 } };
	struct size_mix mix[2] = { { mix_interleave(imix, 3) }, { mix_interleave(back, 2) } };
	struct size_mix same[2] = { mix[0], mix[0] },
			flat[2] = { mix[0], { mix_interleave(one, 1) } };
	(void)state;
	for (int v6 = 0; v6 < 2; v6++)
		for (size_t tags = 0; tags < 3; tags++)
			for (int lose = 0; lose < 2; lose++) {
				exchange_mix(v6, tags, mix, lose);
				exchange_mix(v6, tags, same, lose);
				exchange_mix(v6, tags, flat, lose);
			}
	free(mix[0].cycle);
	free(mix[1].cycle);
	free(flat[1].cycle);
}

// What the port never took was not sent, by its size neither.
static void unsent_by_size(void **state)
{
	static const struct mix_size imix[] = { { 18, 7 }, { 548, 4 }, { 1472, 1 } },
				     one[] = { { 100, 1 } };
	struct size_mix mix[2] = { { mix_interleave(imix, 3) }, { mix_interleave(one, 1) } };
	struct form f = { false, 0, 1472, 100, mix };
	struct end *a = end_make(&f, 0, 0), *b = end_make(&f, 1, 1);
	uint64_t sent = 0;
	(void)state;
	meet(a, b);
	atomic_store(&a->shared.armed, true);
	atomic_store(&b->shared.armed, true);
	trial_step(a->q, 0);
	trial_step(b->q, 0);
	for (uint32_t i = 0; i < 24; i++) {
		struct rte_mbuf *m = ask(a, i % STREAMS);
		if (i < 12) { // delivered, and the reply waits
			give(b->q, carry(b, m));
			continue;
		}
		m->hash.usr = i % STREAMS;
		*out_tail(a->q) = m;
		out_add(a->q, 1);
	}
	trial_step(a->q, 1000000000);
	trial_step(a->q, 3000000000);
	trial_step(b->q, 1000000000);
	trial_step(b->q, 3000000000);
	assert_int_equal(a->q->trial[0].tx[0].sent, 12);
	assert_int_equal(b->q->trial[0].rx[0].reply_unsent, 12);
	struct uints *of = tx_sizes(a);
	for (size_t i = 0; i < 3; i++) {
		const struct rx_by_size *c = &b->q->trial[0].rx_size[i];
		sent += of->v[i];
		assert_int_equal(of->v[i], c->delivered);
		assert_int_equal(c->reply_unsent, c->delivered);
	}
	assert_int_equal(sent, 12);
	free(of);
	end_drop(a);
	end_drop(b);
	free(mix[0].cycle);
	free(mix[1].cycle);
}

// Runs of several streams, some over the end of 32 bits, against one packet at a time.
static void runs_by_size_are_exact(void **state)
{
	enum { CYCLE = 300, SIZES = 40, RUNS = 5 };
	struct rng g = rng_open("runs");
	uint64_t change[CYCLE + 1] = { 0 }, before[CYCLE + 1] = { 0 };
	(void)state;
	for (int round = 0; round < 500; round++) {
		uint16_t turn[CYCLE];
		struct sizes z = { .cycle = 1 + (uint32_t)rng_below(&g, CYCLE), .turn = turn };
		uint64_t count[SIZES] = { 0 }, want[SIZES] = { 0 };
		z.inverse = UINT64_MAX / z.cycle + 1;
		for (uint32_t i = 0; i < z.cycle; i++) {
			turn[i] = (uint16_t)rng_below(&g, SIZES);
			before[i + 1] = before[i] + 100 + turn[i];
		}
		for (uint32_t run = 0; run < RUNS; run++) {
			uint32_t place = (uint32_t)rng_below(&g, 3 * z.cycle);
			uint64_t n = rng_below(&g, 4ull * z.cycle), sum = 0;
			if (rng_below(&g, 2) == 0)
				place = -place;
			by_size_add(change, &z, place, n);
			for (uint64_t k = 0; k < n; k++) {
				uint32_t at = size_index(&z, place + (uint32_t)k);
				assert_int_equal(at, turn[(place + (uint32_t)k) % z.cycle]);
				want[at]++;
				sum += 100 + at;
			}
			assert_int_equal(by_size_sum(before, &z, place, n), sum);
		}
		by_size_take(change, &z, count);
		assert_memory_equal(count, want, sizeof(want));
		for (uint32_t i = 0; i <= CYCLE; i++)
			assert_int_equal(change[i], 0);
	}
}

// More than there are sequences: all of 32 bits twice, and some.
static void runs_beyond_32_bits(void **state)
{
	static const uint16_t turn[] = { 0, 1, 0, 2, 2, 2, 1 };
	static const uint64_t before[] = { 0, 1, 3, 4, 9, 14, 19, 21 };
	const struct sizes z = { .cycle = 7, .count = 3, .turn = turn };
	const uint64_t all = UINT64_C(1) << 32, whole = all / 7; // 2^32 is 4 modulo 7
	uint64_t change[8] = { 0 }, count[3] = { 0 };
	(void)state;
	by_size_add(change, &z, 0, 2 * all + 2);
	by_size_take(change, &z, count);
	assert_int_equal(count[0], 2 * (2 * whole + 2) + 1);
	assert_int_equal(count[1], 2 * (2 * whole + 1) + 1);
	assert_int_equal(count[2], 2 * (3 * whole + 1));
	assert_int_equal(by_size_sum(before, &z, 0, 2 * all + 2), 2 * (21 * whole + 9) + 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_layout_and_size),
		cmocka_unit_test(one_wrong_bit_is_refused),
		cmocka_unit_test(a_stripped_tag_is_put_back),
		cmocka_unit_test(ttls_are_kept),
		cmocka_unit_test(mbufs_come_back),
		cmocka_unit_test(mixes_are_exact),
		cmocka_unit_test(unsent_by_size),
		cmocka_unit_test(runs_by_size_are_exact),
		cmocka_unit_test(runs_beyond_32_bits),
	};
	char dir[] = "/tmp/pmx-test-XXXXXX",
	     *argv[] = { "test_any",	   "--no-huge",	  "-m",		 "512",	  "--no-pci",
			 "--no-telemetry", "--no-shconf", "--log-level", "error", NULL };
	if (mkdtemp(dir) == NULL || setenv("RUNTIME_DIRECTORY", dir, 1) != 0 ||
	    rte_eal_init((int)COUNT_OF(argv) - 1, argv) < 0)
		return 1;
	int failed = cmocka_run_group_tests(tests, NULL, NULL);
	rte_eal_cleanup();
	char command[64];
	snprintf(command, sizeof(command), "rm -rf %s", dir);
	return system(command) != 0 || failed;
}
