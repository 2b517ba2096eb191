// Receive: replies are checked, timed and freed; requests are checked and turned round in place.
// Every frame ends in a counter.
//
// A burst is sorted first, by what a frame says it is, without a branch: then each loop does one
// thing only, and the streams' lines are on their way from the cache meanwhile.
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

struct rx_item { // one frame of a burst, and the stream that it names
	struct rte_mbuf *m;
	struct rx_stream *s;
};

struct rx_burst {
	struct rx_item item[3][BURST_MAX]; // by enum pmx_kind; 0: neither
	uint32_t count[3];
	bool plain; // all are single segments of the queue's pool that nobody else holds
};

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

// To us and IPv4 without options; then, from the IP length to the pmx version: all that a frame of
// this flow must say, but for identification, DF, TTL, checksums and the requester's port.
static inline bool rx_is_expected(const struct queue *q, const struct rte_mbuf *m,
				  const struct frame *f, const struct expect *want,
				  uint64_t port_mask)
{
	const uint8_t *d = (const uint8_t *)f;
	const uint64_t mac_mask = 0xffffffffffff;
	const uint64_t type_mask = 0xffffff00000000; // bytes 12..14 of a word that starts at 8
	uint64_t type = (uint64_t)RTE_BE16(RTE_ETHER_TYPE_IPV4) << 32 | (uint64_t)RTE_IPV4_VHL_DEF
										<< 48;
	uint64_t wrong = (load64(d) ^ q->mac48) & mac_mask;
	wrong |= (load64(d + 8) ^ type) & type_mask;
	// total_length, (identification), fragment bits but DF, (TTL), protocol
	wrong |= (load64(d + 16) ^ want->word[0]) & 0xff00ffbf0000ffff;
	wrong |= (load64(d + 24) ^ want->word[1]) & 0xffffffffffff0000; // (checksum), addresses
	wrong |= (load64(d + 32) ^ want->word[2]) & port_mask;
	// (checksum), cookie, version and kind, (trial, stream)
	wrong |= (load64(d + 40) ^ want->word[3]) & 0x000000ffffff0000;
	// bad checksum flags of the NIC: "none" has both bits of its pair
	uint64_t l4 = m->ol_flags & RTE_MBUF_F_RX_L4_CKSUM_MASK;
	uint64_t ip = m->ol_flags & RTE_MBUF_F_RX_IP_CKSUM_MASK;
	return wrong == 0 && l4 != RTE_MBUF_F_RX_L4_CKSUM_BAD && ip != RTE_MBUF_F_RX_IP_CKSUM_BAD;
}

// Masks for the word at 32: end of the destination, ports, UDP length; without the requester's
// port.
#define RX_REQUEST_PORTS 0xffffffff0000ffff
#define RX_REPLY_PORTS 0xffff0000ffffffff

// Counts a frame of stream s. True when it is new to us, reordered or not.
static inline bool rx_count(struct queue *q, struct rx_stream *s, const struct frame *f, bool reply)
{
	uint32_t seq = rx_seq(f), trial = f->pmx.trial;
	if (unlikely(trial != q->hot_trial || s->trial != trial || seq != s->next))
		return rx_count_slow(q, s, trial, seq, reply);
	seqwin_accept(s->seen, &s->next, seq);
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

// True: done with, the mbuf can go back to its pool as it is.
static inline bool rx_reply(struct queue *q, struct rte_mbuf *m, struct rx_stream *s, uint64_t now)
{
	const struct frame *f = rte_pktmbuf_mtod(m, const struct frame *);
	const struct tx_flow *flow = &q->tx_flow[s->flow];
	if (unlikely(!rx_is_expected(q, m, f, &flow->reply, RX_REPLY_PORTS) ||
		     f->udp.dst_port != s->port || m->data_len < flow->reply_len ||
		     f->pmx.trial >= q->trial_count)) {
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
	if (flow->same_size) {
		uint16_t old = f->udp.dgram_cksum;
		if (unlikely(old == 0)) // sent without one (RFC 768)
			return 0;
		return csum_udp((uint64_t)(uint16_t)~old + s->turn);
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
	m->ol_flags = 0;
	if (q->csum_hw) { // the template holds the pseudo-header's sum
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
	m->data_len = flow->reply_len;
	m->pkt_len = flow->reply_len;
	if (!flow->same_size)
		memset(d + sizeof(*f), 0, flow->reply_len - sizeof(*f));
}

static inline bool rx_request(struct queue *q, struct rte_mbuf *m, struct rx_stream *s)
{
	struct frame *f = rte_pktmbuf_mtod(m, struct frame *);
	const struct rx_flow *flow = &q->rx_flow[s->flow];
	if (unlikely(!rx_is_expected(q, m, f, &flow->request, RX_REQUEST_PORTS) ||
		     f->udp.src_port != s->port || m->data_len < flow->request_len ||
		     f->pmx.trial >= q->trial_count)) {
		rx_other(q, m);
		return false;
	}
	if (unlikely(!rx_count(q, s, f, false)))
		return true;
	if (unlikely(out_room(q) == 0)) {
		q->trial[f->pmx.trial].rx[s->flow].reply_unsent++;
		return true;
	}
	rx_turn_round(q, m, f, flow, s);
	m->hash.usr = (uint32_t)(s - q->request);
	out_push(q, m);
	return false;
}

// By what the frame says of itself, to be checked later: kind and stream index.
static inline void rx_sort(struct queue *q, struct rx_burst *b, struct rte_mbuf *m)
{
	const struct frame *f = rte_pktmbuf_mtod(m, const struct frame *);
	bool fits = m->data_len >= sizeof(*f) && m->nb_segs == 1;
	uint8_t verkind = fits ? f->pmx.verkind : 0;
	uint32_t i = fits ? rte_be_to_cpu_32(load32(f->pmx.stream)) : 0;
	uint32_t kind = verkind == PMX_VERKIND(PMX_REQUEST) ? PMX_REQUEST
			: verkind == PMX_VERKIND(PMX_REPLY) ? PMX_REPLY
							    : 0;
	const struct rx_table *t = &q->table[kind];
	kind = i < t->count ? kind : 0;
	struct rx_item *item = &b->item[kind][b->count[kind]++];
	item->m = m;
	item->s = &t->stream[i < t->count ? i : 0];
	rte_prefetch0(item->s);
	b->plain &= m->pool == q->rx_pool && rte_mbuf_refcnt_read(m) == 1 && m->nb_segs == 1;
}

// Everything that came in at `now`: answers are in q->out afterwards, the rest is free again.
static inline void rx_take(struct queue *q, struct rte_mbuf **m, uint32_t n, uint64_t now)
{
	struct rx_burst b;
	b.count[0] = b.count[PMX_REQUEST] = b.count[PMX_REPLY] = 0;
	b.plain = true;
	for (uint32_t i = 0; i < n; i++)
		rte_prefetch0(rte_pktmbuf_mtod(m[i], void *));
	for (uint32_t i = 0; i < n; i++)
		rx_sort(q, &b, m[i]);

	uint32_t done = 0, out = q->out_count;
	for (uint32_t i = 0; i < b.count[PMX_REPLY]; i++) {
		struct rx_item *item = &b.item[PMX_REPLY][i];
		if (rx_reply(q, item->m, item->s, now))
			m[done++] = item->m;
	}
	q->total.replies_received += done;
	for (uint32_t i = 0; i < b.count[PMX_REQUEST]; i++) {
		struct rx_item *item = &b.item[PMX_REQUEST][i];
		if (rx_request(q, item->m, item->s))
			m[done++] = item->m;
	}
	q->total.requests_received += q->out_count - out;
	q->total.replies_sent += q->out_count - out;
	for (uint32_t i = 0; i < b.count[0]; i++)
		rx_other(q, b.item[0][i].m);
	if (likely(b.plain))
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
