// Once an interval: the live ticker and the rows of report.csv.
#pragma once

#include "collect_sizes.h"

#include "hostcfg.h"
#include "queue.h"
#include "session.h"

#include "err.h"

#include <stdio.h>

struct agent;

struct flow_sample {
	uint64_t sent, returned, served;
	struct size_bytes bytes; // of the ways with a mix
};

struct sampler {
	struct status status;	 // rates of the last interval
	uint64_t sent, returned; // of all flows in it
	FILE *report;		 // NULL = none
	uint64_t interval_ns, next_ns, last_ns;
	struct flow_sample *tx, *rx; // owned: totals at the last row
	struct hist *rtt; // owned: [tx_count] totals at the last row, then one of the host
	struct queue_counts *queue; // owned
	double *mix_mean;	    // owned: [mix_count] payload bytes
	struct cpu_sample *cpu;	    // owned
};

int sample_open(struct sampler *s, const struct hostcfg *cfg, struct queue *const *queue,
		struct err *e);
void sample_tick(struct sampler *s, const struct agent *a, uint64_t now_ns);
void sample_close(struct sampler *s);
