// What of a summary goes by size: means of the sizes that a flow's packets had, and the sums of
// each size over all flows.
#pragma once

#include "sum_part.h"
#include "summary.h"

// The means of what the source, or the destination, counted.
void sum_sizes_tx(struct sum_flow *f, const struct part_tx *tx, const struct sum_part *p,
		  const struct matrix *m);
void sum_sizes_rx(struct sum_flow *f, const struct part_rx *rx, const struct sum_part *p,
		  const struct matrix *m);

// Collects the sizes of all mixes, then takes the counters of one flow after the other, of either
// end; `complete`: both ends tell about it. sum_sizes_finish makes the losses of them.
int sum_sizes_init(struct summary *s, struct sum_part *const *part, struct err *e);
void sum_sizes_add_tx(struct summary *s, const struct part_tx *tx, const struct sum_part *p,
		      bool complete);
void sum_sizes_add_rx(struct summary *s, const struct part_rx *rx, const struct sum_part *p,
		      bool complete);
void sum_sizes_finish(struct summary *s);
