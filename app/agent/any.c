#include "any.h"

#include <stdlib.h>
#include <string.h>

#define TCI_VLAN_MASK 0x0fff
#define TCI_PCP_SHIFT 13

struct layout layout_of(const struct hostcfg *cfg)
{
	return layout_make(!ip_is4(&cfg->addr), (unsigned)cfg->vlan_count);
}

bool layout_is_plain(const struct hostcfg *cfg)
{
	for (size_t i = 0; i < cfg->tx_count; i++)
		if (cfg->tx[i].req_mix != 0 || cfg->tx[i].rep_mix != 0)
			return false;
	for (size_t i = 0; i < cfg->rx_count; i++)
		if (cfg->rx[i].req_mix != 0 || cfg->rx[i].rep_mix != 0)
			return false;
	for (size_t i = 0; i < cfg->rx_count; i++)
		if (cfg->rx[i].peer_sources > 1)
			return false;
	return ip_is4(&cfg->addr) && cfg->vlan_count == 0 && cfg->src_count == 0 &&
	       !hostcfg_fragments(cfg);
}

uint16_t any_low_at(const struct layout *at, enum pmx_kind kind)
{
	size_t end = kind == PMX_REQUEST
			     ? (at->v6 ? offsetof(struct rte_ipv6_hdr, dst_addr)
				       : offsetof(struct rte_ipv4_hdr, dst_addr))
			     : (at->v6 ? sizeof(struct rte_ipv6_hdr) : sizeof(struct rte_ipv4_hdr));
	return (uint16_t)(at->l3 + end - sizeof(rte_be32_t));
}

void layout_tci(const struct hostcfg *cfg, uint16_t tci[FRAME_TAGS_MAX])
{
	for (size_t i = 0; i < FRAME_TAGS_MAX; i++)
		tci[i] = (uint16_t)(cfg->vlan[i] | cfg->pcp << TCI_PCP_SHIFT);
}

void any_template(struct head *h, const struct layout *at, const struct frame_spec *s)
{
	head_build(h->b, at, s);
	memset(h->b + at->len, 0, sizeof(rte_be16_t));
	memset(h->b + at->udp + offsetof(struct rte_udp_hdr, dgram_len), 0, sizeof(rte_be16_t));
	if (at->v6)
		return;
	struct rte_ipv4_hdr *ip = (struct rte_ipv4_hdr *)(void *)(h->b + at->l3);
	ip->hdr_checksum = 0;
	ip->hdr_checksum = (uint16_t)~rte_ipv4_cksum(ip);
}

static void mask_tags(uint8_t *m, const struct layout *at)
{
	rte_be16_t id = RTE_BE16(TCI_VLAN_MASK);
	for (unsigned i = 0; i < at->tags; i++) {
		uint8_t *tag = m + 2 * RTE_ETHER_ADDR_LEN + i * sizeof(struct rte_vlan_hdr);
		// of two, the outer one's type is judged apart: a driver may have put it back
		if (i + 1 == at->tags)
			memset(tag, 0xff, 2);
		memcpy(tag + 2, &id, sizeof(id));
	}
	memset(m + at->l3 - 2, 0xff, 2);
}

static void mask_ip(uint8_t *m, const struct layout *at)
{
	if (at->v6) {
		struct rte_ipv6_hdr ip = { .vtc_flow = RTE_BE32(0xf0000000),
					   .proto = 0xff,
					   .hop_limits = 0xff };
		memset(ip.src_addr, 0xff, sizeof(ip.src_addr));
		memset(ip.dst_addr, 0xff, sizeof(ip.dst_addr));
		memcpy(m + at->l3, &ip, sizeof(ip));
		return;
	}
	struct rte_ipv4_hdr ip = {
		.version_ihl = 0xff,
		.fragment_offset = (rte_be16_t)~RTE_BE16(RTE_IPV4_HDR_DF_FLAG),
		.time_to_live = 0xff,
		.next_proto_id = 0xff,
		.src_addr = UINT32_MAX,
		.dst_addr = UINT32_MAX,
	};
	memcpy(m + at->l3, &ip, sizeof(ip));
}

struct any_expect any_mask(const struct layout *at, enum pmx_kind kind)
{
	struct any_expect mask;
	uint8_t m[sizeof(mask)] = { 0 };
	memset(m, 0xff, RTE_ETHER_ADDR_LEN);
	mask_tags(m, at);
	mask_ip(m, at);
	// the other port is the stream's
	memset(m + at->udp + (kind == PMX_REQUEST ? 2 : 0), 0xff, 2);
	memset(m + at->pmx, 0xff, offsetof(struct pmx_hdr, trial));
	// and so is the end of the requester's address
	memset(m + any_low_at(at, kind), 0, sizeof(rte_be32_t));
	memcpy(&mask, m, sizeof(mask));
	return mask;
}

struct size any_size(const struct layout *at, const struct sender *by, uint32_t payload_bytes)
{
	bool fragments = datagram_frames(by, payload_bytes) > 1;
	uint32_t frame_len = at->pmx + payload_bytes;
	if (frame_len < FRAME_MIN_NO_FCS)
		frame_len = FRAME_MIN_NO_FCS;
	uint16_t udp = (uint16_t)(sizeof(struct rte_udp_hdr) + payload_bytes);
	uint16_t ip = (uint16_t)(udp + (at->v6 ? 0 : sizeof(struct rte_ipv4_hdr)));
	return (struct size){
		.payload_bytes = payload_bytes,
		.frame_len = frame_len,
		.mbuf_len = (uint16_t)(fragments ? at->pmx + sizeof(struct pmx_hdr) : frame_len),
		.fragments = fragments,
		.ip_len = rte_cpu_to_be_16(ip),
		.udp_len = rte_cpu_to_be_16(udp),
	};
}

// The place among sizes that ascend.
static uint16_t size_number(const struct size *size, uint32_t count, uint64_t bytes)
{
	uint32_t low = 0, high = count;
	while (low + 1 < high) {
		uint32_t mid = (low + high) / 2;
		if (size[mid].payload_bytes <= bytes)
			low = mid;
		else
			high = mid;
	}
	return (uint16_t)low;
}

struct sizes any_sizes(const struct layout *at, const struct sender *by, const struct size_mix *mix,
		       struct size *size, uint16_t *turn)
{
	const struct uints *cycle = mix->cycle;
	struct mix_size *sizes = malloc(cycle->count * sizeof(*sizes));
	struct sizes z = { .cycle = cycle->count,
			   .inverse = UINT64_MAX / cycle->count + 1,
			   .turn = turn,
			   .size = size };
	if (sizes == NULL)
		return (struct sizes){ 0 };
	z.count = (uint32_t)mix_sizes(mix, sizes);
	for (uint32_t i = 0; i < z.count; i++)
		size[i] = any_size(at, by, sizes[i].bytes);
	free(sizes);
	for (uint32_t i = 0; i < z.cycle; i++)
		turn[i] = size_number(size, z.count, cycle->v[i]);
	return z;
}
