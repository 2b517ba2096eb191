// The frame of the verbs that do one thing on each host and print a line of each.
#pragma once

#include "fleet.h"

// Loads the matrix, connects, runs the step on every live host, prints the hosts' texts and the
// failures. `arg` goes to the step. EXIT_GOOD, or EXIT_HOST when a host failed.
int fleet_verb(struct opts *o, fleet_step step, void *arg);
