#include "flood_frame.h"

#include <netinet/in.h>
#include <string.h>

#define PMX_HDR 18
#define REQUEST 0x11 // version 1, kind 1

// splitmix64
uint64_t flood_random(struct flood_rng *g)
{
	uint64_t z = g->state += 0x9e3779b97f4a7c15;
	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
	z = (z ^ z >> 27) * 0x94d049bb133111eb;
	return z ^ z >> 31;
}

void flood_put16(uint8_t *p, uint32_t v)
{
	p[0] = (uint8_t)(v >> 8);
	p[1] = (uint8_t)v;
}

uint16_t flood_sum(const uint8_t *p, size_t bytes, uint32_t start)
{
	uint64_t sum = start;
	for (size_t i = 0; i + 1 < bytes; i += 2)
		sum += (uint32_t)p[i] << 8 | p[i + 1];
	if (bytes % 2 != 0)
		sum += (uint32_t)p[bytes - 1] << 8;
	while (sum >> 16 != 0)
		sum = (sum & 0xffff) + (sum >> 16);
	return (uint16_t)~sum;
}

uint8_t *flood_ether(struct flood_frame *f, const struct flood_target *t, struct flood_rng *g,
		     uint16_t type, size_t bytes)
{
	uint64_t mac = flood_random(g);
	size_t at = 12;
	memcpy(f->b, t->mac, 6);
	memcpy(f->b + 6, &mac, 6);
	f->b[6] = (uint8_t)((f->b[6] & 0xfc) | 2); // of one host, made up
	if (t->vlan != 0) {
		flood_put16(f->b + at, 0x8100);
		flood_put16(f->b + at + 2, t->vlan);
		at += 4;
	}
	flood_put16(f->b + at, type);
	f->l3 = at + 2;
	f->l4 = f->l3;
	f->len = f->l3 + bytes;
	memset(f->b + f->l3, 0, bytes + 64);
	return f->b + f->l3;
}

void flood_packet(struct flood_frame *f, const struct flood_target *t, struct flood_rng *g,
		  uint8_t protocol, size_t bytes)
{
	size_t header = t->v6 ? 40 : 20;
	uint8_t *ip = flood_ether(f, t, g, t->v6 ? 0x86dd : 0x0800, header + bytes);
	f->l4 = f->l3 + header;
	if (t->v6) {
		ip[0] = 0x60;
		ip[6] = protocol;
		ip[7] = 64;
		memcpy(ip + 8, t->peer_ip, 16);
		memcpy(ip + 24, t->ip, 16);
	} else {
		ip[0] = 0x45;
		ip[6] = 0x40; // DF
		ip[8] = 64;
		ip[9] = protocol;
		memcpy(ip + 12, t->peer_ip, 4);
		memcpy(ip + 16, t->ip, 4);
	}
	flood_seal(f, t);
}

static void seal_udp(struct flood_frame *f, const struct flood_target *t, size_t bytes)
{
	uint8_t *udp = f->b + f->l4;
	const uint8_t *addrs = f->b + f->l3 + (t->v6 ? 8 : 12);
	flood_put16(udp + 4, (uint32_t)bytes);
	flood_put16(udp + 6, 0);
	uint16_t pseudo = (uint16_t)~flood_sum(addrs, t->v6 ? 32 : 8, 0);
	uint16_t sum = flood_sum(udp, bytes, pseudo + IPPROTO_UDP + (uint32_t)bytes);
	flood_put16(udp + 6, sum == 0 ? 0xffff : sum);
}

void flood_seal(struct flood_frame *f, const struct flood_target *t)
{
	uint8_t *ip = f->b + f->l3;
	size_t bytes = f->len - f->l4;
	if (t->v6) {
		flood_put16(ip + 4, (uint32_t)(f->len - f->l3 - 40));
	} else {
		flood_put16(ip + 2, (uint32_t)(f->len - f->l3));
		flood_put16(ip + 10, 0);
		flood_put16(ip + 10, flood_sum(ip, 20, 0));
	}
	if (ip[t->v6 ? 6 : 9] == IPPROTO_UDP && bytes >= 8)
		seal_udp(f, t, bytes);
}

void flood_cookie(struct flood_frame *f, uint16_t cookie)
{
	flood_put16(f->b + f->l4 + 8, cookie);
}

void flood_request(struct flood_frame *f, const struct flood_target *t, struct flood_rng *g,
		   uint32_t payload)
{
	flood_packet(f, t, g, IPPROTO_UDP, 8 + payload);
	uint8_t *udp = f->b + f->l4;
	flood_put16(udp, t->sport);
	flood_put16(udp + 2, t->udp_port);
	flood_cookie(f, (uint16_t)(t->cookie + 1 + flood_below(g, 0xfffe)));
	udp[10] = REQUEST;
	for (size_t i = 16; i < 8 + PMX_HDR; i++) // sequence and clock
		udp[i] = (uint8_t)flood_random(g);
	flood_seal(f, t);
}

void flood_seal_icmp6(struct flood_frame *f)
{
	uint8_t *icmp = f->b + f->l4;
	size_t bytes = f->len - f->l4;
	flood_put16(icmp + 2, 0);
	uint16_t pseudo = (uint16_t)~flood_sum(f->b + f->l3 + 8, 32, 0);
	flood_put16(icmp + 2, flood_sum(icmp, bytes, pseudo + IPPROTO_ICMPV6 + (uint32_t)bytes));
}

void flood_ping(struct flood_frame *f, const struct flood_target *t, uint16_t id, uint16_t seq)
{
	struct flood_rng none = { 0 };
	flood_packet(f, t, &none, t->v6 ? IPPROTO_ICMPV6 : IPPROTO_ICMP, 40);
	memcpy(f->b + 6, t->ping_mac, 6);
	memcpy(f->b + f->l3 + (t->v6 ? 8 : 12), t->ping_ip, t->v6 ? 16 : 4);
	uint8_t *icmp = f->b + f->l4;
	icmp[0] = t->v6 ? 128 : 8;
	flood_put16(icmp + 4, id);
	flood_put16(icmp + 6, seq);
	flood_seal(f, t);
	if (t->v6)
		flood_seal_icmp6(f);
	else
		flood_put16(icmp + 2, flood_sum(icmp, f->len - f->l4, 0));
}
