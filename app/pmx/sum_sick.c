#include "sum_sick.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MOST 0.8  // of the lost packets, that a row, column or block must explain
#define HALF 0.5  // of its cells must be lossy at least
#define ALIKE 0.6 // rows of a block have so much of their lossy cells in common

struct sum {
	uint64_t lost, sent;
};

struct grid_loss {
	const struct summary *s;
	size_t hosts, words;	  // words of a row of `lossy`
	struct sum *row, *column; // [hosts], owned, as are the others
	struct sum all;
	uint32_t *row_cells, *column_cells; // cells with traffic
	uint64_t *used, *lossy;		    // bitmaps of cells, [hosts * words]
	uint32_t *row_lossy, *column_lossy; // lossy cells
};

// The two cells that a flow stands in: its requests and its replies.
struct leg {
	uint32_t from, to;
	uint64_t sent;
	int64_t lost;
};

static void legs_of(const struct sum_flow *f, struct leg leg[2])
{
	leg[0] = (struct leg){ f->src, f->dst, f->sent, f->lost_forward };
	leg[1] = (struct leg){ f->dst, f->src, f->replied, f->lost_back };
}

static bool is_known(const struct leg *l)
{
	return l->sent != COUNTER_UNKNOWN && l->sent > 0 && l->lost != LOSS_UNKNOWN && l->lost >= 0;
}

static void sum_add(struct sum *sum, const struct leg *l)
{
	sum->lost += (uint64_t)l->lost;
	sum->sent += l->sent;
}

static double rate(const struct sum *sum)
{
	return sum->sent > 0 ? (double)sum->lost / (double)sum->sent : 0;
}

static bool get(const uint64_t *bits, const struct grid_loss *g, size_t row, size_t column)
{
	return bits[row * g->words + column / 64] >> (column % 64) & 1;
}

// True if it was not set yet.
static bool set(uint64_t *bits, const struct grid_loss *g, size_t row, size_t column)
{
	if (get(bits, g, row, column))
		return false;
	bits[row * g->words + column / 64] |= UINT64_C(1) << (column % 64);
	return true;
}

static void add_up(struct grid_loss *g)
{
	struct leg leg[2];

	for (size_t i = 0; i < g->s->flow_count; i++) {
		legs_of(&g->s->flow[i], leg);
		for (int k = 0; k < 2; k++) {
			if (!is_known(&leg[k]))
				continue;
			sum_add(&g->row[leg[k].from], &leg[k]);
			sum_add(&g->column[leg[k].to], &leg[k]);
			sum_add(&g->all, &leg[k]);
			if (!set(g->used, g, leg[k].from, leg[k].to))
				continue;
			g->row_cells[leg[k].from]++;
			g->column_cells[leg[k].to]++;
		}
	}
}

// Lossy is what loses at least as much as the grid does on average.
static void mark_lossy(struct grid_loss *g)
{
	double mean = rate(&g->all);
	struct leg leg[2];

	for (size_t i = 0; i < g->s->flow_count; i++) {
		legs_of(&g->s->flow[i], leg);
		for (int k = 0; k < 2; k++) {
			if (!is_known(&leg[k]) || leg[k].lost == 0 ||
			    (double)leg[k].lost < mean * (double)leg[k].sent)
				continue;
			if (!set(g->lossy, g, leg[k].from, leg[k].to))
				continue;
			g->row_lossy[leg[k].from]++;
			g->column_lossy[leg[k].to]++;
		}
	}
}

static bool explains(const struct grid_loss *g, uint64_t lost)
{
	return (double)lost >= MOST * (double)g->all.lost;
}

static bool is_line(uint32_t lossy, uint32_t cells)
{
	return lossy >= 2 && lossy > HALF * cells;
}

static void found(const struct grid_loss *g, struct sick *k, enum sick_kind kind,
		  const struct sum *there)
{
	struct sum other = { g->all.lost - there->lost, g->all.sent - there->sent };

	k->kind = kind;
	k->lost = there->lost;
	k->share_pct = 100 * (double)there->lost / (double)g->all.lost;
	k->loss_pct = 100 * rate(there);
	k->other_pct = 100 * rate(&other);
}

static bool find_line(const struct grid_loss *g, struct sick *k)
{
	for (uint32_t h = 0; h < g->hosts; h++) {
		struct sum both = { g->row[h].lost + g->column[h].lost,
				    g->row[h].sent + g->column[h].sent };
		bool row = is_line(g->row_lossy[h], g->row_cells[h]);
		bool column = is_line(g->column_lossy[h], g->column_cells[h]);

		k->host = h;
		if (row && explains(g, g->row[h].lost))
			found(g, k, SICK_ROW, &g->row[h]);
		else if (column && explains(g, g->column[h].lost))
			found(g, k, SICK_COLUMN, &g->column[h]);
		else if (row && column && explains(g, both.lost))
			found(g, k, SICK_HOST, &both);
		else
			continue;
		return true;
	}
	return false;
}

static uint32_t common(const struct grid_loss *g, size_t a, size_t b)
{
	uint32_t n = 0;

	for (size_t w = 0; w < g->words; w++)
		n += (uint32_t)__builtin_popcountll(g->lossy[a * g->words + w] &
						    g->lossy[b * g->words + w]);
	return n;
}

// The rows that are lossy towards much the same hosts as row `like`, and those hosts.
static void take_groups(const struct grid_loss *g, size_t like, struct sick *k)
{
	k->from_count = k->to_count = 0;
	for (uint32_t h = 0; h < g->hosts; h++) {
		uint32_t same = common(g, like, h);
		uint32_t either = g->row_lossy[like] + g->row_lossy[h] - same;

		if (same > 0 && same >= ALIKE * either)
			k->from[k->from_count++] = h;
	}
	for (uint32_t h = 0; h < g->hosts; h++)
		if (get(g->lossy, g, like, h))
			k->to[k->to_count++] = h;
}

static void mark(uint8_t *member, const uint32_t *list, size_t n, uint8_t bit)
{
	for (size_t i = 0; i < n; i++)
		member[list[i]] |= bit;
}

// 0: not there, 1: in the block, 2: in the block the other way.
static int side_of(const uint8_t *member, const struct leg *l)
{
	if (member[l->from] & 1 && member[l->to] & 2)
		return 1;
	return member[l->from] & 2 && member[l->to] & 1 ? 2 : 0;
}

// Whether the block between the groups explains the loss, in one direction or in both.
static bool judge_block(const struct grid_loss *g, struct sick *k, uint8_t *member)
{
	struct sum there[3] = { 0 }, both;
	struct leg leg[2];

	memset(member, 0, g->hosts);
	mark(member, k->from, k->from_count, 1);
	mark(member, k->to, k->to_count, 2);
	for (size_t i = 0; i < g->hosts; i++)
		if (member[i] == 3)
			return false; // the groups overlap: no two sides
	for (size_t i = 0; i < g->s->flow_count; i++) {
		legs_of(&g->s->flow[i], leg);
		for (int n = 0; n < 2; n++)
			if (is_known(&leg[n]))
				sum_add(&there[side_of(member, &leg[n])], &leg[n]);
	}
	both = (struct sum){ there[1].lost + there[2].lost, there[1].sent + there[2].sent };
	k->both = !explains(g, there[1].lost);
	if (k->both && !explains(g, both.lost))
		return false;
	found(g, k, SICK_BLOCK, k->both ? &both : &there[1]);
	return true;
}

static bool find_block(const struct grid_loss *g, struct sick *k, uint8_t *member)
{
	size_t like = 0;

	for (size_t h = 1; h < g->hosts; h++)
		if (g->row_lossy[h] > g->row_lossy[like])
			like = h;
	if (g->row_lossy[like] < 2)
		return false;
	take_groups(g, like, k);
	return k->from_count >= 2 && judge_block(g, k, member);
}

static bool grid_alloc(struct grid_loss *g)
{
	size_t n = g->hosts;

	g->words = (n + 63) / 64;
	g->row = calloc(n, sizeof(*g->row));
	g->column = calloc(n, sizeof(*g->column));
	g->row_cells = calloc(n, sizeof(*g->row_cells));
	g->column_cells = calloc(n, sizeof(*g->column_cells));
	g->row_lossy = calloc(n, sizeof(*g->row_lossy));
	g->column_lossy = calloc(n, sizeof(*g->column_lossy));
	g->used = calloc(n * g->words, sizeof(*g->used));
	g->lossy = calloc(n * g->words, sizeof(*g->lossy));
	return g->row != NULL && g->column != NULL && g->row_cells != NULL &&
	       g->column_cells != NULL && g->row_lossy != NULL && g->column_lossy != NULL &&
	       g->used != NULL && g->lossy != NULL;
}

static void grid_free(struct grid_loss *g)
{
	free(g->row);
	free(g->column);
	free(g->row_cells);
	free(g->column_cells);
	free(g->row_lossy);
	free(g->column_lossy);
	free(g->used);
	free(g->lossy);
}

int sick_find(const struct summary *s, struct sick *out, struct err *e)
{
	struct grid_loss g = { .s = s, .hosts = s->host_count };
	int ret = 0;

	*out = (struct sick){ .kind = SICK_NONE };
	if (s->host_count < 3 || s->running)
		return 0;
	uint8_t *member = calloc(g.hosts, 1);
	out->from = calloc(g.hosts, sizeof(*out->from));
	out->to = calloc(g.hosts, sizeof(*out->to));
	if (!grid_alloc(&g) || member == NULL || out->from == NULL || out->to == NULL) {
		ret = err_set(e, ENOMEM, "no memory for the grid of %zu hosts", g.hosts);
	} else {
		add_up(&g);
		mark_lossy(&g);
		if (g.all.lost > 0 && !find_line(&g, out))
			find_block(&g, out, member);
	}
	grid_free(&g);
	free(member);
	if (out->kind == SICK_NONE)
		sick_free(out);
	return ret;
}

void sick_free(struct sick *k)
{
	free(k->from);
	free(k->to);
	*k = (struct sick){ .kind = SICK_NONE };
}
