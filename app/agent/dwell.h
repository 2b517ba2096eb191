// Dwells: while a trial sends, one layer of the rotation does, until the next one's turn. Without a
// rotation a trial is one dwell of the one layer there is; so is the warm-up, of the first layer.
// Cold: called every few microseconds at most.
//
// A layer's clock stands still while others send, so over any number of dwells a flow's packets are
// its rate times the time its layer was on. What is still not sent at the end of a dwell may go for
// half the drain, or half the dwell where another follows, before the next layer begins; what is
// left then is booked unsent.
#pragma once

#include "queue.h"

#include <stdbool.h>
#include <stdint.h>

// TSC of the first request that the queue owes after it was armed; UINT64_MAX = none ever.
uint64_t dwell_first_due(const struct queue *q);
// The first of trial q->current. `keep`: the trial before it ended where this one starts.
void dwell_begin(struct queue *q, bool keep);
// The trial's end moved, to an earlier one.
void dwell_cut(struct queue *q);
// Whether all of the dwell has gone, or has had its time to.
bool dwell_over(const struct queue *q, uint64_t now);
// Books what is left, and opens the next of the trial's dwells; false when this was the last.
bool dwell_next(struct queue *q);
