// From a matrix to agents that are all ready: profiles, plan, deploy, launch, wait.
#pragma once

#include "fleet.h"
#include "plan.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct launch {
	struct matrix matrix; // the fleet's; `host` is owned, with devices as the hosts found them
	struct profile *profile; // owned, [host_count]
	bool *excluded;		 // owned, [host_count]
	struct plan_input input;
	struct plan plan;
	bool planned;
};

// Profiles and the plan of all hosts: whatever is wrong with the matrix shows here, before any host
// is touched. lease_ns 0 = detached. Returns enum pmx_exit after saying why; launch_free in any
// case.
int launch_init(struct launch *l, const struct fleet *f, uint64_t duration_ns, uint64_t lease_ns);
void launch_free(struct launch *l);
// Finds the devices on the live hosts and plans with them. A host whose device is not there, or
// carries the SSH session, fails. EXIT_GOOD, or EXIT_USAGE after saying why.
int launch_locate(struct launch *l, struct fleet *f);
// The plan again, as a part of the run that `like` is a host config of: its identity and its times.
int launch_replan(struct launch *l, const struct hostcfg *like);
// The directory and the binary on one host.
int launch_prepare(struct fleet_host *h, void *arg, struct err *e);
// The agents of all live hosts, by the plan; then, until they are ready or it takes too long.
// `patient`: a host that fails does not end the wait for the others.
void launch_agents(struct launch *l, struct fleet *f);
void launch_wait(struct fleet *f, bool patient);
// Connects, deploys and launches until all agents are ready, or those that can be with
// --allow-partial. Otherwise EXIT_HOST, or 128 + signal, and all agents are stopped again.
int launch_all(struct launch *l, struct fleet *f);
