#include "plan_look.h"

#include <stdio.h>
#include <unistd.h>

int plan_to_look(const struct matrix *m, const struct profile *profile, const char *name,
		 struct plan *p, struct err *e)
{
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);
	struct plan_input in = {
		.matrix = m,
		.profile = profile,
		.local_cpus = cpus > 0 ? (unsigned)cpus : 1,
		.warmup_ns = m->timing.warmup_ns,
		.duration_ns = m->timing.duration_ns,
		.lease_ns = m->timing.lease_ns,
	};

	snprintf(in.run_id, sizeof(in.run_id), "%s", name);
	return plan_build(&in, p, e);
}
