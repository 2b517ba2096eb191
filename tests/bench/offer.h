// Frames that net_null's receive hands out: it leaves mbuf data as it was, so a receive callback
// writes each as a peer would send it, valid and with the next sequence number of its stream. What
// that costs is timed, to be taken out of what is measured.
#pragma once

#include "frame.h"
#include "queue.h"

#include <stdbool.h>
#include <stdint.h>

struct offer_frame { // of one stream, one cache line
	struct frame frame;
	uint32_t seq;
} __attribute__((aligned(64)));
_Static_assert(sizeof(struct offer_frame) == 64, "one cache line");

struct offer {
	struct offer_frame *stream; // owned
	uint32_t count, cursor;
	uint16_t frame_len;
	uint32_t spread;     // of the stamps' ages, so that round-trip times differ
	uint64_t age_tsc;    // of the youngest
	uint64_t begin, end; // TSC around the last call
	uint64_t tsc, last;  // spent in all calls, and in the last that was not interrupted
	uint64_t frames;
};

// Offers to q every stream of cfg that belongs to it: its requests, or the replies it waits for.
// Installs the callback on q's port; NULL on no memory.
struct offer *offer_open(const struct queue *q, const struct hostcfg *cfg,
			 struct rte_ether_addr mac, bool replies);
void offer_close(struct offer *o);
