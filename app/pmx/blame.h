// Who is to blame when hosts wait for each other: a host whose data link is broken waits for all
// its peers, and each of them waits for it. Pure.
#pragma once

#include "matrix.h"

#include <stdbool.h>
#include <stddef.h>

// waits[i]: what host i's agent says it waits for, NULL = it is ready or does not count. Sets
// blamed[] for the fewest hosts found whose absence lets all others be ready: each that names no
// other waiting or ready host of the matrix by its data address (its own link is down, a gateway is
// silent), then by turns the one that most others miss.
void blame_find(const struct matrix *m, const char *const *waits, bool *blamed);
