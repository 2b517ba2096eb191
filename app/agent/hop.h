// One next hop: where it is, whether it still is there, when to ask it and whom (RFC 1122, 2.3.2.1;
// RFC 4861, 7.3). Traffic goes on to the last known MAC whatever is found. No I/O; times are ns of
// one clock.
#pragma once

#include "ip_addr.h"

#include <rte_ether.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct hop {
	struct ip_addr addr;
	struct rte_ether_addr mac;
	bool known;
	unsigned asked;	    // since its last answer
	uint64_t ask_ns;    // next time to ask
	uint64_t again_ns;  // after an answer
	uint64_t answer_ns; // of the last
	uint64_t doubt_ns;  // not before it is another MAC a reason to ask at once
	uint64_t changes;   // of its MAC after the first answer
	uint64_t silences;  // how often it stopped to answer
};

enum hop_ask { HOP_WAIT, HOP_ASK_IT, HOP_ASK_ALL };

// How often each of `count` hops is asked, of which this is number i: seldom enough that all of
// them make a bearable load, and spread, so that those that answered at one instant are not asked
// at one.
uint64_t hop_again_ns(size_t i, size_t count);
enum hop_ask hop_due(const struct hop *h, uint64_t now_ns);
// What hop_due wanted was sent, or not: then the same is wanted a little later.
void hop_asked(struct hop *h, bool sent, uint64_t now_ns);
// It is there, at the MAC that is known.
void hop_confirm(struct hop *h, uint64_t now_ns);
// It is there, at this MAC. True: that is news.
bool hop_answer(struct hop *h, const struct rte_ether_addr *mac, uint64_t now_ns);
// Whether this is another MAC while the known one was not asked in vain, as often as it is asked
// alone: then nobody may take its place.
bool hop_disputes(const struct hop *h, const struct rte_ether_addr *mac);
// Somebody hints at another MAC, or claims it: ask soon, four times a second at most.
void hop_doubt(struct hop *h, uint64_t now_ns);
// For how long it has not answered; 0 = it does, or never did.
uint64_t hop_silent_ns(const struct hop *h, uint64_t now_ns);
