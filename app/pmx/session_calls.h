// The words of lib/session.h, as calls on one host of the fleet.
#pragma once

#include "fleet.h"

#include "err.h"

#include <stdint.h>

// Attaches to the host's agent and says hello. `run_id`, when not NULL, must be the agent's.
int call_hello(struct fleet_host *h, const char *run_id, struct err *e);
// Fills h->status, renews the lease. An agent in state failed is an error with its own words.
int call_status(struct fleet_host *h, struct err *e);
// Fills h->barrier.offset.
int call_time(struct fleet_host *h, struct err *e);
int call_arm(struct fleet_host *h, uint64_t start_ns, struct err *e);
int call_stop(struct fleet_host *h, uint64_t at_ns, struct err *e);
// Fills h->result; h->now_ns when it is a live one.
int call_result(struct fleet_host *h, struct err *e);
int call_quit(struct fleet_host *h, struct err *e);
