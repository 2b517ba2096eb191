// What spreads a port's frames over its queues: set as the plan has it, then asked of the port. A
// claim is made only of what the port says itself.
#pragma once

#include "hostcfg.h"

#include <rte_ethdev.h>

#include <stdbool.h>
#include <stdint.h>

#define RSS_KEY_MAX 128

struct claim {
	// Frames come in on the queues that their ports were chosen for, and replies on the one
	// that asked.
	bool steered;
	char why[200]; // not so, against the plan; "" = as planned
};

// The hash of a port that is not configured yet, into *conf, which keeps a pointer to `key`.
void rss_conf(const struct hostcfg *cfg, const struct rte_eth_dev_info *info,
	      uint8_t key[RSS_KEY_MAX], struct rte_eth_conf *conf);
// Of a port that runs: sets what it has not taken at its configuration, and reads it back.
void rss_claim(uint16_t port, const struct hostcfg *cfg, struct claim *c);
