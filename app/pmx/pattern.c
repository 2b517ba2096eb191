#include "pattern.h"

#include "pattern_shape.h"

#include <errno.h>
#include <stdlib.h>

struct pairs {
	const struct matrix *matrix;
	const bool *excluded;
	struct pair *pair;
	size_t count, room;
	size_t cell; // of the matrix's, the next one
};

static bool is_out(const struct pairs *p, uint32_t host)
{
	return p->excluded != NULL && p->excluded[host];
}

static void pair_add(struct pairs *p, const struct pair *pair)
{
	bool empty = !pair->rate.max && pair->rate.pps == 0 && pair->rate.bps == 0 &&
		     pair->line_pct == 0;

	if (!empty && !is_out(p, pair->dst))
		p->pair[p->count++] = *pair;
}

// Cells stand in the order in which pairs are walked: one pass over both.
static const struct matrix_cell *cell_of(struct pairs *p, uint32_t src, uint32_t dst)
{
	const struct matrix *m = p->matrix;
	const struct matrix_cell *c;

	if (p->cell == m->traffic.cell_count)
		return NULL;
	c = &m->traffic.cell[p->cell];
	if (c->src != src || c->dst != dst)
		return NULL;
	p->cell++;
	return c;
}

// One source's flows: what the shape says, and before it the cells of that source, which stand in
// the order of destinations. A cell holds in every layer that the pair is in; without one, in the
// first.
static void row_add(struct pairs *p, uint32_t src, const struct spot *row)
{
	const struct matrix *m = p->matrix;

	for (uint32_t dst = 0; dst < m->host_count; dst++) {
		const struct matrix_cell *cell = cell_of(p, src, dst);
		struct spot spot = row[dst];
		struct pair pair = {
			.src = src,
			.dst = dst,
			.rate = m->traffic.rate,
			.line_pct = m->traffic.line_pct,
			.dscp = m->traffic.dscp,
			.pos = m->traffic.at.rate,
		};

		if (cell != NULL) {
			pair.rate = cell->rate;
			pair.line_pct = cell->line_pct;
			pair.dscp = cell->dscp;
			pair.pos = cell->pos;
			if (spot.first == 0)
				spot.first = 1;
		}
		if (spot.first == 0 || is_out(p, src))
			continue;
		pair.layer = spot.first - 1;
		pair_add(p, &pair);
		pair.layer = spot.again - 1;
		if (spot.again != 0)
			pair_add(p, &pair);
	}
}

static int room_make(struct pairs *p, size_t more)
{
	if (p->count + more <= p->room)
		return 0;
	size_t room = 2 * p->room + more;
	struct pair *grown = reallocarray(p->pair, room, sizeof(*grown));
	if (grown == NULL)
		return -ENOMEM;
	p->pair = grown;
	p->room = room;
	return 0;
}

static int rows_add(struct pairs *p, const struct shape *shape, struct spot *row)
{
	const struct matrix *m = p->matrix;

	for (uint32_t src = 0; src < m->host_count; src++) {
		if (room_make(p, 2 * m->host_count) < 0)
			return -ENOMEM;
		shape_row(shape, src, row);
		row_add(p, src, row);
	}
	return 0;
}

static int none_left(const struct pairs *p, struct err *e)
{
	const struct matrix *m = p->matrix;
	struct pos pos = m->traffic.at.rate.line != 0 ? m->traffic.at.rate : m->traffic.at.cells;
	size_t out = 0;

	for (uint32_t i = 0; i < m->host_count; i++)
		out += is_out(p, i);
	if (out > 0)
		return err_set(e, EINVAL, "%s: no flow is left without the %zu hosts that are out",
			       m->file, out);
	return pos_fail(m->file, pos, e,
			"every cell is empty: expected a rate above 0 for one pair or more");
}

int pattern_build(const struct matrix *m, const bool *excluded, struct pair **out, size_t *count,
		  struct err *e)
{
	struct pairs p = { .matrix = m, .excluded = excluded };
	struct spot *row = calloc(m->host_count, sizeof(*row));
	struct shape shape = { 0 };
	int ret = shape_open(m, &shape, e);

	if (ret == 0 && (row == NULL || rows_add(&p, &shape, row) < 0))
		ret = err_set(e, ENOMEM, "%s: out of memory for the flows of %zu hosts", m->file,
			      m->host_count);
	if (ret == 0 && p.count == 0)
		ret = none_left(&p, e);
	shape_close(&shape);
	free(row);
	if (ret < 0) {
		free(p.pair);
		p = (struct pairs){ 0 };
	}
	*out = p.pair;
	*count = p.count;
	return ret;
}

uint32_t pattern_layers(const struct matrix *m)
{
	struct rotation r = matrix_rotation(m);

	return r.layers > 0 ? r.layers : 1;
}
