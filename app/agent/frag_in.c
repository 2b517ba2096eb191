#include "frag.h"

#include "rx.h"

#include <rte_ip.h>

#include <stdlib.h>

#define OFFSET_UNIT 8

// What a frame says of the datagram that it is a part of.
struct piece {
	struct ip_addr src;
	uint32_t head;	 // bytes from IP to what it carries
	uint32_t ip_len; // of IP, all headers included
	struct frag_piece of;
};

static bool is_piece(const struct queue *q, const struct rte_mbuf *m)
{
	const uint8_t *d = rte_pktmbuf_mtod(m, const uint8_t *);
	uint16_t type = load16(d + q->at.l3 - 2);
	if (q->at.v6)
		return type == RTE_BE16(RTE_ETHER_TYPE_IPV6) &&
		       d[q->at.l3 + offsetof(struct rte_ipv6_hdr, proto)] == IPPROTO_FRAGMENT;
	return type == RTE_BE16(RTE_ETHER_TYPE_IPV4) &&
	       (load16(d + q->at.l3 + offsetof(struct rte_ipv4_hdr, fragment_offset)) &
		RTE_BE16(RTE_IPV4_HDR_MF_FLAG | RTE_IPV4_HDR_OFFSET_MASK)) != 0;
}

// False: its headers are not all there, or not those of a fragment of UDP.
static bool read_ip4(const uint8_t *d, uint32_t room, struct piece *p)
{
	const struct rte_ipv4_hdr *ip = (const void *)d;
	if (room < sizeof(*ip) || ip->version_ihl != RTE_IPV4_VHL_DEF ||
	    ip->next_proto_id != IPPROTO_UDP)
		return false;
	uint16_t word = rte_be_to_cpu_16(ip->fragment_offset);
	p->src = IP4(rte_be_to_cpu_32(ip->src_addr));
	p->head = sizeof(*ip);
	p->ip_len = rte_be_to_cpu_16(ip->total_length);
	p->of.id = ip->packet_id;
	p->of.at = (word & RTE_IPV4_HDR_OFFSET_MASK) * OFFSET_UNIT;
	p->of.more = (word & RTE_IPV4_HDR_MF_FLAG) != 0;
	return true;
}

static bool read_ip6(const uint8_t *d, uint32_t room, struct piece *p)
{
	const struct rte_ipv6_hdr *ip = (const void *)d;
	const struct rte_ipv6_fragment_ext *f = (const void *)(ip + 1);
	if (room < sizeof(*ip) + sizeof(*f) || f->next_header != IPPROTO_UDP)
		return false;
	uint16_t word = rte_be_to_cpu_16(f->frag_data);
	memcpy(p->src.b, ip->src_addr, sizeof(p->src.b));
	p->head = sizeof(*ip) + sizeof(*f);
	p->ip_len = sizeof(*ip) + rte_be_to_cpu_16(ip->payload_len);
	p->of.id = f->id;
	p->of.at = word & RTE_IPV6_EHDR_FO_MASK;
	p->of.more = (word & RTE_IPV6_EHDR_MF_MASK) != 0;
	return true;
}

static bool read_piece(const struct queue *q, const struct rte_mbuf *m, struct piece *p)
{
	const uint8_t *d = rte_pktmbuf_mtod(m, const uint8_t *) + q->at.l3;
	uint32_t room = m->data_len - q->at.l3;
	if (!(q->at.v6 ? read_ip6(d, room, p) : read_ip4(d, room, p)) || p->ip_len > room ||
	    p->ip_len <= p->head)
		return false;
	p->of.len = p->ip_len - p->head;
	return !(p->of.more && p->of.len % OFFSET_UNIT != 0);
}

// Of a first fragment: the length of all of it, as UDP says it, which the fragment is not beyond.
static bool read_total(const struct queue *q, const struct rte_mbuf *m, struct piece *p)
{
	const struct rte_udp_hdr *udp =
		rte_pktmbuf_mtod_offset(m, const struct rte_udp_hdr *, q->at.l3 + p->head);
	p->of.total = rte_be_to_cpu_16(udp->dgram_len);
	return p->of.total <= p->of.peer->most && p->of.len <= p->of.total &&
	       p->of.more == (p->of.len < p->of.total);
}

// DROP_REASONS = it may wait for the others. The first one tells whose the datagram is; the others
// have an address alone, and a place that none of the peer's datagrams is too short for.
static enum drop_reason piece_reason(const struct queue *q, const struct rte_mbuf *m,
				     struct piece *p)
{
	enum drop_reason r = rx_l3_reason(q, m);
	if (r != DROP_FRAGMENT && r != DROP_OWN) // to another address, of another VLAN
		return r == DROP_REASONS ? DROP_FRAGMENT : r;
	if (m->nb_segs != 1 || !read_piece(q, m, p))
		return DROP_MALFORMED;
	p->of.peer = bsearch(&p->src, q->frag->in.peer, q->frag->in.peers, sizeof(*p->of.peer),
			     frag_peer_cmp);
	if (p->of.peer == NULL)
		return r;
	if (p->of.at + p->of.len > p->of.peer->most)
		return DROP_MALFORMED;
	if (p->of.at > 0)
		return DROP_REASONS;
	r = rx_udp_reason(q, m, true, &p->src);
	return r == DROP_REASONS && !read_total(q, m, p) ? DROP_MALFORMED : r;
}

// The headers of a whole datagram's first segment, as if it had been sent in one frame.
static void rewrite_head(const struct queue *q, struct rte_mbuf *m)
{
	const size_t ext = sizeof(struct rte_ipv6_fragment_ext);
	uint8_t *d = rte_pktmbuf_mtod(m, uint8_t *), *l3 = d + q->at.l3;
	if (q->at.v6) {
		struct rte_ipv6_hdr *ip = (void *)l3;
		ip->proto = IPPROTO_UDP;
		memmove(d + ext, d, q->at.l3 + sizeof(*ip));
		rte_pktmbuf_adj(m, ext);
		ip = (void *)(l3 + ext);
		ip->payload_len = rte_cpu_to_be_16((uint16_t)(m->pkt_len - q->at.l3 - sizeof(*ip)));
	} else {
		struct rte_ipv4_hdr *ip = (void *)l3;
		ip->total_length = rte_cpu_to_be_16((uint16_t)(m->pkt_len - q->at.l3));
		ip->fragment_offset = 0;
		ip->hdr_checksum = 0;
		ip->hdr_checksum = rte_ipv4_cksum(ip);
	}
}

static void count_dropped(struct queue *q)
{
	struct frag_table *t = &q->frag->in.table;
	q->drop[DROP_INCOMPLETE] += t->dropped;
	t->dropped = 0;
}

// The whole datagram, or NULL: it waits, or was dropped and counted.
static struct rte_mbuf *put_together(struct queue *q, struct rte_mbuf *m, const struct piece *p,
				     uint64_t now)
{
	struct frag_table *t = &q->frag->in.table;
	rte_pktmbuf_trim(m, (uint16_t)(m->data_len - q->at.l3 - p->ip_len));
	if (p->of.at > 0)
		rte_pktmbuf_adj(m, (uint16_t)(q->at.l3 + p->head));
	m = frag_table_add(t, m, &p->of, now);
	if (m != NULL)
		rewrite_head(q, m);
	if (unlikely(t->dropped > 0))
		count_dropped(q);
	return m;
}

uint32_t frag_take(struct queue *q, uint32_t n, uint64_t now)
{
	uint32_t kept = 0;
	for (uint32_t i = 0; i < n; i++) {
		struct rte_mbuf *m = q->in[i];
		struct piece p;
		if (unlikely((m->ol_flags & RTE_MBUF_F_RX_VLAN_STRIPPED) != 0))
			rx_put_tag_back(m);
		if (!is_piece(q, m)) {
			q->in[kept++] = m;
			continue;
		}
		enum drop_reason r = piece_reason(q, m, &p);
		if (r != DROP_REASONS) {
			q->drop[r]++;
			rte_pktmbuf_free(m);
			continue;
		}
		m = put_together(q, m, &p, now);
		if (m != NULL)
			q->in[kept++] = m;
	}
	return kept;
}

void frag_expire(struct queue *q, uint64_t now)
{
	struct frag_in *in = &q->frag->in;
	if (now < in->expire_next)
		return;
	in->expire_next = now + in->table.timeout / 8;
	frag_table_expire(&in->table, now);
	count_dropped(q);
}
