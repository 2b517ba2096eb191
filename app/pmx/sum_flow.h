// Sums over the flows of a summary.
#pragma once

#include "summary.h"

#include <stdbool.h>

// Nothing known.
struct sum_flow flow_unknown(void);
// Whether both ends tell about it.
bool flow_complete(const struct sum_flow *f);
// Adds the counts and losses of f to a sum, and its rates times the shares: of the source's window
// and of the destination's.
void flow_sum(struct sum_flow *sum, const struct sum_flow *f, double sent_share,
	      double served_share);
