// The hosts of a summary: who was measured, over which window, and what its flows add up to. Part
// of summary_build, in three steps; and the arithmetic of what may be unknown, which both parts
// use.
#pragma once

#include "sum_part.h"
#include "summary.h"

#include "err.h"

#include <stdint.h>

// Which parts ([host_count], NULL = none) count; their queues go over to the summary.
int hosts_take(const struct summary_input *in, struct sum_part *const *part, struct summary *s,
	       struct err *e);
// Books a finished flow at its two hosts.
void hosts_add_flow(struct summary *s, const struct sum_flow *f);
// Shares and causes, once all flows are booked; and the causes of the whole.
void hosts_finish(struct summary *s);

// Sums of what is known: unknown when nothing was.
void count_add(uint64_t *sum, uint64_t v);
void loss_add(int64_t *sum, int64_t v);
void rate_add(double *sum, double v);
// sent - arrived, LOSS_UNKNOWN when either is unknown.
int64_t loss_between(uint64_t sent, uint64_t arrived);
// 100 * part / whole; NAN when unknown or of nothing.
double share_pct(uint64_t part, uint64_t whole);
double loss_share_pct(int64_t lost, uint64_t sent);
// NAN when the count or the window is unknown or the window is empty.
double per_second(uint64_t count, double window_s);
