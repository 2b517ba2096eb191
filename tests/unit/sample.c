#include "sample.h"

#include "testlib.h"

#include <stdlib.h>
#include <string.h>

void sample_hostcfg(struct hostcfg *c)
{
	static const struct flow_tx tx[] = {
		{ .peer = "b",
		  .peer_addr = IP4_INIT(0xc6120002),
		  .req_bytes = 18,
		  .rep_bytes = 470,
		  .dscp = 46,
		  .rate_pps = 5000.5,
		  .streams = 4,
		  .sport_first = 49152,
		  .tx_first = 0,
		  .peer_rx_first = 12,
		  .peer_steer = 2,
		  .layer = 8 },
		{ .peer = "\xc3\xa9t\xc3\xa9",
		  .peer_addr = IP4_INIT(0xc6120003),
		  .req_bytes = 64,
		  .rep_bytes = 1472,
		  .rate_pps = RATE_UNPACED,
		  .window = 256,
		  .streams = 1,
		  .sport_first = 65535,
		  .tx_first = 4,
		  .peer_rx_first = 7 },
	};
	static const struct steer steer[] = {
		{ .by = STEER_RULES, .queues = 8 },
		{ .by = STEER_RSS,
		  .queues = 4,
		  .rss_key = "6d5a56da255b0ec24167253d43a38fb0d0ca2bcbae7b30b4"
			     "77cb2da38030f20c6a42b73bbeac01fa" },
	};
	static const struct flow_rx rx[] = {
		{ .peer = "b",
		  .peer_addr = IP4_INIT(0xc6120002),
		  .peer_sources = 3,
		  .req_bytes = 19,
		  .rep_bytes = 471,
		  .dscp = 10,
		  .streams = 3,
		  .sport_first = 1024,
		  .rx_first = 5,
		  .peer_tx_first = 21,
		  .peer_steer = 1,
		  .layer = 3 },
	};

	*c = (struct hostcfg){
		.host = "a",
		.run_id = "20240131-a1b2",
		.cookie = 0xbeef,
		.host_index = 1,
		.host_count = 3,
		.port = { .vdev = "net_memif0,role=client,id=0",
			  .profile = "memif",
			  .unlink_path = "/var/tmp/pmx/memif.sock",
			  .restart_until_link = true,
			  .all_queues_of = "eth1",
			  .counts_missed = true,
			  .queues = 2,
			  .rxd = 512,
			  .txd = 2048,
			  .burst = 32,
			  .mtu = 1500,
			  .csum = CSUM_HW,
			  .rss = RSS_ON,
			  .rss_key = "6d5a",
			  .steering = STEER_LEARNED,
			  .single_file_segments = false },
		.hugepages = HUGE_NO,
		.memory_mb = 256,
		.idle = IDLE_SLEEP,
		.lcores = { 3, 200 },
		.lcore_count = 2,
		.lcores_taken = { 5 },
		.lcore_taken_count = 1,
		.lcores_before = 4,
		.addr = IP4_INIT(0xc6120001),
		.prefix_len = 24,
		.src_addr = IP4_INIT(0xc6120064),
		.src_count = 10,
		.gateway = IP4_INIT(0xc61200fe),
		.vlan = { 100 },
		.vlan_count = 1,
		.pcp = 5,
		.ttl = 63,
		.udp_port = 5300,
		.warmup_ns = 1000000000,
		.duration_ns = 10000000000,
		.drain_ns = 1000000001,
		.rotation = { .layers = 9, .dwell_ns = 1000000005 },
		.pacing = { .burst = 1 },
		.interval_ns = 1000000002,
		.lease_ns = 1000000003,
		.resolve_ns = 1000000004,
		.steer_count = COUNT_OF(steer),
		.tx_count = COUNT_OF(tx),
		.rx_count = COUNT_OF(rx),
	};
	c->steer = malloc(sizeof(steer));
	c->tx = malloc(sizeof(tx));
	c->rx = malloc(sizeof(rx));
	assert_true(c->steer != NULL && c->tx != NULL && c->rx != NULL);
	memcpy(c->steer, steer, sizeof(steer));
	memcpy(c->tx, tx, sizeof(tx));
	memcpy(c->rx, rx, sizeof(rx));
}

static struct hist *sample_hist(uint64_t first, uint64_t last)
{
	struct hist *h = malloc(sizeof(*h));

	assert_non_null(h);
	hist_reset(h);
	hist_record(h, first);
	hist_record_n(h, last, 41);
	return h;
}

struct hist_packed *sample_packed(uint64_t ns, uint64_t n, uint64_t other_ns, uint64_t m)
{
	struct hist *h = malloc(sizeof(*h));

	assert_non_null(h);
	hist_reset(h);
	hist_record_n(h, ns, n);
	if (m > 0)
		hist_record_n(h, other_ns, m);
	struct hist_packed *p = hist_pack(h);
	assert_non_null(p);
	free(h);
	return p;
}

void sample_result(struct result *r)
{
	assert_int_equal(result_alloc(r, 2, 1, 1, 2), 0);
	strcpy(r->host, "a");
	strcpy(r->run_id, "20240131-a1b2");
	strcpy(r->pmx_version, "0.1.0");
	strcpy(r->dpdk_version, "DPDK 22.11.7");
	strcpy(r->state, "done");
	strcpy(r->ended_by, "plan");
	strcpy(r->driver, "net_memif");
	strcpy(r->mac, "52:54:00:12:34:56");
	r->steering = STEER_RSS;
	strcpy(r->steering_why, "the port tells none");
	r->tsc_hz = 2445434000.5;
	r->rotation = (struct rotation){ 7, 2000000000 };
	r->trial[0] = (struct trial){ 0, TRIAL_WARMUP, 101, 102, 103, 0 };
	r->trial[1] = (struct trial){ 1, TRIAL_MEASURE, 104, 105, 0, 3000000000 };
	r->tx[0] =
		(struct result_flow_tx){ "b", 18, 470, 4, 5000.5, 6, 61, 62, 0, 0, r->tx[0].trial };
	r->tx[0].trial[0] = (struct tx_counts){ 1, 2, 3, 4, 5, 6, 7, NULL, NULL };
	// above 2^53, where a double would round
	r->tx[0].trial[1] = (struct tx_counts){ 9007199254740993,
						12,
						9007199254740995,
						14,
						15,
						COUNTER_UNKNOWN,
						17,
						sample_packed(9500, 1, 123456, 41),
						NULL };
	r->rx[0] = (struct result_flow_rx){ "b", 19, 471, 5, 0, 0, 0, 0, r->rx[0].trial };
	r->rx[0].trial[0] = (struct rx_counts){ 21, 22, 23, 24, 25, 26, NULL };
	r->rx[0].trial[1] = (struct rx_counts){ INT64_MAX, 32, 33, 34, 35, 36, NULL };
	r->queue[0].trial[0] = (struct queue_counts){ 41, 42, 43, 44, 45, 46, 47, 48, 49 };
	r->queue[0].trial[1] = (struct queue_counts){ 51, 52, 53, 54, 55, 56, 57, 58, 59 };
	r->queue[1].trial[0] = (struct queue_counts){ 61, 62, 63, 64, 65, 66, 67, 68, 69 };
	r->queue[1].trial[1] = (struct queue_counts){ .lcore = COUNTER_UNKNOWN };
	for (unsigned i = 0; i < DROP_REASONS; i++)
		r->drop[i] = 70 + i;
	r->port = (struct port_counts){
		81, 82, 83, 84, 85, 86, 87, 88, COUNTER_UNKNOWN, COUNTER_UNKNOWN, 10000, 9000
	};
	r->lateness = sample_hist(0, 90);
	r->cpu_pct = 12.5;
	r->cpu_max_pct = 99.75;
	r->cpus = 96;
	r->icmp = (struct icmp_counts){ 91, 92, 1400, 93 };
	r->hop_count = 2;
	r->hop = calloc(2, sizeof(*r->hop));
	r->hop[0] = (struct result_hop){ IP4(0xc6120002), "52:54:00:12:34:57", 2, 1, 3000000000 };
	r->hop[1] = (struct result_hop){ .addr = IP4(0xc6120003) };
}
