// Pattern: which ordered pairs of hosts exchange traffic, at what rate, and in which layer of a
// rotation. Pure.
#pragma once

#include "matrix.h"

#include "err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct pair {
	uint32_t src, dst; // host indexes, never the same
	uint32_t layer;	   // of the rotation; 0 without one
	struct rate rate;
	double line_pct; // > 0: % of the line rate, instead of rate
	uint8_t dscp;
	struct pos pos; // of the rate in the matrix
};

// All flows with a rate, by (src, dst, layer); the hosts of excluded[] (may be NULL) take part in
// none, and the others' flows stay what they are without them. A pair that pads the last layer
// stands twice, each with its layer. *out is owned by the caller. -EINVAL when no pair is left.
int pattern_build(const struct matrix *m, const bool *excluded, struct pair **out, size_t *count,
		  struct err *e);
// Layers of the rotation, each held for traffic.dwell_ns in turn; 1 without one. A cycle is all of
// them: it has every ordered pair once, or with equal_layers once or twice.
uint32_t pattern_layers(const struct matrix *m);
