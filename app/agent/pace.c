#include "pace.h"

#include "arrival.h"

#include "clock.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

void pace_set_rate(struct pace_group *g, double pps, double tsc_hz)
{
	double whole, frac = modf(tsc_hz / pps, &whole);
	double scaled = ceil(frac * 4294967296.0);
	g->interval.tsc = (uint64_t)whole;
	if (scaled >= 4294967296.0) {
		g->interval.tsc++;
		scaled = 0;
	}
	g->interval.frac = (uint32_t)scaled;
}

static void swap(uint32_t *a, uint32_t *b)
{
	uint32_t t = *a;
	*a = *b;
	*b = t;
}

static void sift_from(struct pace *p, uint32_t i)
{
	for (;;) {
		uint32_t least = i;
		for (uint32_t c = 2 * i + 1; c <= 2 * i + 2 && c < p->heap_count; c++) {
			if (pace_key(&p->group[p->heap[c]]) < pace_key(&p->group[p->heap[least]]))
				least = c;
		}
		if (least == i)
			return;
		swap(&p->heap[i], &p->heap[least]);
		i = least;
	}
}

void pace_sift_down(struct pace *p)
{
	sift_from(p, 0);
}

void pace_park_top(struct pace *p)
{
	p->group[p->heap[0]].parked = true;
	p->heap[0] = p->heap[--p->heap_count];
	sift_from(p, 0);
}

static void heap_build(struct pace *p)
{
	p->heap_count = 0;
	for (uint32_t i = p->first; i < p->first + p->count; i++) {
		if (!p->group[i].parked)
			p->heap[p->heap_count++] = i;
	}
	for (uint32_t i = p->heap_count / 2; i-- > 0;)
		sift_from(p, i);
}

void pace_select(struct pace *p, uint32_t first, uint32_t count)
{
	p->heap_count = 0;
	p->first = first;
	p->count = count;
}

void pace_shift(struct pace *p, uint64_t from, uint64_t to)
{
	for (uint32_t i = p->first; i < p->first + p->count; i++) {
		if (p->group[i].arrival != NULL)
			arrival_shift(p, &p->group[i], from, to);
		else
			p->group[i].due.tsc += to - from;
	}
}

uint64_t pace_first_due(const struct pace *p, const struct pace_group *g, uint64_t start,
			double phase)
{
	if (g->arrival != NULL)
		return arrival_first_due(p, g, start, phase);
	return start + (uint64_t)(phase * (double)g->interval.tsc);
}

void pace_open(struct pace *p, uint64_t start, uint64_t end, double phase, bool keep)
{
	for (uint32_t i = p->first; i < p->first + p->count; i++) {
		struct pace_group *g = &p->group[i];
		g->parked = false;
		if (keep && !pace_unpaced(g))
			continue;
		g->gate = 0;
		if (g->arrival != NULL) {
			arrival_open(p, g, start, phase);
			continue;
		}
		g->due.tsc = pace_first_due(p, g, start, phase);
		g->due.frac = 0;
	}
	p->end = end;
	heap_build(p);
}

void pace_move_end(struct pace *p, uint64_t end)
{
	p->end = end;
	for (uint32_t i = p->first; i < p->first + p->count; i++)
		p->group[i].parked = false;
	heap_build(p);
}

uint64_t pace_backlog(const struct pace_group *g, uint64_t end)
{
	if (!pace_even(g) || g->due.tsc >= end)
		return 0;
	double interval = (double)g->interval.tsc + g->interval.frac / 4294967296.0;
	return 1 + (uint64_t)((double)(end - 1 - g->due.tsc) / interval);
}

void pace_skip(struct pace_group *g, uint64_t n)
{
	uint128 step = ((uint128)g->interval.tsc << 32 | g->interval.frac) * n;
	struct pace_time d = { .tsc = (uint64_t)(step >> 32), .frac = (uint32_t)step };
	pace_add(&g->due, &d);
}

int pace_alloc(struct pace *p, uint32_t groups)
{
	*p = (struct pace){
		.group = calloc(groups ? groups : 1, sizeof(*p->group)),
		.heap = calloc(groups ? groups : 1, sizeof(*p->heap)),
		.group_count = groups,
		.count = groups,
	};
	return p->group != NULL && p->heap != NULL ? 0 : -ENOMEM;
}

void pace_free(struct pace *p)
{
	free(p->group);
	free(p->heap);
	free(p->arrival);
	*p = (struct pace){ 0 };
}
