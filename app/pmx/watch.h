// A run from `ready` to `done`: clocks compared, armed for one instant, watched, stopped by a
// signal.
#pragma once

#include "barrier.h"
#include "fleet.h"

#include <stdint.h>

// Compares the clocks and arms all live hosts for a common start. EXIT_GOOD, or EXIT_HOST or
// 128 + signal when the run cannot begin (agents are left as they are). *start_ns: on our clock.
int watch_arm(struct fleet *f, uint64_t *start_ns);
// Until every live agent is done: renews leases, shows the ticker on a terminal, passes a signal on
// as a common stop. total_ns: how long the run is meant to last from the start. A host that fails
// is left behind.
void watch_run(struct fleet *f, uint64_t start_ns, uint64_t total_ns);
// Of the hosts that began.
struct skew watch_skew(const struct fleet *f);
