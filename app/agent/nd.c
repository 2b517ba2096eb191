#include "nd.h"

#include <rte_ip.h>

#include <netinet/icmp6.h>
#include <netinet/in.h>
#include <string.h>

#define HOP_LIMIT 255 // no router has passed it on (RFC 4861, 3.1)
#define SOLICITED 0x40
#define OVERRIDE 0x20

struct icmp6_frame {
	struct rte_ether_hdr eth;
	struct rte_ipv6_hdr ip;
	uint8_t type, code;
	uint16_t csum;
	uint8_t word[4]; // flags, or the MTU
} __attribute__((packed, aligned(2)));

struct nd_frame {
	struct icmp6_frame head;
	uint8_t target[16];
	uint8_t option, option_len; // of the sender's MAC, in units of 8
	struct rte_ether_addr mac;
} __attribute__((packed, aligned(2)));

struct ip_addr nd_group(const struct ip_addr *addr)
{
	struct ip_addr g = { { 0xff, 0x02, [11] = 1, 0xff } };
	memcpy(g.b + 13, addr->b + 13, 3);
	return g;
}

struct rte_ether_addr nd_group_mac(const struct ip_addr *group)
{
	struct rte_ether_addr m = { { 0x33, 0x33 } };
	memcpy(m.addr_bytes + 2, group->b + 12, 4);
	return m;
}

static uint16_t csum_of(struct icmp6_frame *f)
{
	uint16_t given = f->csum;
	f->csum = 0;
	uint16_t csum = rte_ipv6_udptcp_cksum(&f->ip, &f->type);
	f->csum = given;
	return csum;
}

static void seal(const struct nd_self *self, struct rte_mbuf *m, const struct ip_addr *dst,
		 const struct rte_ether_addr *dst_mac)
{
	struct icmp6_frame *f = rte_pktmbuf_mtod(m, struct icmp6_frame *);
	f->eth = (struct rte_ether_hdr){ .dst_addr = *dst_mac,
					 .src_addr = self->mac,
					 .ether_type = RTE_BE16(RTE_ETHER_TYPE_IPV6) };
	memcpy(f->ip.src_addr, self->addr.b, sizeof(f->ip.src_addr));
	memcpy(f->ip.dst_addr, dst->b, sizeof(f->ip.dst_addr));
	f->csum = 0;
	f->csum = csum_of(f);
}

static void nd_make(const struct nd_self *self, struct rte_mbuf *m, uint8_t type, uint8_t flags,
		    const struct ip_addr *target, const struct ip_addr *dst,
		    const struct rte_ether_addr *dst_mac)
{
	struct nd_frame *f = rte_pktmbuf_mtod(m, struct nd_frame *);
	*f = (struct nd_frame){
		.head = { .ip = { .vtc_flow = RTE_BE32(0x60000000),
				  .payload_len = RTE_BE16(sizeof(*f) - 14 - 40),
				  .proto = IPPROTO_ICMPV6,
				  .hop_limits = HOP_LIMIT },
			  .type = type,
			  .word = { flags } },
		.option = type == ND_NEIGHBOR_SOLICIT ? ND_OPT_SOURCE_LINKADDR
						      : ND_OPT_TARGET_LINKADDR,
		.option_len = 1,
		.mac = self->mac,
	};
	memcpy(f->target, target->b, sizeof(f->target));
	m->data_len = sizeof(*f);
	m->pkt_len = sizeof(*f);
	seal(self, m, dst, dst_mac);
}

void nd_ask(const struct nd_self *self, struct rte_mbuf *m, const struct ip_addr *addr,
	    const struct rte_ether_addr *mac)
{
	struct ip_addr group = nd_group(addr);
	struct rte_ether_addr group_mac = nd_group_mac(&group);
	nd_make(self, m, ND_NEIGHBOR_SOLICIT, 0, addr, mac != NULL ? addr : &group,
		mac != NULL ? mac : &group_mac);
}

// One that has no address yet (RFC 4862, 5.4) is told with all others.
void nd_answer(const struct nd_self *self, struct rte_mbuf *m, const struct nd *nd)
{
	static const struct ip_addr all = { { 0xff, 0x02, [15] = 1 } };
	bool nobody = ip_none(&nd->who);
	struct rte_ether_addr all_mac = nd_group_mac(&all);
	nd_make(self, m, ND_NEIGHBOR_ADVERT, nobody ? OVERRIDE : SOLICITED | OVERRIDE, &self->addr,
		nobody ? &all : &nd->who, nobody ? &all_mac : &nd->mac);
}

void nd_echo(const struct nd_self *self, struct rte_mbuf *m, uint8_t hop_limit)
{
	struct icmp6_frame *f = rte_pktmbuf_mtod(m, struct icmp6_frame *);
	struct rte_ether_addr mac = f->eth.src_addr;
	struct ip_addr dst;
	memcpy(dst.b, f->ip.src_addr, sizeof(dst.b));
	f->type = ICMP6_ECHO_REPLY;
	f->ip.hop_limits = hop_limit;
	seal(self, m, &dst, &mac);
}

// The MAC of the first option of that type; RFC 4861, 4.6: lengths of 0 end it.
static bool option_read(const struct nd_frame *f, uint16_t bytes, uint8_t type,
			struct rte_ether_addr *mac)
{
	const uint8_t *p = &f->option, *end = (const uint8_t *)f + bytes;
	for (; end - p >= 8 && p[1] != 0; p += 8 * p[1]) {
		if (p[0] != type || p[1] != 1)
			continue;
		struct rte_ether_addr found;
		memcpy(&found, p + 2, sizeof(found));
		if (!rte_is_valid_assigned_ether_addr(&found))
			return false;
		*mac = found;
		return true;
	}
	return false;
}

static void neighbour_read(const struct nd_self *self, const struct rte_mbuf *m, uint16_t bytes,
			   struct nd *nd)
{
	const struct nd_frame *f = rte_pktmbuf_mtod(m, const struct nd_frame *);
	bool ask = f->head.type == ND_NEIGHBOR_SOLICIT;
	if (bytes < offsetof(struct nd_frame, option) || f->head.ip.hop_limits != HOP_LIMIT ||
	    f->head.code != 0)
		return;
	if (!ask)
		memcpy(nd->who.b, f->target, sizeof(nd->who.b));
	if (nd->who.b[0] == 0xff) // a group has no MAC of its own, and asks nothing
		return;
	nd->has_mac = option_read(f, bytes, ask ? ND_OPT_SOURCE_LINKADDR : ND_OPT_TARGET_LINKADDR,
				  &nd->mac);
	nd->kind = ND_TOLD;
	nd->solicited = !ask && (f->head.word[0] & SOLICITED) != 0;
	nd->override = ask || (f->head.word[0] & OVERRIDE) != 0;
	if (!ask || memcmp(f->target, self->addr.b, sizeof(f->target)) != 0)
		return;
	nd->kind = ND_ASKED;
}

// Whether an error is for UDP that we sent: what it quotes says so.
static bool quotes_ours(const struct nd_self *self, const struct icmp6_frame *f, uint32_t bytes)
{
	const struct rte_ipv6_hdr *quoted = (const void *)(f + 1);
	return bytes >= sizeof(*f) + sizeof(*quoted) &&
	       memcmp(quoted->src_addr, self->addr.b, sizeof(quoted->src_addr)) == 0 &&
	       (quoted->proto == IPPROTO_UDP || quoted->proto == IPPROTO_FRAGMENT);
}

static enum nd_kind error_kind(uint8_t type)
{
	switch (type) {
	case ICMP6_DST_UNREACH:
		return ND_UNREACHABLE;
	case ICMP6_PACKET_TOO_BIG:
		return ND_TOO_BIG;
	case ICMP6_TIME_EXCEEDED:
		return ND_EXPIRED;
	default:
		return ND_OTHER;
	}
}

size_t nd_addressees(const struct rte_mbuf *m, struct ip_addr whom[2])
{
	const struct nd_frame *f = rte_pktmbuf_mtod(m, const struct nd_frame *);
	if (m->data_len < sizeof(f->head))
		return 0;
	memcpy(whom[0].b, f->head.ip.dst_addr, sizeof(whom[0].b));
	if (m->data_len < offsetof(struct nd_frame, option) || f->head.type != ND_NEIGHBOR_SOLICIT)
		return 1;
	memcpy(whom[1].b, f->target, sizeof(whom[1].b));
	return 2;
}

struct nd nd_read(const struct nd_self *self, const struct rte_mbuf *m)
{
	struct icmp6_frame *f = rte_pktmbuf_mtod(m, struct icmp6_frame *);
	struct nd nd = { .kind = ND_OTHER };
	if (m->data_len < sizeof(*f))
		return nd;
	memcpy(nd.who.b, f->ip.src_addr, sizeof(nd.who.b));
	nd.mac = f->eth.src_addr;
	uint32_t bytes =
		(uint32_t)offsetof(struct icmp6_frame, type) + rte_be_to_cpu_16(f->ip.payload_len);
	if (bytes < sizeof(*f) || bytes > m->data_len || m->nb_segs != 1 || csum_of(f) != f->csum)
		return nd;
	switch (f->type) {
	case ND_NEIGHBOR_SOLICIT:
	case ND_NEIGHBOR_ADVERT:
		neighbour_read(self, m, (uint16_t)bytes, &nd);
		break;
	case ICMP6_ECHO_REQUEST:
		if (memcmp(f->ip.dst_addr, self->addr.b, sizeof(f->ip.dst_addr)) == 0)
			nd.kind = ND_ECHO;
		break;
	default:
		if (!quotes_ours(self, f, bytes))
			break;
		nd.kind = error_kind(f->type);
		memcpy(&nd.mtu, f->word, sizeof(nd.mtu));
		nd.mtu = rte_be_to_cpu_32(nd.mtu);
		break;
	}
	return nd;
}
