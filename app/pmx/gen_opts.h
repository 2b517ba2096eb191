// The options that say what traffic is meant, for the verbs that make matrices.
#pragma once

#include "gen.h"
#include "gen_plan.h"
#include "opt.h"
#include "profile.h"
#include "servers.h"

#include "err.h"

#include <stdbool.h>

// Fills g from the options, but for servers and rate, and where profiles are looked for. Options
// that do not go together are refused.
int gen_opts_read(const struct opts *o, struct gen *g, struct profile_dirs *dirs, struct err *e);
// The hubs of g's shape among its servers: *hub is owned by the caller, g borrows it.
int gen_opts_hubs(const struct opts *o, struct gen *g, bool **hub, struct err *e);
// The rate of each pair, by the one option of --pps, --host-pps, --gbps and --line.
int gen_opts_rate(const struct opts *o, struct gen *g, const struct profile_dirs *dirs,
		  struct err *e);
// The server list of a file, - for stdin.
int gen_opts_servers(const char *path, struct servers *s, struct err *e);
