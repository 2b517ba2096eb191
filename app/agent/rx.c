#include "rx.h"

#include <rte_arp.h>
#include <rte_icmp.h>

// Why a frame is not the run's. DROP_REASONS = it is for the main thread.
static enum drop_reason rx_ip_reason(const struct queue *q, const struct rte_mbuf *m,
				     const struct frame *f)
{
	if (m->data_len < sizeof(f->eth) + sizeof(f->ip))
		return DROP_MALFORMED;
	if (f->ip.dst_addr != q->addr_be)
		return DROP_ADDRESS;
	if (f->ip.version_ihl != RTE_IPV4_VHL_DEF)
		return DROP_MALFORMED;
	if ((f->ip.fragment_offset & RTE_BE16(RTE_IPV4_HDR_MF_FLAG | RTE_IPV4_HDR_OFFSET_MASK)) !=
	    0)
		return DROP_FRAGMENT;
	if (f->ip.next_proto_id == IPPROTO_ICMP)
		return DROP_REASONS;
	if (f->ip.next_proto_id != IPPROTO_UDP)
		return DROP_PROTOCOL;
	if (m->data_len < FRAME_HDR_BYTES)
		return DROP_MALFORMED;
	if (f->udp.dst_port != q->udp_port_be && f->udp.src_port != q->udp_port_be)
		return DROP_PORT;
	if (m->data_len < sizeof(*f))
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
	rte_be32_t peer = request ? q->rx_flow[s->flow].addr : q->tx_flow[s->flow].addr;
	if (peer != f->ip.src_addr || s->port != (request ? f->udp.src_port : f->udp.dst_port))
		return DROP_STREAM;
	return DROP_MALFORMED; // its length or its checksum
}

static enum drop_reason rx_reason(const struct queue *q, const struct rte_mbuf *m,
				  const struct frame *f)
{
	uint64_t dst = 0;
	if (m->data_len < sizeof(f->eth))
		return DROP_MALFORMED;
	memcpy(&dst, &f->eth.dst_addr, RTE_ETHER_ADDR_LEN);
	bool to_us = dst == q->mac48;
	if (f->eth.ether_type == RTE_BE16(RTE_ETHER_TYPE_ARP) &&
	    (to_us || rte_is_broadcast_ether_addr(&f->eth.dst_addr)))
		return m->data_len >= sizeof(f->eth) + sizeof(struct rte_arp_hdr) ? DROP_REASONS
										  : DROP_MALFORMED;
	if (!to_us || f->eth.ether_type != RTE_BE16(RTE_ETHER_TYPE_IPV4))
		return DROP_L2;
	return rx_ip_reason(q, m, f);
}

bool rx_trim(struct rte_mbuf *m, uint16_t len)
{
	if (m->nb_segs != 1 || m->data_len <= len)
		return false;
	m->data_len = len;
	m->pkt_len = len;
	return true;
}

void rx_other(struct queue *q, struct rte_mbuf *m)
{
	enum drop_reason r = rx_reason(q, m, rte_pktmbuf_mtod(m, const struct frame *));
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
	       memcmp(q->rx_flow[s->flow].reply, none, sizeof(none)) != 0;
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
