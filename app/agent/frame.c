#include "frame.h"

#include <string.h>

struct layout layout_make(bool v6, unsigned tags)
{
	unsigned l3 = sizeof(struct rte_ether_hdr) + tags * sizeof(struct rte_vlan_hdr);
	unsigned udp =
		l3 + (unsigned)(v6 ? sizeof(struct rte_ipv6_hdr) : sizeof(struct rte_ipv4_hdr));
	unsigned len = v6 ? offsetof(struct rte_ipv6_hdr, payload_len)
			  : offsetof(struct rte_ipv4_hdr, total_length);
	unsigned ttl = v6 ? offsetof(struct rte_ipv6_hdr, hop_limits)
			  : offsetof(struct rte_ipv4_hdr, time_to_live);
	return (struct layout){
		.l3 = (uint8_t)l3,
		.udp = (uint8_t)udp,
		.pmx = (uint8_t)(udp + sizeof(struct rte_udp_hdr)),
		.len = (uint8_t)(l3 + len),
		.ttl = (uint8_t)(l3 + ttl),
		.tags = (uint8_t)tags,
		.v6 = v6,
	};
}

static void put16(uint8_t *to, uint16_t v)
{
	rte_be16_t be = rte_cpu_to_be_16(v);
	memcpy(to, &be, sizeof(be));
}

void head_put_tags(uint8_t *head, const struct layout *at, const uint16_t tci[FRAME_TAGS_MAX])
{
	uint8_t *p = head + 2 * RTE_ETHER_ADDR_LEN;
	for (unsigned i = 0; i < at->tags; i++, p += sizeof(struct rte_vlan_hdr)) {
		put16(p, i + 1 < at->tags ? RTE_ETHER_TYPE_QINQ : RTE_ETHER_TYPE_VLAN);
		put16(p + 2, tci[i]);
	}
}

static void put_ether(uint8_t *head, const struct layout *at, const struct frame_spec *s)
{
	memcpy(head, &s->dst_mac, RTE_ETHER_ADDR_LEN);
	memcpy(head + RTE_ETHER_ADDR_LEN, &s->src_mac, RTE_ETHER_ADDR_LEN);
	head_put_tags(head, at, s->tci);
	put16(head + at->l3 - 2, at->v6 ? RTE_ETHER_TYPE_IPV6 : RTE_ETHER_TYPE_IPV4);
}

static void put_ip4(struct rte_ipv4_hdr *ip, const struct frame_spec *s)
{
	*ip = (struct rte_ipv4_hdr){
		.version_ihl = RTE_IPV4_VHL_DEF,
		.type_of_service = (uint8_t)(s->dscp << 2),
		.total_length = rte_cpu_to_be_16(
			(uint16_t)(sizeof(*ip) + sizeof(struct rte_udp_hdr) + s->payload_bytes)),
		.fragment_offset = RTE_BE16(RTE_IPV4_HDR_DF_FLAG),
		.time_to_live = s->ttl != 0 ? s->ttl : FRAME_TTL,
		.next_proto_id = IPPROTO_UDP,
		.src_addr = rte_cpu_to_be_32(ip4_of(&s->src)),
		.dst_addr = rte_cpu_to_be_32(ip4_of(&s->dst)),
	};
	ip->hdr_checksum = rte_ipv4_cksum(ip);
}

// The flow label stays 0 (RFC 6437, 3: then it is not used): the ports are what paths differ by.
static void put_ip6(struct rte_ipv6_hdr *ip, const struct frame_spec *s)
{
	*ip = (struct rte_ipv6_hdr){
		.vtc_flow = rte_cpu_to_be_32(6u << 28 | (uint32_t)s->dscp << 22),
		.payload_len =
			rte_cpu_to_be_16((uint16_t)(sizeof(struct rte_udp_hdr) + s->payload_bytes)),
		.proto = IPPROTO_UDP,
		.hop_limits = s->ttl != 0 ? s->ttl : FRAME_TTL,
	};
	memcpy(ip->src_addr, s->src.b, sizeof(ip->src_addr));
	memcpy(ip->dst_addr, s->dst.b, sizeof(ip->dst_addr));
}

void head_build(uint8_t *head, const struct layout *at, const struct frame_spec *s)
{
	struct rte_udp_hdr udp = {
		.src_port = rte_cpu_to_be_16(s->sport),
		.dst_port = rte_cpu_to_be_16(s->dport),
		.dgram_len = rte_cpu_to_be_16((uint16_t)(sizeof(udp) + s->payload_bytes)),
	};
	struct pmx_hdr pmx = {
		.cookie = rte_cpu_to_be_16(s->cookie),
		.verkind = PMX_VERKIND(s->kind),
		.stream = { rte_cpu_to_be_16((uint16_t)(s->stream >> 16)),
			    rte_cpu_to_be_16((uint16_t)s->stream) },
	};
	memset(head, 0, HEAD_BYTES);
	put_ether(head, at, s);
	if (at->v6)
		put_ip6((struct rte_ipv6_hdr *)(void *)(head + at->l3), s);
	else
		put_ip4((struct rte_ipv4_hdr *)(void *)(head + at->l3), s);
	memcpy(head + at->udp, &udp, sizeof(udp));
	memcpy(head + at->pmx, &pmx, sizeof(pmx));
}

void frame_build(struct frame *f, const struct frame_spec *s)
{
	uint8_t head[HEAD_BYTES] __attribute__((aligned(2)));
	head_build(head, &LAYOUT_PLAIN, s);
	memcpy(f, head, sizeof(*f));
}

static uint64_t sum_words(const void *data, size_t bytes)
{
	const uint8_t *p = data;
	uint64_t sum = 0;
	for (size_t i = 0; i < bytes; i += 2) {
		uint16_t w;
		memcpy(&w, p + i, sizeof(w));
		sum += w;
	}
	return sum;
}

// Both addresses stand before the UDP header. The upper half of IPv6's longer length (RFC 8200,
// 8.1) is 0.
static uint64_t pseudo_sum(const uint8_t *head, const struct layout *at)
{
	size_t addrs = at->v6 ? 32 : 8;
	return sum_words(head + at->udp - addrs, addrs) + RTE_BE16(IPPROTO_UDP) +
	       sum_words(head + at->udp + offsetof(struct rte_udp_hdr, dgram_len), 2);
}

uint64_t head_udp_sum(const uint8_t *head, const struct layout *at)
{
	return pseudo_sum(head, at) + sum_words(head + at->udp, 6) +
	       sum_words(head + at->pmx, sizeof(struct pmx_hdr));
}

uint16_t head_pseudo_csum(const uint8_t *head, const struct layout *at)
{
	return csum_fold(pseudo_sum(head, at));
}

uint64_t frame_udp_sum(const struct frame *f)
{
	return head_udp_sum((const uint8_t *)f, &LAYOUT_PLAIN);
}

uint16_t frame_pseudo_csum(const struct frame *f)
{
	return head_pseudo_csum((const uint8_t *)f, &LAYOUT_PLAIN);
}
