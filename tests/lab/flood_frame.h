// Frames of the lab's flood: what a peer of the agent's would send, and what each kind of hostile
// sender makes of it. No I/O. Written without the agent's own headers: an instrument.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FLOOD_FRAME_BYTES 9216

struct flood_rng {
	uint64_t state;
};
uint64_t flood_random(struct flood_rng *g);
static inline uint32_t flood_below(struct flood_rng *g, uint32_t n)
{
	return (uint32_t)((flood_random(g) >> 32) * n >> 32);
}

// Who is attacked, and as whom; ip: network byte order, 4 bytes of it with IPv4.
struct flood_target {
	bool v6;
	uint16_t vlan; // of the agent; 0 = untagged
	uint16_t udp_port, cookie, sport;
	uint32_t payload;		  // of a request of the peer's
	uint32_t mtu;			  // of the interface that the flood leaves by
	uint8_t mac[6], ip[16];		  // the agent's
	uint8_t peer_ip[16];		  // one that the agent talks to
	uint8_t ping_mac[6], ping_ip[16]; // the flood's own, for pings that are meant well
};

struct flood_frame {
	size_t l3, l4, len; // len: what is sent
	uint8_t b[FLOOD_FRAME_BYTES];
};

// The request of the peer's stream 0 but for its cookie, and with as many bytes of payload.
// Whatever is written into it afterwards, flood_seal makes lengths and checksums right.
void flood_request(struct flood_frame *f, const struct flood_target *t, struct flood_rng *g,
		   uint32_t payload);
void flood_cookie(struct flood_frame *f, uint16_t cookie);
void flood_seal(struct flood_frame *f, const struct flood_target *t);
// A ping to the agent from the flood's own address.
void flood_ping(struct flood_frame *f, const struct flood_target *t, uint16_t id, uint16_t seq);
// The end of a header: an IP packet of that protocol and length, sealed but for its own checksum.
void flood_packet(struct flood_frame *f, const struct flood_target *t, struct flood_rng *g,
		  uint8_t protocol, size_t bytes);
// The same after the Ethernet header and tags: ARP and the like.
uint8_t *flood_ether(struct flood_frame *f, const struct flood_target *t, struct flood_rng *g,
		     uint16_t type, size_t bytes);
// Ones' complement of the sum, over bytes, in network byte order.
uint16_t flood_sum(const uint8_t *p, size_t bytes, uint32_t start);
void flood_put16(uint8_t *p, uint32_t v);
// The checksum of an ICMPv6 message at l4 up to the frame's end.
void flood_seal_icmp6(struct flood_frame *f);

// One kind of hostile frame. `reason`: the counter that it must end in, "any" where a frame may be
// anything, "kernel" where it does not get as far as the agent.
struct flood_kind {
	const char *name, *reason;
	void (*make)(struct flood_frame *f, const struct flood_target *t, struct flood_rng *g);
	unsigned families;  // bits: 4 and 6
	bool slow;	    // it goes to the agent's main thread
	unsigned weight;    // 0 = 8
	unsigned mtu_above; // only where more than that can be sent
};
extern const struct flood_kind flood_kind[];
extern const size_t flood_kinds;
