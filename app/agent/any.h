// What a queue needs beyond queue.h where its frames are not untagged IPv4 of one size each way:
// tags, IPv6, sizes that change with the sequence.
#pragma once

#include "frame.h"
#include "load.h"

#include "hostcfg.h"

#include <rte_branch_prediction.h>

#include <stdint.h>

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
	uint16_t frame_len; // without FCS
	rte_be16_t ip_len, udp_len;
};

// Sizes of one direction, by the sequence of the request.
struct sizes {
	uint32_t cycle;	      // sequence numbers until they begin anew
	const uint16_t *turn; // [cycle] index in size; NULL = one size
	const struct size *size;
};

static inline uint32_t size_index(const struct sizes *z, uint32_t seq)
{
	return z->turn == NULL ? 0 : z->turn[seq % z->cycle];
}

struct any_flow { // one peer: its requests at the responder, its replies at the requester
	struct any_expect expect;
	struct head reply; // template (responder)
	uint32_t sum;	   // its UDP checksum over what does not change, lengths not in it
	struct sizes request_sizes, reply_sizes;
};

struct any {
	struct any_expect mask[3]; // by enum pmx_kind
	struct head *tx;	   // [tx_stream_count] templates as tx_stream.head, without lengths
	struct any_flow *tx_flow, *rx_flow;
	struct size *size; // what the flows' sizes point to
};

struct layout layout_of(const struct hostcfg *cfg);
// Whether the fast half of rx.h and tx.h does for this config.
bool layout_is_plain(const struct hostcfg *cfg);
// Tags of the host's frames, outer first.
void layout_tci(const struct hostcfg *cfg, uint16_t tci[FRAME_TAGS_MAX]);

// A template: no lengths in it, the IPv4 checksum's field holds the folded sum of the header.
void any_template(struct head *h, const struct layout *at, const struct frame_spec *s);
struct any_expect any_mask(const struct layout *at, enum pmx_kind kind);
struct size any_size(const struct layout *at, uint32_t payload_bytes);
