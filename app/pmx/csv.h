// CSV, field by field, with the place of each: RFC 4180 in lines. Blanks around a field are not of
// it; a field may stand in double quotes, within which "" is one; none goes beyond its line.
#pragma once

#include "pos.h"

#include "err.h"

#include <stdbool.h>
#include <stddef.h>

#define CSV_FIELD_BYTES 256

struct csv {
	const char *file;
	const char *at, *end; // what is left
	struct pos pos;	      // of `at`
	struct pos where;     // of the field that was read last
	char field[CSV_FIELD_BYTES];
};

// The next field of the line, and the comma behind it; *more says whether there was one.
int csv_field(struct csv *c, bool *more, struct err *e);
bool csv_line_ended(const struct csv *c);
void csv_line_next(struct csv *c);
// One byte on, in the line.
void csv_step(struct csv *c);
bool csv_blank(char c);
