// A frame that comes alone, over a port of two rings: what leaves, and that nothing is counted
// otherwise than in a burst.
#include "eal_run.h"
#include "lone_rig.h"
#include "testlib.h"

#include <stdlib.h>
#include <string.h>

// Checks what was sent against stream and sequence, frees it, and lets its reply arrive.
static void reply_to(struct rig *r, struct rte_mbuf *m, uint32_t stream, uint32_t seq)
{
	assert_non_null(m);
	struct frame *f = rte_pktmbuf_mtod(m, struct frame *);
	uint32_t bytes = r->tx[0].rep_bytes;
	assert_int_equal(m->data_len, frame_len(bytes));
	assert_int_equal(m->pkt_len, frame_len(bytes));
	assert_int_equal(f->pmx.verkind, PMX_VERKIND(PMX_REQUEST));
	assert_int_equal(rte_be_to_cpu_16(f->udp.src_port), FIRST_PORT + stream);
	assert_int_equal(rx_seq(f), seq);
	uint64_t tsc = rx_tsc(f);
	assert_true(checksums_good(f));
	rte_pktmbuf_free(m);
	arrive(r, reply_made(r, stream, seq, tsc));
}

static void rounds_of(uint32_t bytes, bool reuses)
{
	enum { ROUNDS = 1000 };
	struct rig *r = rig_make(bytes, 1, 1);
	turn(r);
	for (uint32_t k = 0; k < ROUNDS; k++) {
		struct rte_mbuf *m = sent(r);
		assert_non_null(m);
		// the first reply of a stream opens its trial; the second turn shows where the
		// first is
		assert_ptr_equal(m->pool,
				 k > STREAMS + 1 && reuses ? r->q->rx_pool : r->q->tx_pool);
		reply_to(r, m, k % STREAMS, k / STREAMS);
		assert_null(sent(r));
		turn(r);
	}
	rte_pktmbuf_free(sent(r));
	assert_int_equal(r->q->total.requests_sent, ROUNDS + 1);
	assert_int_equal(r->q->total.replies_received, ROUNDS);
	uint64_t recorded = 0;
	for (uint32_t i = 0; i < HIST_BUCKETS; i++)
		recorded += r->q->trial[0].rtt->bucket[i];
	assert_int_equal(recorded, ROUNDS);
	assert_int_equal(r->q->window.group[0].in_flight, 1);
	rig_drop(r);
}

static void a_reply_makes_the_next_request(void **state)
{
	(void)state;
	rounds_of(18, true);
	rounds_of(19, false); // a reply's payload is its peer's
	rounds_of(512, false);
}

#define HELD_US 200

// What holds an lcore off between its reading of the clock and the frame's being found.
static uint16_t held_off(uint16_t port, uint16_t queue, struct rte_mbuf *m[], uint16_t n,
			 uint16_t max, void *arg)
{
	(void)port, (void)queue, (void)m, (void)max, (void)arg;
	if (n > 0)
		rte_delay_us_block(HELD_US);
	return n;
}

// The clock is read before the poll: no round trip is shown shorter than it can have been.
static void a_round_trip_is_never_too_short(void **state)
{
	enum { ROUNDS = 50 };
	struct rig *r = rig_make(18, 1, 1);
	(void)state;
	r->q->ns_mult = (uint64_t)(1e9 / (double)rte_get_tsc_hz() * 4294967296.0);
	const void *callback = rte_eth_add_rx_callback(r->q->port, 0, held_off, NULL);
	assert_non_null(callback);
	turn(r);
	for (uint32_t k = 0; k < ROUNDS; k++) {
		reply_to(r, sent(r), k % STREAMS, k / STREAMS);
		turn(r);
	}
	rte_pktmbuf_free(sent(r));
	assert_non_null(r->q->lone[PMX_REPLY].next);
	struct hist *h = calloc(1, sizeof(*h));
	assert_non_null(h);
	hist_reset(h);
	hist_merge(h, r->q->trial[0].rtt);
	assert_int_equal(h->count, ROUNDS);
	// the first replies' polls are not of this kind: their clock is read behind
	assert_true(hist_percentile_ns(h, 0) >= HELD_US * 1000 * 0.9);
	free(h);
	assert_int_equal(rte_eth_remove_rx_callback(r->q->port, 0, callback), 0);
	rig_drop(r);
}

static void a_full_port_takes_nothing_away(void **state)
{
	struct rig *r = rig_make(18, 1, 1);
	void *filler;
	(void)state;
	for (uint32_t k = 0; k < STREAMS; k++) {
		turn(r);
		reply_to(r, sent(r), k, 0);
	}
	turn(r);
	struct rte_mbuf *m = sent(r);
	for (int i = 0; i < TX_ROOM; i++)
		assert_int_equal(rte_ring_enqueue(r->out, &filler), 0);
	reply_to(r, m, 0, 1);
	turn(r);
	assert_true(r->q->total.tx_full >= 1);
	assert_int_equal(r->q->total.replies_received, STREAMS + 1);
	assert_int_equal(r->q->total.requests_sent, STREAMS + 2); // one waits in the out ring
	for (int i = 0; i < TX_ROOM; i++)
		assert_int_equal(rte_ring_dequeue(r->out, &filler), 0);
	for (uint32_t k = STREAMS + 1; k < 20; k++) {
		turn(r);
		reply_to(r, sent(r), k % STREAMS, k / STREAMS);
		assert_null(sent(r));
	}
	turn(r);
	rte_pktmbuf_free(sent(r));
	assert_int_equal(r->q->total.requests_sent, 21);
	assert_int_equal(r->q->total.replies_received, 20);
	rig_drop(r);
}

// Two pairs whose places wait: the reply of one does not go before the other's turn.
static void others_have_their_turn(void **state)
{
	struct rig *r = rig_make(18, 1, 2);
	struct rte_mbuf *m[2];
	(void)state;
	turn(r);
	for (int i = 0; i < 2; i++)
		assert_non_null(m[i] = sent(r));
	// both replies come in one burst: no lone frame, two places in the order of their replies
	reply_to(r, m[1], STREAMS, 0);
	reply_to(r, m[0], 0, 0);
	turn(r);
	reply_to(r, sent(r), STREAMS + 1, 0);
	reply_to(r, sent(r), 1, 0);
	// a place that waits goes first
	r->q->sending = false;
	uint64_t now = 0;
	rx_poll(r->q, &now, true);
	rx_release(r->q);
	r->q->sending = true;
	assert_int_equal(window_credits(&r->q->window), 2);
	assert_false(window_is_next(&r->q->window, &r->q->window.group[0]));
	turn(r);
	for (int i = 0; i < 2; i++)
		rte_pktmbuf_free(sent(r));
	assert_int_equal(r->q->total.requests_sent, 6);
	rig_drop(r);
}

static void a_request_is_answered(void **state)
{
	struct rig *r = rig_make(18, 1, 1);
	(void)state;
	turn(r);
	rte_pktmbuf_free(sent(r));
	for (uint32_t k = 0; k < 100; k++) {
		assert_int_equal(r->q->lone[PMX_REQUEST].stream != NULL, k > 0);
		arrive(r, request_made(r, 0, k));
		turn(r);
		struct rte_mbuf *m = sent(r);
		assert_non_null(m);
		struct frame *f = rte_pktmbuf_mtod(m, struct frame *);
		assert_int_equal(be32_pair(f->pmx.stream), 0x12345);
		assert_int_equal(rx_seq(f), k);
		assert_true(checksums_good(f));
		rte_pktmbuf_free(m);
	}
	assert_int_equal(r->q->total.replies_sent, 100);
	assert_int_equal(r->q->total.requests_received, 100);
	rig_drop(r);
}

// What came of one frame: whether something left, and what it was.
struct fate {
	uint8_t out[FRAME_MIN_NO_FCS];
	bool answered;
	struct queue_counts total;
	uint64_t drop[DROP_REASONS];
	struct rx_stream stream;
};

static void fate_of(struct rig *r, struct rte_mbuf *m, struct fate *f)
{
	void *punted;
	memset(f, 0, sizeof(*f));
	arrive(r, m);
	turn(r);
	m = sent(r);
	f->answered = m != NULL;
	if (m != NULL) {
		assert_int_equal(m->data_len, FRAME_MIN_NO_FCS);
		memcpy(f->out, rte_pktmbuf_mtod(m, void *), sizeof(f->out));
		rte_pktmbuf_free(m);
	}
	while (rte_ring_dequeue(r->q->punt, &punted) == 0)
		rte_pktmbuf_free(punted);
	f->total = r->q->total;
	memcpy(f->drop, r->q->drop, sizeof(f->drop));
	f->stream = r->q->request[0];
}

#define FLIPS 3
#define ROUND 3 // two as they should be, so that the next is made ready for, and the odd one
#define ODD_ONES (FRAME_MIN_NO_FCS * FLIPS)

// Requests as they should be and with one byte another, in turn; with what is made ready, or as a
// burst.
static void fates_of(struct fate fate[ROUND * ODD_ONES], bool ready)
{
	static const uint8_t flip[FLIPS] = { 0x01, 0x80, 0xff };
	struct rig *r = rig_make(18, 1, 1);
	uint32_t k = 0;
	turn(r);
	rte_pktmbuf_free(sent(r));
	for (uint32_t i = 0; i < ROUND * ODD_ONES; i++) {
		struct rte_mbuf *m = request_made(r, 0, k);
		bool odd = i % ROUND == ROUND - 1;
		if (odd)
			rte_pktmbuf_mtod(m, uint8_t *)[i / ROUND / FLIPS] ^=
				flip[i / ROUND % FLIPS];
		if (!ready)
			lone_forget(r->q);
		else if (odd)
			assert_non_null(r->q->lone[PMX_REQUEST].stream);
		fate_of(r, m, &fate[i]);
		k = fate[i].stream.next;
	}
	rig_drop(r);
}

// Whichever byte is another: what was made ready does as a burst would.
static void nothing_is_taken_that_a_burst_would_not(void **state)
{
	struct fate *ready = calloc(ROUND * (size_t)ODD_ONES, sizeof(*ready));
	struct fate *burst = calloc(ROUND * (size_t)ODD_ONES, sizeof(*burst));
	uint32_t answered = 0;
	(void)state;
	assert_true(ready != NULL && burst != NULL);
	fates_of(ready, true);
	fates_of(burst, false);
	for (uint32_t i = 0; i < ROUND * ODD_ONES; i++) {
		const struct fate *a = &ready[i], *b = &burst[i];
		assert_memory_equal(a->out, b->out, sizeof(a->out));
		assert_int_equal(a->answered, b->answered);
		assert_memory_equal(&a->total, &b->total, sizeof(a->total));
		assert_memory_equal(a->drop, b->drop, sizeof(a->drop));
		assert_memory_equal(&a->stream, &b->stream, sizeof(a->stream));
		answered += a->answered;
	}
	assert_true(answered > (ROUND - 1) * ODD_ONES && answered < ROUND * ODD_ONES);
	free(ready);
	free(burst);
}

static int run(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_reply_makes_the_next_request),
		cmocka_unit_test(a_round_trip_is_never_too_short),
		cmocka_unit_test(a_full_port_takes_nothing_away),
		cmocka_unit_test(others_have_their_turn),
		cmocka_unit_test(a_request_is_answered),
		cmocka_unit_test(nothing_is_taken_that_a_burst_would_not),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

int main(void)
{
	return eal_run("test_lone", run);
}
