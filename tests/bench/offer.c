#include "offer.h"

#include <rte_cycles.h>
#include <rte_ethdev.h>

#include <stdlib.h>

#define AGE_TSC 20000
#define AGE_SPREAD 0x7fff
#define INTERRUPTED_TSC 20000 // a burst is written in a tenth of it

static uint16_t sum_fold_words(const void *data, size_t words)
{
	const uint16_t *w = data;
	uint64_t sum = 0;
	for (size_t i = 0; i < words; i++)
		sum += w[i];
	return csum_fold(sum);
}

static void write_frame(struct offer *o, struct offer_frame *s, struct rte_mbuf *m, uint64_t now)
{
	struct frame *f = rte_pktmbuf_mtod(m, struct frame *);
	uint64_t tsc = now - o->age_tsc - ((uint32_t)(o->frames++ * 2654435761u) & o->spread);
	*f = s->frame;
	f->pmx.seq[0] = rte_cpu_to_be_16((uint16_t)(s->seq >> 16));
	f->pmx.seq[1] = rte_cpu_to_be_16((uint16_t)s->seq);
	f->pmx.tsc[0] = rte_cpu_to_be_16((uint16_t)(tsc >> 32));
	f->pmx.tsc[1] = rte_cpu_to_be_16((uint16_t)(tsc >> 16));
	f->pmx.tsc[2] = rte_cpu_to_be_16((uint16_t)tsc);
	// the template's field holds the folded sum of all that does not change
	f->udp.dgram_cksum = csum_udp((uint64_t)f->udp.dgram_cksum + f->pmx.seq[0] + f->pmx.seq[1] +
				      f->pmx.tsc[0] + f->pmx.tsc[1] + f->pmx.tsc[2]);
	s->seq++;
	m->data_len = o->frame_len;
	m->pkt_len = o->frame_len;
}

static uint16_t write_burst(uint16_t port, uint16_t queue, struct rte_mbuf *m[], uint16_t n,
			    uint16_t max, void *arg)
{
	struct offer *o = arg;
	(void)port, (void)queue, (void)max;
	uint64_t begin = rte_rdtsc();
	uint32_t cursor = o->cursor;
	for (uint16_t i = 0; i < n; i++) {
		write_frame(o, &o->stream[cursor], m[i], begin);
		if (++cursor == o->count)
			cursor = 0;
	}
	o->cursor = cursor;
	o->begin = begin;
	o->end = rte_rdtsc();
	if (o->end - begin < INTERRUPTED_TSC)
		o->last = o->end - begin;
	o->tsc += o->last;
	return n;
}

static void add_stream(struct offer *o, const struct frame_spec *spec)
{
	struct frame *f = &o->stream[o->count++].frame;
	frame_build(f, spec);
	f->udp.dgram_cksum = csum_fold((uint64_t)sum_fold_words(&f->ip.src_addr, 4) +
				       RTE_BE16(IPPROTO_UDP) + f->udp.dgram_len +
				       sum_fold_words(&f->udp, 3) + sum_fold_words(&f->pmx, 9));
}

static void add_streams(struct offer *o, const struct queue *q, const struct hostcfg *cfg,
			struct rte_ether_addr mac, bool replies)
{
	struct frame_spec s = {
		.src_mac = { .addr_bytes = { 2, 0, 0, 0, 0, 1 } },
		.dst_mac = mac,
		.dst = cfg->addr,
		.cookie = cfg->cookie,
		.kind = replies ? PMX_REPLY : PMX_REQUEST,
	};
	for (size_t i = 0; replies && i < cfg->tx_count; i++) {
		const struct flow_tx *f = &cfg->tx[i];
		s.src = f->peer_addr;
		s.sport = cfg->udp_port;
		s.payload_bytes = f->rep_bytes;
		o->frame_len = frame_len(f->rep_bytes);
		for (uint32_t k = 0; k < f->streams; k++) {
			s.dport = (uint16_t)(f->sport_first + k);
			s.stream = f->tx_first + k;
			if (s.stream % cfg->port.queues == q->id)
				add_stream(o, &s);
		}
	}
	for (size_t i = 0; !replies && i < cfg->rx_count; i++) {
		const struct flow_rx *f = &cfg->rx[i];
		s.src = f->peer_addr;
		s.dport = cfg->udp_port;
		s.payload_bytes = f->req_bytes;
		o->frame_len = frame_len(f->req_bytes);
		for (uint32_t k = 0; k < f->streams; k++) {
			s.sport = (uint16_t)(f->sport_first + k);
			s.stream = f->rx_first + k;
			if (s.stream % cfg->port.queues == q->id)
				add_stream(o, &s);
		}
	}
}

struct offer *offer_open(const struct queue *q, const struct hostcfg *cfg,
			 struct rte_ether_addr mac, bool replies)
{
	size_t streams = replies ? q->tx_stream_all : q->rx_stream_count;
	struct offer *o = aligned_alloc(64, (sizeof(*o) + 63) / 64 * 64);
	if (o == NULL)
		return NULL;
	*o = (struct offer){
		.stream = aligned_alloc(64, streams * sizeof(*o->stream)),
		.age_tsc = AGE_TSC,
		.spread = AGE_SPREAD,
	};
	if (o->stream == NULL) {
		free(o);
		return NULL;
	}
	memset(o->stream, 0, streams * sizeof(*o->stream));
	add_streams(o, q, cfg, mac, replies);
	rte_eth_add_rx_callback(q->port, q->id, write_burst, o);
	return o;
}

void offer_close(struct offer *o)
{
	if (o == NULL)
		return;
	free(o->stream);
	free(o);
}
