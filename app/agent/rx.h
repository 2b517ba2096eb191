// Receive: replies are checked, timed and freed; requests are checked and turned round in place.
// Every frame ends in a counter.
#pragma once

#include "clock.h"
#include "frag.h"
#include "out.h"
#include "queue.h"
#include "rx_any.h"

#include <rte_prefetch.h>

// What a frame of a stream is to its counters: another, one that was seen (or came too late), or
// none.
enum rx_count { RX_NEW, RX_SEEN, RX_NOT_OURS };

// Cold half, rx.c: frames that are not this run's, of another trial or out of sequence.
void rx_other(struct queue *q, struct rte_mbuf *m);
enum rx_count rx_count_slow(struct queue *q, struct rx_stream *s, uint32_t trial, uint32_t seq,
			    bool reply);
void rx_book(struct queue *q, const struct rx_stream *s, uint64_t *mark, uint64_t count,
	     bool reply);
// Why a frame is not taken as it is, judged up to IP, with UDP to its header's stream: DROP_REASONS
// = it is for the main thread.
enum drop_reason rx_l3_reason(const struct queue *q, const struct rte_mbuf *m);
// The same of UDP and the pmx header alone, in a whole frame or the first fragment. DROP_REASONS =
// they are those of a stream of src.
enum drop_reason rx_udp_reason(const struct queue *q, const struct rte_mbuf *m, bool piece,
			       const struct ip_addr *src);
// A frame that only differs from its flow's others by its TTL: true, and the others may have it.
bool rx_ttl_changed(struct queue *q, struct rte_mbuf *m, const struct rx_stream *s,
		    enum pmx_kind kind);

static inline uint32_t be32_pair(const uint16_t v[2])
{
	return (uint32_t)rte_be_to_cpu_16(v[0]) << 16 | rte_be_to_cpu_16(v[1]);
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

// Masks over the first 44 bytes: all that a frame of a flow must say, but for source MAC, TOS,
// identification, DF and checksums. What is behind are version and kind, which chose the flow,
// and what differs from frame to frame.
//
// The third part overlaps the second: it lies as the copy of a PMD that moves 60 bytes stores them.
// A load of what was just stored in other pieces waits until all of it is in the cache, and with it
// every store before, those to lines of another core too.
static const vec128 rx_mask[3] = {
	{ 0x0000ffffffffffff, 0x00ffffff00000000 }, // destination MAC, type, version and IHL
	{ 0xffffffbf0000ffff, 0xffffffffffff0000 }, // length, fragment, TTL, protocol, addresses
	{ 0xffffffffffffffff, 0xffff0000ffffffff }, // addresses, ports, UDP length, cookie
};
static const uint32_t rx_part_at[3] = { 0, 16, EXPECT_LAST_AT };

// `port_at`: which 16-bit word of the last part is the requester's port, the stream's own.
static __rte_always_inline bool rx_is_expected(const struct frame *f, const struct expect *want,
					       int port_at, rte_be16_t port)
{
	const uint8_t *d = (const uint8_t *)f;
	words128 last = (words128)want->part[2];
	last[port_at] = port;
	vec128 wrong = ((load128(d + rx_part_at[0]) ^ want->part[0]) & rx_mask[0]) |
		       ((load128(d + rx_part_at[1]) ^ want->part[1]) & rx_mask[1]) |
		       ((load128(d + rx_part_at[2]) ^ (vec128)last) & rx_mask[2]);
	return (wrong[0] | wrong[1]) == 0;
}
#define RX_SPORT_AT 3
#define RX_DPORT_AT 4

// One segment of `len` bytes, or what can be cut to it.
static inline bool rx_len_ok(struct rte_mbuf *m, uint16_t len)
{
	return likely(m->pkt_len == len && m->data_len == len) || rx_trim(m, len);
}

// What the NIC found wrong: "none" has both bits of its pair. Without the offload nothing is said.
static inline bool rx_csum_bad(const struct queue *q, const struct rte_mbuf *m)
{
	return unlikely(q->csum_hw) &&
	       ((m->ol_flags & RTE_MBUF_F_RX_L4_CKSUM_MASK) == RTE_MBUF_F_RX_L4_CKSUM_BAD ||
		(m->ol_flags & RTE_MBUF_F_RX_IP_CKSUM_MASK) == RTE_MBUF_F_RX_IP_CKSUM_BAD);
}

// Where a frame of the stream stands in the cycles of its sizes.
static inline uint32_t rx_place(const struct frame *f, enum pmx_kind kind,
				const struct rx_stream *s)
{
	return rx_seq(f) +
	       (kind == PMX_REPLY ? be32_pair(f->pmx.stream) : rte_be_to_cpu_32(s->peer_stream));
}

// Whether the frame is what the plan says of the flow and the stream that its index names.
static inline bool rx_is_flows(const struct queue *q, struct rte_mbuf *m, const struct frame *f,
			       enum pmx_kind kind, const struct rx_stream *s, bool plain)
{
	uint32_t flow = s->flow;
	rte_be16_t port = s->port;
	if (kind == PMX_REPLY) {
		const struct tx_flow *t = &q->tx_flow[flow];
		if (plain)
			return rx_is_expected(f, &t->reply, RX_DPORT_AT, port) &&
			       rx_len_ok(m, t->reply_len);
		const struct any_flow *a = &q->any.tx_flow[flow];
		return any_is_flows(q, m, f, kind, a, s,
				    any_size_at(&a->reply_sizes, rx_place(f, kind, s)));
	}
	const struct rx_flow *r = &q->rx_flow[flow];
	if (plain)
		return rx_is_expected(f, &r->request, RX_SPORT_AT, port) &&
		       rx_len_ok(m, r->request_len);
	const struct any_flow *a = &q->any.rx_flow[flow];
	return any_is_flows(q, m, f, kind, a, s,
			    any_size_at(&a->request_sizes, rx_place(f, kind, s)));
}

// Counts a frame of stream s.
static inline enum rx_count rx_count(struct queue *q, struct rx_stream *s, const struct frame *f,
				     bool reply)
{
	uint32_t seq = rx_seq(f), trial = f->pmx.trial;
	if (unlikely(s->trial != trial || seq != s->next))
		return rx_count_slow(q, s, trial, seq, reply);
	s->next = seq + 1;
	s->recv++;
	return RX_NEW;
}

// The owner's account of a stream, whichever queue its replies come in on.
static inline void rx_reached(struct queue *q, struct queue *owner, const struct rx_stream *s,
			      uint64_t now)
{
	uint32_t stream = (uint32_t)(s - q->reply);
	if (owner == q)
		window_reach(&q->window, stream, s->next, now);
	else
		window_pass_stream(&owner->window, stream, s->next);
}

// A reply frees its place, and those of the requests before it in its stream that stayed without:
// they are lost or reordered. On another queue than the asking one the credit is passed on.
static __rte_always_inline void rx_credit(struct queue *q, const struct rx_stream *s,
					  uint32_t advance, uint64_t now, bool plain)
{
	struct queue *owner = q->shared->queue[s->owner];
	uint32_t group = owner->tx_flow[s->flow].window;
	if (advance == 0 || group == NO_WINDOW)
		return;
	if (!plain && owner->window.stream != NULL)
		rx_reached(q, owner, s, now);
	else if (owner == q)
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
static __rte_always_inline bool rx_reply(struct queue *q, struct rte_mbuf *m, const struct frame *f,
					 uint64_t now, bool plain)
{
	struct rx_stream *s = rx_stream_of(q, f, PMX_REPLY);
	const struct tx_flow *flow;
	enum rx_count count;
	if (unlikely(s == NULL))
		goto other;
	flow = &q->tx_flow[s->flow];
	if (unlikely(plain ? !rx_is_expected(f, &flow->reply, RX_DPORT_AT, s->port) ||
				     !rx_len_ok(m, flow->reply_len)
			   : !rx_is_flows(q, m, f, PMX_REPLY, s, false)) &&
	    !rx_ttl_changed(q, m, s, PMX_REPLY))
		goto other;
	if (rx_csum_bad(q, m))
		goto other;
	uint32_t expected = s->next;
	count = rx_count(q, s, f, true);
	if (unlikely(count == RX_NOT_OURS))
		goto other;
	if (unlikely(q->windowed))
		rx_credit(q, s, s->next - expected, now, plain);
	if (unlikely(count == RX_SEEN))
		return true;
	struct queue_trial *t = &q->trial[f->pmx.trial];
	if (!plain)
		by_size_returned(t->tx_size, &q->any.tx_flow[s->flow], rx_place(f, PMX_REPLY, s));
	uint64_t rtt_tsc = (now - rx_tsc(f)) & 0xffffffffffff;
	hist_add(&t->rtt[s->flow * t->rtt_stride], tsc_scale_ns(rtt_tsc, q->ns_mult));
	if (unlikely(s->owner != q->id))
		t->tx[s->flow].off_queue++;
	return true;
other:
	rx_other(q, m);
	return false;
}

// Checksum of a reply of the request's size: the payload stays as it is, and a damaged one is not
// healed; one sent without (RFC 768) has none.
static inline uint16_t rx_echo_csum(uint16_t old, uint16_t turn)
{
	uint32_t sum = (uint32_t)(uint16_t)~old + turn;
	uint16_t csum = (uint16_t) ~(sum + (sum >> 16));
	csum = csum != 0 ? csum : 0xffff;
	return likely(old != 0) ? csum : 0;
}

// Of another size: over a payload of zeros. What the template's sum has not: trial, stream,
// sequence and clock.
static inline uint16_t rx_zero_csum(const struct frame *f, const struct rx_flow *flow,
				    const struct rx_stream *s)
{
	uint64_t sum =
		(uint64_t)flow->sum + s->port + ((uint32_t)f->pmx.trial << 8) + s->peer_stream;
	return csum_udp(sum + load32(f->pmx.seq) + load32(f->pmx.tsc) + f->pmx.tsc[2]);
}

// The same frame goes back: the template's head with the stream's port, checksum, trial and index.
// It goes to the plan's address, never to the packet's source. The stores lie as those of tx_build.
static inline void rx_turn_round(const struct queue *q, struct rte_mbuf *m, struct frame *f,
				 const struct rx_flow *flow, const struct rx_stream *s)
{
	uint8_t *d = (uint8_t *)f;
	uint64_t ports = load64(flow->reply + 36) | s->port;
	uint64_t lo = load32(flow->reply + 44) | (uint64_t)f->pmx.trial << 8 |
		      (uint64_t)s->peer_stream << 16 | (uint64_t)f->pmx.seq[0] << 48;
	uint64_t hi = load64(&f->pmx.seq[1]);
	uint64_t csum;
	if (likely(flow->same_size)) {
		csum = rx_echo_csum(f->udp.dgram_cksum, s->turn);
	} else {
		csum = rx_zero_csum(f, flow, s);
		memset(d + sizeof(*f), 0, flow->reply_len - sizeof(*f));
		m->data_len = flow->reply_len;
		m->pkt_len = flow->reply_len;
	}
	if (unlikely(q->csum_hw)) { // the template holds the pseudo-header's sum
		csum = 0;
		m->ol_flags = RTE_MBUF_F_TX_IPV4 | RTE_MBUF_F_TX_UDP_CKSUM;
		m->l2_len = sizeof(f->eth);
		m->l3_len = sizeof(f->ip);
	}
	memcpy(d, flow->reply, 32);
	store_pair(d + 28, load64(flow->reply + 28), ports | csum << 32);
	store_pair(d + 44, lo, hi);
}

// What became of a request: RX_OTHER is taken care of, RX_FREE goes back to its pool, RX_ANSWER is
// a reply now.
enum rx_fate { RX_OTHER, RX_FREE, RX_ANSWER };

static __rte_always_inline enum rx_fate rx_request(struct queue *q, struct rte_mbuf *m,
						   struct frame *f, bool room, bool plain)
{
	struct rx_stream *s = rx_stream_of(q, f, PMX_REQUEST);
	const struct rx_flow *flow;
	enum rx_count count;
	if (unlikely(s == NULL))
		goto other;
	flow = &q->rx_flow[s->flow]; // once: what is stored below could be it, for all the compiler
				     // knows
	if (unlikely(plain ? !rx_is_expected(f, &flow->request, RX_SPORT_AT, s->port) ||
				     !rx_len_ok(m, flow->request_len)
			   : !rx_is_flows(q, m, f, PMX_REQUEST, s, false)) &&
	    !rx_ttl_changed(q, m, s, PMX_REQUEST))
		goto other;
	if (rx_csum_bad(q, m))
		goto other;
	count = rx_count(q, s, f, false);
	if (unlikely(count != RX_NEW)) {
		if (count == RX_NOT_OURS)
			goto other;
		return RX_FREE;
	}
	uint32_t place = plain ? 0 : rx_place(f, PMX_REQUEST, s);
	const struct any_flow *any = plain ? NULL : &q->any.rx_flow[s->flow];
	if (!plain)
		by_size_delivered(q->trial[f->pmx.trial].rx_size, any, place);
	if (unlikely(!room)) {
		q->trial[f->pmx.trial].rx[s->flow].reply_unsent++;
		if (!plain)
			by_size_reply_unsent(q->trial[f->pmx.trial].rx_size, any, place);
		return RX_FREE;
	}
	m->hash.usr = rte_be_to_cpu_32(load32(f->pmx.stream));
	if (plain)
		rx_turn_round(q, m, f, flow, s);
	else
		any_turn_round(q, m, f, any, s, place);
	return RX_ANSWER;
other:
	rx_other(q, m);
	return RX_OTHER;
}

// The stream's line is on its way while the frames before are worked on; a wrong index harms
// nothing.
static inline void rx_prefetch(const struct queue *q, const struct frame *f)
{
	const struct rx_table *t = &q->table[f->pmx.verkind & 3];
	rte_prefetch0((const void *)((uintptr_t)t->stream +
				     sizeof(struct rx_stream) *
					     (uintptr_t)rte_be_to_cpu_32(load32(f->pmx.stream))));
}

static inline struct frame *rx_frame(const struct queue *q, const struct rte_mbuf *m, bool plain)
{
	return plain ? rte_pktmbuf_mtod(m, struct frame *) : queue_frame(q, m);
}

// Everything that came in at `now`: answers are in q->out afterwards, what is done with waits for
// rx_release. Reading the head of a frame that is too short is harmless: the mbuf has the room.
// plain: that of the queue, known to the compiler.
static __rte_always_inline void rx_take(struct queue *q, uint32_t n, uint64_t now, bool plain)
{
	struct rte_mbuf **m = q->in, **answer = out_tail(q);
	uint32_t done = 0, answers = 0, replies = 0, room = out_room(q);
	for (uint32_t i = 0; i < n; i++)
		rte_prefetch0(rte_pktmbuf_mtod(m[i], void *));
	for (uint32_t i = 0; q->prefetch && i < n; i++)
		rx_prefetch(q, rx_frame(q, m[i], plain));
	for (uint32_t i = 0; i < n; i++) {
		struct rte_mbuf *b = m[i];
		if (!plain && unlikely((b->ol_flags & RTE_MBUF_F_RX_VLAN_STRIPPED) != 0))
			rx_put_tag_back(b);
		struct frame *f = rx_frame(q, b, plain);
		if (f->pmx.verkind == PMX_VERKIND(PMX_REQUEST)) {
			enum rx_fate fate = rx_request(q, b, f, answers < room, plain);
			if (likely(fate == RX_ANSWER))
				answer[answers++] = b;
			else if (fate == RX_FREE)
				m[done++] = b;
		} else if (f->pmx.verkind == PMX_VERKIND(PMX_REPLY)) {
			if (likely(rx_reply(q, b, f, now, plain))) {
				m[done++] = b;
				replies++;
			}
		} else {
			rx_other(q, b);
		}
	}
	q->total.replies_received += replies;
	if (answers > 0) {
		q->total.requests_received += answers;
		q->total.replies_sent += answers;
		out_add(q, answers);
	}
	q->in_done = done;
}

// Not of our pool, shared or in segments: such an mbuf cannot be put back as it is.
static inline bool rx_is_odd(const struct queue *q, const struct rte_mbuf *m)
{
	const uint64_t mask = 0x0000ffffffff0000, alone = 0x0000000100010000; // refcnt, nb_segs
	return (((load64(&m->rearm_data) & mask) ^ alone) |
		((uintptr_t)m->pool ^ (uintptr_t)q->rx_pool)) != 0;
}

// Gives back what the last burst was done with; nobody waits for it, so it comes after the sending.
static inline void rx_release(struct queue *q)
{
	uint32_t done = q->in_done;
	bool odd = false;
	if (q->lone_rtt != NULL) {
		hist_add(q->lone_rtt, tsc_scale_ns(q->lone_tsc, q->ns_mult));
		q->lone_rtt = NULL;
	}
	if (done == 0)
		return;
	q->in_done = 0;
	for (uint32_t i = 0; i < done; i++)
		odd |= rx_is_odd(q, q->in[i]);
	if (likely(!odd))
		rte_mempool_put_bulk(q->rx_pool, (void **)q->in, done);
	else
		rte_pktmbuf_free_bulk(q->in, done);
}
