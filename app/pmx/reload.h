// A started fleet becomes what an edited matrix says: hosts whose config is another restart, the
// others go on. One run id and cookie; the restarted agents join the trial that runs.
#pragma once

#include "fleet.h"
#include "launch.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum reload_part { PART_GOES_ON, PART_RESTARTS, PART_JOINS };

struct reload_host {	 // one host, as it is found
	bool has_config; // an agent of this run is there, or was
	bool runs;
	enum reload_part part;
	uint64_t end_ns; // of the run, on the agent's clock
	char trouble[ERR_MAX];
	struct hostcfg config; // of its agent
};

struct reload {
	struct reload_host *host; // owned, [count of the fleet]
	size_t count;
	const struct hostcfg *like; // of an agent that runs; borrowed
	size_t like_host;
	size_t restarts, joins;
};

// Asks every (connected) host for its agent and its config; touches nothing. EXIT_GOOD, or an exit
// code after saying what cannot be reloaded, and why.
int reload_look(struct reload *r, struct fleet *f);
// What each host has to do, by the plan of `l` that was made for the running run. EXIT_GOOD, or an
// exit code after saying what cannot be done.
int reload_decide(struct reload *r, const struct fleet *f, const struct launch *l);
// Does it, on the hosts that are chosen. EXIT_GOOD, EXIT_HOST, or 128 + signal.
int reload_do(struct reload *r, struct fleet *f, struct launch *l);
void reload_free(struct reload *r);
