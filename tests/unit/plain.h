// Plain frames made by hand, as a peer's agent would send them.
#pragma once

#include "out.h"

#include "testlib.h"

#include <string.h>

static inline bool checksums_good(struct frame *f)
{
	uint16_t ip = f->ip.hdr_checksum, udp = f->udp.dgram_cksum;
	f->ip.hdr_checksum = 0;
	f->udp.dgram_cksum = 0;
	bool good = rte_ipv4_cksum(&f->ip) == ip && rte_ipv4_udptcp_cksum(&f->ip, &f->udp) == udp;
	f->ip.hdr_checksum = ip;
	f->udp.dgram_cksum = udp;
	return good;
}

// Out of q's receive pool.
static inline struct rte_mbuf *mbuf_made(struct queue *q, const struct frame_spec *s, uint8_t trial,
					 uint32_t seq, uint64_t tsc)
{
	struct rte_mbuf *m = rte_pktmbuf_alloc(q->rx_pool);
	assert_non_null(m);
	char *d = rte_pktmbuf_append(m, frame_len(s->payload_bytes));
	struct frame *f = (struct frame *)(void *)d;
	memset(d, 0, m->data_len);
	frame_build(f, s);
	f->pmx.trial = trial;
	f->pmx.seq[0] = rte_cpu_to_be_16((uint16_t)(seq >> 16));
	f->pmx.seq[1] = rte_cpu_to_be_16((uint16_t)seq);
	tsc_put(&f->pmx, tsc);
	f->udp.dgram_cksum = rte_ipv4_udptcp_cksum(&f->ip, &f->udp);
	return m;
}
