// Rates, and the cells that give single pairs one of their own.
#include "matrix_frame.h"
#include "matrix_parts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int rate_read(const struct yaml_doc *d, const struct yaml_item *value, struct rate *rate,
	      double *line_pct, struct err *e)
{
	int ret = yaml_want_text(d, value, "rate",
				 "packets/s with k, M or G, bits/s as 1Gbps, or 'max'", e);

	if (ret < 0)
		return ret;
	size_t len = strlen(value->text);
	*line_pct = 0;
	if (len > 0 && value->text[len - 1] == '%') {
		*rate = (struct rate){ 0 };
		return yaml_read_real(d, value, "rate", 0, 100, true, line_pct, e);
	}
	return parse_rate(value->text, rate, e) < 0 ? yaml_wrap(d, value->pos, "rate", e) : 0;
}

static bool cell_blank(const struct yaml_item *value)
{
	return yaml_blank(value) || (value->kind == YAML_TEXT && value->text[0] == '\0');
}

static int set_rate(const struct yaml_doc *d, const struct yaml_item *v, void *obj, struct err *e)
{
	struct matrix_cell *c = obj;

	c->pos = v->pos;
	return rate_read(d, v, &c->rate, &c->line_pct, e);
}

static int set_dscp(const struct yaml_doc *d, const struct yaml_item *v, void *obj, struct err *e)
{
	struct matrix_cell *c = obj;

	return dscp_read(d, v, &c->dscp, e);
}

#define CELL_AT(field) offsetof(struct matrix_cell, at.field)
// clang-format off
static const struct yaml_key cell_key[] = {
	{ .name = "rate", .type = YAML_TYPE_CALL, .set = set_rate, .pos = CELL_AT(rate) },
	{ .name = "dscp", .type = YAML_TYPE_CALL, .set = set_dscp },
};
// clang-format on
static const struct yaml_table cell_table = YAML_TABLE("cell", cell_key);

// A rate, or a mapping of what the pair has of its own.
static int cell_read(const struct yaml_doc *d, const struct matrix *m,
		     const struct yaml_item *value, struct matrix_cell *c, struct err *e)
{
	if (cell_blank(value))
		return 0;
	if (value->kind != YAML_MAP)
		return rate_read(d, value, &c->rate, &c->line_pct, e);
	int ret = yaml_map_read(d, value, &cell_table, c, e);
	if (ret < 0 || c->at.rate.line != 0)
		return ret;
	if (m->traffic.at.rate.line == 0)
		return pos_fail(d->file, value->pos, e,
				"cells: '%s' to '%s' has no rate, nor has 'traffic': expected "
				"'{rate: 100k}'",
				m->host[c->src].name, m->host[c->dst].name);
	c->rate = m->traffic.rate;
	c->line_pct = m->traffic.line_pct;
	c->pos = m->traffic.at.rate;
	return 0;
}

// One source's row. `seen[dst]` is the row's number + 1 where the pair has been met.
static int row_read(const struct yaml_doc *d, struct draft *draft, const struct yaml_item *row,
		    uint32_t src, uint32_t *seen, struct err *e)
{
	struct matrix *m = &draft->m;
	char show[96];

	if (cell_blank(row))
		return 0;
	if (row->kind != YAML_MAP)
		return pos_fail(d->file, row->pos, e,
				"cells: %s given for '%s': expected a mapping, as '{%s: 100k}'",
				yaml_show(row, show, sizeof(show)), m->host[src].name,
				m->host[src == 0 ? 1 : 0].name);
	for (const struct yaml_item *key = row->child; key != NULL; key = key->next->next) {
		struct matrix_cell c = {
			.src = src,
			.dscp = m->traffic.dscp,
			.pos = key->next->pos,
		};
		int ret = host_of(d, draft, "cells", key, &c.dst, e);

		if (ret < 0)
			return ret;
		if (seen[c.dst] == src + 1)
			return pos_fail(d->file, key->pos, e,
					"cells: '%s' a second time under '%s': keep one", key->text,
					m->host[src].name);
		seen[c.dst] = src + 1;
		ret = cell_read(d, m, key->next, &c, e);
		if (ret < 0)
			return ret;
		bool empty = !c.rate.max && c.rate.pps == 0 && c.rate.bps == 0 && c.line_pct == 0;
		if (src != c.dst && !(empty && m->traffic.pattern == PATTERN_CELLS))
			m->traffic.cell[m->traffic.cell_count++] = c;
	}
	return 0;
}

static int by_pair(const void *a, const void *b)
{
	const struct matrix_cell *x = a, *y = b;

	if (x->src != y->src)
		return x->src < y->src ? -1 : 1;
	return (x->dst > y->dst) - (x->dst < y->dst);
}

static size_t pairs_count(const struct yaml_item *cells)
{
	size_t n = 0;

	for (const struct yaml_item *key = cells->child; key != NULL; key = key->next->next)
		if (key->next->kind == YAML_MAP)
			n += key->next->count;
	return n;
}

static int rows_read(const struct yaml_doc *d, struct draft *draft, bool *row_seen, uint32_t *seen,
		     struct err *e)
{
	for (const struct yaml_item *key = draft->cells->child; key != NULL;
	     key = key->next->next) {
		uint32_t src;
		int ret = host_of(d, draft, "cells", key, &src, e);

		if (ret < 0)
			return ret;
		if (row_seen[src])
			return pos_fail(d->file, key->pos, e, "cells: '%s' a second time: keep one",
					key->text);
		row_seen[src] = true;
		ret = row_read(d, draft, key->next, src, seen, e);
		if (ret < 0)
			return ret;
	}
	return 0;
}

int draft_cells(const struct yaml_doc *d, struct draft *draft, struct err *e)
{
	const struct yaml_item *cells = draft->cells;
	struct matrix *m = &draft->m;
	char show[96];

	if (cells == NULL)
		return 0;
	if (cells->kind != YAML_MAP)
		return pos_fail(d->file, cells->pos, e,
				"cells: %s given: expected a mapping, as '%s: {%s: 100k}'",
				yaml_show(cells, show, sizeof(show)), m->host[0].name,
				m->host[1].name);
	uint32_t *seen = calloc(m->host_count, sizeof(*seen));
	bool *row_seen = calloc(m->host_count, sizeof(*row_seen));
	m->traffic.cell = calloc(pairs_count(cells) + 1, sizeof(*m->traffic.cell));
	int ret = seen == NULL || row_seen == NULL || m->traffic.cell == NULL
			  ? err_set(e, ENOMEM, "%s: out of memory", d->file)
			  : rows_read(d, draft, row_seen, seen, e);
	free(seen);
	free(row_seen);
	if (ret == 0)
		qsort(m->traffic.cell, m->traffic.cell_count, sizeof(*m->traffic.cell), by_pair);
	return ret;
}
