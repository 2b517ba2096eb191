// Size mix: payload sizes that take turns. A stream's packet of sequence n has the size at place
//   (n + the requester's index of the stream) mod 2^32 mod the cycle's length,
// so both ends know the size of every packet, and streams that go side by side are not all at a
// large one. A cycle has every size exactly as often as its weight says.
#pragma once

#include "jsonmap.h"
#include "uints.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MIX_CYCLE_MAX 16384 // places of a cycle
#define MIX_SIZES_MAX 2048  // different sizes of a cycle
#define MIXES_MAX 64	    // of one host
// Counters by size of one host, each way: flows times sizes.
#define MIX_COUNTS_MAX (1u << 18)

struct size_mix {
	struct uints *cycle; // owned; payload bytes by place
};

// One size of a mix. The sizes of a mix are numbered in ascending order.
struct mix_size {
	uint32_t bytes, weight; // places of it in a cycle
};

static inline uint32_t mix_place(uint32_t seq, uint32_t tx_stream, uint32_t cycle)
{
	return (seq + tx_stream) % cycle;
}

extern const struct jm_map size_mix_map; // {"cycle": [...]}

// The different sizes of a cycle into out[], which has room for all its places; how many.
size_t mix_sizes(const struct size_mix *m, struct mix_size *out);
// The number of a size among `n` of them; n when it is none.
size_t mix_find(const struct mix_size *sizes, size_t n, uint32_t bytes);
size_t mix_size_count(const struct size_mix *m);
uint32_t mix_largest(const struct size_mix *m);
// Payload bytes, of a cycle.
double mix_mean(const struct size_mix *m);
// Whether two lists of mixes are the same, place by place.
bool mixes_equal(const struct size_mix *a, size_t a_count, const struct size_mix *b,
		 size_t b_count);
// A cycle of parts with weights, interleaved: the k-th (from 0) of w packets of a part stands at
// (2k + 1) / 2w of the cycle; what falls together comes in the order of the parts. Weights are
// taken as they are. NULL on no memory.
struct uints *mix_interleave(const struct mix_size *part, size_t parts);
// For a cycle from elsewhere: 1 to MIX_CYCLE_MAX places of payload sizes, at most MIX_SIZES_MAX
// different ones. 0, or -EINVAL, -ENOMEM with what is wrong.
int mix_check(const struct size_mix *m, struct err *e);
