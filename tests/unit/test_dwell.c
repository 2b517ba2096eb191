// Rotation as an lcore runs it: a real queue, its trials stepped by a clock made by hand, requests
// taken from its output instead of by a port. Random runs print their seed.
#include "dwell.h"
#include "out.h"
#include "trial.h"
#include "tx.h"

#include "eal_run.h"
#include "testlib.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#define HZ 2445434001.0
#define MS_NS UINT64_C(1000000)
#define START 987654321u // TSC
#define FLOWS 24

struct rig {
	struct hostcfg cfg;
	struct agent_shared shared;
	struct queue *q;
	struct flow_tx tx[FLOWS];
	uint64_t gone_ns;   // of the run, before it joined
	uint64_t now, next; // TSC; of the next trial_step
	uint64_t warm[FLOWS], sent[FLOWS];
	uint64_t first[FLOWS], last[FLOWS]; // TSC of its requests in the measured trial
};

static uint64_t tsc_of(uint64_t ns)
{
	return (uint64_t)((double)ns * HZ / 1e9);
}

static void flow_add(struct rig *r, double pps, uint32_t streams, uint32_t layer, uint32_t window)
{
	size_t i = r->cfg.tx_count++;
	r->tx[i] = (struct flow_tx){
		.peer_addr = IP4(0xc6120002u + (uint32_t)i),
		.req_bytes = 18,
		.rep_bytes = 18,
		.rate_pps = pps,
		.window = window,
		.streams = streams,
		.sport_first = 50000,
		.tx_first = i > 0 ? r->tx[i - 1].tx_first + r->tx[i - 1].streams : 0,
		.layer = layer,
	};
}

static struct rig *rig_make(struct rotation rotation, uint64_t warmup_ns, uint64_t duration_ns)
{
	struct rig *r = calloc(1, sizeof(*r));
	assert_non_null(r);
	r->cfg = (struct hostcfg){
		.cookie = 0xabcd,
		.host_count = 2,
		.addr = IP4(0xc6120001),
		.prefix_len = 24,
		.udp_port = 5300,
		.warmup_ns = warmup_ns,
		.duration_ns = duration_ns,
		.drain_ns = 200 * MS_NS,
		.rotation = rotation,
		.tx = r->tx,
	};
	r->cfg.port.queues = 1;
	r->cfg.port.burst = 32;
	return r;
}

static void rig_arm(struct rig *r)
{
	static const struct rte_ether_addr mac = { { 2, 0, 0, 0, 0, 1 } };
	struct err e = { 0 };
	r->q = queue_create(&(struct queue_env){ .cfg = &r->cfg,
						 .shared = &r->shared,
						 .rxd = 64,
						 .txd = 64,
						 .data_room = 2176,
						 .mac = mac },
			    0, &e);
	if (r->q == NULL)
		fail_msg("%s", e.msg);
	r->shared.queue[0] = r->q;
	queue_arm(r->q, &r->cfg, START, HZ);
	queue_skip(r->q, tsc_of(r->gone_ns));
	r->shared.armed = true;
	r->now = START - tsc_of(MS_NS);
	r->next = 0;
	for (size_t i = 0; i < FLOWS; i++)
		r->first[i] = UINT64_MAX;
}

static void rig_drop(struct rig *r)
{
	queue_destroy(r->q);
	free(r);
}

static void take_output(struct rig *r)
{
	struct queue *q = r->q;
	for (uint32_t i = 0; i < q->out_count; i++) {
		struct rte_mbuf *m = q->out[q->out_head + i];
		uint32_t flow = q->tx[m->hash.usr].flow;
		if (q->current + 1 < q->trial_count) {
			r->warm[flow]++;
		} else {
			r->sent[flow]++;
			r->first[flow] = RTE_MIN(r->first[flow], r->now);
			r->last[flow] = r->now;
		}
		rte_pktmbuf_free(m);
	}
	q->out_head = q->out_count = q->out_old = 0;
}

// What worker.c does in a turn.
static void turn(struct rig *r)
{
	if (r->now >= r->next)
		r->next = RTE_MIN(trial_step(r->q, r->now), r->now + tsc_of(20000));
	while (r->q->sending && tx_due(r->q, r->now, true) > 0)
		take_output(r);
}

// Turns up to an instant, in steps of up to 2 x `step_ns`.
static void run_until(struct rig *r, uint64_t tsc, uint64_t step_ns, struct rng *g)
{
	while (r->now < tsc) {
		turn(r);
		r->now += 1 + rng_below(g, 2 * tsc_of(step_ns));
	}
}

static uint64_t trial_end(const struct rig *r)
{
	return r->q->trial[r->q->trial_count - 1].end;
}

// All that is left of the run.
static void run_all(struct rig *r, uint64_t step_ns, struct rng *g)
{
	run_until(r, trial_end(r) + tsc_of(r->cfg.drain_ns), step_ns, g);
	turn(r);
	assert_false(r->q->sending);
}

static uint64_t on_ns(const struct rig *r, size_t flow)
{
	const struct queue_trial *t = &r->q->trial[r->q->trial_count - 1];
	uint64_t ns = (uint64_t)llround((double)(t->end - t->start) * 1e9 / HZ);
	uint64_t over = r->gone_ns > r->cfg.warmup_ns ? r->gone_ns - r->cfg.warmup_ns : 0;
	return rotation_on_ns(&r->cfg.rotation, r->tx[flow].layer, over + ns) -
	       rotation_on_ns(&r->cfg.rotation, r->tx[flow].layer, over);
}

static const struct tx_counts *counts(const struct rig *r, size_t flow)
{
	return &r->q->trial[r->q->trial_count - 1].tx[flow];
}

// Every flow had due what its rate comes to over the time it was on.
static void assert_due(const struct rig *r)
{
	for (size_t i = 0; i < r->cfg.tx_count; i++) {
		const struct tx_counts *c = counts(r, i);
		double due = r->tx[i].rate_pps * (double)on_ns(r, i) / 1e9;
		assert_int_equal(c->sent, r->sent[i]);
		if (r->tx[i].rate_pps >= 0 && fabs((double)(c->sent + c->unsent) - due) > 1.001)
			fail_msg("flow %zu: %" PRIu64 " sent + %" PRIu64 " unsent, %.3f due", i,
				 c->sent, c->unsent, due);
	}
}

// 5 layers, each with its turn of exactly its packets, and no request outside of it.
static void each_layer_has_its_turn(void **state)
{
	struct rng g = rng_open("dwell turn");
	struct rig *r = rig_make((struct rotation){ 5, 100 * MS_NS }, 0, 500 * MS_NS);
	(void)state;
	for (uint32_t i = 0; i < 20; i++)
		flow_add(r, i < 10 ? 1000 : 2500, 1, i % 5, 0);
	rig_arm(r);
	run_all(r, 4000, &g);
	assert_due(r);
	for (uint32_t i = 0; i < 20; i++) {
		uint64_t start = START + tsc_of(i % 5 * 100 * MS_NS);
		assert_int_equal(r->sent[i], i < 10 ? 100 : 250);
		assert_int_equal(counts(r, i)->unsent, 0);
		assert_in_range(r->first[i], start, start + tsc_of(100 * MS_NS));
		assert_in_range(r->last[i], start, start + tsc_of(100 * MS_NS) + tsc_of(50000));
	}
	rig_drop(r);
}

// Rates of which a dwell holds no whole number of packets: over many dwells they do not drift.
static void nothing_adds_up_over_cycles(void **state)
{
	struct rng g = rng_open("dwell cycles");
	struct rig *r = rig_make((struct rotation){ 3, 25 * MS_NS }, 30 * MS_NS, 3000 * MS_NS);
	(void)state;
	flow_add(r, 100, 1, 0, 0); // 2.5 packets a dwell
	flow_add(r, 33, 1, 1, 0);
	flow_add(r, 777.7, 1, 2, 0);
	flow_add(r, 3, 1, 2, 0);
	rig_arm(r);
	run_all(r, 10000, &g);
	assert_due(r);
	assert_int_equal(r->sent[0], 100);
	assert_int_equal(r->sent[3], 3);
	assert_int_equal(r->warm[0], 3);
	assert_int_equal(r->warm[1] + r->warm[2] + r->warm[3], 0);
	rig_drop(r);
}

// Whatever the layers, rates, warm-up and length of the run, and however the sender is kept from
// its CPU, also for longer than a dwell: all that was due was sent or is booked unsent.
static void random_runs_are_exact(void **state)
{
	struct rng g = rng_open("dwell random");
	(void)state;
	for (int round = 0; round < 60; round++) {
		struct rotation rotation = {
			.layers = 1 + (uint32_t)rng_below(&g, 7),
			.dwell_ns = (10 + rng_below(&g, 90)) * MS_NS + rng_below(&g, 1000),
		};
		uint64_t warmup_ns = rng_below(&g, 2) * (1 + rng_below(&g, 100 * MS_NS));
		struct rig *r = rig_make(rotation, warmup_ns, 1 + rng_below(&g, 1000 * MS_NS));
		for (uint64_t n = 1 + rng_below(&g, FLOWS - 1); n > 0; n--)
			flow_add(r, (double)(1 + rng_below(&g, 8)) * 313.37, 1,
				 (uint32_t)rng_below(&g, rotation.layers), 0);
		if (rng_below(&g, 3) == 0) // joins late
			r->gone_ns = rng_below(&g, warmup_ns + r->cfg.duration_ns);
		rig_arm(r);
		for (uint64_t stalls = rng_below(&g, 4); stalls > 0; stalls--) {
			run_until(r, r->now + tsc_of(rng_below(&g, 300 * MS_NS)), 15000, &g);
			r->now += tsc_of(rng_below(&g, 150 * MS_NS));
		}
		run_all(r, 15000, &g);
		assert_due(r);
		assert_int_equal(rte_mempool_in_use_count(r->q->tx_pool), 0);
		rig_drop(r);
	}
}

// What a stalled run of some pacing has due by flow; its requests are those that it counts.
static void due_by_flow(const struct pacing *pacing, bool stalls, uint64_t due[FLOWS],
			struct rng *g)
{
	struct rig *r = rig_make((struct rotation){ 3, 50 * MS_NS }, 20 * MS_NS, 500 * MS_NS);
	r->cfg.pacing = *pacing;
	for (uint32_t i = 0; i < 9; i++)
		flow_add(r, i < 6 ? 4000 : 700, 1 + i % 2, i % 3, 0);
	rig_arm(r);
	for (int i = 0; stalls && i < 3; i++) {
		run_until(r, r->now + tsc_of(rng_below(g, 100 * MS_NS)), 15000, g);
		r->now += tsc_of(rng_below(g, 120 * MS_NS));
	}
	run_all(r, 10000, g);
	for (uint32_t i = 0; i < 9; i++) {
		const struct tx_counts *c = counts(r, i);
		assert_int_equal(c->sent, r->sent[i]);
		due[i] = c->sent + c->unsent;
		assert_int_equal(due[i] % pacing->burst, 0);
		if (!stalls)
			assert_int_equal(c->unsent, 0);
	}
	assert_int_equal(rte_mempool_in_use_count(r->q->tx_pool), 0);
	rig_drop(r);
}

// Bursts and random gaps in a rotation: the schedule is the seed's, however the sender is kept from
// its CPU, and all of it was sent or is booked unsent.
static void a_schedule_survives_stalls(void **state)
{
	struct rng g = rng_open("dwell stalls");
	(void)state;
	for (int kind = 0; kind < 2 * SPACINGS; kind++) {
		const struct pacing pacing = { kind % 2 ? 3 : 1, kind / 2, .seed = 11 };
		uint64_t want[FLOWS], got[FLOWS], all = 0;
		due_by_flow(&pacing, false, want, &g);
		for (int round = 0; round < 5; round++) {
			due_by_flow(&pacing, true, got, &g);
			assert_memory_equal(got, want, 9 * sizeof(*got));
		}
		for (uint32_t i = 0; i < 9; i++)
			all += want[i];
		// six flows of 4,000 and three of 700, each on for some third of half a second
		assert_in_range(all, 3700, 5000);
	}
}

// Stopped in the middle of a dwell of the second cycle.
static void a_stop_cuts_a_dwell(void **state)
{
	struct rng g = rng_open("dwell stop");
	struct rig *r = rig_make((struct rotation){ 3, 50 * MS_NS }, 0, 10000 * MS_NS);
	(void)state;
	for (uint32_t i = 0; i < 9; i++)
		flow_add(r, 1000 + 100 * i, 1, i % 3, 0);
	rig_arm(r);
	run_until(r, START + tsc_of(200 * MS_NS), 8000, &g);
	r->shared.stop_tsc = START + tsc_of(220 * MS_NS);
	run_all(r, 8000, &g);
	assert_int_equal(trial_end(r), START + tsc_of(220 * MS_NS));
	assert_due(r);
	assert_int_equal(on_ns(r, 0), 100 * MS_NS);
	assert_int_equal(on_ns(r, 1), 70 * MS_NS);
	assert_int_equal(on_ns(r, 2), 50 * MS_NS);
	for (uint32_t i = 0; i < 9; i++)
		assert_int_equal(counts(r, i)->unsent, 0);
	rig_drop(r);
}

// Pairs without a rate, with a window or without: only those of the layer that is on send, and
// never more than their places while no reply comes.
static void unpaced_pairs_rotate(void **state)
{
	struct rng g = rng_open("dwell windows");
	struct rig *r = rig_make((struct rotation){ 2, 10 * MS_NS }, 0, 40 * MS_NS);
	(void)state;
	flow_add(r, RATE_UNPACED, 2, 0, 7);
	flow_add(r, RATE_UNPACED, 1, 1, 5);
	flow_add(r, RATE_UNPACED, 1, 1, 9);
	rig_arm(r);
	run_until(r, START + tsc_of(10 * MS_NS) - tsc_of(5000), 2000, &g);
	assert_true(r->sent[0] == 7 && r->sent[1] == 0 && r->sent[2] == 0);
	window_credit(&r->q->window, 0, 3, r->now);
	run_until(r, START + tsc_of(15 * MS_NS), 2000, &g);
	assert_in_range(r->sent[0], 7, 10);
	assert_true(r->sent[1] == 5 && r->sent[2] == 9);
	run_all(r, 2000, &g);
	assert_int_equal(r->sent[0], 10);
	assert_true(r->sent[1] == 5 && r->sent[2] == 9);
	rig_drop(r);
}

// An agent that joins in the middle of a dwell sends what the others' clocks say, too.
static void one_that_joins_finds_its_layer(void **state)
{
	struct rng g = rng_open("dwell join");
	struct rig *r = rig_make((struct rotation){ 3, 50 * MS_NS }, 10 * MS_NS, 300 * MS_NS);
	(void)state;
	for (uint32_t i = 0; i < 6; i++)
		flow_add(r, 1000, 1, i % 3, 0);
	r->gone_ns = 80 * MS_NS; // 70 of the rotation: 30 of layer 1 to come
	rig_arm(r);
	run_until(r, START + tsc_of(29 * MS_NS), 5000, &g);
	assert_true(r->sent[0] == 0 && r->sent[1] > 20 && r->sent[2] == 0);
	run_all(r, 5000, &g);
	assert_due(r);
	assert_in_range(r->sent[0], 49, 51);
	assert_in_range(r->sent[1], 79, 81);
	assert_in_range(r->sent[2], 99, 101);
	rig_drop(r);
}

// The first request of a queue without flows in the first layer comes with its own.
static void the_first_due_is_known(void **state)
{
	struct rng g = rng_open("dwell first");
	struct rig *r = rig_make((struct rotation){ 3, 50 * MS_NS }, 20 * MS_NS, 150 * MS_NS);
	(void)state;
	flow_add(r, 1000, 1, 2, 0);
	flow_add(r, 1500, 1, 2, 0);
	rig_arm(r);
	uint64_t due = dwell_first_due(r->q);
	assert_in_range(due, START + tsc_of(120 * MS_NS), START + tsc_of(121 * MS_NS));
	run_all(r, 500, &g);
	assert_in_range(r->q->first_tx, due, due + tsc_of(50000));
	assert_due(r);
	rig_drop(r);
}

// A lcore that sent nothing for a day of ten million packets a second knows at once what it owes.
static void a_day_is_owed(void **state)
{
	static const struct pacing pacing[] = {
		{ .burst = 7 },
		{ .burst = 1, .spacing = SPACING_POISSON, .seed = 5 },
		{ .burst = 3, .spacing = SPACING_UNIFORM, .seed = 5 },
		{ .burst = 1, .ramp = { .from = 0.5, .over_ns = UINT64_C(86400000000000) } },
	};
	static const double share[] = { 1, 1, 1, 0.75 };
	const uint64_t day = UINT64_C(86400000000000);
	(void)state;
	for (size_t i = 0; i < COUNT_OF(pacing); i++) {
		struct rig *r = rig_make((struct rotation){ 0 }, 0, day);
		flow_add(r, 1e7, 3, 0, 0);
		flow_add(r, 1e7, 1, 0, 0);
		r->cfg.pacing = pacing[i];
		rig_arm(r);
		struct queue_trial *t = &r->q->trial[0];
		trial_step(r->q, t->start);
		trial_step(r->q, t->close);
		assert_int_equal(atomic_load(&r->q->closed_trials), 1);
		double want = share[i] * 1e7 * 86400;
		for (size_t f = 0; f < 2; f++) {
			assert_int_equal(t->tx[f].sent, 0);
			assert_near((double)t->tx[f].unsent, want, want * 1e-6);
		}
		rig_drop(r);
	}
}

static int run(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_layer_has_its_turn),
		cmocka_unit_test(nothing_adds_up_over_cycles),
		cmocka_unit_test(random_runs_are_exact),
		cmocka_unit_test(a_schedule_survives_stalls),
		cmocka_unit_test(a_day_is_owed),
		cmocka_unit_test(a_stop_cuts_a_dwell),
		cmocka_unit_test(unpaced_pairs_rotate),
		cmocka_unit_test(one_that_joins_finds_its_layer),
		cmocka_unit_test(the_first_due_is_known),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

int main(void)
{
	return eal_run("test_dwell", run);
}
