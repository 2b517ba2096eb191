// A queue that asks itself, through a port that gives back what it is sent; for unit tests.
#pragma once

#include "frag.h"
#include "rx.h"
#include "trial.h"
#include "tx.h"

#include "testlib.h"

#include <rte_eal.h>
#include <rte_ethdev.h>

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define RING 1023u // frames that net_ring holds
#define MTU 1500u
#define PORT 5300

static const struct rte_ether_addr mac = { { 2, 0, 0, 0, 0, 1 } };

struct rig {
	struct hostcfg cfg;
	struct agent_shared shared;
	_Atomic uint64_t tx_mac, rx_mac;
	struct flow_tx tx;
	struct flow_rx rx;
	struct queue *q;
	uint64_t now;
};

#define PLACES 8u // of the window below

static inline struct ip_addr own(bool v6)
{
	struct ip_addr a;
	assert_int_equal(parse_ip(v6 ? "2001:2::1" : "198.18.0.1", &a, NULL), 0);
	return a;
}

static inline void port_up(struct queue *q)
{
	struct rte_eth_conf conf = { 0 };
	assert_int_equal(rte_eth_dev_configure(0, 1, 1, &conf), 0);
	assert_int_equal(rte_eth_rx_queue_setup(0, 0, 64, 0, NULL, q->rx_pool), 0);
	assert_int_equal(rte_eth_tx_queue_setup(0, 0, 64, 0, NULL), 0);
	assert_int_equal(rte_eth_dev_start(0), 0);
}

static inline struct rig *rig_of(bool v6, size_t tags, uint32_t request, uint32_t reply,
				 bool csum_hw)
{
	struct rig *r = calloc(1, sizeof(*r));
	struct err e = { 0 };
	uint64_t to = 0;
	assert_non_null(r);
	memcpy(&to, &mac, sizeof(mac));
	r->tx = (struct flow_tx){ .peer = "a",
				  .peer_addr = own(v6),
				  .req_bytes = request,
				  .rep_bytes = reply,
				  .rate_pps = 1000,
				  .streams = 1,
				  .sport_first = 50000 };
	r->rx = (struct flow_rx){ .peer = "a",
				  .peer_addr = own(v6),
				  .req_bytes = request,
				  .rep_bytes = reply,
				  .streams = 1,
				  .sport_first = 50000 };
	r->cfg = (struct hostcfg){ .cookie = 0xabcd,
				   .host_count = 1,
				   .addr = own(v6),
				   .prefix_len = 24,
				   .vlan = { 200, 100 },
				   .vlan_count = tags,
				   .ttl = 61,
				   .udp_port = PORT,
				   .duration_ns = 1000000000,
				   .drain_ns = 1000000000,
				   .tx = &r->tx,
				   .tx_count = 1,
				   .rx = &r->rx,
				   .rx_count = 1 };
	r->cfg.port.queues = 1;
	r->cfg.port.burst = 32;
	r->cfg.port.mtu = MTU;
	r->q = queue_create(&(struct queue_env){ .cfg = &r->cfg,
						 .shared = &r->shared,
						 .rxd = 64,
						 .txd = 1024,
						 .data_room = 2176,
						 .csum_hw = csum_hw,
						 .fragment_id = 0xffff,
						 .mac = mac },
			    0, &e);
	if (r->q == NULL)
		fail_msg("%s", e.msg);
	assert_non_null(r->q->frag);
	r->shared.queue[0] = r->q;
	r->shared.armed = true;
	atomic_init(&r->tx_mac, to);
	atomic_init(&r->rx_mac, to);
	r->shared.tx_mac = &r->tx_mac;
	r->shared.rx_mac = &r->rx_mac;
	queue_arm(r->q, &r->cfg, 0, 1e9);
	queue_take_macs(r->q);
	trial_step(r->q, 0);
	port_up(r->q);
	r->now = 1000;
	return r;
}

static inline struct rig *rig_make(bool v6, size_t tags, uint32_t request, uint32_t reply)
{
	return rig_of(v6, tags, request, reply, false);
}

static inline void rig_drop(struct rig *r)
{
	struct rte_mbuf *m;
	while (rte_eth_rx_burst(0, 0, &m, 1) == 1)
		rte_pktmbuf_free(m);
	rte_eth_dev_stop(0);
	queue_destroy(r->q);
	free(r);
}

static inline void ask(struct rig *r, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		struct rte_mbuf *m = rte_pktmbuf_alloc(r->q->tx_pool);
		assert_non_null(m);
		tx_build_at(r->q, 0, m, r->now, false, false);
		m->hash.usr = 0;
		*out_tail(r->q) = m;
		out_add(r->q, 1);
	}
}

// A whole datagram as tshark would see it.
static inline void check_whole(const struct queue *q, const struct rte_mbuf *m)
{
	static uint8_t flat[70000];
	size_t at = 0;
	for (; m != NULL; m = m->next) {
		memcpy(flat + at, rte_pktmbuf_mtod(m, void *), m->data_len);
		at += m->data_len;
	}
	struct rte_udp_hdr *udp = (void *)(flat + q->at.udp);
	uint16_t given = udp->dgram_cksum;
	udp->dgram_cksum = 0;
	void *ip = flat + q->at.l3;
	uint16_t want = q->at.v6 ? rte_ipv6_udptcp_cksum(ip, udp) : rte_ipv4_udptcp_cksum(ip, udp);
	assert_int_equal(given, want);
}

// Takes in what waits at the port; of each burst loses frame `lose` of those that came, from 0 on.
static inline void take(struct rig *r, uint32_t lose)
{
	struct queue *q = r->q;
	uint32_t seen = 0;
	for (uint32_t n; (n = rte_eth_rx_burst(0, 0, q->in, q->burst)) > 0;) {
		uint32_t kept = 0;
		for (uint32_t i = 0; i < n; i++)
			if (seen++ == lose)
				rte_pktmbuf_free(q->in[i]);
			else
				q->in[kept++] = q->in[i];
		kept = frag_take(q, kept, r->now);
		for (uint32_t i = 0; i < kept; i++)
			check_whole(q, q->in[i]);
		rx_take(q, kept, r->now, false);
		rx_release(q);
	}
}

static inline uint64_t drops(const struct queue *q)
{
	uint64_t n = 0;
	for (int i = 0; i < DROP_REASONS; i++)
		n += q->drop[i];
	return n;
}

static inline void give(struct rig *r, struct rte_mbuf *m)
{
	r->q->in[0] = m;
	rx_take(r->q, frag_take(r->q, 1, r->now), r->now, false);
	rx_release(r->q);
}

// Runs the tests within EAL, with the port; returns what main returns.
static inline int frag_port_run(int (*tests)(void))
{
	char dir[] = "/tmp/pmx-test-XXXXXX",
	     *argv[] = { "test_frag", "--no-huge",	"-m",	       "512",
			 "--no-pci",  "--no-telemetry", "--no-shconf", "--log-level",
			 "error",     "--vdev",		"net_ring0",   NULL };
	if (mkdtemp(dir) == NULL || setenv("RUNTIME_DIRECTORY", dir, 1) != 0 ||
	    rte_eal_init((int)COUNT_OF(argv) - 1, argv) < 0)
		return 1;
	int failed = tests();
	rte_eal_cleanup();
	char command[64];
	snprintf(command, sizeof(command), "rm -rf %s", dir);
	return system(command) != 0 || failed;
}
