// How the matrix spreads requests over time, in words and in JSON.
#pragma once

#include "json_put.h"
#include "matrix.h"

#include <stddef.h>

#define PACING_STR_MAX 128

// ", bursts of 32, poisson gaps, ramp of 10.0 s in 4 steps", as titles have it; "" where requests
// go one by one at even gaps.
const char *pacing_str(const struct matrix *m, char *buf, size_t size);
// burst, spacing, seed and ramp; null where there is none.
void pacing_json(struct json_put *j, const struct matrix *m);
