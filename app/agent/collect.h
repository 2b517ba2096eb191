// Queues to result: sums over the queues, for closed trials and for those still running.
#pragma once

#include <jansson.h>

struct agent;

// lib/result.h as JSON; NULL on no memory. While lcores run the figures are at most a burst apart.
json_t *collect_result(const struct agent *a);
