// What hosts measured, for other tools: one table of columns, three formats. A row is what
// report.csv has (a sample of an interval) or what a result has of one flow end, queue or host.
// Raw counters of every trial, not the summary's sums.
#pragma once

#include "summary.h"
#include "table.h"

#include "hist.h"
#include "result.h"

#include "err.h"

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

// Not measured: NAN, COUNTER_UNKNOWN, NULL.
struct export_row {
	// of both kinds, as report.csv names them
	double ts;
	const char *host, *dir, *peer; // borrowed
	double size, rep_size, target_pps, pps, mbps, rep_pps, rep_mbps, loss_pct;
	double rtt_avg_us, rtt_p50_us, rtt_p99_us, rtt_max_us;
	double cpu_pct, cpu_max_pct, agent_cpu_pct, workers, layer, queue, busy_pct;
	double interval_s, packets, rep_packets;
	// of results
	const char *row;  // "sample", "result"
	const char *kind; // of the trial
	const char *port;
	uint64_t trial; // its place in the result
	uint64_t measured, streams, lcore, cpus;
	double window_s;
	uint64_t sent, unsent, delivered, replied, reply_unsent, returned;
	uint64_t dup_forward, dup_back, reordered_forward, reordered_back, late_forward, late_back;
	uint64_t off_queue;
	uint64_t requests_sent, requests_received, replies_sent, replies_received, tx_full;
	double busy_s, loop_s;
	struct port_counts counts; // of the port, whole run
	uint64_t drop[DROP_REASONS];
	struct icmp_counts icmp; // path_mtu too is COUNTER_UNKNOWN when none was told
	uint64_t next_hops_silent;
	const struct hist_packed *rtt, *lateness; // borrowed
	const struct result *result;		  // of rows of a host
};

extern const struct export_row export_blank;

enum export_scope { // what a row is of; bits
	SCOPE_FLOW = 1 << 0,
	SCOPE_QUEUE = 1 << 1,
	SCOPE_HOST = 1 << 2,
	SCOPE_PORT = 1 << 3, // of rows of a host, too
};

enum metric_type { METRIC_COUNTER, METRIC_GAUGE };

struct export_column {
	struct column column; // of struct export_row
	// OpenMetrics: family pmx_<scope>_<metric>, NULL = none; the unit is the name's end, or
	// NULL
	const char *metric, *unit, *help;
	enum metric_type type;
	double factor; // to base units; 0 = 1
	unsigned scopes;
	const char *reason; // value of a label of that name, or NULL; such columns share a family
};

extern const struct export_column export_column[];
extern const size_t export_columns;

// Called for each row; a negative return ends the walk.
typedef int (*export_each)(const struct export_row *row, void *arg, struct err *e);

// The results' rows of one host (index in the matrix) that are of these scopes: flows it sends,
// flows it answers, queues, the host; trials in order. One that was not measured has its host's row
// alone. Percentiles of the RTT are filled in if asked for.
int export_result(const struct summary_input *in, const struct summary *s, size_t host,
		  unsigned scopes, bool percentiles, export_each each, void *arg, struct err *e);
// The rows of a report.csv, which is changed. A last line without its end is one that is being
// written, and left out. `path` is for errors, which name the line.
int export_samples(char *text, const char *path, export_each each, void *arg, struct err *e);

struct export_text; // a format with a line a row
extern const struct export_text export_ndjson, export_tsv;
void export_text_head(FILE *f, const struct export_text *t);
void export_text_row(FILE *f, const struct export_text *t, const struct export_row *row);

// OpenMetrics 1.0, results only: samples have instants of the past, which it has no place for.
int export_metrics(FILE *f, const struct summary_input *in, const struct summary *s, struct err *e);
