// Receive: replies are checked, timed and freed; requests are checked and turned round in place.
// Every frame ends in a counter.
#pragma once

#include "clock.h"
#include "out.h"
#include "queue.h"

// What becomes of a received mbuf.
enum rx_fate { RX_FREE, RX_KEPT };

// Cold half, rx.c: frames that are not this run's; stragglers; full output.
enum rx_fate rx_other(struct queue *q, struct rte_mbuf *m);
void rx_book(struct queue *q, const struct rx_stream *s, uint64_t *mark, uint64_t count,
	     bool reply);
bool rx_trial_change(struct queue *q, struct rx_stream *s, uint8_t trial, bool reply);

static inline uint32_t be32_pair(const uint16_t v[2])
{
	return (uint32_t)rte_be_to_cpu_16(v[0]) << 16 | rte_be_to_cpu_16(v[1]);
}

static inline uint64_t be48(const uint16_t v[3])
{
	return (uint64_t)rte_be_to_cpu_16(v[0]) << 32 | (uint64_t)rte_be_to_cpu_16(v[1]) << 16 |
	       rte_be_to_cpu_16(v[2]);
}

// Ours up to the UDP header and the cookie: the same for requests and replies.
static inline bool rx_is_ours(const struct queue *q, const struct rte_mbuf *m,
			      const struct frame *f)
{
	uint64_t dst = 0;
	if (m->data_len < FRAME_MIN_NO_FCS)
		return false;
	memcpy(&dst, &f->eth.dst_addr, RTE_ETHER_ADDR_LEN);
	return dst == q->mac48 && f->eth.ether_type == RTE_BE16(RTE_ETHER_TYPE_IPV4) &&
	       f->ip.version_ihl == RTE_IPV4_VHL_DEF &&
	       (f->ip.fragment_offset &
		RTE_BE16(RTE_IPV4_HDR_MF_FLAG | RTE_IPV4_HDR_OFFSET_MASK)) == 0 &&
	       f->ip.next_proto_id == IPPROTO_UDP && f->ip.dst_addr == q->addr_be &&
	       f->pmx.cookie == q->cookie_be;
}

static inline bool rx_csum_bad(const struct rte_mbuf *m)
{
	return (m->ol_flags & RTE_MBUF_F_RX_L4_CKSUM_MASK) == RTE_MBUF_F_RX_L4_CKSUM_BAD ||
	       (m->ol_flags & RTE_MBUF_F_RX_IP_CKSUM_MASK) == RTE_MBUF_F_RX_IP_CKSUM_BAD;
}

// Lengths agree with each other, with the frame and with the plan.
static inline bool rx_length_ok(const struct rte_mbuf *m, const struct frame *f,
				uint16_t dgram_len_be)
{
	uint16_t dgram = rte_be_to_cpu_16(dgram_len_be);
	return f->udp.dgram_len == dgram_len_be &&
	       rte_be_to_cpu_16(f->ip.total_length) == dgram + sizeof(f->ip) &&
	       m->data_len >= sizeof(f->eth) + sizeof(f->ip) + dgram;
}

// Counts a frame of stream s by its sequence. True when it is new to us, reordered or not.
static inline bool rx_count(struct queue *q, struct rx_stream *s, const struct pmx_hdr *h,
			    bool reply)
{
	struct queue_trial *t = &q->trial[h->trial];
	uint64_t *late = reply ? &t->tx[s->flow].late : &t->rx[s->flow].late;
	if (unlikely(t->closed)) {
		(*late)++;
		return false;
	}
	enum seq_class c = seqwin_accept(s->seen, &s->next, be32_pair(h->seq));
	if (likely(c == SEQ_NEW && s->trial == h->trial)) {
		s->recv++;
		return true;
	}
	if (c == SEQ_OLD) {
		(*late)++;
		return false;
	}
	if (c == SEQ_DUPLICATE) {
		(*(reply ? &t->tx[s->flow].dup : &t->rx[s->flow].dup))++;
		return false;
	}
	if (c == SEQ_REORDERED)
		(*(reply ? &t->tx[s->flow].reordered : &t->rx[s->flow].reordered))++;
	if (rx_trial_change(q, s, h->trial, reply))
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

static inline enum rx_fate rx_reply(struct queue *q, struct rte_mbuf *m, const struct frame *f,
				    uint64_t now)
{
	uint32_t i = be32_pair(f->pmx.stream);
	struct rx_stream *s = &q->reply[i];
	if (unlikely(i >= q->tx_stream_all || s->addr != f->ip.src_addr ||
		     s->port != f->udp.dst_port || f->pmx.trial >= q->trial_count ||
		     !rx_length_ok(m, f, q->tx_flow[s->flow].reply_dgram_len) || rx_csum_bad(m)))
		return rx_other(q, m);
	uint32_t expected = s->next;
	bool counted = rx_count(q, s, &f->pmx, true);
	if (q->shared->windowed)
		rx_credit(q, s, s->next - expected, now);
	if (!counted)
		return RX_FREE;
	struct queue_trial *t = &q->trial[f->pmx.trial];
	uint64_t rtt_tsc = (now - be48(f->pmx.tsc)) & 0xffffffffffff;
	hist_record(&t->rtt[s->flow * t->rtt_stride], tsc_scale_ns(rtt_tsc, q->ns_mult));
	if (unlikely(s->owner != q->id))
		t->tx[s->flow].off_queue++;
	q->total.replies_received++;
	return RX_FREE;
}

// The same frame goes back: template head, the stream's port, the pmx header with kind and stream
// of the reply. It goes to the plan's address, never to the packet's source.
static inline void rx_turn_round(const struct queue *q, struct rte_mbuf *m, struct frame *f,
				 const struct rx_flow *flow, const struct rx_stream *s)
{
	uint16_t csum = f->udp.dgram_cksum;
	const uint16_t *old_words = (const uint16_t *)(const void *)&f->pmx;
	uint64_t old_sum = (uint64_t)old_words[1] + f->pmx.stream[0] + f->pmx.stream[1];

	memcpy(f, &flow->reply, FRAME_HDR_BYTES);
	f->udp.dst_port = s->port;
	f->pmx.verkind = PMX_VERKIND(PMX_REPLY);
	f->pmx.stream[0] = rte_cpu_to_be_16((uint16_t)(s->peer_stream >> 16));
	f->pmx.stream[1] = rte_cpu_to_be_16((uint16_t)s->peer_stream);

	m->data_len = flow->reply_len;
	m->pkt_len = flow->reply_len;
	if (!flow->same_size)
		memset(&f->pmx + 1, 0, flow->reply_len - sizeof(*f));
	if (q->csum_hw) {
		m->ol_flags = RTE_MBUF_F_TX_IPV4 | RTE_MBUF_F_TX_UDP_CKSUM;
		m->l2_len = sizeof(f->eth);
		m->l3_len = sizeof(f->ip);
		return; // the template holds the pseudo-header's sum
	}
	m->ol_flags = 0;
	const uint16_t *w = (const uint16_t *)(const void *)&f->pmx;
	if (flow->same_size) {
		uint64_t new_sum = (uint64_t)w[1] + f->pmx.stream[0] + f->pmx.stream[1];
		f->udp.dgram_cksum = csum_update(csum, old_sum, new_sum);
		return;
	}
	uint64_t sum = (uint64_t)flow->sum + s->port;
	for (unsigned int k = 0; k < sizeof(f->pmx) / 2; k++)
		sum += w[k];
	f->udp.dgram_cksum = csum_udp(sum);
}

static inline enum rx_fate rx_request(struct queue *q, struct rte_mbuf *m, struct frame *f)
{
	uint32_t i = be32_pair(f->pmx.stream);
	struct rx_stream *s = &q->request[i];
	if (unlikely(i >= q->rx_stream_count || s->addr != f->ip.src_addr ||
		     s->port != f->udp.src_port || f->pmx.trial >= q->trial_count ||
		     !rx_length_ok(m, f, q->rx_flow[s->flow].request_dgram_len) || rx_csum_bad(m)))
		return rx_other(q, m);
	if (!rx_count(q, s, &f->pmx, false))
		return RX_FREE;
	q->total.requests_received++;
	if (unlikely(out_room(q) == 0)) {
		q->trial[f->pmx.trial].rx[s->flow].reply_unsent++;
		return RX_FREE;
	}
	rx_turn_round(q, m, f, &q->rx_flow[s->flow], s);
	m->hash.usr = i;
	out_push(q, m);
	q->total.replies_sent++;
	return RX_KEPT;
}

static inline enum rx_fate rx_one(struct queue *q, struct rte_mbuf *m, uint64_t now)
{
	struct frame *f = rte_pktmbuf_mtod(m, struct frame *);
	if (likely(rx_is_ours(q, m, f))) {
		if (f->pmx.verkind == PMX_VERKIND(PMX_REPLY) && f->udp.src_port == q->udp_port_be)
			return rx_reply(q, m, f, now);
		if (f->pmx.verkind == PMX_VERKIND(PMX_REQUEST) && f->udp.dst_port == q->udp_port_be)
			return rx_request(q, m, f);
	}
	return rx_other(q, m);
}

// One burst; returns its size.
static inline uint32_t rx_poll(struct queue *q)
{
	struct rte_mbuf *m[BURST_MAX], *done[BURST_MAX];
	uint32_t n = rte_eth_rx_burst(q->port, q->id, m, q->burst);
	if (n == 0)
		return 0;
	uint64_t now = rte_rdtsc();
	uint32_t free_count = 0;
	for (uint32_t i = 0; i < n && i < 4; i++)
		rte_prefetch0(rte_pktmbuf_mtod(m[i], void *));
	for (uint32_t i = 0; i < n; i++) {
		if (i + 4 < n)
			rte_prefetch0(rte_pktmbuf_mtod(m[i + 4], void *));
		if (rx_one(q, m[i], now) == RX_FREE)
			done[free_count++] = m[i];
	}
	rte_pktmbuf_free_bulk(done, free_count);
	return n;
}
