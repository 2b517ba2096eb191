#include "lane.h"

#include "lone.h"
#include "trial.h"
#include "tx.h"
#include "worker.h"

#include <rte_cycles.h>

#include <time.h>

#define INTERRUPTED_TSC 20000 // a turn that took longer was not on the core all the time

const char *const lane_phase_name[LANE_PHASES] = {
	[LANE_RX_PMD] = "rx_pmd", [LANE_OFFER] = "offer",   [LANE_RX_WORK] = "rx_work",
	[LANE_TX_DUE] = "tx_due", [LANE_TX_PMD] = "tx_pmd",
};

static double seconds_of(clockid_t id)
{
	struct timespec t;
	clock_gettime(id, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

// Median of some short rounds: one is soon interrupted.
static double alloc_cycles(struct rte_mempool *mp)
{
	enum { ROUNDS = 15, BURSTS = 64, BURST = 32 };
	void *m[BURST];
	uint64_t t[ROUNDS];
	for (int r = 0; r < ROUNDS; r++) {
		uint64_t begin = rte_rdtsc();
		for (int i = 0; i < BURSTS; i++) {
			if (rte_mempool_get_bulk(mp, m, BURST) != 0)
				return 0;
			rte_mempool_put_bulk(mp, m, BURST);
		}
		uint64_t took = rte_rdtsc() - begin;
		int at = r;
		for (; at > 0 && t[at - 1] > took; at--)
			t[at] = t[at - 1];
		t[at] = took;
	}
	return (double)t[ROUNDS / 2] / (BURSTS * BURST);
}

struct reading {
	double requests, replies, answers, cpu_s, wall_s;
	uint64_t offer_tsc;
};

static struct reading read_lane(const struct lane *l)
{
	const struct queue_counts *c = &l->q->total;
	return (struct reading){
		.requests = (double)c->requests_sent,
		.replies = (double)c->replies_received,
		.answers = (double)c->replies_sent,
		.cpu_s = seconds_of(CLOCK_THREAD_CPUTIME_ID),
		.wall_s = seconds_of(CLOCK_MONOTONIC_RAW),
		.offer_tsc = l->offer != NULL ? l->offer->tsc : 0,
	};
}

int lane_run(void *arg)
{
	struct lane *l = arg;
	l->alloc_cycles = alloc_cycles(l->q->rx_pool);
	struct reading a = read_lane(l);
	uint64_t begin = rte_rdtsc();
	worker_run(l->q);
	uint64_t took = rte_rdtsc() - begin;
	struct reading b = read_lane(l);
	l->requests = b.requests - a.requests;
	l->replies = b.replies - a.replies;
	l->answers = b.answers - a.answers;
	l->cpu_s = b.cpu_s - a.cpu_s;
	l->wall_s = b.wall_s - a.wall_s;
	l->offer_s = (double)(b.offer_tsc - a.offer_tsc) * l->wall_s / (double)took;
	return 0;
}

static uint64_t rdtsc_cycles(void)
{
	uint64_t best = UINT64_MAX;
	for (int i = 0; i < 1000; i++) {
		uint64_t a = rte_rdtsc();
		uint64_t gap = rte_rdtsc() - a;
		best = gap < best ? gap : best;
	}
	return best;
}

static uint64_t past(uint64_t from, uint64_t to, uint64_t own)
{
	return to > from + own ? to - from - own : 0;
}

int lane_phases(void *arg)
{
	struct lane *l = arg;
	struct queue *q = l->q;
	struct reading a = read_lane(l);
	uint64_t own = rdtsc_cycles();
	double skipped = 0;
	uint64_t found = 0;
	while (!atomic_load_explicit(&q->shared->quit, memory_order_relaxed)) {
		double before = lane_now(q);
		uint64_t t0 = rte_rdtsc();
		rx_poll(q, &found, true);
		uint64_t t1 = rte_rdtsc();
		if (q->sending)
			tx_due(q, rte_rdtsc(), true);
		uint64_t t2 = rte_rdtsc();
		if (q->out_count > 0)
			out_flush(q);
		rx_release(q);
		uint64_t t3 = rte_rdtsc();
		if (t3 - t0 > INTERRUPTED_TSC) {
			skipped += lane_now(q) - before;
			continue;
		}
		if (l->offer != NULL) {
			l->phase[LANE_RX_PMD] += past(t0, l->offer->begin, own);
			l->phase[LANE_OFFER] += past(l->offer->begin, l->offer->end, own);
			l->phase[LANE_RX_WORK] += past(l->offer->end, t1, own);
		} else {
			l->phase[LANE_RX_PMD] += past(t0, t1, own);
		}
		l->phase[LANE_TX_DUE] += past(t1, t2, own);
		l->phase[LANE_TX_PMD] += past(t2, t3, own);
	}
	struct reading b = read_lane(l);
	l->requests = b.requests - a.requests;
	l->replies = b.replies - a.replies;
	l->answers = b.answers - a.answers;
	*(l->requests > 0 ? &l->requests : l->answers > 0 ? &l->answers : &l->replies) -= skipped;
	return 0;
}

double lane_packets(const struct lane *l)
{
	return l->requests > 0 ? l->requests : l->answers > 0 ? l->answers : l->replies;
}

double lane_now(const struct queue *q)
{
	const struct queue_counts *c = &q->total;
	return (double)(c->requests_sent > 0  ? c->requests_sent
			: c->replies_sent > 0 ? c->replies_sent
					      : c->replies_received);
}
