// From a CSV grid to what gen writes: hosts, and a mesh with exceptions or the cells alone.
#pragma once

#include "csv_grid.h"
#include "gen.h"
#include "servers.h"

#include "err.h"

struct gen_grid { // all owned
	struct csv_grid csv;
	struct servers servers; // the grid's hosts, in its order
	struct pair *cell;
	size_t left_out; // servers of the list that are not in the grid
};

// Reads the grid into g: its servers and its cells, and sizes and port where it says so. `list` has
// the addresses of the hosts, all of which must be in it; NULL = the names are the addresses. g
// borrows from *grid. On failure there is nothing to free.
int gen_grid_load(const char *path, const struct servers *list, struct gen_grid *grid,
		  struct gen *g, struct err *e);
void gen_grid_free(struct gen_grid *grid);
