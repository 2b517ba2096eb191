// The life of the run's trials on one queue: begin, finish sending, close. Cold: called every few
// microseconds at most.
#pragma once

#include "queue.h"

// Does what is due at `now`; returns the TSC of the next boundary it knows of.
uint64_t trial_step(struct queue *q, uint64_t now);
