// Frame sizes, bit rates and how numbers are shown.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define WIRE_OVERHEAD_BYTES 20	  // preamble 7, SFD 1, inter-frame gap 12 (IEEE 802.3)
#define FRAME_MIN_BYTES 64	  // with FCS
#define IP4_UDP_OVERHEAD_BYTES 46 // Ethernet 14 + IPv4 20 + UDP 8 + FCS 4

// What tags and IPv6 add to a frame of untagged IPv4. The functions below take it as if it were
// payload: frame_bytes(payload + encap).
#define VLAN_TAG_BYTES 4
#define IP6_EXTRA_BYTES 20
static inline uint32_t encap_bytes(bool ip6, unsigned tags)
{
	return (ip6 ? IP6_EXTRA_BYTES : 0) + tags * VLAN_TAG_BYTES;
}

// Ethernet frame with FCS that carries a UDP payload over untagged IPv4: max(64, payload + 46).
uint32_t frame_bytes(uint32_t payload_bytes);
// The same on the wire (L1): frame + 20.
uint32_t l1_bytes(uint32_t payload_bytes);
// Bits per second of `pps` packets: L1, L2 (frame with FCS) and payload.
double l1_bps(double pps, uint32_t payload_bytes);
double l2_bps(double pps, uint32_t payload_bytes);
double payload_bps(double pps, uint32_t payload_bytes);
// Packets per second at line rate of `link_bps`: link / (8 (F + 20)).
double line_rate_pps(double link_bps, uint32_t payload_bytes);

// Three or four significant digits with a k/M/G suffix: "1.23 M", "980", "12.5 k". buf >= 16.
char *si_str(double v, char *buf, size_t size);
// Nanoseconds as "850 ns", "12.3 us", "4.56 ms", "1.20 s". buf >= 16.
char *ns_str(double ns, char *buf, size_t size);
// 1234567 -> "1,234,567". buf >= 28.
char *count_str(uint64_t v, char *buf, size_t size);
