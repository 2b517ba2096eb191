// Requests and replies of every layout between two real queues, mbufs carried by hand: every
// checksum and length right, every packet accounted for, and nothing else let in.
#include "any_ends.h"

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
	trial_step(a->q, 1000000000);
	trial_step(a->q, 3000000000);
	for (size_t i = 0; i < n[0] + n[1]; i++) {
		assert_int_equal(a->q->trial[0].tx_size[i].sent, sent[i]);
		assert_int_equal(a->q->trial[0].tx_size[i].returned, back[i]);
		assert_int_equal(b->q->trial[0].rx_size[i].delivered, there[i]);
		assert_int_equal(b->q->trial[0].rx_size[i].reply_unsent, 0);
	}
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
	for (size_t i = 0; i < 3; i++) {
		const struct rx_by_size *c = &b->q->trial[0].rx_size[i];
		sent += a->q->trial[0].tx_size[i].sent;
		assert_int_equal(a->q->trial[0].tx_size[i].sent, c->delivered);
		assert_int_equal(c->reply_unsent, c->delivered);
	}
	assert_int_equal(sent, 12);
	end_drop(a);
	end_drop(b);
	free(mix[0].cycle);
	free(mix[1].cycle);
}

// The run of sequences over the end of 32 bits, against one at a time.
static void sent_by_size_is_exact(void **state)
{
	static const struct mix_size part[] = { { 18, 7 }, { 548, 4 }, { 1472, 1 } };
	struct size_mix mix = { mix_interleave(part, 3) };
	struct layout at = layout_make(false, 0);
	struct size size[3];
	uint16_t turn[12];
	struct any_flow flow = { .request_sizes = any_sizes(&at, &(struct sender){ .mtu = 1500 },
							    &mix, size, turn),
				 .reply_sizes = { .cycle = 1 },
				 .counts = { 1, 4 } };
	static const uint32_t from[] = { 0, 5, 11, UINT32_MAX - 30, UINT32_MAX };
	(void)state;
	for (size_t i = 0; i < COUNT_OF(from); i++)
		for (uint32_t n = 0; n < 100; n++) {
			struct tx_by_size c[5] = { 0 }, want[5] = { 0 };
			by_size_sent(c, &flow, from[i], n);
			for (uint32_t k = 0; k < n; k++) {
				uint32_t place = from[i] + k;
				assert_int_equal(size_index(&flow.request_sizes, place),
						 turn[place % 12]);
				want[1 + turn[place % 12]].sent++;
			}
			assert_memory_equal(c, want, sizeof(c));
		}
	free(mix.cycle);
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
		cmocka_unit_test(sent_by_size_is_exact),
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
