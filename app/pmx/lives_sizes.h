// Sizes over the lives of a host (lives.h). Where a reload changed them, the flows of the joined
// result have a mix of all sizes that there were, and counters by size in every life: one of a
// single size counted all its packets at that. So what goes over the wire follows from the packets
// of each size, also where mixes came or went. Pure.
#pragma once

#include "result.h"
#include "size_mix.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct size_set {
	struct mix_size *size; // owned, upwards; weights unused
	size_t count;
};

struct lives_sizes {
	struct size_set way[2]; // of requests, of replies; none = one size in all lives
	struct size_set *own;	// owned: of each mix of the life that is added
	size_t own_count;
};

// Whether flows of several lives differ in their sizes, or in what takes turns.
bool lives_sizes_differ(const struct result *const *life, size_t n);
// All sizes of all lives. 0 or -ENOMEM; lives_sizes_free ends it either way.
int lives_sizes_init(struct lives_sizes *z, const struct result *const *life, size_t n);
void lives_sizes_free(struct lives_sizes *z);
// Into out->mix; the way's place there, from 1 on, is lives_sizes_mix; 0 = it has none. The cycle
// has each size once: no plan was in force throughout. 0 or -ENOMEM.
int lives_sizes_mixes(const struct lives_sizes *z, struct result *out);
uint32_t lives_sizes_mix(const struct lives_sizes *z, bool reply);
// Before its flows: the life that is added. 0 or -ENOMEM.
int lives_sizes_take(struct lives_sizes *z, const struct result *r);

// What a flow of that life counted in a trial.
struct life_counts {
	uint32_t bytes[2], mix[2]; // of requests, of replies
	uint64_t first, second;	   // sent and returned, or delivered and replied
	const struct uints *by_size;
};
// The same by all sizes; NULL where it is not known. 0 or -ENOMEM.
int lives_sizes_count(const struct lives_sizes *z, const struct life_counts *c, struct uints **to);
