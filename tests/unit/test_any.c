// Requests and replies of every layout between two real queues, mbufs carried by hand: every
// checksum and length right, every packet accounted for, and nothing else let in.
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

static struct ip_addr addr_of(bool v6, unsigned host)
{
	struct ip_addr a;
	char text[IP_STR_MAX];
	snprintf(text, sizeof(text), v6 ? "2001:2::%x" : "198.18.0.%u", host + 1);
	assert_int_equal(parse_ip(text, &a, NULL), 0);
	return a;
}

// End 0 asks, end 1 answers.
static struct end *end_make(const struct form *f, unsigned host, uint16_t id)
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

static void end_drop(struct end *n)
{
	queue_destroy(n->q);
	free(n);
}

static void meet(struct end *a, struct end *b)
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

static uint64_t drops(const struct queue *q)
{
	uint64_t n = 0;
	for (int i = 0; i < DROP_REASONS; i++)
		n += q->drop[i];
	return n;
}

static void give(struct queue *q, struct rte_mbuf *m)
{
	q->in[0] = m;
	rx_take(q, 1, 5000, q->plain);
	rx_release(q);
}

static struct rte_mbuf *take_out(struct queue *q)
{
	if (q->out_count == 0)
		return NULL;
	q->out_count--;
	return q->out[q->out_head++];
}

static bool checksums_good(const struct form *f, const struct rte_mbuf *m)
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

static uint16_t be16(const struct rte_mbuf *m, size_t at)
{
	const uint8_t *d = rte_pktmbuf_mtod(m, const uint8_t *);
	return (uint16_t)(d[at] << 8 | d[at + 1]);
}

// What stands before UDP, by an account of its own.
static void check_head(const struct form *f, const struct rte_mbuf *m, uint32_t payload)
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

static struct rte_mbuf *ask(struct end *a, uint32_t stream)
{
	struct rte_mbuf *m = rte_pktmbuf_alloc(a->q->tx_pool);
	assert_non_null(m);
	tx_build_at(a->q, stream, m, 1000 + stream, false, a->q->plain);
	return m;
}

// From the sender's pool into the receiver's, as a wire does.
static struct rte_mbuf *carry(struct end *to, struct rte_mbuf *m)
{
	struct rte_mbuf *c = rte_pktmbuf_alloc(to->q->rx_pool);
	assert_non_null(c);
	memcpy(rte_pktmbuf_append(c, m->data_len), rte_pktmbuf_mtod(m, void *), m->data_len);
	rte_pktmbuf_free(m);
	return c;
}

static void exchange(const struct form *f)
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

static void every_layout_and_size(void **state)
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
static bool may_differ(const struct form *f, size_t at, uint8_t flip)
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

static uint64_t punted(struct queue *q)
{
	void *m;
	uint64_t n = 0;
	for (; rte_ring_dequeue(q->punt, &m) == 0; n++)
		rte_pktmbuf_free(m);
	return n;
}

static void one_wrong_bit_is_refused(void **state)
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

// The tag stands beside the frame when the driver took it out.
static void a_stripped_tag_is_put_back(void **state)
{
	struct form f = { false, 1, 18, 18, NULL }, plain = { false, 0, 18, 18, NULL };
	struct end *a = end_make(&plain, 0, 0), *b = end_make(&f, 1, 1),
		   *c = end_make(&plain, 1, 2);
	(void)state;
	meet(a, b);
	meet(a, c);
	for (uint16_t id = 99; id < 102; id++) {
		struct rte_mbuf *m = carry(b, ask(a, 0));
		m->ol_flags |= RTE_MBUF_F_RX_VLAN | RTE_MBUF_F_RX_VLAN_STRIPPED;
		m->vlan_tci = id;
		give(b->q, m);
		m = take_out(b->q);
		assert_int_equal(m != NULL, id == 100);
		rte_pktmbuf_free(m);
	}
	assert_int_equal(b->q->drop[DROP_VLAN], 2);
	end_drop(a);
	end_drop(b);
	end_drop(c);
}

// A path that changes is told, and costs no packet.
static void ttls_are_kept(void **state)
{
	static const uint8_t ttl[] = { 60, 58, 58, 59, 60, 255, 1 };
	(void)state;
	for (int v6 = 0; v6 < 2; v6++) {
		struct form f = { v6, 0, 18, 18, NULL };
		struct end *a = end_make(&f, 0, 0), *b = end_make(&f, 1, 1);
		meet(a, b);
		for (size_t i = 0; i < COUNT_OF(ttl); i++) {
			struct rte_mbuf *m = carry(b, ask(a, 0));
			rte_pktmbuf_mtod(m, uint8_t *)[a->q->at.ttl] = ttl[i];
			give(b->q, m);
			m = take_out(b->q);
			assert_non_null(m);
			rte_pktmbuf_free(m);
			if (i == 4) {
				assert_int_equal(b->q->rx_flow[0].ttl.min, 58);
				assert_int_equal(b->q->rx_flow[0].ttl.max, 60);
			}
		}
		assert_int_equal(b->q->rx_flow[0].ttl.min, 1);
		assert_int_equal(b->q->rx_flow[0].ttl.max, 255);
		end_drop(a);
		end_drop(b);
	}
}

// Nothing that a peer can send takes mbufs away, whatever its layout, length or segments.
static void mbufs_come_back(void **state)
{
	struct rng g = rng_open("hostile");
	(void)state;
	for (int form = 0; form < 6; form++) {
		struct form f = { form >= 3, form % 3, 64, 200, NULL };
		struct end *a = end_make(&f, 0, 0), *b = end_make(&f, 1, 1);
		meet(a, b);
		unsigned int free_mbufs = rte_mempool_avail_count(b->q->rx_pool);
		for (int i = 0; i < 20000; i++) {
			struct rte_mbuf *m = carry(b, ask(a, (uint32_t)rng_below(&g, STREAMS)));
			uint64_t bytes = rng_below(&g, 8);
			while (bytes-- > 0)
				rte_pktmbuf_mtod(m, uint8_t *)[rng_below(&g, a->q->at.pmx + 18u)] =
					(uint8_t)rng_next(&g);
			if (rng_below(&g, 4) == 0)
				rte_pktmbuf_trim(m, (uint16_t)rng_below(&g, m->data_len + 1u));
			if (rng_below(&g, 8) == 0) {
				m->ol_flags |= RTE_MBUF_F_RX_VLAN | RTE_MBUF_F_RX_VLAN_STRIPPED;
				m->vlan_tci = (uint16_t)rng_next(&g);
			}
			if (rng_below(&g, 8) == 0)
				rte_pktmbuf_chain(m, rte_pktmbuf_alloc(b->q->rx_pool));
			give(b->q, m);
			while ((m = take_out(b->q)) != NULL)
				rte_pktmbuf_free(m);
			punted(b->q);
		}
		assert_int_equal(rte_mempool_avail_count(b->q->rx_pool), free_mbufs);
		end_drop(a);
		end_drop(b);
	}
}

static uint32_t mix_at(const struct size_mix *m, uint32_t seq, uint32_t stream)
{
	return (uint32_t)m->cycle->v[mix_place(seq, stream, m->cycle->count)];
}

// Every packet of a mix has the size of its place, and the counters by size say as many. With
// `lose` every fifth request and every seventh reply does not come.
static void exchange_mix(bool v6, size_t tags, const struct size_mix *mix, bool lose)
{
	enum { SIZES = 8, PACKETS = 21 * STREAMS };
	struct form f = { v6, tags, mix_largest(&mix[0]), mix_largest(&mix[1]), mix };
	struct end *a = end_make(&f, 0, 0), *b = end_make(&f, 1, 1);
	struct mix_size size[2][64];
	size_t n[2] = { mix_sizes(&mix[0], size[0]), mix_sizes(&mix[1], size[1]) };
	uint64_t sent[SIZES] = { 0 }, there[SIZES] = { 0 }, back[SIZES] = { 0 };
	meet(a, b);
	atomic_store(&a->shared.armed, true);
	trial_step(a->q, 0);
	for (uint32_t i = 0; i < PACKETS; i++) {
		uint32_t seq = i / STREAMS, stream = i % STREAMS;
		uint32_t asked = mix_at(&mix[0], seq, stream), owed = mix_at(&mix[1], seq, stream);
		size_t at[2] = { mix_find(size[0], n[0], asked),
				 n[0] + mix_find(size[1], n[1], owed) };
		struct rte_mbuf *m = ask(a, stream);
		check_head(&f, m, asked);
		sent[at[0]]++;
		sent[at[1]]++;
		if (lose && i % 5 == 0) {
			rte_pktmbuf_free(m);
			continue;
		}
		give(b->q, carry(b, m));
		m = take_out(b->q);
		if (m == NULL)
			fail_msg("no reply to %u, %lu drops", i, drops(b->q));
		check_head(&f, m, owed);
		there[at[0]]++;
		there[at[1]]++;
		if (lose && i % 7 == 0) {
			rte_pktmbuf_free(m);
			continue;
		}
		give(a->q, carry(a, m));
		back[at[0]]++;
		back[at[1]]++;
	}
	assert_int_equal(drops(a->q) + drops(b->q), 0);
	assert_int_equal(a->q->any.tx_counts, n[0] + n[1]);
	a->q->out_count = b->q->out_count = 0;
	trial_step(a->q, 1000000000);
	trial_step(a->q, 3000000000);
	for (size_t i = 0; i < n[0] + n[1]; i++) {
		assert_int_equal(a->q->trial[0].tx_size[i].sent, sent[i]);
		assert_int_equal(a->q->trial[0].tx_size[i].returned, back[i]);
		assert_int_equal(b->q->trial[0].rx_size[i].delivered, there[i]);
		assert_int_equal(b->q->trial[0].rx_size[i].reply_unsent, 0);
	}
	end_drop(a);
	end_drop(b);
}

static void mixes_are_exact(void **state)
{
	static const struct mix_size imix[] = { { 18, 7 }, { 548, 4 }, { 1472, 1 } },
				     back[] = { { 1472, 2 }, { 19, 1 } }, one[] = { { 100, 1 } };
	struct size_mix mix[2] = { { mix_interleave(imix, 3) }, { mix_interleave(back, 2) } };
	struct size_mix same[2] = { mix[0], mix[0] },
			flat[2] = { mix[0], { mix_interleave(one, 1) } };
	(void)state;
	for (int v6 = 0; v6 < 2; v6++)
		for (size_t tags = 0; tags < 3; tags++)
			for (int lose = 0; lose < 2; lose++) {
				exchange_mix(v6, tags, mix, lose);
				exchange_mix(v6, tags, same, lose);
				exchange_mix(v6, tags, flat, lose);
			}
	free(mix[0].cycle);
	free(mix[1].cycle);
	free(flat[1].cycle);
}

// What the port never took was not sent, by its size neither.
static void unsent_by_size(void **state)
{
	static const struct mix_size imix[] = { { 18, 7 }, { 548, 4 }, { 1472, 1 } },
				     one[] = { { 100, 1 } };
	struct size_mix mix[2] = { { mix_interleave(imix, 3) }, { mix_interleave(one, 1) } };
	struct form f = { false, 0, 1472, 100, mix };
	struct end *a = end_make(&f, 0, 0), *b = end_make(&f, 1, 1);
	uint64_t sent = 0;
	(void)state;
	meet(a, b);
	atomic_store(&a->shared.armed, true);
	atomic_store(&b->shared.armed, true);
	trial_step(a->q, 0);
	trial_step(b->q, 0);
	for (uint32_t i = 0; i < 24; i++) {
		struct rte_mbuf *m = ask(a, i % STREAMS);
		if (i < 12) { // delivered, and the reply waits
			give(b->q, carry(b, m));
			continue;
		}
		m->hash.usr = i % STREAMS;
		*out_tail(a->q) = m;
		out_add(a->q, 1);
	}
	trial_step(a->q, 1000000000);
	trial_step(a->q, 3000000000);
	trial_step(b->q, 1000000000);
	trial_step(b->q, 3000000000);
	assert_int_equal(a->q->trial[0].tx[0].sent, 12);
	assert_int_equal(b->q->trial[0].rx[0].reply_unsent, 12);
	for (size_t i = 0; i < 3; i++) {
		const struct rx_by_size *c = &b->q->trial[0].rx_size[i];
		sent += a->q->trial[0].tx_size[i].sent;
		assert_int_equal(a->q->trial[0].tx_size[i].sent, c->delivered);
		assert_int_equal(c->reply_unsent, c->delivered);
	}
	assert_int_equal(sent, 12);
	end_drop(a);
	end_drop(b);
	free(mix[0].cycle);
	free(mix[1].cycle);
}

// The run of sequences over the end of 32 bits, against one at a time.
static void sent_by_size_is_exact(void **state)
{
	static const struct mix_size part[] = { { 18, 7 }, { 548, 4 }, { 1472, 1 } };
	struct size_mix mix = { mix_interleave(part, 3) };
	struct layout at = layout_make(false, 0);
	struct size size[3];
	uint16_t turn[12];
	struct any_flow flow = { .request_sizes = any_sizes(&at, &(struct sender){ .mtu = 1500 },
							    &mix, size, turn),
				 .reply_sizes = { .cycle = 1 },
				 .counts = { 1, 4 } };
	static const uint32_t from[] = { 0, 5, 11, UINT32_MAX - 30, UINT32_MAX };
	(void)state;
	for (size_t i = 0; i < COUNT_OF(from); i++)
		for (uint32_t n = 0; n < 100; n++) {
			struct tx_by_size c[5] = { 0 }, want[5] = { 0 };
			by_size_sent(c, &flow, from[i], n);
			for (uint32_t k = 0; k < n; k++) {
				uint32_t place = from[i] + k;
				assert_int_equal(size_index(&flow.request_sizes, place),
						 turn[place % 12]);
				want[1 + turn[place % 12]].sent++;
			}
			assert_memory_equal(c, want, sizeof(c));
		}
	free(mix.cycle);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_layout_and_size),
		cmocka_unit_test(one_wrong_bit_is_refused),
		cmocka_unit_test(a_stripped_tag_is_put_back),
		cmocka_unit_test(ttls_are_kept),
		cmocka_unit_test(mbufs_come_back),
		cmocka_unit_test(mixes_are_exact),
		cmocka_unit_test(unsent_by_size),
		cmocka_unit_test(sent_by_size_is_exact),
	};
	char dir[] = "/tmp/pmx-test-XXXXXX",
	     *argv[] = { "test_any",	   "--no-huge",	  "-m",		 "512",	  "--no-pci",
			 "--no-telemetry", "--no-shconf", "--log-level", "error", NULL };
	if (mkdtemp(dir) == NULL || setenv("RUNTIME_DIRECTORY", dir, 1) != 0 ||
	    rte_eal_init((int)COUNT_OF(argv) - 1, argv) < 0)
		return 1;
	int failed = cmocka_run_group_tests(tests, NULL, NULL);
	rte_eal_cleanup();
	char command[64];
	snprintf(command, sizeof(command), "rm -rf %s", dir);
	return system(command) != 0 || failed;
}
