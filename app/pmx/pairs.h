// Set of ordered pairs (src, dst) of hosts, and the rank of each in the order by (src, dst): a
// bitmap with a running count per word, so that both are one look-up however many pairs there are.
#pragma once

#include "err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PAIR_NONE UINT32_MAX

struct pairs {
	uint32_t hosts;
	size_t row_words; // words of one source
	uint64_t *bit;	  // owned, [hosts * row_words]
	uint32_t *before; // owned, pairs in the words before this one; valid after pairs_rank
	uint32_t count;	  // valid after pairs_rank
};

int pairs_init(struct pairs *p, size_t hosts, struct err *e);
void pairs_free(struct pairs *p);
void pairs_add(struct pairs *p, uint32_t src, uint32_t dst);
// Counts; to be called once all pairs are in.
void pairs_rank(struct pairs *p);
// Rank of a pair, PAIR_NONE when it is not in the set.
uint32_t pairs_index(const struct pairs *p, uint32_t src, uint32_t dst);
