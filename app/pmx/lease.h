// Launching takes as long as the slowest host; the leases of the others are renewed meanwhile.
#pragma once

#include "fleet.h"

#include <stdint.h>

// fleet_each(f, FLEET_LIVE, step, arg), while agents whose step is over are asked for their status
// several times a lease. lease_ns 0 = none to renew.
size_t lease_keep(struct fleet *f, uint64_t lease_ns, fleet_step step, void *arg);
