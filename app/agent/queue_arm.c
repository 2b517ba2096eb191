// When a queue's trials begin and end, and how fast its groups send, once the clock is known.
#include "arrival.h"
#include "queue.h"

static void set_rate(struct pace *p, struct pace_group *g, double pps, double tsc_hz)
{
	if (p->arrival != NULL)
		arrival_set_rate(p, g, pps, tsc_hz);
	else
		pace_set_rate(g, pps, tsc_hz);
}

void queue_arm(struct queue *q, const struct hostcfg *cfg, uint64_t start_tsc, double tsc_hz)
{
	double per_ns = tsc_hz / 1e9;
	uint64_t at = start_tsc;
	for (uint32_t i = 0; i < q->trial_count; i++) {
		bool measured = i + 1 == q->trial_count;
		struct queue_trial *t = &q->trial[i];
		t->start = q->rotation_start = at;
		at += (uint64_t)((double)(measured ? cfg->duration_ns : cfg->warmup_ns) * per_ns);
		t->end = at;
		t->close = at + (uint64_t)((double)cfg->drain_ns * per_ns);
	}
	q->pace.ramp_start = q->rotation_start;
	q->pace.ramp_tsc = (double)cfg->pacing.ramp.over_ns * per_ns;
	for (uint32_t i = 0; i < q->pace.group_count; i++) {
		struct pace_group *g = &q->pace.group[i];
		double rate = flow_stream_rate(&cfg->tx[q->tx[g->first].flow]);
		if (rate != RATE_UNPACED)
			set_rate(&q->pace, g, rate * g->count, tsc_hz);
	}
	q->tsc_per_ns = per_ns;
	q->pace.slack = (uint64_t)(PACE_SLACK_NS * per_ns);
	q->window.silence = (uint64_t)(WINDOW_SILENCE_NS * per_ns);
	q->grace = (uint64_t)((double)cfg->drain_ns / 2 * per_ns);
	q->ns_mult = (uint64_t)(4294967296.0 / per_ns);
}

static uint64_t less(uint64_t at, uint64_t start, uint64_t gone)
{
	return at - start > gone ? at - gone : start;
}

void queue_skip(struct queue *q, uint64_t gone)
{
	uint64_t start = q->trial[0].start;
	q->rotation_start -= gone;
	q->pace.ramp_start -= gone;
	for (uint32_t i = 0; i < q->trial_count; i++) {
		struct queue_trial *t = &q->trial[i];
		t->start = less(t->start, start, gone);
		t->end = less(t->end, start, gone);
		t->close = less(t->close, start, gone);
	}
}
