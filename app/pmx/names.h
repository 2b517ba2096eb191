// Index of the hosts of a matrix by name: a hash table, built once, asked once per flow and end.
#pragma once

#include "matrix.h"

#include "err.h"

#include <stdint.h>

#define NAME_NONE UINT32_MAX

struct names {
	const struct matrix *matrix; // borrowed
	uint32_t *slot;		     // owned, [mask + 1]: host index + 1, 0 = empty
	uint32_t mask;
};

int names_init(struct names *n, const struct matrix *m, struct err *e);
void names_free(struct names *n);
// Host index, or NAME_NONE.
uint32_t names_find(const struct names *n, const char *name);
