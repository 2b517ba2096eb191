// Receive: replies are checked, timed and freed; requests are checked and turned round in place.
// Every frame ends in a counter.
#pragma once

#include "clock.h"
#include "out.h"
#include "queue.h"

#include <rte_prefetch.h>

// Cold half, rx.c: frames that are not this run's, of another trial or out of sequence.
void rx_other(struct queue *q, struct rte_mbuf *m);
bool rx_count_slow(struct queue *q, struct rx_stream *s, uint32_t trial, uint32_t seq, bool reply);
void rx_book(struct queue *q, const struct rx_stream *s, uint64_t *mark, uint64_t count,
	     bool reply);

static inline uint32_t be32_pair(const uint16_t v[2])
{
	return (uint32_t)rte_be_to_cpu_16(v[0]) << 16 | rte_be_to_cpu_16(v[1]);
}

static inline uint64_t load64(const void *p)
{
	uint64_t v;
	memcpy(&v, p, sizeof(v));
	return v;
}

static inline uint32_t load32(const void *p)
{
	uint32_t v;
	memcpy(&v, p, sizeof(v));
	return v;
}

static inline uint32_t rx_seq(const struct frame *f)
{
	return rte_be_to_cpu_32(load32(f->pmx.seq));
}

static inline uint64_t rx_tsc(const struct frame *f)
{
	// sequence's second half, then the 48 bits
	return rte_be_to_cpu_64(load64(&f->pmx.seq[1])) & 0xffffffffffff;
}

// Masks over the first 48 bytes: all that a frame of a flow must say, but for source MAC, TOS,
// identification, DF, TTL, checksums, the requester's port, trial and what is behind.
static const vec128 rx_mask[3] = {
	{ 0x0000ffffffffffff, 0x00ffffff00000000 }, // destination MAC, type, version and IHL
	{ 0xff00ffbf0000ffff, 0xffffffffffff0000 }, // length, fragment, protocol, addresses
	{ 0, 0x000000ffffff0000 },		    // cookie, pmx version and kind
};
// The word at 32: end of the destination, ports, UDP length; without the requester's port.
static const vec128 rx_request_ports = { 0xffffffff0000ffff, 0 };
static const vec128 rx_reply_ports = { 0xffff0000ffffffff, 0 };

static inline vec128 load128(const uint8_t *p)
{
	vec128 v;
	memcpy(&v, p, sizeof(v));
	return v;
}

static inline bool rx_is_expected(const struct frame *f, const struct expect *want, vec128 ports)
{
	const uint8_t *d = (const uint8_t *)f;
	vec128 wrong = ((load128(d) ^ want->part[0]) & rx_mask[0]) |
		       ((load128(d + 16) ^ want->part[1]) & rx_mask[1]) |
		       ((load128(d + 32) ^ want->part[2]) & (rx_mask[2] | ports));
	return (wrong[0] | wrong[1]) == 0;
}

// What the NIC found wrong: "none" has both bits of its pair. Without the offload nothing is said.
static inline bool rx_csum_bad(const struct queue *q, const struct rte_mbuf *m)
{
	return unlikely(q->csum_hw) &&
	       ((m->ol_flags & RTE_MBUF_F_RX_L4_CKSUM_MASK) == RTE_MBUF_F_RX_L4_CKSUM_BAD ||
		(m->ol_flags & RTE_MBUF_F_RX_IP_CKSUM_MASK) == RTE_MBUF_F_RX_IP_CKSUM_BAD);
}

// Counts a frame of stream s. True when it is new to us, reordered or not.
static inline bool rx_count(struct queue *q, struct rx_stream *s, const struct frame *f, bool reply)
{
	uint32_t seq = rx_seq(f), trial = f->pmx.trial;
	if (unlikely(trial != q->hot_trial || s->trial != trial || seq != s->next))
		return rx_count_slow(q, s, trial, seq, reply);
	s->next = seq + 1;
	s->recv++;
	return true;
}

// A reply frees its place, and those of the requests before it in its stream that stayed without:
// they are lost or reordered. On another queue than the asking one the credit is passed on.
static inline void rx_credit(struct queue *q, const struct rx_stream *s, uint32_t advance,
			     uint64_t now)
{
	struct queue *owner = q->shared->queue[s->owner];
	uint32_t group = owner->tx_flow[s->flow].window;
	if (advance == 0 || group == NO_WINDOW)
		return;
	if (owner == q)
		window_credit(&q->window, group, advance, now);
	else
		window_pass(&owner->window, group, advance);
}

// The stream that a frame of this kind names, or NULL.
static inline struct rx_stream *rx_stream_of(const struct queue *q, const struct frame *f,
					     enum pmx_kind kind)
{
	uint32_t i = rte_be_to_cpu_32(load32(f->pmx.stream));
	return likely(i < q->table[kind].count) ? &q->table[kind].stream[i] : NULL;
}

// True: done with, the mbuf can go back to its pool as it is.
static inline bool rx_reply(struct queue *q, struct rte_mbuf *m, const struct frame *f,
			    uint64_t now)
{
	struct rx_stream *s = rx_stream_of(q, f, PMX_REPLY);
	const struct tx_flow *flow;
	if (unlikely(s == NULL || (flow = &q->tx_flow[s->flow], m->data_len < flow->reply_len) ||
		     !rx_is_expected(f, &flow->reply, rx_reply_ports) ||
		     f->udp.dst_port != s->port || f->pmx.trial >= q->trial_count ||
		     rx_csum_bad(q, m))) {
		rx_other(q, m);
		return false;
	}
	uint32_t expected = s->next;
	bool counted = rx_count(q, s, f, true);
	if (q->shared->windowed)
		rx_credit(q, s, s->next - expected, now);
	if (unlikely(!counted))
		return true;
	struct queue_trial *t = &q->trial[f->pmx.trial];
	uint64_t rtt_tsc = (now - rx_tsc(f)) & 0xffffffffffff;
	hist_add(&t->rtt[s->flow * t->rtt_stride], tsc_scale_ns(rtt_tsc, q->ns_mult));
	if (unlikely(s->owner != q->id))
		t->tx[s->flow].off_queue++;
	return true;
}

// Checksum of a reply made of the request in f: same size, so the payload stays as it is, and a
// damaged one is not healed; else over a payload of zeros.
static inline uint16_t rx_turn_csum(const struct frame *f, const struct rx_flow *flow,
				    const struct rx_stream *s)
{
	if (likely(flow->same_size)) {
		uint32_t sum = (uint32_t)(uint16_t)~f->udp.dgram_cksum + s->turn;
		if (unlikely(f->udp.dgram_cksum == 0)) // sent without one (RFC 768)
			return 0;
		uint16_t csum = (uint16_t) ~(sum + (sum >> 16));
		return csum != 0 ? csum : 0xffff;
	}
	// what the template's sum has not: trial, stream, sequence and clock
	uint64_t sum =
		(uint64_t)flow->sum + s->port + ((uint32_t)f->pmx.trial << 8) + s->peer_stream;
	return csum_udp(sum + load32(f->pmx.seq) + load32(f->pmx.tsc) + f->pmx.tsc[2]);
}

// The same frame goes back: the template's head with the stream's port, checksum, trial and index.
// It goes to the plan's address, never to the packet's source.
static inline void rx_turn_round(const struct queue *q, struct rte_mbuf *m, struct frame *f,
				 const struct rx_flow *flow, const struct rx_stream *s)
{
	uint8_t *d = (uint8_t *)f;
	uint64_t ports = load64(flow->reply + 32) | (uint64_t)s->port << 32;
	uint64_t head = load64(flow->reply + 40) | (uint64_t)f->pmx.trial << 40 |
			(uint64_t)(uint16_t)s->peer_stream << 48;
	uint16_t stream_lo = (uint16_t)(s->peer_stream >> 16);
	if (unlikely(q->csum_hw)) { // the template holds the pseudo-header's sum
		m->ol_flags = RTE_MBUF_F_TX_IPV4 | RTE_MBUF_F_TX_UDP_CKSUM;
		m->l2_len = sizeof(f->eth);
		m->l3_len = sizeof(f->ip);
	} else {
		head |= rx_turn_csum(f, flow, s);
	}
	memcpy(d, flow->reply, 32);
	memcpy(d + 32, &ports, sizeof(ports));
	memcpy(d + 40, &head, sizeof(head));
	memcpy(d + 48, &stream_lo, sizeof(stream_lo));
	if (unlikely(m->data_len != flow->reply_len)) {
		m->data_len = flow->reply_len;
		m->pkt_len = flow->reply_len;
	}
	if (!flow->same_size)
		memset(d + sizeof(*f), 0, flow->reply_len - sizeof(*f));
	m->hash.usr = (uint32_t)(s - q->request);
}

// What became of a request: RX_OTHER is taken care of, RX_FREE goes back to its pool, RX_ANSWER is
// a reply now.
enum rx_fate { RX_OTHER, RX_FREE, RX_ANSWER };

static inline enum rx_fate rx_request(struct queue *q, struct rte_mbuf *m, struct frame *f,
				      bool room)
{
	struct rx_stream *s = rx_stream_of(q, f, PMX_REQUEST);
	const struct rx_flow *flow;
	if (unlikely(s == NULL || (flow = &q->rx_flow[s->flow], m->data_len < flow->request_len) ||
		     !rx_is_expected(f, &flow->request, rx_request_ports) ||
		     f->udp.src_port != s->port || f->pmx.trial >= q->trial_count ||
		     rx_csum_bad(q, m))) {
		rx_other(q, m);
		return RX_OTHER;
	}
	if (unlikely(!rx_count(q, s, f, false)))
		return RX_FREE;
	if (unlikely(!room)) {
		q->trial[f->pmx.trial].rx[s->flow].reply_unsent++;
		return RX_FREE;
	}
	rx_turn_round(q, m, f, flow, s);
	return RX_ANSWER;
}

// The stream's line is on its way while the frames before are worked on; a wrong index harms
// nothing.
static inline void rx_prefetch(const struct queue *q, const struct rte_mbuf *m)
{
	const struct frame *f = rte_pktmbuf_mtod(m, const struct frame *);
	const struct rx_table *t = &q->table[f->pmx.verkind & 3];
	rte_prefetch0((const void *)((uintptr_t)t->stream +
				     sizeof(struct rx_stream) *
					     (uintptr_t)rte_be_to_cpu_32(load32(f->pmx.stream))));
}

// Not of our pool, shared or in segments: such an mbuf cannot be put back as it is.
static inline bool rx_is_odd(const struct queue *q, const struct rte_mbuf *m)
{
	return m->pool != q->rx_pool || rte_mbuf_refcnt_read(m) != 1 || m->nb_segs != 1;
}

// Everything that came in at `now`: answers are in q->out afterwards, the rest is free again.
static inline void rx_take(struct queue *q, struct rte_mbuf **m, uint32_t n, uint64_t now)
{
	struct rte_mbuf *answer[BURST_MAX];
	uint32_t done = 0, answers = 0, replies = 0, room = out_room(q);
	bool odd = false;
	for (uint32_t i = 0; i < n; i++)
		rte_prefetch0(rte_pktmbuf_mtod(m[i], void *));
	for (uint32_t i = 0; i < n; i++)
		rx_prefetch(q, m[i]);
	for (uint32_t i = 0; i < n; i++) {
		struct rte_mbuf *b = m[i];
		struct frame *f = rte_pktmbuf_mtod(b, struct frame *);
		bool whole = b->data_len >= sizeof(*f) && b->nb_segs == 1;
		odd |= rx_is_odd(q, b);
		if (whole && f->pmx.verkind == PMX_VERKIND(PMX_REPLY)) {
			if (rx_reply(q, b, f, now)) {
				m[done++] = b;
				replies++;
			}
		} else if (whole && f->pmx.verkind == PMX_VERKIND(PMX_REQUEST)) {
			enum rx_fate fate = rx_request(q, b, f, answers < room);
			if (likely(fate == RX_ANSWER))
				answer[answers++] = b;
			else if (fate == RX_FREE)
				m[done++] = b;
		} else {
			rx_other(q, b);
		}
	}
	q->total.replies_received += replies;
	q->total.requests_received += answers;
	q->total.replies_sent += answers;
	out_append(q, answer, answers);
	if (likely(!odd))
		rte_mempool_put_bulk(q->rx_pool, (void **)m, done);
	else
		rte_pktmbuf_free_bulk(m, done);
}

// One burst; returns its size.
static inline uint32_t rx_poll(struct queue *q)
{
	struct rte_mbuf *m[BURST_MAX];
	uint32_t n = rte_eth_rx_burst(q->port, q->id, m, q->burst);
	if (n > 0)
		rx_take(q, m, n, rte_rdtsc());
	return n;
}
