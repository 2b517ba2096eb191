// Doctor: asks hosts for their facts and lets the probes judge them. What is said of each host, and
// of this machine, is a list of findings.
#pragma once

#include "agent_elf.h"
#include "agent_file.h"
#include "exam.h"
#include "plan.h"
#include "remote.h"

#include "err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define DOCTOR_VERSION 1 // of the JSON

struct diagnosis {
	const char *probe; // its anchor in doc/troubleshooting.rst is doctor-PROBE
	struct finding finding;
};

struct doctor_host {
	const char *name; // borrowed
	bool asked;	  // else `why` says what stood in the way
	char why[ERR_MAX];
	struct diagnosis *list; // owned, the worst first; what does not apply is not in it
	size_t count;
};

struct doctor {
	const struct matrix *matrix;
	const struct profile *profile; // [host_count]
	const struct plan *plan;
	const char *root;	// examined instead of the hosts; NULL = the hosts
	struct agent_file file; // path "" = there is none
	struct agent_elf elf;
	bool elf_known;
	char agent_fault[ERR_MAX]; // why the agent was not found, or is no program; "" = it is well

	struct doctor_host here;  // this machine
	struct doctor_host *host; // owned, [host_count], matrix order
};

struct doctor_counts {
	size_t of[HEALTH_COUNT]; // findings
	size_t hosts, asked;
};

// Finds the agent's binary, and looks at this machine (doctor_here.c). 0, or -ENOMEM.
int doctor_begin(struct doctor *d, const struct matrix *m, const struct profile *profile,
		 const struct plan *plan, const char *root, struct err *e);
void doctor_end(struct doctor *d);
// Asks one host over its connection and fills d->host[host]. `dir` and `agent` as in struct site.
int doctor_ask(struct doctor *d, size_t host, struct remote *r, const char *dir, const char *agent,
	       struct err *e);
// What the probes say of facts. 0, or -ENOMEM.
int doctor_judge(const struct exam *x, struct doctor_host *h, struct err *e);
// Adds a finding, unless it is HEALTH_NONE; the caller sorts.
int doctor_add(struct doctor_host *h, const char *probe, const struct finding *f);
void doctor_sort(struct doctor_host *h);
void doctor_here(struct doctor *d, struct err *e);

// What only shows side by side: cards of one driver whose firmware is not that of most; and what is
// true of a host and not of a port of it stands with the first of its ports. For hosts that were
// asked, once all were.
void doctor_compare(struct doctor *d);

// Counts over this machine and the hosts that were asked or should have been.
void doctor_count(const struct doctor *d, const bool *chosen, struct doctor_counts *c);
int doctor_exit(const struct doctor_counts *c); // enum pmx_exit
// Hosts in the order of the matrix, the worst first within a host; problems only unless `all`.
void doctor_text(FILE *f, const struct doctor *d, const bool *chosen, bool all, bool colour);
// Owned; NULL on no memory.
char *doctor_json(const struct doctor *d, const bool *chosen);
