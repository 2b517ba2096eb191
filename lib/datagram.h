// Datagrams: one UDP payload is one frame where the MTU has room for it, else fragments of IPv4
// (RFC 791) or IPv6 (RFC 8200, 4.5), each a frame of its own. How many, and what they are on the
// wire.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define IP4_UDP_HEADER_BYTES 28
#define IP6_UDP_HEADER_BYTES 48
#define PAYLOAD_MAX_BYTES (65535 - IP4_UDP_HEADER_BYTES)
#define DATAGRAM_FRAMES_MAX 8 // that DPDK puts together again: RTE_LIBRTE_IP_FRAG_MAX_FRAG
#define IP6_MTU_MIN 1280      // RFC 8200, 5

// What a host sends its datagrams by.
struct sender {
	uint32_t mtu;
	bool ip6;
	uint32_t tags;
};

// What the MTU leaves to IP. Links leave room for one tag beyond their MTU, but Linux only where it
// is of 802.1Q: the outer one of two is not, and both take theirs from there.
uint32_t sender_ip_mtu(const struct sender *c);
// The largest payload of one frame. Of an MTU that is not known (0) it is all.
uint32_t sender_payload(const struct sender *c);
// The largest payload that can be sent at all: of DATAGRAM_FRAMES_MAX frames, or of one where the
// MTU is too small for IPv6 to fragment.
uint32_t sender_payload_max(const struct sender *c);
// Frames of a payload, 1 or more.
uint32_t datagram_frames(const struct sender *c, uint32_t payload_bytes);
// What they take on the wire (L1), each with its headers, FCS, preamble and gap, on a link where
// they have `tags` tags.
uint32_t datagram_l1_bytes(const struct sender *c, uint32_t tags, uint32_t payload_bytes);
