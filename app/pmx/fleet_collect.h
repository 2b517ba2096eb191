// Results of all hosts, wherever they are: from the agents' sessions, from their files, from what
// was collected here; and the summary of them.
#pragma once

#include "barrier.h"
#include "fleet.h"

#include <stddef.h>

// Of connected hosts: asks each live agent, or reads the result that a finished one wrote. Fills
// host.result and host.now_ns; a host that has none fails. Returns how many failed in it.
size_t fleet_collect(struct fleet *f);
// The same from DIR/<host>/result.json on this machine; touches no host.
size_t fleet_collect_dir(struct fleet *f, const char *dir);
// Summary, reports and JSON as the options ask, from what the hosts have in `result`. Returns enum
// pmx_exit: the summary's verdict.
int fleet_report(const struct fleet *f, struct skew skew);
