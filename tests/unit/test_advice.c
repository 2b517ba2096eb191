#include "testlib.h"

#include "advice.h"
#include "mesh_run.h"
#include "sample.h"

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

static void nothing(struct mesh_run *r)
{
	(void)r;
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
}

static void queue_busy_and_short(struct mesh_run *r)
{
	queue_busy(r);
	mesh_leave_unsent(r, 1, 0, 500);
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

struct example {
	const char *rule;
	void (*change)(struct mesh_run *r);
	bool fires;
	const char *evidence, *fix; // words that must be there; NULL = any
};

static const struct example example[] = {
	{ "invalid trial", more_than_sent, true, "a to b: sent 50,000, delivered 50,002",
	  "--json" },
	{ "invalid trial", lost_forward, false, NULL, NULL },
	{ "invalid trial", lost_live, false, NULL, NULL },
	{ "identity open", request_forgotten, true,
	  "delivered 300,000 is not replied 299,999 + unsent 0", NULL },
	{ "identity open", reply_unsent, false, NULL, NULL },
	{ "identity open", lost_forward, false, NULL, NULL },
	{ "dead host", host_dead, true, "1 of 3 hosts not measured: b (no route to host)",
	  "pmx logs lab.yaml" },
	{ "dead host", lost_forward, false, NULL, NULL },
	{ "ended early", lease_over, true, "c ended early, by its lease, after 10.00 s",
	  "'lease'" },
	{ "ended early", user_stopped, false, NULL, NULL },
	{ "dead column", column_dead, true,
	  "of 100,000 requests for c none arrived, and its agent runs; its own requests do arrive",
	  "UDP port 5300 to c" },
	{ "dead column", all_dead, true, "and so for 2 other hosts", NULL },
	{ "dead column", column_nearly_dead, false, NULL, NULL },
	{ "dead column", host_dead, false, NULL, NULL },
	{ "dead column", row_dead, false, NULL, NULL },
	{ "dead row", row_dead, true, "of the 100,000 requests that a sent none arrived",
	  "switch port" },
	{ "dead row", column_dead, false, NULL, NULL },
	{ "dead row", all_dead, false, NULL, NULL },
	{ "box busy", others_busy, true,
	  "others take 61 % of all CPUs of b: the box is busy 70 %, its busiest core 98 %, where "
	  "the agent takes 36 % of one of 4",
	  "'lcores' in lab.yaml" },
	{ "box busy", agents_busy, false, NULL, NULL },
	{ "path MTU", too_big, true,
	  "b was told 12 times that its packets are too big for a hop of MTU 1400",
	  "'request' and 'reply' in lab.yaml" },
	{ "path MTU", large_replies_lost, true,
	  "requests of 18 bytes (frame 64) of a arrive at b, and not one of the replies of 1472 "
	  "bytes (frame 1518) comes back",
	  "'reply: 18'" },
	{ "path MTU", small_replies_lost, false, NULL, NULL },
	{ "path MTU", lost_back, false, NULL, NULL },
	{ "unreachable", unreachable, true, "c was told 3 times", "UDP port 5300" },
	{ "unreachable", too_big, false, NULL, NULL },
	{ "sick grid", column_sick, true,
	  "a sick column of the grid: 99.1 % of the lost packets (1,100) were sent to c: 0.5500 % "
	  "lost there, 0.0025 % elsewhere",
	  "its way in" },
	{ "sick grid", row_sick, true, "a sick row of the grid: 100.0 %", "its way out" },
	{ "sick grid", link_sick, true, "row and column", "its link" },
	{ "sick grid", all_sick, false, NULL, NULL },
	{ "sick grid", lost_forward, false, NULL, NULL }, // one cell
	{ "sick grid", missed_without_loss, false, NULL, NULL },
	{ "schedule off", clock_wrong, true,
	  "a to b had 51000 requests due where rate x window gives 50000", "clock of a" },
	{ "schedule off", clock_nearly_right, false, NULL, NULL },
	{ "tool at its ceiling", queue_busy, true, "queue 1 of b is busy 99.0 %",
	  "'queues: 4' in lab.yaml" },
	{ "tool at its ceiling", queue_busy_and_short, true, "and offered 99.50 % of its target",
	  NULL },
	{ "tool at its ceiling", queues_idle, true, NULL, "1 streams for 2 queues" },
	{ "tool at its ceiling", queue_rather_busy, false, NULL, NULL },
	{ "short of target", unsent, true,
	  "b offered 99.50 % of its target (500 requests unsent) though its busiest queue is only "
	  "40 %",
	  "'lcores' in lab.yaml" },
	{ "short of target", unsent_port_full, true, "its port refused 7 bursts", "link is full" },
	{ "short of target", unsent_a_few, false, NULL, NULL },
	{ "short of target", queue_busy_and_short, false, NULL, NULL }, // the rule above says why
	{ "running late", late, true, "c sent late: one request in a hundred by 5.00 ms and more",
	  "'lcores' in lab.yaml" },
	{ "running late", hardly_late, false, NULL, NULL },
	{ "replies unsent", reply_unsent, true, "b could not send 9 of the 100,000 replies it owed",
	  "txd" },
	{ "replies unsent", lost_back, false, NULL, NULL },
	{ "receiver drops", lost_forward_missed, true, "NIC of b missed 500 and had no mbuf for 0",
	  "'queues: 4' for b" },
	{ "receiver drops", lost_forward_nombuf, true, "missed 0 and had no mbuf for 500",
	  "more memory" },
	{ "receiver drops", lost_forward, false, NULL, NULL },
	{ "receiver drops", missed_without_loss, false, NULL, NULL },
	{ "forward loss", lost_forward, true,
	  "500 requests (0.1667 %) did not arrive, where the receivers' NICs dropped 0 packets; "
	  "worst a to b",
	  "from a to b" },
	{ "forward loss", lost_forward_partly_missed, true, "dropped 100 packets", NULL },
	{ "forward loss", lost_forward_missed, false, NULL, NULL },
	{ "forward loss", lost_forward_nombuf, false, NULL, NULL },
	{ "forward loss", lost_forward_missed_back_in_fabric, false, NULL, NULL },
	{ "forward loss", lost_back, false, NULL, NULL },
	{ "forward loss", lost_uncounted, false, NULL, NULL },
	{ "forward loss", lost_live, false, NULL, NULL },
	{ "return loss", lost_back, true,
	  "500 replies (0.1667 %) did not come back; worst those of b to a", "'reply' smaller" },
	{ "return loss", lost_forward, false, NULL, NULL },
	{ "return loss", lost_live, false, NULL, NULL },
	{ "loss unattributed", lost_uncounted, true, "500 packets were lost on the way to b",
	  "ethtool -S" },
	{ "loss unattributed", lost_forward, false, NULL, NULL },
	{ "other run", other_run, true, "c received 1 frames of another pmx run", "pmx stop" },
	{ "other run", stray_l2, false, NULL, NULL },
	{ "pause frames", pauses, true, "a received 5: the network could not take more",
	  "ethtool -A" },
	{ "pause frames", no_pauses, false, NULL, NULL },
	{ "queues filling", queues_fill, true, "is 50 times the p50, 10.0 us", "lower the rate" },
	{ "queues filling", quick, false, NULL, NULL },
	{ "uneven queues", one_queue_gets_all, true,
	  "one received 2.0 times the mean of its 2 queues", "'streams'" },
	{ "uneven queues", one_queue_gets_more, false, NULL, NULL },
	{ "off queue", off_queue, true, "25,000 of the 100,000 replies to a", "RSS" },
	{ "off queue", off_queue_seldom, false, NULL, NULL },
	{ "foreign traffic", stray_l2, true, "4.8 % of what c received", "tcpdump" },
	{ "foreign traffic", stray_few, false, NULL, NULL },
	{ "start skew", skewed, true, "within 200 ms", "--for" },
	{ "start skew", hardly_skewed, false, NULL, NULL },
};

static size_t advise(void (*change)(struct mesh_run *), struct advice out[ADVICE_MAX])
{
	struct mesh_run r;
	struct summary s;
	size_t n;

	mesh_run_make(&r, &(struct mesh_spec){ .hosts = 3, .queues = 2, .pps = 5000 });
	change(&r);
	mesh_summarize(&r, &s);
	n = advice_build(&s, out);
	summary_free(&s);
	mesh_run_free(&r);
	return n;
}

static const struct advice *find(const struct advice *a, size_t n, const char *rule)
{
	for (size_t i = 0; i < n; i++)
		if (strcmp(a[i].rule, rule) == 0)
			return &a[i];
	return NULL;
}

static void must_say(const char *rule, const char *text, const char *words)
{
	if (words != NULL && strstr(text, words) == NULL)
		fail_msg("%s: '%s' is not in '%s'", rule, words, text);
}

static void test_examples(void **state)
{
	struct advice advice[ADVICE_MAX];

	(void)state;
	for (size_t i = 0; i < COUNT_OF(example); i++) {
		const struct example *x = &example[i];
		const struct advice *a = find(advice, advise(x->change, advice), x->rule);

		if ((a != NULL) != x->fires)
			fail_msg("example %zu: '%s' %s", i, x->rule,
				 x->fires ? "is silent" : "fires");
		if (a == NULL)
			continue;
		must_say(x->rule, a->evidence, x->evidence);
		must_say(x->rule, a->fix, x->fix);
	}
}

static void test_every_rule_has_examples(void **state)
{
	(void)state;
	for (size_t i = 0; i < advice_count; i++) {
		bool fires = false, silent = false;

		for (size_t k = 0; k < COUNT_OF(example); k++) {
			if (strcmp(example[k].rule, advice_table[i].name) != 0)
				continue;
			fires = fires || example[k].fires;
			silent = silent || !example[k].fires;
		}
		if (!fires || !silent)
			fail_msg("'%s' has no example that %s", advice_table[i].name,
				 fires ? "leaves it silent" : "fires it");
	}
	assert_true(advice_count < ADVICE_MAX);
}

// Those after which nothing is left to be taken away, and those that replace what another made.
static bool takes_all(void (*change)(struct mesh_run *))
{
	return change == queues_fill || change == queues_idle || change == column_dead ||
	       change == row_dead || change == all_dead || change == large_replies_lost;
}

static void everything(struct mesh_run *r)
{
	for (size_t i = 0; i < COUNT_OF(example); i++)
		if (example[i].fires && !takes_all(example[i].change))
			example[i].change(r);
}

static void test_rank(void **state)
{
	struct advice advice[ADVICE_MAX];
	size_t n, rule = 0;

	(void)state;
	n = advise(everything, advice);
	assert_true(n > 8);
	for (size_t i = 0; i < n; i++, rule++) // the order of the table
		while (strcmp(advice_table[rule].name, advice[i].rule) != 0)
			assert_true(++rule < advice_count);
}

struct leaves {
	size_t hosts, split; // the first `split` hosts on one leaf, the others on the other
	bool both;
};

// Loss between two leaves; returns whether the rule fires.
static bool advise_block(struct leaves l, struct advice *found)
{
	struct advice advice[ADVICE_MAX];
	struct mesh_run r;
	struct summary s;

	mesh_run_make(&r, &(struct mesh_spec){ .hosts = l.hosts, .pps = 5000 });
	for (size_t src = 0; src < l.split; src++)
		for (size_t dst = l.split; dst < l.hosts; dst++) {
			if (src == 0 && dst == l.split)
				continue; // one pair is lucky
			mesh_lose_forward(&r, src, dst, 400 + src);
			if (l.both)
				mesh_lose_forward(&r, dst, src, 300);
			else
				mesh_lose_back(&r, dst, src, 300); // replies go the same way
		}
	mesh_lose_forward(&r, 0, 1, 5);
	mesh_summarize(&r, &s);
	size_t n = advice_build(&s, advice);
	const struct advice *a = find(advice, n, "sick grid");
	if (a != NULL)
		*found = *a;
	summary_free(&s);
	mesh_run_free(&r);
	return a != NULL;
}

static void test_sick_block(void **state)
{
	struct advice a = { 0 };

	(void)state;
	assert_true(advise_block((struct leaves){ 8, 4, false }, &a));
	must_say("sick grid", a.evidence,
		 "of the lost packets went from a, b, c and 1 more to e, f, g and 1 more");
	must_say("sick grid", a.fix, "the links between their switches");
	assert_true(advise_block((struct leaves){ 70, 30, true }, &a));
	must_say("sick grid", a.evidence,
		 "went between host0000, host0001, host0002 and 27 more "
		 "and host0030, host0031, host0032 and 37 more");
	assert_true(advise_block((struct leaves){ 9, 1, false }, &a)); // a leaf of one host
	must_say("sick grid", a.evidence, "sick row");
}

static void barely_busy(struct mesh_run *r)
{
	for (size_t i = 0; i < r->hosts; i++)
		for (size_t q = 0; q < r->result[i].queue_count; q++)
			r->result[i].queue[q].trial[1].busy_tsc = 10;
}

static void unpaced(struct mesh_run *r)
{
	for (size_t i = 0; i < r->hosts; i++)
		for (size_t k = 0; k < r->result[i].tx_count; k++)
			r->result[i].tx[k].rate_pps = RATE_UNPACED;
}

static void cells(struct mesh_run *r)
{
	r->matrix.traffic.pattern = PATTERN_CELLS;
	r->matrix.traffic.cell = calloc(1, sizeof(*r->matrix.traffic.cell));
	r->matrix.traffic.cell[0] = (struct matrix_cell){ .src = 0, .dst = 1, .rate.pps = 5000 };
	r->matrix.traffic.cell_count = 1;
}

static void live(struct mesh_run *r)
{
	for (size_t i = 0; i < r->hosts; i++) {
		strcpy(r->result[i].state, "running");
		r->now_ns[i] = MESH_START_NS + 10000000000u;
	}
}

static void test_nothing_fired(void **state)
{
	static const struct example last[] = {
		// the busiest queue at 40 %: twice the load brings it to 80
		{ "raise the rate", nothing, true, NULL,
		  "'rate: 10k' instead of 5k in lab.yaml, then: pmx run lab.yaml" },
		{ "raise the rate", barely_busy, true, NULL, "'rate: 50k' instead of 5k" },
		{ "raise the rate", cells, true, NULL, "the rates in lab.yaml to 2.0 times" },
		{ "unpaced", unpaced, true, "30.0 kpps is what these hosts send",
		  "pmx run lab.yaml" },
		{ "wait", live, true, NULL, "pmx summarize lab.yaml" },
	};
	struct advice advice[ADVICE_MAX];

	(void)state;
	for (size_t i = 0; i < COUNT_OF(last); i++) {
		assert_int_equal(advise(last[i].change, advice), 1);
		assert_string_equal(advice[0].rule, last[i].rule);
		must_say(last[i].rule, advice[0].evidence, last[i].evidence);
		must_say(last[i].rule, advice[0].fix, last[i].fix);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_examples),   cmocka_unit_test(test_every_rule_has_examples),
		cmocka_unit_test(test_rank),	   cmocka_unit_test(test_nothing_fired),
		cmocka_unit_test(test_sick_block),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
