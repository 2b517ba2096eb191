#include "rss.h"

#include "rules.h"
#include "steer.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define GROUPS_MAX 64 // of 64 entries of a redirection table
#define RETA_MAX (GROUPS_MAX * RTE_ETH_RETA_GROUP_SIZE)

// The planned key, repeated or cut to the length that the port takes. Returns that.
static uint8_t planned_key(const struct hostcfg *cfg, uint8_t want, uint8_t key[RSS_KEY_MAX])
{
	unsigned int n = steer_key(cfg->port.rss_key, key, RSS_KEY_MAX);
	if (n == 0)
		return 0;
	for (unsigned int i = n; i < RSS_KEY_MAX; i++)
		key[i] = key[i - n];
	return want > 0 && want < RSS_KEY_MAX ? want : (uint8_t)n;
}

static uint64_t fields(const struct rte_eth_dev_info *info)
{
	return (RTE_ETH_RSS_IP | RTE_ETH_RSS_UDP) & info->flow_type_rss_offloads;
}

static uint64_t ports_field(const struct hostcfg *cfg)
{
	return ip_is4(&cfg->addr) ? RTE_ETH_RSS_NONFRAG_IPV4_UDP : RTE_ETH_RSS_NONFRAG_IPV6_UDP;
}

void rss_conf(const struct hostcfg *cfg, const struct rte_eth_dev_info *info,
	      uint8_t key[RSS_KEY_MAX], struct rte_eth_conf *conf)
{
	uint8_t bytes = planned_key(cfg, info->hash_key_size, key);
	if (cfg->port.rss != RSS_ON || cfg->port.queues == 1 || fields(info) == 0)
		return;
	conf->rxmode.mq_mode = RTE_ETH_MQ_RX_RSS;
	conf->rx_adv_conf.rss_conf.rss_hf = fields(info);
	if (bytes > 0) {
		conf->rx_adv_conf.rss_conf.rss_key = key;
		conf->rx_adv_conf.rss_conf.rss_key_len = bytes;
	}
}

__attribute__((format(printf, 2, 3))) static bool no(struct claim *c, const char *form, ...)
{
	va_list args;
	va_start(args, form);
	vsnprintf(c->why, sizeof(c->why), form, args);
	va_end(args);
	return false;
}

static void key_text(const uint8_t *key, unsigned int n, char *text)
{
	for (unsigned int i = 0; i < n; i++)
		sprintf(text + 2 * i, "%02x", key[i]);
}

// Some PMDs take a key only when asked for it by itself.
static bool key_holds(uint16_t port, const struct hostcfg *cfg, const struct rte_eth_dev_info *info,
		      struct claim *c)
{
	uint8_t want[RSS_KEY_MAX], have[RSS_KEY_MAX] = { 0 };
	char text[2 * RSS_KEY_MAX + 1];
	struct rte_eth_rss_conf now = { .rss_key = have, .rss_key_len = sizeof(have) };
	uint8_t bytes = planned_key(cfg, info->hash_key_size, want);
	int r = rte_eth_dev_rss_hash_conf_get(port, &now);
	if (r == 0 &&
	    (memcmp(have, want, RSS_KEY_BYTES) != 0 || (now.rss_hf & ports_field(cfg)) == 0)) {
		struct rte_eth_rss_conf set = { want, bytes, fields(info) };
		rte_eth_dev_rss_hash_update(port, &set);
		now = (struct rte_eth_rss_conf){ have, sizeof(have), 0 };
		r = rte_eth_dev_rss_hash_conf_get(port, &now);
	}
	if (r != 0)
		return no(c, "the port does not tell its RSS key: %s", strerror(-r));
	if ((now.rss_hf & ports_field(cfg)) == 0)
		return no(c, "the port hashes addresses without UDP ports");
	if (memcmp(have, want, RSS_KEY_BYTES) == 0)
		return true;
	key_text(have, bytes, text);
	return no(c, "the port keeps its own key: in its profile, set rss_key: %s", text);
}

static int reta_read(uint16_t port, uint16_t entries, struct rte_eth_rss_reta_entry64 *reta)
{
	memset(reta, 0, GROUPS_MAX * sizeof(*reta));
	for (uint16_t i = 0; i < entries; i++)
		reta[i / RTE_ETH_RETA_GROUP_SIZE].mask |= UINT64_C(1)
							  << i % RTE_ETH_RETA_GROUP_SIZE;
	return rte_eth_dev_rss_reta_query(port, reta, entries);
}

// Hash for hash, over every entry of the table and every slot of the plan.
static bool reta_is_planned(const struct rte_eth_rss_reta_entry64 *reta, uint16_t entries,
			    uint16_t queues)
{
	for (uint32_t hash = 0; hash < (uint32_t)entries * STEER_SLOTS_MAX; hash++) {
		uint32_t i = hash % entries;
		if (reta[i / RTE_ETH_RETA_GROUP_SIZE].reta[i % RTE_ETH_RETA_GROUP_SIZE] !=
		    steer_queue(hash, queues))
			return false;
	}
	return true;
}

static bool table_holds(uint16_t port, uint16_t queues, uint16_t entries, struct claim *c)
{
	struct rte_eth_rss_reta_entry64 reta[GROUPS_MAX];
	if (entries == 0 || entries > RETA_MAX)
		return no(c, "the port does not tell its redirection table");
	int r = reta_read(port, entries, reta);
	if (r == 0 && !reta_is_planned(reta, entries, queues)) {
		for (uint16_t i = 0; i < entries; i++)
			reta[i / RTE_ETH_RETA_GROUP_SIZE].reta[i % RTE_ETH_RETA_GROUP_SIZE] =
				steer_queue(i, queues);
		rte_eth_dev_rss_reta_update(port, reta, entries);
		r = reta_read(port, entries, reta);
	}
	if (r != 0)
		return no(c, "the port does not tell its redirection table: %s", strerror(-r));
	return reta_is_planned(reta, entries, queues) ||
	       no(c, "the port keeps to a redirection table of its own");
}

static bool hash_holds(uint16_t port, const struct hostcfg *cfg, struct claim *c)
{
	struct rte_eth_dev_info info;
	// the kernel's driver hashes, with a key that somebody looked up
	if (cfg->port.rss == RSS_NONE)
		return cfg->port.rss_key[0] != '\0' || no(c, "the profile has no rss_key");
	int r = rte_eth_dev_info_get(port, &info);
	if (r != 0)
		return no(c, "no device info: %s", strerror(-r));
	if ((info.flow_type_rss_offloads & ports_field(cfg)) == 0)
		return no(c, "the port cannot hash UDP ports: queues: 1 is what it can serve");
	return key_holds(port, cfg, &info, c) &&
	       table_holds(port, cfg->port.queues, info.reta_size, c);
}

void rss_claim(uint16_t port, const struct hostcfg *cfg, struct claim *c)
{
	*c = (struct claim){ .steered = cfg->port.queues == 1 };
	if (c->steered)
		return;
	// Only the first fragment has ports: a rule by ports would part it from the others.
	bool by_ports = cfg->port.steering == STEER_RSS || cfg->port.steering == STEER_RULES ||
			cfg->port.steering == STEER_LEARNED;
	if (by_ports && hostcfg_fragments(cfg)) {
		c->steered = no(c, "fragments come in by their addresses, without ports");
		fprintf(stderr, "pmx-agent: replies may come in on any queue: %s\n", c->why);
		return;
	}
	switch (cfg->port.steering) {
	case STEER_LEARNED:
	case STEER_PAIRS:
		c->steered = true;
		break;
	case STEER_RSS:
		c->steered = hash_holds(port, cfg, c);
		break;
	case STEER_RULES:
		c->steered = rules_set(port, cfg, c->why, sizeof(c->why));
		break;
	default:
		break;
	}
	if (c->why[0] != '\0')
		fprintf(stderr, "pmx-agent: replies may come in on any queue: %s\n", c->why);
}
