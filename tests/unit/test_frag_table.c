// The table of datagrams that are not whole: who gets a place in it, and who loses it to whom.
#include "eal_run.h"
#include "frag_table.h"

#include "testlib.h"

#include <stdlib.h>
#include <string.h>

#define PEERS 700
#define LEN 800u
#define TIMEOUT 8000

struct bench {
	struct frag_table t;
	struct frag_peer peer[PEERS];
	struct rte_mempool *pool;
	uint64_t given, whole; // fragments; those of whole datagrams
};

static struct bench *bench_open(void)
{
	struct bench *b = calloc(1, sizeof(*b));
	assert_non_null(b);
	b->pool = rte_pktmbuf_pool_create("fragments", 4095, 0, 0, 2048, SOCKET_ID_ANY);
	assert_non_null(b->pool);
	frag_table_open(&b->t, TIMEOUT, 7);
	for (size_t i = 0; i < PEERS; i++) {
		b->peer[i].addr = IP4(0x0a000000u + i);
		b->peer[i].most = 65515;
		frag_peer_open(&b->peer[i]);
	}
	return b;
}

// All that was given is whole, dropped or waits, and comes back.
static void bench_close(struct bench *b)
{
	frag_table_close(&b->t);
	assert_int_equal(b->t.early_count, 0);
	assert_int_equal(b->t.early_peers, 0);
	assert_int_equal(b->t.known_count, 0);
	assert_int_equal(b->whole + b->t.dropped, b->given);
	assert_int_equal(rte_mempool_in_use_count(b->pool), 0);
	rte_mempool_free(b->pool);
	free(b);
}

// True: the datagram is whole, and as long as it should be.
static bool add(struct bench *b, uint32_t peer, struct frag_piece p, uint64_t now)
{
	struct rte_mbuf *m = rte_pktmbuf_alloc(b->pool);
	assert_non_null(m);
	assert_non_null(rte_pktmbuf_append(m, (uint16_t)p.len));
	p.peer = &b->peer[peer];
	m = frag_table_add(&b->t, m, &p, now);
	b->given++;
	assert_true(b->t.early_count <= FOOTPRINT_EARLY);
	assert_true(b->t.known_count <= FOOTPRINT_DATAGRAMS);
	if (m == NULL)
		return false;
	uint32_t bytes = 0;
	for (const struct rte_mbuf *s = m; s != NULL; s = s->next)
		bytes += s->data_len;
	assert_int_equal(bytes, m->pkt_len);
	assert_int_equal(rte_mbuf_check(m, 1, &(const char *){ NULL }), 0);
	b->whole += m->nb_segs;
	rte_pktmbuf_free(m);
	return true;
}

// Part i of n of equal length.
static struct frag_piece part(uint32_t id, uint32_t i, uint32_t n)
{
	return (struct frag_piece){
		.id = id, .at = i * LEN, .len = LEN, .total = n * LEN, .more = i + 1 < n
	};
}

static uint32_t early_of(const struct bench *b, uint32_t peer)
{
	return b->peer[peer].early;
}

static void any_order(void **state)
{
	struct bench *b = bench_open();
	struct rng g = rng_open("order");
	(void)state;
	for (uint32_t id = 0; id < 5000; id++) {
		uint32_t n = 2 + (uint32_t)rng_below(&g, DATAGRAM_FRAMES_MAX - 1);
		uint32_t order[DATAGRAM_FRAMES_MAX];
		for (uint32_t i = 0; i < n; i++) {
			uint32_t k = (uint32_t)rng_below(&g, i + 1);
			order[i] = order[k];
			order[k] = i;
		}
		for (uint32_t i = 0; i < n; i++)
			assert_int_equal(add(b, 0, part(id, order[i], n), id), i + 1 == n);
	}
	assert_int_equal(b->t.dropped, 0);
	bench_close(b);
}

// One address floods: what it has itself is the newest of its own, others keep all of theirs.
static void the_oldest_of_who_has_most(void **state)
{
	struct bench *b = bench_open();
	const uint32_t mine = 100;
	(void)state;
	for (uint32_t id = 0; id < mine; id++)
		assert_false(add(b, 1, part(id, 1, 2), 0));
	for (uint32_t id = 0; id < 100000; id++)
		assert_false(add(b, 0, part(id, 1, 2), 1));
	assert_int_equal(early_of(b, 0), FOOTPRINT_EARLY - mine);
	assert_int_equal(b->t.dropped, 100000 - early_of(b, 0));
	for (uint32_t id = 0; id < mine; id++)
		assert_true(add(b, 1, part(id, 0, 2), 2));
	// of the flood itself the last ones are there, to as many as others leave
	assert_true(add(b, 0, part(99999, 0, 2), 2));
	assert_true(add(b, 0, part(100000 - FOOTPRINT_EARLY + mine, 0, 2), 2));
	assert_false(add(b, 0, part(100000 - FOOTPRINT_EARLY + mine - 1, 0, 2), 2));
	bench_close(b);
}

// The flood is there first, from two addresses: a third gets its share nevertheless.
static void an_equal_share(void **state)
{
	struct bench *b = bench_open();
	const uint32_t share = FOOTPRINT_EARLY / 3;
	uint32_t flood = 0;
	(void)state;
	for (; flood < 2000; flood++)
		add(b, flood % 2, part(flood, 1, 2), 0);
	for (uint32_t id = 0; id < share; id++) {
		assert_false(add(b, 2, part(id, 1, 2), 0));
		for (uint32_t i = 0; i < 50; i++, flood++)
			add(b, flood % 2, part(flood, 1, 2), 0);
	}
	assert_int_equal(early_of(b, 2), share);
	for (uint32_t id = 0; id < share; id++)
		assert_true(add(b, 2, part(id, 0, 2), 0));
	bench_close(b);
}

// Who has its share already makes room for itself, though others came before.
static void no_more_than_a_share(void **state)
{
	struct bench *b = bench_open();
	(void)state;
	for (uint32_t id = 0; id < FOOTPRINT_EARLY; id++)
		assert_false(add(b, id < FOOTPRINT_EARLY / 2 ? 1 : 0, part(id, 1, 2), 0));
	for (uint32_t id = FOOTPRINT_EARLY; id < 3 * FOOTPRINT_EARLY; id++)
		assert_false(add(b, 0, part(id, 1, 2), 0));
	assert_int_equal(early_of(b, 1), FOOTPRINT_EARLY / 2);
	bench_close(b);
}

// More addresses than places.
static void one_each(void **state)
{
	struct bench *b = bench_open();
	(void)state;
	for (uint32_t round = 0; round < 3; round++)
		for (uint32_t peer = 0; peer < PEERS; peer++) {
			assert_false(add(b, peer, part(round, 1, 2), 0));
			assert_true(early_of(b, peer) > 0);
		}
	assert_int_equal(b->t.early_count, FOOTPRINT_EARLY);
	assert_int_equal(b->t.dropped, 3 * PEERS - FOOTPRINT_EARLY);
	bench_close(b);
}

// Early ones, however many, take no place of a known one.
static void known_are_safe(void **state)
{
	struct bench *b = bench_open();
	(void)state;
	for (uint32_t id = 0; id < FOOTPRINT_DATAGRAMS; id++)
		assert_false(add(b, 0, part(id, 0, 2), 0));
	for (uint32_t id = 0; id < 10000; id++)
		assert_false(add(b, 0, part(1000000 + id, 1, 2), 0));
	for (uint32_t id = 0; id < FOOTPRINT_DATAGRAMS; id++)
		assert_true(add(b, 0, part(id, 1, 2), 0));
	bench_close(b);
}

// A full table takes no other datagram while all are young; then the oldest is taken to be lost.
static void stale_ones_give_way(void **state)
{
	struct bench *b = bench_open();
	(void)state;
	for (uint32_t id = 0; id < FOOTPRINT_DATAGRAMS; id++)
		assert_false(add(b, 0, part(id, 0, 2), id));
	uint64_t now = TIMEOUT / FRAG_STALE;
	assert_false(add(b, 0, part(1000, 0, 2), now));
	assert_int_equal(b->t.dropped, 1);
	assert_false(add(b, 0, part(1001, 0, 2), now + 1));
	assert_int_equal(b->t.dropped, 2);
	assert_true(add(b, 0, part(1001, 1, 2), now + 1));
	assert_true(add(b, 0, part(1, 1, 2), now + 1));
	assert_false(add(b, 0, part(0, 1, 2), now + 1)); // the oldest
	frag_table_expire(&b->t, TIMEOUT + 3);
	assert_int_equal(b->t.known_count, FOOTPRINT_DATAGRAMS - 3); // 0, 1 and 2 are gone
	bench_close(b);
}

// What is there twice is one frame too many; what overlaps a datagram that is known spoils it; what
// came before the first fragment spoils nothing.
static void twice_and_across(void **state)
{
	struct bench *b = bench_open();
	(void)state;
	assert_false(add(b, 0, part(1, 0, 3), 0));
	assert_false(add(b, 0, part(1, 0, 3), 0));
	assert_false(add(b, 0, part(1, 2, 3), 0));
	assert_false(add(b, 0, part(1, 2, 3), 0));
	assert_true(add(b, 0, part(1, 1, 3), 0));
	assert_int_equal(b->t.dropped, 2);

	struct frag_piece across = part(2, 1, 3);
	across.at += 8;
	across.len -= 16;
	assert_false(add(b, 0, part(2, 0, 3), 0));
	assert_false(add(b, 0, part(2, 1, 3), 0));
	assert_false(add(b, 0, across, 0));
	assert_int_equal(b->t.known_count, 0);
	assert_int_equal(b->t.dropped, 5);

	across.id = 3;
	assert_false(add(b, 0, across, 0));
	assert_false(add(b, 0, part(3, 0, 3), 0));
	assert_false(add(b, 0, part(3, 1, 3), 0));
	assert_true(add(b, 0, part(3, 2, 3), 0));
	assert_int_equal(b->t.dropped, 6);

	// beyond the end that the first one tells, and an end that is not there
	assert_false(add(b, 0, part(4, 3, 8), 0));
	assert_false(add(b, 0, part(4, 1, 2), 0));
	assert_false(add(b, 0, part(4, 0, 3), 0));
	assert_int_equal(b->t.dropped, 8);
	assert_false(add(b, 0, part(4, 4, 5), 0));
	assert_int_equal(b->t.dropped, 9);
	assert_false(add(b, 0, part(4, 1, 3), 0));
	assert_true(add(b, 0, part(4, 2, 3), 0));

	// crumbs that leave no room
	for (uint32_t i = 0; i < DATAGRAM_FRAMES_MAX; i++)
		assert_false(add(b, 0,
				 (struct frag_piece){
					 .id = 5, .at = 2 * LEN + 16 * i, .len = 8, .more = true },
				 0));
	for (uint32_t i = 0; i < DATAGRAM_FRAMES_MAX; i++)
		assert_int_equal(add(b, 0, part(5, i, DATAGRAM_FRAMES_MAX), 0),
				 i + 1 == DATAGRAM_FRAMES_MAX);
	bench_close(b);
}

// Anything at all, some of it as it should be.
static void anything(void **state)
{
	struct bench *b = bench_open();
	struct rng g = rng_open("anything");
	uint64_t now = 0;
	(void)state;
	for (int i = 0; i < 500000; i++, now += rng_below(&g, 20)) {
		uint32_t n = 2 + (uint32_t)rng_below(&g, DATAGRAM_FRAMES_MAX + 1);
		struct frag_piece p =
			part((uint32_t)rng_below(&g, 64), (uint32_t)rng_below(&g, n), n);
		if (rng_below(&g, 4) == 0) {
			p.at += p.at > 0 ? 8 * (uint32_t)rng_below(&g, 100) : 0;
			p.len = 1 + (uint32_t)rng_below(&g, LEN);
			p.more = rng_below(&g, 2) == 0;
		}
		add(b, (uint32_t)rng_below(&g, 40), p, now);
		if (rng_below(&g, 1000) == 0)
			frag_table_expire(&b->t, now);
	}
	assert_true(b->whole > 0);
	bench_close(b);
}

static int tests(void)
{
	const struct CMUnitTest all[] = {
		cmocka_unit_test(any_order),
		cmocka_unit_test(the_oldest_of_who_has_most),
		cmocka_unit_test(an_equal_share),
		cmocka_unit_test(no_more_than_a_share),
		cmocka_unit_test(one_each),
		cmocka_unit_test(known_are_safe),
		cmocka_unit_test(stale_ones_give_way),
		cmocka_unit_test(twice_and_across),
		cmocka_unit_test(anything),
	};
	return cmocka_run_group_tests(all, NULL, NULL);
}

int main(void)
{
	return eal_run("test_frag_table", tests);
}
