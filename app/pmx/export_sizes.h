// Sizes that take turns, for rows of results: the mean size of what was counted.
#pragma once

#include "datagram.h"
#include "result.h"

#include <stdbool.h>
#include <stdint.h>

struct export_mix {
	struct mix_size *size; // owned, upwards
	size_t count;
};

struct export_sizes {
	struct export_mix *mix; // owned, as in the result
	size_t mix_count;
};

// 0 or -ENOMEM; export_sizes_free ends it either way.
int export_sizes_init(struct export_sizes *z, const struct result *r);
void export_sizes_free(struct export_sizes *z);

// A flow's packets of one way: what sizes they have, and which of its counters by size they are.
struct export_way {
	uint32_t bytes, req_mix, rep_mix; // the one size, and the flow's mixes
	bool reply;			  // by the size of the reply
	const struct uints *by_size;
	bool second; // of its two counters: returned, replied
};
struct export_mean {
	double bytes, l1_bytes; // payload, and on the wire
};
struct export_mean export_size_mean(const struct export_sizes *z, const struct export_way *way,
				    const struct sender *by);
