// Requests: streams that are due, built from their templates into one burst.
#pragma once

#include "arrival.h"
#include "clock.h"
#include "out.h"
#include "queue.h"
#include "rx_any.h"

#define UDP_CSUM_AT offsetof(struct frame, udp.dgram_cksum)

// Checksum over what does not change, folded.
static inline uint16_t tx_sum(const struct tx_stream *s)
{
	uint16_t sum;
	memcpy(&sum, s->head + UDP_CSUM_AT, sizeof(sum));
	return sum;
}

// Writes one request into m, sent at `tsc`. A lone one is copied by the PMD at once: its stores lie
// as the copy of 60 bytes loads them (16 at 28 and at 44), so that what was just stored can be
// passed on and is not waited for. In a burst there is time, and fewer instructions are faster.
static inline void tx_build(const struct queue *q, struct tx_stream *s, struct rte_mbuf *m,
			    uint64_t tsc, bool lone)
{
	uint8_t *d = rte_pktmbuf_mtod(m, uint8_t *);
	uint64_t seq = rte_cpu_to_be_32((uint32_t)s->seq++);
	uint64_t tsc_be = rte_cpu_to_be_64(tsc) >> 16; // 48 bits
	uint64_t tail = s->stream_lo | seq << 16 | tsc_be << 48;
	uint16_t csum = tx_sum(s);
	if (q->csum_hw) {
		m->ol_flags |= RTE_MBUF_F_TX_IPV4 | RTE_MBUF_F_TX_UDP_CKSUM;
		m->l2_len = sizeof(struct rte_ether_hdr);
		m->l3_len = sizeof(struct rte_ipv4_hdr);
	} else {
		csum = csum_udp((uint64_t)csum + (uint32_t)tail + (tail >> 32) + (tsc_be >> 16));
	}
	if (lone) {
		uint64_t ports = load64(s->head + 36) & ~(0xffffULL << 32);
		memcpy(d, s->head, 32);
		store_pair(d + 28, load64(s->head + 28), ports | (uint64_t)csum << 32);
		store_pair(d + 44, load32(s->head + 44) | tail << 32,
			   tail >> 32 | tsc_be >> 16 << 32);
	} else {
		uint32_t tsc_lo = (uint32_t)(tsc_be >> 16);
		memcpy(d, s->head, sizeof(s->head));
		memcpy(d + 48, &tail, sizeof(tail));
		memcpy(d + 56, &tsc_lo, sizeof(tsc_lo));
		memcpy(d + UDP_CSUM_AT, &csum, sizeof(csum));
	}
	m->data_len = s->frame_len;
	m->pkt_len = s->frame_len;
}

// The same of any layout and size; i is the stream's place.
static inline void tx_build_any(const struct queue *q, uint32_t i, struct rte_mbuf *m, uint64_t tsc)
{
	struct tx_stream *s = &q->tx[i];
	const struct head *h = &q->any.tx[i];
	const struct sizes *sizes = &q->any.tx_flow[s->flow].request_sizes;
	uint32_t seq = (uint32_t)s->seq++, seq_be = rte_cpu_to_be_32(seq);
	const struct size *size = &sizes->size[0];
	if (sizes->turn != NULL)
		size = &sizes->size[size_index(sizes, seq + queue_tx_index(q, i))];
	uint8_t *d = rte_pktmbuf_mtod(m, uint8_t *);
	struct frame *f = queue_frame(q, m);
	memcpy(d, h, sizeof(*h)); // behind the header it has zeros, as the payload
	any_put_lens(d, &q->at, size, 0);
	f->udp.dgram_len = size->udp_len;
	memcpy(f->pmx.seq, &seq_be, sizeof(seq_be));
	tsc_put(&f->pmx, tsc);
	if (q->csum_hw) {
		any_ask_nic(m, &q->at, d, size);
	} else {
		f->udp.dgram_cksum = csum_udp((uint64_t)f->udp.dgram_cksum + 2u * size->udp_len +
					      seq_be + tsc_sum(&f->pmx));
	}
	m->data_len = size->mbuf_len;
	m->pkt_len = size->frame_len;
}

static inline void tx_build_at(const struct queue *q, uint32_t i, struct rte_mbuf *m, uint64_t tsc,
			       bool lone, bool plain)
{
	if (plain)
		tx_build(q, &q->tx[i], m, tsc, lone);
	else
		tx_build_any(q, i, m, tsc);
}

// The send instant of packet i of a burst: the burst's, or its own. For its own the clock is read
// with every second packet: the other is built within some 6 ns, less than a step of the clock (10
// ns where it was measured), and a reading costs as much as two packets.
static inline uint64_t tx_stamp(const struct queue *q, uint64_t *now, uint32_t i)
{
	if (unlikely(q->stamp_each) && (i & 1) == 0)
		*now = rte_rdtsc();
	return *now;
}

// One burst of a group with an arrival, which also says whose turn it is. Out of the way of all
// others.
static __rte_unused __rte_noinline uint32_t tx_arrivals(struct queue *q, struct pace_group *g,
							uint64_t now, uint32_t room, bool plain)
{
	struct rte_mbuf **m = out_tail(q);
	struct pace_group before = *g;
	struct arrival arrival = *g->arrival;
	uint32_t stream[BURST_MAX];
	uint32_t n = arrival_take(&q->pace, g, now, room, stream);
	if (unlikely(rte_mempool_get_bulk(q->tx_pool, (void **)m, n) != 0)) {
		*g->arrival = arrival;
		*g = before;
		q->drop[DROP_NOMBUF] += n;
		return 0;
	}
	for (uint32_t i = 0; i < n; i++) {
		tx_build_at(q, stream[i], m[i], tx_stamp(q, &now, i), false, plain);
		m[i]->hash.usr = stream[i];
	}
	out_add(q, n);
	hist_record_n(q->trial[q->current].lateness, tsc_scale_ns(now - before.due.tsc, q->ns_mult),
		      n);
	return n;
}

// One burst of group g. Returns the number of requests, 0 when there is no mbuf: they stay due.
static inline uint32_t tx_group(struct queue *q, struct pace_group *g, uint64_t now, uint32_t room,
				bool plain)
{
	struct pace_time due = g->due;
	uint64_t gate = g->gate;
	bool even = pace_even(g);
	uint32_t n;
	if (even)
		n = pace_take_even(&q->pace, g, now, room);
	else if (g->arrival == NULL)
		n = pace_take_unpaced(g, now, room);
	else
		return tx_arrivals(q, g, now, room, plain);
	struct rte_mbuf **m = out_tail(q);
	if (unlikely(rte_mempool_get_bulk(q->tx_pool, (void **)m, n) != 0)) {
		g->due = due;
		g->gate = gate;
		q->drop[DROP_NOMBUF] += n;
		return 0;
	}
	uint32_t stream = g->first + g->cursor, end = g->first + g->count;
	for (uint32_t i = 0; i < n; i++) {
		tx_build_at(q, stream, m[i], tx_stamp(q, &now, i), false, plain);
		m[i]->hash.usr = stream;
		stream = stream + 1 < end ? stream + 1 : g->first;
	}
	g->cursor = stream - g->first;
	out_add(q, n);
	// the oldest of the burst stands for all of it: an upper bound
	if (even) {
		struct hist *h = q->trial[q->current].lateness;
		hist_record_n(h, tsc_scale_ns(now - due.tsc, q->ns_mult), n);
	}
	return n;
}

// Requests that a place in a window allows. A credit is spent by the pair's next stream.
static inline uint32_t tx_windowed(struct queue *q, uint64_t now, uint32_t room, bool plain)
{
	struct rte_mbuf **m = out_tail(q);
	uint32_t n = window_credits(&q->window);
	n = n < room ? n : room;
	if (n == 0)
		return 0;
	if (unlikely(rte_mempool_get_bulk(q->tx_pool, (void **)m, n) != 0)) {
		q->drop[DROP_NOMBUF] += n;
		return 0;
	}
	for (uint32_t i = 0; i < n; i++) {
		uint32_t stream = window_spend(&q->window);
		tx_build_at(q, stream, m[i], tx_stamp(q, &now, i), n == 1, plain);
		m[i]->hash.usr = stream;
	}
	out_add(q, n);
	return n;
}

// What may go at `now`, up to a burst. plain: that of the queue, known to the compiler.
static inline uint32_t tx_due(struct queue *q, uint64_t now, bool plain)
{
	uint32_t sent = 0;
	while (q->out_count < q->burst) {
		struct pace_group *g = pace_top(&q->pace, now);
		if (g == NULL)
			break;
		uint32_t n = tx_group(q, g, now, q->burst - q->out_count, plain);
		if (n == 0)
			break;
		sent += n;
		pace_sift_down(&q->pace);
	}
	if (q->window.group_count > 0 && q->out_count < q->burst && now < q->pace.end)
		sent += tx_windowed(q, now, q->burst - q->out_count, plain);
	if (sent > 0) {
		q->total.requests_sent += sent;
		q->lone[PMX_REPLY].next = NULL;
		if (unlikely(q->first_tx == 0))
			q->first_tx = now;
	}
	return sent;
}
