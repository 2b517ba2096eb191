#include "dwell.h"

// Golden-ratio steps keep the phases of hosts and queues apart for any number of them; away from 0
// and 1, so that rounding never moves a packet over a boundary.
static double phase_of(const struct queue *q)
{
	double x = (double)(q->phase_index + 1) * 0.6180339887498949;
	return 0.05 + 0.9 * (x - (double)(uint64_t)x);
}

static bool rotates(const struct queue *q, uint32_t trial)
{
	return q->rotation.layers > 0 && trial + 1 == q->trial_count;
}

// Where dwell `number` of the measured trial begins: by one multiplication, so that nothing adds up
// and the last one ends with the trial.
static uint64_t boundary(const struct queue *q, uint64_t number)
{
	return q->trial[q->trial_count - 1].start +
	       (uint64_t)((double)(number * q->rotation.dwell_ns) * q->tsc_per_ns);
}

uint64_t dwell_first_due(const struct queue *q)
{
	for (uint32_t i = 0; i < q->layer_count; i++) {
		const struct queue_layer *l = &q->layer[i];
		uint64_t start = i == 0 ? q->trial[0].start : boundary(q, i), first = UINT64_MAX;
		for (uint32_t g = l->first; g < l->first + l->count; g++) {
			double interval = (double)q->pace.group[g].interval.tsc;
			uint64_t due = start + (uint64_t)(phase_of(q) * interval);
			first = due < first ? due : first;
		}
		if (q->window.layer[i].count > 0)
			first = start;
		if (first != UINT64_MAX)
			return start < q->trial[q->trial_count - 1].end ? first : UINT64_MAX;
	}
	return UINT64_MAX;
}

static void open_dwell(struct queue *q, uint64_t start, uint64_t end, bool keep)
{
	uint64_t trial_end = q->trial[q->current].end;
	const struct queue_layer *l = &q->layer[q->dwell % q->layer_count];
	q->window.on = &q->window.layer[q->dwell % q->layer_count];
	pace_select(&q->pace, l->first, l->count);
	if (q->dwell >= q->layer_count) { // it sent before, up to the end of its dwell then
		uint64_t number = q->dwell - q->layer_count + 1;
		pace_shift(&q->pace, start - boundary(q, number));
		keep = true;
	}
	pace_open(&q->pace, start, end < trial_end ? end : trial_end, phase_of(q), keep);
}

void dwell_begin(struct queue *q, bool keep)
{
	const struct queue_trial *t = &q->trial[q->current];
	q->dwell = 0;
	open_dwell(q, t->start, rotates(q, q->current) ? boundary(q, 1) : t->end, keep);
}

void dwell_cut(struct queue *q)
{
	uint64_t end = q->trial[q->current].end;
	if (q->pace.end > end)
		pace_move_end(&q->pace, end);
}

static uint64_t grace(const struct queue *q)
{
	bool last = q->pace.end >= q->trial[q->current].end;
	uint64_t most = (uint64_t)((double)q->rotation.dwell_ns / 2 * q->tsc_per_ns);
	return last || q->grace < most ? q->grace : most;
}

bool dwell_over(const struct queue *q, uint64_t now)
{
	return now >= q->pace.end && (q->pace.heap_count == 0 || now >= q->pace.end + grace(q));
}

static void book_backlog(struct queue *q)
{
	struct tx_counts *tx = q->trial[q->current].tx;
	for (uint32_t i = q->pace.first; i < q->pace.first + q->pace.count; i++) {
		struct pace_group *g = &q->pace.group[i];
		uint64_t n = pace_backlog(g, q->pace.end);
		if (n == 0)
			continue;
		for (uint32_t k = 0; k < g->count; k++) {
			uint32_t turn = (k + g->count - g->cursor) % g->count;
			uint64_t share = n / g->count + (turn < n % g->count);
			tx[q->tx[g->first + k].flow].unsent += share;
		}
		pace_skip(g, n);
		g->cursor = (uint32_t)((g->cursor + n) % g->count);
	}
}

bool dwell_next(struct queue *q)
{
	uint64_t start = q->pace.end;
	book_backlog(q);
	if (start >= q->trial[q->current].end)
		return false;
	q->dwell++;
	open_dwell(q, start, boundary(q, q->dwell + 1), false);
	return true;
}
