// A plan that nobody runs: for verbs that only look at what it says of hosts.
#pragma once

#include "plan.h"

// With the matrix's own times and this machine's CPUs, under a name in place of a run's. As
// plan_build; plan_free ends it.
int plan_to_look(const struct matrix *m, const struct profile *profile, const char *name,
		 struct plan *p, struct err *e);
