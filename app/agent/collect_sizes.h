// The part of a result that is by size.
#pragma once

#include "queue.h"

#include "hostcfg.h"
#include "result.h"

// The mixes into an empty result. 0, or < 0 on no memory.
int collect_mixes(struct result *r, const struct hostcfg *c);
// Lists of zeros for the flows that have mixes; q is any queue. 0, or < 0 on no memory.
int collect_sizes_alloc(struct result *r, const struct queue *q);
// Adds what a queue has counted of a trial.
void collect_sizes(struct result *r, const struct queue *q, uint32_t trial);
