#include "paced.h"

#include "worker.h"

#include "hist.h"

#include <rte_cycles.h>
#include <rte_ethdev.h>
#include <rte_launch.h>

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define AHEAD_S 0.05
#define STALL_NS 5000
#define EDGE 0.02 // of the trial, at either end, within which the least late packet is looked for

struct edge {
	uint64_t tsc, index;
	double late; // against a schedule from the trial's start, in TSC
	bool found;
};

struct watch {
	struct queue *q;
	bool rates;	 // watches rates and gaps, which costs too much near the capacity
	double interval; // TSC
	uint64_t interval_tsc, start, end, stall_tsc, edge_tsc[2];
	double recovery;
	uint64_t last_turn, stalled_until, stalls, stalled_tsc;
	uint64_t turn_sent, awake_sent, awake_tsc; // in turns that sent something and did not stall
	uint64_t sent, first_tsc, last_tsc;
	struct edge edge[2];
	uint32_t *bin; // [bins] of 1 ms
	uint32_t bins;
	uint64_t bin_tsc;
	// of TSC, not ns: nothing is converted on the way
	struct hist gap, late[2]; // late[1]: in a stall or its recovery
};

static uint16_t on_turn(uint16_t port, uint16_t queue, struct rte_mbuf *m[], uint16_t n,
			uint16_t max, void *arg)
{
	struct watch *w = arg;
	(void)port, (void)queue, (void)m, (void)max;
	uint64_t now = rte_rdtsc(), took = now - w->last_turn;
	w->last_turn = now;
	if (took > w->stall_tsc && now > w->start) {
		// on top of what is still to recover from an earlier one
		uint64_t from = w->stalled_until > now ? w->stalled_until : now;
		w->stalled_until = from + (uint64_t)((double)took * w->recovery);
		w->stalls++;
		w->stalled_tsc += took;
	} else if (w->turn_sent > 0) {
		w->awake_tsc += took;
		w->awake_sent += w->turn_sent;
	}
	w->turn_sent = 0;
	return n;
}

static void look_at_edge(struct watch *w, struct edge *e, uint64_t now)
{
	double late = (double)(now - w->start) - (double)w->sent * w->interval;
	if (!e->found || late < e->late)
		*e = (struct edge){ .tsc = now, .index = w->sent, .late = late, .found = true };
}

static void watch_rates(struct watch *w, uint64_t now, uint32_t n)
{
	if (now < w->edge_tsc[0] || now > w->edge_tsc[1])
		look_at_edge(w, &w->edge[now > w->edge_tsc[1]], now);
	if (w->sent > 0)
		hist_record(&w->gap, now - w->last_tsc);
	else
		w->first_tsc = now;
	if (n > 1)
		hist_record_n(&w->gap, 0, n - 1);
	uint64_t bin = (now - w->start) / w->bin_tsc;
	if (bin < w->bins)
		w->bin[bin] += n;
}

static uint16_t on_send(uint16_t port, uint16_t queue, struct rte_mbuf *m[], uint16_t n, void *arg)
{
	struct watch *w = arg;
	(void)port, (void)queue, (void)m;
	uint64_t now = rte_rdtsc();
	// the schedule has moved past the burst already
	uint64_t due = w->q->pace.group[0].due.tsc - n * w->interval_tsc;
	bool stalled = now < w->stalled_until || now - w->last_turn > w->stall_tsc;
	hist_record_n(&w->late[stalled], now > due ? now - due : 0, n);
	if (w->rates)
		watch_rates(w, now, n);
	w->last_tsc = now;
	w->sent += n;
	w->turn_sent += n;
	return n;
}

static uint64_t raw_ns(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC_RAW, &t);
	return (uint64_t)t.tv_sec * 1000000000ull + (uint64_t)t.tv_nsec;
}

struct instant {
	uint64_t tsc, ns;
};

static struct instant instant_now(void)
{
	struct instant best = { 0 };
	uint64_t least = UINT64_MAX;
	for (int i = 0; i < 100; i++) {
		uint64_t a = rte_rdtsc_precise(), ns = raw_ns(), b = rte_rdtsc_precise();
		if (b - a >= least)
			continue;
		least = b - a;
		best = (struct instant){ a + least / 2, ns };
	}
	return best;
}

static uint32_t most(const struct watch *w, uint32_t bins)
{
	uint32_t max = 0;
	for (uint32_t i = 0; i < bins && i < w->bins; i++)
		max = w->bin[i] > max ? w->bin[i] : max;
	return max;
}

static double percentile_us(const struct hist *h, double percent, double hz)
{
	return h->count > 0 ? hist_percentile_ns(h, percent) / hz * 1e6 : -1;
}

static void print_rates(const struct watch *w, const struct rig_opts *o, double hz)
{
	const struct edge *a = &w->edge[0], *b = &w->edge[1];
	double rate = (double)(b->index - a->index) * hz / (double)(b->tsc - a->tsc);
	double ends = (double)(w->sent - 1) * hz / (double)(w->last_tsc - w->first_tsc);
	printf(",\"ppm\":%.3f,\"ppm_ends\":%.3f,\"gap_us\":[%.3f,%.3f,%.3f],"
	       "\"most_first_10ms\":%u,\"most_in_1ms\":%u",
	       (rate / o->rate_pps - 1) * 1e6, (ends / o->rate_pps - 1) * 1e6,
	       percentile_us(&w->gap, 1, hz), percentile_us(&w->gap, 50, hz),
	       percentile_us(&w->gap, 99, hz), most(w, 10), most(w, w->bins));
}

static void print(const struct watch *w, const struct rig_opts *o, double hz, double agent_hz)
{
	static struct hist all;
	hist_reset(&all);
	hist_merge(&all, &w->late[0]);
	hist_merge(&all, &w->late[1]);
	printf("{\"target\":%.0f,\"sent\":%llu,\"clock_ppm\":%.3f", o->rate_pps * o->seconds,
	       (unsigned long long)w->sent, (agent_hz / hz - 1) * 1e6);
	if (w->rates)
		print_rates(w, o, hz);
	printf(",\"late_p50_us\":%.3f,\"late_p99_us\":%.3f,\"late_max_us\":%.3f,"
	       "\"clean_p50_us\":%.3f,\"clean_p99_us\":%.3f,\"clean_share\":%.4f,"
	       "\"stalls\":%llu,\"stalled_s\":%.4f,\"awake_pps\":%.1f}\n",
	       percentile_us(&all, 50, hz), percentile_us(&all, 99, hz),
	       (double)all.max_ns / hz * 1e6, percentile_us(&w->late[0], 50, hz),
	       percentile_us(&w->late[0], 99, hz), (double)w->late[0].count / (double)all.count,
	       (unsigned long long)w->stalls, (double)w->stalled_tsc / hz,
	       (double)w->awake_sent * hz / (double)w->awake_tsc);
}

static bool watch_open(struct watch *w, struct rig *r, const struct rig_opts *o, double recovery,
		       bool rates)
{
	double hz = r->clock.tsc_hz, edge = EDGE * o->seconds * hz;
	*w = (struct watch){
		.q = r->queue[0],
		.rates = rates,
		.interval = hz / o->rate_pps,
		.interval_tsc = (uint64_t)(hz / o->rate_pps),
		.start = rte_rdtsc() + (uint64_t)(AHEAD_S * hz),
		.stall_tsc = (uint64_t)(STALL_NS * hz / 1e9),
		.recovery = recovery,
		.bins = (uint32_t)(o->seconds * 1000) + 1,
		.bin_tsc = (uint64_t)(hz / 1000),
	};
	w->end = w->start + (uint64_t)(o->seconds * hz);
	w->edge_tsc[0] = w->start + (uint64_t)edge;
	w->edge_tsc[1] = w->end - (uint64_t)edge;
	w->bin = calloc(w->bins, sizeof(*w->bin));
	hist_reset(&w->gap);
	hist_reset(&w->late[0]);
	hist_reset(&w->late[1]);
	return w->bin != NULL && r->cfg.port.queues == 1;
}

void paced_run(struct rig *r, const struct rig_opts *o, double recovery, bool rates)
{
	static struct watch w;
	struct instant before = instant_now();
	if (!watch_open(&w, r, o, recovery, rates)) {
		printf("{\"error\":\"pace: one queue, and memory for it\"}\n");
		return;
	}
	rte_eth_add_rx_callback(r->port.id, 0, on_turn, &w);
	rte_eth_add_tx_callback(r->port.id, 0, on_send, &w);
	rig_arm(r, o, w.start);
	rte_eal_remote_launch(worker_run, r->queue[0], 1);
	struct timespec t = { .tv_nsec = 10000000 };
	while (atomic_load(&r->queue[0]->closed_trials) == 0)
		nanosleep(&t, NULL);
	atomic_store(&r->shared.quit, true);
	rte_eal_mp_wait_lcore();
	struct instant after = instant_now();
	double hz = (double)(after.tsc - before.tsc) * 1e9 / (double)(after.ns - before.ns);
	if (w.sent > 1 && (!rates || (w.edge[0].found && w.edge[1].found)))
		print(&w, o, hz, r->clock.tsc_hz);
	else
		printf("{\"error\":\"pace: %llu packets are too few\"}\n",
		       (unsigned long long)w.sent);
	free(w.bin);
}
