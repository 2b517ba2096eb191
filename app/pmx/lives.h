// The lives of a host in one run: `pmx reload` puts another agent into the place of one, and each
// leaves its result. Pure.
#pragma once

#include "result.h"

#include "err.h"

#include <stddef.h>
#include <stdint.h>

// Adds the lives up, in the order in which they were lived: their trials stand one after the other,
// flows are matched by the peer's name and their layer, and what a life did not have counted
// nothing in it. What cannot be added (state, device, CPU shares) is the last life's. The rate of a
// flow is the mean over the measured time of all lives, which ends at now_ns for a life that goes
// on (0 = none does). Where the lives' sizes differ, its flows have a mix of all of them
// (lives_sizes.h). 0; -EINVAL when a life is of another host, run or rotation; -ENOMEM. *out is the
// caller's to free.
int lives_join(const struct result *const *life, size_t n, uint64_t now_ns, struct result *out,
	       struct err *e);
