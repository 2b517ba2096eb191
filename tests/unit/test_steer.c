// The ports that both ends choose, against the published vectors and against rte_thash.
#include "steer.h"

#include "testlib.h"

#include <rte_thash.h>

#include <errno.h>
#include <stdio.h>

#include <stdlib.h>
#include <string.h>

#define KEY "6d5a56da255b0ec24167253d43a38fb0d0ca2bcbae7b30b477cb2da38030f20c6a42b73bbeac01fa"
// of another NIC, and longer than a hash needs
#define OTHER_KEY                                                                                \
	"44398fb0d0ca2bcbae7b30b477cb2da38030f20c6a42b73bbeac01fa6d5a56da255b0ec24167253d43a38f" \
	"3c0f4e5a91d27b66c8e1"
#define PORT 5300

static void key_of(const char *hex, uint8_t *key)
{
	for (size_t i = 0; i < strlen(hex) / 2; i++) {
		unsigned int byte;
		assert_int_equal(sscanf(hex + 2 * i, "%2x", &byte), 1);
		key[i] = (uint8_t)byte;
	}
}

static struct ip_addr ip(const char *text)
{
	struct ip_addr a;
	assert_int_equal(parse_ip(text, &a, NULL), 0);
	return a;
}

// "Verifying the RSS Hash Calculation", Microsoft, Windows driver documentation.
static void microsofts_vectors(void **state)
{
	static const struct {
		const char *dst;
		uint16_t dport;
		const char *src;
		uint16_t sport;
		uint32_t hash;
	} t[] = {
		{ "161.142.100.80", 1766, "66.9.149.187", 2794, 0x51ccc178 },
		{ "65.69.140.83", 4739, "199.92.111.2", 14230, 0xc626b0ea },
		{ "12.22.207.184", 38024, "24.19.198.95", 12898, 0x5c2b394a },
		{ "209.142.163.6", 2217, "38.27.205.30", 48228, 0xafc7327f },
		{ "202.188.127.2", 1303, "153.39.163.191", 44251, 0x10e828a2 },
		{ "3ffe:2501:200:3::1", 1766, "3ffe:2501:200:1fff::7", 2794, 0x40207d3d },
		{ "ff02::1", 4739, "3ffe:501:8::260:97ff:fe40:efab", 14230, 0xdde51bbf },
		{ "fe80::200:f8ff:fe21:67cf", 38024, "3ffe:1900:4545:3:200:f8ff:fe21:67cf", 44251,
		  0x02d1feef },
	};
	uint8_t key[RSS_KEY_BYTES];
	(void)state;
	key_of(KEY, key);
	for (size_t i = 0; i < COUNT_OF(t); i++) {
		struct ip_addr src = ip(t[i].src), dst = ip(t[i].dst);
		assert_int_equal(steer_hash(key, &src, &dst, t[i].sport, t[i].dport), t[i].hash);
	}
}

// --- a NIC: its tuple by DPDK's own types, its table as large as it likes

struct nic {
	const char *key;
	uint16_t queues, table[512];
	uint32_t entries;
};

static struct nic nic_of(const char *key, uint16_t queues, uint32_t entries)
{
	struct nic n = { .key = key, .queues = queues, .entries = entries };
	uint32_t slots = queues > 64 ? 128 : 64;
	for (uint32_t i = 0; i < entries; i++)
		n.table[i] = (uint16_t)(i % slots % queues);
	return n;
}

static uint32_t host_word(const uint8_t *b)
{
	return (uint32_t)b[0] << 24 | (uint32_t)b[1] << 16 | (uint32_t)b[2] << 8 | b[3];
}

static uint16_t nic_queue(const struct nic *n, const struct ip_addr *src, const struct ip_addr *dst,
			  uint16_t sport, uint16_t dport)
{
	uint8_t key[RSS_KEY_HEX_MAX / 2] __attribute__((aligned(8)));
	union rte_thash_tuple t;
	key_of(n->key, key);
	memset(&t, 0, sizeof(t));
	if (ip_is4(src)) {
		t.v4.src_addr = ip4_of(src);
		t.v4.dst_addr = ip4_of(dst);
		t.v4.sport = sport;
		t.v4.dport = dport;
		return n->table[rte_softrss((uint32_t *)&t, RTE_THASH_V4_L4_LEN, key) % n->entries];
	}
	for (size_t i = 0; i < 16; i += 4) {
		uint32_t s = host_word(src->b + i), d = host_word(dst->b + i);
		memcpy(t.v6.src_addr + i, &s, sizeof(s));
		memcpy(t.v6.dst_addr + i, &d, sizeof(d));
	}
	t.v6.sport = sport;
	t.v6.dport = dport;
	return n->table[rte_softrss((uint32_t *)&t, RTE_THASH_V6_L4_LEN, key) % n->entries];
}

struct pair {
	const char *a, *b; // addresses
	struct nic an, bn;
	enum steering a_by, b_by;
	uint32_t streams, tx_first, rx_first;
	uint32_t sources; // of a, from its address on; 0 = one
};

static uint16_t queue_of(enum steering by, const struct nic *n, const struct ip_addr *src,
			 const struct ip_addr *dst, uint16_t sport, uint16_t dport)
{
	uint16_t asking = sport == PORT ? dport : sport;
	return by == STEER_RSS	   ? nic_queue(n, src, dst, sport, dport)
	       : by == STEER_RULES ? asking % n->queues
				   : UINT16_MAX;
}

static struct steer steer_of(enum steering by, const struct nic *n)
{
	struct steer s = { .by = by, .queues = n->queues };
	snprintf(s.rss_key, sizeof(s.rss_key), "%s", by == STEER_RSS ? n->key : "");
	return s;
}

static void port_of(struct hostcfg *c, const char *addr, enum steering by, const struct nic *n)
{
	struct steer s = steer_of(by, n);
	c->addr = ip(addr);
	c->udp_port = PORT;
	c->port.queues = n->queues;
	c->port.steering = by;
	memcpy(c->port.rss_key, s.rss_key, sizeof(s.rss_key));
}

static bool chosen(enum steering by)
{
	return by == STEER_RSS || by == STEER_RULES;
}

// Both ends as their host configs have it; the ports of both must agree. Owned by the caller.
static uint16_t *ports_of(const struct pair *p)
{
	struct steer as = steer_of(p->a_by, &p->an), bs = steer_of(p->b_by, &p->bn);
	struct flow_tx tx = { .peer_addr = ip(p->b),
			      .streams = p->streams,
			      .sport_first = 49152,
			      .tx_first = p->tx_first,
			      .peer_rx_first = p->rx_first,
			      .peer_steer = chosen(p->b_by) && p->bn.queues > 1 };
	struct flow_rx rx = { .peer_addr = ip(p->a),
			      .streams = p->streams,
			      .sport_first = 49152,
			      .rx_first = p->rx_first,
			      .peer_tx_first = p->tx_first,
			      .peer_sources = p->sources,
			      .peer_steer = chosen(p->a_by) && p->an.queues > 1 };
	struct hostcfg a = { .steer = &bs, .steer_count = tx.peer_steer, .tx = &tx, .tx_count = 1 };
	struct hostcfg b = { .steer = &as, .steer_count = rx.peer_steer, .rx = &rx, .rx_count = 1 };
	struct steer_table at, bt;
	struct err e = { 0 };
	port_of(&a, p->a, p->a_by, &p->an);
	port_of(&b, p->b, p->b_by, &p->bn);
	a.src_addr = p->sources > 0 ? a.addr : (struct ip_addr){ 0 };
	a.src_count = p->sources;
	assert_int_equal(steer_open(&at, &a, &e), 0);
	assert_int_equal(steer_open(&bt, &b, &e), 0);
	uint16_t *port = calloc(p->streams, sizeof(*port));
	assert_non_null(port);
	for (uint32_t s = 0; s < p->streams; s++) {
		port[s] = steer_port(at.tx, p->tx_first, 49152, s);
		assert_int_equal(steer_port(bt.rx, p->rx_first, 49152, s), port[s]);
	}
	steer_close(&at);
	steer_close(&bt);
	return port;
}

// How many streams arrive elsewhere than planned, there and back.
static void judge(const struct pair *p, const uint16_t *port, uint32_t *forward, uint32_t *back)
{
	struct ip_addr first = ip(p->a), b = ip(p->b);
	uint32_t n = p->sources > 0 ? p->sources : 1;
	bool *taken = calloc((size_t)n << 16, sizeof(*taken));
	assert_non_null(taken);
	*forward = *back = 0;
	for (uint32_t s = 0; s < p->streams; s++) {
		uint32_t from = (p->tx_first + s) % n;
		struct ip_addr a = source_addr(&first, n, from);
		assert_true(port[s] >= 49152 && !taken[from << 16 | port[s]]);
		taken[from << 16 | port[s]] = true;
		*forward += queue_of(p->b_by, &p->bn, &a, &b, port[s], PORT) !=
			    (p->rx_first + s) % p->bn.queues;
		*back += queue_of(p->a_by, &p->an, &b, &a, PORT, port[s]) !=
			 (p->tx_first + s) % p->an.queues;
	}
	free(taken);
}

static void every_stream_there_and_back(void **state)
{
	static const struct {
		const char *a, *b;
	} addr[] = { { "198.18.0.1", "198.18.0.2" },
		     { "10.200.3.7", "192.168.77.250" },
		     { "2001:2::1", "2001:2::2" },
		     { "fd00:1:2:3:4:5:6:7", "fd00::8:9" } };
	static const struct {
		uint16_t a, b;
		uint32_t at, bt;
	} size[] = { { 4, 4, 128, 128 }, { 4, 4, 4, 64 },    { 2, 8, 512, 64 }, { 3, 5, 128, 512 },
		     { 1, 4, 128, 128 }, { 16, 1, 512, 64 }, { 7, 6, 64, 128 } };
	(void)state;
	for (size_t i = 0; i < COUNT_OF(addr); i++) {
		for (size_t k = 0; k < COUNT_OF(size); k++) {
			struct pair p = { .a = addr[i].a,
					  .b = addr[i].b,
					  .an = nic_of(KEY, size[k].a, size[k].at),
					  .bn = nic_of(k % 2 ? OTHER_KEY : KEY, size[k].b,
						       size[k].bt),
					  .a_by = STEER_RSS,
					  .b_by = STEER_RSS,
					  .streams = k % 3 ? 16 : 37,
					  .sources = (uint32_t)(k % 4 * (k + 3)),
					  .tx_first = (uint32_t)(7 * k),
					  .rx_first = (uint32_t)(i + 3 * k) };
			uint32_t forward, back;
			uint16_t *port = ports_of(&p);
			judge(&p, port, &forward, &back);
			assert_int_equal(forward, 0);
			assert_int_equal(back, 0);
			free(port);
		}
	}
}

// Rules at one end, a hash at the other; a kernel's hash, of which nobody knows.
static void ends_of_different_kinds(void **state)
{
	static const enum steering kind[] = { STEER_RSS, STEER_RULES, STEER_KERNEL, STEER_PAIRS };
	(void)state;
	for (size_t i = 0; i < COUNT_OF(kind) * COUNT_OF(kind); i++) {
		struct pair p = { .a = "198.18.0.1",
				  .b = "198.18.0.2",
				  .an = nic_of(KEY, 4, 128),
				  .bn = nic_of(OTHER_KEY, 8, 64),
				  .a_by = kind[i % COUNT_OF(kind)],
				  .b_by = kind[i / COUNT_OF(kind)],
				  .streams = 64,
				  .tx_first = 5,
				  .rx_first = 9 };
		uint32_t forward, back;
		uint16_t *port = ports_of(&p);
		judge(&p, port, &forward, &back);
		assert_int_equal(forward, chosen(p.b_by) ? 0 : p.streams);
		assert_int_equal(back, chosen(p.a_by) ? 0 : p.streams);
		if (!chosen(p.a_by) && !chosen(p.b_by))
			for (uint32_t s = 0; s < p.streams; s++)
				assert_int_equal(port[s], 49152 + s);
		free(port);
	}
}

// More streams than ports that suit both ends: the replies come first, all ports are used at last.
static void when_ports_run_out(void **state)
{
	struct pair p = { .a = "198.18.0.1",
			  .b = "198.18.0.2",
			  .an = nic_of(KEY, 4, 128),
			  .bn = nic_of(OTHER_KEY, 4, 128),
			  .a_by = STEER_RSS,
			  .b_by = STEER_RSS,
			  .streams = SPORTS };
	uint32_t forward, back, served[4] = { 0 };
	struct ip_addr a = ip(p.a), b = ip(p.b);
	uint16_t *port = ports_of(&p);
	(void)state;
	judge(&p, port, &forward, &back);
	assert_int_equal(back, 0);
	for (uint32_t s = 0; s < p.streams; s++)
		served[nic_queue(&p.bn, &a, &b, port[s], PORT)]++;
	for (size_t q = 0; q < 4; q++)
		assert_int_equal(served[q], SPORTS / 4);
	free(port);

	// one key at both ends that hashes both ways alike: a queue here means a queue there
	p.an = p.bn = nic_of("6d5a6d5a6d5a6d5a6d5a6d5a6d5a6d5a6d5a6d5a6d5a6d5a6d5a6d5a6d5a6d5a6d5a"
			     "6d5a6d5a6d5a",
			     4, 128);
	p.streams = 64;
	p.rx_first = 1;
	port = ports_of(&p);
	judge(&p, port, &forward, &back);
	assert_int_equal(back, 0);
	assert_int_equal(forward, 64);
	free(port);
}

static void more_streams_than_ports(void **state)
{
	uint16_t port[3];
	struct steer_flow f = { .src = ip("198.18.0.1"),
				.dst = ip("198.18.0.2"),
				.udp_port = PORT,
				.sport_first = 65534,
				.streams = 2 };
	(void)state;
	assert_int_equal(steer_ports(&f, port), 0);
	assert_int_equal(port[1], 65535);
	f.streams = 3;
	assert_int_equal(steer_ports(&f, port), -ERANGE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(microsofts_vectors),
		cmocka_unit_test(every_stream_there_and_back),
		cmocka_unit_test(ends_of_different_kinds),
		cmocka_unit_test(when_ports_run_out),
		cmocka_unit_test(more_streams_than_ports),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
