#include "rules.h"

#include "steer.h"

#include <rte_byteorder.h>
#include <rte_flow.h>

#include <stdio.h>
#include <stdlib.h>

static int rule_set(uint16_t port, const struct hostcfg *cfg, uint16_t sport, bool reply,
		    struct rte_flow_error *why)
{
	static const struct rte_flow_item_udp exact = { .hdr = { .src_port = RTE_BE16(0xffff),
								 .dst_port = RTE_BE16(0xffff) } };
	struct rte_flow_attr in = { .ingress = 1 };
	uint16_t from = reply ? cfg->udp_port : sport, to_port = reply ? sport : cfg->udp_port;
	struct rte_flow_item_udp udp = { .hdr = { .src_port = rte_cpu_to_be_16(from),
						  .dst_port = rte_cpu_to_be_16(to_port) } };
	struct rte_flow_item item[4 + VLANS_MAX] = { { .type = RTE_FLOW_ITEM_TYPE_ETH } };
	size_t n = 1;
	for (size_t i = 0; i < cfg->vlan_count; i++)
		item[n++].type = RTE_FLOW_ITEM_TYPE_VLAN;
	item[n++].type = ip_is4(&cfg->addr) ? RTE_FLOW_ITEM_TYPE_IPV4 : RTE_FLOW_ITEM_TYPE_IPV6;
	item[n++] = (struct rte_flow_item){ RTE_FLOW_ITEM_TYPE_UDP, &udp, NULL, &exact };
	item[n].type = RTE_FLOW_ITEM_TYPE_END;
	struct rte_flow_action_queue to = { .index = sport % cfg->port.queues };
	struct rte_flow_action action[] = { { RTE_FLOW_ACTION_TYPE_QUEUE, &to },
					    { RTE_FLOW_ACTION_TYPE_END, NULL } };
	return rte_flow_create(port, &in, item, action, why) != NULL ? 0 : -1;
}

static void mark(bool *has, const uint16_t *table, uint32_t first, uint16_t sport_first,
		 uint32_t streams)
{
	for (uint32_t s = 0; s < streams; s++)
		has[steer_port(table, first, sport_first, s)] = true;
}

static bool set_all(uint16_t port, const struct hostcfg *cfg, const bool *replies,
		    const bool *requests, char *text, size_t size)
{
	struct rte_flow_error why = { .message = NULL };
	unsigned int done = 0, all = 0;
	for (uint32_t p = 0; p <= UINT16_MAX; p++)
		all += replies[p] + requests[p];
	for (uint32_t p = 0; p <= UINT16_MAX; p++) {
		if ((replies[p] && rule_set(port, cfg, (uint16_t)p, true, &why) != 0) ||
		    (requests[p] && rule_set(port, cfg, (uint16_t)p, false, &why) != 0)) {
			rte_flow_flush(port, NULL);
			snprintf(text, size, "the port took %u of %u flow rules: %s", done, all,
				 why.message != NULL ? why.message : "it does not say why");
			return false;
		}
		done += replies[p] + requests[p];
	}
	return true;
}

bool rules_set(uint16_t port, const struct hostcfg *cfg, char *why, size_t size)
{
	struct steer_table ports = { 0 };
	struct err e = { 0 };
	bool *has = calloc(2 * (UINT16_MAX + 1u), sizeof(*has)), done = false;
	bool *requests = has + UINT16_MAX + 1;
	if (has == NULL) {
		snprintf(why, size, "no memory");
	} else if (steer_open(&ports, cfg, &e) != 0) {
		snprintf(why, size, "%s", e.msg);
	} else {
		for (size_t i = 0; i < cfg->tx_count; i++)
			mark(has, ports.tx, cfg->tx[i].tx_first, cfg->tx[i].sport_first,
			     cfg->tx[i].streams);
		for (size_t i = 0; i < cfg->rx_count; i++)
			mark(requests, ports.rx, cfg->rx[i].rx_first, cfg->rx[i].sport_first,
			     cfg->rx[i].streams);
		done = set_all(port, cfg, has, requests, why, size);
	}
	steer_close(&ports);
	free(has);
	return done;
}
