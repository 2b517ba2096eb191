// Datagrams in fragments, there and back.
#include "frag_port.h"

static void exchange(bool v6, size_t tags, uint32_t request, uint32_t reply, bool csum_hw)
{
	struct rig *r = rig_of(v6, tags, request, reply, csum_hw);
	struct queue *q = r->q;
	unsigned in_use = rte_mempool_in_use_count(q->rx_pool);
	for (uint32_t i = 0; i < 20; i++) {
		ask(r, 3);
		assert_int_equal(frag_flush(q), 3);
		take(r, UINT32_MAX);
		for (int d = 0; d < DROP_REASONS; d++)
			if (q->drop[d] > 0)
				fail_msg("drop %s %lu", drop_reason_name[d], q->drop[d]);
		assert_int_equal(q->out_count, 3);
		assert_int_equal(frag_flush(q), 3);
		take(r, UINT32_MAX);
	}
	if (q->reply[0].recv != 60 || q->request[0].recv != 60 || drops(q) != 0)
		fail_msg("v6 %d, %zu tags, %u to %u: %lu came, %lu came back, %lu drops", v6, tags,
			 request, reply, q->request[0].recv, q->reply[0].recv, drops(q));
	assert_int_equal(rte_mempool_in_use_count(q->rx_pool), in_use);
	assert_int_equal(rte_mempool_in_use_count(q->tx_pool), q->frag->out.zeros);
	assert_int_equal(rte_mempool_in_use_count(q->frag->out.heads), 0);
	assert_int_equal(rte_mempool_in_use_count(q->frag->out.refs), 0);
	rig_drop(r);
}

static void datagrams_come_back(void **state)
{
	static const uint32_t size[] = { 18, 1453, 1473, 2953, 9000, 11576 };
	(void)state;
	for (int v6 = 0; v6 < 2; v6++)
		for (size_t tags = 0; tags < 3; tags++)
			for (size_t i = 2; i < COUNT_OF(size); i++) {
				exchange(v6, tags, size[i], 18, false);
				exchange(v6, tags, 18, size[i], false);
				exchange(v6, tags, size[i], size[i], false);
				// no NIC sums up fragments
				exchange(v6, tags, size[i], size[i], true);
				exchange(v6, tags, size[i], 5000, true);
			}
}

// Any one fragment is lost: its datagram is, and no other.
static void one_fragment_is_one_datagram(void **state)
{
	(void)state;
	for (int v6 = 0; v6 < 2; v6++)
		for (uint32_t lose = 0; lose < 7; lose++) {
			struct rig *r = rig_make(v6, 0, 9000, 18);
			ask(r, 3);
			frag_flush(r->q);
			take(r, 7 + lose);
			assert_int_equal(r->q->request[0].recv, 2);
			assert_int_equal(r->q->out_count, 2);
			frag_expire(r->q, r->now + r->q->frag->in.table.timeout + 10);
			assert_int_equal(r->q->drop[DROP_INCOMPLETE], 6);
			assert_int_equal(drops(r->q), 6);
			rig_drop(r);
		}
}

// A port that is full in the middle of a datagram: what it took to the last fragment was sent.
static void a_full_port(void **state)
{
	(void)state;
	struct rig *r = rig_make(true, 0, 11576, 18);
	struct queue *q = r->q;
	struct tx_counts *c = &q->trial[0].tx[0];
	ask(r, 140);
	assert_int_equal(frag_flush(q), RING / 8);
	assert_int_equal(q->out_count, 140 - RING / 8);
	assert_int_equal(q->frag->out.count, 1);
	assert_int_equal(q->total.tx_full, 1);
	assert_int_equal(frag_flush(q), 0);
	take(r, UINT32_MAX);
	assert_int_equal(q->request[0].recv, RING / 8);
	// goes on where it was
	uint32_t replies = RING / 8;
	assert_int_equal(frag_flush(q), 140 - RING / 8 + replies);
	take(r, UINT32_MAX);
	assert_int_equal(q->request[0].recv, 140);
	assert_int_equal(drops(q), 0);
	frag_flush(q);
	take(r, UINT32_MAX);
	assert_int_equal(q->reply[0].recv, 140);

	// and again, but the trial closes
	ask(r, 140);
	frag_flush(q);
	assert_int_equal(q->frag->out.count, 1);
	trial_step(q, 3000000000);
	trial_step(q, 3000000001);
	assert_int_equal(q->out_count, 0);
	assert_int_equal(q->frag->out.count, 0);
	assert_int_equal(c->sent, 140 + RING / 8);
	rig_drop(r);
}

// Fragments of real datagrams, cut, moved and overlapping: nothing is answered that is not whole,
// and every mbuf comes back.
static void mbufs_come_back(void **state)
{
	struct rng g = rng_open("fragments");
	(void)state;
	for (int v6 = 0; v6 < 2; v6++) {
		struct rig *r = rig_make(v6, 1, 5000, 3000);
		struct queue *q = r->q;
		unsigned before = rte_mempool_in_use_count(q->rx_pool);
		for (int i = 0; i < 3000; i++) {
			struct rte_mbuf *m[32];
			ask(r, 4);
			frag_flush(q);
			uint16_t n = rte_eth_rx_burst(0, 0, m, 32);
			for (uint16_t k = 0; k < n; k++) {
				uint8_t *d = rte_pktmbuf_mtod(m[k], uint8_t *);
				uint64_t what = rng_below(&g, 8);
				if (what == 0)
					d[q->at.l3 + rng_below(&g, 48)] = (uint8_t)rng_next(&g);
				else if (what == 1)
					rte_pktmbuf_trim(m[k],
							 (uint16_t)rng_below(&g, m[k]->data_len));
				give(r, m[k]);
			}
			for (void *p; rte_ring_dequeue(q->punt, &p) == 0;)
				rte_pktmbuf_free(p);
			frag_flush(q);
			take(r, UINT32_MAX);
			r->now += (uint64_t)(rng_below(&g, 3) * FRAG_TIMEOUT_NS / 2);
			frag_expire(q, r->now);
		}
		assert_true(q->reply[0].recv > 0);
		for (int i = 0; i < 64; i++, r->now += q->frag->in.table.timeout)
			frag_expire(q, r->now);
		assert_int_equal(rte_mempool_in_use_count(q->rx_pool), before);
		assert_int_equal(rte_mempool_in_use_count(q->frag->out.heads), 0);
		rig_drop(r);
	}
}

// Whole replies of a stream come in on one queue and those in fragments on another: a place is
// freed once, whichever saw the reply, and a reply that did not come frees none of its own.
static void replies_on_two_queues(void **state)
{
	static const unsigned on[PLACES] = { 0, 0, 0, 1, 0, 0, 1, 0 };
	struct rig r = { .tx = { .peer = "b",
				 .peer_addr = own(false),
				 .req_bytes = 100,
				 .rep_bytes = 4000,
				 .rate_pps = RATE_UNPACED,
				 .window = PLACES,
				 .streams = 1,
				 .sport_first = 50000 } };
	struct queue *q[2];
	struct err e = { 0 };
	(void)state;
	r.cfg = (struct hostcfg){ .host_count = 2,
				  .addr = own(false),
				  .prefix_len = 24,
				  .udp_port = PORT,
				  .tx = &r.tx,
				  .tx_count = 1 };
	r.cfg.port.queues = 2;
	r.cfg.port.burst = 32;
	r.cfg.port.mtu = MTU;
	for (uint16_t i = 0; i < 2; i++) {
		q[i] = queue_create(&(struct queue_env){ .cfg = &r.cfg,
							 .shared = &r.shared,
							 .rxd = 64,
							 .txd = 64,
							 .data_room = 2176,
							 .mac = mac },
				    i, &e);
		if (q[i] == NULL)
			fail_msg("%s", e.msg);
		r.shared.queue[i] = q[i];
	}
	const uint32_t first[] = { UINT32_MAX - 2 }; // as a run that goes on has it
	for (unsigned i = 0; i < 2; i++)
		assert_int_equal(queue_sequences_set(q[i], &r.cfg, first), 0);
	for (uint32_t n = 0; n < PLACES; n++)
		window_spend(&q[0]->window);
	for (uint32_t n = 0; n < PLACES; n++) {
		struct queue *at = q[on[n]];
		struct rx_stream *s = &at->reply[0];
		uint32_t before = s->next;
		if (n == 4) // lost
			continue;
		s->next = first[0] + n + 1;
		rx_credit(at, s, s->next - before, 1, false);
		window_take_passed(&q[0]->window, 1);
		assert_int_equal(q[0]->window.group[0].in_flight, PLACES - n - 1);
	}
	assert_int_equal(window_credits(&q[0]->window), PLACES);
	queue_destroy(q[0]);
	queue_destroy(q[1]);
}
static int tests(void)
{
	const struct CMUnitTest all[] = {
		cmocka_unit_test(datagrams_come_back),
		cmocka_unit_test(one_fragment_is_one_datagram),
		cmocka_unit_test(a_full_port),
		cmocka_unit_test(replies_on_two_queues),
		cmocka_unit_test(mbufs_come_back),
	};
	return cmocka_run_group_tests(all, NULL, NULL);
}

int main(void)
{
	return frag_port_run(tests);
}
