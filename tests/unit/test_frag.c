// Datagrams in fragments through a port that gives back what it is sent: a queue that asks itself.
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

static struct ip_addr own(bool v6)
{
	struct ip_addr a;
	assert_int_equal(parse_ip(v6 ? "2001:2::1" : "198.18.0.1", &a, NULL), 0);
	return a;
}

static void port_up(struct queue *q)
{
	struct rte_eth_conf conf = { 0 };
	assert_int_equal(rte_eth_dev_configure(0, 1, 1, &conf), 0);
	assert_int_equal(rte_eth_rx_queue_setup(0, 0, 64, 0, NULL, q->rx_pool), 0);
	assert_int_equal(rte_eth_tx_queue_setup(0, 0, 64, 0, NULL), 0);
	assert_int_equal(rte_eth_dev_start(0), 0);
}

static struct rig *rig_of(bool v6, size_t tags, uint32_t request, uint32_t reply, bool csum_hw)
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

static struct rig *rig_make(bool v6, size_t tags, uint32_t request, uint32_t reply)
{
	return rig_of(v6, tags, request, reply, false);
}

static void rig_drop(struct rig *r)
{
	struct rte_mbuf *m;
	while (rte_eth_rx_burst(0, 0, &m, 1) == 1)
		rte_pktmbuf_free(m);
	rte_eth_dev_stop(0);
	queue_destroy(r->q);
	free(r);
}

static void ask(struct rig *r, uint32_t n)
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
static void check_whole(const struct queue *q, const struct rte_mbuf *m)
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
static void take(struct rig *r, uint32_t lose)
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

static uint64_t drops(const struct queue *q)
{
	uint64_t n = 0;
	for (int i = 0; i < DROP_REASONS; i++)
		n += q->drop[i];
	return n;
}

static void exchange(bool v6, size_t tags, uint32_t request, uint32_t reply, bool csum_hw)
{
	struct rig *r = rig_of(v6, tags, request, reply, csum_hw);
	struct queue *q = r->q;
	unsigned in_use = rte_mempool_in_use_count(q->rx_pool);
	for (uint32_t i = 0; i < 20; i++) {
		ask(r, 3);
		assert_int_equal(frag_flush(q), 3);
		take(r, UINT32_MAX);
		for (int d = 0; d < DROP_REASONS; d++)
			if (q->drop[d] > 0)
				fail_msg("drop %s %lu", drop_reason_name[d], q->drop[d]);
		assert_int_equal(q->out_count, 3);
		assert_int_equal(frag_flush(q), 3);
		take(r, UINT32_MAX);
	}
	if (q->reply[0].recv != 60 || q->request[0].recv != 60 || drops(q) != 0)
		fail_msg("v6 %d, %zu tags, %u to %u: %lu came, %lu came back, %lu drops", v6, tags,
			 request, reply, q->request[0].recv, q->reply[0].recv, drops(q));
	assert_int_equal(rte_mempool_in_use_count(q->rx_pool), in_use);
	assert_int_equal(rte_mempool_in_use_count(q->tx_pool), q->frag->out.zeros);
	assert_int_equal(rte_mempool_in_use_count(q->frag->out.heads), 0);
	assert_int_equal(rte_mempool_in_use_count(q->frag->out.refs), 0);
	rig_drop(r);
}

static void datagrams_come_back(void **state)
{
	static const uint32_t size[] = { 18, 1453, 1473, 2953, 9000, 11512 };
	(void)state;
	for (int v6 = 0; v6 < 2; v6++)
		for (size_t tags = 0; tags < 3; tags++)
			for (size_t i = 2; i < COUNT_OF(size); i++) {
				exchange(v6, tags, size[i], 18, false);
				exchange(v6, tags, 18, size[i], false);
				exchange(v6, tags, size[i], size[i], false);
				// no NIC sums up fragments
				exchange(v6, tags, size[i], size[i], true);
				exchange(v6, tags, size[i], 5000, true);
			}
}

// Any one fragment is lost: its datagram is, and no other.
static void one_fragment_is_one_datagram(void **state)
{
	(void)state;
	for (int v6 = 0; v6 < 2; v6++)
		for (uint32_t lose = 0; lose < 7; lose++) {
			struct rig *r = rig_make(v6, 0, 9000, 18);
			ask(r, 3);
			frag_flush(r->q);
			take(r, 7 + lose);
			assert_int_equal(r->q->request[0].recv, 2);
			assert_int_equal(r->q->out_count, 2);
			frag_expire(r->q, r->now + r->q->frag->in.timeout + 10);
			assert_int_equal(r->q->drop[DROP_INCOMPLETE], 6);
			assert_int_equal(drops(r->q), 6);
			rig_drop(r);
		}
}

// A port that is full in the middle of a datagram: what it took to the last fragment was sent.
static void a_full_port(void **state)
{
	(void)state;
	struct rig *r = rig_make(true, 0, 11576, 18);
	struct queue *q = r->q;
	struct tx_counts *c = &q->trial[0].tx[0];
	ask(r, 140);
	assert_int_equal(frag_flush(q), RING / 8);
	assert_int_equal(q->out_count, 140 - RING / 8);
	assert_int_equal(q->frag->out.count, 1);
	assert_int_equal(q->total.tx_full, 1);
	assert_int_equal(frag_flush(q), 0);
	take(r, UINT32_MAX);
	assert_int_equal(q->request[0].recv, RING / 8);
	// goes on where it was
	uint32_t replies = RING / 8;
	assert_int_equal(frag_flush(q), 140 - RING / 8 + replies);
	take(r, UINT32_MAX);
	assert_int_equal(q->request[0].recv, 140);
	assert_int_equal(drops(q), 0);
	frag_flush(q);
	take(r, UINT32_MAX);
	assert_int_equal(q->reply[0].recv, 140);

	// and again, but the trial closes
	ask(r, 140);
	frag_flush(q);
	assert_int_equal(q->frag->out.count, 1);
	trial_step(q, 3000000000);
	trial_step(q, 3000000001);
	assert_int_equal(q->out_count, 0);
	assert_int_equal(q->frag->out.count, 0);
	assert_int_equal(c->sent, 140 + RING / 8);
	rig_drop(r);
}

// A first fragment as the peer's, or with a cookie that is not the run's.
static struct rte_mbuf *first(struct rig *r, uint32_t id, uint16_t cookie)
{
	struct queue *q = r->q;
	struct rte_mbuf *m = rte_pktmbuf_alloc(q->rx_pool);
	if (m == NULL)
		return NULL;
	uint8_t *d = (uint8_t *)rte_pktmbuf_append(m, 14 + 20 + 1480);
	memset(d, 0, m->data_len);
	struct frame_spec s = { .src_mac = mac,
				.dst_mac = mac,
				.src = own(false),
				.dst = own(false),
				.sport = 50000,
				.dport = PORT,
				.payload_bytes = 9000,
				.cookie = cookie,
				.kind = PMX_REQUEST };
	frame_build((struct frame *)(void *)d, &s);
	struct rte_ipv4_hdr *ip = (void *)(d + q->at.l3);
	ip->total_length = rte_cpu_to_be_16(1500);
	ip->packet_id = rte_cpu_to_be_16((uint16_t)id);
	ip->fragment_offset = RTE_BE16(RTE_IPV4_HDR_MF_FLAG);
	ip->hdr_checksum = 0;
	ip->hdr_checksum = rte_ipv4_cksum(ip);
	return m;
}

static void give(struct rig *r, struct rte_mbuf *m)
{
	r->q->in[0] = m;
	rx_take(r->q, frag_take(r->q, 1, r->now), r->now, false);
	rx_release(r->q);
}

// Who does not know the cookie takes no place from others, however many there are.
static void a_flood_of_strangers(void **state)
{
	struct rig *r = rig_make(false, 0, 9000, 18);
	struct queue *q = r->q;
	(void)state;
	for (uint32_t i = 0; i < 50; i++) {
		ask(r, 1);
		frag_flush(q);
		for (uint32_t k = 0; k < 1000; k++)
			give(r, first(r, 1000 * i + k, 0xabce));
		take(r, UINT32_MAX);
		frag_flush(q);
		take(r, UINT32_MAX);
	}
	assert_int_equal(q->drop[DROP_COOKIE], 50000);
	assert_int_equal(drops(q), 50000);
	assert_int_equal(q->reply[0].recv, 50);
	rig_drop(r);
}

// Who does fills the table and no more; once they are given up, all is as before.
static void a_flood_is_bounded(void **state)
{
	struct rig *r = rig_make(false, 0, 9000, 18);
	struct queue *q = r->q;
	unsigned before = rte_mempool_in_use_count(q->rx_pool), most = 0;
	(void)state;
	for (uint32_t i = 0; i < 60000; i++) {
		struct rte_mbuf *m = first(r, i, 0xabcd);
		assert_non_null(m);
		give(r, m);
		unsigned held = rte_mempool_in_use_count(q->rx_pool) - before;
		most = held > most ? held : most;
	}
	assert_in_range(most, FOOTPRINT_DATAGRAMS / 2, FOOTPRINT_DATAGRAMS);
	assert_int_equal(q->drop[DROP_INCOMPLETE], 60000 - most);
	r->now += q->frag->in.timeout + 10;
	for (int i = 0; i < 64; i++, r->now += q->frag->in.timeout / 8)
		frag_expire(q, r->now);
	assert_int_equal(rte_mempool_in_use_count(q->rx_pool), before);
	assert_int_equal(q->drop[DROP_INCOMPLETE], 60000);
	ask(r, 5);
	frag_flush(q);
	take(r, UINT32_MAX);
	frag_flush(q);
	take(r, UINT32_MAX);
	assert_int_equal(q->reply[0].recv, 5);
	rig_drop(r);
}

// Fragments of real datagrams, cut, moved and overlapping: nothing is answered that is not whole,
// and every mbuf comes back.
static void mbufs_come_back(void **state)
{
	struct rng g = rng_open("fragments");
	(void)state;
	for (int v6 = 0; v6 < 2; v6++) {
		struct rig *r = rig_make(v6, 1, 5000, 3000);
		struct queue *q = r->q;
		unsigned before = rte_mempool_in_use_count(q->rx_pool);
		for (int i = 0; i < 3000; i++) {
			struct rte_mbuf *m[32];
			ask(r, 4);
			frag_flush(q);
			uint16_t n = rte_eth_rx_burst(0, 0, m, 32);
			for (uint16_t k = 0; k < n; k++) {
				uint8_t *d = rte_pktmbuf_mtod(m[k], uint8_t *);
				uint64_t what = rng_below(&g, 8);
				if (what == 0)
					d[q->at.l3 + rng_below(&g, 48)] = (uint8_t)rng_next(&g);
				else if (what == 1)
					rte_pktmbuf_trim(m[k],
							 (uint16_t)rng_below(&g, m[k]->data_len));
				give(r, m[k]);
			}
			for (void *p; rte_ring_dequeue(q->punt, &p) == 0;)
				rte_pktmbuf_free(p);
			frag_flush(q);
			take(r, UINT32_MAX);
			r->now += (uint64_t)(rng_below(&g, 3) * FRAG_TIMEOUT_NS / 2);
			frag_expire(q, r->now);
		}
		assert_true(q->reply[0].recv > 0);
		for (int i = 0; i < 64; i++, r->now += q->frag->in.timeout)
			frag_expire(q, r->now);
		assert_int_equal(rte_mempool_in_use_count(q->rx_pool), before);
		assert_int_equal(rte_mempool_in_use_count(q->frag->out.heads), 0);
		rig_drop(r);
	}
}

// Whole replies of a stream come in on one queue and those in fragments on another: a place is
// freed once, whichever saw the reply, and a reply that did not come frees none of its own.
static void replies_on_two_queues(void **state)
{
	static const unsigned on[PLACES] = { 0, 0, 0, 1, 0, 0, 1, 0 };
	struct rig r = { .tx = { .peer = "b",
				 .peer_addr = own(false),
				 .req_bytes = 100,
				 .rep_bytes = 4000,
				 .rate_pps = RATE_UNPACED,
				 .window = PLACES,
				 .streams = 1,
				 .sport_first = 50000 } };
	struct queue *q[2];
	struct err e = { 0 };
	(void)state;
	r.cfg = (struct hostcfg){ .host_count = 2,
				  .addr = own(false),
				  .prefix_len = 24,
				  .udp_port = PORT,
				  .tx = &r.tx,
				  .tx_count = 1 };
	r.cfg.port.queues = 2;
	r.cfg.port.burst = 32;
	r.cfg.port.mtu = MTU;
	for (uint16_t i = 0; i < 2; i++) {
		q[i] = queue_create(&(struct queue_env){ .cfg = &r.cfg,
							 .shared = &r.shared,
							 .rxd = 64,
							 .txd = 64,
							 .data_room = 2176,
							 .mac = mac },
				    i, &e);
		if (q[i] == NULL)
			fail_msg("%s", e.msg);
		r.shared.queue[i] = q[i];
	}
	const uint32_t first[] = { UINT32_MAX - 2 }; // as a run that goes on has it
	for (unsigned i = 0; i < 2; i++)
		assert_int_equal(queue_sequences_set(q[i], &r.cfg, first), 0);
	for (uint32_t n = 0; n < PLACES; n++)
		window_spend(&q[0]->window);
	for (uint32_t n = 0; n < PLACES; n++) {
		struct queue *at = q[on[n]];
		struct rx_stream *s = &at->reply[0];
		uint32_t before = s->next;
		if (n == 4) // lost
			continue;
		s->next = first[0] + n + 1;
		rx_credit(at, s, s->next - before, 1, false);
		window_take_passed(&q[0]->window, 1);
		assert_int_equal(q[0]->window.group[0].in_flight, PLACES - n - 1);
	}
	assert_int_equal(window_credits(&q[0]->window), PLACES);
	queue_destroy(q[0]);
	queue_destroy(q[1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(datagrams_come_back),
		cmocka_unit_test(one_fragment_is_one_datagram),
		cmocka_unit_test(a_full_port),
		cmocka_unit_test(replies_on_two_queues),
		cmocka_unit_test(a_flood_of_strangers),
		cmocka_unit_test(a_flood_is_bounded),
		cmocka_unit_test(mbufs_come_back),
	};
	char dir[] = "/tmp/pmx-test-XXXXXX",
	     *argv[] = { "test_frag", "--no-huge",	"-m",	       "512",
			 "--no-pci",  "--no-telemetry", "--no-shconf", "--log-level",
			 "error",     "--vdev",		"net_ring0",   NULL };
	if (mkdtemp(dir) == NULL || setenv("RUNTIME_DIRECTORY", dir, 1) != 0 ||
	    rte_eal_init((int)COUNT_OF(argv) - 1, argv) < 0)
		return 1;
	int failed = cmocka_run_group_tests(tests, NULL, NULL);
	rte_eal_cleanup();
	char command[64];
	snprintf(command, sizeof(command), "rm -rf %s", dir);
	return system(command) != 0 || failed;
}
