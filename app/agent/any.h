// What a queue needs beyond queue.h where its frames are not untagged IPv4 of one size each way:
// tags, IPv6, sizes that change with the sequence.
#pragma once

#include "frame.h"
#include "load.h"

#include "hostcfg.h"

#include <rte_branch_prediction.h>

#include <stdint.h>

__extension__ typedef unsigned __int128 product128;

struct head {
	uint8_t b[HEAD_BYTES];
} __attribute__((aligned(32)));

// What the frames of a flow must say up to the trial, as struct expect.
#define HEAD_PARTS 5
struct any_expect {
	vec128 part[HEAD_PARTS];
};

struct size { // as frames of it say
	uint32_t payload_bytes;
	uint32_t frame_len; // without FCS, all in one
	uint16_t mbuf_len;  // of which the first mbuf has so much: all, but for what is sent in
			    // fragments
	bool fragments;
	rte_be16_t ip_len, udp_len;
};

// Sizes of one direction. `place` is the request's sequence and the requester's index of its
// stream, added up (size_mix.h).
struct sizes {
	uint32_t cycle, count; // places until they begin anew; different sizes
	uint64_t inverse;      // 2^64 / cycle, rounded up
	const uint16_t *turn;  // [cycle] index in size, which ascends; NULL = one size
	const struct size *size;
};

// place % cycle by two multiplications, exact for 32 bits (Lemire, Kaser, Kurz 2019: "Faster
// remainder by direct computation").
static inline uint32_t size_index(const struct sizes *z, uint32_t place)
{
	if (z->turn == NULL)
		return 0;
	return z->turn[(product128)(z->inverse * place) * z->cycle >> 64];
}

struct any_flow { // one peer: its requests at the responder, its replies at the requester
	struct any_expect expect;
	struct head reply; // template (responder)
	uint32_t sum;	   // its UDP checksum over what does not change, lengths not in it
	struct sizes request_sizes, reply_sizes;
	uint32_t counts[2]; // its first counter by the request's size, and by the reply's
	uint32_t shift;	    // requester: its index of a stream less that in its requests
};

// Of the addresses of requesters the last 32 bits are the stream's and not the flow's: hosts with
// many of them ask from one for each stream.
struct any {
	struct any_expect mask[3]; // by enum pmx_kind
	uint16_t low_at[3];	   // where those bits stand, by enum pmx_kind
	rte_be32_t *low[3];	   // [streams] what they are, by enum pmx_kind and stream index
	struct head *tx;	   // [tx_stream_count] templates as tx_stream.head, without lengths
	struct any_flow *tx_flow, *rx_flow;
	struct size *size; // what the flows' sizes point to
	struct sizes *mix; // [cfg->mix_count], out of:
	struct size *mix_size;
	uint16_t *turn;
	uint32_t tx_counts, rx_counts; // counters by size of all flows, each way
};

struct layout layout_of(const struct hostcfg *cfg);
// Whether the fast half of rx.h and tx.h does for this config: no tags, IPv4, no fragments.
bool layout_is_plain(const struct hostcfg *cfg);
// Tags of the host's frames, outer first.
void layout_tci(const struct hostcfg *cfg, uint16_t tci[FRAME_TAGS_MAX]);

// Where the last 32 bits of the requester's address stand in a frame of this kind.
uint16_t any_low_at(const struct layout *at, enum pmx_kind kind);
// The last 32 bits as they stand in a frame, and the sum of their words.
static inline rte_be32_t any_low(const struct ip_addr *a)
{
	rte_be32_t low;
	__builtin_memcpy(&low, a->b + 12, sizeof(low));
	return low;
}

static inline uint32_t any_low_sum(rte_be32_t low)
{
	return (low & 0xffff) + (low >> 16);
}

// A template: no lengths in it, the IPv4 checksum's field holds the folded sum of the header.
void any_template(struct head *h, const struct layout *at, const struct frame_spec *s);
struct any_expect any_mask(const struct layout *at, enum pmx_kind kind);
// by: what the host sends by.
struct size any_size(const struct layout *at, const struct sender *by, uint32_t payload_bytes);
// The sizes of a mix: size[] has room for mix_size_count, turn[] for the cycle.
struct sizes any_sizes(const struct layout *at, const struct sender *by, const struct size_mix *mix,
		       struct size *size, uint16_t *turn);
