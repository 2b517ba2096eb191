// Situations for the rules of what to do next: for each at least one that fires it and one that
// does not.
#pragma once

#include "mesh_run.h"

#include <stddef.h>

enum outcome {
	SILENT,
	FIRES,
	FIRES_ALONE, // not to be mixed with others: it replaces what they made, or takes all
};

struct advice_case {
	const char *rule;
	void (*change)(struct mesh_run *r); // of three hosts, to which nothing has happened
	enum outcome outcome;
	const char *evidence, *fix; // words that must be there; NULL = any
};

extern const struct advice_case advice_case[];
extern const size_t advice_cases;
