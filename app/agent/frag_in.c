#define ALLOW_EXPERIMENTAL_API // rte_ip_frag_table_del_expired_entries, unchanged since 18.11
#include "frag.h"

#include "rx.h"

#include <stdlib.h>

#define OFFSET_UNIT 8
#define IP_BYTES_MAX 65535

// What a frame says of the datagram that it is a part of.
struct piece {
	struct ip_addr src;
	uint32_t head;	  // bytes from IP to what it carries
	uint32_t ip_len;  // of IP, all headers included
	uint32_t at, len; // of the payload
	bool more;
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
	p->at = (word & RTE_IPV4_HDR_OFFSET_MASK) * OFFSET_UNIT;
	p->more = (word & RTE_IPV4_HDR_MF_FLAG) != 0;
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
	p->at = word & RTE_IPV6_EHDR_FO_MASK;
	p->more = (word & RTE_IPV6_EHDR_MF_MASK) != 0;
	return true;
}

static bool read_piece(const struct queue *q, const struct rte_mbuf *m, struct piece *p)
{
	const uint8_t *d = rte_pktmbuf_mtod(m, const uint8_t *) + q->at.l3;
	uint32_t room = m->data_len - q->at.l3;
	if (!(q->at.v6 ? read_ip6(d, room, p) : read_ip4(d, room, p)) || p->ip_len > room ||
	    p->ip_len <= p->head)
		return false;
	p->len = p->ip_len - p->head;
	return p->at + p->len <= IP_BYTES_MAX - (q->at.v6 ? 0 : p->head) &&
	       !(p->more && p->len % OFFSET_UNIT != 0);
}

// DROP_REASONS = it may wait for the others. The first one tells whose the datagram is; the others
// have an address alone.
static enum drop_reason piece_reason(const struct queue *q, const struct rte_mbuf *m,
				     struct piece *p)
{
	enum drop_reason r = rx_l3_reason(q, m);
	if (r != DROP_FRAGMENT && r != DROP_OWN) // to another address, of another VLAN
		return r == DROP_REASONS ? DROP_FRAGMENT : r;
	if (m->nb_segs != 1 || !read_piece(q, m, p))
		return DROP_MALFORMED;
	if (bsearch(&p->src, q->frag->in.peer, q->frag->in.peers, sizeof(p->src), frag_peer_cmp) ==
	    NULL)
		return r;
	if (p->at > 0)
		return DROP_REASONS;
	return rx_udp_reason(q, m, true, &p->src);
}

static void bury(struct queue *q)
{
	struct frag_in *in = &q->frag->in;
	if (in->dead.cnt == 0)
		return;
	q->drop[DROP_INCOMPLETE] += in->dead.cnt;
	rte_ip_frag_free_death_row(&in->dead, 0);
}

// The whole datagram, or NULL: it waits, or was dropped and counted.
static struct rte_mbuf *put_together(struct queue *q, struct rte_mbuf *m, const struct piece *p,
				     uint64_t now)
{
	struct frag_in *in = &q->frag->in;
	uint8_t *l3 = rte_pktmbuf_mtod(m, uint8_t *) + q->at.l3;
	struct rte_mbuf *whole;
	rte_pktmbuf_trim(m, (uint16_t)(m->data_len - q->at.l3 - p->ip_len));
	m->l2_len = q->at.l3;
	m->l3_len = p->head & 0x1ff;
	if (q->at.v6) {
		struct rte_ipv6_hdr *ip = (struct rte_ipv6_hdr *)(void *)l3;
		whole = rte_ipv6_frag_reassemble_packet(in->table, &in->dead, m, now, ip,
							(void *)(ip + 1));
	} else {
		whole = rte_ipv4_frag_reassemble_packet(in->table, &in->dead, m, now, (void *)l3);
	}
	bury(q);
	return whole;
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
	in->expire_next = now + in->timeout / 8;
	rte_ip_frag_table_del_expired_entries(in->table, &in->dead, now);
	bury(q);
}
