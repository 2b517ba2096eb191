// The grid of rates that other tools keep as CSV: a row a source, a column a destination, cells in
// requests/s or "max".
//
//   # tx_size=64 rx_size=512 port=5300
//   src\dst,a,b,c
//   a,,1000,max
//
// Sizes are UDP payload. Blank and 0 are no flow, the diagonal is ignored. Fields may stand in
// double quotes, lines may end in CR LF, empty fields at the end of a line do not count, and other
// lines that begin with # are comments.
#pragma once

#include "hostcfg.h"
#include "pattern.h"
#include "plan.h"

#include "err.h"

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct csv_host {
	char name[NAME_MAX_BYTES];
	struct pos pos;
};

struct csv_grid {
	struct csv_host *host; // owned, in the order of the columns
	size_t count;
	struct pair *pair; // owned, by (src, dst): the flows; pos is their place in the file
	size_t pair_count;
	uint32_t req_bytes, rep_bytes; // 0 = not said
	uint16_t port;		       // 0 = not said
};

// 0 or -errno with file:line:col; on failure there is nothing to free.
int csv_grid_parse(const char *file, const char *text, size_t len, struct csv_grid *g,
		   struct err *e);
void csv_grid_free(struct csv_grid *g);
// The grid of a plan, which reads back as the same flows. A rotation's pairs stand in it each once,
// without their layers.
void csv_grid_write(FILE *f, const struct plan *p);
