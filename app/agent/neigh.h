// Neighbours: ARP (RFC 826) or neighbour discovery (nd.h), and answers to ping, for the main
// thread. lcores hand such frames over (queue.punt) and send what it makes (queue.inject).
#pragma once

#include "hop.h"
#include "nd.h"
#include "queue.h"

#include "hostcfg.h"

#include "err.h"

struct neigh_table {
	struct hop *hop; // owned
	size_t hop_count;
	size_t *tx_hop, *rx_hop; // owned: hop of each flow
	const struct hostcfg *cfg;
	struct agent_shared *shared;
	struct rte_ether_addr mac;
	struct nd_self self;
	struct layout at;
	uint16_t tci[FRAME_TAGS_MAX];
	struct queue *const *queue;
	uint64_t drop[DROP_REASONS]; // frames that lcores handed over in vain
	struct icmp_counts icmp;
};

// Next hop: the peer itself within the subnet, else the gateway.
int neigh_open(struct neigh_table *t, const struct hostcfg *cfg, struct agent_shared *shared,
	       const struct rte_ether_addr *mac, struct queue *const *queue, struct err *e);
void neigh_close(struct neigh_table *t);
// Takes what lcores handed over, and answers it. now: CLOCK_MONOTONIC_RAW.
void neigh_answer(struct neigh_table *t, uint64_t now_ns);
// The same, and asks for who is due.
void neigh_poll(struct neigh_table *t, uint64_t now_ns);
bool neigh_complete(const struct neigh_table *t);
// "198.18.0.2, 198.18.0.3": who did not answer.
void neigh_missing(const struct neigh_table *t, char *buf, size_t size);
// The next hop that is silent for the longest time, NULL = none is.
const struct hop *neigh_silent(const struct neigh_table *t, uint64_t now_ns);
