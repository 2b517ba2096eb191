// Turns of all kinds in any order, twice: with what is made ready for the next lone frame, and
// without. What leaves and what is counted is the same after every turn.
#include "eal_run.h"
#include "lone_rig.h"
#include "rng.h"
#include "testlib.h"

#include <stdlib.h>
#include <string.h>

#define TURNS 3000
#define OUT_MAX 16
#define ASKED_MAX 64
#define CLOCK_AT (FRAME_MIN_NO_FCS - 6)

// After a turn.
struct state {
	uint8_t out[OUT_MAX][FRAME_MIN_NO_FCS]; // what left, without clock and checksum
	uint32_t out_count;
	struct queue_counts total;
	uint64_t drop[DROP_REASONS];
	struct rx_stream request[STREAMS], reply[2 * STREAMS];
	uint64_t seq[2 * STREAMS];
	struct window_group group[2];
	uint32_t credits;
	uint64_t recorded; // round trips
};

struct asked { // a request that left and has no reply yet
	uint32_t stream, seq;
	uint64_t tsc;
};

struct play {
	struct rig *r;
	struct rng rng;
	bool ready;
	uint32_t next[STREAMS]; // sequences of the peer's requests
	struct asked asked[ASKED_MAX];
	uint32_t asked_count;
	uint32_t lone; // turns that began with something made ready
};

static uint32_t below(struct play *p, uint32_t n)
{
	return (uint32_t)(rng_next(&p->rng) % n);
}

static void peer_asks(struct play *p)
{
	uint32_t stream = below(p, 4) == 0 ? below(p, STREAMS) : 0, seq = p->next[stream];
	switch (below(p, 12)) {
	case 0: // again
		seq--;
		break;
	case 1: // some were lost
		seq += 1 + below(p, 3);
		/* fall through */
	default:
		p->next[stream] = seq + 1;
	}
	struct rte_mbuf *m = request_made(p->r, stream, seq);
	struct frame *f = rte_pktmbuf_mtod(m, struct frame *);
	if (below(p, 20) == 0)
		f->pmx.cookie ^= 1;
	if (below(p, 20) == 0)
		f->pmx.trial = 1; // of no trial of ours yet
	if (below(p, 20) == 0) {  // by another way
		f->ip.time_to_live--;
		f->ip.hdr_checksum = 0;
		f->ip.hdr_checksum = rte_ipv4_cksum(&f->ip);
	}
	arrive(p->r, m);
}

static void peer_answers(struct play *p)
{
	if (p->asked_count == 0)
		return;
	uint32_t i = below(p, 8) == 0 ? below(p, p->asked_count) : 0;
	struct asked a = p->asked[i];
	if (below(p, 12) != 0) // else its reply comes twice
		memmove(&p->asked[i], &p->asked[i + 1], (--p->asked_count - i) * sizeof(a));
	arrive(p->r, reply_made(p->r, a.stream, a.seq, a.tsc));
}

// What the main thread tells, taken over as the worker does between two turns.
static void housekeeping(struct play *p)
{
	struct rig *r = p->r;
	uint64_t mac = PEER_MAC48 + ((uint64_t)below(p, 3) << 32);
	r->tx_mac[0] = r->tx_mac[1] = r->rx_mac[0] = mac;
	queue_take_macs(r->q);
	if (below(p, 2) == 0) { // what is in flight is given up; some of it comes after all
		r->q->window.silence = 0;
		window_silence(&r->q->window, rte_rdtsc());
		r->q->window.silence = UINT64_MAX / 4;
		p->asked_count = RTE_MIN(p->asked_count, 3);
	}
	lone_forget(r->q);
}

static void left(struct play *p, struct state *s)
{
	for (struct rte_mbuf *m; (m = sent(p->r)) != NULL; s->out_count++) {
		assert_true(s->out_count < OUT_MAX);
		struct frame *f = rte_pktmbuf_mtod(m, struct frame *);
		assert_int_equal(m->data_len, FRAME_MIN_NO_FCS);
		assert_int_equal(m->pkt_len, FRAME_MIN_NO_FCS);
		assert_true(checksums_good(f));
		if (f->pmx.verkind == PMX_VERKIND(PMX_REQUEST)) {
			if (p->asked_count == ASKED_MAX) // the oldest is lost
				memmove(p->asked, p->asked + 1,
					--p->asked_count * sizeof(*p->asked));
			p->asked[p->asked_count++] = (struct asked){
				.stream = (uint32_t)rte_be_to_cpu_16(f->udp.src_port) - FIRST_PORT,
				.seq = rx_seq(f),
				.tsc = rx_tsc(f),
			};
		}
		memcpy(s->out[s->out_count], f, CLOCK_AT);
		memset(s->out[s->out_count] + UDP_CSUM_AT, 0, 2);
		rte_pktmbuf_free(m);
	}
}

static void look(struct play *p, struct state *s)
{
	struct queue *q = p->r->q;
	left(p, s);
	s->total = q->total;
	memcpy(s->drop, q->drop, sizeof(s->drop));
	memcpy(s->request, q->request, sizeof(s->request));
	memcpy(s->reply, q->reply, q->tx_stream_all * sizeof(s->reply[0]));
	for (uint32_t i = 0; i < q->tx_stream_count; i++)
		s->seq[i] = q->tx[i].seq;
	for (uint32_t i = 0; i < q->window.group_count; i++) {
		s->group[i] = q->window.group[i];
		s->group[i].heard = 0;
	}
	s->credits = window_credits(&q->window);
	for (uint32_t i = 0; i < HIST_BUCKETS; i++)
		s->recorded += q->trial[0].rtt->bucket[i];
}

static void one_turn(struct play *p, struct state *s)
{
	struct rig *r = p->r;
	void *punted;
	uint32_t what = below(p, 100);
	if (what < 40)
		peer_answers(p);
	else if (what < 80)
		peer_asks(p);
	else if (what < 85)
		housekeeping(p);
	else if (what < 90)
		p->asked_count -= p->asked_count > 0 && below(p, 4) == 0; // lost
	else
		for (uint32_t n = 2 + below(p, 3); n > 0; n--) {
			if (below(p, 2) == 0)
				peer_asks(p);
			else
				peer_answers(p);
		}
	if (!p->ready)
		lone_forget(r->q);
	p->lone += r->q->lone[PMX_REQUEST].stream != NULL || r->q->lone[PMX_REPLY].stream != NULL;
	turn(r);
	while (rte_ring_dequeue(r->q->punt, &punted) == 0)
		rte_pktmbuf_free(punted);
	look(p, s);
}

static uint32_t play(struct state *s, const struct rng *rng, bool ready, uint32_t window,
		     size_t pairs, uint32_t first)
{
	struct play p = { .r = rig_make_from(18, window, pairs, first),
			  .rng = *rng,
			  .ready = ready };
	for (uint32_t i = 0; i < STREAMS; i++)
		p.next[i] = first;
	p.r->q->window.silence = UINT64_MAX / 4; // none but where it is asked for
	for (uint32_t i = 0; i < TURNS; i++)
		one_turn(&p, &s[i]);
	p.r->q->sending = false;
	for (struct state rest = { 0 }; p.r->q->out_count > 0 || rest.out_count > 0;) {
		rest.out_count = 0;
		turn(p.r);
		left(&p, &rest);
	}
	rig_drop(p.r);
	return p.lone;
}

static void the_same_either_way(uint32_t window, size_t pairs, uint32_t first)
{
	struct rng rng = rng_open("test_lone_turns");
	struct state *ready = calloc(TURNS, sizeof(*ready)), *burst = calloc(TURNS, sizeof(*burst));
	assert_true(ready != NULL && burst != NULL);
	assert_true(play(ready, &rng, true, window, pairs, first) > TURNS / 16);
	assert_int_equal(play(burst, &rng, false, window, pairs, first), 0);
	for (uint32_t i = 0; i < TURNS; i++)
		if (memcmp(&ready[i], &burst[i], sizeof(ready[i])) != 0)
			fail_msg("window %u, %zu pairs, from %u: turn %u differs", window, pairs,
				 first, i);
	assert_true(ready[TURNS - 1].total.requests_sent > TURNS / 16);
	assert_true(ready[TURNS - 1].total.replies_sent > TURNS / 16);
	free(ready);
	free(burst);
}

static void one_in_flight(void **state)
{
	(void)state;
	the_same_either_way(1, 1, 0);
}

static void several_in_flight(void **state)
{
	(void)state;
	the_same_either_way(2, 1, 0);
	the_same_either_way(8, 1, 0);
}

static void two_pairs(void **state)
{
	(void)state;
	the_same_either_way(1, 2, 0);
	the_same_either_way(3, 2, 0);
}

static void sequences_wrap(void **state)
{
	(void)state;
	the_same_either_way(1, 1, UINT32_MAX - 100);
}

static int run(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_in_flight),
		cmocka_unit_test(several_in_flight),
		cmocka_unit_test(two_pairs),
		cmocka_unit_test(sequences_wrap),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

int main(void)
{
	return eal_run("test_lone_turns", run);
}
