// Frames: Ethernet / IPv4 / UDP / pmx header, untagged, and their checksums.
#pragma once

#include "wire.h"

#include <rte_byteorder.h>
#include <rte_ether.h>
#include <rte_ip.h>
#include <rte_udp.h>

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

// What a frame needs to be told apart; addresses in host byte order.
struct frame_spec {
	struct rte_ether_addr src_mac, dst_mac;
	uint32_t src, dst;
	uint16_t sport, dport;
	uint32_t payload_bytes;
	uint16_t cookie;
	enum pmx_kind kind;
	uint32_t stream;
};

// Writes the first 60 bytes: valid IPv4 checksum, UDP checksum field 0, trial/seq/tsc 0.
void frame_build(struct frame *f, const struct frame_spec *s);

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

static inline uint64_t load64(const void *p)
{
	uint64_t v;
	__builtin_memcpy(&v, p, sizeof(v));
	return v;
}

static inline uint32_t load32(const void *p)
{
	uint32_t v;
	__builtin_memcpy(&v, p, sizeof(v));
	return v;
}

typedef uint16_t words128 __attribute__((vector_size(16)));

static inline words128 load_words(const void *p)
{
	words128 v;
	__builtin_memcpy(&v, p, sizeof(v));
	return v;
}

// 16 bytes in one store.
static inline void store_pair(uint8_t *to, uint64_t first, uint64_t second)
{
	typedef uint64_t pair __attribute__((vector_size(16)));
	pair v = { first, second };
	__builtin_memcpy(to, &v, sizeof(v));
}

static inline void put_mac(struct rte_ether_addr *to, uint64_t mac48)
{
	__builtin_memcpy(to->addr_bytes, &mac48, RTE_ETHER_ADDR_LEN);
}
