#include "pattern.h"

#include <errno.h>
#include <stdlib.h>

static bool is_excluded(const bool *excluded, uint32_t host)
{
	return excluded != NULL && excluded[host];
}

static void pair_add(struct pair *out, size_t *count, const bool *excluded, const struct pair *p)
{
	bool empty = !p->rate.max && p->rate.pps == 0 && p->line_pct == 0;

	if (!empty && !is_excluded(excluded, p->src) && !is_excluded(excluded, p->dst))
		out[(*count)++] = *p;
}

static struct pair pair_of(const struct matrix_cell *c)
{
	return (struct pair){
		.src = c->src,
		.dst = c->dst,
		.rate = c->rate,
		.line_pct = c->line_pct,
		.pos = c->pos,
	};
}

static void cells_walk(const struct matrix *m, const bool *excluded, struct pair *out,
		       size_t *count)
{
	for (size_t i = 0; i < m->traffic.cell_count; i++) {
		struct pair p = pair_of(&m->traffic.cell[i]);

		pair_add(out, count, excluded, &p);
	}
}

// Cells stand in the same order as the pairs are walked: one pass over both.
static void mesh_walk(const struct matrix *m, const bool *excluded, struct pair *out, size_t *count)
{
	const struct matrix_cell *cell = m->traffic.cell;
	uint32_t n = (uint32_t)m->host_count;
	size_t left = m->traffic.cell_count;

	for (uint32_t src = 0; src < n; src++)
		for (uint32_t dst = 0; dst < n; dst++) {
			struct pair p = {
				.src = src,
				.dst = dst,
				.rate = m->traffic.rate,
				.line_pct = m->traffic.line_pct,
				.pos = m->traffic.at.rate,
			};

			if (src == dst)
				continue;
			if (left > 0 && cell->src == src && cell->dst == dst) {
				p = pair_of(cell++);
				left--;
			}
			pair_add(out, count, excluded, &p);
		}
}

static int none_left(const struct matrix *m, size_t excluded, struct err *e)
{
	struct pos pos = m->traffic.at.rate.line != 0 ? m->traffic.at.rate : m->traffic.at.cells;

	if (excluded > 0)
		return err_set(e, EINVAL, "%s: no flow is left without the %zu hosts that are out",
			       m->file, excluded);
	return pos_fail(m->file, pos, e,
			"every cell is empty: expected a rate above 0 for one pair or more");
}

int pattern_build(const struct matrix *m, const bool *excluded, struct pair **out, size_t *count,
		  struct err *e)
{
	size_t n = m->host_count, out_count = 0;
	bool mesh = m->traffic.pattern == PATTERN_MESH;

	*out = calloc((mesh ? n * (n - 1) : m->traffic.cell_count) + 1, sizeof(**out));
	*count = 0;
	if (*out == NULL)
		return err_set(e, ENOMEM, "%s: out of memory for the flows of %zu hosts", m->file,
			       n);
	if (mesh)
		mesh_walk(m, excluded, *out, count);
	else
		cells_walk(m, excluded, *out, count);
	if (*count > 0)
		return 0;
	for (size_t i = 0; i < n; i++)
		out_count += is_excluded(excluded, (uint32_t)i);
	free(*out);
	*out = NULL;
	return none_left(m, out_count, e);
}
