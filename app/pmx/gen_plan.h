// What comes of a generated matrix: read back, and planned. Also the rate that loads the hosts as
// asked. No host is touched.
#pragma once

#include "capacity.h"
#include "gen.h"
#include "matrix.h"
#include "plan.h"
#include "profile.h"

#include "err.h"

struct gen_plan { // all owned
	struct matrix matrix;
	struct profile *profile;
	struct plan plan;
	struct capacity load;
};

// What is left open for the editor (the device) is put in for that. nic_gbps and nic_mpps as in
// capacity_build. On failure there is nothing to free.
int gen_plan_build(const struct gen *g, const struct profile_dirs *dirs, double nic_gbps,
		   double nic_mpps, struct gen_plan *p, struct err *e);
void gen_plan_free(struct gen_plan *p);

// One of the three, the others 0 / false.
struct gen_goal {
	struct rate host_rate; // requests/s of the host that sends most
	double host_gbps;      // L1 of the busiest host's busier way, requests and replies
	double line_pct;       // the same as a share of the link
	double nic_gbps;       // the link's speed; 0 = the profile's
};

// Sets the rate of every pair, rounded down.
int gen_size(struct gen *g, const struct gen_goal *goal, const struct profile_dirs *dirs,
	     struct err *e);
// The text that gen_write writes; *text is owned by the caller.
int gen_text(const struct gen *g, char **text, size_t *len, struct err *e);
