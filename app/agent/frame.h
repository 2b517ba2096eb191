// Frames: Ethernet, up to two VLAN tags, IPv4 or IPv6, UDP, pmx header; and their checksums. A port
// has one layout. The one of untagged IPv4 is known to the compiler: struct frame.
#pragma once

#include "load.h"

#include "ip_addr.h"
#include "wire.h"

#include <rte_byteorder.h>
#include <rte_ether.h>
#include <rte_ip.h>
#include <rte_udp.h>

#include <stdbool.h>
#include <stdint.h>

#define FRAME_TTL 64

struct frame {
	struct rte_ether_hdr eth;
	struct rte_ipv4_hdr ip;
	struct rte_udp_hdr udp;
	struct pmx_hdr pmx;
} __attribute__((packed, aligned(2)));

#define FRAME_HDR_BYTES 42 // up to the pmx header
_Static_assert(sizeof(struct frame) == FRAME_HDR_BYTES + PMX_HDR_BYTES, "60 bytes without FCS");

#define FRAME_MIN_NO_FCS 60

#define FRAME_TAGS_MAX 2

// Where things stand, in bytes from the start of a frame.
struct layout {
	uint8_t l3, udp, pmx;
	uint8_t len, ttl; // of the IP header: its length field, its TTL or hop limit
	uint8_t tags;
	bool v6;
};
struct layout layout_make(bool v6, unsigned tags);
#define LAYOUT_PLAIN ((struct layout){ .l3 = 14, .udp = 34, .pmx = 42, .len = 16, .ttl = 22 })

// The longest head: 14 + 2 * 4 + 40 + 8 up to the pmx header, and that; in whole vectors.
#define HEAD_BYTES 96

// What a frame needs to be told apart; both addresses of one family, that of the layout.
struct frame_spec {
	struct rte_ether_addr src_mac, dst_mac;
	uint16_t tci[FRAME_TAGS_MAX]; // outer first
	struct ip_addr src, dst;
	uint8_t dscp, ttl; // ttl 0 = FRAME_TTL
	uint16_t sport, dport;
	uint32_t payload_bytes;
	uint16_t cookie;
	enum pmx_kind kind;
	uint32_t stream;
};

// Writes the first 60 bytes of a plain frame: valid IPv4 checksum, UDP checksum field 0,
// trial/seq/tsc 0.
void frame_build(struct frame *f, const struct frame_spec *s);
// The same of any layout, HEAD_BYTES with zeros behind.
void head_build(uint8_t *head, const struct layout *at, const struct frame_spec *s);
// The tags alone; of two the outer one is the provider's (IEEE 802.1ad).
void head_put_tags(uint8_t *head, const struct layout *at, const uint16_t tci[FRAME_TAGS_MAX]);

// Bytes handed to the NIC for a payload (no FCS), at least 60.
static inline uint16_t frame_len(uint32_t payload_bytes)
{
	uint32_t n = FRAME_HDR_BYTES + payload_bytes;
	return (uint16_t)(n < FRAME_MIN_NO_FCS ? FRAME_MIN_NO_FCS : n);
}

// Ones' complement sums are kept in memory byte order and unfolded (RFC 1071 section 2): 2^16 = 1
// modulo 2^16 - 1, so whole 32-bit words may be added.
static inline uint16_t csum_fold(uint64_t sum)
{
	sum = (sum & 0xffffffff) + (sum >> 32); // 33 bits at most
	uint32_t s = (uint32_t)sum + (uint32_t)(sum >> 32);
	s += s << 16 | s >> 16; // both halves hold the sum, the upper one with its carry
	return (uint16_t)(s >> 16);
}

// The field's value: complement, and 0 is sent as all ones (RFC 768).
static inline uint16_t csum_udp(uint64_t sum)
{
	uint16_t c = (uint16_t)~csum_fold(sum);
	return c == 0 ? 0xffff : c;
}

// Sum of the UDP pseudo-header, UDP header (checksum field taken as 0) and pmx header of f. The
// payload behind the pmx header is zero and adds nothing.
uint64_t frame_udp_sum(const struct frame *f);
// The pseudo-header alone, as NICs want it in the checksum field for offload.
uint16_t frame_pseudo_csum(const struct frame *f);
uint64_t head_udp_sum(const uint8_t *head, const struct layout *at);
uint16_t head_pseudo_csum(const uint8_t *head, const struct layout *at);

// Destination of a head.
static inline void put_mac(uint8_t *head, uint64_t mac48)
{
	__builtin_memcpy(head, &mac48, RTE_ETHER_ADDR_LEN);
}
