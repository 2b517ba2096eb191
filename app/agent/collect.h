// Queues to result: sums over the queues, for closed trials and for those still running.
#pragma once

#include "result.h"

#include <jansson.h>
#include <stdint.h>

struct agent;

#define COLLECT_ALL UINT32_MAX
#define COLLECT_NONE (UINT32_MAX - 1)

// While lcores run the figures are at most a burst apart. RTT histograms of the flow `rtt_of` of
// those it sends, of all or of none. 0, and the caller frees *r, or -ENOMEM.
int collect(const struct agent *a, uint32_t rtt_of, struct result *r);
// The whole as JSON; NULL on no memory.
json_t *collect_result(const struct agent *a);
