#include "frag.h"

#include "out.h"

#include <rte_errno.h>

#include <errno.h>
#include <stdlib.h>

// The plan is made without DPDK, and refuses what this one cannot put together.
_Static_assert(RTE_LIBRTE_IP_FRAG_MAX_FRAG >= DATAGRAM_FRAMES_MAX, "fragments of a datagram");
// Ethernet, two tags, IPv6 and its fragment header; or all of the smallest frame.
_Static_assert(FOOTPRINT_PIECE_BYTES >= FOOTPRINT_HEAD_BYTES + 14 + 8 + 40 + 8, "headers");

// Waits in the ring as one mbuf, and is more than one frame.
static bool is_cut(const struct rte_mbuf *m)
{
	return m->pkt_len != m->data_len;
}

static void pieces_drop(struct frag_out *o)
{
	rte_pktmbuf_free_bulk(o->piece + o->first, o->count);
	o->count = 0;
	o->begun = false;
}

// Chains zeros behind the head for all that the datagram says it has.
static void chain_zeros(struct frag_out *o, struct rte_mbuf *head)
{
	uint32_t rest = head->pkt_len - head->data_len;
	struct rte_mbuf *last = head;
	for (uint32_t i = 0; rest > 0; i++) {
		struct rte_mbuf *z = o->zero[i];
		z->data_len = (uint16_t)RTE_MIN(rest, o->zero_bytes);
		rest -= z->data_len;
		last->next = z;
		last = z;
		head->nb_segs++;
	}
	last->next = NULL;
}

static void unchain(struct rte_mbuf *head)
{
	for (struct rte_mbuf *m = head, *next; m != NULL; m = next) {
		next = m->next;
		m->next = NULL;
	}
	head->nb_segs = 1;
}

// Puts Ethernet and tags before a fragment, which begins with IP, and what rte_ip_frag leaves open.
static bool finish_piece(const struct queue *q, struct rte_mbuf *p, const uint8_t *l2, uint32_t id)
{
	if (q->at.v6) {
		struct rte_ipv6_hdr *ip = rte_pktmbuf_mtod(p, struct rte_ipv6_hdr *);
		((struct rte_ipv6_fragment_ext *)(void *)(ip + 1))->id = rte_cpu_to_be_32(id);
	} else {
		struct rte_ipv4_hdr *ip = rte_pktmbuf_mtod(p, struct rte_ipv4_hdr *);
		ip->hdr_checksum = rte_ipv4_cksum(ip);
	}
	memcpy(rte_pktmbuf_prepend(p, q->at.l3), l2, q->at.l3);
	p->ol_flags = 0;
	bool is_short = p->pkt_len < FRAME_MIN_NO_FCS;
	if ((q->frag->out.linear || is_short) && rte_pktmbuf_linearize(p) != 0)
		return false;
	if (is_short) {
		uint16_t more = (uint16_t)(FRAME_MIN_NO_FCS - p->pkt_len);
		memset(rte_pktmbuf_append(p, more), 0, more);
	}
	return true;
}

// False: there is no mbuf for all of it.
static bool cut(struct queue *q, struct rte_mbuf *head)
{
	struct frag_out *o = &q->frag->out;
	uint8_t *l2 = rte_pktmbuf_mtod(head, uint8_t *);
	uint16_t l3 = q->at.l3;
	uint32_t id = o->id;
	if (!q->at.v6) {
		struct rte_ipv4_hdr *ip = (struct rte_ipv4_hdr *)(void *)(l2 + l3);
		ip->packet_id = rte_cpu_to_be_16((uint16_t)id);
		ip->fragment_offset = 0;
	}
	chain_zeros(o, head);
	rte_pktmbuf_adj(head, l3);
	int32_t n = q->at.v6 ? rte_ipv6_fragment_packet(head, o->piece, DATAGRAM_FRAMES_MAX, o->mtu,
							o->heads, o->refs)
			     : rte_ipv4_fragment_packet(head, o->piece, DATAGRAM_FRAMES_MAX, o->mtu,
							o->heads, o->refs);
	rte_pktmbuf_prepend(head, l3);
	unchain(head);
	if (n <= 0)
		return false;
	o->id += o->id_step;
	o->first = 0;
	o->count = (uint32_t)n;
	bool good = true;
	for (uint32_t i = 0; i < o->count; i++)
		good &= finish_piece(q, o->piece[i], l2, id);
	if (!good)
		pieces_drop(o);
	return good;
}

// The head of the ring, which is more than one frame. True: all of it is gone.
static bool flush_cut(struct queue *q)
{
	struct frag_out *o = &q->frag->out;
	struct rte_mbuf *m = q->out[q->out_head];
	if (o->count == 0) {
		if (q->out_old > 0)
			out_restamp(q, 1);
		if (!cut(q, m)) {
			q->drop[DROP_NOMBUF]++;
			return false;
		}
	}
	uint16_t n = rte_eth_tx_burst(q->port, q->id, o->piece + o->first, (uint16_t)o->count);
	o->first += n;
	o->count -= n;
	if (o->count > 0) {
		q->total.tx_full++;
		o->begun |= n > 0;
		if (!o->begun) // it will say when it was really sent
			pieces_drop(o);
		return false;
	}
	o->begun = false;
	q->out_head++;
	q->out_count--;
	q->out_old -= q->out_old > 0;
	rte_pktmbuf_free(m);
	return true;
}

// The frames at the head of the ring that are datagrams by themselves, up to a burst. 0: the port
// did not take all.
static uint32_t flush_whole(struct queue *q, uint32_t *taken)
{
	uint32_t chunk = 0, most = RTE_MIN(q->out_count, (uint32_t)q->burst);
	while (chunk < most && !is_cut(q->out[q->out_head + chunk]))
		chunk++;
	if (q->out_old > 0)
		out_restamp(q, RTE_MIN(q->out_old, chunk));
	uint32_t n = rte_eth_tx_burst(q->port, q->id, &q->out[q->out_head], (uint16_t)chunk);
	q->out_head += n;
	q->out_count -= n;
	q->out_old -= RTE_MIN(q->out_old, n);
	*taken += n;
	q->total.tx_full += n < chunk;
	return n == chunk ? n : 0;
}

uint32_t frag_flush(struct queue *q)
{
	uint32_t taken = 0;
	while (q->out_count > 0) {
		if (!is_cut(q->out[q->out_head])) {
			if (flush_whole(q, &taken) == 0)
				break;
		} else {
			if (!flush_cut(q))
				break;
			taken++;
		}
	}
	q->out_old = q->out_count;
	return taken;
}

void frag_forget(struct queue *q)
{
	pieces_drop(&q->frag->out);
}
