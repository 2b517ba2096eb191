// Pattern: which ordered pairs of hosts exchange traffic, and at what rate. Pure.
#pragma once

#include "matrix.h"

#include "err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct pair {
	uint32_t src, dst; // host indexes, never the same
	struct rate rate;
	double line_pct; // > 0: % of the line rate, instead of rate
	struct pos pos;	 // of the rate in the matrix
};

// All pairs with a rate, by (src, dst); the hosts of excluded[] (may be NULL) take part in none.
// *out is owned by the caller. -EINVAL when no pair is left.
int pattern_build(const struct matrix *m, const bool *excluded, struct pair **out, size_t *count,
		  struct err *e);
