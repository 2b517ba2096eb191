// The rotation in a summary: flows that a pair has in a second layer, how much of the matrix was
// measured, and what each layer's flows add up to. Parts of summary_build.
#pragma once

#include "pairs.h"
#include "summary.h"

#include "err.h"

#include <stddef.h>
#include <stdint.h>

// Which flows there are: one for each pair, in the order of the pairs; then the others of pairs
// that have several, by (src, dst, layer): those that fill up a layer.
struct sum_index {
	const struct pairs *pairs; // borrowed
	uint32_t *layer;	   // owned, [pairs->count]: of the pair's first flow
	uint64_t *again;	   // owned: the others
	size_t again_count, again_room;
};

// *pairs is ranked. sum_index_free ends it, also of zeros.
int sum_index_init(struct sum_index *x, const struct pairs *pairs, struct err *e);
void sum_index_free(struct sum_index *x);
// Adds a flow of a pair of the set; what is added first is the pair's first flow. 0 or -ENOMEM.
int sum_index_add(struct sum_index *x, uint32_t src, uint32_t dst, uint32_t layer, struct err *e);
// Once all are in; returns how many flows there are.
size_t sum_index_sort(struct sum_index *x);
size_t sum_index_find(const struct sum_index *x, uint32_t src, uint32_t dst, uint32_t layer);
// The flows' pairs and layers into flow[].
void sum_index_name(const struct sum_index *x, struct sum_flow *flow);

// Coverage and layers, once the flows are complete. 0 or -ENOMEM.
int layers_build(struct summary *s, const struct sum_index *x, struct err *e);
