// One poll of the receive queue: a burst, or a frame that came alone.
//
// A lone frame is one whose peer may wait for nothing else: the less is done before the answer or
// the next request leaves, the shorter the round. So the frame of the same stream that comes next,
// and what leaves then, are made ready while nothing is to be done: when it comes it is compared,
// and all that is new in it put in. What is otherwise goes through rx_take and tx_due, as a burst.
#pragma once

#include "rx.h"
#include "tx.h"

#define LONE_TAIL_AT 44
#define LONE_POLL_NS 500 // a frame that is there is taken and the next sent within
static const vec128 lone_tail_mask = { UINT64_MAX, 0xffff }; // all but the clock

// Makes ready for what follows the lone frame that came last; lone.c.
void lone_prepare(struct queue *q);

static inline void lone_forget(struct queue *q)
{
	q->lone[PMX_REQUEST].stream = NULL;
	q->lone[PMX_REPLY].stream = NULL;
	q->lone[PMX_REPLY].next = NULL;
}

// A lone frame of this kind came, that says it is of this stream: streams come in turn, with equal
// steps, and from the first again.
static inline void lone_note(struct queue *q, enum pmx_kind kind, uint32_t at)
{
	struct lone *l = &q->lone[kind];
	if (unlikely(at >= q->table[kind].count))
		return;
	if (at < l->at) {
		l->first = at;
		l->end = l->at;
	} else {
		l->step = at - l->at;
	}
	l->at = at;
	q->lone_last = kind;
}

static __rte_always_inline bool lone_is_ready(const struct lone *l, const struct rte_mbuf *m,
					      const uint8_t *d)
{
	vec128 wrong = ((load128(d) ^ l->want[0]) & rx_mask[0]) |
		       ((load128(d + 16) ^ l->want[1]) & rx_mask[1]) |
		       ((load128(d + EXPECT_LAST_AT) ^ l->want[2]) & rx_mask[2]) |
		       ((load128(d + LONE_TAIL_AT) ^ l->want[3]) & lone_tail_mask);
	return (wrong[0] | wrong[1]) == 0 && m->data_len == l->len && m->pkt_len == l->len;
}

// The stores lie as the copy of 60 bytes of a PMD loads them.
static __rte_always_inline void lone_write(const struct lone *l, uint8_t *d, uint64_t csum,
					   uint64_t end)
{
	memcpy(d, l->out, 32);
	store_pair(d + 28, l->out_28, l->out_36 | csum << 32);
	store_pair(d + 44, l->out_44, end);
}

static inline bool lone_send(struct queue *q, struct rte_mbuf *m)
{
	return likely(rte_eth_tx_burst(q->port, q->id, &m, 1) == 1);
}

static inline bool lone_request(struct queue *q, struct rte_mbuf *m)
{
	const struct lone *l = &q->lone[PMX_REQUEST];
	uint8_t *d = rte_pktmbuf_mtod(m, uint8_t *);
	struct rx_stream *s = l->stream;
	if (s == NULL || !lone_is_ready(l, m, d))
		return false;
	lone_write(l, d, rx_echo_csum(load16(d + UDP_CSUM_AT), l->turn), load64(d + 52));
	bool taken = lone_send(q, m);
	lone_note(q, PMX_REQUEST, (uint32_t)(s - q->request));
	s->next++;
	s->recv++;
	q->total.requests_received++;
	q->total.replies_sent++;
	if (unlikely(!taken)) {
		m->hash.usr = l->at;
		lone_forget(q);
		*out_tail(q) = m;
		out_add(q, 1);
		q->out_old = q->out_count;
		q->total.tx_full++;
	}
	return true;
}

// The request that the reply's place in the window allows, in the reply's own mbuf.
static inline bool lone_next(struct queue *q, const struct lone *l, struct rte_mbuf *m,
			     uint64_t now)
{
	if (l->next == NULL || now >= q->next_event)
		return false;
	uint64_t tsc_be = rte_cpu_to_be_64(now) >> 16; // 48 bits
	uint64_t flags = m->ol_flags;
	m->ol_flags = 0;
	lone_write(l, rte_pktmbuf_mtod(m, uint8_t *),
		   csum_udp(l->sum + (uint32_t)tsc_be + (tsc_be >> 32)), l->out_52 | tsc_be << 16);
	if (!lone_send(q, m)) {
		m->ol_flags = flags;
		q->total.tx_full++;
		return false;
	}
	l->next->seq++;
	window_reuse(l->group, now);
	q->total.requests_sent++;
	return true;
}

// When a frame came that was found by a poll which began at `polled`: then, as a poll is short; but
// where something held the lcore off in between, nobody knows, and a round trip is never shown too
// short.
static inline uint64_t lone_came(const struct queue *q, uint64_t polled)
{
	uint64_t now = rte_rdtsc();
	return likely(tsc_scale_ns(now - polled, q->ns_mult) < LONE_POLL_NS) ? polled : now;
}

// early: `now` is from before the poll.
static inline bool lone_reply(struct queue *q, struct rte_mbuf *m, uint64_t now, bool early)
{
	const struct lone *l = &q->lone[PMX_REPLY];
	const struct frame *f = rte_pktmbuf_mtod(m, const struct frame *);
	struct rx_stream *s = l->stream;
	if (s == NULL || !lone_is_ready(l, m, (const uint8_t *)f))
		return false;
	uint64_t sent = rx_tsc(f); // the frame may be the next request soon
	bool used = lone_next(q, l, m, now);
	s->next++;
	s->recv++;
	if (!used && q->windowed)
		rx_credit(q, s, 1, now, true);
	lone_note(q, PMX_REPLY, (uint32_t)(s - q->reply));
	q->lone_rtt = &q->trial[s->trial].rtt[s->flow * q->trial[s->trial].rtt_stride];
	q->lone_tsc = ((early ? lone_came(q, now) : now) - sent) & 0xffffffffffff;
	q->total.replies_received++;
	q->in_done = used ? 0 : 1;
	return true;
}

// One burst; returns its size, and in *now the instant at which it was found, where it was read: a
// lone request is answered without. Where a reply is awaited that lets the next request go, the
// clock is read before the poll: behind it the reading would wait for the frame, and what leaves
// for the reading.
static __rte_always_inline uint32_t rx_poll(struct queue *q, uint64_t *now, bool plain)
{
	bool awaited = plain && q->lone[PMX_REPLY].next != NULL;
	if (awaited)
		*now = rte_rdtsc();
	uint32_t n = rte_eth_rx_burst(q->port, q->id, q->in, q->burst);
	if (n == 0)
		return 0;
	bool lone = plain && n == 1;
	if (lone) {
		const struct frame *f = rte_pktmbuf_mtod(q->in[0], const struct frame *);
		enum pmx_kind kind = f->pmx.verkind & 3;
		if (kind == PMX_REQUEST && lone_request(q, q->in[0]))
			return 1;
		if (!awaited)
			*now = rte_rdtsc();
		if (kind == PMX_REPLY && lone_reply(q, q->in[0], *now, awaited))
			return 1;
		lone_note(q, kind, rte_be_to_cpu_32(load32(f->pmx.stream)));
	}
	if (!lone || awaited)
		*now = rte_rdtsc();
	lone_forget(q);
	rx_take(q, plain || q->frag == NULL ? n : frag_take(q, n, *now), *now, plain);
	return n;
}
