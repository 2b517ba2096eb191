#include "rx.h"

#include "frag.h"

#include "nd.h"

#include <rte_arp.h>
#include <rte_icmp.h>

#include <netinet/ip.h>

static const struct ip_addr all_nodes = { { 0xff, 0x02, [15] = 1 } };

static bool is_own(const struct queue *q, const struct ip_addr *a)
{
	return ip_eq(a, &q->addr) || source_has(&q->src_addr, q->src_count, a);
}

// The own address whose group for ND ends as `end`, its last three bytes do; else the first.
static struct ip_addr own_group(const struct queue *q, const uint8_t *end)
{
	struct ip_addr a = q->src_addr;
	memcpy(a.b + 13, end, 3);
	if (!is_own(q, &a)) // past a multiple of 2^24
		a.b[12]++;
	return nd_group(q->src_count > 0 && is_own(q, &a) ? &a : &q->addr);
}

enum drop_reason rx_udp_reason(const struct queue *q, const struct rte_mbuf *m, bool piece,
			       const struct ip_addr *src)
{
	size_t more = piece && q->at.v6 ? sizeof(struct rte_ipv6_fragment_ext) : 0;
	const struct frame *f = (const void *)((const uint8_t *)queue_frame(q, m) + more);
	if (m->data_len < q->at.pmx + more)
		return DROP_MALFORMED;
	uint32_t udp_bytes = rte_be_to_cpu_16(f->udp.dgram_len);
	if (udp_bytes < sizeof(f->udp) || (!piece && q->at.udp + udp_bytes > m->pkt_len))
		return DROP_MALFORMED;
	if (f->udp.dst_port != q->udp_port_be && f->udp.src_port != q->udp_port_be)
		return DROP_PORT;
	if (m->data_len < q->at.pmx + more + sizeof(f->pmx))
		return DROP_MALFORMED;
	if (f->pmx.cookie != q->cookie_be)
		return DROP_COOKIE;
	bool request = f->pmx.verkind == PMX_VERKIND(PMX_REQUEST);
	if (!request && f->pmx.verkind != PMX_VERKIND(PMX_REPLY))
		return DROP_MALFORMED;
	if ((request ? f->udp.dst_port : f->udp.src_port) != q->udp_port_be)
		return DROP_PORT;
	if (f->pmx.trial >= q->trial_count)
		return DROP_MALFORMED;
	uint32_t i = be32_pair(f->pmx.stream);
	if (i >= (request ? q->rx_stream_count : q->tx_stream_all))
		return DROP_STREAM;
	const struct rx_stream *s = request ? &q->request[i] : &q->reply[i];
	struct ip_addr peer = request ? q->rx_addr[s->flow] : q->tx_addr[s->flow];
	if (request && !q->plain)
		memcpy(peer.b + 12, &q->any.low[PMX_REQUEST][i], sizeof(rte_be32_t));
	if (!ip_eq(&peer, src) || s->port != (request ? f->udp.src_port : f->udp.dst_port))
		return DROP_STREAM;
	return DROP_REASONS;
}

// Why a frame with UDP to or from us is not the run's. src: its sender.
static enum drop_reason udp_reason(const struct queue *q, const struct rte_mbuf *m,
				   const struct ip_addr *src)
{
	enum drop_reason r = rx_udp_reason(q, m, false, src);
	if (r != DROP_REASONS)
		return r;
	return rx_csum_bad(q, m) ? DROP_CHECKSUM : DROP_MALFORMED; // else its length
}

// DROP_REASONS = it is for the main thread.
static enum drop_reason ip4_reason(const struct queue *q, const struct rte_mbuf *m,
				   const struct rte_ipv4_hdr *ip)
{
	if (m->data_len < q->at.l3 + sizeof(*ip))
		return DROP_MALFORMED;
	if (!is_own(q, &IP4(rte_be_to_cpu_32(ip->dst_addr))))
		return DROP_ADDRESS;
	uint32_t ip_bytes = rte_be_to_cpu_16(ip->total_length);
	if (ip->version_ihl >> 4 != IPVERSION || ip->version_ihl < RTE_IPV4_VHL_DEF ||
	    ip_bytes < sizeof(*ip) || q->at.l3 + ip_bytes > m->pkt_len)
		return DROP_MALFORMED;
	if (ip->version_ihl != RTE_IPV4_VHL_DEF)
		return DROP_OPTIONS;
	if (rte_raw_cksum(ip, sizeof(*ip)) != 0xffff)
		return DROP_CHECKSUM;
	if (ip->src_addr == ip->dst_addr)
		return DROP_OWN;
	if ((ip->fragment_offset & RTE_BE16(RTE_IPV4_HDR_MF_FLAG | RTE_IPV4_HDR_OFFSET_MASK)) != 0)
		return DROP_FRAGMENT;
	if (ip->next_proto_id == IPPROTO_ICMP)
		return DROP_REASONS;
	if (ip->next_proto_id != IPPROTO_UDP)
		return DROP_PROTOCOL;
	return udp_reason(q, m, &IP4(rte_be_to_cpu_32(ip->src_addr)));
}

// A tag in the mbuf's word is none of the frame's, unless it says no VLAN (a priority alone); words
// that no flag speaks for are left over.
static bool has_tag(const struct rte_mbuf *m)
{
	return (m->ol_flags & RTE_MBUF_F_RX_VLAN_STRIPPED) != 0 && (m->vlan_tci & 0xfff) != 0;
}

// Whether all tags are the port's own; one that the driver took out is none of ours.
static bool tags_ok(const struct queue *q, const struct rte_mbuf *m, const uint8_t *d)
{
	const rte_be16_t id = RTE_BE16(0x0fff);
	if (has_tag(m))
		return false;
	for (unsigned i = 0; i < q->at.tags; i++) {
		const uint8_t *tag = d + ETHER_TYPE_AT + i * sizeof(struct rte_vlan_hdr);
		bool type_ok = i + 1 < q->at.tags ? any_outer_ok(&q->at, d)
						  : load16(tag) == RTE_BE16(RTE_ETHER_TYPE_VLAN);
		if (!type_ok || (load16(tag + 2) & id) != (rte_cpu_to_be_16(q->tci[i]) & id))
			return false;
	}
	return true;
}

// To us, or for ND to the group of those whose addresses end as ours.
static bool is_ours6(const struct queue *q, const struct rte_ipv6_hdr *ip)
{
	struct ip_addr group = own_group(q, ip->dst_addr + 13), dst;
	memcpy(dst.b, ip->dst_addr, sizeof(dst.b));
	return is_own(q, &dst) || (ip->proto == IPPROTO_ICMPV6 &&
				   (memcmp(ip->dst_addr, group.b, sizeof(ip->dst_addr)) == 0 ||
				    memcmp(ip->dst_addr, all_nodes.b, sizeof(ip->dst_addr)) == 0));
}

static enum drop_reason ip6_reason(const struct queue *q, const struct rte_mbuf *m,
				   const struct rte_ipv6_hdr *ip)
{
	struct ip_addr src;
	if (m->data_len < q->at.l3 + sizeof(*ip))
		return DROP_MALFORMED;
	if (!is_ours6(q, ip))
		return DROP_ADDRESS;
	if (rte_be_to_cpu_32(ip->vtc_flow) >> 28 != 6 ||
	    q->at.l3 + sizeof(*ip) + rte_be_to_cpu_16(ip->payload_len) > m->pkt_len)
		return DROP_MALFORMED;
	memcpy(src.b, ip->src_addr, sizeof(src.b));
	if (ip->proto == IPPROTO_ICMPV6)
		return DROP_REASONS;
	if (is_own(q, &src))
		return DROP_OWN;
	switch (ip->proto) {
	case IPPROTO_FRAGMENT:
		return DROP_FRAGMENT;
	case IPPROTO_HOPOPTS:
	case IPPROTO_ROUTING:
	case IPPROTO_DSTOPTS:
		return DROP_OPTIONS;
	case IPPROTO_UDP:
		return udp_reason(q, m, &src);
	default:
		return DROP_PROTOCOL;
	}
}

// Which MACs ND goes to besides our own.
static bool is_group_mac(const struct queue *q, const uint8_t *d)
{
	struct ip_addr group = own_group(q, d + 3);
	struct rte_ether_addr mac = nd_group_mac(&group), all = nd_group_mac(&all_nodes);
	return memcmp(d, &mac, sizeof(mac)) == 0 || memcmp(d, &all, sizeof(all)) == 0;
}

// Whether an interface with our addresses would take it: its own MAC, and the groups it is in.
static bool is_our_mac(const struct queue *q, const uint8_t *d, bool to_us)
{
	return to_us ||
	       (q->at.v6 ? is_group_mac(q, d) : rte_is_broadcast_ether_addr((const void *)d) != 0);
}

enum drop_reason rx_l3_reason(const struct queue *q, const struct rte_mbuf *m)
{
	const uint8_t *d = rte_pktmbuf_mtod(m, const uint8_t *);
	uint64_t dst = 0;
	if (m->data_len < q->at.l3)
		return DROP_MALFORMED;
	memcpy(&dst, d, RTE_ETHER_ADDR_LEN);
	bool to_us = dst == q->mac48;
	if (!is_our_mac(q, d, to_us))
		return DROP_L2;
	if (!tags_ok(q, m, d))
		return DROP_VLAN;
	uint16_t type = load16(d + q->at.l3 - 2);
	const void *l3 = d + q->at.l3;
	if (type == RTE_BE16(RTE_ETHER_TYPE_VLAN) || type == RTE_BE16(RTE_ETHER_TYPE_QINQ))
		return DROP_VLAN;
	if (q->at.v6) {
		if (type != RTE_BE16(RTE_ETHER_TYPE_IPV6))
			return DROP_L2;
		enum drop_reason r = ip6_reason(q, m, l3);
		return to_us || r == DROP_REASONS || r == DROP_ADDRESS ? r : DROP_L2;
	}
	if (type == RTE_BE16(RTE_ETHER_TYPE_ARP))
		return m->data_len >= q->at.l3 + sizeof(struct rte_arp_hdr) ? DROP_REASONS
									    : DROP_MALFORMED;
	if (!to_us || type != RTE_BE16(RTE_ETHER_TYPE_IPV4))
		return DROP_L2;
	return ip4_reason(q, m, l3);
}

bool rx_trim(struct rte_mbuf *m, uint32_t len)
{
	if (m->nb_segs != 1 || m->data_len < len || has_tag(m))
		return false;
	m->vlan_tci = 0;
	m->data_len = (uint16_t)len;
	m->pkt_len = len;
	return true;
}

bool rx_fit(const struct queue *q, struct rte_mbuf *m, const struct size *size)
{
	if (!size->fragments)
		return rx_trim(m, size->frame_len);
	if (has_tag(m) || m->data_len < q->at.pmx + PMX_HDR_BYTES)
		return false;
	if (m->nb_segs > 1)
		return m->pkt_len == size->frame_len;
	// Put together before the port, as the kernel does for AF_PACKET's fan-out, which cuts off
	// what a slot has no room for: more than a frame holds.
	return m->pkt_len >= size->frame_len ||
	       (q->frag != NULL && m->pkt_len >= q->at.l3 + (uint32_t)q->frag->out.mtu);
}

void rx_put_tag_back(struct rte_mbuf *m)
{
	const size_t macs = 2 * sizeof(struct rte_ether_addr);
	uint8_t *d = rte_pktmbuf_mtod(m, uint8_t *);
	rte_be16_t tag[2] = { RTE_BE16(RTE_ETHER_TYPE_VLAN), rte_cpu_to_be_16(m->vlan_tci) };
	if (m->data_len < macs || rte_pktmbuf_headroom(m) < sizeof(tag))
		return;
	memmove(d - sizeof(tag), d, macs);
	memcpy(d - sizeof(tag) + macs, tag, sizeof(tag));
	m->data_off = (uint16_t)(m->data_off - sizeof(tag));
	m->data_len = (uint16_t)(m->data_len + sizeof(tag));
	m->pkt_len += sizeof(tag);
	m->ol_flags &= ~RTE_MBUF_F_RX_VLAN_STRIPPED;
}

bool rx_ttl_changed(struct queue *q, struct rte_mbuf *m, const struct rx_stream *s,
		    enum pmx_kind kind)
{
	const struct frame *f = queue_frame(q, m);
	uint32_t flow = s->flow;
	bool reply = kind == PMX_REPLY;
	struct any_flow *any = reply ? q->any.tx_flow : q->any.rx_flow;
	struct expect *plain = reply ? &q->tx_flow[flow].reply : &q->rx_flow[flow].request;
	struct ttl_range *seen = reply ? &q->tx_flow[flow].ttl : &q->rx_flow[flow].ttl;
	uint8_t *want = (q->plain ? (uint8_t *)plain : (uint8_t *)&any[flow].expect) + q->at.ttl;
	uint8_t old = *want;
	uint8_t ttl = rte_pktmbuf_mtod(m, const uint8_t *)[q->at.ttl];
	if (ttl == old)
		return false;
	*want = ttl;
	if (!rx_is_flows(q, m, f, kind, s, q->plain)) {
		*want = old;
		return false;
	}
	seen->min = seen->max == 0 || ttl < seen->min ? ttl : seen->min;
	seen->max = ttl > seen->max ? ttl : seen->max;
	return true;
}

void rx_other(struct queue *q, struct rte_mbuf *m)
{
	enum drop_reason r = rx_l3_reason(q, m);
	if (r == DROP_REASONS) {
		if (rte_ring_sp_enqueue(q->punt, m) == 0)
			return;
		r = DROP_SLOW;
	}
	q->drop[r]++;
	rte_pktmbuf_free(m);
}

void rx_book(struct queue *q, const struct rx_stream *s, uint64_t *mark, uint64_t count, bool reply)
{
	struct queue_trial *t = &q->trial[s->trial];
	if (reply)
		t->tx[s->flow].returned += count;
	else
		t->rx[s->flow].delivered += count;
	*mark += count;
}

// A packet of another trial than the stream counts for. A newer one moves the stream on; an older
// one, a straggler, is booked where it belongs. True: count it in the stream.
static bool trial_change(struct queue *q, struct rx_stream *s, uint8_t trial, bool reply)
{
	if (trial == s->trial)
		return true;
	if (s->trial == NO_TRIAL || (int8_t)(trial - s->trial) > 0) {
		uint64_t *mark =
			reply ? &q->reply_mark[s - q->reply] : &q->request_mark[s - q->request];
		if (s->trial != NO_TRIAL)
			rx_book(q, s, mark, s->recv - *mark, reply);
		s->trial = trial;
		return true;
	}
	if (reply)
		q->trial[trial].tx[s->flow].returned++;
	else
		q->trial[trial].rx[s->flow].delivered++;
	return false;
}

// An agent that takes another's place in mid-run is asked before it knows where to answer. As long
// as it does not, its streams have no trial, so that every request comes here.
static bool has_next_hop(const struct queue *q, const struct rx_stream *s)
{
	static const uint8_t none[RTE_ETHER_ADDR_LEN];
	return s->trial != NO_TRIAL || q->shared->rx_mac == NULL || // without neighbours
	       memcmp(queue_reply(q, s->flow), none, sizeof(none)) != 0;
}

static bool count_slow(struct queue *q, struct rx_stream *s, uint32_t trial, uint32_t seq,
		       bool reply)
{
	struct queue_trial *t = &q->trial[trial];
	struct tx_counts *tx = &t->tx[reply ? s->flow : 0];
	struct rx_counts *rx = &t->rx[reply ? 0 : s->flow];
	uint64_t *late = reply ? &tx->late : &rx->late;
	if (t->closed) {
		(*late)++;
		return false;
	}
	switch (seqwin_accept(s->seen, &s->next, seq)) {
	case SEQ_OLD:
		(*late)++;
		return false;
	case SEQ_DUPLICATE:
		(*(reply ? &tx->dup : &rx->dup))++;
		return false;
	case SEQ_REORDERED:
		(*(reply ? &tx->reordered : &rx->reordered))++;
		break;
	case SEQ_NEW:
		break;
	}
	if (!reply && !has_next_hop(q, s)) {
		rx->delivered++;
		rx->reply_unsent++;
		if (!q->plain) {
			uint32_t place = seq + rte_be_to_cpu_32(s->peer_stream);
			by_size_delivered(t->rx_size, &q->any.rx_flow[s->flow], place);
			by_size_reply_unsent(t->rx_size, &q->any.rx_flow[s->flow], place);
		}
		return false;
	}
	if (trial_change(q, s, (uint8_t)trial, reply))
		s->recv++;
	return true;
}

enum rx_count rx_count_slow(struct queue *q, struct rx_stream *s, uint32_t trial, uint32_t seq,
			    bool reply)
{
	if (trial >= q->trial_count)
		return RX_NOT_OURS;
	// of a stream that is new here any number may be the first: its requester may have begun
	// long before this agent did
	if (!reply && !s->begun)
		s->next = s->run = seq;
	s->begun = 1;
	seqwin_run(s->seen, s->run, s->next);
	bool is_new = count_slow(q, s, trial, seq, reply);
	s->run = s->next; // the window holds it all
	return is_new ? RX_NEW : RX_SEEN;
}
