// The checks and the turn-round of rx.h for frames of any layout and size.
#pragma once

#include "out.h"
#include "queue.h"

// Puts a tag that the driver took out back into the frame; cold, rx.c.
void rx_put_tag_back(struct rte_mbuf *m);
// Cuts off what follows a frame of the right length. False: it is too short, in segments, or a tag
// stands beside it.
bool rx_trim(struct rte_mbuf *m, uint32_t len);
// The same of any size: what was put together of fragments is in segments.
bool rx_fit(const struct queue *q, struct rte_mbuf *m, const struct size *size);

#define ETHER_TYPE_AT (2 * RTE_ETHER_ADDR_LEN)

// The outer type of two tags: the provider's, or what a driver that took it out puts back.
static inline bool any_outer_ok(const struct layout *at, const uint8_t *d)
{
	uint16_t type = load16(d + ETHER_TYPE_AT);
	return at->tags < 2 || type == RTE_BE16(RTE_ETHER_TYPE_QINQ) ||
	       type == RTE_BE16(RTE_ETHER_TYPE_VLAN);
}

static inline const struct size *any_size_at(const struct sizes *z, uint32_t place)
{
	return &z->size[size_index(z, place)];
}

// Gives back all segments but the first.
static inline void rx_behead(struct rte_mbuf *m)
{
	rte_pktmbuf_free(m->next);
	m->next = NULL;
	m->nb_segs = 1;
}

// f: where a plain frame would begin for its UDP and pmx headers to stand where this frame's do.
static inline bool any_is_flows(const struct queue *q, struct rte_mbuf *m, const struct frame *f,
				enum pmx_kind kind, const struct any_flow *flow,
				const struct rx_stream *s, const struct size *size)
{
	const struct any_expect *mask = &q->any.mask[kind];
	const uint8_t *d = rte_pktmbuf_mtod(m, const uint8_t *);
	vec128 wrong = { 0 };
	for (unsigned i = 0; i < HEAD_PARTS; i++)
		wrong |= (load128(d + sizeof(vec128) * i) ^ flow->expect.part[i]) & mask->part[i];
	rte_be16_t stream_port = kind == PMX_REQUEST ? f->udp.src_port : f->udp.dst_port;
	rte_be32_t low = q->any.low[kind][s - q->table[kind].stream];
	return (wrong[0] | wrong[1]) == 0 && stream_port == s->port &&
	       load32(d + q->any.low_at[kind]) == low && any_outer_ok(&q->at, d) &&
	       f->udp.dgram_len == size->udp_len && load16(d + q->at.len) == size->ip_len &&
	       !(q->at.v6 && f->udp.dgram_cksum == 0) && // RFC 8200, 8.1
	       ((m->data_len == size->frame_len && m->pkt_len == size->frame_len) ||
		rx_fit(q, m, size));
}

// IPv4 alone: the header's checksum with its length, from the sum that a template holds. `more` is
// the sum of what else the template has not.
static inline void any_put_lens(uint8_t *d, const struct layout *at, const struct size *size,
				uint32_t more)
{
	memcpy(d + at->len, &size->ip_len, sizeof(size->ip_len));
	if (at->v6)
		return;
	uint8_t *field = d + at->l3 + offsetof(struct rte_ipv4_hdr, hdr_checksum);
	uint16_t csum = (uint16_t)~csum_fold((uint64_t)load16(field) + size->ip_len + more);
	memcpy(field, &csum, sizeof(csum));
}

// Leaves the UDP checksum to the NIC. d: the head, its checksum field with the pseudo-header's sum
// but for the length; in fragments no NIC can do it.
static inline void any_ask_nic(struct rte_mbuf *m, const struct layout *at, uint8_t *d,
			       const struct size *size)
{
	struct rte_udp_hdr *udp = (struct rte_udp_hdr *)(void *)(d + at->udp);
	if (unlikely(size->fragments)) {
		udp->dgram_cksum = csum_udp(head_udp_sum(d, at));
		m->ol_flags = 0;
		return;
	}
	udp->dgram_cksum = csum_fold((uint64_t)udp->dgram_cksum + size->udp_len);
	m->ol_flags = RTE_MBUF_F_TX_UDP_CKSUM | (at->v6 ? RTE_MBUF_F_TX_IPV6 : RTE_MBUF_F_TX_IPV4);
	m->l2_len = at->l3;
	m->l3_len = (uint64_t)(at->udp - at->l3) & 0x1ff;
}

// The template's head up to the pmx header, in whole vectors: what they run over is written next.
static inline void any_copy_head(uint8_t *d, const struct head *h, const struct layout *at)
{
	for (unsigned i = 0; i < at->pmx; i += sizeof(vec128))
		memcpy(d + i, h->b + i, sizeof(vec128));
}

// As rx_turn_round: to the plan's address, that of the stream, with the plan's size.
static inline void any_turn_round(const struct queue *q, struct rte_mbuf *m, struct frame *f,
				  const struct any_flow *flow, const struct rx_stream *s,
				  uint32_t place)
{
	uint8_t *d = rte_pktmbuf_mtod(m, uint8_t *);
	struct pmx_hdr h = f->pmx;
	uint32_t seq, tsc;
	memcpy(&seq, h.seq, sizeof(seq));
	memcpy(&tsc, h.tsc, sizeof(tsc));
	const struct size *in = any_size_at(&flow->request_sizes, place),
			  *out = any_size_at(&flow->reply_sizes, place);
	uint16_t old = f->udp.dgram_cksum;
	rte_be32_t to = q->any.low[PMX_REQUEST][s - q->request];
	uint32_t to_sum = any_low_sum(to);
	any_copy_head(d, &flow->reply, &q->at);
	memcpy(d + q->any.low_at[PMX_REPLY], &to, sizeof(to));
	any_put_lens(d, &q->at, out, to_sum);
	f->udp.dst_port = s->port;
	f->udp.dgram_len = out->udp_len;
	memcpy(&h, flow->reply.b + q->at.pmx, offsetof(struct pmx_hdr, trial));
	memcpy(h.stream, &s->peer_stream, sizeof(h.stream));
	f->pmx = h;
	bool echo = in->payload_bytes == out->payload_bytes && !out->fragments;
	if (!echo) {
		if (unlikely(m->nb_segs > 1))
			rx_behead(m);
		memset(d + q->at.pmx + sizeof(h), 0, out->mbuf_len - q->at.pmx - sizeof(h));
		m->data_len = out->mbuf_len;
		m->pkt_len = out->frame_len;
	}
	if (unlikely(q->csum_hw)) {
		f->udp.dgram_cksum = csum_fold((uint64_t)f->udp.dgram_cksum + to_sum);
		any_ask_nic(m, &q->at, d, out);
	} else if (echo) {
		uint32_t sum = (uint32_t)(uint16_t)~old + s->turn;
		uint16_t csum = (uint16_t) ~(sum + (sum >> 16));
		csum = csum != 0 ? csum : 0xffff;
		f->udp.dgram_cksum = old != 0 ? csum : 0;
	} else {
		uint64_t sum =
			(uint64_t)flow->sum + 2u * out->udp_len + s->port + s->peer_stream + to_sum;
		sum += ((uint32_t)h.trial << 8) + (uint64_t)seq + tsc + h.tsc[2];
		f->udp.dgram_cksum = csum_udp(sum);
	}
}
