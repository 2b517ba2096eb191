// An agent whose SSH connection breaks in mid-run lives on by its lease: it is attached to again.
#pragma once

#include "fleet.h"

#include "err.h"

// The poller's step for agents in a run: renews the lease and brings the status. When the
// connection broke it is made anew, again with every call until the lease must be over; until then
// that is no failure (0). An agent that is gone, or says that it failed, fails its host at once.
int reattach_status(struct fleet_host *h, void *arg, struct err *e);
