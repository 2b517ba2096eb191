// The live line of a run on stderr, only on a terminal: what all hosts together do right now.
#pragma once

#include "fleet.h"

#include <stdbool.h>
#include <stdint.h>

struct ticker {
	const struct fleet *fleet;   // borrowed
	uint64_t start_ns, total_ns; // our CLOCK_MONOTONIC_RAW
	uint64_t next_ns;	     // when the line is due
	bool shown, live;
};

void ticker_begin(struct ticker *t, const struct fleet *f, uint64_t start_ns, uint64_t total_ns);
// At most twice a second.
void ticker_show(struct ticker *t);
// Clears the line.
void ticker_end(struct ticker *t);
// One host's figures as text: "running 3.0 s  tx 10.0 k ...". Into buf.
char *ticker_status_str(const struct status *s, char *buf, size_t size);
