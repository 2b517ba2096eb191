// One lcore of the benchmark and what it measured of its queue.
#pragma once

#include "offer.h"
#include "queue.h"

enum lane_phase {
	LANE_RX_PMD,  // rte_eth_rx_burst
	LANE_OFFER,   // writing what is offered: not the agent's
	LANE_RX_WORK, // check, count, record or turn round, free
	LANE_TX_DUE,  // schedule, mbufs, requests written
	LANE_TX_PMD,  // rte_eth_tx_burst, which frees on net_null
	LANE_PHASES
};
extern const char *const lane_phase_name[LANE_PHASES];

struct lane {
	struct queue *q;
	struct offer *offer;		   // or NULL
	double requests, replies, answers; // sent, received, sent
	double cpu_s, wall_s, offer_s;
	double alloc_cycles; // an mbuf taken from its pool and given back: which regime the core is
			     // in
	uint64_t phase[LANE_PHASES]; // TSC
};

// The agent's worker until shared->quit. For rte_eal_remote_launch; `arg` is a struct lane.
int lane_run(void *arg);
// Its loop without idling and housekeeping, with the TSC read between its steps.
int lane_phases(void *arg);
// What the lane's packets are: what was sent, or received where nothing is sent.
double lane_packets(const struct lane *l);
// The same so far of a running queue.
double lane_now(const struct queue *q);
