// Counters by size (result.h): of one queue and trial, those of all flows in a row. Only flows with
// a mix have any.
#pragma once

#include "any.h"

#include <stdint.h>

struct tx_by_size {
	uint64_t sent, returned;
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

// Packets sent: n of them, from `place` on. Sequences come without a gap, so what was sent need not
// be counted one by one.
void by_size_sent(struct tx_by_size *c, const struct any_flow *flow, uint32_t place, uint64_t n);
// One of them was not, after all.
void by_size_unsent(struct tx_by_size *c, const struct any_flow *flow, uint32_t place);
