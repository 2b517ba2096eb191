// Flow rules that bring frames to their queues, for ports that cannot hash as planned: one for each
// source port that a stream of the host has, each way.
#pragma once

#include "hostcfg.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// Of a port that runs. False, with `why`, if the port did not take every rule; then none is left.
bool rules_set(uint16_t port, const struct hostcfg *cfg, char *why, size_t size);
