// Fragments that nobody asked for, and what they take from those that somebody did.
#include "frag_port.h"

// A first fragment as the peer's, or with a cookie that is not the run's.
static struct rte_mbuf *first(struct rig *r, uint32_t id, uint16_t cookie)
{
	struct queue *q = r->q;
	struct rte_mbuf *m = rte_pktmbuf_alloc(q->rx_pool);
	if (m == NULL)
		return NULL;
	uint8_t *d = (uint8_t *)rte_pktmbuf_append(m, 14 + 20 + 1480);
	memset(d, 0, m->data_len);
	struct frame_spec s = { .src_mac = mac,
				.dst_mac = mac,
				.src = own(false),
				.dst = own(false),
				.sport = 50000,
				.dport = PORT,
				.payload_bytes = 9000,
				.cookie = cookie,
				.kind = PMX_REQUEST };
	frame_build((struct frame *)(void *)d, &s);
	struct rte_ipv4_hdr *ip = (void *)(d + q->at.l3);
	ip->total_length = rte_cpu_to_be_16(1500);
	ip->packet_id = rte_cpu_to_be_16((uint16_t)id);
	ip->fragment_offset = RTE_BE16(RTE_IPV4_HDR_MF_FLAG);
	ip->hdr_checksum = 0;
	ip->hdr_checksum = rte_ipv4_cksum(ip);
	return m;
}

// Who does not know the cookie takes no place from others, however many there are.
static void a_flood_of_strangers(void **state)
{
	struct rig *r = rig_make(false, 0, 9000, 18);
	struct queue *q = r->q;
	(void)state;
	for (uint32_t i = 0; i < 50; i++) {
		ask(r, 1);
		frag_flush(q);
		for (uint32_t k = 0; k < 1000; k++)
			give(r, first(r, 1000 * i + k, 0xabce));
		take(r, UINT32_MAX);
		frag_flush(q);
		take(r, UINT32_MAX);
	}
	assert_int_equal(q->drop[DROP_COOKIE], 50000);
	assert_int_equal(drops(q), 50000);
	assert_int_equal(q->reply[0].recv, 50);
	rig_drop(r);
}

// Who does fills the table and no more; once they are given up, all is as before.
static void a_flood_is_bounded(void **state)
{
	struct rig *r = rig_make(false, 0, 9000, 18);
	struct queue *q = r->q;
	unsigned before = rte_mempool_in_use_count(q->rx_pool), most = 0;
	(void)state;
	for (uint32_t i = 0; i < 60000; i++) {
		struct rte_mbuf *m = first(r, i, 0xabcd);
		assert_non_null(m);
		give(r, m);
		unsigned held = rte_mempool_in_use_count(q->rx_pool) - before;
		most = held > most ? held : most;
	}
	assert_in_range(most, FOOTPRINT_DATAGRAMS / 2, FOOTPRINT_DATAGRAMS);
	assert_int_equal(q->drop[DROP_INCOMPLETE], 60000 - most);
	r->now += q->frag->in.table.timeout + 10;
	for (int i = 0; i < 64; i++, r->now += q->frag->in.table.timeout / 8)
		frag_expire(q, r->now);
	assert_int_equal(rte_mempool_in_use_count(q->rx_pool), before);
	assert_int_equal(q->drop[DROP_INCOMPLETE], 60000);
	ask(r, 5);
	frag_flush(q);
	take(r, UINT32_MAX);
	frag_flush(q);
	take(r, UINT32_MAX);
	assert_int_equal(q->reply[0].recv, 5);
	rig_drop(r);
}

// The headers of a later fragment as anyone can make them who knows an address and an MTU.
static void forge_head(const struct queue *q, uint8_t *l3, uint32_t id, uint32_t at, uint32_t len,
		       bool more)
{
	if (q->at.v6) {
		struct rte_ipv6_hdr *ip = (void *)l3;
		struct rte_ipv6_fragment_ext *f = (void *)(ip + 1);
		ip->payload_len = rte_cpu_to_be_16((uint16_t)(sizeof(*f) + len));
		f->frag_data = rte_cpu_to_be_16((uint16_t)(at | more));
		f->id = rte_cpu_to_be_32(id);
		return;
	}
	struct rte_ipv4_hdr *ip = (void *)l3;
	ip->total_length = rte_cpu_to_be_16((uint16_t)(sizeof(*ip) + len));
	ip->packet_id = rte_cpu_to_be_16((uint16_t)id);
	ip->fragment_offset =
		rte_cpu_to_be_16((uint16_t)(at / 8 | (more ? RTE_IPV4_HDR_MF_FLAG : 0)));
	ip->hdr_checksum = 0;
	ip->hdr_checksum = rte_ipv4_cksum(ip);
}

// like: a fragment of the peer's.
static void give_forged(struct rig *r, struct rng *g, const struct rte_mbuf *like, uint32_t id)
{
	uint32_t at = 8 * (1 + (uint32_t)rng_below(g, 1125));
	bool more = rng_below(g, 4) > 0;
	uint32_t len =
		more ? 8 * (1 + (uint32_t)rng_below(g, 180)) : 1 + (uint32_t)rng_below(g, 1440);
	struct rte_mbuf *m = rte_pktmbuf_copy(like, r->q->rx_pool, 0, UINT32_MAX);
	assert_non_null(m);
	forge_head(r->q, rte_pktmbuf_mtod_offset(m, uint8_t *, r->q->at.l3), id, at, len, more);
	give(r, m);
}

// Before any traffic: the first fragment that the queue makes of its first datagram.
static struct rte_mbuf *sample_of(struct rig *r)
{
	struct rte_mbuf *m[32];
	ask(r, 1);
	assert_int_equal(frag_flush(r->q), 1);
	uint16_t n = rte_eth_rx_burst(0, 0, m, 32);
	assert_true(n > 1);
	struct rte_mbuf *like = rte_pktmbuf_copy(m[0], r->q->tx_pool, 0, UINT32_MAX);
	assert_non_null(like);
	rte_pktmbuf_free_bulk(m, n);
	return like;
}

// An id that none of the queue's datagrams has now or soon.
static uint32_t other_id(struct rig *r, struct rng *g)
{
	return r->q->frag->out.id + 1000 + (uint32_t)rng_below(g, 60000);
}

// Gives what waits at the port, with `forged` fragments before each.
static void give_mixed(struct rig *r, struct rng *g, const struct rte_mbuf *like, bool shuffled,
		       uint32_t forged)
{
	struct rte_mbuf *m[32];
	uint16_t n = rte_eth_rx_burst(0, 0, m, 32);
	for (uint32_t i = n; shuffled && i-- > 1;) {
		uint32_t k = (uint32_t)rng_below(g, i + 1);
		RTE_SWAP(m[i], m[k]);
	}
	for (uint16_t i = 0; i < n; i++) {
		for (uint32_t k = 0; k < forged; k++)
			give_forged(r, g, like, other_id(r, g));
		give(r, m[i]);
	}
}

// Nobody's address, no first fragment: later ones in a peer's name. Datagrams in order lose nothing
// to however many; those out of order, nothing to fewer than the budget between their fragments.
static void later_fragments(bool v6, bool shuffled, uint32_t forged)
{
	struct rig *r = rig_make(v6, 1, 9000, 9000);
	struct rte_mbuf *like = sample_of(r);
	struct rng g = rng_open("later fragments");
	struct queue *q = r->q;
	unsigned before = rte_mempool_in_use_count(q->rx_pool);
	uint64_t given = 0;
	for (uint32_t i = 0; i < 100; i++, r->now += 1000) {
		ask(r, 3);
		for (int way = 0; way < 2; way++) {
			assert_int_equal(frag_flush(q), 3);
			give_mixed(r, &g, like, shuffled, forged);
			given += 21 * forged;
		}
	}
	assert_int_equal(q->request[0].recv, 300);
	assert_int_equal(q->reply[0].recv, 300);
	assert_true(drops(q) < given); // some wait
	frag_expire(q, r->now + q->frag->in.table.timeout + 1);
	assert_int_equal(drops(q), given);
	assert_int_equal(q->drop[DROP_INCOMPLETE] + q->drop[DROP_MALFORMED], given);
	assert_true(q->drop[DROP_MALFORMED] > 0); // beyond the end of the plan's datagrams
	assert_int_equal(rte_mempool_in_use_count(q->rx_pool), before);
	rte_pktmbuf_free(like);
	rig_drop(r);
}

static void a_flood_of_later_fragments(void **state)
{
	(void)state;
	for (int v6 = 0; v6 < 2; v6++) {
		later_fragments(v6, false, 100);
		later_fragments(v6, true, FOOTPRINT_EARLY / 21 - 1);
	}
}

// The flood knows the ids that come next: what is in order is whole nevertheless.
static void known_beforehand(bool v6)
{
	struct rig *r = rig_make(v6, 0, 9000, 9000);
	struct rte_mbuf *like = sample_of(r);
	struct rng g = rng_open("ids");
	struct queue *q = r->q;
	unsigned before = rte_mempool_in_use_count(q->rx_pool);
	for (uint32_t i = 0; i < 1000; i++, r->now += 1000) {
		ask(r, 3);
		for (int way = 0; way < 2; way++) {
			for (uint32_t k = 0; k < 30; k++)
				give_forged(r, &g, like, q->frag->out.id + k % 3);
			assert_int_equal(frag_flush(q), 3);
			give_mixed(r, &g, like, false, 0);
		}
	}
	assert_int_equal(q->request[0].recv, 3000);
	assert_int_equal(q->reply[0].recv, 3000);
	frag_expire(q, r->now + q->frag->in.table.timeout + 1);
	assert_int_equal(rte_mempool_in_use_count(q->rx_pool), before);
	rte_pktmbuf_free(like);
	rig_drop(r);
}

static void ids_known_beforehand(void **state)
{
	(void)state;
	known_beforehand(false);
	known_beforehand(true);
}
static int tests(void)
{
	const struct CMUnitTest all[] = {
		cmocka_unit_test(a_flood_of_strangers),
		cmocka_unit_test(a_flood_is_bounded),
		cmocka_unit_test(a_flood_of_later_fragments),
		cmocka_unit_test(ids_known_beforehand),
	};
	return cmocka_run_group_tests(all, NULL, NULL);
}

int main(void)
{
	return frag_port_run(tests);
}
