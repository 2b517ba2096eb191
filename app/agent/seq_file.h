// The text of agent.seq: the run and the number of its streams, then the next sequence of each by
// its index, each on a line of its own.
#pragma once

#include "err.h"

#include <stdint.h>
#include <stdio.h>

// 0, or -1 where f has an error.
int seq_file_write(FILE *f, const char *run_id, const uint32_t *seq, uint32_t n);
// Into seq[n]: streams beyond those of the file stay as they are, sequences beyond n are of streams
// that are no more. Returns how many the file has, 0 for that of another run and for one that is no
// such file; of this run's, one that is not whole is an error.
int64_t seq_file_read(FILE *f, const char *run_id, uint32_t *seq, uint32_t n, struct err *e);
