// Two real queues whose frames are not plain, mbufs carried between them by hand; for unit tests.
#pragma once

#include "queue.h"
#include "rx.h"
#include "trial.h"
#include "tx.h"

#include "testlib.h"

#include <rte_eal.h>

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PORT 5300
#define STREAMS 3u
#define ROUNDS 8u

static uint32_t sources; // that end 0 asks from; 0 = its own address alone

static const struct rte_ether_addr mac[2] = { { { 2, 0, 0, 0, 0, 1 } }, { { 2, 0, 0, 0, 0, 2 } } };

struct form {
	bool v6;
	size_t tags;
	uint32_t request, reply;
	const struct size_mix *mix; // [2] of requests and replies, or NULL
};

struct end {
	struct hostcfg cfg;
	struct agent_shared shared;
	struct flow_tx tx;
	struct flow_rx rx;
	struct queue *q;
};

static inline struct ip_addr addr_of(bool v6, unsigned host)
{
	struct ip_addr a;
	char text[IP_STR_MAX];
	snprintf(text, sizeof(text), v6 ? "2001:2::%x" : "198.18.0.%u", host + 1);
	assert_int_equal(parse_ip(text, &a, NULL), 0);
	return a;
}

static inline struct ip_addr first_source(bool v6)
{
	struct ip_addr a = addr_of(v6, 0);
	a.b[14] = 0x77;
	a.b[15] = 0xff;		    // the next one carries
	a.b[10] = v6 ? 5 : a.b[10]; // what is before the last 32 bits differs, too
	return a;
}

// End 0 asks, end 1 answers.
static inline struct end *end_make(const struct form *f, unsigned host, uint16_t id)
{
	struct end *n = calloc(1, sizeof(*n));
	struct err e = { 0 };
	assert_non_null(n);
	n->tx = (struct flow_tx){ .peer = "b",
				  .peer_addr = addr_of(f->v6, 1),
				  .req_bytes = f->request,
				  .rep_bytes = f->reply,
				  .dscp = 46,
				  .rate_pps = 1000,
				  .streams = STREAMS,
				  .sport_first = 50000,
				  .peer_rx_first = 70000 };
	n->rx = (struct flow_rx){ .peer = "a",
				  .peer_addr = addr_of(f->v6, 0),
				  .req_bytes = f->request,
				  .rep_bytes = f->reply,
				  .dscp = 46,
				  .streams = STREAMS,
				  .sport_first = 50000,
				  .rx_first = 0,
				  .peer_tx_first = 0 };
	n->tx.peer_rx_first = 0;
	n->cfg = (struct hostcfg){ .cookie = 0xabcd,
				   .host_count = 2,
				   .addr = addr_of(f->v6, host),
				   .prefix_len = 24,
				   .vlan = { 200, 100 },
				   .vlan_count = f->tags,
				   .pcp = 5,
				   .ttl = 61,
				   .udp_port = PORT,
				   .duration_ns = 1000000000,
				   .drain_ns = 1000000000,
				   .tx = &n->tx,
				   .tx_count = host == 0,
				   .rx = &n->rx,
				   .rx_count = host == 1 };
	if (f->tags == 1)
		n->cfg.vlan[0] = 100;
	if (sources > 0) {
		n->rx.peer_addr = first_source(f->v6);
		n->rx.peer_sources = sources;
	}
	if (sources > 0 && host == 0) {
		n->cfg.src_addr = first_source(f->v6);
		n->cfg.src_count = sources;
	}
	if (f->mix != NULL) {
		n->cfg.mix = (struct size_mix *)(uintptr_t)f->mix;
		n->cfg.mix_count = 2;
		n->tx.req_mix = n->rx.req_mix = 1;
		n->tx.rep_mix = n->rx.rep_mix = 2;
	}
	n->cfg.port.queues = 1;
	n->cfg.port.burst = 32;
	n->q = queue_create(
		&(struct queue_env){ .cfg = &n->cfg,
				     .shared = &n->shared,
				     .rxd = 64,
				     .txd = 64,
				     .data_room = f->request + f->reply > 3000 ? 10240 : 2176,
				     .mac = mac[host] },
		id, &e);
	assert_non_null(n->q);
	n->q->id = 0;
	n->shared.queue[0] = n->q;
	queue_arm(n->q, &n->cfg, 0, 1e9);
	return n;
}

static inline void end_drop(struct end *n)
{
	queue_destroy(n->q);
	free(n);
}

static inline void meet(struct end *a, struct end *b)
{
	uint64_t to[2] = { 0, 0 };
	_Atomic uint64_t tx_mac, rx_mac;
	memcpy(&to[0], &mac[0], sizeof(mac[0]));
	memcpy(&to[1], &mac[1], sizeof(mac[1]));
	atomic_init(&tx_mac, to[1]);
	atomic_init(&rx_mac, to[0]);
	a->shared.tx_mac = &tx_mac;
	b->shared.rx_mac = &rx_mac;
	queue_take_macs(a->q);
	queue_take_macs(b->q);
}

static inline uint64_t drops(const struct queue *q)
{
	uint64_t n = 0;
	for (int i = 0; i < DROP_REASONS; i++)
		n += q->drop[i];
	return n;
}

static inline void give(struct queue *q, struct rte_mbuf *m)
{
	q->in[0] = m;
	rx_take(q, 1, 5000, q->plain);
	rx_release(q);
}

static inline struct rte_mbuf *take_out(struct queue *q)
{
	if (q->out_count == 0)
		return NULL;
	q->out_count--;
	return q->out[q->out_head++];
}

static inline bool checksums_good(const struct form *f, const struct rte_mbuf *m)
{
	static uint8_t copy[10240];
	size_t l3 = 14 + 4 * f->tags;
	memcpy(copy, rte_pktmbuf_mtod(m, void *), m->data_len);
	void *ip = copy + l3;
	struct rte_udp_hdr *udp = (void *)(copy + l3 + (f->v6 ? 40 : 20));
	uint16_t given = udp->dgram_cksum;
	udp->dgram_cksum = 0;
	uint16_t want = f->v6 ? rte_ipv6_udptcp_cksum(ip, udp) : rte_ipv4_udptcp_cksum(ip, udp);
	return given == want && given != 0 && (f->v6 || rte_raw_cksum(ip, 20) == 0xffff);
}

static inline uint16_t be16(const struct rte_mbuf *m, size_t at)
{
	const uint8_t *d = rte_pktmbuf_mtod(m, const uint8_t *);
	return (uint16_t)(d[at] << 8 | d[at + 1]);
}

// What stands before UDP, by an account of its own.
static inline void check_head(const struct form *f, const struct rte_mbuf *m, uint32_t payload)
{
	size_t l3 = 14 + 4 * f->tags, udp = l3 + (f->v6 ? 40 : 20);
	const uint8_t *d = rte_pktmbuf_mtod(m, const uint8_t *);
	if (f->tags == 2) {
		assert_int_equal(be16(m, 12), 0x88a8);
		assert_int_equal(be16(m, 14), 5 << 13 | 200);
	}
	if (f->tags > 0) {
		assert_int_equal(be16(m, l3 - 6), 0x8100);
		assert_int_equal(be16(m, l3 - 4), 5 << 13 | 100);
	}
	assert_int_equal(be16(m, l3 - 2), f->v6 ? 0x86dd : 0x0800);
	assert_int_equal(f->v6 ? be16(m, l3) >> 4 & 0xff : d[l3 + 1], 46 << 2);
	assert_int_equal(f->v6 ? d[l3 + 7] : d[l3 + 8], 61);
	assert_int_equal(be16(m, f->v6 ? l3 + 4 : l3 + 2), payload + (f->v6 ? 8 : 28));
	assert_int_equal(be16(m, udp + 4), payload + 8);
	uint32_t want = (uint32_t)udp + 8 + payload;
	assert_int_equal(m->pkt_len, want < 60 ? 60 : want);
	assert_int_equal(m->data_len, m->pkt_len);
	assert_true(checksums_good(f, m));
}

static inline struct rte_mbuf *ask(struct end *a, uint32_t stream)
{
	struct rte_mbuf *m = rte_pktmbuf_alloc(a->q->tx_pool);
	assert_non_null(m);
	tx_build_at(a->q, stream, m, 1000 + stream, false, a->q->plain);
	return m;
}

// From the sender's pool into the receiver's, as a wire does.
static inline struct rte_mbuf *carry(struct end *to, struct rte_mbuf *m)
{
	struct rte_mbuf *c = rte_pktmbuf_alloc(to->q->rx_pool);
	assert_non_null(c);
	memcpy(rte_pktmbuf_append(c, m->data_len), rte_pktmbuf_mtod(m, void *), m->data_len);
	rte_pktmbuf_free(m);
	return c;
}

static inline void exchange(const struct form *f)
{
	struct end *a = end_make(f, 0, 0), *b = end_make(f, 1, 1);
	meet(a, b);
	trial_step(a->q, 0);
	for (uint32_t i = 0; i < ROUNDS * STREAMS; i++) {
		struct rte_mbuf *m = ask(a, i % STREAMS);
		check_head(f, m, f->request);
		give(b->q, carry(b, m));
		m = take_out(b->q);
		if (m == NULL)
			fail_msg("v6 %d, %zu tags, %u to %u: no reply to %u, %lu drops", f->v6,
				 f->tags, f->request, f->reply, i, drops(b->q));
		check_head(f, m, f->reply);
		give(a->q, carry(a, m));
	}
	assert_int_equal(drops(a->q) + drops(b->q), 0);
	uint64_t back = 0, there = 0;
	for (uint32_t i = 0; i < STREAMS; i++) {
		back += a->q->reply[i].recv;
		there += b->q->request[i].recv;
	}
	assert_int_equal(back, ROUNDS * STREAMS);
	assert_int_equal(there, ROUNDS * STREAMS);
	assert_int_equal(a->q->tx_flow[0].ttl.min, 61);
	assert_int_equal(a->q->tx_flow[0].ttl.max, 61);
	assert_int_equal(b->q->rx_flow[0].ttl.max, 61);
	end_drop(a);
	end_drop(b);
}

static inline void every_layout_and_size(void **state)
{
	static const uint32_t size[] = { 18, 19, 64, 511, 1472, 8952 };
	(void)state;
	for (int v6 = 0; v6 < 2; v6++)
		for (size_t tags = 0; tags < 3; tags++)
			for (size_t i = 0; i < COUNT_OF(size); i++)
				for (size_t j = 0; j < COUNT_OF(size); j++)
					exchange(
						&(struct form){ v6, tags, size[i], size[j], NULL });
}

// Offsets whose bits may be anything: source MAC, priority, TOS or class and label, identification,
// TTL, checksums, and what is behind the kind.
static inline bool may_differ(const struct form *f, size_t at, uint8_t flip)
{
	size_t l3 = 14 + 4 * f->tags, udp = l3 + (f->v6 ? 40 : 20);
	for (size_t tag = 14; tag < l3; tag += 4)
		if (at == tag && flip >= 0x10)
			return true;
	if (at >= udp + 8)
		return at >= udp + 11;
	if (at >= udp)
		return at == udp + 6 || at == udp + 7;
	if (at < l3)
		return at >= 6 && at < 12;
	at -= l3;
	if (f->v6)
		return (at == 0 && flip < 0x10) || (at >= 1 && at < 4) || at == 7;
	return at == 1 || at == 4 || at == 5 || (at == 6 && flip == 0x40) || at == 8 || at == 10 ||
	       at == 11;
}

static inline uint64_t punted(struct queue *q)
{
	void *m;
	uint64_t n = 0;
	for (; rte_ring_dequeue(q->punt, &m) == 0; n++)
		rte_pktmbuf_free(m);
	return n;
}

static inline void one_wrong_bit_is_refused(void **state)
{
	(void)state;
	for (int v6 = 0; v6 < 2; v6++)
		for (size_t tags = 0; tags < 3; tags++) {
			struct form f = { v6, tags, 64, 64, NULL };
			struct end *a = end_make(&f, 0, 0), *b = end_make(&f, 1, 1);
			uint64_t refused = 0;
			meet(a, b);
			for (size_t bit = 0; bit < 8 * (a->q->at.pmx + 11u); bit++) {
				uint8_t flip = (uint8_t)(1 << bit % 8);
				if (may_differ(&f, bit / 8, flip))
					continue;
				struct rte_mbuf *m = carry(b, ask(a, 1));
				rte_pktmbuf_mtod(m, uint8_t *)[bit / 8] ^= flip;
				give(b->q, m);
				refused += 1;
				if (take_out(b->q) != NULL || drops(b->q) + punted(b->q) != refused)
					fail_msg("v6 %d, %zu tags, byte %zu, bit %#x was taken", v6,
						 tags, bit / 8, flip);
				refused = drops(b->q);
			}
			end_drop(a);
			end_drop(b);
		}
}
