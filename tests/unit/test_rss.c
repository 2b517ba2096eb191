// What a port says of its hash, on net_null, which keeps a key and a table as a NIC does. Some of
// its answers are changed on their way, as other PMDs give them.
#include "rss.h"

#include "eal_run.h"
#include "steer.h"
#include "testlib.h"

#include <rte_bus_vdev.h>

#include <rte_flow.h>

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define KEY "6d5a56da255b0ec24167253d43a38fb0d0ca2bcbae7b30b477cb2da38030f20c6a42b73bbeac01fa"

// --- answers of other PMDs, by the linker's --wrap

static enum { AS_IT_IS, OWN_KEY, NO_PORTS, NO_KEY, OWN_TABLE, NO_TABLE } answer;

int __real_rte_eth_dev_rss_hash_conf_get(uint16_t port, struct rte_eth_rss_conf *conf);
int __wrap_rte_eth_dev_rss_hash_conf_get(uint16_t port, struct rte_eth_rss_conf *conf);
int __wrap_rte_eth_dev_rss_hash_conf_get(uint16_t port, struct rte_eth_rss_conf *conf)
{
	int r = __real_rte_eth_dev_rss_hash_conf_get(port, conf);
	if (answer == OWN_KEY)
		memset(conf->rss_key, 0xab, RSS_KEY_BYTES);
	if (answer == NO_PORTS)
		conf->rss_hf = RTE_ETH_RSS_IPV4;
	return answer == NO_KEY ? -ENOTSUP : r;
}

int __real_rte_eth_dev_rss_reta_query(uint16_t port, struct rte_eth_rss_reta_entry64 *reta,
				      uint16_t size);
int __wrap_rte_eth_dev_rss_reta_query(uint16_t port, struct rte_eth_rss_reta_entry64 *reta,
				      uint16_t size);
int __wrap_rte_eth_dev_rss_reta_query(uint16_t port, struct rte_eth_rss_reta_entry64 *reta,
				      uint16_t size)
{
	int r = __real_rte_eth_dev_rss_reta_query(port, reta, size);
	if (answer == OWN_TABLE)
		reta[1].reta[3] ^= 1;
	return answer == NO_TABLE ? -ENOTSUP : r;
}

static struct rule {
	size_t items;
	enum rte_flow_item_type ip;
	uint16_t sport, dport, queue;
} rule[64];
static size_t rules, rules_max;

struct rte_flow *__wrap_rte_flow_create(uint16_t port, const struct rte_flow_attr *attr,
					const struct rte_flow_item *item,
					const struct rte_flow_action *action,
					struct rte_flow_error *e);
struct rte_flow *__wrap_rte_flow_create(uint16_t port, const struct rte_flow_attr *attr,
					const struct rte_flow_item *item,
					const struct rte_flow_action *action,
					struct rte_flow_error *e)
{
	struct rule *r = &rule[rules];
	(void)port;
	if (rules == rules_max) {
		e->message = "the table is full";
		return NULL;
	}
	rules++;
	assert_true(attr->ingress);
	r->items = 0;
	while (item[r->items].type != RTE_FLOW_ITEM_TYPE_UDP)
		r->items++;
	r->ip = item[r->items - 1].type;
	const struct rte_flow_item_udp *udp = item[r->items].spec, *mask = item[r->items].mask;
	assert_int_equal(mask->hdr.src_port & mask->hdr.dst_port, 0xffff);
	r->sport = rte_be_to_cpu_16(udp->hdr.src_port);
	r->dport = rte_be_to_cpu_16(udp->hdr.dst_port);
	assert_int_equal(action->type, RTE_FLOW_ACTION_TYPE_QUEUE);
	r->queue = ((const struct rte_flow_action_queue *)action->conf)->index;
	return (struct rte_flow *)r;
}

int __wrap_rte_flow_flush(uint16_t port, struct rte_flow_error *e);
int __wrap_rte_flow_flush(uint16_t port, struct rte_flow_error *e)
{
	(void)port;
	(void)e;
	rules = 0;
	return 0;
}

static struct hostcfg cfg_of(enum steering by, uint16_t queues)
{
	struct hostcfg c = { .addr = IP4(0xc6120001), .udp_port = 5300 };
	c.port.steering = by;
	c.port.queues = queues;
	c.port.rss = RSS_ON;
	strcpy(c.port.rss_key, KEY);
	return c;
}

static uint16_t port_open(const struct hostcfg *c)
{
	static uint8_t key[RSS_KEY_MAX];
	struct rte_eth_dev_info info;
	struct rte_eth_conf conf = { 0 };
	uint16_t port;
	assert_int_equal(rte_vdev_init("net_null0", "no-rx=1"), 0);
	assert_int_equal(rte_eth_dev_get_port_by_name("net_null0", &port), 0);
	assert_int_equal(rte_eth_dev_info_get(port, &info), 0);
	rss_conf(c, &info, key, &conf);
	assert_int_equal(conf.rxmode.mq_mode,
			 c->port.queues > 1 ? RTE_ETH_MQ_RX_RSS : RTE_ETH_MQ_RX_NONE);
	assert_int_equal(rte_eth_dev_configure(port, c->port.queues, c->port.queues, &conf), 0);
	return port;
}

static uint16_t entry(uint16_t port, uint16_t i)
{
	struct rte_eth_rss_reta_entry64 reta[64];
	struct rte_eth_dev_info info;
	memset(reta, 0xff, sizeof(reta));
	assert_int_equal(rte_eth_dev_info_get(port, &info), 0);
	assert_int_equal(rte_eth_dev_rss_reta_query(port, reta, info.reta_size), 0);
	return reta[i / 64].reta[i % 64];
}

static void a_port_is_set_as_planned(void **state)
{
	static const uint16_t queues[] = { 2, 3, 4, 7, 64, 100 };
	(void)state;
	for (size_t i = 0; i < COUNT_OF(queues); i++) {
		struct hostcfg c = cfg_of(STEER_RSS, queues[i]);
		struct claim claim;
		uint8_t have[RSS_KEY_BYTES] = { 0 };
		struct rte_eth_rss_conf now = { have, sizeof(have), 0 };
		uint16_t port = port_open(&c);
		rss_claim(port, &c, &claim);
		assert_string_equal(claim.why, "");
		assert_true(claim.steered);
		assert_int_equal(rte_eth_dev_rss_hash_conf_get(port, &now), 0);
		assert_int_equal(have[0], 0x6d);
		assert_int_equal(have[39], 0xfa);
		for (uint16_t k = 0; k < 128; k++)
			assert_int_equal(entry(port, k), steer_queue(k, queues[i]));
		assert_int_equal(rte_vdev_uninit("net_null0"), 0);
	}
}

static void what_the_profile_says(void **state)
{
	static const struct {
		enum steering by;
		uint16_t queues;
		enum rss_mode rss;
		const char *key;
		bool steered;
		const char *why;
	} t[] = {
		{ STEER_NONE, 1, RSS_NONE, "", true, "" },
		{ STEER_NONE, 2, RSS_NONE, "", false, "" },
		{ STEER_KERNEL, 2, RSS_NONE, "", false, "" },
		{ STEER_PAIRS, 2, RSS_NONE, "", true, "" },
		{ STEER_LEARNED, 2, RSS_NONE, "", true, "" },
		{ STEER_RSS, 2, RSS_NONE, KEY, true, "" }, // the kernel's driver hashes
		{ STEER_RSS, 2, RSS_NONE, "", false, "the profile has no rss_key" },
	};
	(void)state;
	for (size_t i = 0; i < COUNT_OF(t); i++) {
		struct hostcfg c = cfg_of(t[i].by, t[i].queues);
		struct claim claim;
		c.port.rss = t[i].rss;
		strcpy(c.port.rss_key, t[i].key);
		rss_claim(UINT16_MAX, &c, &claim); // nothing is asked of the port
		assert_int_equal(claim.steered, t[i].steered);
		assert_string_equal(claim.why, t[i].why);
	}
}

static void a_port_that_keeps_its_own(void **state)
{
	static const char *const why[] = {
		[AS_IT_IS] = "",
		[OWN_KEY] = "the port keeps its own key: in its profile, set rss_key: abababab",
		[NO_PORTS] = "the port hashes addresses without UDP ports",
		[NO_KEY] = "the port does not tell its RSS key: Operation not supported",
		[OWN_TABLE] = "the port keeps to a redirection table of its own",
		[NO_TABLE] =
			"the port does not tell its redirection table: Operation not supported",
	};
	struct hostcfg c = cfg_of(STEER_RSS, 4);
	uint16_t port = port_open(&c);
	(void)state;
	for (size_t i = 0; i < COUNT_OF(why); i++) {
		struct claim claim;
		answer = i;
		rss_claim(port, &c, &claim);
		assert_int_equal(claim.steered, i == AS_IT_IS);
		if (strncmp(claim.why, why[i], strlen(why[i])) != 0)
			fail_msg("%s\ninstead of\n%s", claim.why, why[i]);
	}
	answer = AS_IT_IS;
	assert_int_equal(rte_vdev_uninit("net_null0"), 0);
}

// One rule for each port of a stream, to the queue that the stream has on either side.
static void rules_for_every_port(void **state)
{
	struct flow_tx tx = { .peer_addr = IP4(0xc6120002),
			      .streams = 8,
			      .sport_first = 49152,
			      .tx_first = 3,
			      .peer_rx_first = 6 };
	struct flow_rx rx = { .peer_addr = IP4(0xc6120002),
			      .streams = 6,
			      .sport_first = 49152,
			      .rx_first = 2,
			      .peer_tx_first = 9 };
	struct hostcfg c = cfg_of(STEER_RULES, 4);
	struct steer_table t;
	struct claim claim;
	struct err e = { 0 };
	(void)state;
	c.tx = &tx;
	c.rx = &rx;
	c.tx_count = c.rx_count = 1;
	c.vlan_count = 1;
	rules_max = COUNT_OF(rule);
	rss_claim(0, &c, &claim);
	assert_true(claim.steered);
	assert_int_equal(rules, 14);
	assert_int_equal(steer_open(&t, &c, &e), 0);
	for (size_t i = 0; i < rules; i++) {
		bool reply = rule[i].sport == 5300, found = false;
		assert_true(reply || rule[i].dport == 5300);
		assert_int_equal(rule[i].items, 3); // Ethernet, VLAN, IPv4
		assert_int_equal(rule[i].ip, RTE_FLOW_ITEM_TYPE_IPV4);
		for (uint32_t s = 0; s < tx.streams && reply; s++)
			found |= t.tx[3 + s] == rule[i].dport && (3 + s) % 4 == rule[i].queue;
		for (uint32_t s = 0; s < rx.streams && !reply; s++)
			found |= t.rx[2 + s] == rule[i].sport && (2 + s) % 4 == rule[i].queue;
		assert_true(found);
	}
	steer_close(&t);
	rules = 0;
	rules_max = 9;
	rss_claim(0, &c, &claim);
	assert_false(claim.steered);
	assert_int_equal(rules, 0);
	assert_string_equal(claim.why, "the port took 9 of 14 flow rules: the table is full");
}

static int tests(void)
{
	const struct CMUnitTest test[] = {
		cmocka_unit_test(a_port_is_set_as_planned),
		cmocka_unit_test(a_port_that_keeps_its_own),
		cmocka_unit_test(rules_for_every_port),
		cmocka_unit_test(what_the_profile_says),
	};
	return cmocka_run_group_tests(test, NULL, NULL);
}

int main(void)
{
	return eal_run("test_rss", tests);
}
