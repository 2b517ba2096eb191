// The port under test: set up, link, counters.
#pragma once

#include "hostcfg.h"
#include "queue.h"
#include "result.h"
#include "rss.h"

#include "err.h"

#include <rte_ethdev.h>

struct port {
	uint16_t id;
	int socket;
	char driver[64];
	struct rte_ether_addr mac;
	struct rte_eth_dev_info info;
	uint16_t mtu;	   // as it was found to be in effect
	uint16_t rxd, txd; // as adjusted to the PMD's limits
	bool csum_hw, multi_segs, counts_missed;
	struct rte_eth_stats base; // at the start: counters are differences
	uint64_t pause_rx, pause_tx;
	uint8_t rss_key[RSS_KEY_MAX]; // PMDs keep pointers to it
	struct claim claim;
};

// Finds the config's device among EAL's ports, configures it and learns what queues must know.
int port_open(struct port *p, const struct hostcfg *cfg, struct err *e);
// Sets up the queues with their pools and starts the port; one that is restarted until it has a
// link may fail to start for now.
int port_start(struct port *p, const struct hostcfg *cfg, struct queue *const *queue,
	       struct err *e);
bool port_link_up(const struct port *p);
// For PMDs that connect in dev_start only: once more.
int port_restart(struct port *p, struct err *e);
void port_read(const struct port *p, struct port_counts *c);
void port_close(struct port *p);
