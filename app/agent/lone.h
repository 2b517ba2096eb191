// One poll of the receive queue: a burst, or a frame that came alone.
//
// A lone frame is one whose peer may wait for nothing else: the less is done before the answer or
// the next request leaves, the shorter the round. The functions here take the plain case only and
// leave all else to rx_take and tx_due; what nobody waits for they do behind the sending.
#pragma once

#include "rx.h"
#include "tx.h"

static inline bool lone_is_expected(const struct queue *q, const struct rte_mbuf *m,
				    const struct frame *f, const struct rx_stream *s, uint16_t len)
{
	return m->data_len == len && m->pkt_len == len && !rx_csum_bad(q, m) &&
	       s->trial == f->pmx.trial && s->next == rx_seq(f);
}

static inline bool lone_request(struct queue *q, struct rte_mbuf *m, struct frame *f)
{
	struct rx_stream *s = rx_stream_of(q, f, PMX_REQUEST);
	if (s == NULL || q->out_count > 0)
		return false;
	const struct rx_flow *flow = &q->rx_flow[s->flow];
	if (!rx_is_expected(f, &flow->request, RX_SPORT_AT, s->port) ||
	    !lone_is_expected(q, m, f, s, flow->request_len))
		return false;
	uint32_t stream = rte_be_to_cpu_32(load32(f->pmx.stream));
	rx_turn_round(q, m, f, flow, s);
	bool taken = rte_eth_tx_burst(q->port, q->id, &m, 1) == 1;
	s->next++;
	s->recv++;
	q->total.requests_received++;
	q->total.replies_sent++;
	if (unlikely(!taken)) {
		m->hash.usr = stream;
		*out_tail(q) = m;
		out_add(q, 1);
		q->out_old = q->out_count;
		q->total.tx_full++;
	}
	return true;
}

// The request that the reply's place in the window allows, in the reply's own mbuf: without a
// payload there is nothing in it that a request must not have. Only where no other waits: no
// schedule, no credit, no frame, no housekeeping. False: nothing was done.
static inline bool lone_next(struct queue *q, struct rte_mbuf *m, const struct tx_flow *flow,
			     uint64_t now)
{
	if (flow->window == NO_WINDOW || flow->reply_len != sizeof(struct frame) || !q->sending ||
	    now >= q->next_event || q->pace.heap_count > 0 || q->out_count > 0)
		return false;
	struct window_group *g = &q->window.group[flow->window];
	struct tx_stream *next = &q->tx[g->first + g->cursor];
	if (next->frame_len != sizeof(struct frame) || !window_is_next(&q->window, g))
		return false;
	uint64_t flags = m->ol_flags;
	m->ol_flags = 0;
	tx_build(q, next, m, now, true);
	if (unlikely(rte_eth_tx_burst(q->port, q->id, &m, 1) != 1)) {
		next->seq--;
		m->ol_flags = flags;
		q->total.tx_full++;
		return false;
	}
	window_reuse(g, now);
	q->total.requests_sent++;
	return true;
}

static inline bool lone_reply(struct queue *q, struct rte_mbuf *m, const struct frame *f,
			      uint64_t now)
{
	struct rx_stream *s = rx_stream_of(q, f, PMX_REPLY);
	if (s == NULL)
		return false;
	const struct tx_flow *flow = &q->tx_flow[s->flow];
	if (!rx_is_expected(f, &flow->reply, RX_DPORT_AT, s->port) ||
	    !lone_is_expected(q, m, f, s, flow->reply_len) || s->owner != q->id)
		return false;
	uint64_t sent = rx_tsc(f); // the frame may be the next request soon
	bool used = lone_next(q, m, flow, now);
	s->next++;
	s->recv++;
	if (!used && q->windowed)
		rx_credit(q, s, 1, now, true);
	q->lone_rtt = &q->trial[s->trial].rtt[s->flow * q->trial[s->trial].rtt_stride];
	q->lone_tsc = (now - sent) & 0xffffffffffff;
	q->total.replies_received++;
	q->in_done = used ? 0 : 1;
	return true;
}

// One burst; returns its size, and in *now the instant at which it was found, where it was read: a
// lone request is answered without.
static __rte_always_inline uint32_t rx_poll(struct queue *q, uint64_t *now, bool plain)
{
	uint32_t n = rte_eth_rx_burst(q->port, q->id, q->in, q->burst);
	if (n == 0)
		return 0;
	if (plain && n == 1) {
		struct frame *f = rte_pktmbuf_mtod(q->in[0], struct frame *);
		if (f->pmx.verkind == PMX_VERKIND(PMX_REQUEST) && lone_request(q, q->in[0], f))
			return 1;
		*now = rte_rdtsc();
		if (f->pmx.verkind == PMX_VERKIND(PMX_REPLY) && lone_reply(q, q->in[0], f, *now))
			return 1;
	} else {
		*now = rte_rdtsc();
	}
	rx_take(q, plain || q->frag == NULL ? n : frag_take(q, n, *now), *now, plain);
	return n;
}
