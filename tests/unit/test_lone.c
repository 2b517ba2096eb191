// A frame that comes alone, over a port of two rings: what leaves, and that nothing is counted
// otherwise than in a burst.
#include "lone.h"
#include "queue.h"
#include "trial.h"

#include "eal_run.h"
#include "plain.h"
#include "testlib.h"

#include <rte_eth_ring.h>

#include <stdlib.h>
#include <string.h>

#define ADDR 0xc6120001u // 198.18.0.1
#define PEER 0xc6120002u
#define PORT 5300
#define STREAMS 3u
#define FIRST_PORT 50000
#define PEER_FIRST 70000
#define TX_ROOM 4

static const struct rte_ether_addr own_mac = { { 2, 0, 0, 0, 0, 1 } };

struct rig {
	struct hostcfg cfg;
	struct agent_shared shared;
	struct flow_tx tx[2];
	struct flow_rx rx;
	struct rte_ring *in, *out; // what the port receives, what it sent
	struct queue *q;
	uint32_t mbufs; // free in both pools
};

static uint32_t free_mbufs(const struct queue *q)
{
	return rte_mempool_avail_count(q->rx_pool) + rte_mempool_avail_count(q->tx_pool);
}

static void port_open(struct rig *r)
{
	static int made;
	char name[32];
	struct rte_eth_conf conf = { 0 };
	snprintf(name, sizeof(name), "in%d", made);
	r->in = rte_ring_create(name, 64, SOCKET_ID_ANY, RING_F_EXACT_SZ);
	snprintf(name, sizeof(name), "out%d", made);
	r->out = rte_ring_create(name, TX_ROOM, SOCKET_ID_ANY, RING_F_EXACT_SZ);
	assert_non_null(r->in);
	assert_non_null(r->out);
	snprintf(name, sizeof(name), "port%d", made++);
	int port = rte_eth_from_rings(name, &r->in, 1, &r->out, 1, 0);
	assert_true(port >= 0);
	r->q->port = (uint16_t)port;
	assert_int_equal(rte_eth_dev_configure(r->q->port, 1, 1, &conf), 0);
	assert_int_equal(rte_eth_rx_queue_setup(r->q->port, 0, 64, 0, NULL, r->q->rx_pool), 0);
	assert_int_equal(rte_eth_tx_queue_setup(r->q->port, 0, 64, 0, NULL), 0);
	assert_int_equal(rte_eth_dev_start(r->q->port), 0);
}

// pairs: one, or two to the same peer, of `window` places each.
static struct rig *rig_make(uint32_t bytes, uint32_t window, size_t pairs)
{
	struct rig *r = calloc(1, sizeof(*r));
	struct err e = { 0 };
	assert_non_null(r);
	for (size_t i = 0; i < pairs; i++)
		r->tx[i] = (struct flow_tx){ .peer = "b",
					     .peer_addr = IP4(PEER),
					     .req_bytes = bytes,
					     .rep_bytes = bytes,
					     .rate_pps = RATE_UNPACED,
					     .window = window,
					     .streams = STREAMS,
					     .sport_first = (uint16_t)(FIRST_PORT + i * STREAMS),
					     .tx_first = (uint32_t)i * STREAMS,
					     .peer_rx_first = PEER_FIRST };
	r->rx = (struct flow_rx){ .peer = "b",
				  .peer_addr = IP4(PEER),
				  .req_bytes = bytes,
				  .rep_bytes = bytes,
				  .streams = 1,
				  .sport_first = 40000,
				  .peer_tx_first = 0x12345 };
	r->cfg = (struct hostcfg){ .cookie = 0xabcd,
				   .host_count = 2,
				   .addr = IP4(ADDR),
				   .prefix_len = 24,
				   .ttl = 64,
				   .udp_port = PORT,
				   .duration_ns = 1000000000,
				   .drain_ns = 1000000000,
				   .tx = r->tx,
				   .tx_count = pairs,
				   .rx = &r->rx,
				   .rx_count = 1 };
	r->cfg.port.queues = 1;
	r->cfg.port.burst = 32;
	r->q = queue_create(&(struct queue_env){ .cfg = &r->cfg,
						 .shared = &r->shared,
						 .rxd = 64,
						 .txd = 64,
						 .data_room = 2176,
						 .mac = own_mac },
			    0, &e);
	assert_non_null(r->q);
	r->shared.queue[0] = r->q;
	r->q->windowed = true;
	port_open(r);
	r->mbufs = free_mbufs(r->q);
	queue_arm(r->q, &r->cfg, 0, 1e9);
	r->shared.armed = true;
	r->q->boundary = r->q->next_event = trial_step(r->q, 1000);
	assert_true(r->q->sending);
	return r;
}

static void rig_drop(struct rig *r)
{
	assert_int_equal(free_mbufs(r->q), r->mbufs);
	rte_eth_dev_stop(r->q->port);
	rte_eth_dev_close(r->q->port);
	queue_destroy(r->q);
	rte_ring_free(r->in);
	rte_ring_free(r->out);
	free(r);
}

// A turn of the worker's loop. The clock of a poll is the real one: the trial is made to last.
static void turn(struct rig *r)
{
	uint64_t now = 0;
	r->q->next_event = r->q->pace.end = UINT64_MAX;
	rx_poll(r->q, &now, true);
	tx_due(r->q, now, true);
	out_flush(r->q);
	rx_release(r->q);
	if (r->q->lone_last != 0)
		lone_prepare(r->q);
}

static struct rte_mbuf *sent(struct rig *r)
{
	void *m = NULL;
	return rte_ring_dequeue(r->out, &m) == 0 ? m : NULL;
}

static void arrive(struct rig *r, struct rte_mbuf *m)
{
	assert_int_equal(rte_ring_enqueue(r->in, m), 0);
}

// Checks what was sent against stream and sequence, frees it, and lets its reply arrive.
static void reply_to(struct rig *r, struct rte_mbuf *m, uint32_t stream, uint32_t seq)
{
	assert_non_null(m);
	struct frame *f = rte_pktmbuf_mtod(m, struct frame *);
	uint32_t bytes = r->tx[0].rep_bytes;
	struct frame_spec s = { .src_mac = { { 2, 0, 0, 0, 0, 2 } },
				.dst_mac = own_mac,
				.src = IP4(PEER),
				.dst = IP4(ADDR),
				.sport = PORT,
				.dport = (uint16_t)(FIRST_PORT + stream),
				.payload_bytes = bytes,
				.cookie = r->cfg.cookie,
				.kind = PMX_REPLY,
				.stream = stream };
	assert_int_equal(m->data_len, frame_len(bytes));
	assert_int_equal(m->pkt_len, frame_len(bytes));
	assert_int_equal(f->pmx.verkind, PMX_VERKIND(PMX_REQUEST));
	assert_int_equal(rte_be_to_cpu_16(f->udp.src_port), FIRST_PORT + stream);
	assert_int_equal(rx_seq(f), seq);
	uint64_t tsc = rx_tsc(f);
	assert_true(checksums_good(f));
	rte_pktmbuf_free(m);

	arrive(r, mbuf_made(r->q, &s, 0, seq, tsc));
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

// The request with sequence k of the only peer, stream 0.
static struct rte_mbuf *request(struct rig *r, uint32_t k)
{
	struct frame_spec s = { .src_mac = { { 2, 0, 0, 0, 0, 2 } },
				.dst_mac = own_mac,
				.src = IP4(PEER),
				.dst = IP4(ADDR),
				.sport = 40000,
				.dport = PORT,
				.payload_bytes = r->rx.req_bytes,
				.cookie = r->cfg.cookie,
				.kind = PMX_REQUEST };
	return mbuf_made(r->q, &s, 0, k, 1000);
}

static void a_request_is_answered(void **state)
{
	struct rig *r = rig_make(18, 1, 1);
	(void)state;
	turn(r);
	rte_pktmbuf_free(sent(r));
	for (uint32_t k = 0; k < 100; k++) {
		assert_int_equal(r->q->lone[PMX_REQUEST].stream != NULL, k > 0);
		arrive(r, request(r, k));
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
#define ODD_ONES (FRAME_MIN_NO_FCS * FLIPS)

// Requests in turn as they should be, so that the next is made ready for, and with one byte
// another; with what is made ready, or as a burst.
static void fates_of(struct fate fate[2 * ODD_ONES], bool ready)
{
	static const uint8_t flip[FLIPS] = { 0x01, 0x80, 0xff };
	struct rig *r = rig_make(18, 1, 1);
	uint32_t k = 0;
	turn(r);
	rte_pktmbuf_free(sent(r));
	for (uint32_t i = 0; i < 2 * ODD_ONES; i++) {
		struct rte_mbuf *m = request(r, k);
		bool odd = i % 2 == 1;
		if (odd)
			rte_pktmbuf_mtod(m, uint8_t *)[i / 2 / FLIPS] ^= flip[i / 2 % FLIPS];
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
	struct fate *ready = calloc(2 * (size_t)ODD_ONES, sizeof(*ready));
	struct fate *burst = calloc(2 * (size_t)ODD_ONES, sizeof(*burst));
	uint32_t answered = 0;
	(void)state;
	assert_true(ready != NULL && burst != NULL);
	fates_of(ready, true);
	fates_of(burst, false);
	for (uint32_t i = 0; i < 2 * ODD_ONES; i++) {
		const struct fate *a = &ready[i], *b = &burst[i];
		assert_memory_equal(a->out, b->out, sizeof(a->out));
		assert_int_equal(a->answered, b->answered);
		assert_memory_equal(&a->total, &b->total, sizeof(a->total));
		assert_memory_equal(a->drop, b->drop, sizeof(a->drop));
		assert_memory_equal(&a->stream, &b->stream, sizeof(a->stream));
		answered += a->answered;
	}
	assert_true(answered > ODD_ONES && answered < 2 * ODD_ONES);
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
