// Initialisers of the columns that come again and again: key, title (NULL = not in the text) and
// where the value stands. For the files that define tables.
#pragma once

#include "table.h"

#include <stddef.h>

#define NS_PER_US 1e3
#define BPS_PER_MBPS 1e6
#define BPS_PER_GBPS 1e9

#define AT(type, member) .source = SOURCE_##type, .offset = offsetof(struct ROW, member)
#define MADE(function) .source = SOURCE_MAKE, .make = function

#define NAME(k, t) .key = k, .title = t, .form = FORM_TEXT, .left = true
#define PACKETS(k, t) .key = k, .title = t, .form = FORM_COUNT
#define YES(k, t) .key = k, .title = t, .form = FORM_BOOL
#define PPS(k, t) .key = k, .title = t, .unit = "pps", .form = FORM_SI, .decimals = 3
#define MBPS(k, t) \
	.key = k, .title = t, .unit = "bps", .form = FORM_MBPS, .decimals = 6, .scale = BPS_PER_MBPS
#define GBPS(k, t) \
	.key = k, .title = t, .unit = "bps", .form = FORM_GBPS, .decimals = 9, .scale = BPS_PER_GBPS
#define PCT(k, t, digits) \
	.key = k, .title = t, .unit = "%", .form = FORM_PCT, .decimals = 9, .text_decimals = digits
#define US(k, t) .key = k, .title = t, .form = FORM_US, .decimals = 3, .scale = NS_PER_US
