#include "flood_frame.h"

#include <netinet/in.h>
#include <string.h>

typedef struct flood_frame frame;
typedef struct flood_target target;
typedef struct flood_rng rng;

#define PORT_OTHER(g, t) ((uint16_t)((t)->udp_port + 1 + flood_below(g, 0xfffe)))

static uint8_t *ip_src(frame *f, const target *t)
{
	return f->b + f->l3 + (t->v6 ? 8 : 12);
}

static size_t ip_bytes(const target *t)
{
	return t->v6 ? 16 : 4;
}

static uint8_t *pmx(frame *f)
{
	return f->b + f->l4 + 8;
}

static uint32_t some_payload(rng *g)
{
	return 18 + flood_below(g, 1400);
}

// A request with the run's cookie, that one thing is wrong with.
static void nearly(frame *f, const target *t, rng *g)
{
	flood_request(f, t, g, t->payload);
	flood_cookie(f, t->cookie);
}

static void noise(frame *f, const target *t, rng *g)
{
	size_t bytes = 2 + flood_below(g, 1400);
	uint8_t *d = flood_ether(f, t, g, (uint16_t)(0x9000 + flood_below(g, 0x6000)), bytes);
	for (size_t i = 0; i < bytes; i++)
		d[i] = (uint8_t)flood_random(g);
}

static void other_mac(frame *f, const target *t, rng *g)
{
	nearly(f, t, g);
	f->b[5] ^= (uint8_t)(1 + flood_below(g, 255)); // another host
	if (flood_below(g, 2) == 0)
		f->b[0] |= 1; // a group
}

static void vlan(frame *f, const target *t, rng *g)
{
	target other = *t;
	other.vlan = (uint16_t)(1 + (t->vlan + flood_below(g, 4093)) % 4094);
	if (t->vlan != 0 && flood_below(g, 2) == 0)
		other.vlan = 0;
	nearly(f, &other, g);
	flood_seal(f, &other);
}

static void other_ip(frame *f, const target *t, rng *g)
{
	nearly(f, t, g);
	ip_src(f, t)[2 * ip_bytes(t) - 1] ^= (uint8_t)(1 + flood_below(g, 255));
	flood_seal(f, t);
}

static void own_ip(frame *f, const target *t, rng *g)
{
	nearly(f, t, g);
	memcpy(ip_src(f, t), t->ip, ip_bytes(t));
	if (flood_below(g, 2) == 0)
		memcpy(f->b + 6, t->mac, 6);
	flood_seal(f, t);
}

static void protocol(frame *f, const target *t, rng *g)
{
	static const uint8_t some[] = { 2, 4, 6, 33, 41, 47, 50, 51, 89, 103, 132, 136, 253 };
	flood_packet(f, t, g, some[flood_below(g, sizeof(some))], flood_below(g, 1400));
}

static void port(frame *f, const target *t, rng *g)
{
	flood_request(f, t, g, some_payload(g));
	flood_put16(f->b + f->l4, PORT_OTHER(g, t));
	flood_put16(f->b + f->l4 + 2, PORT_OTHER(g, t));
	flood_seal(f, t);
}

static void cookie(frame *f, const target *t, rng *g)
{
	flood_request(f, t, g, flood_below(g, 2) == 0 ? t->payload : some_payload(g));
	if (flood_below(g, 4) == 0) { // a damaged one is no better for it
		f->b[f->l4 + 7] ^= (uint8_t)(1 + flood_below(g, 255));
		f->b[f->l4 + 6] |= 1; // not absent
	}
}

static void no_stream(frame *f, const target *t, rng *g)
{
	nearly(f, t, g);
	switch (flood_below(g, 4)) {
	case 0:
		pmx(f)[4] = (uint8_t)(0x80 | flood_random(g)); // an index far out
		break;
	case 1:
		ip_src(f, t)[ip_bytes(t) - 1] ^= (uint8_t)(0x80 | flood_random(g)); // not the peer
		break;
	case 2:
		flood_put16(f->b + f->l4, t->sport ^ 0x0800u);
		break;
	default: // a reply to what was never asked
		pmx(f)[2] = 0x12;
		pmx(f)[4] = 0xff;
		flood_put16(f->b + f->l4, t->udp_port);
		flood_put16(f->b + f->l4 + 2, PORT_OTHER(g, t));
	}
	flood_seal(f, t);
}

static void version(frame *f, const target *t, rng *g)
{
	nearly(f, t, g);
	pmx(f)[2] = (uint8_t)(0x20 + flood_below(g, 0xe0));
	flood_seal(f, t);
}

static void trial(frame *f, const target *t, rng *g)
{
	nearly(f, t, g);
	pmx(f)[3] = (uint8_t)(100 + flood_below(g, 156));
	flood_seal(f, t);
}

static void other_size(frame *f, const target *t, rng *g)
{
	flood_request(f, t, g, t->payload + 1 + flood_below(g, 1000));
	flood_cookie(f, t->cookie);
	flood_seal(f, t);
}

// Lengths that lie: in IP's header or in UDP's.
static void lengths(frame *f, const target *t, rng *g)
{
	nearly(f, t, g);
	uint8_t *ip_len = f->b + f->l3 + (t->v6 ? 4 : 2), *udp_len = f->b + f->l4 + 4;
	uint32_t more = (uint32_t)(f->len - f->l3) + 1 + flood_below(g, 30000);
	uint32_t which = flood_below(g, 4);
	if (which < 2)
		flood_put16(udp_len, which == 0 ? more : flood_below(g, 8));
	else
		flood_put16(ip_len, which == 2 ? more : flood_below(g, t->v6 ? 8 : 20));
	if (!t->v6) {
		flood_put16(f->b + f->l3 + 10, 0);
		flood_put16(f->b + f->l3 + 10, flood_sum(f->b + f->l3, 20, 0));
	}
}

static void truncated(frame *f, const target *t, rng *g)
{
	nearly(f, t, g);
	f->len = f->l3 + 2 + flood_below(g, (uint32_t)(f->len - f->l3 - 2)); // less has no type
}

// Within what the kernel lets pass above the MTU.
static void oversize(frame *f, const target *t, rng *g)
{
	flood_request(f, t, g, 1500 - (t->v6 ? 48 : 28) + 1 + flood_below(g, 4));
	flood_cookie(f, t->cookie);
	flood_seal(f, t);
}

static void giant(frame *f, const target *t, rng *g)
{
	flood_request(f, t, g, 2000 + flood_below(g, 6000));
	flood_cookie(f, t->cookie);
	flood_seal(f, t);
}

static void options4(frame *f, const target *t, rng *g)
{
	nearly(f, t, g);
	uint32_t words = 1 + flood_below(g, 10);
	uint8_t *ip = f->b + f->l3;
	memmove(ip + 20 + 4 * words, ip + 20, f->len - f->l3 - 20);
	for (uint32_t i = 0; i < 4 * words; i++)
		ip[20 + i] = (uint8_t)flood_random(g);
	ip[0] = (uint8_t)(0x45 + words);
	f->len += 4 * words;
	flood_put16(ip + 2, (uint32_t)(f->len - f->l3));
	flood_put16(ip + 10, 0);
	flood_put16(ip + 10, flood_sum(ip, 20 + 4 * words, 0));
}

// A chain of headers before UDP, from `first` on.
static void extend6(frame *f, const target *t, rng *g, uint8_t first)
{
	static const uint8_t header[] = { IPPROTO_HOPOPTS, IPPROTO_ROUTING, IPPROTO_DSTOPTS };
	uint32_t count = 1 + flood_below(g, 8);
	nearly(f, t, g);
	uint8_t *ip = f->b + f->l3;
	memmove(ip + 40 + 8 * count, ip + 40, f->len - f->l3 - 40);
	memset(ip + 40, 0, 8 * count);
	ip[6] = first;
	for (uint32_t i = 0; i < count; i++)
		ip[40 + 8 * i] = i + 1 < count ? header[flood_below(g, 3)] : IPPROTO_UDP;
	f->len += 8 * count;
	flood_put16(ip + 4, (uint32_t)(f->len - f->l3 - 40));
}

static void options6(frame *f, const target *t, rng *g)
{
	static const uint8_t header[] = { IPPROTO_HOPOPTS, IPPROTO_ROUTING, IPPROTO_DSTOPTS };
	extend6(f, t, g, header[flood_below(g, 3)]);
}

// A fragment of `bytes` at `offset` units of eight.
static void fragment(frame *f, const target *t, rng *g, uint32_t id, uint32_t offset, bool more,
		     uint32_t bytes)
{
	if (t->v6) {
		flood_packet(f, t, g, IPPROTO_FRAGMENT, 8 + bytes);
		uint8_t *header = f->b + f->l4;
		header[0] = IPPROTO_UDP;
		flood_put16(header + 2, offset << 3 | more);
		flood_put16(header + 4, id >> 16);
		flood_put16(header + 6, id);
		return;
	}
	flood_packet(f, t, g, IPPROTO_UDP, bytes);
	uint8_t *ip = f->b + f->l3;
	flood_put16(ip + 4, id);
	flood_put16(ip + 6, (more ? 0x2000u : 0) | offset);
	flood_seal(f, t);
}

// First ones that nothing ever follows.
static void endless(frame *f, const target *t, rng *g)
{
	fragment(f, t, g, (uint32_t)flood_random(g), 0, true, 8 * (1 + flood_below(g, 180)));
}

// Of few packets, at any place, over one another, beyond 65,535.
static void overlap(frame *f, const target *t, rng *g)
{
	uint32_t offset = flood_below(g, 8) == 0 ? 0x1fff : 1 + flood_below(g, 200);
	fragment(f, t, g, flood_below(g, 16), offset, flood_below(g, 2) == 0,
		 8 * (1 + flood_below(g, 180)));
}

static void checksum(frame *f, const target *t, rng *g)
{
	flood_request(f, t, g, some_payload(g));
	f->b[f->l3 + 10] ^= (uint8_t)(1 + flood_below(g, 254));
}

// A frame of another run's with bytes of it overwritten.
static void mangled(frame *f, const target *t, rng *g)
{
	flood_request(f, t, g, some_payload(g));
	memset(pmx(f) + 4, 0xff, 4);
	for (uint32_t n = 1 + flood_below(g, 8); n > 0; n--)
		f->b[12 + flood_below(g, 60)] = (uint8_t)flood_random(g);
}

// ARP: what `mac` says of `ip`, asked of or told to the agent.
static uint8_t *arp(frame *f, const target *t, rng *g, const uint8_t *ip, const uint8_t *about)
{
	uint8_t *a = flood_ether(f, t, g, 0x0806, 46);
	const uint8_t head[] = { 0, 1, 8, 0, 6, 4, 0, (uint8_t)(1 + flood_below(g, 2)) };
	if (flood_below(g, 2) == 0)
		memset(f->b, 0xff, 6);
	memcpy(a, head, sizeof(head));
	memcpy(a + 8, f->b + 6, 6);
	memcpy(a + 14, ip, 4);
	memcpy(a + 18, t->mac, 6);
	memcpy(a + 24, about, 4);
	return a;
}

static void stranger_ip(const target *t, rng *g, uint8_t *ip)
{
	memcpy(ip, t->peer_ip, 16);
	ip[ip_bytes(t) - 1] = (uint8_t)(100 + flood_below(g, 100));
}

static void arp_stranger(frame *f, const target *t, rng *g)
{
	uint8_t ip[16], other[16];
	stranger_ip(t, g, ip);
	stranger_ip(t, g, other);
	arp(f, t, g, ip, other);
}

static void arp_spoof(frame *f, const target *t, rng *g)
{
	arp(f, t, g, t->peer_ip, flood_below(g, 2) == 0 ? t->ip : t->peer_ip);
}

static void arp_own(frame *f, const target *t, rng *g)
{
	arp(f, t, g, t->ip, flood_below(g, 2) == 0 ? t->ip : t->peer_ip);
}

static void arp_bad(frame *f, const target *t, rng *g)
{
	uint8_t *a = arp(f, t, g, t->peer_ip, t->ip);
	a[flood_below(g, 6)] ^= 0x40; // types, lengths
}

static void arp_short(frame *f, const target *t, rng *g)
{
	arp(f, t, g, t->peer_ip, t->ip);
	f->len = f->l3 + flood_below(g, 28);
}

// ND: a solicitation or an advertisement with a MAC, from `ip` about `about`.
static uint8_t *nd(frame *f, const target *t, rng *g, uint8_t type, const uint8_t *ip,
		   const uint8_t *about)
{
	flood_packet(f, t, g, IPPROTO_ICMPV6, 32);
	uint8_t *icmp = f->b + f->l4;
	f->b[f->l3 + 7] = 255;
	memcpy(f->b + f->l3 + 8, ip, 16);
	icmp[0] = type;
	icmp[4] = type == 136 ? 0x60 : 0;
	memcpy(icmp + 8, about, 16);
	icmp[24] = type == 136 ? 2 : 1;
	icmp[25] = 1;
	memcpy(icmp + 26, f->b + 6, 6);
	flood_seal_icmp6(f);
	return icmp;
}

static void nd_stranger(frame *f, const target *t, rng *g)
{
	uint8_t ip[16], other[16];
	stranger_ip(t, g, ip);
	stranger_ip(t, g, other);
	nd(f, t, g, (uint8_t)(135 + flood_below(g, 2)), ip, other);
}

static void nd_spoof(frame *f, const target *t, rng *g)
{
	uint8_t ip[16];
	stranger_ip(t, g, ip);
	if (flood_below(g, 2) == 0)
		nd(f, t, g, 136, flood_below(g, 2) == 0 ? ip : t->peer_ip, t->peer_ip);
	else
		nd(f, t, g, 135, t->peer_ip, flood_below(g, 2) == 0 ? ip : t->ip);
}

static void nd_own(frame *f, const target *t, rng *g)
{
	uint8_t ip[16];
	stranger_ip(t, g, ip);
	nd(f, t, g, 136, ip, t->ip);
}

static void nd_bad(frame *f, const target *t, rng *g)
{
	uint8_t *icmp = nd(f, t, g, 136, t->peer_ip, t->peer_ip);
	if (flood_below(g, 2) == 0)
		icmp[2] ^= (uint8_t)(1 + flood_below(g, 254));
	else
		f->b[f->l3 + 7] = 254; // a router has passed it on
}

// Pings that would make an agent send to many, or to itself.
static void ping_group(frame *f, const target *t, rng *g)
{
	flood_ping(f, t, 0, 0);
	if (flood_below(g, 2) == 0)
		f->b[6] |= 1;
	else
		memset(ip_src(f, t), 0xff, ip_bytes(t));
	flood_seal(f, t);
	if (t->v6)
		flood_seal_icmp6(f);
}

static void ping_bad(frame *f, const target *t, rng *g)
{
	flood_ping(f, t, 0, 0);
	f->b[f->l4 + 2] ^= (uint8_t)(1 + flood_below(g, 254));
}

// Other ICMP, and errors that quote what the agent never sent.
static void icmp(frame *f, const target *t, rng *g)
{
	static const uint8_t type4[] = { 0, 3, 5, 11, 13, 15, 17 }, type6[] = { 1, 2, 3, 4, 129 };
	flood_packet(f, t, g, t->v6 ? IPPROTO_ICMPV6 : IPPROTO_ICMP, 8 + flood_below(g, 64));
	uint8_t *message = f->b + f->l4;
	message[0] =
		t->v6 ? type6[flood_below(g, sizeof(type6))] : type4[flood_below(g, sizeof(type4))];
	if (t->v6)
		flood_seal_icmp6(f);
	else
		flood_put16(message + 2, flood_sum(message, f->len - f->l4, 0));
}

#define BOTH (1u << 4 | 1u << 6)
#define V4 (1u << 4)
#define V6 (1u << 6)

const struct flood_kind flood_kind[] = {
	{ "noise", "l2", noise, BOTH, false, 0, 0 },
	{ "other_mac", "l2", other_mac, BOTH, false, 0, 0 },
	{ "vlan", "vlan", vlan, BOTH, false, 0, 0 },
	{ "other_ip", "address", other_ip, BOTH, false, 0, 0 },
	{ "own_ip", "own", own_ip, BOTH, false, 0, 0 },
	{ "protocol", "protocol", protocol, BOTH, false, 0, 0 },
	{ "port", "port", port, BOTH, false, 0, 0 },
	{ "cookie", "cookie", cookie, BOTH, false, 0, 0 },
	{ "no_stream", "stream", no_stream, BOTH, false, 0, 0 },
	{ "version", "malformed", version, BOTH, false, 0, 0 },
	{ "trial", "malformed", trial, BOTH, false, 0, 0 },
	{ "other_size", "malformed", other_size, BOTH, false, 0, 0 },
	{ "lengths", "malformed", lengths, BOTH, false, 0, 0 },
	{ "truncated", "malformed", truncated, BOTH, false, 0, 0 },
	{ "oversize", "malformed", oversize, V4, false, 0, 1504 },
	{ "giant", "kernel", giant, BOTH, false, 1, 8999 },
	{ "options", "options", options4, V4, false, 0, 0 },
	{ "extension", "options", options6, V6, false, 0, 0 },
	{ "endless", "fragment", endless, BOTH, false, 0, 0 },
	{ "overlap", "fragment", overlap, BOTH, false, 0, 0 },
	{ "checksum", "checksum", checksum, V4, false, 0, 0 },
	{ "mangled", "any", mangled, BOTH, false, 0, 0 },
	{ "arp_short", "malformed", arp_short, V4, false, 0, 0 },
	{ "arp_stranger", "slow", arp_stranger, V4, true, 1, 0 },
	{ "arp_spoof", "neighbour", arp_spoof, V4, true, 1, 0 },
	{ "arp_own", "own", arp_own, V4, true, 1, 0 },
	{ "arp_bad", "malformed", arp_bad, V4, true, 1, 0 },
	{ "nd_stranger", "slow", nd_stranger, V6, true, 1, 0 },
	{ "nd_spoof", "neighbour", nd_spoof, V6, true, 1, 0 },
	{ "nd_own", "own", nd_own, V6, true, 1, 0 },
	{ "nd_bad", "slow", nd_bad, V6, true, 1, 0 },
	{ "ping_group", "slow", ping_group, BOTH, true, 1, 0 },
	{ "ping_bad", "checksum", ping_bad, V4, true, 1, 0 },
	{ "icmp", "slow", icmp, BOTH, true, 1, 0 },
};
const size_t flood_kinds = sizeof(flood_kind) / sizeof(flood_kind[0]);
