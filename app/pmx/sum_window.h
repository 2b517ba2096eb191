// The last seconds of an agent's report.csv as a part of a summary: rates, round-trip loss, mean
// and largest round trip. What rows of intervals cannot tell stays unknown: percentiles (they are
// never merged), losses by direction and cause (the ends' intervals do not begin together), what
// was unsent, late, duplicate or reordered. Pure.
#pragma once

#include "sum_part.h"

#include "err.h"

#include <stddef.h>
#include <stdint.h>

// Header and rows of one report, from anywhere in its middle on; a last line without its end is
// left out. Rows are of the window when they end after the last row's instant less window_ns;
// interval_ns is the length of the first, where the report does not say. 0, -ENOMEM, -EINVAL
// (names line and column), -ENODATA without a row.
int sum_window_make(const struct names *names, uint32_t host, const char *text, size_t len,
		    uint64_t window_ns, uint64_t interval_ns, struct sum_part **out, struct err *e);
