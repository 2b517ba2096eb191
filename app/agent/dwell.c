#include "dwell.h"

#include "arrival.h"

#define BACKLOG_STEPS 16384 // of one queue, at the end of a dwell: a ms or so, within any drain

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

// Where dwell `number` of the rotation begins: by one multiplication, so that nothing adds up and
// the last one ends with the trial.
static uint64_t boundary(const struct queue *q, uint64_t number)
{
	return q->rotation_start +
	       (uint64_t)((double)(number * q->rotation.dwell_ns) * q->tsc_per_ns);
}

// The dwell that holds an instant; the first after it when it is the boundary.
static uint64_t number_at(const struct queue *q, uint64_t tsc)
{
	double ns = (double)(tsc - q->rotation_start) / q->tsc_per_ns;
	uint64_t number = (uint64_t)(ns / (double)q->rotation.dwell_ns);
	while (number > 0 && boundary(q, number) - q->rotation_start > tsc - q->rotation_start)
		number--;
	while (boundary(q, number + 1) - q->rotation_start <= tsc - q->rotation_start)
		number++;
	return number;
}

static uint64_t layer_first_due(const struct queue *q, uint32_t layer, uint64_t start)
{
	const struct queue_layer *l = &q->layer[layer];
	uint64_t first = UINT64_MAX;
	for (uint32_t g = l->first; g < l->first + l->count; g++) {
		uint64_t due = pace_first_due(&q->pace, &q->pace.group[g], start, phase_of(q));
		first = due < first ? due : first;
	}
	return q->window.layer[layer].count > 0 ? start : first;
}

// Of the dwells of one trial.
static uint64_t trial_first_due(const struct queue *q, uint32_t trial)
{
	const struct queue_trial *t = &q->trial[trial];
	if (!rotates(q, trial))
		return layer_first_due(q, 0, t->start);
	uint64_t from = number_at(q, t->start);
	for (uint64_t n = from; n < from + q->layer_count; n++) {
		uint64_t start = n > from ? boundary(q, n) : t->start;
		uint64_t due = layer_first_due(q, (uint32_t)(n % q->layer_count), start);
		if (start >= t->end)
			break;
		if (due != UINT64_MAX)
			return due;
	}
	return UINT64_MAX;
}

uint64_t dwell_first_due(const struct queue *q)
{
	for (uint32_t i = 0; i < q->trial_count; i++) {
		bool runs = q->trial[i].end > q->trial[i].start;
		uint64_t due = runs ? trial_first_due(q, i) : UINT64_MAX;
		if (due != UINT64_MAX)
			return due;
	}
	return UINT64_MAX;
}

// Of the layer whose turn it is. One that sent before stood still since the end of its dwell then.
static void open_dwell(struct queue *q, uint64_t start, uint64_t end, bool keep)
{
	uint64_t trial_end = q->trial[q->current].end;
	uint32_t layer = (uint32_t)(q->dwell % q->layer_count);
	q->window.on = &q->window.layer[layer];
	pace_select(&q->pace, q->layer[layer].first, q->layer[layer].count);
	if (q->dwell >= q->dwell_first + q->layer_count) {
		pace_shift(&q->pace, boundary(q, q->dwell - q->layer_count + 1), start);
		keep = true;
	}
	pace_open(&q->pace, start, end < trial_end ? end : trial_end, phase_of(q), keep);
}

void dwell_begin(struct queue *q, bool keep)
{
	const struct queue_trial *t = &q->trial[q->current];
	bool rotating = rotates(q, q->current);
	q->dwell = q->dwell_first = rotating ? number_at(q, t->start) : 0;
	open_dwell(q, t->start, rotating ? boundary(q, q->dwell + 1) : t->end, keep);
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

// n times `each` packets of a group are unsent, of its streams in turn from `cursor` on.
static void book_turns(struct queue *q, const struct pace_group *g, uint32_t cursor, uint64_t n,
		       uint64_t each)
{
	struct tx_counts *tx = q->trial[q->current].tx;
	for (uint32_t k = 0; n > 0 && k < g->count; k++) {
		uint32_t turn = (k + g->count - cursor) % g->count;
		uint64_t share = n / g->count + (turn < n % g->count);
		tx[q->tx[g->first + k].flow].unsent += share * each;
	}
}

// Burst by burst, as it was drawn, for as long as there are steps; the first may be a part.
static void book_arrivals(struct queue *q, struct pace_group *g, uint32_t *steps)
{
	struct tx_counts *tx = q->trial[q->current].tx;
	uint32_t stream, burst;
	while ((burst = arrival_skip(&q->pace, g, &stream)) > 0) {
		tx[q->tx[stream].flow].unsent += burst;
		if (*steps == 0)
			break;
		--*steps;
	}
	uint32_t cursor = g->cursor;
	book_turns(q, g, cursor, arrival_skip_rest(&q->pace, g), q->pace.pacing.burst);
}

static void book_backlog(struct queue *q)
{
	uint32_t steps = BACKLOG_STEPS;
	for (uint32_t i = q->pace.first; i < q->pace.first + q->pace.count; i++) {
		struct pace_group *g = &q->pace.group[i];
		if (g->arrival != NULL) {
			book_arrivals(q, g, &steps);
			continue;
		}
		uint64_t n = pace_backlog(g, q->pace.end);
		if (n == 0)
			continue;
		book_turns(q, g, g->cursor, n, 1);
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
