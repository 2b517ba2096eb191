// Options: one table of rows that the parser, the environment, `pmx help`, the man page and the
// completion all read. To add an option: a field in struct opts and a row in opt_table (opt.c).
// Precedence: command line, environment, matrix file, default. A field whose option was not given
// holds the default; the matrix's own value applies where opt_given() says no.
#pragma once

#include "err.h"
#include "parse.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct verb;

enum opt_type {
	OPT_FLAG,     // bool; `--name`, or `--name=yes|no` to overrule the environment
	OPT_TEXT,     // const char *, NULL = not given and no default
	OPT_DIR,      // the same, a directory that is there
	OPT_CHOICE,   // const char *: one of the words of `arg` ("auto|always|never")
	OPT_COUNT,    // uint64_t within min..max
	OPT_NUMBER,   // double within min..max, plain decimal
	OPT_RATE,     // struct rate: 5000, 5k, 1.5M, max
	OPT_DURATION, // uint64_t nanoseconds, at least min: 10, 10s, 500ms, 2m
};

struct opt {
	const char *name;   // long name, without the dashes
	char letter;	    // short name, or 0
	const char *arg;    // what help calls the value; NULL for flags
	const char *env;    // PMX_*; NULL for --help and --version only
	const char *preset; // default, as text that the parser reads; NULL = none
	const char *help;   // one line, no full stop
	uint32_t verbs;	    // bit set of enum verb_id
	enum opt_type type;
	size_t offset;	 // of the field in struct opts
	double min, max; // OPT_COUNT and OPT_NUMBER
};

#define OPTS_ROWS_MAX 128

struct opts {
	const struct verb *verb;
	const char *arg;  // the positional argument (matrix, server list, verb), or NULL
	const char *more; // the second one, or NULL

	// every verb
	bool help, version, quiet, verbose;
	const char *color;
	const char *help_format;

	// the fleet
	const char *user, *remote_dir, *hosts;
	uint64_t jobs;
	bool dry_run;

	// run, start
	uint64_t for_ns, warmup_ns;
	double scale;
	bool allow_partial;
	const char *drivers;

	// results
	const char *json, *report, *grid;
	uint64_t top;
	bool no_collect;
	uint64_t window_ns;
	const char *results, *format;
	uint64_t watch_ns, lines;

	// gen, hints
	struct rate pps, host_pps;
	double gbps, line_pct;
	uint64_t burst, ramp_ns;
	const char *spacing;
	const char *request, *reply, *tx_frame, *rx_frame; // sizes in words
	uint64_t port, streams, queues;
	const char *shape, *hub;
	uint64_t peers, seed, dwell_ns;
	bool equal_layers;
	const char *device, *driver, *data_net, *ssh_user;
	const char *from_csv, *output;
	bool expand, force;
	uint64_t count;
	double queue_mpps;

	// prepare
	bool hugetlbfs, noiommu;

	// doctor
	bool all;
	const char *root;

	// check
	double nic_gbps, nic_mpps;
	const char *csv;

	bool given[OPTS_ROWS_MAX]; // by row: on the command line or in the environment
	bool typed[OPTS_ROWS_MAX]; // on the command line
};

extern const struct opt opt_table[];
extern const size_t opt_count;

// Reads the command line and PMX_*. 0, or -EINVAL with one line that says what is wrong and the
// right form; o->verb is set as soon as the verb is known (NULL with none). --help and --version
// end the reading: the caller looks at o->help and o->version first. Strings are borrowed from argv
// and the environment.
int opts_read(struct opts *o, int argc, char *const *argv, struct err *e);
// Whether the option behind a field was given: opt_given(o, &o->remote_dir).
bool opt_given(const struct opts *o, const void *field);
// The usage, and one line an option, of one verb; of all verbs with every environment variable.
void opts_help_verb(FILE *f, const struct verb *v);
void opts_help_all(FILE *f);
