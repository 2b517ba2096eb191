// From a rate in bits or percent to packets/s, once sizes and speeds are known.
#pragma once

#include "pattern.h"
#include "plan.h"

// Of a pair, whose hosts in p are filled; RATE_UNPACED = max. 0, or -EINVAL with the place: of a
// percentage without a known speed, and of more than RATE_MAX_PPS.
int plan_rate(const struct plan_input *in, const struct plan *p, const struct pair *pair,
	      double *pps, struct err *e);
