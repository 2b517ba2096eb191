// Renderers: a summary to text, JSON, CSV and grids, all from the tables of tables.h.
#pragma once

#include "summary.h"

#include "err.h"

#include <stdbool.h>
#include <stdio.h>

#define PMX_SUMMARY_VERSION 1 // of the JSON

#define DEFAULT_TOP 10

struct report_opts {
	const char *json;   // file, "-" = stdout (then nothing else goes there), NULL = none
	const char *report; // directory of the tables as CSV; NULL = none
	const char *grid;   // directory of the N x N CSVs; NULL = none
	size_t top;	    // rows of the tables of the worst; 0 = DEFAULT_TOP
	bool verbose;	    // every host, queue and flow in the text
	bool colour;	    // only ever true on a TTY: see report_colour
};

// Writes what the options ask for: the text to stdout unless json is "-", files by temporary name
// and rename, directories as needed. 0 or -errno; the error names the file. The verdict (exit code)
// is summary_verdict's.
int report_emit(const struct summary *s, const struct report_opts *o, struct err *e);

// Whether text on this stream may be coloured: a TTY, TERM not dumb, NO_COLOR not set.
bool report_colour(FILE *f);

// Each writes to an open stream; 0 or -ENOMEM. Whether writing failed is for the caller to see
// (ferror).
int render_text(FILE *f, const struct summary *s, const struct report_opts *o, struct err *e);
int render_json(FILE *f, const struct summary *s, struct err *e);

// Coverage and layers of a rotation; nothing without one.
int render_layers_text(FILE *f, const struct summary *s, const struct report_opts *o,
		       struct err *e);

struct table;
void render_table_text(FILE *f, const struct table *t, bool colour);
void render_table_csv(FILE *f, const struct table *t);
