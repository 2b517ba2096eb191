// Frames on their way to the PMD: what tx_burst does not take stays here, in order, and goes with
// the next turn. Nothing is dropped silently: what finds no room is counted by the caller.
#pragma once

#include "queue.h"

#include <rte_cycles.h>
#include <rte_ethdev.h>

#include <string.h>

static inline uint32_t out_room(const struct queue *q)
{
	return QUEUE_OUT - q->out_count;
}

// Where the next burst of frames goes; out_add takes in the first n of it. The caller has checked
// out_room. Frames lie in one piece: from the start again whenever all have gone.
static inline struct rte_mbuf **out_tail(struct queue *q)
{
	if (q->out_count == 0) {
		q->out_head = 0;
	} else if (unlikely(q->out_head + q->out_count > OUT_SLOTS - BURST_MAX)) {
		memmove(q->out, q->out + q->out_head, q->out_count * sizeof(*q->out));
		q->out_head = 0;
	}
	return &q->out[q->out_head + q->out_count];
}

static inline void out_add(struct queue *q, uint32_t n)
{
	q->out_count += n;
}

static inline bool out_is_request(const struct queue *q, const struct rte_mbuf *m)
{
	return m->pool == q->tx_pool;
}

// RFC 1624 equation 3 over whole sums: field' = ~(~field + ~old + new).
static inline uint16_t csum_update(uint16_t field, uint64_t old_sum, uint64_t new_sum)
{
	if (field == 0) // sent without one (RFC 768)
		return 0;
	uint64_t old_fold = csum_fold(old_sum);
	return csum_udp((uint64_t)(uint16_t)~field + (uint16_t)~old_fold + new_sum);
}

static inline uint64_t tsc_sum(const struct pmx_hdr *h)
{
	return (uint64_t)h->tsc[0] + h->tsc[1] + h->tsc[2];
}

static inline void tsc_put(struct pmx_hdr *h, uint64_t tsc)
{
	h->tsc[0] = rte_cpu_to_be_16((uint16_t)(tsc >> 32));
	h->tsc[1] = rte_cpu_to_be_16((uint16_t)(tsc >> 16));
	h->tsc[2] = rte_cpu_to_be_16((uint16_t)tsc);
}

// Requests that had to wait get the instant of the new try: the wait is ours, not the network's.
static inline void out_restamp(struct queue *q, uint32_t count)
{
	uint64_t now = rte_rdtsc();
	for (uint32_t i = 0; i < count; i++) {
		struct rte_mbuf *m = q->out[q->out_head + i];
		if (!out_is_request(q, m))
			continue;
		struct frame *f = queue_frame(q, m);
		uint64_t old_sum = tsc_sum(&f->pmx);
		tsc_put(&f->pmx, now);
		if (!q->csum_hw || m->pkt_len != m->data_len) // no NIC sums up fragments
			f->udp.dgram_cksum =
				csum_update(f->udp.dgram_cksum, old_sum, tsc_sum(&f->pmx));
	}
}

// Offers all that waits; returns how many the PMD took.
static inline uint32_t out_flush(struct queue *q)
{
	uint32_t taken = 0;
	while (q->out_count > 0) {
		uint32_t chunk = q->out_count < q->burst ? q->out_count : q->burst;
		if (unlikely(q->out_old > 0))
			out_restamp(q, q->out_old < chunk ? q->out_old : chunk);
		uint32_t n =
			rte_eth_tx_burst(q->port, q->id, &q->out[q->out_head], (uint16_t)chunk);
		q->out_head += n;
		q->out_count -= n;
		q->out_old = q->out_old > n ? q->out_old - n : 0;
		taken += n;
		if (n < chunk) {
			q->total.tx_full++;
			break;
		}
	}
	q->out_old = q->out_count;
	return taken;
}
