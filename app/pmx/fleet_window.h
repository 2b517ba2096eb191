// The last seconds of the reports of all hosts, wherever they are: for `pmx summarize --window`.
#pragma once

#include "fleet.h"
#include "summary.h"

#include <stddef.h>

// Takes them from the hosts, or with --no-collect from DIR/<host>/report.csv. Returns how many
// failed in it.
size_t fleet_window(struct fleet *f, struct summary_parts *parts);
