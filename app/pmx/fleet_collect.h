// Results of all hosts, wherever they are: from the agents' sessions, from their files, from what
// was collected here; and the summary of them.
#pragma once

#include "barrier.h"
#include "fleet.h"
#include "summary.h"

#include <stddef.h>

// Of connected hosts: asks each live agent, or reads the result that a finished one wrote. Fills
// host.result and host.now_ns; a host that has none fails. Returns how many failed in it.
// `lives`: what of the results of earlier agents, from before a reload (lives.h).
enum lives {
	LIVES_LAST,   // nothing: the host's agent was the first
	LIVES_JOINED, // added to host.result
	LIVES_APART,  // in host.older
};
size_t fleet_collect(struct fleet *f, enum lives lives);
// The same from DIR/<host>/result.json on this machine; touches no host.
size_t fleet_collect_dir(struct fleet *f, const char *dir);
// Either of the two, as --no-collect says, and tells what failed. Returns how many hosts did.
size_t fleet_gather(struct fleet *f);
// Before collecting: what the summary needs of each result is taken as it comes, and the result is
// freed; fleet_report then knows it. 0, or an exit code after saying why.
int fleet_digest(struct fleet *f, struct summary_parts *parts);
// Summary, reports and JSON as the options ask, from the parts that were taken. Returns enum
// pmx_exit: the summary's verdict.
int fleet_report(struct fleet *f, struct summary_parts *parts, struct skew skew);
