// Frames of the verbs: a fleet for as long as the verb's own part runs, and the part of those verbs
// that do one thing on each host and print a line of each.
#pragma once

#include "fleet.h"

// The verb's own part, of a fleet that touched no host yet. Returns enum pmx_exit.
typedef int (*fleet_part)(struct fleet *f, void *arg);

// Loads the matrix, runs the part on its fleet (which launches no agent), frees both. `arg` goes to
// the part. Its exit code, or that of what went wrong before it, which was said.
int fleet_with(struct opts *o, fleet_part part, void *arg);
// Loads the matrix, connects, runs the step on every live host, prints the hosts' texts and the
// failures. `arg` goes to the step. EXIT_GOOD, or EXIT_HOST when a host failed.
int fleet_verb(struct opts *o, fleet_step step, void *arg);
// The same for verbs that end the agents: those that answer are told to stop at one instant first,
// so that no request is under way to one that is gone.
int fleet_end_verb(struct opts *o, fleet_step step);
