#include "gen_grid.h"

#include "slurp.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static int csv_load(const char *path, struct csv_grid *csv, struct err *e)
{
	char *text;
	size_t len;
	int ret = slurp(path, &text, &len, e);

	if (ret < 0)
		return ret;
	ret = csv_grid_parse(strcmp(path, "-") == 0 ? "stdin" : path, text, len, csv, e);
	free(text);
	return ret;
}

static const struct server *server_find(const struct servers *list, const char *name)
{
	for (size_t i = 0; i < list->count; i++)
		if (strcmp(list->server[i].name, name) == 0)
			return &list->server[i];
	return NULL;
}

static int servers_match(const char *path, const struct servers *list, struct gen_grid *grid,
			 struct err *e)
{
	const struct csv_grid *csv = &grid->csv;

	grid->servers.server = calloc(csv->count, sizeof(*grid->servers.server));
	if (grid->servers.server == NULL)
		return err_set(e, ENOMEM, "%s: out of memory", path);
	grid->servers.count = csv->count;
	for (size_t i = 0; i < csv->count; i++) {
		struct server *to = &grid->servers.server[i];
		const struct csv_host *h = &csv->host[i];

		memcpy(to->name, h->name, sizeof(to->name));
		if (list == NULL)
			continue;
		const struct server *from = server_find(list, h->name);
		if (from == NULL)
			return pos_fail(path, h->pos, e,
					"column '%s': the server list has no such name: add it "
					"there, as '%s=ADDRESS'",
					h->name, h->name);
		*to = *from;
	}
	grid->left_out = list != NULL ? list->count - csv->count : 0;
	return 0;
}

static bool rate_same(const struct rate *a, const struct rate *b)
{
	return a->max == b->max && a->pps == b->pps;
}

// The rate that more than half of all ordered pairs have, if there is one (Boyer and Moore's vote).
static bool rate_common(const struct csv_grid *csv, struct rate *rate)
{
	size_t votes = 0, have = 0;

	for (size_t i = 0; i < csv->pair_count; i++) {
		const struct rate *r = &csv->pair[i].rate;

		if (votes == 0)
			*rate = *r;
		votes = rate_same(rate, r) ? votes + 1 : votes - 1;
	}
	for (size_t i = 0; i < csv->pair_count; i++)
		have += rate_same(rate, &csv->pair[i].rate);
	return 2 * have > csv->count * (csv->count - 1);
}

// What differs from a mesh at g->rate: other rates, and pairs that are not there.
static int exceptions_find(const struct csv_grid *csv, struct gen_grid *grid, struct gen *g)
{
	size_t n = csv->count, at = 0;

	grid->cell = calloc(n * (n - 1) + 1, sizeof(*grid->cell));
	if (grid->cell == NULL)
		return -ENOMEM;
	for (uint32_t src = 0; src < n; src++)
		for (uint32_t dst = 0; dst < n; dst++) {
			struct pair none = { .src = src, .dst = dst };
			const struct pair *p = &none;

			if (src == dst)
				continue;
			if (at < csv->pair_count && csv->pair[at].src == src &&
			    csv->pair[at].dst == dst)
				p = &csv->pair[at++];
			if (!rate_same(&p->rate, &g->rate))
				grid->cell[g->cell_count++] = *p;
		}
	g->cell = grid->cell;
	return 0;
}

int gen_grid_load(const char *path, const struct servers *list, struct gen_grid *grid,
		  struct gen *g, struct err *e)
{
	int ret;

	*grid = (struct gen_grid){ 0 };
	ret = csv_load(path, &grid->csv, e);
	if (ret == 0)
		ret = servers_match(path, list, grid, e);
	if (ret < 0) {
		gen_grid_free(grid);
		return ret;
	}
	g->servers = &grid->servers;
	if (rate_common(&grid->csv, &g->rate)) {
		g->pattern = PATTERN_MESH;
		ret = exceptions_find(&grid->csv, grid, g);
	} else {
		g->pattern = PATTERN_CELLS;
		g->cell = grid->csv.pair;
		g->cell_count = grid->csv.pair_count;
	}
	if (ret < 0) {
		gen_grid_free(grid);
		return err_set(e, ENOMEM, "%s: out of memory", path);
	}
	return 0;
}

void gen_grid_free(struct gen_grid *grid)
{
	csv_grid_free(&grid->csv);
	servers_free(&grid->servers);
	free(grid->cell);
	*grid = (struct gen_grid){ 0 };
}
