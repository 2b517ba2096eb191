// Neighbour discovery (RFC 4861) and ICMPv6 echo: frames read and made, nothing kept. Untagged.
#pragma once

#include "ip_addr.h"

#include <rte_ether.h>
#include <rte_mbuf.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct nd_self {
	struct ip_addr addr;
	struct rte_ether_addr mac;
};

enum nd_kind {
	ND_OTHER,   // nothing for us
	ND_ASKED,   // somebody asks for our address: nd_answer
	ND_TOLD,    // somebody says his, or merely asks for another
	ND_ECHO,    // a ping: nd_echo
	ND_TOO_BIG, // a router's word on a packet of ours: mtu
	ND_UNREACHABLE,
	ND_EXPIRED, // its hop limit came to nothing on the way
};

struct nd {
	enum nd_kind kind;
	bool has_mac;		   // it says the MAC of who
	bool solicited;		   // ND_TOLD: the answer to a solicitation
	bool override;		   // its MAC is meant to take the place of another
	struct ip_addr who;	   // else the sender,
	struct rte_ether_addr mac; // and the frame's source
	uint32_t mtu;		   // ND_TOO_BIG
};

// The addresses that a frame may mean us by: its destination, and the target of a solicitation.
// Returns how many; nothing is judged.
size_t nd_addressees(const struct rte_mbuf *m, struct ip_addr whom[2]);
// What a frame of IPv6 and ICMPv6 says. Checksum, hop limit (255 of ND) and lengths are judged.
struct nd nd_read(const struct nd_self *self, const struct rte_mbuf *m);
// A solicitation for addr: to mac, or with NULL to all who listen for such an address.
void nd_ask(const struct nd_self *self, struct rte_mbuf *m, const struct ip_addr *addr,
	    const struct rte_ether_addr *mac);
// Turns what nd_read found into the answer, in place.
void nd_answer(const struct nd_self *self, struct rte_mbuf *m, const struct nd *nd);
void nd_echo(const struct nd_self *self, struct rte_mbuf *m, uint8_t hop_limit);
// ff02::1:ffXX:XXXX, to which solicitations for addr go; and its MAC (RFC 2464, 7).
struct ip_addr nd_group(const struct ip_addr *addr);
struct rte_ether_addr nd_group_mac(const struct ip_addr *group);
