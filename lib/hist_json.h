// Histogram <-> JSON: {"count", "min_ns", "max_ns", "sum_ns", "buckets": [[bucket, count], ...]},
// with the buckets that count something in ascending order. One without records is null, and null
// is read as NULL. What is read is consistent: the counts add up, min and max lie in the first and
// last bucket.
#pragma once

#include "jsonmap.h"

// Of a member `struct hist *`, owned. Writing takes a histogram that is still being recorded.
extern const struct jm_codec hist_codec;
// Of a member `struct hist_packed *`, owned.
extern const struct jm_codec hist_packed_codec;
