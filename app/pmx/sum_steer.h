// Where requests and replies came in, among the queues of a host.
#pragma once

#include "summary.h"

// Of hosts whose counters and queues are there: on_queue_pct, uneven_pct, and the summary's.
void sum_steer(struct summary *s);
