// Asks every watched agent for its status about twice a second, all through a run: this renews the
// leases and brings the news. Each host is asked at its own pace by a pool of threads, so that one
// that does not answer holds up no other.
#pragma once

#include "fleet.h"

#include <stdint.h>

struct poller;

// From now on; hosts take part once they are watched (fleet_watch). lease_ns 0 = none to renew.
// Without threads to be had there is no poller, and the agents' leases run out.
void poller_begin(struct fleet *f, uint64_t lease_ns);
// The same with a step of one's own for each watched host, period_ns after the last; a host whose
// step fails is asked no more.
void poller_begin_step(struct fleet *f, uint64_t period_ns, fleet_step step, void *arg);
// Waits for calls under way. No-op when there is none.
void poller_end(struct fleet *f);
