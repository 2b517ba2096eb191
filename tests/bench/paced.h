// One paced trial into net_null, watched from outside the agent's own counters: the instant of each
// burst by the TSC, which is held against CLOCK_MONOTONIC_RAW from before to after the trial.
#pragma once

#include "rig.h"

// Runs the trial and prints one line of JSON: sent, target; lateness of all, and `clean`: without
// host stalls, which are turns of the loop of over 5 us, each with `recovery` times its length
// behind it; awake_pps, the rate in turns that sent. With `rates` also ppm (between the least late
// of the first and of the last packets), ppm_ends (between the first and the last), gaps between
// packets (p1, p50, p99), most packets in a bin of 1 ms.
void paced_run(struct rig *r, const struct rig_opts *o, double recovery, bool rates);
