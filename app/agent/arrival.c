#include "arrival.h"

#include "splitmix.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

// Never due; far from where a sum would wrap.
#define NEVER (UINT64_MAX / 2)

int arrival_alloc(struct pace *p, const struct pacing *pacing, uint64_t hash)
{
	p->pacing = *pacing;
	p->arrival = calloc(p->group_count ? p->group_count : 1, sizeof(*p->arrival));
	if (p->arrival == NULL)
		return -ENOMEM;
	for (uint32_t i = 0; i < p->group_count; i++)
		p->arrival[i].random =
			splitmix_mix(splitmix_mix(pacing->seed) ^ splitmix_mix(hash << 32 | i));
	return 0;
}

static struct pace_time time_of(double tsc)
{
	double whole, frac = modf(tsc, &whole);
	return (struct pace_time){ .tsc = (uint64_t)whole, .frac = (uint32_t)(frac * 0x1p32) };
}

// Where a window begins in a process that has gone on for ever.
static double residual(const struct pace *p, struct arrival *a)
{
	double u = splitmix_unit(&a->random);
	return p->pacing.spacing == SPACING_POISSON ? -log(u) * a->mean
						    : 2 * a->mean * (1 - sqrt(u));
}

void arrival_set_rate(struct pace *p, struct pace_group *g, double pps, double tsc_hz)
{
	struct arrival *a = &p->arrival[g - p->group];
	struct pace_group even;

	pace_set_rate(&even, pps / p->pacing.burst, tsc_hz);
	a->step = even.interval;
	a->mean = tsc_hz * p->pacing.burst / pps;
	if (p->pacing.spacing != SPACING_EVEN)
		a->first = residual(p, a);
	if (p->pacing.spacing == SPACING_POISSON)
		g->cursor = splitmix_below(&a->random, g->count);
	g->arrival = a;
}

// From TSC to the time of a full rate, both since ramp_start; before it that is negative, and
// wraps.
static uint64_t full_of(const struct pace *p, uint64_t tsc)
{
	double t = (double)(int64_t)(tsc - p->ramp_start);
	if (p->ramp_tsc <= 0)
		return tsc - p->ramp_start;
	return (uint64_t)(int64_t)floor(ramp_sent(&p->pacing.ramp, p->ramp_tsc, t));
}

static void set_due(const struct pace *p, struct pace_group *g)
{
	const struct arrival *a = g->arrival;
	g->due = (struct pace_time){ .tsc = p->ramp_start + a->at.tsc, .frac = a->at.frac };
	if (p->ramp_tsc <= 0)
		return;
	double at = (double)(int64_t)a->at.tsc + a->at.frac * 0x1p-32;
	double t = ramp_at(&p->pacing.ramp, p->ramp_tsc, at);
	// past the ramp it is behind by a constant; the fraction is not worth a cycle
	g->due.tsc = isinf(t) ? NEVER : p->ramp_start + (uint64_t)(int64_t)floor(t);
}

static struct pace_time begin_at(const struct pace *p, const struct arrival *a, uint64_t start,
				 double phase)
{
	struct pace_time at = { .tsc = full_of(p, start) }, after;
	after = time_of(p->pacing.spacing == SPACING_EVEN ? phase * a->mean : a->first);
	pace_add(&at, &after);
	return at;
}

void arrival_open(struct pace *p, struct pace_group *g, uint64_t start, double phase)
{
	g->arrival->at = begin_at(p, g->arrival, start, phase);
	g->arrival->left = p->pacing.burst;
	set_due(p, g);
}

void arrival_shift(struct pace *p, struct pace_group *g, uint64_t from, uint64_t to)
{
	g->arrival->at.tsc += full_of(p, to) - full_of(p, from);
	set_due(p, g);
}

uint64_t arrival_first_due(const struct pace *p, const struct pace_group *g, uint64_t start,
			   double phase)
{
	struct arrival a = *g->arrival;
	struct pace_group first = { .arrival = &a };
	a.at = begin_at(p, &a, start, phase);
	set_due(p, &first);
	return first.due.tsc;
}

static struct pace_time gap(const struct pace *p, struct arrival *a)
{
	switch (p->pacing.spacing) {
	case SPACING_POISSON:
		return time_of(-log(splitmix_unit(&a->random)) * a->mean);
	case SPACING_UNIFORM:
		return time_of(2 * a->mean * splitmix_unit(&a->random));
	default:
		return a->step;
	}
}

// The burst that is due has gone: on to the next, and to the stream that sends it.
static void next_burst(const struct pace *p, struct pace_group *g)
{
	struct arrival *a = g->arrival;
	struct pace_time after = gap(p, a);
	pace_add(&a->at, &after);
	set_due(p, g);
	a->left = p->pacing.burst;
	if (p->pacing.spacing == SPACING_POISSON)
		g->cursor = g->count > 1 ? splitmix_below(&a->random, g->count) : 0;
	else
		g->cursor = g->cursor + 1 < g->count ? g->cursor + 1 : 0;
}

uint32_t arrival_take(struct pace *p, struct pace_group *g, uint64_t now, uint32_t max,
		      uint32_t *stream)
{
	struct arrival *a = g->arrival;
	uint64_t gate = g->gate + p->slack > now ? g->gate : now - p->slack;
	uint32_t n = 0;
	while (n < max && g->due.tsc <= now && gate <= now && g->due.tsc < p->end) {
		for (; n < max && a->left > 0; a->left--)
			stream[n++] = g->first + g->cursor;
		if (a->left > 0)
			break;
		uint64_t was = g->due.tsc;
		next_burst(p, g);
		gate += (g->due.tsc - was) / 2;
	}
	g->gate = gate;
	return n;
}

uint32_t arrival_skip(struct pace *p, struct pace_group *g, uint32_t *stream)
{
	uint32_t n = g->arrival->left;
	if (g->due.tsc >= p->end)
		return 0;
	*stream = g->first + g->cursor;
	next_burst(p, g);
	return n;
}

uint64_t arrival_skip_rest(struct pace *p, struct pace_group *g)
{
	struct arrival *a = g->arrival;
	uint64_t end = full_of(p, p->end);
	if (g->due.tsc >= p->end)
		return 0;
	uint64_t over = (int64_t)(end - a->at.tsc) > 0 ? end - a->at.tsc - 1 : 0;
	uint64_t n = 1 + (uint64_t)((double)over / a->mean);
	struct pace_time more = time_of((double)n * a->mean);
	pace_add(&a->at, &more);
	if ((int64_t)(a->at.tsc - end) < 0) // by rounding
		a->at = (struct pace_time){ .tsc = end };
	set_due(p, g);
	g->cursor = (uint32_t)((g->cursor + n) % g->count);
	return n;
}
