// The part of a result that is by size.
#pragma once

#include "queue.h"

#include "hostcfg.h"
#include "result.h"

// The mixes into an empty result. 0, or < 0 on no memory.
int collect_mixes(struct result *r, const struct hostcfg *c);
// Lists of zeros for the flows that have mixes; q is any queue. 0, or < 0 on no memory.
int collect_sizes_alloc(struct result *r, const struct queue *q);
// Adds what a queue has counted of a trial. 0, or < 0 on no memory.
int collect_sizes(struct result *r, const struct queue *q, uint32_t trial);

// Bytes of the wire (L1) of a flow's packets so far, in all trials; of a way with a mix alone.
struct size_bytes {
	uint64_t there, back; // requests; replies that the requester got
};
// Adds those of a queue to its flows': tx[tx_flow_count], and rx[rx_flow_count] without replies.
void collect_size_bytes(const struct queue *q, const struct sender *by, struct size_bytes *tx,
			struct size_bytes *rx);
