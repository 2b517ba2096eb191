#include "advice_case.h"

#include "advice_hop_case.h"

#include "sample.h"
#include "testlib.h"

#include <stdlib.h>
#include <string.h>

#define SENT 50000u // by a flow

static void each(struct mesh_run *r, void (*change)(struct tx_counts *, struct rx_counts *))
{
	for (size_t src = 0; src < r->hosts; src++)
		for (size_t dst = 0; dst < r->hosts; dst++)
			if (src != dst)
				change(mesh_tx(r, src, dst), mesh_rx(r, src, dst));
}

static void more_than_sent(struct mesh_run *r)
{
	mesh_rx(r, 0, 1)->delivered += 2;
	mesh_rx(r, 0, 1)->replied += 2;
}

static void request_forgotten(struct mesh_run *r)
{
	mesh_rx(r, 0, 1)->replied--;
	mesh_tx(r, 0, 1)->returned--;
}

static void host_dead(struct mesh_run *r)
{
	r->given[1] = NULL;
	r->failure[1] = "no route to host";
}

static void lease_over(struct mesh_run *r)
{
	strcpy(r->result[2].ended_by, "lease");
}

static void user_stopped(struct mesh_run *r)
{
	strcpy(r->result[2].ended_by, "stop");
}

static void clock_wrong(struct mesh_run *r) // 2 % more due than the rate gives
{
	mesh_tx(r, 0, 1)->unsent += SENT / 50;
}

static void clock_nearly_right(struct mesh_run *r)
{
	mesh_tx(r, 0, 1)->unsent += 1;
}

static void queue_busy(struct mesh_run *r)
{
	r->result[1].queue[1].trial[1].busy_tsc = 990;
	r->result[1].agent_cpu_pct = 150;
}

static void queue_busy_and_short(struct mesh_run *r)
{
	queue_busy(r);
	mesh_leave_unsent(r, 1, 0, 500);
}

static void kept_from_its_cpu(struct mesh_run *r)
{
	queue_busy_and_short(r);
	r->result[1].agent_cpu_pct = 12;
}

static void queues_idle(struct mesh_run *r) // more queues than flows
{
	queue_busy(r);
	r->result[1].tx[0].streams = 1;
	r->result[1].tx[1].streams = 0;
}

static void queue_rather_busy(struct mesh_run *r)
{
	r->result[1].queue[1].trial[1].busy_tsc = 940;
}

static void unsent(struct mesh_run *r)
{
	mesh_leave_unsent(r, 1, 0, 500);
}

static void unsent_port_full(struct mesh_run *r)
{
	mesh_leave_unsent(r, 1, 0, 500);
	r->result[1].queue[0].trial[1].tx_full = 7;
}

static void unsent_a_few(struct mesh_run *r)
{
	mesh_leave_unsent(r, 1, 0, 50); // of 100,000
}

static void give_lateness(struct mesh_run *r, uint64_t ns)
{
	struct hist *h = malloc(sizeof(*h));

	assert_non_null(h);
	hist_reset(h);
	hist_record_n(h, 300, 900);
	hist_record_n(h, ns, 100);
	r->result[2].lateness = h;
}

static void late(struct mesh_run *r)
{
	give_lateness(r, 5000000);
}

static void hardly_late(struct mesh_run *r)
{
	give_lateness(r, 200000);
}

static void reply_unsent(struct mesh_run *r)
{
	mesh_rx(r, 0, 1)->replied -= 9;
	mesh_rx(r, 0, 1)->reply_unsent = 9;
	mesh_tx(r, 0, 1)->returned -= 9;
}

static void lost_forward(struct mesh_run *r)
{
	mesh_lose_forward(r, 0, 1, 500);
}

static void lost_forward_missed(struct mesh_run *r)
{
	mesh_lose_forward(r, 0, 1, 500);
	r->result[1].port.imissed = 500;
}

static void lost_forward_nombuf(struct mesh_run *r)
{
	mesh_lose_forward(r, 0, 1, 500);
	r->result[1].port.rx_nombuf = 500;
}

static void lost_forward_partly_missed(struct mesh_run *r)
{
	mesh_lose_forward(r, 0, 1, 500);
	r->result[1].port.imissed = 100;
}

// All that was lost forward the receiver missed; the fabric lost replies to somebody else.
static void lost_forward_missed_back_in_fabric(struct mesh_run *r)
{
	lost_forward_missed(r);
	mesh_lose_back(r, 2, 0, 100);
}

static void missed_without_loss(struct mesh_run *r) // in the warm-up
{
	r->result[1].port.imissed = 500;
}

static void lost_uncounted(struct mesh_run *r)
{
	mesh_lose_forward(r, 0, 1, 500);
	r->result[1].port.imissed = r->result[1].port.rx_nombuf = COUNTER_UNKNOWN;
}

static void lost_back(struct mesh_run *r)
{
	mesh_lose_back(r, 0, 1, 500);
}

static void lost_live(struct mesh_run *r) // or only in flight
{
	mesh_lose_forward(r, 0, 1, 500);
	mesh_lose_back(r, 0, 1, 500);
	for (size_t i = 0; i < r->hosts; i++) {
		strcpy(r->result[i].state, "running");
		r->now_ns[i] = MESH_START_NS + 10000000000u;
	}
}

static void other_run(struct mesh_run *r)
{
	r->result[2].drop[DROP_COOKIE] = 1;
}

static void stray_l2(struct mesh_run *r) // 200,000 are its own
{
	r->result[2].drop[DROP_L2] = 10000;
}

static void stray_few(struct mesh_run *r) // spanning tree and neighbours: every network has some
{
	r->result[2].drop[DROP_L2] = 30;
	r->result[2].drop[DROP_SLOW] = 10000;
	r->result[2].drop[DROP_NOMBUF] = 10000;
}

static void pauses(struct mesh_run *r)
{
	r->result[0].port.pause_rx = 5;
	r->result[0].port.pause_tx = 0;
}

static void no_pauses(struct mesh_run *r)
{
	r->result[0].port.pause_rx = r->result[0].port.pause_tx = 0;
}

static void tail(struct tx_counts *tx, struct rx_counts *rx)
{
	(void)rx;
	tx->rtt = sample_packed(10000, 900, 500000, 100);
}

static void queues_fill(struct mesh_run *r)
{
	each(r, tail);
}

static void short_tail(struct tx_counts *tx, struct rx_counts *rx)
{
	(void)rx;
	tx->rtt = sample_packed(2000, 900, 50000, 100); // 25 times, but of next to nothing
}

static void quick(struct mesh_run *r)
{
	each(r, short_tail);
}

static void one_queue_gets_all(struct mesh_run *r)
{
	struct result *res = &r->result[0];

	for (size_t q = 0; q < 2; q++) {
		res->queue[q].trial[1].requests_received = q == 0 ? 100000 : 0;
		res->queue[q].trial[1].replies_received = q == 0 ? 100000 : 0;
	}
}

static void one_queue_gets_more(struct mesh_run *r)
{
	struct result *res = &r->result[0];

	res->queue[0].trial[1].requests_received += 20000;
	res->queue[1].trial[1].requests_received -= 20000;
}

static void off_queue(struct mesh_run *r)
{
	mesh_tx(r, 0, 1)->off_queue = SENT / 2;
	mesh_fill_queues(r);
}

static void off_queue_against_plan(struct mesh_run *r)
{
	off_queue(r);
	r->result[0].steering = STEER_RSS;
	strcpy(r->result[0].steering_why, "the port hashes addresses without UDP ports");
}

static void off_queue_though_steered(struct mesh_run *r)
{
	off_queue(r);
	r->result[0].steering = STEER_PAIRS;
	r->result[0].steered = true;
}

static void off_queue_seldom(struct mesh_run *r)
{
	mesh_tx(r, 0, 1)->off_queue = 5;
	mesh_fill_queues(r);
}

static void skewed(struct mesh_run *r)
{
	r->skew_ns = 0.2e9;
}

static void hardly_skewed(struct mesh_run *r)
{
	r->skew_ns = 0.05e9;
}

static void lose_between(struct mesh_run *r, size_t src, size_t dst, uint64_t n)
{
	if (src != dst)
		mesh_lose_forward(r, src, dst, n);
}

static void column_dead(struct mesh_run *r)
{
	for (size_t h = 0; h < 2; h++)
		mesh_lose_forward(r, h, 2, SENT);
}

static void column_nearly_dead(struct mesh_run *r)
{
	column_dead(r);
	for (size_t h = 0; h < 2; h++) {
		mesh_rx(r, h, 2)->delivered = mesh_rx(r, h, 2)->replied = 1;
		mesh_tx(r, h, 2)->returned = 1;
	}
}

static void row_dead(struct mesh_run *r)
{
	for (size_t h = 1; h < 3; h++)
		mesh_lose_forward(r, 0, h, SENT);
}

static void all_dead(struct mesh_run *r)
{
	for (size_t src = 0; src < r->hosts; src++)
		for (size_t dst = 0; dst < r->hosts; dst++)
			lose_between(r, src, dst, SENT);
}

static void others_busy(struct mesh_run *r)
{
	r->matrix.transport = TRANSPORT_SSH;
	for (size_t h = 0; h < r->hosts; h++)
		r->result[h].cpus = 4; // 40 % of them, and 35.5 % of one by the agent
	r->result[1].cpu_pct = 70;
}

static void ports_busy(struct mesh_run *r) // a and b are ports of one box
{
	others_busy(r);
	r->matrix.host[0].ports = r->matrix.host[1].ports = 2;
	r->matrix.host[1].first = 0;
}

static void agents_busy(struct mesh_run *r) // three, on one box
{
	for (size_t h = 0; h < r->hosts; h++) {
		r->result[h].cpus = 4;
		r->result[h].cpu_pct = 90;
		r->result[h].agent_cpu_pct = 100;
	}
}

static void too_big(struct mesh_run *r)
{
	r->result[1].icmp.too_big = 12;
	r->result[1].icmp.path_mtu = 1400;
}

static void large_replies_lost(struct mesh_run *r) // 466 bytes, a frame of 512
{
	for (size_t h = 1; h < 3; h++)
		mesh_lose_back(r, 0, h, SENT);
	for (size_t h = 0; h < 3; h++)
		for (size_t i = 0; i < 2; i++)
			r->result[h].tx[i].rep_bytes = r->result[h].rx[i].rep_bytes = 1472;
}

static void small_replies_lost(struct mesh_run *r)
{
	for (size_t h = 1; h < 3; h++)
		mesh_lose_back(r, 0, h, SENT);
}

static void unreachable(struct mesh_run *r)
{
	r->result[2].icmp.unreachable = 3;
}

static void column_sick(struct mesh_run *r)
{
	lose_between(r, 0, 2, 500);
	lose_between(r, 1, 2, 600);
	lose_between(r, 1, 0, 10);
}

static void row_sick(struct mesh_run *r)
{
	lose_between(r, 0, 1, 500);
	lose_between(r, 0, 2, 600);
}

static void link_sick(struct mesh_run *r)
{
	for (size_t h = 1; h < 3; h++) {
		lose_between(r, 0, h, 500);
		lose_between(r, h, 0, 500);
	}
}

static void all_sick(struct mesh_run *r)
{
	for (size_t src = 0; src < r->hosts; src++)
		for (size_t dst = 0; dst < r->hosts; dst++)
			lose_between(r, src, dst, 500);
}

const struct advice_case advice_case[] = {
	{ "invalid trial", more_than_sent, FIRES, "a to b: sent 50,000, delivered 50,002",
	  "--json" },
	{ "invalid trial", lost_forward, SILENT, NULL, NULL },
	{ "invalid trial", lost_live, SILENT, NULL, NULL },
	{ "identity open", request_forgotten, FIRES,
	  "delivered 300,000 is not replied 299,999 + unsent 0", NULL },
	{ "identity open", reply_unsent, SILENT, NULL, NULL },
	{ "identity open", lost_forward, SILENT, NULL, NULL },
	{ "dead host", host_dead, FIRES, "1 of 3 hosts not measured: b (no route to host)",
	  "pmx logs lab.yaml" },
	{ "dead host", lost_forward, SILENT, NULL, NULL },
	{ "ended early", lease_over, FIRES, "c ended early, by its lease, after 10.00 s",
	  "'lease'" },
	{ "ended early", user_stopped, SILENT, NULL, NULL },
	{ "dead column", column_dead, FIRES_ALONE,
	  "of 100,000 requests for c none arrived, and its agent runs; its own requests do arrive",
	  "UDP port 5300 to c" },
	{ "dead column", all_dead, FIRES_ALONE, "and so for 2 other hosts", NULL },
	{ "dead column", column_nearly_dead, SILENT, NULL, NULL },
	{ "dead column", host_dead, SILENT, NULL, NULL },
	{ "dead column", row_dead, SILENT, NULL, NULL },
	{ "dead row", row_dead, FIRES_ALONE, "of the 100,000 requests that a sent none arrived",
	  "switch port" },
	{ "dead row", column_dead, SILENT, NULL, NULL },
	{ "dead row", all_dead, SILENT, NULL, NULL },
	{ "box busy", others_busy, FIRES,
	  "others take 61 % of all CPUs of b: the box is busy 70 %, its busiest core 98 %, where "
	  "the agent takes 36 % of one of 4",
	  "'lcores' in lab.yaml" },
	{ "box busy", ports_busy, FIRES,
	  "others take 52 % of all CPUs of b: the box is busy 70 %, its busiest core 98 %, where "
	  "the agent takes 36 % of one of 4",
	  "'lcores' in lab.yaml" },
	{ "box busy", agents_busy, SILENT, NULL, NULL },
	{ "path MTU", too_big, FIRES,
	  "b was told 12 times that its packets are too big for a hop of MTU 1400",
	  "'request' and 'reply' in lab.yaml" },
	{ "path MTU", large_replies_lost, FIRES_ALONE,
	  "requests of 18 bytes (frame 64) of a arrive at b, and not one of the replies of 1472 "
	  "bytes (frame 1518) comes back",
	  "'reply: 18'" },
	{ "path MTU", small_replies_lost, SILENT, NULL, NULL },
	{ "path MTU", lost_back, SILENT, NULL, NULL },
	{ "unreachable", unreachable, FIRES, "c was told 3 times", "UDP port 5300" },
	{ "unreachable", too_big, SILENT, NULL, NULL },
	{ "silent next hop", case_hop_silent, FIRES,
	  "b has had no answer from its next hop 198.18.0.3 (c)", "is up" },
	{ "silent next hop", case_hop_was_silent, SILENT, NULL, NULL },
	{ "moving next hop", case_hop_moves, FIRES, "changed 3 times, as b was told",
	  "two devices" },
	{ "moving next hop", case_hop_was_silent, SILENT, NULL, NULL },
	{ "TTL expired", case_expired, FIRES, "a was told 5 times", "raise 'ttl'" },
	{ "TTL expired", unreachable, SILENT, NULL, NULL },
	{ "address twice", case_own_address, FIRES, "c received 1 frames from its own address",
	  "another device" },
	{ "address twice", case_claimed, FIRES, "a was told 10 times of another MAC", "tcpdump" },
	{ "address twice", case_taken_over, SILENT, NULL, NULL },
	{ "paths differ", case_ttl_two, FIRES, "requests came with 61 to 62, replies with 62",
	  "routes" },
	{ "paths differ", case_ttl_by_way, FIRES, "requests came with 62, replies with 63",
	  "routes" },
	{ "paths differ", case_ttl_same, SILENT, NULL, NULL },
	{ "sick grid", column_sick, FIRES,
	  "a sick column of the grid: 99.1 % of the lost packets (1,100) were sent to c: 0.5500 % "
	  "lost there, 0.0025 % elsewhere",
	  "its way in" },
	{ "sick grid", row_sick, FIRES, "a sick row of the grid: 100.0 %", "its way out" },
	{ "sick grid", link_sick, FIRES, "row and column", "its link" },
	{ "sick grid", all_sick, SILENT, NULL, NULL },
	{ "sick grid", lost_forward, SILENT, NULL, NULL }, // one cell
	{ "sick grid", missed_without_loss, SILENT, NULL, NULL },
	{ "schedule off", clock_wrong, FIRES,
	  "a to b had 51000 requests due where rate x window gives 50000", "clock of a" },
	{ "schedule off", clock_nearly_right, SILENT, NULL, NULL },
	{ "tool at its ceiling", queue_busy, FIRES, "queue 1 of b is busy 99.0 %",
	  "'queues: 4' in lab.yaml" },
	{ "tool at its ceiling", queue_busy_and_short, FIRES, "and offered 99.50 % of its target",
	  NULL },
	{ "tool at its ceiling", queues_idle, FIRES_ALONE, NULL, "1 streams for 2 queues" },
	{ "tool at its ceiling", queue_rather_busy, SILENT, NULL, NULL },
	{ "tool at its ceiling", kept_from_its_cpu, SILENT, NULL, NULL },
	{ "short of target", kept_from_its_cpu, FIRES_ALONE,
	  "it had work 99 % of the time, and ran 12 % of it", "'lcores' in lab.yaml" },
	{ "short of target", unsent, FIRES,
	  "b offered 99.50 % of its target (500 requests unsent) though its busiest queue is only "
	  "40 %",
	  "'lcores' in lab.yaml" },
	{ "short of target", unsent_port_full, FIRES, "its port refused 7 bursts", "link is full" },
	{ "short of target", unsent_a_few, SILENT, NULL, NULL },
	{ "short of target", queue_busy_and_short, SILENT, NULL, NULL }, // the rule above says why
	{ "running late", late, FIRES, "c sent late: one request in a hundred by 5.00 ms and more",
	  "'lcores' in lab.yaml" },
	{ "running late", hardly_late, SILENT, NULL, NULL },
	{ "replies unsent", reply_unsent, FIRES,
	  "b could not send 9 of the 100,000 replies it owed", "txd" },
	{ "replies unsent", lost_back, SILENT, NULL, NULL },
	{ "receiver drops", lost_forward_missed, FIRES, "NIC of b missed 500 and had no mbuf for 0",
	  "'queues: 4' for b" },
	{ "receiver drops", lost_forward_nombuf, FIRES, "missed 0 and had no mbuf for 500",
	  "more memory" },
	{ "receiver drops", lost_forward, SILENT, NULL, NULL },
	{ "receiver drops", missed_without_loss, SILENT, NULL, NULL },
	{ "forward loss", lost_forward, FIRES,
	  "500 requests (0.1667 %) did not arrive, where the receivers' NICs dropped 0 packets; "
	  "worst a to b",
	  "from a to b" },
	{ "forward loss", lost_forward_partly_missed, FIRES, "dropped 100 packets", NULL },
	{ "forward loss", lost_forward_missed, SILENT, NULL, NULL },
	{ "forward loss", lost_forward_nombuf, SILENT, NULL, NULL },
	{ "forward loss", lost_forward_missed_back_in_fabric, SILENT, NULL, NULL },
	{ "forward loss", lost_back, SILENT, NULL, NULL },
	{ "forward loss", lost_uncounted, SILENT, NULL, NULL },
	{ "forward loss", lost_live, SILENT, NULL, NULL },
	{ "return loss", lost_back, FIRES,
	  "500 replies (0.1667 %) did not come back; worst those of b to a", "'reply' smaller" },
	{ "return loss", lost_forward, SILENT, NULL, NULL },
	{ "return loss", lost_live, SILENT, NULL, NULL },
	{ "loss unattributed", lost_uncounted, FIRES, "500 packets were lost on the way to b",
	  "ethtool -S" },
	{ "loss unattributed", lost_forward, SILENT, NULL, NULL },
	{ "other run", other_run, FIRES, "c received 1 frames of another pmx run", "pmx stop" },
	{ "other run", stray_l2, SILENT, NULL, NULL },
	{ "pause frames", pauses, FIRES, "a received 5: the network could not take more",
	  "ethtool -A" },
	{ "pause frames", no_pauses, SILENT, NULL, NULL },
	{ "queues filling", queues_fill, FIRES_ALONE, "is 50 times the p50, 10.0 us",
	  "lower the rate" },
	{ "queues filling", quick, SILENT, NULL, NULL },
	{ "uneven queues", one_queue_gets_all, FIRES,
	  "one received 2.0 times the mean of its 2 queues", "'streams'" },
	{ "uneven queues", one_queue_gets_more, SILENT, NULL, NULL },
	{ "off queue", off_queue, FIRES, "25,000 of the 100,000 replies to a", "queues: 1" },
	{ "off queue", off_queue_against_plan, FIRES, "25,000 of the 100,000 replies to a",
	  "'steering: rss', and the port does not: the port hashes addresses without UDP ports" },
	{ "off queue", off_queue_though_steered, FIRES, "25,000 of the 100,000 replies to a",
	  "'steering: pairs', which does not hold here" },
	{ "off queue", off_queue_seldom, SILENT, NULL, NULL },
	{ "foreign traffic", stray_l2, FIRES, "4.8 % of what c received", "tcpdump" },
	{ "foreign traffic", stray_few, SILENT, NULL, NULL },
	{ "start skew", skewed, FIRES, "within 200 ms", "--for" },
	{ "start skew", hardly_skewed, SILENT, NULL, NULL },
};
const size_t advice_cases = sizeof(advice_case) / sizeof(advice_case[0]);
