// Grids: one figure of every flow as CSV in the matrix's own N x N shape, `src\dst` in the corner.
// An empty cell is not measured; it is never 0.
#pragma once

#include "summary.h"

#include <stdio.h>

struct grid {
	const char *name; // of the file, without .csv
	const char *key;  // of the flow table's column
	const char *what; // for readers
};

extern const struct grid grid_table[];
extern const size_t grid_count;

void render_grid(FILE *f, const struct summary *s, const struct grid *g);
