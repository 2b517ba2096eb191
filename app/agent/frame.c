#include "frame.h"

#include <string.h>

void frame_build(struct frame *f, const struct frame_spec *s)
{
	*f = (struct frame){
		.eth = {
			.dst_addr = s->dst_mac,
			.src_addr = s->src_mac,
			.ether_type = RTE_BE16(RTE_ETHER_TYPE_IPV4),
		},
		.ip = {
			.version_ihl = RTE_IPV4_VHL_DEF,
			.total_length = rte_cpu_to_be_16((uint16_t)(sizeof(f->ip) + sizeof(f->udp) +
								    s->payload_bytes)),
			.fragment_offset = RTE_BE16(RTE_IPV4_HDR_DF_FLAG),
			.time_to_live = FRAME_TTL,
			.next_proto_id = IPPROTO_UDP,
			.src_addr = rte_cpu_to_be_32(s->src),
			.dst_addr = rte_cpu_to_be_32(s->dst),
		},
		.udp = {
			.src_port = rte_cpu_to_be_16(s->sport),
			.dst_port = rte_cpu_to_be_16(s->dport),
			.dgram_len = rte_cpu_to_be_16((uint16_t)(sizeof(f->udp) + s->payload_bytes)),
		},
		.pmx = {
			.cookie = rte_cpu_to_be_16(s->cookie),
			.verkind = PMX_VERKIND(s->kind),
			.stream = { rte_cpu_to_be_16((uint16_t)(s->stream >> 16)),
				    rte_cpu_to_be_16((uint16_t)s->stream) },
		},
	};
	f->ip.hdr_checksum = rte_ipv4_cksum(&f->ip);
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

static uint64_t pseudo_sum(const struct frame *f)
{
	return sum_words(&f->ip.src_addr, 8) + RTE_BE16(IPPROTO_UDP) + f->udp.dgram_len;
}

uint64_t frame_udp_sum(const struct frame *f)
{
	return pseudo_sum(f) + sum_words(&f->udp, 6) + sum_words(&f->pmx, sizeof(f->pmx));
}

uint16_t frame_pseudo_csum(const struct frame *f)
{
	return csum_fold(pseudo_sum(f));
}
