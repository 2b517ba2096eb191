// Neighbour discovery on mbufs made by hand.
#include "nd.h"

#include "testlib.h"

#include <rte_ip.h>

#include <string.h>

#define ROOM 512

struct packet {
	struct rte_mbuf m;
	uint8_t data[ROOM];
};

static struct nd_self a = { .mac = { { 2, 0, 0, 0, 0, 1 } } },
		      b = { .mac = { { 2, 0, 0, 0, 0, 2 } } };

static void packet_open(struct packet *p)
{
	memset(p, 0, sizeof(*p));
	p->m.buf_addr = p->data;
	p->m.buf_len = ROOM;
	p->m.nb_segs = 1;
	assert_int_equal(parse_ip("2001:2::a:1", &a.addr, NULL), 0);
	assert_int_equal(parse_ip("2001:2::b:2", &b.addr, NULL), 0);
}

static void asked_and_answered(void **state)
{
	static const uint8_t group_mac[6] = { 0x33, 0x33, 0xff, 0x0b, 0x00, 0x02 };
	struct packet p;
	char text[IP_STR_MAX];
	(void)state;
	for (int unicast = 0; unicast < 2; unicast++) {
		packet_open(&p);
		nd_ask(&a, &p.m, &b.addr, unicast ? &b.mac : NULL);
		assert_memory_equal(p.data, unicast ? b.mac.addr_bytes : group_mac, 6);
		assert_int_equal(p.m.data_len, 86);
		struct nd nd = nd_read(&b, &p.m);
		assert_int_equal(nd.kind, ND_ASKED);
		assert_true(nd.has_mac && ip_eq(&nd.who, &a.addr));
		assert_memory_equal(&nd.mac, &a.mac, 6);
		nd_answer(&b, &p.m, &nd);
		assert_memory_equal(p.data, a.mac.addr_bytes, 6);
		nd = nd_read(&a, &p.m);
		assert_int_equal(nd.kind, ND_TOLD);
		assert_true(nd.has_mac && ip_eq(&nd.who, &b.addr));
		assert_memory_equal(&nd.mac, &b.mac, 6);
	}
	struct ip_addr group = nd_group(&b.addr);
	assert_string_equal(ip_str(&group, text, sizeof(text)), "ff02::1:ff0b:2");
}

// Of another address, only the sender's MAC is news.
static void asked_for_another(void **state)
{
	struct packet p;
	struct ip_addr other;
	(void)state;
	packet_open(&p);
	parse_ip("2001:2::b:3", &other, NULL);
	nd_ask(&a, &p.m, &other, NULL);
	assert_int_equal(nd_read(&b, &p.m).kind, ND_TOLD);
}

// One that has no address yet is told with all others (RFC 4861, 7.2.4).
static void a_duplicate_is_told_to_all(void **state)
{
	static const uint8_t all_mac[6] = { 0x33, 0x33, 0, 0, 0, 1 };
	struct nd_self nobody = a;
	struct packet p;
	(void)state;
	packet_open(&p);
	nobody.addr = (struct ip_addr){ { 0 } };
	nd_ask(&nobody, &p.m, &b.addr, NULL);
	struct nd nd = nd_read(&b, &p.m);
	assert_int_equal(nd.kind, ND_ASKED);
	nd_answer(&b, &p.m, &nd);
	assert_memory_equal(p.data, all_mac, 6);
}

static void bad_ones_are_refused(void **state)
{
	struct packet p;
	(void)state;
	// each byte of the IPv6 header's length and protocol, addresses, and all of ICMPv6 is under
	// the checksum
	for (size_t at = 18; at < 86; at++) {
		if (at == 20 || at == 21)
			continue;
		packet_open(&p);
		nd_ask(&a, &p.m, &b.addr, NULL);
		p.data[at] ^= 0x11;
		if (nd_read(&b, &p.m).kind != ND_OTHER)
			fail_msg("byte %zu damaged was taken", at);
	}
	packet_open(&p);
	nd_ask(&a, &p.m, &b.addr, NULL);
	p.data[21] = 254; // hop limit: a router has passed it on
	assert_int_equal(nd_read(&b, &p.m).kind, ND_OTHER);
	for (uint16_t len = 0; len < 86; len++) {
		packet_open(&p);
		nd_ask(&a, &p.m, &b.addr, NULL);
		p.m.data_len = len;
		assert_int_equal(nd_read(&b, &p.m).kind, ND_OTHER);
	}
}

static void sum_again(struct packet *p, struct rte_ipv6_hdr *ip)
{
	uint16_t csum;
	memset(p->data + 56, 0, 2);
	csum = rte_ipv6_udptcp_cksum(ip, p->data + 54);
	memcpy(p->data + 56, &csum, 2);
}

// What Linux answers to one that asks it alone: no MAC, and nothing is overridden.
static void told_without_a_mac(void **state)
{
	struct packet p;
	struct rte_ipv6_hdr *ip = (void *)(p.data + 14);
	(void)state;
	packet_open(&p);
	nd_ask(&a, &p.m, &b.addr, &b.mac);
	struct nd nd = nd_read(&b, &p.m);
	nd_answer(&b, &p.m, &nd);
	nd = nd_read(&a, &p.m);
	assert_true(nd.solicited && nd.override && nd.has_mac);
	ip->payload_len = RTE_BE16(24);
	p.m.data_len = 78;
	p.data[58] = 0x40; // solicited
	sum_again(&p, ip);
	nd = nd_read(&a, &p.m);
	assert_int_equal(nd.kind, ND_TOLD);
	assert_true(nd.solicited && !nd.override && !nd.has_mac);
	assert_true(ip_eq(&nd.who, &b.addr));
}

// A router's error quotes what it is for; what others sent is nothing to us.
static void errors_are_for_ours(void **state)
{
	static const struct {
		uint8_t type;
		enum nd_kind kind;
	} x[] = { { 1, ND_UNREACHABLE }, { 2, ND_TOO_BIG }, { 3, ND_EXPIRED }, { 4, ND_OTHER } };
	struct packet p;
	struct rte_ipv6_hdr *ip = (void *)(p.data + 14), *quoted = (void *)(p.data + 62);
	for (size_t i = 0; i < sizeof(x) / sizeof(x[0]); i++) {
		(void)state;
		packet_open(&p);
		ip->vtc_flow = RTE_BE32(0x60000000);
		ip->payload_len = RTE_BE16(8 + 40);
		ip->proto = 58;
		ip->hop_limits = 64;
		memcpy(ip->src_addr, b.addr.b, 16);
		memcpy(ip->dst_addr, a.addr.b, 16);
		p.data[54] = x[i].type;
		p.data[60] = 5; // an MTU of 1400
		p.data[61] = 120;
		quoted->proto = 17;
		memcpy(quoted->src_addr, a.addr.b, 16);
		p.m.data_len = 14 + 40 + 48;
		sum_again(&p, ip);
		struct nd nd = nd_read(&a, &p.m);
		assert_int_equal(nd.kind, x[i].kind);
		assert_true(nd.kind != ND_TOO_BIG || nd.mtu == 1400);
		quoted->src_addr[15] ^= 1; // another's
		sum_again(&p, ip);
		assert_int_equal(nd_read(&a, &p.m).kind, ND_OTHER);
		quoted->src_addr[15] ^= 1;
		quoted->proto = 6;
		sum_again(&p, ip);
		assert_int_equal(nd_read(&a, &p.m).kind, ND_OTHER);
		quoted->proto = 17;
		ip->payload_len = RTE_BE16(8 + 39);
		sum_again(&p, ip);
		assert_int_equal(nd_read(&a, &p.m).kind, ND_OTHER);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(asked_and_answered),
		cmocka_unit_test(asked_for_another),
		cmocka_unit_test(a_duplicate_is_told_to_all),
		cmocka_unit_test(bad_ones_are_refused),
		cmocka_unit_test(told_without_a_mac),
		cmocka_unit_test(errors_are_for_ours),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
