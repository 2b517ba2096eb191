// The words of lib/session.h, as calls on one host of the fleet.
#pragma once

#include "fleet.h"

#include "err.h"
#include "hostcfg.h"
#include "session.h"

#include <stdint.h>

struct hello {
	char run_id[NAME_MAX_BYTES];
	enum agent_state state;
	uint64_t end_ns; // when the measured trial is to end, of the agent's clock; 0 = not armed
};

// Attaches to the host's agent and says hello: who it is.
int call_who(struct fleet_host *h, struct hello *out, struct err *e);
// Attaches to the host's agent and says hello. `run_id`, when not NULL, must be the agent's.
int call_hello(struct fleet_host *h, const char *run_id, struct err *e);
// Fills h->status, renews the lease. An agent in state failed is an error with its own words.
int call_status(struct fleet_host *h, struct err *e);
// Fills h->barrier.offset.
int call_time(struct fleet_host *h, struct err *e);
int call_arm(struct fleet_host *h, uint64_t start_ns, struct err *e);
// The agent joins a run of which elapsed_ns are over at start_ns.
int call_join(struct fleet_host *h, uint64_t start_ns, uint64_t elapsed_ns, struct err *e);
int call_stop(struct fleet_host *h, uint64_t at_ns, struct err *e);
// As call_stop, and another agent takes its place in the run.
int call_retire(struct fleet_host *h, uint64_t at_ns, struct err *e);
// Fills h->result; h->now_ns when it is a live one.
int call_result(struct fleet_host *h, struct err *e);
int call_quit(struct fleet_host *h, struct err *e);
