// Counters by size (result.h): of one queue and trial, those of all flows in a row. Only flows with
// a mix have any.
#pragma once

#include "any.h"

#include <stdint.h>

struct tx_by_size {
	uint64_t unsent, returned; // unsent: of those that the runs below say were sent
};
struct rx_by_size {
	uint64_t delivered, reply_unsent;
};

// The counters of the packet at `place`: how many, at most two.
static inline uint32_t by_size_of(const struct any_flow *flow, uint32_t place, uint32_t at[2])
{
	uint32_t n = 0;
	if (flow->request_sizes.turn != NULL)
		at[n++] = flow->counts[0] + size_index(&flow->request_sizes, place);
	if (flow->reply_sizes.turn != NULL)
		at[n++] = flow->counts[1] + size_index(&flow->reply_sizes, place);
	return n;
}

static inline void by_size_returned(struct tx_by_size *c, const struct any_flow *flow,
				    uint32_t place)
{
	uint32_t at[2], n = by_size_of(flow, place, at);
	for (uint32_t i = 0; i < n; i++)
		c[at[i]].returned++;
}

static inline void by_size_delivered(struct rx_by_size *c, const struct any_flow *flow,
				     uint32_t place)
{
	uint32_t at[2], n = by_size_of(flow, place, at);
	for (uint32_t i = 0; i < n; i++)
		c[at[i]].delivered++;
}

static inline void by_size_reply_unsent(struct rx_by_size *c, const struct any_flow *flow,
					uint32_t place)
{
	uint32_t at[2], n = by_size_of(flow, place, at);
	for (uint32_t i = 0; i < n; i++)
		c[at[i]].reply_unsent++;
}

static inline void by_size_unsent(struct tx_by_size *c, const struct any_flow *flow, uint32_t place)
{
	uint32_t at[2], n = by_size_of(flow, place, at);
	for (uint32_t i = 0; i < n; i++)
		c[at[i]].unsent++;
}

// What a stream sent in a trial: n sequences from `from` on. They come without a gap, so that an
// lcore counts no packet by its size, and who wants to know does it afterwards.
struct tx_run {
	uint64_t from, n;
};

// n packets from `place` on, of any number of streams with the same sizes: where in the cycle how
// many more begin to count. change[z->cycle + 1], zeros at first.
void by_size_add(uint64_t *change, const struct sizes *z, uint32_t place, uint64_t n);
// Adds what was added to the counts of the sizes, count[z->count]; zeros again afterwards.
void by_size_take(uint64_t *change, const struct sizes *z, uint64_t *count);
// The sum over n packets from `place` on, before[p] being that of the first p of a cycle.
uint64_t by_size_sum(const uint64_t *before, const struct sizes *z, uint32_t place, uint64_t n);
