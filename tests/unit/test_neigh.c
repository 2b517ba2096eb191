// Neighbours: who is believed, what is answered, and what a frame is counted as that is not.
#include "eal_run.h"
#include "neigh.h"
#include "testlib.h"

#include <rte_arp.h>
#include <rte_icmp.h>
#include <rte_mbuf.h>
#include <rte_ring.h>

#include <string.h>

#define OWN 0xc6120001 // 198.18.0.1
#define PEER 0xc6120002
#define STRANGER 0xc6120009
#define MS UINT64_C(1000000)

static const struct rte_ether_addr own_mac = { { 2, 0, 0, 0, 0, 1 } },
				   peer_mac = { { 2, 0, 0, 0, 0, 2 } },
				   thief_mac = { { 2, 0, 0, 0, 0, 3 } };

struct rig {
	struct hostcfg cfg;
	struct flow_tx tx;
	struct agent_shared shared;
	struct queue queue, *queues[1];
	struct neigh_table table;
};

struct arp {
	struct rte_ether_hdr eth;
	struct rte_arp_hdr arp;
} __attribute__((packed, aligned(2)));

static struct rig *rig_make(void)
{
	struct rig *r = aligned_alloc(64, RTE_ALIGN_CEIL(sizeof(*r), 64));
	struct err e;
	assert_non_null(r);
	memset(r, 0, sizeof(*r));
	r->tx.peer_addr = IP4(PEER);
	r->cfg.addr = IP4(OWN);
	r->cfg.prefix_len = 24;
	r->cfg.ttl = 64;
	r->cfg.tx = &r->tx;
	r->cfg.tx_count = 1;
	r->cfg.port.queues = 1;
	r->queues[0] = &r->queue;
	r->queue.rx_pool = rte_pktmbuf_pool_create("neigh", 255, 0, 0, 2176, SOCKET_ID_ANY);
	r->queue.punt = rte_ring_create("punt", 64, SOCKET_ID_ANY, 0);
	r->queue.inject = rte_ring_create("inject", 64, SOCKET_ID_ANY, 0);
	assert_true(r->queue.rx_pool != NULL && r->queue.punt != NULL && r->queue.inject != NULL);
	assert_int_equal(neigh_open(&r->table, &r->cfg, &r->shared, &own_mac, r->queues, &e), 0);
	return r;
}

static void rig_drop(struct rig *r)
{
	neigh_close(&r->table);
	assert_int_equal(rte_mempool_avail_count(r->queue.rx_pool), 255);
	rte_ring_free(r->queue.punt);
	rte_ring_free(r->queue.inject);
	rte_mempool_free(r->queue.rx_pool);
	free(r);
}

// Frames that it sends at that time: how many, and the last one's destination.
static unsigned sent(struct rig *r, uint64_t now_ns, struct rte_ether_addr *to)
{
	unsigned n = 0;
	void *m;
	neigh_poll(&r->table, now_ns);
	for (; rte_ring_dequeue(r->queue.inject, &m) == 0; n++) {
		memcpy(to, rte_pktmbuf_mtod((struct rte_mbuf *)m, void *), sizeof(*to));
		rte_pktmbuf_free(m);
	}
	return n;
}

static void *frame_for(struct rig *r, uint16_t bytes)
{
	struct rte_mbuf *m = rte_pktmbuf_alloc(r->queue.rx_pool);
	assert_non_null(m);
	void *d = rte_pktmbuf_append(m, bytes);
	memset(d, 0, bytes);
	assert_int_equal(rte_ring_enqueue(r->queue.punt, m), 0);
	return d;
}

static struct rte_arp_hdr *says(struct rig *r, uint16_t opcode, uint32_t who,
				const struct rte_ether_addr *mac)
{
	struct arp *f = frame_for(r, 60);
	f->eth = (struct rte_ether_hdr){ .dst_addr = own_mac,
					 .src_addr = *mac,
					 .ether_type = RTE_BE16(RTE_ETHER_TYPE_ARP) };
	f->arp = (struct rte_arp_hdr){ .arp_hardware = RTE_BE16(RTE_ARP_HRD_ETHER),
				       .arp_protocol = RTE_BE16(RTE_ETHER_TYPE_IPV4),
				       .arp_hlen = 6,
				       .arp_plen = 4,
				       .arp_opcode = rte_cpu_to_be_16(opcode),
				       .arp_data = { .arp_sha = *mac,
						     .arp_sip = rte_cpu_to_be_32(who),
						     .arp_tip = RTE_BE32(OWN) } };
	return &f->arp;
}

static void assert_peer_is(const struct rig *r, const struct rte_ether_addr *mac)
{
	assert_true(r->table.hop[0].known);
	assert_memory_equal(&r->table.hop[0].mac, mac, sizeof(*mac));
}

static void resolve(struct rig *r, uint64_t now_ns)
{
	struct rte_ether_addr to;
	assert_int_equal(sent(r, now_ns, &to), 1);
	assert_true(rte_is_broadcast_ether_addr(&to));
	says(r, RTE_ARP_OP_REPLY, PEER, &peer_mac);
	assert_int_equal(sent(r, now_ns, &to), 0);
	assert_peer_is(r, &peer_mac);
}

// While the neighbour answers nobody else becomes it, however often he says so, and it is asked no
// more than four times a second.
static void a_thief_gets_nothing(void **state)
{
	struct rig *r = rig_make();
	struct rte_ether_addr to;
	unsigned asked = 0, claims = 0;
	(void)state;
	resolve(r, MS);
	for (uint64_t ms = 2; ms < 1002; ms++) {
		says(r, ms % 2 ? RTE_ARP_OP_REPLY : RTE_ARP_OP_REQUEST, PEER, &thief_mac);
		claims++;
		neigh_poll(&r->table, ms * MS);
		if (sent(r, ms * MS, &to) == 0)
			continue;
		asked++;
		assert_memory_equal(&to, &peer_mac, sizeof(to));
		says(r, RTE_ARP_OP_REPLY, PEER, &peer_mac);
		neigh_poll(&r->table, ms * MS);
		assert_peer_is(r, &peer_mac);
	}
	assert_in_range(asked, 4, 5);
	assert_int_equal(r->table.drop[DROP_NEIGHBOUR], claims);
	rig_drop(r);
}

// One that does not answer any more is succeeded by whoever says so.
static void a_dead_one_is_succeeded(void **state)
{
	struct rig *r = rig_make();
	struct rte_ether_addr to;
	uint64_t ms = 2;
	(void)state;
	resolve(r, MS);
	for (; memcmp(&r->table.hop[0].mac, &thief_mac, sizeof(to)) != 0 && ms < 5000; ms += 10) {
		says(r, RTE_ARP_OP_REPLY, PEER, &thief_mac);
		sent(r, ms * MS, &to);
	}
	assert_in_range(ms, 400, 1500);
	assert_peer_is(r, &thief_mac);
	assert_int_equal(r->shared.neigh_generation, 2);
	rig_drop(r);
}

static void requests_for_us_are_answered(void **state)
{
	struct rig *r = rig_make();
	struct rte_ether_addr to;
	(void)state;
	resolve(r, MS);
	says(r, RTE_ARP_OP_REQUEST, STRANGER, &thief_mac);
	assert_int_equal(sent(r, 2 * MS, &to), 1);
	assert_memory_equal(&to, &thief_mac, sizeof(to));
	says(r, RTE_ARP_OP_REQUEST, PEER, &peer_mac);
	assert_int_equal(sent(r, 2 * MS, &to), 1);
	for (int i = 0; i < DROP_REASONS; i++)
		assert_int_equal(r->table.drop[i], 0);
	rig_drop(r);
}

static void others_are_counted(void **state)
{
	static const struct rte_ether_addr group = { { 1, 0, 94, 0, 0, 1 } };
	struct rig *r = rig_make();
	struct rte_ether_addr to;
	(void)state;
	resolve(r, MS);
	says(r, RTE_ARP_OP_REQUEST, OWN, &thief_mac); // our address is another's
	says(r, RTE_ARP_OP_REPLY, STRANGER, &thief_mac);
	says(r, RTE_ARP_OP_REQUEST, STRANGER, &group);
	says(r, RTE_ARP_OP_REQUEST, STRANGER, &thief_mac)->arp_hlen = 8;
	assert_int_equal(sent(r, 2 * MS, &to), 0);
	assert_int_equal(r->table.drop[DROP_OWN], 1);
	assert_int_equal(r->table.drop[DROP_SLOW], 1);
	assert_int_equal(r->table.drop[DROP_MALFORMED], 2);
	rig_drop(r);
}

struct ping {
	struct rte_ether_hdr eth;
	struct rte_ipv4_hdr ip;
	struct rte_icmp_hdr icmp;
} __attribute__((packed, aligned(2)));

static struct ping *ping(struct rig *r, uint32_t from, const struct rte_ether_addr *mac)
{
	struct ping *f = frame_for(r, 60);
	f->eth = (struct rte_ether_hdr){ .dst_addr = own_mac,
					 .src_addr = *mac,
					 .ether_type = RTE_BE16(RTE_ETHER_TYPE_IPV4) };
	f->ip = (struct rte_ipv4_hdr){ .version_ihl = RTE_IPV4_VHL_DEF,
				       .total_length = RTE_BE16(sizeof(f->ip) + sizeof(f->icmp)),
				       .next_proto_id = IPPROTO_ICMP,
				       .src_addr = rte_cpu_to_be_32(from),
				       .dst_addr = RTE_BE32(OWN) };
	f->icmp.icmp_type = RTE_IP_ICMP_ECHO_REQUEST;
	f->icmp.icmp_cksum = (uint16_t)~rte_raw_cksum(&f->icmp, sizeof(f->icmp));
	return f;
}

// A ping of one host has its answer; of a group, or of many, none.
static void pings(void **state)
{
	static const struct rte_ether_addr all = { { 0xff, 0xff, 0xff, 0xff, 0xff, 0xff } };
	struct rig *r = rig_make();
	struct rte_ether_addr to;
	(void)state;
	resolve(r, MS);
	ping(r, STRANGER, &thief_mac);
	assert_int_equal(sent(r, 2 * MS, &to), 1);
	assert_memory_equal(&to, &thief_mac, sizeof(to));
	ping(r, STRANGER, &all);
	ping(r, 0xffffffff, &thief_mac);
	ping(r, 0xe0000001, &thief_mac);
	ping(r, 0, &thief_mac)->ip.src_addr = 0;
	ping(r, STRANGER, &thief_mac)->ip.total_length = RTE_BE16(1400);
	ping(r, STRANGER, &thief_mac)->ip.total_length = RTE_BE16(20);
	assert_int_equal(sent(r, 2 * MS, &to), 0);
	assert_int_equal(r->table.drop[DROP_SLOW], 6);
	ping(r, STRANGER, &thief_mac)->icmp.icmp_cksum ^= 1;
	assert_int_equal(sent(r, 2 * MS, &to), 0);
	assert_int_equal(r->table.drop[DROP_CHECKSUM], 1);
	rig_drop(r);
}

// All addresses that a host asks from are its own: asked for, pinged, and nobody else's.
static void many_addresses_are_ours(void **state)
{
	struct rig *r = rig_make();
	void *obj = NULL;
	(void)state;
	r->cfg.src_addr = IP4(OWN + 0x100);
	r->cfg.src_count = 20;
	struct rte_ether_addr to;
	resolve(r, MS);
	for (uint32_t i = 0; i < 21; i++) {
		rte_be32_t asked = rte_cpu_to_be_32(OWN + 0x100 + i);
		says(r, RTE_ARP_OP_REQUEST, STRANGER, &thief_mac)->arp_data.arp_tip = asked;
		neigh_poll(&r->table, 2 * MS);
		assert_int_equal(rte_ring_dequeue(r->queue.inject, &obj) == 0, i < 20);
		if (i == 20)
			break;
		const struct arp *f = rte_pktmbuf_mtod((struct rte_mbuf *)obj, const struct arp *);
		assert_int_equal(f->arp.arp_opcode, RTE_BE16(RTE_ARP_OP_REPLY));
		assert_int_equal(f->arp.arp_data.arp_sip, asked);
		assert_memory_equal(&f->arp.arp_data.arp_sha, &own_mac, sizeof(own_mac));
		rte_pktmbuf_free(obj);
	}
	assert_int_equal(r->table.drop[DROP_SLOW], 1);
	ping(r, STRANGER, &thief_mac)->ip.dst_addr = rte_cpu_to_be_32(OWN + 0x105);
	neigh_poll(&r->table, 2 * MS);
	assert_int_equal(rte_ring_dequeue(r->queue.inject, &obj), 0);
	assert_int_equal(rte_pktmbuf_mtod((struct rte_mbuf *)obj, struct ping *)->ip.src_addr,
			 rte_cpu_to_be_32(OWN + 0x105));
	rte_pktmbuf_free(obj);
	says(r, RTE_ARP_OP_REQUEST, OWN + 0x113, &thief_mac);
	assert_int_equal(sent(r, 2 * MS, &to), 0);
	assert_int_equal(r->table.drop[DROP_OWN], 1);
	rig_drop(r);
}

// A neighbour advertisement that does not override, as a proxy sends it.
static void proxy_says(struct rig *r, const struct rte_ether_addr *mac)
{
	struct nd_self proxy = { .addr = r->tx.peer_addr, .mac = *mac };
	struct rte_mbuf *m = rte_pktmbuf_alloc(r->queue.rx_pool);
	struct nd asked = { .who = r->cfg.addr, .mac = own_mac };
	assert_non_null(m);
	nd_answer(&proxy, m, &asked);
	uint8_t *icmp = rte_pktmbuf_mtod_offset(m, uint8_t *, 54);
	uint16_t csum;
	icmp[4] &= 0xdf;
	memset(icmp + 2, 0, sizeof(csum));
	csum = rte_ipv6_udptcp_cksum(rte_pktmbuf_mtod_offset(m, void *, 14), icmp);
	memcpy(icmp + 2, &csum, sizeof(csum));
	assert_int_equal(rte_ring_enqueue(r->queue.punt, m), 0);
}

// Who does not override is no reason to leave a neighbour that answers, but its successor when it
// does not.
static void a_proxy_succeeds_the_dead(void **state)
{
	struct rig *r = rig_make();
	struct rte_ether_addr to;
	uint64_t ms = 2;
	(void)state;
	neigh_close(&r->table);
	assert_int_equal(parse_ip("2001:2::1", &r->cfg.addr, NULL), 0);
	assert_int_equal(parse_ip("2001:2::2", &r->tx.peer_addr, NULL), 0);
	assert_int_equal(neigh_open(&r->table, &r->cfg, &r->shared, &own_mac, r->queues, NULL), 0);
	assert_int_equal(sent(r, MS, &to), 1);
	proxy_says(r, &peer_mac);
	assert_int_equal(sent(r, MS, &to), 0);
	assert_peer_is(r, &peer_mac);
	for (; memcmp(&r->table.hop[0].mac, &thief_mac, sizeof(to)) != 0 && ms < 5000; ms += 10) {
		proxy_says(r, &thief_mac);
		sent(r, ms * MS, &to);
	}
	assert_in_range(ms, 400, 1500);
	rig_drop(r);
}

static int run(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_thief_gets_nothing),
		cmocka_unit_test(a_dead_one_is_succeeded),
		cmocka_unit_test(requests_for_us_are_answered),
		cmocka_unit_test(others_are_counted),
		cmocka_unit_test(pings),
		cmocka_unit_test(many_addresses_are_ours),
		cmocka_unit_test(a_proxy_succeeds_the_dead),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

int main(void)
{
	return eal_run("test_neigh", run);
}
