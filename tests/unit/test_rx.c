// The receiving half as an lcore runs it, on mbufs made by hand: a real queue, EAL without
// hugepages.
#include "queue.h"
#include "rx.h"

#include "eal_run.h"
#include "plain.h"
#include "testlib.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ADDR 0xc6120001u // 198.18.0.1
#define PEER 0xc6120002u
#define STREAMS 5u
#define PORT 5300

static const struct rte_ether_addr own_mac = { { 2, 0, 0, 0, 0, 1 } };

struct rig {
	struct hostcfg cfg;
	struct agent_shared shared;
	struct queue *q;
	struct flow_tx tx;
	struct flow_rx rx;
	uint32_t seq[STREAMS];
};

static struct rig *rig_make(uint32_t req_bytes, uint32_t rep_bytes)
{
	struct rig *r = calloc(1, sizeof(*r));
	struct err e = { 0 };
	assert_non_null(r);
	r->tx = (struct flow_tx){ .peer = "b",
				  .peer_addr = IP4(PEER),
				  .req_bytes = req_bytes,
				  .rep_bytes = rep_bytes,
				  .rate_pps = 1000,
				  .streams = STREAMS,
				  .sport_first = 50000,
				  .peer_rx_first = 70000 };
	r->rx = (struct flow_rx){ .peer = "b",
				  .peer_addr = IP4(PEER),
				  .req_bytes = req_bytes,
				  .rep_bytes = rep_bytes,
				  .streams = STREAMS,
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
				   .warmup_ns = 1000,
				   .tx = &r->tx,
				   .tx_count = 1,
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
	queue_arm(r->q, &r->cfg, 0, 1e9);
	return r;
}

static void rig_drop(struct rig *r)
{
	queue_destroy(r->q);
	free(r);
}

// A frame of the peer: its request, or its reply to ours, as its agent would send it.
static struct frame_spec spec_of(const struct rig *r, enum pmx_kind kind, uint32_t stream)
{
	bool reply = kind == PMX_REPLY;
	return (struct frame_spec){
		.src_mac = { { 2, 0, 0, 0, 0, 2 } },
		.dst_mac = own_mac,
		.src = IP4(PEER),
		.dst = IP4(ADDR),
		.sport = reply ? PORT : (uint16_t)(r->rx.sport_first + stream),
		.dport = reply ? (uint16_t)(r->tx.sport_first + stream) : PORT,
		.payload_bytes = reply ? r->tx.rep_bytes : r->rx.req_bytes,
		.cookie = r->cfg.cookie,
		.kind = kind,
		.stream = stream,
	};
}

static struct rte_mbuf *mbuf_of(struct rig *r, const struct frame_spec *s, uint8_t trial,
				uint32_t seq)
{
	return mbuf_made(r->q, s, trial, seq, 1000);
}

static void give(struct rig *r, struct rte_mbuf *m)
{
	r->q->in[0] = m;
	rx_take(r->q, 1, 5000, r->q->plain);
	rx_release(r->q);
}

static void give_frame(struct rig *r, enum pmx_kind kind, uint32_t stream, uint8_t trial,
		       uint32_t seq)
{
	struct frame_spec s = spec_of(r, kind, stream);
	give(r, mbuf_of(r, &s, trial, seq));
}

static struct rte_mbuf *take_out(struct queue *q)
{
	if (q->out_count == 0)
		return NULL;
	struct rte_mbuf *m = q->out[q->out_head];
	q->out_head++;
	q->out_count--;
	return m;
}

static uint64_t drops(const struct queue *q)
{
	uint64_t n = 0;
	for (int i = 0; i < DROP_REASONS; i++)
		n += q->drop[i];
	return n;
}

static void turn_of_sizes(uint32_t req_bytes, uint32_t rep_bytes)
{
	struct rig *r = rig_make(req_bytes, rep_bytes);
	for (uint32_t k = 0; k < 64; k++) {
		uint32_t stream = k % STREAMS;
		give_frame(r, PMX_REQUEST, stream, 0, k / STREAMS);
		struct rte_mbuf *m = take_out(r->q);
		assert_non_null(m);
		struct frame *f = rte_pktmbuf_mtod(m, struct frame *);
		assert_int_equal(m->data_len, frame_len(rep_bytes));
		assert_true(checksums_good(f));
		assert_int_equal(rte_be_to_cpu_32(f->ip.dst_addr), PEER);
		assert_int_equal(rte_be_to_cpu_32(f->ip.src_addr), ADDR);
		assert_int_equal(rte_be_to_cpu_16(f->udp.src_port), PORT);
		assert_int_equal(rte_be_to_cpu_16(f->udp.dst_port), r->rx.sport_first + stream);
		assert_int_equal(be32_pair(f->pmx.stream), r->rx.peer_tx_first + stream);
		assert_int_equal(f->pmx.verkind, PMX_VERKIND(PMX_REPLY));
		assert_int_equal(rx_seq(f), k / STREAMS);
		assert_int_equal(rx_tsc(f), 1000);
		rte_pktmbuf_free(m);
	}
	assert_int_equal(drops(r->q), 0);
	rig_drop(r);
}

static void requests_are_turned_round(void **state)
{
	static const uint32_t sizes[] = { 18, 19, 64, 511, 1472 };
	(void)state;
	for (size_t i = 0; i < COUNT_OF(sizes); i++) {
		for (size_t j = 0; j < COUNT_OF(sizes); j++)
			turn_of_sizes(sizes[i], sizes[j]);
	}
}

// An agent that came late begins with whatever a stream has got to, also beyond half of the
// numbers; what was on its way in another order is new as well.
static void any_number_is_the_first(void **state)
{
	static const uint32_t first[] = { 1, 300, 0x7fffffff, 0x80000001, UINT32_MAX };
	struct rig *r = rig_make(18, 18);
	const struct rx_counts *c = &r->q->trial[1].rx[0];
	(void)state;
	for (uint32_t i = 0; i < COUNT_OF(first); i++) {
		give_frame(r, PMX_REQUEST, i, 1, first[i]);
		give_frame(r, PMX_REQUEST, i, 1, first[i] + 1);
		give_frame(r, PMX_REQUEST, i, 1, first[i]);
		give_frame(r, PMX_REQUEST, i, 1, first[i] - 1);
		assert_int_equal(r->q->request[i].recv, 3);
	}
	assert_int_equal(c->dup, COUNT_OF(first));
	assert_int_equal(c->reordered, COUNT_OF(first));
	assert_int_equal(c->late, 0);
	for (struct rte_mbuf *m; (m = take_out(r->q)) != NULL;)
		rte_pktmbuf_free(m);
	rig_drop(r);
}

// Before it knows where to send answers, an agent counts requests and their replies as unsent.
static void no_answer_into_nowhere(void **state)
{
	_Atomic uint64_t mac[1] = { 0 };
	struct rig *r = rig_make(18, 18);
	const struct rx_counts *c = &r->q->trial[1].rx[0];
	(void)state;
	r->shared.rx_mac = mac;
	give_frame(r, PMX_REQUEST, 0, 1, 7);
	give_frame(r, PMX_REQUEST, 0, 1, 7);
	give_frame(r, PMX_REQUEST, 0, 1, 8);
	assert_null(take_out(r->q));
	assert_int_equal(c->delivered, 2);
	assert_int_equal(c->reply_unsent, 2);
	assert_int_equal(c->dup, 1);
	mac[0] = 0x020000000002;
	r->q->tx_stream_count = 0; // their addresses are not at hand here
	queue_take_macs(r->q);
	give_frame(r, PMX_REQUEST, 0, 1, 9);
	rte_pktmbuf_free(take_out(r->q));
	assert_int_equal(r->q->request[0].recv, 1);
	assert_int_equal(c->reply_unsent, 2);
	r->shared.rx_mac = NULL;
	rig_drop(r);
}

// What was left of a run when the agent came: trials that are over are empty, those to come
// shorter.
static void trials_are_cut_to_what_is_left(void **state)
{
	struct rig *r = rig_make(18, 18);
	const struct queue_trial *t = r->q->trial;
	(void)state;
	queue_arm(r->q, &r->cfg, 5000, 1e9);
	queue_skip(r->q, 400);
	assert_int_equal(t[0].start, 5000);
	assert_int_equal(t[0].end, 5600);
	assert_int_equal(t[1].start, 5600);
	queue_skip(r->q, 700);
	assert_int_equal(t[0].end, 5000);
	assert_int_equal(t[1].start, 5000);
	assert_int_equal(t[1].end, 5000 + 1000000000 - 100);
	rig_drop(r);
}

// Sequences go out of one agent and on in the next, whatever the order of sending.
static void sequences_go_on(void **state)
{
	struct rig *r = rig_make(18, 18);
	uint32_t seq[STREAMS], again[STREAMS];
	(void)state;
	for (uint32_t i = 0; i < r->q->tx_stream_count; i++)
		r->q->tx[i].seq = UINT64_C(0x1fffffff0) + UINT64_C(100) * i;
	assert_int_equal(queue_sequences_get(r->q, &r->cfg, seq), 0);
	rig_drop(r);
	r = rig_make(18, 18);
	assert_int_equal(queue_sequences_set(r->q, &r->cfg, seq), 0);
	assert_int_equal(queue_sequences_get(r->q, &r->cfg, again), 0);
	assert_memory_equal(seq, again, sizeof(seq));
	for (uint32_t i = 0; i < r->q->tx_stream_count; i++) {
		assert_int_equal(r->q->tx[i].seq, (uint32_t)(0xfffffff0 + 100 * i));
		assert_int_equal(r->q->tx_mark[i], r->q->tx[i].seq);
		assert_int_equal(r->q->reply[i].next, seq[i]);
	}
	rig_drop(r);
}

// Same size: the payload comes back as it came, and a checksum that was wrong or absent stays so.
static void an_echo_heals_nothing(void **state)
{
	struct rig *r = rig_make(100, 100);
	struct frame_spec s = spec_of(r, PMX_REQUEST, 1);
	(void)state;
	for (uint32_t kind = 0; kind < 3; kind++) {
		struct rte_mbuf *m = mbuf_of(r, &s, 0, kind);
		struct frame *f = rte_pktmbuf_mtod(m, struct frame *);
		((uint8_t *)f)[90] = 0x5a;
		f->udp.dgram_cksum = 0;
		if (kind > 0)
			f->udp.dgram_cksum = rte_ipv4_udptcp_cksum(&f->ip, &f->udp);
		if (kind > 1)
			f->udp.dgram_cksum++;
		give(r, m);
		m = take_out(r->q);
		assert_non_null(m);
		f = rte_pktmbuf_mtod(m, struct frame *);
		assert_int_equal(((uint8_t *)f)[90], 0x5a);
		if (kind == 0)
			assert_int_equal(f->udp.dgram_cksum, 0);
		else
			assert_int_equal(checksums_good(f), kind == 1);
		rte_pktmbuf_free(m);
	}
	rig_drop(r);
}

static void replies_are_counted_and_timed(void **state)
{
	struct rig *r = rig_make(18, 18);
	struct queue_trial *t = &r->q->trial[1];
	(void)state;
	for (uint32_t k = 0; k < 100; k++)
		give_frame(r, PMX_REPLY, 2, 1, k);
	give_frame(r, PMX_REPLY, 2, 1, 50);  // again
	give_frame(r, PMX_REPLY, 2, 1, 105); // 100..104 are missing
	give_frame(r, PMX_REPLY, 2, 1, 103); // one of them comes
	give_frame(r, PMX_REPLY, 2, 1, 1000);
	give_frame(r, PMX_REPLY, 2, 1, 104); // too far back to tell
	assert_int_equal(r->q->reply[2].recv, 103);
	assert_int_equal(t->tx[0].dup, 1);
	assert_int_equal(t->tx[0].reordered, 1);
	assert_int_equal(t->tx[0].late, 1);
	assert_int_equal(t->rtt[0].bucket[hist_index(4000)], 103);
	assert_null(take_out(r->q));
	assert_int_equal(drops(r->q), 0);
	rig_drop(r);
}

// Stragglers go to the trial they were sent in, whatever came before them.
static void trials_are_kept_apart(void **state)
{
	struct rig *r = rig_make(18, 18);
	(void)state;
	give_frame(r, PMX_REPLY, 0, 0, 0);
	give_frame(r, PMX_REPLY, 0, 0, 1);
	give_frame(r, PMX_REPLY, 0, 1, 3);
	give_frame(r, PMX_REPLY, 0, 0, 2);
	give_frame(r, PMX_REPLY, 0, 1, 4);
	assert_int_equal(r->q->trial[0].tx[0].returned, 3);
	assert_int_equal(r->q->reply[0].recv - r->q->reply_mark[0], 2);
	r->q->trial[0].closed = true;
	give_frame(r, PMX_REPLY, 0, 0, 5);
	assert_int_equal(r->q->trial[0].tx[0].late, 1);
	rig_drop(r);
}

static bool in_fields_that_may_differ(size_t byte)
{
	// source MAC, TOS, identification, TTL, checksums; trial, sequence, clock
	return (byte >= 6 && byte < 12) || byte == 15 || byte == 18 || byte == 19 || byte == 22 ||
	       byte == 24 || byte == 25 || byte == 40 || byte == 41 || byte == 45 || byte >= 50;
}

static uint64_t punted(struct queue *q)
{
	void *m;
	uint64_t n = 0;
	for (; rte_ring_dequeue(q->punt, &m) == 0; n++)
		rte_pktmbuf_free(m);
	return n;
}

// Every bit of the headers turned over once: what the plan fixes is refused with a counter, or is
// for the main thread (UDP is one bit from ICMP), and gets no answer.
static void one_wrong_bit_is_refused(void **state)
{
	struct rig *r = rig_make(64, 64);
	uint64_t refused = 0;
	(void)state;
	for (size_t bit = 0; bit < 8 * 2 * sizeof(struct frame); bit++) {
		size_t byte = bit / 16;
		uint8_t flip = (uint8_t)(1 << bit % 8);
		enum pmx_kind kind = bit % 16 < 8 ? PMX_REQUEST : PMX_REPLY;
		if (in_fields_that_may_differ(byte) || (byte == 20 && flip == 0x40))
			continue;
		struct frame_spec s = spec_of(r, kind, 1);
		struct rte_mbuf *m = mbuf_of(r, &s, 0, 0);
		rte_pktmbuf_mtod(m, uint8_t *)[byte] ^= flip;
		give(r, m);
		refused++;
		if (take_out(r->q) != NULL || drops(r->q) + punted(r->q) != refused ||
		    r->q->reply[1].recv != 0 || r->q->request[1].recv != 0)
			fail_msg("kind %d, byte %zu, bit %#x was taken", kind, byte, flip);
		refused = drops(r->q);
	}
	rig_drop(r);
}

static void short_frames_are_refused(void **state)
{
	struct rig *r = rig_make(64, 64);
	(void)state;
	for (uint16_t len = 0; len < frame_len(64); len++) {
		struct frame_spec s = spec_of(r, PMX_REQUEST, 1);
		struct rte_mbuf *m = mbuf_of(r, &s, 0, len);
		rte_pktmbuf_trim(m, (uint16_t)(frame_len(64) - len));
		give(r, m);
		assert_null(take_out(r->q));
		assert_int_equal(drops(r->q), len + 1);
	}
	rig_drop(r);
}

// Nothing that a peer can send takes mbufs away.
static void mbufs_come_back(void **state)
{
	struct rng g = rng_open("mbufs");
	struct rig *r = rig_make(64, 200);
	unsigned int free_mbufs = rte_mempool_avail_count(r->q->rx_pool);
	(void)state;
	for (int i = 0; i < 50000; i++) {
		struct frame_spec s = spec_of(r, 1 + rng_below(&g, 2), (uint32_t)rng_below(&g, 8));
		struct rte_mbuf *m =
			mbuf_of(r, &s, (uint8_t)rng_below(&g, 3), (uint32_t)rng_below(&g, 500));
		if (rng_below(&g, 4) == 0)
			rte_pktmbuf_mtod(m, uint8_t *)[rng_below(&g, 60)] = (uint8_t)rng_next(&g);
		give(r, m);
		while ((m = take_out(r->q)) != NULL)
			rte_pktmbuf_free(m);
		punted(r->q);
	}
	assert_int_equal(rte_mempool_avail_count(r->q->rx_pool), free_mbufs);
	rig_drop(r);
}

static int run(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(requests_are_turned_round),
		cmocka_unit_test(any_number_is_the_first),
		cmocka_unit_test(no_answer_into_nowhere),
		cmocka_unit_test(trials_are_cut_to_what_is_left),
		cmocka_unit_test(sequences_go_on),
		cmocka_unit_test(an_echo_heals_nothing),
		cmocka_unit_test(replies_are_counted_and_timed),
		cmocka_unit_test(trials_are_kept_apart),
		cmocka_unit_test(one_wrong_bit_is_refused),
		cmocka_unit_test(short_frames_are_refused),
		cmocka_unit_test(mbufs_come_back),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

int main(void)
{
	return eal_run("test_rx", run);
}
