// What to do next: rules over a summary, ranked, each with the numbers that say so and the fix.
#pragma once

#include "summary.h"

#include <stdbool.h>
#include <stddef.h>

#define ADVICE_TEXT_MAX 512
#define ADVICE_MAX 32

struct advice {
	const char *rule;
	char evidence[ADVICE_TEXT_MAX];
	char fix[ADVICE_TEXT_MAX];
};

struct advice_rule {
	const char *name;
	// Whether it fires; then both texts are written. `a` is empty but for its rule.
	bool (*fires)(const struct summary *s, struct advice *a);
};

// In order of rank: what is wrong with the measurement itself comes before what it found.
extern const struct advice_rule advice_table[];
extern const size_t advice_count;

// The rules that fire, by rank; when none does, how to go further. Returns how many (1 ..
// ADVICE_MAX).
size_t advice_build(const struct summary *s, struct advice out[ADVICE_MAX]);
